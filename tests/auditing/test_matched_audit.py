"""Audits of models that do not take the sensitive column: matched twins are shown, and bind a limit only if asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Domain, audit, estimate
from fairprobe.errors import SettingError

pytestmark = pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")


def rows(n=1500, seed=0):
    """Men are taller, and the model hires the tall."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    tall = np.clip(rng.normal(165 + 12 * (sex == "m"), 7).round(), 140, 210).astype(int)
    return pd.DataFrame({"tall": tall, "age": rng.integers(18, 66, n), "sex": sex})


class Tall:
    """Hires the tall, without being told the sex."""

    classes_ = np.array(["no", "yes"])
    feature_names_in_ = np.array(["tall", "age"])

    def predict(self, X):
        return np.where(X["tall"] > 171, "yes", "no")


SMALL = {"favourable": "yes", "selfcheck": False, "search_cases": 10, "max_judged": 500, "explain_queries": 500}


def audited(**asked):
    return audit(Tall(), rows(), sensitive=["sex"], **{**SMALL, "rows_are": "held-out", "max_share": 0.01, **asked})


def test_without_the_attribute_an_audit_shows_matched_twins_and_stays_inconclusive():
    result = audited()
    (told,) = result.content["matched"]
    assert result.verdict.outcome == "inconclusive"
    assert "does not take sex" in result.verdict.sentence
    assert told["value"] > 0.3
    assert told["keep"] == ["age"]
    assert told["worse_off"] == "f"
    assert told["keep_words"].startswith("These columns stay unchanged: ")


def test_a_limit_on_matched_twins_needs_what_stays():
    with pytest.raises(SettingError, match="needs keep"):
        audited(gate="matched")
    with pytest.raises(SettingError, match="in an audit alone"):
        estimate(Tall(), Domain.from_frame(rows(), sensitive=["sex"]), rows(), gate="matched")


@pytest.mark.parametrize(("limit", "outcome"), [(0.01, "violated"), (0.9, "passed")])
def test_a_limit_on_matched_twins(limit, outcome):
    result = audited(gate="matched", keep=["age"], max_share=limit)
    assert result.verdict.outcome == outcome
    assert result.verdict.bound == ("matched/sex",)
    assert len(result.verdict.sentence.split()) <= 25
    training = audited(gate="matched", keep=["age"], max_share=limit, rows_are="training")
    assert training.verdict.outcome == ("violated" if outcome == "violated" else "inconclusive")
    unknown = audited(gate="matched", keep=["age"], max_share=limit, rows_are="unknown")
    assert (unknown.verdict.condition is None) == (outcome == "violated")


def test_estimate_gives_the_flip_probability_of_each_person():
    people = rows()
    domain = Domain.from_frame(people, sensitive=["sex"])
    found = estimate(Tall(), domain, people, matched=True, keep=["age"], favourable="yes")
    assert found.flips.index.equals(people.index)
    assert found.value == pytest.approx(found.flips.mean(), abs=0.01)
    with pytest.raises(SettingError, match="width means nothing to matched twins"):
        estimate(Tall(), domain, people, matched=True, width=0.1)
    with pytest.raises(SettingError, match="goes with matched=True"):
        estimate(Tall(), domain, people, keep=["age"])
    with pytest.raises(SettingError, match="are of real rows"):
        estimate(Tall(), domain, "domain", matched=True)
