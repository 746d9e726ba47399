"""Cases on demand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, Planted, cells

from fairprobe import Category, Domain, Integer, search
from fairprobe.errors import DataError
from fairprobe.retraining.cases import CasePool, checked_cases
from fairprobe.retraining.labels import by_function

MODEL = Planted(cells(0, 120))
CLASSES = np.array([0, 1])


def label(frame):
    return ((frame["x"] * 3 + frame["z"] + frame["sex"]) % 2).to_numpy()


def hunt(model=MODEL, domain=DOMAIN):
    seeds = itertools.count()
    return lambda n, seconds: search(model, domain, max_cases=n, max_seconds=seconds, seed=next(seeds))


NONE = np.zeros((0, 3), dtype=np.int64)


def supply(given=NONE, hunt=None):
    return CasePool(by_function(label, DOMAIN, CLASSES), DOMAIN, given, hunt, 20.0)


def families(codes):
    return set(map(tuple, codes[:, :2].tolist()))


def planted_cases(n):
    x, z = np.nonzero(MODEL.cases)
    return np.column_stack([x, z, x % 2])[:n]


def check_votes(codes, votes):
    """Votes belong to the cases they came with."""
    members = DOMAIN.decode(DOMAIN.families.members(codes))
    np.testing.assert_array_equal(votes.argmax(axis=2), label(members).reshape(2, -1))


def test_more_are_searched_for_when_they_are_needed():
    pool = supply(planted_cases(10), hunt())
    rng = np.random.default_rng(0)
    codes, votes = pool.draw(8, rng)
    assert len(pool.codes) == 10
    check_votes(codes, votes)
    codes, votes = pool.draw(60, rng)
    assert len(codes) == len(families(codes)) == 60
    assert families(planted_cases(10)) <= families(pool.codes)
    check_votes(codes, votes)
    assert all(MODEL.cases[x, z] for x, z in families(codes))


def test_a_search_ends_when_there_are_no_more_not_when_one_is_found_again():
    """120 families are discriminatory; asked for a few at a time, all are found in the end."""
    pool = supply(NONE, hunt())
    for n in range(5, 125, 5):
        codes, _ = pool.draw(n, np.random.default_rng(n))
        assert len(codes) == min(n, 120)


# Cases given by the caller


def test_cases_as_found_or_as_a_frame_or_as_an_array():
    found = search(MODEL, DOMAIN, max_cases=30)
    codes = checked_cases(DOMAIN, found)
    np.testing.assert_array_equal(codes, DOMAIN.encode(found.cases))
    np.testing.assert_array_equal(checked_cases(DOMAIN, found.cases.assign(label=1)), codes)
    np.testing.assert_array_equal(checked_cases(DOMAIN, found.cases.to_numpy()), codes)


LIMITED = Domain(
    [Integer("x", 0, 19), Category("sex", ["F", "M"])],
    ["sex"],
    [lambda rows: (rows["x"] < 10) | (rows["sex"] == "M")],
)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"x": [1, 25, 30], "sex": ["F", "M", "F"]}, "got 2 of 3 outside, the first in row 1 by x=25"),
        ({"x": [1, 2, 3], "sex": ["F", "M", "X"]}, "got 1 of 3 outside, the first in row 2 by sex=X"),
        ({"x": [11, 12, 13], "sex": ["M", "F", "M"]}, "got 1 of 3 outside, the first in row 1 by a constraint"),
        ({"x": [1.5], "sex": ["F"]}, "got 1 of 1 outside, the first in row 0 by x=1.5"),
        ({"x": [], "sex": []}, "one case at least, got none: leave them out"),
        ({"x": [1]}, "a column for every parameter, got none for sex"),
    ],
)
def test_cases_outside_the_domain(rows, message):
    with pytest.raises(DataError, match=message):
        checked_cases(LIMITED, pd.DataFrame(rows))
