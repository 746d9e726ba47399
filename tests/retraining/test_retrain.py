"""`retrain` as a whole: what comes back, what it leaves alone, and any columns and labels that people have."""

import pickle

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, QUICK, Keeping, Planted, Script, cells, noisy_rows, rows
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, estimate, retrain, search
from fairprobe.retraining.rounds import best_of
from random_domains import every_input

EVERYONE = DOMAIN.decode(every_input(DOMAIN))
X, y = noisy_rows(800, 1)
HELD_OUT = noisy_rows(2000, 2)


def tree():
    return DecisionTreeClassifier(random_state=0, min_samples_leaf=2)


@pytest.fixture(scope="module")
def model():
    return tree().fit(X, y)


@pytest.fixture(scope="module")
def improved(model):
    """Sex is noise to the label, but the tree has learnt some of it by heart."""
    return retrain(model, X, y, DOMAIN, labels="mean", held_out=HELD_OUT, **{**QUICK, "controls": True})


def test_discriminatory_inputs_are_rarer_and_accuracy_stays(improved):
    assert improved.accepted
    for population in ("domain", "rows"):
        assert improved.before[population].value > 0.03
        assert improved.after[population].hits == 0
        assert improved.changes[population].low > 0
    assert improved.accuracy_after >= improved.accuracy_before - 0.01
    assert estimate(improved.model, DOMAIN).value == 0
    assert improved.model is not improved.before


def test_the_result_says_how_it_was_measured(improved):
    text = " ".join(improved.how)
    for words in ("800 rows", "2,000 inputs", "the model itself", "Before is the model given", "points"):
        assert words in text
    assert "with 99.79% confidence each" in text
    assert "by its estimate, was at most 1 points" in text
    assert "Domain" in improved.sentence()
    assert "fair" not in improved.sentence() + text
    assert repr(improved).startswith("Retrained(Better hold sex constant: ")


@pytest.mark.parametrize("augment", ["auto", "case", "flip"])
def test_the_model_given_is_never_touched(model, augment):
    stored, answers = pickle.dumps(model), model.predict(EVERYONE)
    proba = model.predict_proba(EVERYONE)
    retrain(model, X, y, DOMAIN, labels="mean", augment=augment, max_rounds=3, **QUICK)
    np.testing.assert_array_equal(model.predict(EVERYONE), answers)
    assert model.predict_proba(EVERYONE).tobytes() == proba.tobytes()
    assert pickle.dumps(model) == stored


def test_the_data_given_are_never_touched(model):
    copies = X.copy(), y.copy(), HELD_OUT[0].copy(), HELD_OUT[1].copy()
    cases = search(model, DOMAIN, max_cases=10).cases
    kept = cases.copy()
    retrain(model, X, y, DOMAIN, labels="mean", cases=cases, held_out=HELD_OUT, max_rounds=2, **QUICK)
    pd.testing.assert_frame_equal(X, copies[0])
    pd.testing.assert_frame_equal(HELD_OUT[0], copies[2])
    pd.testing.assert_frame_equal(cases, kept)
    np.testing.assert_array_equal(y, copies[1])
    np.testing.assert_array_equal(HELD_OUT[1], copies[3])


def figures(summary):
    """All but the seconds that it took."""
    if isinstance(summary, dict):
        return {name: figures(value) for name, value in summary.items() if name != "seconds"}
    return [figures(each) for each in summary] if isinstance(summary, list) else summary


@pytest.mark.parametrize(("augment", "labels"), [("auto", "mean"), ("case", "vote")])
def test_the_same_seed_gives_the_same_result(model, augment, labels):
    committee = [DecisionTreeClassifier(max_depth=3, random_state=1), LogisticRegression(), model]
    options = {**QUICK, "controls": True, "augment": augment, "labels": labels, "max_rounds": 1}
    options["committee"] = committee if labels == "vote" else None
    first, again, other = (retrain(model, X, y, DOMAIN, seed=seed, **options) for seed in (3, 3, 4))
    assert figures(first.jsonable()) == figures(again.jsonable())
    assert figures(first.jsonable()) != figures(other.jsonable())
    np.testing.assert_array_equal(first.model.predict(EVERYONE), again.model.predict(EVERYONE))


def test_nothing_to_improve():
    given = Planted()
    script = Script(Planted())
    result = retrain(given, *rows(100, 1), DOMAIN, trainer=script, held_out=rows(100, 2), **{**QUICK, "controls": True})
    assert result.stop_reason == "nothing-to-improve"
    assert result.model is given
    assert result.rounds == []
    assert "the model that rounds are compared with has no discriminatory input" in result.sentence()
    assert len(result.front) == 0
    assert result.controls["random"].why_not == "no round was tried"


def planted(n_cases, n_wrong=0):
    return Planted(cells(0, n_cases), wrong=cells(300, 300 + n_wrong))


FIRST = planted(200)


def scripted(*models, augment="flip", first=FIRST, **options):
    """Rounds that come to just these models."""
    settings = {**QUICK, "n_select": 8000, "held_out": rows(3000, 4), "max_rounds": len(models), **options}
    script = Script(*models)
    return retrain(first, *rows(60, 3), DOMAIN, trainer=script, augment=augment, labels="mean", **settings)


def test_the_schedule_climbs_from_one_model_to_the_next():
    models = [planted(160), planted(100), planted(130), planted(10)]
    result = scripted(*models)
    assert [each.accepted for each in result.rounds] == [True, True, False]
    assert result.stop_reason == "not-better"
    assert result.model is models[1]
    # The third is better than the first model, but not than the second.
    assert result.rounds[2].changes["domain"].difference < 0 < result.first.shares["domain"].value - 130 / 400


def test_a_search_compares_all_with_the_first():
    models = [planted(60), planted(120), planted(40), planted(80)]
    result = scripted(*models, augment=["flip"])
    assert [each.accepted for each in result.rounds] == [True] * 4
    assert result.model is models[2]
    assert result.chosen.number == 3
    assert [round(each.left, 1) for each in result.rounds] == [0.3, 0.6, 0.2, 0.4]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_the_model_is_that_of_the_best_round(order):
    """Each is nearly level with the next, the first and the last are not; in whatever order they come, one is kept."""
    every = [planted(40), planted(37, n_wrong=4), planted(34, n_wrong=10)]
    models = [every[i] for i in order]
    result = scripted(*models, augment=["flip"], max_accuracy_loss=0.2)
    assert [each.accepted for each in result.rounds] == [True] * 3
    best = best_of(result.rounds)
    assert result.chosen is best
    assert result.model is models[best.number - 1] is every[2]


def test_a_clone_that_was_unlucky_does_not_lower_the_bar():
    """Without rows held out, the model given is right everywhere; clones on fewer rows are not, before and after."""
    given = planted(20)
    script = Script(planted(200, n_wrong=60), planted(40, n_wrong=60))
    result = retrain(
        given, *rows(3000, 3), DOMAIN, trainer=script, augment=["flip"], labels="mean", max_rounds=1, **QUICK
    )
    assert not result.accepted
    assert "below that of the model given" in result.rounds[0].why
    assert result.model is given


FEW = {"n_select": 1000, "n_report": 1000}
JOBS, RACES = ["clerk", "farmer", "nurse"], ["a", "b", "c", "d", "e"]


def people(n, seed):
    """Labels by age and job, in which sex and race are as well."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "job": pd.Categorical(rng.choice(JOBS, n), categories=JOBS),
            "sex": pd.Categorical(rng.choice(["F", "M"], n), categories=["F", "M"]),
            "race": rng.choice(RACES, n, p=[0.6, 0.2, 0.1, 0.06, 0.04]),
            "owner": rng.random(n) < 0.5,
        }
    )
    score = (frame["age"] - 40) / 10 + (frame["job"] == "clerk") + rng.normal(0, 0.7, n)
    score += (frame["sex"] == "M") - 0.5 + frame["race"].isin(["d", "e"]) * 1.5
    return frame, np.where(score > 0.25, "yes", "no")


def pipeline():
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job", "sex", "race"]),
        (StandardScaler(), ["age", "owner"]),
    )
    return make_pipeline(encoded, DecisionTreeClassifier(random_state=0, min_samples_leaf=3))


@pytest.mark.parametrize(("seed", "is_fitted_on"), [(0, False), (1, True)])
def test_a_class_so_rare_that_the_rows_fitted_on_may_lack_it(seed, is_fitted_on):
    frame, labels = people(300, 1)
    labels = np.where(np.arange(300) == 5, "rare", labels)
    domain = Domain.from_frame(frame, ["sex"])
    keeping = Keeping(pipeline())
    committee = [pipeline().fit(frame, labels), lambda batch: np.full(len(batch), "rare")]
    options = {"committee": committee, "augment": ["twins"], "max_rounds": 1, "seed": seed, "trainer": keeping}
    assert retrain(pipeline(), frame, labels, domain, **options, **{**QUICK, **FEW}).rounds
    assert ("rare" in keeping.calls[0][1]) is is_fitted_on


@pytest.mark.parametrize(("dtype", "names"), [("category", ["no", "yes"]), ("boolean", [False, True])])
def test_labels_of_any_dtype(dtype, names):
    frame, labels = people(400, 1)
    y = pd.Series(np.where(labels == "yes", names[1], names[0])).astype(dtype)
    domain = Domain.from_frame(frame, ["sex"])
    options = {"labels": "mean", "augment": ["flip"], "max_rounds": 1, "max_accuracy_loss": 0.3}
    result = retrain(pipeline(), frame, y, domain, **options, **{**QUICK, **FEW})
    assert result.accepted
    assert result.accuracy_after > 0.6
    assert set(result.model.predict(frame)) == set(names)
