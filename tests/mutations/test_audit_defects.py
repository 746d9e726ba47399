"""Defects of audits, their report and the checker put back at one seam: each is caught by what a user sees."""

from __future__ import annotations

import copy
import importlib
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairprobe
from fairprobe import Domain, Link, proxies
from fairprobe.asserting import assert_no_discrimination
from fairprobe.auditing import auditing, content
from fairprobe.errors import FairprobeError
from fairprobe.estimation import favourable
from fairprobe.estimation.proxies import Proxies
from fairprobe.report import findings, render
from fairprobe.store.identity import digest, sealed

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
                limit = {"sex=Female": 0.05}
                said = assert_no_discrimination(
                    model, people(), sensitive=["sex"], max_share=limit, favourable=">50k"
                ).verdict
        except FairprobeError:
            return
        assert said.outcome != "passed"

    def taken(word, *_, **__):
        return favourable.Favourable(word, word, is_label=True)

    is_caught(check, favourable, "read_favourable", taken)


def test_labels_counted_for_rows_are_caught(is_caught):
    frame = people().set_axis(["a", "b"] * 100)

    def check():
        found = audited(frame=frame)
        assert found.content["rows"]["n_flipped"] == found.shares["rows"].hits > 2

    real = content.rows

    def by_label(run):
        told = real(run)
        return {**told, "n_flipped": len({frame.index[flip["row"]] for flip in told["flips"]})}

    is_caught(check, content, "rows", by_label)


def has_determined_column():
    assert "determined-column" in render(audited().content, "html")


def has_own_library():
    X = people().assign(sex=lambda frame: (frame["sex"] == "Male") * 1)[["age", "sex"]]
    fitted = LogisticRegression().fit(X, X["age"] > 40)
    said = audited(fitted, X).content["about"]["versions"]
    assert {"fairprobe", "python", "scikit-learn"} <= {*said}


def calls_rows_what_they_are():
    for rows_are in ("held-out", "training"):
        told = audited(y=model(people()), rows_are=rows_are).content
        said = [region["in_data"]["sentence"] for region in told["why"]["regions"]]
        assert said
        assert all(("training rows" in each) == (rows_are == "training") for each in said)


def has_each_confidence():
    told = audited(domain=linked(), sensitive=None).content
    assert render(told, "markdown").count("97.5% |") >= 2


def names_the_rows_of_retraining():
    told = {"on_fitted_rows": False, "before": {"rows": {"n": 75}}}
    assert findings.retrained_rows(told, "rows") == "75 rows held back from fitting"


def names_the_value_of_a_proxy():
    rng = np.random.default_rng(0)
    race = rng.choice(list("abc"), 900)
    frame = pd.DataFrame({"race": race, "one": race == "a", "two": np.where(race == "b", 1, rng.integers(0, 2, 900))})
    assert "two" in proxies(frame, ["race"]).sentence().partition("alone most by")[2]
    assert "(of b, all together " in proxies(frame, ["race"]).sentence()


REPORTS = {
    "a determined column": (has_determined_column, auditing, "health_of_columns", lambda *_: []),
    "the model's library": (has_own_library, auditing, "versions_of", lambda _: {"fairprobe": "0", "python": "3"}),
    "rows": (calls_rows_what_they_are, content, "_why", lambda run: content._told(run.why)),
    "a confidence": (has_each_confidence, "fairprobe.report.findings", "confidence", lambda _: "95%"),
    "rows retrained on": (names_the_rows_of_retraining, findings, "retrained_rows", lambda *_: "Real rows"),
    "a proxy's value": (
        names_the_value_of_a_proxy,
        Proxies,
        "sentence",
        lambda found: f"alone most by {', '.join(found.table['column'])}",
    ),
}


@pytest.mark.parametrize("what", REPORTS)
def test_a_report_that_does_not_say_is_caught(is_caught, what):
    check, where, name, defect = REPORTS[what]
    where = importlib.import_module(where) if isinstance(where, str) else where
    is_caught(check, where, name, defect)


# The checker


@pytest.fixture
def checker(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "checker"), *sys.path])
    return importlib.import_module("check"), importlib.import_module("verdict")


@cache
def violated():
    return audited().content


def forged(**changes):
    """A pass of what was violated, sealed anew."""
    audit = copy.deepcopy(violated())
    audit["verdict"] |= {"outcome": "passed", "exit_code": 0, "condition": "if the model was not trained on these rows"}
    audit["verdict"]["outcomes"] = dict.fromkeys(audit["verdict"]["bound"], "passed")
    audit["about"]["attempts"][0]["outcome"] = "passed"
    audit["question"] |= changes
    audit["sensitivity"] = []
    return sealed({name: part for name, part in audit.items() if name not in ("digest", "digests")})


def is_refused(check, audit):
    check.seen.clear()
    try:
        shown = check.check(audit)
    except Exception:
        return True
    return False in check.seen or not shown


def test_a_checker_that_believes_the_question_is_caught(is_caught, checker):
    check, verdict = checker

    def holds():
        assert not is_refused(check, copy.deepcopy(violated()))
        assert is_refused(check, forged(max_share=0.9))

    is_caught(holds, verdict, "check_question", lambda audit, note: True)


def test_a_checker_that_believes_the_bound_shares_is_caught(is_caught, monkeypatch, checker):
    check, verdict = checker
    audit = forged()
    audit["verdict"] |= {"bound": [], "outcomes": {}}

    def holds():
        assert is_refused(check, sealed({name: part for name, part in audit.items() if not name.startswith("digest")}))

    real = verdict.check_verdict

    def lenient(audit, main, *rest):
        return real(audit, main, *rest) if main else True

    monkeypatch.setattr(verdict, "check_verdict", lenient)
    is_caught(holds, verdict, "bound_shares", lambda audit, note: [])


def test_digests_alone_prove_nothing():
    """What a forger has to make again is made again by anybody."""
    audit = forged()
    assert audit["digests"]["verdict"] == digest(audit["verdict"])
