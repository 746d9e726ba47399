"""What would be left if regions were decided in another way, against brute force."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.label_worlds import made_evidence
from fairprobe import Category, Domain, Integer, Link
from fairprobe.domain.constraints import Rule
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.evidence import DrawnFrom
from fairprobe.explanation.remedies import WAYS, remedies_of

SPOUSE = Link("role", "sex", [{"Male": "Husband", "Female": "Wife"}])
PARAMETERS = [
    Integer("x", 0, 9),
    Category("role", ["Husband", "Wife", "Single"]),
    Category("sex", ["Female", "Male", "Other"]),
]
PLAIN = Domain(PARAMETERS, ["sex"])
LINKED = Domain(PARAMETERS, ["sex"], links=[SPOUSE])
FORBIDDEN = Domain(PARAMETERS, ["sex"], constraints=["sex != 'Other' or x < 7"])
RULES = [Rule("x >= 6"), Rule("x <= 2 and role == 'Single'")]
FEW = 300
HELD = "sex held constant at Male"


def label(row):
    """Three ways: men yes, women no and others maybe up there; women apart and wives refused down there."""
    if row["x"] >= 6:
        return {"Female": "no", "Male": "yes", "Other": "maybe" if row["x"] == 9 else "no"}[row["sex"]]
    if row["role"] == "Wife":
        return "no"
    return "no" if row["sex"] == "Female" and row["x"] <= 3 else "yes"


def model(X):
    return np.array([label(row) for row in X.to_dict("records")], dtype=object)


def members(row, domain):
    """The family of an input, by sensitive value, without those who do not exist or are forbidden."""
    found = {}
    for sex in ("Female", "Male", "Other"):
        twin = {**row, "sex": sex}
        if domain.links and row["role"] != "Single":
            role = {"Male": "Husband", "Female": "Wife"}
            if row["role"] != role.get(row["sex"]):
                return {}
            if sex not in role:
                continue
            twin["role"] = role[sex]
        if domain.constraints and sex == "Other" and row["x"] >= 7 and twin != row:
            continue
        found[sex] = twin
    return found


def decided(decision, answers, favourable):
    """The outcome of all members of a family inside a region; None if it does not change."""
    if decision == "favourable":
        return favourable
    if not answers:
        return None
    counts = Counter(answers.values())
    level = [each for each, n in counts.items() if n == max(counts.values())]
    return favourable if favourable in level else min(level)


def is_inside(row, rules):
    return (RULES[0] in rules and row["x"] >= 6) or (RULES[1] in rules and row["x"] <= 2 and row["role"] == "Single")


def brute_force(frame, labels, domain, rules, decision, favourable, constant):
    """The shares before and after and the accuracies, row by row."""
    n = before = after = right_before = right_after = n_labelled = 0
    for row, truth in zip(frame.to_dict("records"), labels, strict=True):
        family = members(row, domain)
        answers = {sex: label(twin) for sex, twin in family.items()}
        outcome = decided(decision, answers, favourable)

        def then(twin, outcome=outcome):
            if decision == HELD:
                return label({**twin, "sex": constant})
            return label(twin) if outcome is None or not is_inside(twin, rules) else outcome

        if not pd.isna(truth):
            n_labelled += 1
            right_before += label(row) == truth
            right_after += then(row) == truth
        if len(answers) >= 2:
            n += 1
            before += len(set(answers.values())) > 1
            after += len({then(twin) for twin in family.values()}) > 1
    return n, before, after, right_before / max(1, n_labelled), right_after / max(1, n_labelled)


def rows_of(n, seed=0):
    """Rows of all kinds, some female husbands among them."""
    rng = np.random.default_rng(seed)
    frame = PLAIN.decode(PLAIN.sample_codes(n, rng))
    frame["sex"] = rng.choice(["Female", "Male", "Other"], n, p=[0.2, 0.5, 0.3])
    labels = np.where(rng.random(n) < 0.7, model(frame), "maybe").astype(object)
    labels[:5] = None
    return frame, labels


@pytest.mark.parametrize("domain", [PLAIN, LINKED, FORBIDDEN], ids=["plain", "linked", "forbidden"])
@pytest.mark.parametrize("favourable", ["yes", None])
def test_by_brute_force(domain, favourable):
    X, y = rows_of(200)
    evidence = made_evidence(model, domain, X, y, n=100, favourable=favourable)
    found = remedies_of(RULES, evidence, n=FEW)
    regions = {"region 1": RULES[:1], "region 2": RULES[1:], "the first 2 regions": RULES}
    decisions = [each for each in WAYS if favourable or each != "favourable"]
    assert len(found) == (1 + len(regions) * len(decisions)) * 2
    assert found.table["remedy"][:2].tolist() == [HELD] * 2
    assert set(found.table["twins"]) == {"linked" if domain.links else "plain"}
    for each in found.table.itertuples():
        frame, labels, constant = X, y, "Male"
        if each.population != "rows":
            frame = domain.decode(domain.sample_codes(FEW, evidence.rng("remedies")))
            labels = [None] * FEW
        way = (regions.get(each.region), each.remedy, favourable, constant)
        n, before, after, right, right_after = brute_force(frame, labels, domain, *way)
        assert (each.n, each.share_before, each.share_after) == (n, before / n, after / n)
        assert (each.low, each.high) == clopper_pearson(after, n, 0.95)
        if each.population == "rows":
            assert (each.accuracy_before, each.accuracy_after) == pytest.approx((right, right_after))
        else:
            assert math.isnan(each.accuracy_after)


@pytest.mark.parametrize("domain", [PLAIN, LINKED], ids=["plain", "linked"])
def test_outputs_say_that_it_is_a_simulation(domain):
    X, y = rows_of(100)
    found = remedies_of(RULES, made_evidence(model, domain, X, y, n=100, favourable="yes"), n=50)
    assert len(found.table) == len(found) == (1 + 3 * 2) * 2
    assert found.table["simulated"].all()
    assert set(found.table["remedy"]) == {HELD, *WAYS}
    first = [f"Simulated: with {HELD} for the whole model, "] * 2 + ["Simulated: with region 1 decided "] * 4
    assert all(sentence.startswith(words) for sentence, words in zip(found.sentences(), first, strict=False))
    # A share of some of the rows differs from that of all, so the number is said.
    assert f"both by {found.table.iloc[0]['n']} inputs asked about" in found.sentences()[0]
    assert all(each["simulated"] for each in json.loads(json.dumps(found.jsonable(), allow_nan=False)))
    (table,) = found.blocks()
    assert [row[0] for row in table.rows][:2] == ["as it is", f"{HELD} for the whole model"]
    assert (len(table.rows), len(table.columns)) == (8, 4)
    assert len(table.rows[0]) == len(table.rows[-1]) == 4
    assert "region 1" in found._repr_html_()


def test_nothing_to_do():
    evidence = made_evidence(model, PLAIN, n=10)
    assert remedies_of([], replace(evidence, cases=evidence.cases.take(np.arange(0)))).table.empty
    assert evidence.oracle.asker.n_queries == 0
    held = remedies_of([], evidence, n=50).table
    assert (held["region"].tolist(), held["share_after"].tolist()) == (["the whole model"], [0])
    found = remedies_of(RULES, made_evidence(lambda X: np.zeros(len(X)), PLAIN, n=10), n=50)
    assert (found.table[["share_before", "share_after"]] == 0).all(axis=None)


def test_rows_whose_sex_is_unknown_are_left_out():
    X, y = rows_of(40)
    X["sex"] = None
    found = remedies_of(RULES, made_evidence(model, PLAIN, X, y, n=10), n=50)
    assert set(found.table["population"]) == {"domain"}
    X.loc[:9, "sex"] = "Male"
    found = remedies_of(RULES, made_evidence(model, PLAIN, X, y, n=10), n=50)
    assert set(found.table[found.table["population"] == "rows"]["n"]) == {10}


def test_rows_of_values_that_are_not_compared_are_judged_as_those_that_are():
    domain = Domain(PARAMETERS, {"sex": ["Female", "Male"]})
    X, y = rows_of(60)
    found = remedies_of(RULES[:1], made_evidence(model, domain, X, y, n=10, favourable="yes"), n=100)
    known = ~pd.isna(y)
    table = found.table[found.table["population"] == "rows"].set_index("remedy")
    assert (table["n"] == 60).all()
    assert table["accuracy_before"].tolist() == pytest.approx([(model(X) == y)[known].mean()] * 3)
    assert (table["share_after"].iloc[1:] == ((X["x"] <= 3) & (X["role"] != "Wife")).mean()).all()
    assert table["share_after"].iloc[0] == 0
    always = table.loc["favourable", "accuracy_after"]
    assert always == pytest.approx((np.where(X["x"] >= 6, "yes", model(X)) == y)[known].mean())


NUMBERS = Domain([Integer("x", 0, 9), Integer("sex", 0, 2)], ["sex"])


class Scored:
    """Scores and probabilities that rise with sex where x is 5 or more."""

    classes_ = np.array(["no", "yes"])
    feature_names_in_ = np.array(["x", "sex"])

    def likely(self, X):
        return (1 + X["x"] + (X["x"] >= 5) * 4 * X["sex"]).to_numpy() / 20

    def decision_function(self, X):
        return self.likely(X) - 0.5

    def predict_proba(self, X):
        return np.column_stack([1 - self.likely(X), self.likely(X)])

    def predict(self, X):
        return 100 * self.likely(X)


@pytest.mark.parametrize(("output", "favourable"), [("score", "lowest"), ("proba", "yes"), ("value", "lowest")])
def test_scores_and_probabilities(output, favourable):
    X = NUMBERS.decode(NUMBERS.sample_codes(200, np.random.default_rng(0)))
    X["sex"] = np.where(X["x"] < 9, 1, X["sex"])
    scored, y = Scored(), np.where(X["x"] > 6, "yes", "no")
    threshold = 15 if output == "value" else 0.15
    y = scored.predict(X) if output == "value" else y
    evidence = made_evidence(scored, NUMBERS, X, y, n=50, output=output, threshold=threshold, favourable=favourable)
    found = remedies_of([Rule("x >= 7")], evidence, n=FEW).table
    rows = found[found["population"] == "rows"].set_index("remedy")
    assert len(found) == 6
    likely, inside = scored.likely(X), (X["x"] >= 7).to_numpy()
    assert (rows["share_before"] == (X["x"] >= 5).mean()).all()
    assert rows["share_after"].iloc[0] == 0
    rows = rows.iloc[1:]
    assert (rows["share_after"] == ((X["x"] >= 5) & ~inside).mean()).all()
    if output == "value":
        assert rows["accuracy_after"].isna().all()
        return
    assert rows["accuracy_before"].tolist() == pytest.approx([(np.where(likely > 0.5, "yes", "no") == y).mean()] * 2)
    mean = (1 + X["x"] + 4) / 20  # of 0, 4 and 8; the constant value is the one in the middle, too
    best = np.ones(200) if output == "proba" else (1 + X["x"]) / 20
    for decision, outcome in (("twins-mean", mean), ("favourable", best)):
        after = np.where(inside, outcome, likely)
        expected = (np.where(after > 0.5, "yes", "no") == y).mean()
        assert rows.loc[decision, "accuracy_after"] == pytest.approx(expected)


def test_a_population_that_sets_the_rules_aside():
    evidence = made_evidence(model, FORBIDDEN, n=50)
    whole = replace(evidence, population=DrawnFrom("domain", FORBIDDEN.without_constraints()))
    one, other = (remedies_of(RULES[:1], each, n=FEW).table for each in (whole, made_evidence(model, PLAIN, n=50)))
    assert one.equals(other)
