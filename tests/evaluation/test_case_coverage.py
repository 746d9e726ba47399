"""Coverage against plain references, and what it tells apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.coverage import NEAR, PARTS, count_cells, coverage_of, has_near, mean_hamming
from fairprobe import Category, Domain, Integer, Ordinal, Real, search, testing

DOMAIN = Domain(
    [
        Integer("a", 0, 11),
        Category("b", ("x", "y", "z")),
        Integer("sex", 0, 1),
        Real("c", 0, 1, 0.125),
        Ordinal("d", ("low", "mid", "high", "top")),
        Integer("one", 4, 4),
    ],
    sensitive=["sex"],
)
LEVELS = np.array([12, 3, 9, 4, 1])
rows = st.lists(st.tuples(*(st.integers(0, int(n) - 1) for n in LEVELS)), max_size=30)


def as_codes(inputs):
    return np.array(inputs, dtype=np.int64).reshape(-1, len(LEVELS))


@given(rows)
def test_cells(inputs):
    cells = {tuple(code * PARTS // n for code, n in zip(one, LEVELS, strict=True)) for one in inputs}
    assert count_cells(as_codes(inputs), DOMAIN) == len(cells)


@given(rows)
def test_hamming(inputs):
    apart = [sum(x != y for x, y in zip(*pair, strict=True)) for pair in itertools.combinations(inputs, 2)]
    expected = None if not apart else pytest.approx(np.mean(apart))
    assert mean_hamming(as_codes(inputs)) == expected


def distance(one, other):
    parts = [abs(x - y) / max(n - 1, 1) for x, y, n in zip(one, other, LEVELS, strict=True)]
    parts[1] = float(one[1] != other[1])
    return sum(parts) / len(parts)


@given(rows, rows)
def test_near(references, inputs):
    expected = [any(distance(one, other) <= NEAR + 1e-9 for other in inputs) for one in references]
    assert has_near(as_codes(references), as_codes(inputs), DOMAIN).tolist() == expected


# Of a result

BOX = testing.box(n_free=5, levels=20, low=2, high=12)


def test_without_a_model():
    coverage = coverage_of(search(BOX.model, BOX.domain, strategy="anchored", max_cases=500))
    assert (coverage.recall, coverage.n_references, coverage.leaves) == (None, 0, None)
    assert 25 < coverage.cells <= 2**5  # the box lies in the lower two thirds
    assert 4 < coverage.hamming < 5


def test_recall_tells_a_narrow_search_from_a_wide_one(census_tree):
    """Over five seeds: fully-directed 17-32%, anchored 83-92%."""
    narrow, wide = (
        coverage_of(search(*census_tree, strategy=name, max_cases=None, max_judged=50_000), census_tree[0], n=50_000)
        for name in ("fully-directed", "anchored")
    )
    assert narrow.n_references == wide.n_references > 200
    assert narrow.recall < 0.65 < wide.recall
    assert 3 * narrow.cells < wide.cells
    assert narrow.leaves < wide.leaves
