"""Controls: what else could have been done, beside every result."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, QUICK, Keeping, Planted, Script, cells, noisy_rows, rows
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, estimate, retrain
from fairprobe.retraining.augmenting import Recipe, checked_parts
from fairprobe.retraining.judging import Assessment
from fairprobe.retraining.retrained import Control, recommended

X, y = noisy_rows(600, 1)
HELD_OUT = noisy_rows(1500, 2)
TREE = DecisionTreeClassifier(random_state=0, min_samples_leaf=2)
WITH = {**QUICK, "controls": True}


def run(model=TREE, data=(X, y), **options):
    keeping = Keeping(TREE)
    settings = {**WITH, "labels": "mean", "trainer": keeping, "held_out": HELD_OUT, "max_rounds": 2, **options}
    return retrain(model, *data, DOMAIN, **settings), keeping


@pytest.fixture(scope="module")
def twins():
    return run(TREE.fit(X, y), augment=["twins"])


def test_all_controls_stand_there(twins):
    result, keeping = twins
    assert list(result.controls) == ["constant", "random", "all"]
    assert len(keeping.calls) == len(result.rounds) + 3
    for control in result.controls.values():
        assert control.why_not == ""
        assert list(control.shares) == ["domain", "rows"]
        assert control.shares["domain"].seed == result.before["domain"].seed
        assert control.shares["rows"].n == result.n_rows["report"]
        assert 0.5 < control.accuracy <= 1
        assert control.words


def test_with_sex_held_constant_nothing_is_discriminatory(twins):
    result, keeping = twins
    constant = result.controls["constant"]
    assert [share.hits for share in constant.shares.values()] == [0, 0]
    assert constant.n_added == 0
    frame, labels, _ = keeping.calls[-3]
    sex = int(X["sex"].mean() > 0.5)
    pd.testing.assert_frame_equal(frame, X.assign(sex=sex))
    np.testing.assert_array_equal(labels, y)
    blind = DecisionTreeClassifier(random_state=0, min_samples_leaf=2).fit(X.assign(sex=sex), y)
    expected = blind.score(HELD_OUT[0].assign(sex=sex), HELD_OUT[1])
    assert constant.accuracy == pytest.approx(expected, abs=0.07)


def test_as_many_random_inputs(twins):
    result, keeping = twins
    frame, labels, _ = keeping.calls[-2]
    tried = result.chosen or min(result.rounds, key=lambda each: each.left)
    random = result.controls["random"]
    assert random.n_added == len(frame) - len(X)
    assert random.n_added == tried.n_added
    assert tried.n_added == 2 * min(result.n_cases, round(tried.recipe.percent / 100 * len(X)))
    assert tried.recipe.copies == 1
    added = frame.iloc[len(X) : len(X) + random.n_added]
    pairs = added.assign(label=labels[len(X) :]).groupby(["x", "z"])
    assert all(len(group["label"].unique()) == 1 for _, group in pairs), "twins have one label here too"
    cases = estimate(TREE.fit(X, y), DOMAIN, added.drop_duplicates(["x", "z"]), method="sample")
    assert cases.value < 0.5, "they are no cases but by chance"


def test_all_cases_at_once(twins):
    result, keeping = twins
    frame, _, _ = keeping.calls[-1]
    every = result.controls["all"]
    assert every.n_added == len(frame) - len(X) == min(result.n_cases, len(X))
    added = frame.iloc[len(X) :]
    assert not added.duplicated(["x", "z"]).any()
    model = DecisionTreeClassifier(random_state=0, min_samples_leaf=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(added.assign(sex=0)) != model.predict(added.assign(sex=1)), True)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("augment", ["case", "twins", "flip", "twins+flip", "case+twins+flip"])
@pytest.mark.thinned(2)
def test_as_many_rows_whatever_was_added_and_however_often(augment, copies, monkeypatch):
    """A constraint forbids most twins, and some rows have a sex that is none of the domain's: they have two twins."""
    domain = Domain(DOMAIN.parameters, ["sex"], constraints=[lambda frame: (frame["sex"] == 0) | (frame["x"] < 7)])
    frame = X[(X["sex"] == 0) | (X["x"] < 7)].reset_index(drop=True)
    labels = ((frame["x"] + frame["z"] >= 8) ^ (frame.index % 7 == 0)).astype(int).to_numpy()
    frame.loc[:20, "sex"] = 5
    recipe = Recipe(checked_parts(augment), 30.0, 40.0, copies)
    monkeypatch.setattr("fairprobe.retraining.rounds.first_tries", lambda _: [recipe])
    model = DecisionTreeClassifier(random_state=0).fit(frame, labels)
    result = retrain(
        model, frame, labels, domain, trainer=Keeping(TREE), labels="mean", augment=[augment], max_rounds=1,
        held_out=(frame, labels), **WITH,
    )  # fmt: skip
    random, tried = result.controls["random"], result.rounds[0]
    assert tried.recipe == recipe
    assert abs(random.n_added - tried.n_added) <= 4 * recipe.copies
    assert random.words.endswith("as near as whole families allow") is (random.n_added != tried.n_added)


def test_a_control_that_fails_says_why():
    script = Script(Planted(cells(0, 20)), RuntimeError("no more"), Planted(cells(0, 60)), Planted(cells(0, 50)))
    result = retrain(
        Planted(cells(0, 80)), *rows(100, 1), DOMAIN, trainer=script, held_out=rows(800, 2), augment=["case"],
        labels="mean", max_rounds=1, **WITH,
    )  # fmt: skip
    assert result.accepted
    assert result.failure is None
    failed = result.controls["constant"]
    assert failed.why_not == "the trainer must give a model, got RuntimeError: no more"
    assert (failed.shares, failed.accuracy, failed.n_added) == ({}, None, 0)
    assert result.controls["random"].why_not == result.controls["all"].why_not == ""
    assert result.controls["random"].shares["domain"].value == pytest.approx(60 / 400, abs=0.05)


def test_labels_given_leave_no_random_inputs():
    cases = pd.DataFrame({"x": range(20), "z": 3, "sex": 0, "label": [0, 1] * 10})
    result, _ = run(TREE.fit(X, y), augment=["twins"], labels="given", cases=cases, max_rounds=1)
    assert "known for the cases given alone" in result.controls["random"].why_not
    assert result.controls["all"].n_added == 20


def credit(n, seed):
    """Rows like those of the German credit data: 20 columns, sex among them, and a risk that depends a little on it."""
    rng = np.random.default_rng(seed)
    names = [*(f"amount {place}" for place in range(7)), *(f"grade {place}" for place in range(11))]
    table = pd.DataFrame({name: rng.integers(0, 40 if "amount" in name else 4, n) for name in names})
    table = table.assign(age=rng.integers(19, 75, n), sex=rng.random(n) < 0.31).astype(int)
    logit = (
        (table["amount 0"] - 20) / 10 + (table["grade 0"] - 1.5) + 0.5 * table["sex"] - (table["age"] - 35) / 50 - 0.9
    )
    return table, np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "bad", "good")


def test_on_rows_like_german_credit_the_column_held_constant_is_recommended():
    X, y = credit(1000, 0)
    domain = Domain.from_frame(X, sensitive=["sex"])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    result = retrain(model, X, y, domain, held_out=credit(1000, 1), augment=["flip"], max_rounds=1, **WITH)
    assert result.accepted
    assert result.recommended == "constant"
    first = "Better hold sex constant: this is as good as retraining, and simpler. In pairs on the report's rows"
    assert result.sentence().startswith(first)
    assert result.blocks()[0].text.startswith(first)
    assert first in result.jsonable()["advice"]
    assert re.search(
        r"\. Accuracy changes by [+-]\S+ points, [+-]\S+ to [+-]\S+, on 501 rows\. Domain ", result.sentence()
    )
    assert any("is recommended if, in pairs" in each for each in result.how)
    held = result.controls["constant"].model
    assert (held.predict(X.assign(sex=0)) == held.predict(X.assign(sex=1))).all()


def test_a_control_that_is_worse_is_not_recommended(twins):
    """By the rule, in pairs: a share shown to be higher, accuracy shown or estimated to be lost, or nothing gained."""
    result, _ = twins

    def judged(share, right):
        labels = np.arange(2000) < 2000 * right
        hits = np.arange(2000) < 2000 * share
        shares = {"rows": replace(result.before["rows"], value=share, hits=int(hits.sum()), n=2000)}
        return Assessment(shares, {"rows": hits}, labels, np.ones(2000, dtype=bool))

    def chosen(share, right, *, is_given=False):
        controls = {"constant": Control("constant", "", judged=judged(share, right))}
        found = recommended(controls, judged(0.1, 0.9), 0.95, 0.01, is_given=is_given)
        return None if found is None else found[0]

    assert chosen(0.0, 0.9) == chosen(0.1, 0.9) == chosen(0.1, 0.9005) == "constant"
    assert chosen(0.2, 0.9) is None
    assert chosen(0.0, 0.88) is None
    assert chosen(0.1, 0.9, is_given=True) is None
    assert chosen(0.0, 0.9, is_given=True) == "constant"
    assert (
        recommended({"constant": Control("constant", "", why_not="no time")}, judged(0, 1), 0.95, 1, is_given=False)
        is None
    )
