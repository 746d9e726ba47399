"""Score: the sum that a linear classifier decides by, taken apart by parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.estimate.exact.halves import Term, check_size
from fairprobe.estimate.exact.outcome import UnfitError
from fairprobe.estimate.exact.seen import Seen, Table
from fairprobe.model.known import known_kind

_N_PROBES = 4096
_N_TRIED = 256


@dataclass(frozen=True)
class Score:
    """What the free parameters add to a score, and what each combination of sensitive values does."""

    terms: list[Term]
    """Of the parameters that change the score at all."""
    fixed: Floats
    """By combination, with the intercept and all else that no free parameter changes."""
    error: float
    """How far the model's own sum may be from ours; 0 if nothing is ever rounded."""
    untested: int
    """How many families there are for each one that the terms tell apart."""


@dataclass(frozen=True)
class _Weights:
    coefficients: Floats
    intercept: float
    dtype: np.dtype[Any]
    """What the model adds up in."""

    @property
    def used(self) -> Mask:
        return self.coefficients != 0

    def products(self, table: Table) -> Floats:
        return np.asarray(table.values * self.coefficients[table.columns])


def is_linear(final: Any) -> bool:
    """Whether it is a linear classifier of two classes; that its answers are such sums is tried as well."""
    return (
        known_kind(final) == "linear"
        and np.size(getattr(final, "intercept_", ())) == 1
        and len(getattr(final, "classes_", ())) == 2
    )


def take_apart(seen: Seen, max_half: int) -> Score:
    """Find what each parameter adds at each of its levels."""
    domain, weights = seen.domain, _weights(seen)
    _check_probes(seen, weights, max_half)
    tables = [_table(seen, parameter, weights.used) for parameter in range(len(domain.parameters))]
    constant = np.setdiff1d(np.flatnonzero(weights.used), np.concatenate([table.columns for table in tables]))
    rest = Table(constant, seen.base[None, constant])
    error = _error(weights, [*tables, rest])
    _check_linear(seen, weights, error)

    fixed = np.full(len(domain.families), weights.intercept) + weights.products(rest).sum()
    base = np.zeros((1, len(domain.levels)), dtype=np.int64)
    for parameter, codes in domain.families.varied(base):
        fixed += weights.products(tables[parameter]).sum(axis=1)[codes[:, 0]]
    terms = []
    for parameter in domain.free_columns:
        term = _term(parameter, weights.products(tables[parameter]))
        if len(term.values) > 1:
            terms.append(term)
        else:
            fixed += term.values
    assert domain.n_families is not None  # a domain with constraints is not solved
    untested = domain.n_families // math.prod(int(term.counts.sum()) for term in terms)
    return Score(terms, fixed, error, untested)


def _weights(seen: Seen) -> _Weights:
    final = seen.final
    coefficients = np.asarray(final.coef_).reshape(-1)
    dtype = np.result_type(seen.base.dtype, coefficients.dtype, np.float32)
    return _Weights(coefficients.astype(np.float64), float(np.asarray(final.intercept_).item()), dtype)


def _table(seen: Seen, parameter: int, used: Mask) -> Table:
    """The parameter's levels; of a wide one that changes no column used, as few as tell so."""
    if seen.is_searchable(parameter):
        outline = seen.outline(parameter, used)
        if not len(outline.columns):
            return outline
    return seen.table(parameter, used)


def _term(parameter: int, products: Floats) -> Term:
    """Levels with the same products, not only the same sum, are one cell: the model's rounding is the same for them."""
    levels, counts = _distinct(products)
    return Term(parameter, products[levels].sum(axis=1), counts, levels)


def _distinct(rows: Floats) -> tuple[Codes, Codes]:
    """The first of each set of equal rows, and how many there are in it."""
    if not rows.shape[1]:
        return np.zeros(1, dtype=np.int64), np.array([len(rows)])
    keys, axis = (rows[:, 0], None) if rows.shape[1] == 1 else (rows, 0)
    _, first, counts = np.unique(keys, axis=axis, return_index=True, return_counts=True)
    return first, counts


def _error(weights: _Weights, tables: Sequence[Table]) -> float:
    """A bound on the rounding errors of the model's sum and ours, in whatever order the terms are added."""
    products = [np.abs(weights.products(table)).sum(axis=1).max() for table in tables]
    size = abs(weights.intercept) + float(sum(products))
    if not math.isfinite(size):
        raise UnfitError("a linear classifier is solved if every input has a finite score")
    info = np.finfo(weights.dtype)
    if size <= math.ldexp(1.0, _last_bit_of_sums(weights, tables) + info.nmant + 1):
        return 0.0
    n_added = int(weights.used.sum()) + len(tables)
    return 2 * (n_added + 8) * float(info.eps) * size


def _last_bit_of_sums(weights: _Weights, tables: Sequence[Table]) -> int:
    """An exponent of 2 whose multiples all products and sums are."""
    bits = [_last_bit(np.array([weights.intercept]))]
    for table in tables:
        for column, values in zip(table.columns, table.values.T, strict=True):
            bits.append(_last_bit(weights.coefficients[[column]]) + _last_bit(values))
    return min(bits)


def _last_bit(numbers: NDArray[Any]) -> int:
    """The largest exponent of 2, up to 0, whose multiples all the numbers are."""
    mantissas, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int((exponents - 53 + trailing).min(initial=0))


def _check_probes(seen: Seen, weights: _Weights, max_half: int) -> None:
    """Raise if a few levels of each parameter are too many already, so that a wide one is not looked at in vain."""
    largest = float(np.abs(weights.coefficients).max())
    if largest <= math.ldexp(1.0, _last_bit(weights.coefficients) + 53):
        return  # sums may turn out never to be rounded; then equal ones are merged, and more levels fit
    n_sums = 1
    for parameter in seen.domain.free_columns:
        n_levels = seen.domain.parameters[parameter].levels
        probes = np.unique(np.linspace(0, n_levels - 1, _N_PROBES).astype(np.int64))
        rows = seen.at(parameter, probes)[:, weights.used]
        n_sums *= len(_distinct(rows * weights.coefficients[weights.used])[0])
    check_size(math.isqrt(n_sums), max_half)


def _check_linear(seen: Seen, weights: _Weights, error: float) -> None:
    """Raise unless the model's scores are the sums, and its labels the scores' signs, on random inputs."""
    codes = seen.domain.sample_codes(_N_TRIED, np.random.default_rng(0))
    scores = seen.scores(codes)
    sums = seen.rows(codes) @ weights.coefficients + weights.intercept
    if scores.shape != sums.shape or (np.abs(scores - sums) > error).any():
        raise UnfitError("the model's scores are not the sums that its coefficients give")
    if (seen.asker.ask(codes) != seen.final.classes_[(scores > 0).astype(np.int64)]).any():
        raise UnfitError("the model's labels are not its second class where the score is above 0, else its first")
