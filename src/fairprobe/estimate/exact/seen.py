"""Seen: what the deciding estimator sees of an input, parameter by parameter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Integer, Real
from fairprobe.estimate.exact import preprocessing
from fairprobe.estimate.exact.outcome import UnfitError, shown
from fairprobe.model.adapters import abilities_of
from fairprobe.model.asking import Asker

MAX_TABLE = 10_000_000
"""A parameter with more levels is not put into a table level by level."""

MAX_CELLS = 50_000_000
"""Nor is one whose table would have more numbers."""

WIDE = 50_000
"""Above that many levels of a number the few that matter are searched for, where that can be done."""

_BLOCK_CELLS = 4_000_000
_N_TRIED = 256


@dataclass(frozen=True)
class Table:
    """What one parameter's levels look like to the estimator."""

    columns: Codes
    """The estimator's columns that the parameter changes."""
    values: NDArray[Any]
    """By level, then column."""


class Seen:
    """The matrix that the estimator at the end of a model gets, made of codes.

    Each of its columns must depend on one parameter only. The transformers let in are known to work column by column;
    that the columns come out as one parameter at a time predicts `check` tries on random inputs as well.
    """

    def __init__(self, model: Any, domain: Domain, dtype: DTypeLike | str) -> None:
        self._model = model
        self.domain = domain
        self.asker = Asker(model, domain)
        self.steps, self.final = preprocessing.split(model)
        self.order = list(abilities_of(model).columns or domain.names)
        self._dtype = dtype
        for step in self.steps:
            preprocessing.check(step)

    def check(self) -> None:
        """Raise unless each column that the estimator gets depends on one parameter."""
        self._check_answers()
        self._check_separable()

    def rows(self, codes: Codes) -> NDArray[Any]:
        """A batch of inputs as the estimator sees them."""
        from sklearn.utils import check_array

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what there is to warn of, asking the model warns of
                batch = self.asker.adapter.form.rows(codes)
                for step in self.steps:
                    batch = step.transform(batch)
                batch = batch.toarray() if hasattr(batch, "toarray") else batch
                return np.asarray(check_array(batch, dtype=self._dtype, ensure_all_finite=False))
        except Exception as error:
            raise UnfitError(f"the preprocessing must take every input, got {type(error).__name__}: {error}") from error

    def scores(self, codes: Codes) -> NDArray[Any]:
        """The model's own scores of a batch of inputs."""
        asker = Asker(self._model, self.domain, output="score")
        scores = asker.ask(codes)
        self.asker.n_queries += asker.n_queries
        return scores

    def at(self, parameter: int, codes: Codes) -> NDArray[Any]:
        """The base row with the parameter at these levels."""
        varied = np.zeros((len(codes), len(self.domain.levels)), dtype=np.int64)
        varied[:, parameter] = codes
        return self.rows(varied)

    @cached_property
    def base(self) -> NDArray[Any]:
        """What an input with every parameter at its first level looks like."""
        return self.at(0, np.zeros(1, dtype=np.int64))[0]

    def table(self, parameter: int, wanted: Mask) -> Table:
        """The parameter's levels in those of the wanted columns that it changes."""
        n_levels = self.domain.parameters[parameter].levels
        if n_levels > MAX_TABLE:
            raise UnfitError(
                f"the parameter {self.domain.names[parameter]!r} has {shown(n_levels)} levels, over the "
                f"{shown(MAX_TABLE)} that can be looked at one by one"
            )
        parts = [(start, *self._changes(rows, wanted)) for start, rows in self._blocks(parameter)]
        columns = np.unique(np.concatenate([changed for _, changed, _ in parts]))
        if n_levels * len(columns) > MAX_CELLS:
            raise UnfitError(
                f"the parameter {self.domain.names[parameter]!r} has {shown(n_levels)} levels in {len(columns):,} "
                f"columns, over the {shown(MAX_CELLS)} numbers that a table may have"
            )
        values = np.tile(self.base[columns], (n_levels, 1))
        for start, changed, block in parts:
            values[start : start + len(block), np.searchsorted(columns, changed)] = block
        return Table(columns, values)

    def outline(self, parameter: int, wanted: Mask) -> Table:
        """The first and the last level and the missing one: all that is needed to know the columns that rise."""
        kind = self.domain.parameters[parameter]
        ends = np.unique([0, kind.levels - 1 - kind.missing, kind.levels - 1])
        return Table(*self._changes(self.at(parameter, ends), wanted))

    def sensitive_columns(self) -> set[int]:
        """The estimator's columns that a sensitive parameter changes, whatever the rest of the input."""
        parameters = self.domain.sensitive_columns
        if not self.steps:
            return {self.order.index(self.domain.names[parameter]) for parameter in parameters}
        rows = [self.at(parameter, np.arange(self.domain.parameters[parameter].levels)) for parameter in parameters]
        return set(np.flatnonzero(self.changed(np.concatenate(rows))).tolist())

    def is_searchable(self, parameter: int) -> bool:
        """Whether it is a wide number whose columns all rise with its levels, a missing value aside."""
        kind = self.domain.parameters[parameter]
        if not isinstance(kind, (Integer, Real)) or kind.levels <= WIDE:
            return False
        return preprocessing.is_monotone(self.steps, self.order.index(kind.name))

    def _blocks(self, parameter: int) -> Iterator[tuple[int, NDArray[Any]]]:
        n_levels = self.domain.parameters[parameter].levels
        size = max(1, _BLOCK_CELLS // max(len(self.base), len(self.domain.levels)))
        for start in range(0, n_levels, size):
            yield start, self.at(parameter, np.arange(start, min(start + size, n_levels)))

    def _changes(self, rows: NDArray[Any], wanted: Mask) -> tuple[Codes, NDArray[Any]]:
        changed = np.flatnonzero(self.changed(rows) & wanted)
        return changed, rows[:, changed]

    def changed(self, rows: NDArray[Any]) -> Mask:
        """Which columns differ from the base row somewhere."""
        return np.asarray((~_equal(rows, self.base)).any(axis=0))

    def _check_answers(self) -> None:
        """Ask about the last level of every parameter, so that a model that takes no missing values says so now."""
        self.asker.ask(np.concatenate([[0 * self.domain.levels], np.diag(self.domain.levels - 1)]))

    def _check_separable(self) -> None:
        codes = self.domain.sample_codes(_N_TRIED, np.random.default_rng(0))
        expected = np.tile(self.base, (len(codes), 1))
        taken = np.zeros(len(self.base), dtype=bool)
        for parameter in range(len(self.domain.parameters)):
            rows = self.at(parameter, codes[:, parameter])
            changed = self.changed(rows)
            expected[:, changed] = rows[:, changed]
            if (taken & changed).any():
                raise UnfitError("a column that the preprocessing makes depends on more than one parameter")
            taken |= changed
        if not _equal(self.rows(codes), expected).all():
            raise UnfitError("the columns that the preprocessing makes do not depend on one parameter each")


def _equal(rows: NDArray[Any], others: NDArray[Any]) -> Mask:
    return np.asarray((rows == others) | ((rows != rows) & (others != others)))
