"""Defects of verdicts, put back one at a time: each must be caught."""

import dataclasses
import importlib
import math

import numpy as np
import pandas as pd
import pytest

from fairprobe import Domain, Integer, Link, audit, breakdown, estimate, verdict
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.estimation.verdict import Gate

verdicts, settings = (importlib.import_module(f"fairprobe.estimation.{name}") for name in ("verdict", "estimation"))
"""The modules: the package has a function of the one name."""

PARAMETERS = [Integer("age", 0, 99), Integer("sex", 0, 1), Integer("foreign", 0, 1)]
DOMAIN = Domain(PARAMETERS[:2], sensitive=["sex"])
WIDER = Domain(PARAMETERS, sensitive=["sex", "foreign"])
PLACE = np.arange(1000)
ROWS = pd.DataFrame({"age": PLACE % 100, "sex": PLACE // 100 % 2, "foreign": PLACE % 7 % 2})
CHEAP = {"populations": ["rows"], "search_cases": 5, "max_inputs": 2000, "explain_queries": 500, "selfcheck": False}


def flips_below(age):
    """A model that changes its answer with sex for people younger than `age`: `age` per cent of the rows."""
    return lambda X: np.where(np.asarray(X)[:, 0] < age, np.asarray(X)[:, 1], 0)


def check_the_interval_decides():
    share = estimate(flips_below(3), DOMAIN, ROWS, rows_are="held-out")
    assert verdict(share, (share.low + share.lower) / 2).outcome == "inconclusive"
    assert verdict(share, (share.high + share.upper) / 2).outcome == "inconclusive"


def test_one_sided_bounds_decide_is_caught(is_caught):
    held = verdicts.held_against

    def one_sided(share, limit, least):
        return held(dataclasses.replace(share, low=share.lower, high=share.upper), limit, least)

    is_caught(check_the_interval_decides, verdicts, "held_against", one_sided)


def check_a_further_column_costs_nothing():
    """The limit lies between the lower bound at 95% and the one that a split over three sets would give."""
    share = estimate(flips_below(3), DOMAIN, ROWS)
    three = clopper_pearson(share.hits, share.n, 1 - 0.05 / 3)[0]
    limit = (share.low + three) / 2
    together = breakdown(flips_below(3), WIDER, ROWS)["sex x foreign"]
    assert (together.hits, together.n, together.low, together.high) == (share.hits, share.n, share.low, share.high)
    assert verdict(together, limit).outcome == verdict(share, limit).outcome == "violated"


def test_error_split_over_sets_that_no_limit_binds_is_caught(is_caught):
    is_caught(check_a_further_column_costs_nothing, Gate, "n_bound", lambda gate, sides: 3 * len(sides))


def check_training_rows_pass_nothing():
    for model, outcome in ((flips_below(0), "inconclusive"), (flips_below(30), "violated")):
        share = estimate(model, DOMAIN, ROWS, rows_are="training")
        assert all(math.isnan(each) for each in (share.low, share.high, share.lower, share.upper))
        assert verdict(share, 0.1).outcome == outcome
    unknown = verdict(estimate(flips_below(0), DOMAIN, ROWS), 0.1)
    assert unknown.sentence.startswith("passed, if the model was not trained on these rows: ")
    assert unknown.condition is not None
    assert verdict(estimate(flips_below(30), DOMAIN, ROWS), 0.1).condition is None
    said = audit(flips_below(0), ROWS, domain=DOMAIN, max_share=0.1, rows_are="training", **CHEAP)
    assert said.verdict.outcome == "inconclusive"


def test_training_rows_taken_for_people_is_caught(is_caught):
    is_caught(check_training_rows_pass_nothing, settings, "checked_role", lambda role: "held-out")


LINKED = Domain(
    [*PARAMETERS, Integer("title", 0, 3)], sensitive=["sex", "foreign"]
).with_links([Link("title", "sex", [{0: 1, 1: 2}])])  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "bound", "apart"), [(None, 0.975, 0.95), ("rows plain", 0.95, 0.95), ("domain", 0.95, 0.975)]
)
def test_only_shares_that_a_limit_binds_share_the_error(gate, bound, apart):
    settings = {**CHEAP, "populations": ["rows", "domain"], "n_experiments": 2}
    said = audit(flips_below(3), ROWS.assign(title=0), domain=LINKED, max_share=0.1, gate=gate, **settings)
    main = said.shares["rows"]
    assert [main.confidence, main.plain.confidence] == pytest.approx([bound] * 2)
    domain = said.shares["domain"]
    assert [domain.confidence, domain.plain.confidence] == pytest.approx([apart] * 2)
    for share in said.shares_by_set["rows"].values():
        if len(share.sensitive) == 1:
            counts = (share.hits, share.n, 0.95)
            assert (share.low, share.high) == clopper_pearson(*counts)
            assert (share.lower, share.upper) == (lower_bound(*counts), upper_bound(*counts))
