import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from benchmarks.label_worlds import made_evidence as evidence_of
from benchmarks.label_worlds import sampled_of
from fairprobe import Category, Domain, Integer, Link
from fairprobe.estimation.favourable import Favourable
from fairprobe.explanation import directions
from fairprobe.explanation.directions import directions_of, holm, symmetry
from fairprobe.testing import loans, odd_one_out, pair, proba, score


def explained(toy, n=3000, n_sampled=3000, **settings):
    evidence = evidence_of(toy.model, toy.domain, n=n, **{**toy.settings, **settings})
    return directions_of(evidence, sampled_of(evidence, n_sampled))


def two_and_two():
    parameters = [Integer("x", 0, 999), Integer("y", 0, 9), Category("sex", ["F", "M"]), Category("race", ["B", "W"])]
    return Domain(parameters, sensitive=["sex", "race"])


def test_who_is_refused_where_the_other_gets_the_loan():
    told = explained(loans())
    assert len(told.table) == 1
    row = told.table.iloc[0]
    assert (row["first"], row["second"]) == ("sex=Male", "sex=Female")
    assert (row["first_gets"], row["second_gets"]) == ("lend", "refuse")
    assert (row["found"], row["found_reversed"]) == (told.n_found, 0)
    assert (row["sampled"], row["sampled_reversed"]) == (told.n_sampled, 0)
    assert row["fraction"] == 1
    assert 0.98 < row["low"] < row["high"] == 1
    assert row["p"] == row["p_adjusted"] < 1e-30
    assert told.n_drawn == 3000
    (sentence,) = told.sentences()
    assert sentence.startswith(f"Male gets 'lend' where Female gets 'refuse' in {told.n_sampled} of {told.n_sampled} ")


@pytest.mark.parametrize(("favourable", "worse"), [("lend", "Female"), ("refuse", "Male")])
def test_with_a_good_outcome_somebody_is_worse_off(favourable, worse):
    told = explained(loans(), favourable=favourable)
    assert told.table["first"].tolist() == [f"sex={worse}"]
    assert told.table["second_gets"].tolist() == [favourable]
    assert told.sentences()[0].startswith(f"{worse} is worse off than ")


def test_a_good_outcome_that_nobody_gets_is_told():
    toy, good = loans(), Favourable("approve", "approve", is_label=True)
    evidence = replace(evidence_of(toy.model, toy.domain), favourable=good)
    told = directions_of(evidence, sampled_of(evidence, 100))
    assert told.favourable is None
    assert told.health == (("favourable-unseen", "no case gets the outcome 'approve', only 'lend', 'refuse'"),)
    assert "worse off" not in repr(told)


def test_scores_have_a_lower_and_a_higher_side():
    told = explained(score())
    row = told.table.iloc[0]
    assert (row["first"], row["first_gets"], row["second_gets"]) == ("group=0", "the lower output", "the higher output")
    assert row["sampled_reversed"] == 0
    assert told.sentences()[0].startswith("group=0 has the lower output where group=1 has the higher output in ")
    assert explained(score(), favourable="highest").table["first"].tolist() == ["group=0"]
    worse = explained(score(), favourable="lowest").table.iloc[0]
    assert (worse["first"], worse["first_gets"]) == ("group=1", "the higher output")


def test_classes_are_told_by_the_one_that_differs_most_or_the_good_one():
    told = explained(proba())
    assert set(told.table["first_gets"]) <= {f"the lower probability of {c}" for c in (0, 2)}
    good = explained(proba(), favourable=2)
    assert good.table["first"].tolist() == ["group=0"]
    assert good.table["second_gets"].tolist() == ["the higher probability of 2"]


@pytest.mark.parametrize("favourable", [None, "b"])
def test_counts_are_those_of_a_plain_loop(favourable):
    domain = two_and_two()

    def model(frame):
        numbers = frame["x"] * 7 + frame["y"] * (frame["sex"] == "F") + 3 * (frame["race"] == "W")
        return np.array(["a", "b", "c"])[numbers % 3]

    evidence = evidence_of(model, domain, n=300, favourable=favourable)
    told = directions_of(evidence, sampled_of(evidence, 200))
    frame = domain.decode(evidence.cases.codes)
    expected = Counter()
    people = [(sex, race) for sex in "FM" for race in "BW"]
    for one, other in combinations(people, 2):
        labels = [model(frame.assign(sex=sex, race=race)) for sex, race in (one, other)]
        for pair_of in zip(*labels, strict=True):
            if favourable is not None:
                pair_of = tuple(label == favourable for label in pair_of)
            if pair_of[0] != pair_of[1]:
                expected[one, other, pair_of] += 1
    table = told.table[told.table["compared"] == "combination"]
    words = {f"sex={sex}, race={race}": (sex, race) for sex, race in people}
    seen = Counter()
    for _, row in table.iterrows():
        sides = (words[row["first"]], words[row["second"]])
        gets = (row["first_gets"], row["second_gets"])
        if favourable is not None:
            gets = tuple(outcome == favourable for outcome in gets)
        for count, (one, other) in ((row["found"], sides), (row["found_reversed"], sides[::-1])):
            key = (one, other, gets) if people.index(one) < people.index(other) else (other, one, gets[::-1])
            seen[key] += count
    assert +seen == expected


def test_a_parameter_alone_is_told_with_the_others_as_they_are():
    """Women of one race are refused: by sex alone, where the input is of that race; by race alone, among women."""
    domain = two_and_two()
    model = lambda frame: np.where((frame["sex"] == "F") & (frame["race"] == "B"), "no", "yes")  # noqa: E731
    evidence = evidence_of(model, domain, n=400, favourable="yes")
    told = directions_of(evidence, sampled_of(evidence, 1000))
    alone = told.table[told.table["compared"] != "combination"].set_index("compared")
    assert alone["first"].to_dict() == {"sex": "sex=F", "race": "race=B"}
    # Every input is a case; of these, half are of that race, and half are women.
    assert (abs(alone["sampled"] - 500) < 80).all()
    assert (alone["sampled_reversed"] == 0).all()
    said = [line.split(" in ")[0] for line in sorted(told.sentences())]
    assert said == ["B is worse off than W", "F is worse off than M"]


def test_of_many_combinations_those_at_the_ends_are_compared(monkeypatch):
    monkeypatch.setattr(directions, "MOST_PAIRS", 5)
    told = explained(pair())
    assert told.health[0][0] == "many-pairs"
    rows = told.table[told.table["compared"] == "combination"]
    assert len(rows) == 1
    assert (rows["sampled"] == told.n_sampled).all()
    assert len(explained(odd_one_out()).table) > 0


def test_the_test_is_the_exact_one():
    from scipy.stats import binomtest

    hits, n = np.meshgrid(np.arange(31), np.arange(31))
    valid = (hits <= n) & (n > 0)
    expected = [binomtest(int(k), int(m)).pvalue for k, m in zip(hits[valid], n[valid], strict=True)]
    assert np.allclose(symmetry(hits[valid], n[valid]), expected)
    assert holm(np.empty(0)).tolist() == []


def balanced(frame):
    """Who gets the good outcome is another for every x, and as often the one as the other."""
    bit = (frame["x"].to_numpy() * 7919 % 1000 // 2) % 2
    return bit ^ (frame["sex"] == "F").to_numpy()


def test_symmetric_models_are_seldom_called_one_sided():
    """Over 100 seeds, a test at 5% calls out 5% at most: more than 13 would come less than once in a thousand times."""
    domain = Domain([Integer("x", 0, 999), Category("sex", ["F", "M"])], sensitive=["sex"])
    evidence = evidence_of(balanced, domain, n=10)
    tables = [directions_of(evidence, sampled_of(evidence, 60, seed=seed)).table for seed in range(100)]
    assert sum((table["p_adjusted"] <= 0.05).any() for table in tables) <= 13
    tested = pd.concat(tables).dropna(subset="p")
    covered = ((tested["low"] <= 0.5) & (tested["high"] >= 0.5)).mean()
    assert covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(tested))


def test_no_case_sampled_makes_no_claim(tmp_path):
    toy = loans()
    first = evidence_of(toy.model, toy.domain).cases.codes[:1]
    evidence = evidence_of(toy.model, toy.domain, codes=first)
    told = directions_of(evidence, sampled_of(evidence, 0))
    assert told.table[["p", "p_adjusted", "fraction"]].isna().all(axis=None)
    assert told.sentences()[0].endswith("in 1 of 1 cases found, which are no sample.")
    json.dumps(told.jsonable(), allow_nan=False)


def test_members_that_do_not_exist_are_nobody(tmp_path):
    domain = Domain(
        [
            Category("role", ["Husband", "Wife", "Other"]),
            Integer("x", 0, 9),
            Category("sex", ["F", "M"]),
            Category("race", ["B", "W"]),
        ],
        sensitive=["sex", "race"],
        constraints=["x < 5 or race == 'B' or sex == 'M'"],
        links=[Link("role", "sex", [{"M": "Husband", "F": "Wife"}])],
    )
    model = lambda frame: (frame["role"] == "Wife").to_numpy().astype(int)  # noqa: E731
    evidence = evidence_of(model, domain)
    told = directions_of(evidence, sampled_of(evidence, 1000))
    table = told.table.set_index(["compared", "first", "second"])
    rows = {frozenset(key[1:]): row for key, row in table.iterrows()}
    free = rows[frozenset(["sex=F, race=B", "sex=M, race=B"])]
    cut = rows[frozenset(["sex=F, race=W", "sex=M, race=B"])]
    assert free["sampled"] == told.n_sampled
    assert cut["sampled"] < 0.8 * told.n_sampled
