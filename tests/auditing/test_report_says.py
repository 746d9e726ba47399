"""An audit's content and report say of whom, of which rows and how sure each figure is, and what it was made with."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from audited import SMALL, linked_domain, model, small, titled
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairprobe
from fairprobe import Derived, Domain, Link, proxies
from fairprobe.auditing.libraries import versions_of
from fairprobe.report import render

FORMS = ("html", "markdown")


def people(n=300):
    """Pregnancy follows from sex and age group from age; ten years make no difference."""
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 60, n), rng.choice(["Female", "Male"], n)
    return pd.DataFrame({"age": age, "old": age // 10, "sex": sex, "title": np.where(sex == "Male", "Mr", "Ms")})


def audited(frame, **arguments):
    return fairprobe.audit(model, frame, max_share=0.01, populations=["rows"], **{**SMALL, **arguments})


def test_a_column_that_another_determines_is_in_the_report():
    frame = people()
    domain = Domain.from_frame(frame, sensitive=["sex"])
    for told in (audited(frame, sensitive=["sex"]), audited(frame, domain=domain)):
        said = [each["message"] for each in told.content["health"] if each["check"] == "determined-column"]
        assert any("'sex' goes one to one with 'title'" in each for each in said)
        assert any("'age' determines 'old'" in each for each in said)
        assert all("determined-column" in render(told.content, form) for form in FORMS)


def test_what_a_domain_says_to_follow_is_no_remark():
    frame = people()
    domain = Domain.from_frame(frame, sensitive=["sex"])
    link = Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])
    derived = Derived("old", "age", {value: value // 10 for value in range(20, 60)})
    parts = [derived if each.name == "old" else each for each in domain.parameters]
    checks = {
        each["check"] for each in audited(frame, domain=Domain(parts, ["sex"]).with_links([link])).content["health"]
    }
    assert "determined-column" not in checks


@pytest.mark.parametrize(("rows_are", "of"), [("held-out", "rows"), ("unknown", "rows"), ("training", "training data")])
def test_rows_are_called_what_they_are(rows_are, of):
    frame = people()
    told = audited(frame, y=pd.Series(model(frame), frame.index), sensitive=["sex"], rows_are=rows_are)
    sentences = [each["in_data"]["sentence"] for each in told.content["why"]["regions"]]
    assert sentences
    assert all(("training rows" in each) == (rows_are == "training") for each in sentences)
    assert f"In the {of}." in render(told.content, "html")


def test_each_interval_has_its_confidence_beside_it():
    """Two shares are bound, at 97.5% each; the others have the whole error."""
    told = small(titled, domain=linked_domain(), max_share=0.01, rows_are="held-out")
    bound = told.content["verdict"]["bound"]
    assert {each["confidence"] for each in told.content["shares"] if each["id"] in bound} == {0.975}
    assert {each["confidence"] for each in told.content["shares"] if each["id"] not in bound} <= {0.95}
    for form in FORMS:
        text = render(told.content, form)
        assert "its 95% interval" not in text
        assert text.count("97.5%") >= len(bound)


@pytest.mark.parametrize("n", [300, 150])
def test_retraining_says_whose_figures_stand_before_and_on_which_rows(n):
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.integers(0, 2, n)})
    y = ((X["age"] > 50) | ((X["sex"] == 1) & (X["age"] > 40))).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    told = fairprobe.audit(tree, X, y, sensitive=["sex"], max_share=0.01, retrain=True, populations=["rows"], **SMALL)
    retrained = told.content["retraining"]
    for form in FORMS:
        text = render(told.content, form)
        part = text[text.index("retrained model was") :]
        assert f"Before is {retrained['before_is']}" in part
        assert f"{retrained['before']['rows']['n']:,} rows " in part
        assert "Real rows" not in part[: part.index("Accuracy")]


def test_a_proxy_says_of_which_value_its_figure_is():
    rng = np.random.default_rng(0)
    race = rng.choice(list("abc"), 2000)
    frame = pd.DataFrame({"race": race, "one": race == "a", "two": np.where(race == "b", 1, rng.integers(0, 2, 2000))})
    found = proxies(frame, ["race"])
    told = {row.column: row.value for row in found.table.itertuples()}
    together, alone = found.sentence().split("alone most by")
    assert f", of {told['all together']})" in together
    others = [name for name in ("one", "two") if told[name] != told["all together"]]
    assert others
    assert all(f"{name} " in alone and f"(of {told[name]}, all together " in alone for name in others)


FITTED = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1])


class Holder:
    def __init__(self, held):
        self.held = held

    def predict(self, batch):
        return batch


def boosted():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=1, min_child_samples=1, verbose=-1).fit([[0.0], [1.0]] * 9, [0, 1] * 9)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        lambda m: make_pipeline(StandardScaler(), m),
        lambda m: Holder({"models": [m]}),
        lambda m: lambda batch: m.predict(batch),
        lambda m: m.predict,
        lambda m: partial(lambda model, batch: model.predict(batch), m),
    ],
    ids=["itself", "pipeline", "held", "closure", "method", "partial"],
)
def test_versions_tell_the_models_own_library(wrap):
    assert versions_of(wrap(boosted()))["lightgbm"] == version("lightgbm")
    assert "lightgbm" not in versions_of(wrap(FITTED))


def test_versions_of_a_function_tell_the_modules_that_it_names():
    pytest.importorskip("xgboost")
    names = {}
    exec("import xgboost\ndef predict(batch):\n    return xgboost.DMatrix(batch)", names)
    assert any("xgboost" in each for each in versions_of(names["predict"]))
