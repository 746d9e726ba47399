"""Audits of a small world, of many kinds, and how a forger seals a changed one."""

import copy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainccinv, betaincinv

import fairprobe
from fairprobe import Domain, Link
from fairprobe.auditing.auditing import begin, go, identify
from fairprobe.auditing.content import content_of
from fairprobe.auditing.state import AuditSettings
from fairprobe.store.digests import digest, sealed

SMALL = {
    "width": None,
    "n_experiments": 2,
    "n_samples": 500,
    "search_cases": 20,
    "max_inputs": 500,
    "explain_queries": 100,
}


def rows(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.choice(["Female", "Male"], n)})
    return frame.assign(title=np.where(rng.random(n) < 0.3, "Dr", np.where(frame["sex"] == "Male", "Mr", "Ms")))


def model(frame):
    """Men get it two years earlier, whoever is called Mr three."""
    least = 40 - 2 * (frame["sex"] == "Male") - (frame["title"] == "Mr")
    return np.where(frame["age"] >= least, "yes", "no")


def by_title(frame):
    """Nobody's answer changes with sex alone."""
    return np.where((frame["title"] == "Mr") & (frame["age"] > 30), "yes", "no")


def score(frame):
    return frame["age"] / 100 + 0.1 * ((frame["sex"] == "Male") & (frame["age"] > 55))


class Odds:
    feature_names_in_ = np.array(["age", "sex", "title"])

    def predict_proba(self, frame):
        return np.column_stack([1 - score(frame), score(frame)])

    def predict(self, frame):
        return self.predict_proba(frame).argmax(axis=1)


def moody():
    """Answers the other way round each third time it is asked."""
    calls = []

    def answer(frame):
        calls.append(1)
        return np.where(
            (frame["age"] >= 40) ^ (len(calls) % 3 == 0), "yes", np.where(frame["sex"] == "Male", "no", "oh")
        )

    return answer


def plain():
    return Domain.from_frame(rows(), sensitive=["sex"])


def listed():
    """A third value that rows have and that is not compared."""
    frame = rows().assign(sex=lambda frame: frame["sex"].where(frame["age"] > 22))
    return Domain.from_frame(frame, sensitive={"sex": ["Female", "Male", None]})


def numbers():
    return Domain.from_frame(coded_rows(), sensitive=["sex", "old"])


def coded_rows():
    return rows().assign(sex=lambda frame: (frame["sex"] == "Male") * 1, old=lambda frame: frame["age"] > 50)


def raced():
    return Domain.from_frame(raced_rows(), sensitive=["race"])


def ruled():
    return raced().with_constraints(["title != 'Dr' or race != 'B'"])


def raced_rows():
    return rows().assign(race=np.random.default_rng(1).choice(list("ABC"), 120))


def by_race(frame):
    return np.where(frame["age"] >= 40 - 2 * (frame["race"] == "C"), "yes", "no")


def coded(frame):
    return np.where(frame["age"] + 2 * frame["sex"] + frame["old"] >= 40, 1, 0)


def linked():
    return Domain.from_frame(rows(), sensitive=["sex"]).with_links(
        [Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])]
    )


HELD = {"rows_are": "held-out"}
SIDES = {"sex=Female": 0.2, "sex=Male": 0.01}
MADE = {
    "violated": (model, {"max_share": 0.001, **HELD}),
    "passed": (model, {"max_share": 0.5, **HELD}),
    "unknown": (model, {"max_share": 0.5}),
    "training": (model, {"max_share": 0.01, "rows_are": "training"}),
    "open": (model, {"max_share": 0.05, **HELD}),
    "no-limit": (model, {}),
    "linked": (model, {"max_share": 0.5, "domain": linked, **HELD}),
    "gate": (model, {"max_share": 0.5, "domain": linked, "gate": "rows plain", **HELD}),
    "one-side": (model, {"max_share": 0.5, "domain": linked, "linked": True, **HELD}),
    "density": (model, {"max_share": 0.5, "gate": "density", "populations": ["density"]}),
    "sides": (model, {"max_share": SIDES, "favourable": "yes", **HELD}),
    "linked sides": (model, {"max_share": SIDES, "favourable": "yes", "domain": linked, **HELD}),
    "score": (score, {"max_share": 0.5, "output": "score", "threshold": 0.05, **HELD}),
    "score sides": (score, {"max_share": SIDES, "output": "value", "threshold": 0.05, "favourable": "lowest"}),
    "moody": (moody, {"max_share": 0.5, **HELD}),
    "listed": (model, {"max_share": 0.5, "domain": listed, **HELD}),
    "codes": (coded, {"max_share": 0.5, "domain": numbers, **HELD}),
    "masked": (model, {"max_share": SIDES, "favourable": "yes", "mask": ["title"], **HELD}),
}
"""Those whose verdict a file shows."""

OPEN = {
    "impact": (model, {"gate": "impact", "favourable": "yes", "min_ratio": 0.3, **HELD}),
    "impact of training rows": (coded, {"gate": "impact", "favourable": 1, "domain": numbers, "rows_are": "training"}),
    "exact": (model, {"max_share": 0.5, "gate": "domain", "populations": ["domain"], **HELD}),
    "proba sides": (Odds, {"max_share": SIDES, "output": "proba", "threshold": 0.05, "favourable": "highest"}),
}
"""Those whose verdict rests on what it does not show."""


@cache
def _made(name):
    build, arguments = {**MADE, **OPEN}[name]
    arguments = {"populations": ["rows"], **arguments}
    domain = arguments.pop("domain", plain)()
    settings = AuditSettings(**{**SMALL, **arguments})
    return shares_of(
        build() if build in (moody, Odds) else build, domain, coded_rows() if build is coded else rows(), settings
    )


def shares_of(model, domain, frame, settings):
    """What an audit writes down, without the phases that no verdict rests on."""
    run = begin(model, domain, frame, None, settings.but(name="toy", selfcheck=False))
    identify(run)
    for phase in ("shares", "impact", "sensitivity"):
        go(run, phase)
    return content_of(run)


def made(name):
    return copy.deepcopy(_made(name))


@cache
def _whole(name):
    if name == "scores":
        asked = {"output": "score", "threshold": 0.05, "max_share": 0.001, **HELD}
        return fairprobe.audit(score, rows(), domain=plain(), show_rows=True, selfcheck=False, **asked, **SMALL).content
    asked = {"max_share": 0.0005, "favourable": "yes", "show_rows": name == "shown", **HELD}
    return fairprobe.audit(model, rows(), domain=linked(), selfcheck=False, **asked, **SMALL).content


def whole(name="shown"):
    """All that an audit can have: a link, rows, a sample, an exact share, cases."""
    return copy.deepcopy(_whole(name))


def renewed(audit: dict[str, Any], *, sections: bool = True) -> dict[str, Any]:
    """The audit with its digest made again; with those of its sections too, if wanted."""
    if sections:
        return sealed({name: part for name, part in audit.items() if name not in ("digest", "digests")})
    whole = {name: part for name, part in audit.items() if name != "digest"}
    return {**whole, "digest": digest(whole)}


def with_config(audit: dict[str, Any]) -> dict[str, Any]:
    """The audit with the hash of its configuration made again, wherever it is said."""
    audit["about"]["config_hash"] = audit["about"]["attempts"][0]["config_hash"] = digest(audit["about"]["config"])
    return audit


def concluded(audit: dict[str, Any], outcome: str, **outcomes: str) -> dict[str, Any]:
    """The audit with another verdict, said wherever it is."""
    exit_code = {"passed": 0, "violated": 1, "inconclusive": 4}[outcome]
    told = {share: outcomes.get(share.split("/")[1], outcome) for share in audit["verdict"]["bound"]}
    audit["verdict"] |= {"outcome": outcome, "exit_code": exit_code, "outcomes": told}
    audit["verdict"]["sentence"] = f"{outcome}: {audit['verdict']['why']}"
    audit["about"]["attempts"][0]["outcome"] = outcome
    return audit


def intervals(hits: int, n: int, confidence: float) -> dict[str, float]:
    """The bounds of Clopper and Pearson by SciPy."""

    def low(error: float) -> float:
        return float(betaincinv(hits, n - hits + 1, error)) if hits else 0.0

    def high(error: float) -> float:
        return float(betainccinv(hits + 1, n - hits, error)) if hits < n else 1.0

    error = 1 - confidence
    return {"low": low(error / 2), "high": high(error / 2), "lower": low(error), "upper": high(error)}
