"""The measurements, and coverage, against what is known otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import measure
from evaluation.coverage import NEAR, PARTS, count_cells, has_near
from fairprobe import Category, Domain, Integer, Ordinal, Real, search
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle


def test_search_inputs_is_a_search(census_tree):
    model, domain = census_tree
    arguments = ("decision-tree", ["sex"], "fully-directed", 3000, 1)
    settings = {"n_walkers": 1, "n_global": 1000, "n_local": 100}
    found = search(model, domain, strategy="fully-directed", max_cases=None, max_judged=3000, seed=1, **settings)
    assert found.n_judged == 3000
    assert measure.search_inputs(*arguments, **settings)["percent"] == pytest.approx(100 * found.yield_, rel=1e-4)
    curve = measure.search_curve(*arguments, **settings)["cases"]
    assert curve[0] == 0
    assert curve[-1] == found.n_cases
    assert curve == sorted(curve)


def test_neighbours_by_a_plain_loop(census_tree):
    outcome = measure.neighbours("decision-tree", 5, 0)
    model, domain = census_tree
    found = search(model, domain, strategy="uniform", max_cases=5, seed=0)
    oracle = Oracle(Asker(model, domain))
    parts = []
    for case in domain.encode(found.cases):
        hits = []
        for column in domain.free_columns:
            for value in (case[column] - 1, case[column] + 1):
                if 0 <= value < domain.levels[column]:
                    near = case.copy()
                    near[column] = value
                    hits.append(bool(oracle.judge(near[None]).hits[0]))
        parts.append(np.mean(hits))
    assert outcome["mean"] == pytest.approx(np.mean(parts), rel=1e-4)
    assert outcome["error"] == pytest.approx(np.std(parts, ddof=1) / np.sqrt(5), rel=1e-4)


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
