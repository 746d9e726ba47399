"""Coverage against plain references, and what it tells apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluation.coverage import NEAR, PARTS, count_cells, coverage_of, has_near, uniform_cases
from fairprobe import Category, Domain, Integer, Ordinal, Real, search
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle

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


def distance(one, other):
    parts = [abs(x - y) / max(n - 1, 1) for x, y, n in zip(one, other, LEVELS, strict=True)]
    parts[1] = float(one[1] != other[1])
    return sum(parts) / len(parts)


@given(rows, rows)
def test_near(references, inputs):
    expected = [any(distance(one, other) <= NEAR + 1e-9 for other in inputs) for one in references]
    assert has_near(as_codes(references), as_codes(inputs), DOMAIN).tolist() == expected


# Of a result


def test_recall_tells_a_narrow_search_from_a_wide_one(census_tree):
    """Over five seeds: fully-directed 17-32%, anchored 83-92%."""
    model, domain = census_tree
    references = uniform_cases(Oracle(Asker(model, domain)), model, 50_000, 0)
    (narrow, narrow_recall), (wide, wide_recall) = (
        coverage_of(search(model, domain, strategy=name, max_cases=None, max_judged=50_000), references)
        for name in ("fully-directed", "anchored")
    )
    assert len(references) > 200
    assert narrow_recall < 0.65 < wide_recall
    assert 3 * narrow < wide
