"""Coverage against plain references, and what it tells apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluation.coverage import NEAR, PARTS, count_cells, has_near
from fairprobe import Category, Domain, Integer, Ordinal, Real

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
