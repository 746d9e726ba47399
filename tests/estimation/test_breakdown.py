"""`breakdown`: the share for each sensitive parameter alone and together, in one pass, against plain Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, breakdown, estimate
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import CountingModel, odd_one_out

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

SIZES = {"x": 5, "sex": 2, "y": 4, "race": 3}
DOMAIN = Domain([Integer(name, 0, size - 1) for name, size in SIZES.items()], sensitive=["sex", "race"])


def arbitrary(X):
    """Any answers, but the same for the same row."""
    return (X @ [7, 5, 3, 11]) % 8 < 3


# One pass

POPULATIONS = {
    "domain": ("domain", {}),
    "sample": ("domain", {"method": "sample", "n_experiments": 3}),
    "valid": ("valid", {}),
    "rows": (DOMAIN.sample(70, seed=0), {}),
}


@pytest.mark.parametrize(("population", "options"), POPULATIONS.values(), ids=POPULATIONS)
def test_all_sets_take_one_pass(population, options):
    one, all_sets = CountingModel(arbitrary), CountingModel(arbitrary)
    estimate(one, DOMAIN, population, **options)
    shares = breakdown(all_sets, DOMAIN, population, **options)
    assert all_sets.n_rows == one.n_rows
    assert all_sets.n_calls == one.n_calls
    assert {share.n_queries for share in shares.values()} == {one.n_rows}


def test_no_set_costs_another_confidence():
    for share in breakdown(arbitrary, DOMAIN, confidence=0.9, method="sample", n_experiments=2).values():
        assert share.confidence == pytest.approx(0.9)
        counts = (share.hits, share.n, share.confidence)
        assert (share.low, share.high) == clopper_pearson(*counts)
        assert (share.lower, share.upper) == (lower_bound(*counts), upper_bound(*counts))


# Sets


def test_sets_can_be_chosen():
    shares = breakdown(arbitrary, DOMAIN, sets=["race", ("race", "sex")])
    assert list(shares) == ["race", "sex x race"]
    whole = breakdown(arbitrary, DOMAIN)
    assert [share.hits for share in shares.values()] == [whole["race"].hits, whole["sex x race"].hits]


@pytest.mark.parametrize("sets", [[["x"]], [["sex", "age"]], [[]], [""], ["sex", "x"], []])
def test_a_set_names_sensitive_parameters(sets):
    rule = "sets must each name some of sex, race; got" if sets else "sets must hold one set of sensitive parameters"
    with pytest.raises(SettingError, match=rule):
        breakdown(arbitrary, DOMAIN, sets=sets)


@pytest.mark.parametrize("options", [{}, {"method": "sample", "n_experiments": 5}])
def test_worse_off_of_one_parameter_is_one_of_its_values(options):
    """Only sex 1 of race 3 is refused: of sexes 1, of races 3, of both the two."""
    toy = odd_one_out(odd=(1, 3))
    shares = breakdown(toy.model, toy.domain, favourable="yes", **options)
    worse_off = {name: share.worse_off for name, share in shares.items()}
    assert worse_off == {"sex": "sex=1", "race": "race=3", "sex x race": "sex=1, race=3"}


def test_what_is_listed_may_be_numbers_where_a_value_that_is_held_is_none():
    """The model gets an array of objects, as it would if nothing were listed."""
    domain = Domain([Category("code", ["x", 1, 2]), Integer("s", 0, 1)], {"code": [1, 2], "s": None})
    rows = pd.DataFrame({"code": ["x", 1], "s": [0, 1]}).astype({"code": object})

    def model(batch):
        return np.array([code == "x" and s == 1 for code, s in batch.tolist()])

    shares = breakdown(model, domain, rows, batch="array")
    assert {name: (share.n, share.hits) for name, share in shares.items()} == {
        "code": (2, 0),
        "s": (2, 1),
        "code x s": (2, 0),
    }
