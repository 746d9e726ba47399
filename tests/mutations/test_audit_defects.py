"""Defects of audits and their report put back at one seam: each is caught by what a user sees."""

import importlib
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe import Domain, Link, proxies
from fairprobe.asserting import assert_no_discrimination
from fairprobe.auditing import auditing, content
from fairprobe.errors import FairprobeError
from fairprobe.estimation import favourable
from fairprobe.estimation.proxies import Proxies
from fairprobe.report import render, sections

SMALL = {"n_experiments": 1, "search_cases": 20, "max_judged": 500, "explain_queries": 2000, "populations": ["rows"]}


def people(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.choice(["Female", "Male"], n)})
    return frame.assign(title=np.where(frame["sex"] == "Male", "Mr", "Ms"))


def model(frame):
    """Men get it ten years earlier."""
    return np.where(frame["age"] >= 50 - 10 * (frame["sex"] == "Male"), ">50K", "<=50K")


def audited(a_model=model, frame=None, **arguments):
    arguments = {**SMALL, "sensitive": ["sex"], "max_share": 0.01, "selfcheck": False, **arguments}
    return fairprobe.audit(a_model, people() if frame is None else frame, **arguments)


def linked():
    domain = Domain.from_frame(people(), sensitive=["sex"])
    return domain.with_links([Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])])


@pytest.mark.parametrize("call", ["audit", "assert"])
def test_a_misspelt_outcome_that_passes_is_caught(is_caught, call):
    def check():
        try:
            if call == "audit":
                said = audited(max_share={"sex=Female": 0.05}, favourable=">50k").verdict
            else:
                how = {"max_share": {"sex=Female": 0.05}, "favourable": ">50k"}
                said = assert_no_discrimination(model, people(), sensitive=["sex"], **how).verdict
        except FairprobeError:
            return
        assert said.outcome != "passed"

    def taken(word, *_, **__):
        return favourable.Favourable(word, word, is_label=True)

    is_caught(check, favourable, "read_favourable", taken)


def test_labels_counted_for_rows_are_caught(is_caught, undrawn):
    frame = people().set_axis(["a", "b"] * 100)

    def check():
        found = audited(frame=frame)
        flips, checks = found.content["rows"], {each["check"] for each in found.content["health"]}
        assert flips["n_flipped"] == len({flip["row"] for flip in flips["flips"]}) == found.shares["rows"].hits > 2
        assert "repeated-index" in checks
        assert "no-why" not in checks

    real = content.rows

    def by_label(run):
        told = real(run)
        return {**told, "n_flipped": len({frame.index[flip["row"]] for flip in told["flips"]})}

    is_caught(check, content, "rows", by_label)


def has_determined_column():
    for told in (audited(), audited(sensitive=None, domain=Domain.from_frame(people(), sensitive=["sex"]))):
        said = [each["message"] for each in told.content["health"] if each["check"] == "determined-column"]
        assert any("'sex' goes one to one with 'title'" in each for each in said)
        assert all("determined-column" in render(told.content, form) for form in ("html", "markdown"))


def has_own_library():
    X = people().assign(sex=lambda frame: (frame["sex"] == "Male") * 1)[["age", "sex"]]
    fitted = LogisticRegression().fit(X, X["age"] > 40)
    said = audited(fitted, X).content["about"]["versions"]
    assert {"fairprobe", "python", "scikit-learn"} <= {*said}


def calls_rows_what_they_are():
    for rows_are, of in (("unknown", "rows"), ("training", "training data")):
        told = audited(y=model(people()), rows_are=rows_are).content
        said = [region["in_data"]["sentence"] for region in told["why"]["regions"]]
        assert said
        assert all(("training rows" in each) == (rows_are == "training") for each in said)
        assert f"In the {of}." in render(told, "html")


@cache
def two_bound():
    return audited(domain=linked(), sensitive=None, populations=["rows", "domain"]).content


def has_each_confidence():
    """Two shares are bound, at 97.5% each; the others have the whole error."""
    told = two_bound()
    bound = told["verdict"]["bound"]
    assert {(each["confidence"], each["id"] in bound) for each in told["shares"]} == {(0.975, True), (0.95, False)}
    assert render(told, "markdown").count("97.5% |") >= len(bound) == 2
    assert all("its 95% interval" not in render(told, form) for form in ("html", "markdown"))


@cache
def retrained(n):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.integers(0, 2, n)})
    y = ((X["age"] > 50) | ((X["sex"] == 1) & (X["age"] > 40))).astype(int)
    return audited(DecisionTreeClassifier(random_state=0).fit(X, y), X, y=y, retrain=True).content


def names_the_rows_of_retraining():
    """With 300 rows there are rows to report on; with 150 there are none."""
    for told in (retrained(300), retrained(150)):
        figures = told["retraining"]
        for form in ("html", "markdown"):
            text = render(told, form)
            part = text[text.index("retrained model was") :]
            assert f"Before is {figures['before_is']}" in part
            assert f"{figures['before']['rows']['n']:,} rows " in part
            assert "Real rows" not in part[: part.index("Accuracy")]


def names_the_value_of_a_proxy():
    rng = np.random.default_rng(0)
    race = rng.choice(list("abc"), 900)
    frame = pd.DataFrame({"race": race, "one": race == "a", "two": np.where(race == "b", 1, rng.integers(0, 2, 900))})
    together, alone = proxies(frame, ["race"]).sentence().split("told most by")
    assert ", of race=a)" in together
    assert "two " in alone
    assert "(of race=b, all together " in alone


REPORTS = {
    "a determined column": (has_determined_column, auditing, "health_of_columns", lambda *_: []),
    "the model's library": (has_own_library, auditing, "versions_of", lambda _: {"fairprobe": "0", "python": "3"}),
    "rows": (calls_rows_what_they_are, content, "_why", lambda run: content._told(run.why)),
    "a confidence": (has_each_confidence, "fairprobe.report.content", "confidence", lambda _: "95%"),
    "rows retrained on": (names_the_rows_of_retraining, sections, "retrained_rows", lambda *_: "Real rows"),
    "a proxy's value": (
        names_the_value_of_a_proxy,
        Proxies,
        "sentence",
        lambda found: f"told most by {', '.join(found.table['column'])}",
    ),
}


@pytest.mark.parametrize("what", REPORTS)
def test_a_report_that_does_not_say_is_caught(is_caught, undrawn, what):
    check, where, name, defect = REPORTS[what]
    where = importlib.import_module(where) if isinstance(where, str) else where
    is_caught(check, where, name, defect)
