import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Link, Real
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows

KINDS = {
    "name": lambda: Category("name", [f"v{i}" for i in range(5)]),
    "wide": lambda: Category("wide", [f"v{i}" for i in range(300)]),
    "absent": lambda: Category("absent", ["a", "b"], missing=True),
    "whole": lambda: Integer("whole", 10, 60),
    "gappy": lambda: Integer("gappy", 0, 9, missing=True),
    "real": lambda: Real("real", 0, 1, 0.1),
}


def by_hand(domain, inputs, rows):
    """One pair at a time, in values."""
    columns = [name for name in domain.names if name not in domain.sensitive]
    spans = {name: max(1e-9, rows[name].max() - rows[name].min()) for name in columns if rows[name].dtype.kind in "if"}
    far = np.zeros((len(inputs), len(rows)))
    for name in columns:
        step = getattr(domain[name], "step", None)
        for i, one in enumerate(inputs[name]):
            for j, other in enumerate(rows[name]):
                if pd.isna(one) or pd.isna(other):
                    far[i, j] += pd.isna(one) != pd.isna(other)
                elif step is not None:
                    far[i, j] += abs(one - other) / max(spans[name], step)
                else:
                    far[i, j] += one != other
    return far / len(columns)


@given(kinds=st.sets(st.sampled_from(list(KINDS)), min_size=1), seed=st.integers(0, 10**6), n_rows=st.integers(1, 40))
def test_it_is_the_nearest(kinds, seed, n_rows):
    parameters = [KINDS[kind]() for kind in sorted(kinds)]
    domain = Domain([*parameters, Category("sex", ["F", "M"])], sensitive=["sex"])
    rng = np.random.default_rng(seed)
    rows, inputs = domain.sample_codes(n_rows, rng), domain.sample_codes(15, rng)
    found, far = nearest_rows(domain, inputs, rows)
    expected = by_hand(domain, domain.decode(inputs), domain.decode(rows))
    assert far == pytest.approx(expected.min(axis=1), abs=1e-9)
    each = np.arange(len(inputs))
    assert expected[each, found] == pytest.approx(expected.min(axis=1), abs=1e-9)
    gower = Gower(domain, coordinates(domain, rows))
    pairs = [coordinates(domain, codes) for codes in (inputs, rows[found])]
    assert gower.distance(*pairs) == pytest.approx(far, abs=1e-9)
    assert gower.by_column(*pairs).mean(axis=1) == pytest.approx(far, abs=1e-9)


def test_a_row_is_nearest_to_itself_and_blocks_do_not_show(monkeypatch):
    domain = Domain([KINDS["name"](), KINDS["gappy"](), KINDS["whole"](), Integer("sex", 0, 1)], sensitive=["sex"])
    rows = domain.sample_codes(200, np.random.default_rng(0))
    inputs = domain.sample_codes(100, np.random.default_rng(1))
    before = nearest_rows(domain, inputs, rows)
    monkeypatch.setattr("fairprobe.domain.nearest.PAIRS", 700)
    after = nearest_rows(domain, inputs, rows)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert (nearest_rows(domain, rows, rows)[1] == 0).all()


def test_roles_are_compared():
    parameters = [Category("role", ["Husband", "Wife", "Child"]), Integer("sex", 0, 1)]
    domain = Domain(parameters, sensitive=["sex"], links=[Link("role", "sex", [{0: "Wife", 1: "Husband"}])])
    wife, husband, child = np.array([[1, 0]]), np.array([[0, 1]]), np.array([[2, 0]])
    rows = np.concatenate([child, husband])
    assert [each.tolist() for each in nearest_rows(domain, wife, rows)] == [[1], [0.0]]


def test_without_any_column_to_compare():
    domain = Domain([Integer("sex", 0, 1)], sensitive=["sex"])
    assert [each.tolist() for each in nearest_rows(domain, np.array([[1]]), np.array([[0], [1]]))] == [[0], [0.0]]


def test_without_rows_it_is_in_terms_of_the_domain():
    domain = Domain([Integer("age", 0, 10), KINDS["gappy"](), Integer("sex", 0, 1)], sensitive=["sex"])
    ours, theirs = np.array([[0, 0], [5, 3]]), np.array([[10, 9], [5, 10]])
    assert Gower(domain).by_column(ours, theirs).tolist() == [[1, 1], [0, 1]]
