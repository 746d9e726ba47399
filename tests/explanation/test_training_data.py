"""Whether a region's difference was in the training data."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.label_worlds import DOMAIN as PLANTED
from benchmarks.label_worlds import WORLDS, made_evidence, model_alone, verdict
from fairprobe import Category, Domain, Integer
from fairprobe.domain.constraints import Rule
from fairprobe.estimation.bounds.differences import fisher_p
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.training_data import InData, region_in_data

DOMAIN = Domain([Integer("x", 0, 9), Category("sex", ["Female", "Male"])], ["sex"])
RULE = Rule("x >= 5")


def refuse_women(X):
    """No to women, where x is 5 or more."""
    return np.where((X["x"] >= 5) & (X["sex"] == "Female"), "no", "yes")


def rows(*groups):
    """By sex, x, label: how many rows."""
    parts = [pd.DataFrame({"x": x, "sex": sex, "y": y}, index=range(n)) for sex, x, y, n in groups]
    frame = pd.concat(parts, ignore_index=True)
    return frame[["x", "sex"]], frame["y"]


def looked_at(*groups, model=refuse_women, domain=DOMAIN, favourable="yes", **settings):
    X, y = rows(*groups)
    evidence = made_evidence(model, domain, X, y, n=500, favourable=favourable)
    return region_in_data(RULE, evidence, **settings)


def test_in_the_data():
    found = looked_at(
        ("Female", 7, "no", 16),
        ("Female", 7, "yes", 4),
        ("Male", 7, "no", 5),
        ("Male", 7, "yes", 15),
        ("Female", 1, "yes", 30),
    )
    assert found.verdict is InData.IN_THE_DATA
    assert found.verdict == "in-the-data"
    assert (found.n, found.n_rows, found.n_apart) == (40, 70, 0)
    assert found.table["group"].tolist() == ["sex=Female", "sex=Male"]
    assert found.table["n"].tolist() == [20, 20]
    assert found.table["value"].tolist() == [0.2, 0.75]
    assert tuple(found.table.loc[0, ["low", "high"]]) == clopper_pearson(4, 20, 0.95)
    (difference,) = found.differences.itertuples()
    assert difference.p_value == fisher_p(4, 20, 15, 20)
    assert (difference.value, difference.model) == (pytest.approx(-0.55), -1.0)
    assert "the difference was in the data (sex=Female against sex=Male" in found.sentence()
    assert json.loads(json.dumps(found.jsonable(), allow_nan=False))["verdict"] == "in-the-data"


def test_a_difference_the_other_way_round_is_not_the_models():
    groups = [("Female", 7, "no", 5), ("Female", 7, "yes", 45), ("Male", 7, "no", 40), ("Male", 7, "yes", 10)]
    found = looked_at(*groups)
    assert found.differences["p_value"][0] < 1e-6
    assert found.verdict is InData.NOT_IN_THE_DATA
    # Without cases no direction is known.
    found = looked_at(*groups, model=lambda X: np.where(X["x"] > 3, "yes", "no"))
    assert math.isnan(found.differences["model"][0])
    assert found.verdict is InData.IN_THE_DATA


@pytest.mark.parametrize("n_female", [0, 1, 3])
def test_extrapolated_if_one_group_has_hardly_any_rows(n_female):
    found = looked_at(("Female", 7, "no", n_female), ("Male", 7, "yes", 500), ("Female", 2, "yes", 100))
    assert found.verdict is InData.EXTRAPOLATED
    assert found.least == 4
    assert "fewer than 4 rows in one of two groups" in found.sentence()


def test_more_regions_need_more_rows():
    groups = [("Female", 7, "no", 4), ("Male", 7, "yes", 4)]
    assert looked_at(*groups).verdict is InData.IN_THE_DATA
    assert looked_at(*groups, n_regions=10).verdict is InData.EXTRAPOLATED
    assert looked_at(*groups, n_regions=10).least == 6
    wider, narrower = (looked_at(*groups, n_regions=n).table["high"][0] for n in (10, 1))
    assert wider > narrower


def test_an_empty_region():
    found = looked_at(("Female", 2, "no", 30), ("Male", 2, "yes", 30))
    assert found.n == 0
    assert found.verdict is InData.EXTRAPOLATED
    assert found.sentence().startswith("0 of 60 rows lie inside: these 0 rows say nothing here")
    assert math.isnan(found.table["value"][0])
    json.dumps(found.jsonable(), allow_nan=False)


def test_without_rows_or_labels():
    assert region_in_data(RULE, made_evidence(refuse_women, DOMAIN, n=100)) is None
    X, _ = rows(("Female", 7, "no", 30), ("Male", 7, "yes", 20))
    assert region_in_data(RULE, made_evidence(refuse_women, DOMAIN, X, n=100)) is None


def test_unknown_labels_and_others_stand_apart():
    domain = Domain([Integer("x", 0, 9), Category("race", ["A", "B", "C"])], sensitive={"race": ["A", "B"]})
    frame = pd.DataFrame({"x": 7, "race": ["A"] * 10 + ["B"] * 10 + ["C"] * 5 + [None] * 2})
    labels = ["no"] * 9 + [None] + ["yes"] * 10 + ["no"] * 7
    evidence = made_evidence(lambda X: np.where(X["race"] == "A", "no", "yes"), domain, frame, labels, n=100)
    found = region_in_data(RULE, evidence)
    assert found.table["n"].tolist() == [9, 10]
    assert (found.n, found.n_apart) == (27, 8)
    assert found.verdict is InData.IN_THE_DATA


def test_the_rarer_label_or_each():
    groups = [("Female", 7, "no", 20), ("Male", 7, "yes", 15)]
    assert set(looked_at(*groups, favourable=None).table["outcome"]) == {"yes"}
    three = looked_at(*groups, ("Male", 7, "maybe", 5), favourable=None)
    assert three.table["outcome"].tolist() == ["no", "yes", "maybe"] * 2
    assert three.verdict is InData.IN_THE_DATA
    # What the model never says, it does not tell groups apart by.
    assert set(three.differences["outcome"]) == {"no", "yes"}


def test_several_sensitive_parameters():
    domain = Domain([*DOMAIN.parameters, Category("race", ["A", "B", "C"])], ["sex", "race"])
    rng = np.random.default_rng(0)
    frame = domain.decode(domain.sample_codes(2000, rng))
    odd = (frame["sex"] == "Female") & (frame["race"] == "C") & (frame["x"] >= 5)
    labels = np.where(rng.random(2000) < np.where(odd, 0.1, 0.7), "yes", "no")

    def model(X):
        return np.where((X["sex"] == "Female") & (X["race"] == "C") & (X["x"] >= 5), "no", "yes")

    evidence = made_evidence(model, domain, frame, labels, n=500, favourable="yes")
    found = region_in_data(RULE, evidence)
    assert found.verdict is InData.IN_THE_DATA
    words, n = found.table["group"].tolist(), found.table["n"]
    assert words[:5] == ["sex=Female", "sex=Male", "race=A", "race=B", "race=C"]
    assert words[5:] == [f"sex={sex}, race={race}" for sex in ("Female", "Male") for race in "ABC"]
    assert n[:2].sum() == n[5:].sum() == found.n
    # The model puts this combination apart from all others, half as far its race, and by sex only a third as far.
    assert found.differences["model"].abs().tolist() == [1, 1, 1, 1, 1, 0.5, 0.5]
    apart = {*zip(found.differences["a"], found.differences["b"], strict=True)}
    assert apart >= {("race=A", "race=C"), ("sex=Female, race=C", "sex=Male, race=A")}
    assert ("sex=Female", "sex=Male") not in apart


@pytest.mark.parametrize("expected", WORLDS)
@pytest.mark.parametrize(("n_seeds", "least"), [(10, 9), pytest.param(100, 95, marks=pytest.mark.slow)])
def test_planted(expected, n_seeds, least):
    assert sum(verdict(WORLDS[expected](seed)) is expected for seed in range(n_seeds)) >= least


def alike(n_female, n_male, no_female, no_male):
    """Rows in the region, so many of each sex refused."""
    counts = (("Female", n_female, no_female), ("Male", n_male, no_male))
    return [(sex, 7, label, k) for sex, n, no in counts for label, k in (("no", no), ("yes", n - no))]


def test_absence_is_told_with_its_margin():
    found = looked_at(*alike(200, 200, 40, 40))
    assert found.verdict is InData.NOT_IN_THE_DATA
    assert 0 < found.differences["at_most"][0] < 0.15
    assert "the labels differ by at most 1" in found.sentence()
    assert "the model's answers by 100%" in found.sentence()
    assert looked_at(*alike(8, 8, 4, 4)).verdict is InData.UNCLEAR


def test_without_room_to_ask_about_the_rows_nothing_is_absent():
    X, y = rows(*alike(200, 200, 40, 40))
    for most, expected in ((10**9, InData.NOT_IN_THE_DATA), (2000, InData.NOT_IN_THE_DATA), (700, InData.UNCLEAR)):
        evidence = made_evidence(refuse_women, DOMAIN, X, y, n=100, favourable="yes", max_queries=most)
        found = region_in_data(RULE, evidence)
        assert found.verdict is expected
        assert evidence.oracle.asker.n_queries == (0 if expected is InData.UNCLEAR else 400)
    assert "was not measured" in found.sentence()


@pytest.mark.parametrize(
    ("n_runs", "n", "own", "chance", "sign", "least", "most"),
    [(60, 100, 0.8, 0.7, 1, 0, 8), (20, 300, 1.0, 0.5, 0, 15, 20)],
)
def test_a_difference_of_the_margin_is_seldom_called_absent(n_runs, n, own, chance, sign, least, most):
    """The labels differ by the very margin, or not at all (sign 0); `own` is the model's difference."""
    rng = np.random.default_rng([0, n, n_runs])
    X = pd.DataFrame({"x": 7, "sex": ["Female", "Male"] * n})
    place = np.repeat(np.arange(n), 2)
    answers = np.where((X["sex"] == "Female") & (place < own * n), "no", "yes")
    evidence = made_evidence(refuse_women, DOMAIN, X, ["yes", "no"] * n, n=50, favourable="yes")
    evidence.oracle.asker.ask_frame = lambda frame: answers
    n_absent = 0
    for _ in range(n_runs):
        rate = np.where(X["sex"] == "Female", chance - sign * own / 2, chance)
        labels = np.where(rng.random(2 * n) < rate, "yes", "no")
        rows = dataclasses.replace(evidence.rows, labels=labels)
        found = region_in_data(RULE, dataclasses.replace(evidence, rows=rows))
        n_absent += found.verdict is InData.NOT_IN_THE_DATA
    assert least <= n_absent <= most


@pytest.mark.slow
def test_labels_that_do_not_differ_are_seldom_called_in_the_data():
    """The region is drawn without regard to the labels, so that the error is what it should be, at most."""
    false = 0
    for seed in range(200):
        world = model_alone(seed)
        evidence = made_evidence(world.model, PLANTED, world.rows, world.labels, n=200, favourable="yes")
        false += region_in_data(world.rule, evidence).verdict is InData.IN_THE_DATA
    assert false <= 14
