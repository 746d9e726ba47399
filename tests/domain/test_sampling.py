"""Sampling is uniform over the inputs, sensitive parameters included, constrained or not."""

from __future__ import annotations

import numpy as np
import pytest

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.errors import DomainError
from random_domains import every_input

N = 40_000

MIXED = Domain(
    [
        Integer("age", 17, 30, 3),
        Real("rate", 0, 1, 0.25, missing=True),
        Category("job", ["a", "b", "c"], dtype="category"),
        Ordinal("size", ["S", "M", "L"], missing=True),
        Category("owner", [False, True]),
        Category("sex", ["Female", "Male"]),
    ],
    sensitive=["sex"],
)


def test_inputs_are_uniform():
    """All 1,200 x 2 inputs are equally likely, so parameters are independent too. By luck: one in a million."""
    codes = MIXED.sample_codes(N, np.random.default_rng(0))
    cells = np.ravel_multi_index(tuple(codes.T), tuple(MIXED.levels))
    assert p_if_uniform(cells, MIXED.size) > SURPRISING


def test_wide_parameters_reach_both_ends():
    domain = Domain([Integer("x", -(10**11), 10**11), Integer("s", 0, 1)], sensitive=["s"])
    x = domain.sample(100_000, seed=0)["x"]
    assert x.min() < -0.99 * 10**11
    assert x.max() > 0.99 * 10**11
    assert p_if_uniform(((x + 10**11) * 10 // (2 * 10**11 + 1)).to_numpy(), 10) > SURPRISING


def triangle(rows):
    return rows["x"] >= rows["y"]


def not_both(rows):
    return ~((rows["s"] == 1) & (rows["y"] > 5))


CONSTRAINED = Domain(
    [Integer("x", 0, 9), Integer("y", 0, 9), Integer("s", 0, 1)], sensitive=["s"], constraints=[triangle, not_both]
)


def allowed_by_hand():
    return [(x, y, s) for x, y, s in every_input(CONSTRAINED).tolist() if x >= y and not (s == 1 and y > 5)]


def test_forbidden_inputs_are_never_sampled_and_allowed_ones_uniformly():
    """Chance of failing by luck: one in a million."""
    allowed = allowed_by_hand()
    codes = CONSTRAINED.sample_codes(N, np.random.default_rng(0))
    assert len(codes) == N
    assert p_if_uniform([allowed.index(tuple(row)) for row in codes.tolist()], len(allowed)) > SURPRISING


def test_families_with_an_allowed_member_are_counted():
    families = {(x, y) for x, y, _ in allowed_by_hand()}
    assert CONSTRAINED.n_families == len(families)


def test_families_of_a_large_constrained_domain_are_unknown():
    domain = Domain([Integer("x", 0, 10**7), Integer("s", 0, 1)], ["s"], [lambda rows: rows["x"] > 5])
    assert domain.n_families is None


# Constraints that cannot be


def test_constraints_get_frames_with_the_domains_dtypes():
    seen = []

    def spy(rows):
        seen.append((tuple(rows.columns), tuple(map(str, rows.dtypes))))
        return np.ones(len(rows), dtype=bool)

    domain = Domain(MIXED.parameters, ["sex"], [spy])
    domain.sample_codes(3, np.random.default_rng(0))
    assert set(seen) == {(MIXED.names, tuple(map(str, MIXED.sample(1).dtypes)))}


@pytest.mark.parametrize("keeps", [0, 1e-6])
def test_a_domain_too_thin_to_sample_is_refused_soon(keeps):
    limit, drawn = int(keeps * 10**9), []

    def rare(rows):
        drawn.append(len(rows))
        return rows["x"] <= limit

    domain = Domain([Integer("x", 1, 10**9), Integer("s", 0, 1)], ["s"], [rare])
    with pytest.raises(DomainError, match=r"must allow 1 in 10,000 inputs at least, got [0-9]+ allowed of .* drawn"):
        domain.sample(10, seed=0)
    assert sum(drawn) < 10**7


@pytest.mark.parametrize(
    ("constraint", "got"),
    [
        (lambda rows: True, r"got the shape \(\) of bool"),
        (lambda rows: np.ones(len(rows) + 1, dtype=bool), r"got the shape \(1025,\) of bool"),
        (lambda rows: np.ones(len(rows)), r"got the shape \(1024,\) of float64"),
        (lambda rows: None, r"got the shape \(\) of object"),
    ],
)
def test_a_constraint_must_answer_truth_values(constraint, got):
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [constraint])
    with pytest.raises(DomainError, match=r"constraint <lambda> must return one truth value a row, " + got):
        domain.sample(5, seed=0)


def test_a_raising_constraint_is_named():
    def broken(rows):
        return rows["no such column"] > 0

    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [broken])
    with pytest.raises(DomainError, match="constraint broken raised KeyError: 'no such column'") as caught:
        domain.sample(5, seed=0)
    assert isinstance(caught.value.__cause__, KeyError)
