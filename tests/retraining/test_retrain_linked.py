"""Retraining in a domain with links: plain twins as ever, and the rows once more with what is linked changed along."""

import json

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping, Script, augmented_rows, settings_of
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, Link, estimate, retrain
from fairprobe.retraining.augmenting import Recipe
from fairprobe.retraining.judging import assessed
from fairprobe.retraining.parts import LabelledRows

SINGLE, HUSBAND, WIFE = 0, 1, 2
PARAMETERS = [Integer("x", 0, 19), Integer("relation", 0, 2), Integer("sex", 0, 1)]
SPOUSE = Link("relation", "sex", [{1: HUSBAND, 0: WIFE}])
PLAIN = Domain(PARAMETERS, ["sex"])
LINKED = PLAIN.with_links([SPOUSE])
TREE = DecisionTreeClassifier(random_state=0)


def people(n, seed):
    """Half are married; what is decided goes by x, and by being a husband."""
    rng = np.random.default_rng(seed)
    sex, married = rng.integers(0, 2, n), rng.random(n) < 0.5
    relation = np.where(married, np.where(sex == 1, HUSBAND, WIFE), SINGLE)
    frame = pd.DataFrame({"x": rng.integers(0, 20, n), "relation": relation, "sex": sex})
    return frame, ((frame["x"] + 5 * (relation == HUSBAND) >= 12) ^ (rng.random(n) < 0.02)).astype(int).to_numpy()


X, y = people(1200, 1)
HELD_OUT = people(6000, 2)


def as_linked(frame):
    """Every row as its linked twin, by hand."""
    swapped = frame["relation"].map({SINGLE: SINGLE, HUSBAND: WIFE, WIFE: HUSBAND})
    return frame.assign(relation=swapped, sex=1 - frame["sex"])


class Rule:
    """x decides, but some have it easier: men and husbands, each by so many."""

    def __init__(self, man=0, husband=0, wife=0):
        self.more = man, husband, wife

    def predict(self, batch):
        x, relation, sex = np.asarray(batch).astype(int).T
        man, husband, wife = self.more
        more = man * (sex == 1) + husband * (relation == HUSBAND) + wife * (relation == WIFE)
        return (x + more >= 12).astype(int)


def run(model, domain=LINKED, **options):
    settings = {**QUICK, "labels": "mean", "held_out": HELD_OUT, "max_rounds": 2, **options}
    return retrain(model, X, y, domain, **settings)


@pytest.fixture(scope="module")
def found():
    """A tree that goes by relation, retrained in several ways."""
    keeping = Keeping(TREE)
    ways = ["linked", "flip", "twins", "case"]
    options = {"augment": ways, "max_rounds": 4, "controls": True, "max_accuracy_loss": 0.1}
    return run(TREE.fit(X, y), trainer=keeping, **options), keeping


def test_linked_stands_beside_the_others_everywhere(found):
    result, _ = found
    names = ["domain", "rows", "linked"]
    rounds = [each for one in result.rounds for each in (one.shares, one.changes)]
    controls = [each.shares for each in result.controls.values()]
    for by_name in (result.before, result.after, result.changes, result.first.shares, *rounds, *controls):
        assert list(by_name) == names
    assert {"share_linked", "low_linked", "high_linked"} <= set(result.front.columns)
    summary = json.loads(json.dumps(result.jsonable()))
    assert all(list(summary[when]) == names for when in ("before", "after", "changes"))
    assert all(list(control["shares"]) == names for control in summary["controls"].values())


@pytest.mark.parametrize("constraints", [[], ["x != 3"]])
@pytest.mark.parametrize("model", [Rule(man=3), Rule(husband=4), Rule(man=-4, husband=4), Rule(2, 3, 1)])
def test_shares_are_those_of_estimate(model, constraints):
    frame = pd.concat([X, pd.DataFrame({"x": [10], "relation": [HUSBAND], "sex": [0]})], ignore_index=True)
    frame = frame[frame["x"] != 3] if constraints else frame
    domain = LINKED.with_constraints(constraints)
    rows = LabelledRows(domain.without_links(), frame, np.zeros(len(frame)))
    judged = assessed(model, domain, rows, 500, 0, settings_of())
    assert list(judged.shares) == ["domain", *(["valid"] if constraints else []), "rows", "linked"]
    for name in ("rows", "linked"):
        expected = estimate(model, domain, frame, linked=name == "linked")
        assert (judged.shares[name].hits, judged.shares[name].n) == (expected.hits, expected.n)
        assert judged.hits[name].sum() == expected.hits
    assert judged.shares["rows"].linked == ()
    assert judged.shares["linked"].linked == ("relation",)
    assert judged.shares["linked"].n_not_comparable == 1


@pytest.mark.parametrize(
    ("before", "after", "accepted", "why"),
    [
        (Rule(husband=4), Rule(), True, "the share of the rows and the rows, with what is linked"),
        (Rule(man=4), Rule(man=4, husband=-4), True, "the rows, with what is linked to them changed along is shown"),
        (Rule(husband=4), Rule(husband=4, man=1), False, "the share of the domain"),
        (Rule(husband=2), Rule(husband=4), False, "with what is linked to them changed along is shown to be higher"),
        (Rule(man=2, husband=-2), Rule(husband=6), False, "with what is linked to them changed along is shown"),
    ],
)
def test_a_share_is_to_be_lower_and_none_higher_the_linked_one_too(before, after, accepted, why):
    if accepted and before.more[0] == 0:
        why = "the share of the rows, with what is linked to them changed along is shown to be lower"
    result = run(before, trainer=Script(after), augment=["flip"], max_rounds=1, max_accuracy_loss=1.0)
    assert result.accepted is accepted
    assert why in result.rounds[0].why


def test_rows_with_their_linked_twins_under_one_label():
    rows = LabelledRows(PLAIN, X, y, np.arange(len(X), dtype=float))
    made = augmented_rows(LINKED, rows, Recipe(("linked",), 10.0), np.random.default_rng(0))
    added = made.frame.iloc[len(X) :].assign(label=made.labels[len(X) :], weight=made.weights[len(X) :])
    expected = as_linked(X).assign(label=y, weight=rows.weights)
    pd.testing.assert_frame_equal(added.set_index("weight").sort_index(), expected.set_index("weight"))


def test_cases_twins_and_flipped_rows_go_by_plain_twins(found):
    result, keeping = found
    added = {}
    for each, (frame, _, _) in zip(result.rounds, keeping.calls, strict=False):
        added[each.recipe.augment] = frame.iloc[len(X) :]
    assert sorted(added["flip"][["x", "relation"]].to_numpy().tolist()) == sorted(
        X[["x", "relation"]].to_numpy().tolist()
    )
    assert added["linked"]["relation"].value_counts()[WIFE] == (X["relation"] == HUSBAND).sum()
    twins = added["twins"]
    assert all(sorted(group["sex"]) == [0, 1] for _, group in twins.groupby(["x", "relation"]))
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    for name in ("twins", "case"):
        cases = added[name]
        assert (model.predict(cases.assign(sex=0)) != model.predict(cases.assign(sex=1))).all()


def test_holding_sex_constant_leaves_the_linked_share_holding_both_does_not(found):
    result, keeping = found
    assert list(result.controls) == ["constant", "constant-linked", "random", "all"]
    constant, both = result.controls["constant"], result.controls["constant-linked"]
    assert constant.shares["rows"].hits == constant.shares["domain"].hits == 0
    assert constant.shares["linked"].value > 0.1
    assert [share.hits for share in both.shares.values()] == [0, 0, 0]
    frame, _, _ = keeping.calls[-3]
    assert frame["sex"].nunique() == frame["relation"].nunique() == 1
    assert frame["x"].equals(X["x"])


def test_the_sentence_says_which_twins(found):
    result, _ = found
    said = result.sentence()
    shares = [result.before["rows"], result.after["rows"], result.before["linked"], result.after["linked"]]
    assert said.startswith(
        "Better hold sex and relation constant: this is as good as retraining, and simpler. In pairs"
    )
    assert ". Domain by sex alone " in said
    assert said.count("; rows with relation changed along ") == 1
    assert all(f"{100 * share.value:.2f}".rstrip("0").rstrip(".") + "%" in said for share in shares)
    assert "linked" not in said
    assert any("relation with sex (1 1, 0 2)" in line for line in result.how)
