"""Toys with cases that are harder to find than those of `fairprobe.testing`."""

from fractions import Fraction
from functools import partial

import numpy as np

from fairprobe.testing.toys import Toy, _labels


def _is_nth(X, n_free, n):
    return X[:, :n_free].sum(axis=1) % n == 0


def _is_listed(X, n_free, levels, numbers):
    radix = levels ** np.arange(n_free)[::-1]
    return np.isin(X[:, :n_free].astype(np.int64) @ radix, numbers)


def checkerboard(n_free: int = 2, levels: int = 8, every: int = 2) -> Toy:
    """Discriminatory where the free parameters sum to a multiple of `every`: no neighbours are."""
    sums = np.indices([levels] * n_free).sum(axis=0)
    share = Fraction(int((sums % every == 0).sum()), levels**n_free)
    return _labels(partial(_is_nth, n_free=n_free, n=every), share, n_free, levels)


def sparse(n_cases: int = 10, n_free: int = 3, levels: int = 20, seed: int = 0) -> Toy:
    """Families scattered over the domain."""
    n_families = levels**n_free
    numbers = np.random.default_rng(seed).choice(n_families, size=n_cases, replace=False)
    rule = partial(_is_listed, n_free=n_free, levels=levels, numbers=tuple(sorted(numbers.tolist())))
    return _labels(rule, Fraction(n_cases, n_families), n_free, levels)
