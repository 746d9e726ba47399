"""Tables: the numbers that the estimator at the end of a pipeline gets for each level of each parameter.

Where the steps before it work column by column, these steps are run once on every level. Exact solvers read the tables;
`tabulated.py` puts batches together out of them, for searches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import shown
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Integer, Real
from fairprobe.domain.values import is_missing
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.known import known_kind, own_kind

MAX_TABLE = 10_000_000
"""Largest number of levels of a parameter in a table. Chosen."""

MAX_CELLS = 50_000_000
"""Largest number of entries in a table. Chosen: 400 MB."""

WIDE = 50_000
"""Number of levels above which a search finds the few that matter, if the columns rise with them. Chosen."""

COLUMNWISE = ("columnwise", "identity", "monotone")
"""Kinds of transformers that make each of their columns out of one column."""

NARROW = 1_000
"""Largest number of levels of a number that are sent through all steps; with more, only the part that takes it runs.
Chosen."""

N_RANDOM = 300
"""Number of random families that the model is asked about before its count is trusted.

Chosen: where all agree, with 95% confidence fewer than 3 in 300 others do not."""

_BLOCK_CELLS = 4_000_000
"""Largest number of entries of a batch that is transformed at once. Chosen: 32 MB."""

_N_TRIED = 256
"""Number of random inputs on which the tables are compared with the steps. Chosen."""


class UnfitError(Exception):
    """The error that a shortcut does not apply to a model or domain; the model is asked or sampled instead."""


class MismatchError(UnfitError):
    """The error that the model's answers contradict its fitted numbers."""


@dataclass(frozen=True)
class Table:
    """The numbers that the estimator gets for each level of one parameter."""

    columns: Codes
    """The estimator's columns that the parameter changes."""
    values: NDArray[Any]
    """Values by level, then column."""


class Seen:
    """The matrix that the estimator at the end of a pipeline gets for a batch of codes.

    Each of its columns must depend on one parameter only. Only transformers known to work column by column are let in,
    and `check` compares random inputs with what single parameters predict.
    """

    def __init__(
        self,
        model: Any,
        domain: Domain,
        dtype: DTypeLike | str | None = None,
        batch: str | None = None,
        output: str = "label",
    ) -> None:
        self._model = model
        self.domain = domain
        self.asker = Asker(model, domain, output=output, batch=batch)
        self.steps, self.final = split(model)
        self.order = list(adapter_for(model).columns or domain.names)
        self._dtype = dtype
        self._searchable: dict[int, bool] = {}
        for part in (part for step in self.steps for part in parts_of(step)):
            if known_kind(part) not in COLUMNWISE:
                raise UnfitError(f"the preprocessing by {type(part).__name__} is not known column by column")

    def check(self) -> None:
        """Raise unless each column that the estimator gets depends on one parameter."""
        # The last level of every parameter first, so that a model that takes no missing values says so now.
        self.asker.ask(np.concatenate([[0 * self.domain.levels], np.diag(self.domain.levels - 1)]))
        # A fixed seed: whether a model is solved must not depend on chance.
        codes = self.domain.sample_codes(_N_TRIED, np.random.default_rng(0))
        expected = np.tile(self.base, (len(codes), 1))
        taken = np.zeros(len(self.base), dtype=bool)
        for parameter in range(len(self.domain.parameters)):
            rows = self.at(parameter, codes[:, parameter])
            changed = self._changed(rows)
            expected[:, changed] = rows[:, changed]
            if (taken & changed).any():
                raise UnfitError("a column that the preprocessing makes depends on more than one parameter")
            taken |= changed
        if not _equal(self.rows(codes), expected).all():
            raise UnfitError("the columns that the preprocessing makes do not depend on one parameter each")

    def transformed(self, codes: Codes) -> Any:
        """Return a batch of inputs as the steps make it, dense or sparse."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what there is to warn of, asking the model warns of
                batch = self.asker.form.rows(codes)
                for step in self.steps:
                    batch = step.transform(batch)
                return batch
        except Exception as error:
            raise UnfitError(f"the preprocessing must take every input, got {type(error).__name__}: {error}") from error

    def rows(self, codes: Codes) -> NDArray[Any]:
        """Return a batch of inputs as the estimator gets them: dense, in the dtype that it works in."""
        from sklearn.utils import check_array

        batch = self.transformed(codes)
        try:
            batch = batch.toarray() if hasattr(batch, "toarray") else batch
            return np.asarray(check_array(batch, dtype=self._dtype, ensure_all_finite=False))
        except Exception as error:
            raise UnfitError(f"the preprocessing must make numbers, got {type(error).__name__}: {error}") from error

    def scores(self, codes: Codes) -> NDArray[Any]:
        """Return the model's own scores of a batch of inputs."""
        # By an asker of its own, as `asker` asks for labels; the rows it sends count all the same.
        asker = Asker(self._model, self.domain, output="score")
        scores = asker.ask(codes)
        self.asker.n_queries += asker.n_queries
        return scores

    def at(self, parameter: int, codes: Codes) -> NDArray[Any]:
        """Return the base row with the parameter at these levels."""
        varied = np.zeros((len(codes), len(self.domain.levels)), dtype=np.int64)
        varied[:, parameter] = codes
        return self.rows(varied)

    @cached_property
    def base(self) -> NDArray[Any]:
        """The row of an input with every parameter at its first level."""
        return self.rows(np.zeros((1, len(self.domain.levels)), dtype=np.int64))[0]

    def table(self, parameter: int, wanted: Mask) -> Table:
        """Return the numbers of each level of a parameter, in the wanted columns that it changes."""
        if self.is_searchable(parameter):
            outline = self.outline(parameter, wanted)
            if not len(outline.columns):
                return outline
        name, n_levels = self.domain.names[parameter], self.domain.parameters[parameter].levels
        if n_levels > MAX_TABLE:
            most = f"over the {shown(MAX_TABLE)} that can be looked at one by one"
            raise UnfitError(f"the parameter {name!r} has {shown(n_levels)} levels, {most}")
        size = max(1, _BLOCK_CELLS // max(len(self.base), len(self.domain.levels)))
        blocks = np.split(np.arange(n_levels), range(size, n_levels, size))
        parts = [self._table(self.at(parameter, block), wanted) for block in blocks]
        columns = np.unique(np.concatenate([part.columns for part in parts]))
        if n_levels * len(columns) > MAX_CELLS:
            got = f"{shown(n_levels)} levels in {len(columns):,} columns"
            raise UnfitError(f"the parameter {name!r} has {got}, over the {shown(MAX_CELLS)} numbers of a table")
        values = np.tile(self.base[columns], (n_levels, 1))
        for block, part in zip(blocks, parts, strict=True):
            values[block[0] : block[-1] + 1, np.searchsorted(columns, part.columns)] = part.values
        return Table(columns, values)

    def tables(self, parameters: Sequence[int]) -> dict[int, Table]:
        """Return the tables of several parameters, by one run of the steps if they have few levels."""
        levels = [np.arange(self.domain.parameters[parameter].levels) for parameter in parameters]
        codes = np.zeros((sum(map(len, levels)), len(self.domain.levels)), dtype=np.int64)
        wanted = np.ones(len(self.base), dtype=bool)
        if len(codes) * max(codes.shape[1], len(self.base)) > _BLOCK_CELLS:
            return {parameter: self.table(parameter, wanted) for parameter in parameters}
        ends = np.cumsum([0, *map(len, levels)])
        for parameter, begin, each in zip(parameters, ends, levels, strict=False):
            codes[begin : begin + len(each), parameter] = each
        parts = np.split(self.rows(codes), ends[1:-1])
        return {parameter: self._table(rows, wanted) for parameter, rows in zip(parameters, parts, strict=False)}

    def outline(self, parameter: int, wanted: Mask) -> Table:
        """Return the table of the first, the last and the missing level alone, which shows the changed columns."""
        kind = self.domain.parameters[parameter]
        ends = np.unique([0, kind.levels - 1 - kind.missing, kind.levels - 1])
        return self._table(self.at(parameter, ends), wanted)

    def sensitive_columns(self) -> set[int]:
        """Return the estimator's columns that a sensitive parameter changes, for any values of the others."""
        levels = ((i, np.arange(self.domain.parameters[i].levels)) for i in self.domain.sensitive_columns)
        rows = [self.at(parameter, codes) for parameter, codes in levels]
        return set(np.flatnonzero(self._changed(np.concatenate(rows))).tolist())

    def is_searchable(self, parameter: int) -> bool:
        """Return True for a number of many levels whose columns all rise with them, a missing value aside."""
        if parameter not in self._searchable:
            self._searchable[parameter] = self._is_ordered(parameter) and self._rises(parameter)
        return self._searchable[parameter]

    def _rises(self, parameter: int) -> bool:
        """Return True if no column falls from the first level to the last, as a weight below 0 makes it do."""
        kind = self.domain.parameters[parameter]
        first, last = self.at(parameter, np.array([0, kind.levels - 1 - kind.missing]))
        return bool(((first <= last) | _equal(first, last)).all())

    def _is_ordered(self, parameter: int) -> bool:
        """Return True for a number of many levels that all its columns keep in order, or all reverse."""
        kind = self.domain.parameters[parameter]
        if not isinstance(kind, (Integer, Real)) or kind.levels <= WIDE:
            return False
        # Behind the first step its columns may be anywhere, so all parts must keep their order.
        column = self.order.index(kind.name)
        met = [part for i, step in enumerate(self.steps) for part in parts_of(step, None if i else column)]
        # An imputer that puts a number in the place of another keeps no order.
        return all(
            known_kind(part) in ("identity", "monotone") and is_missing(getattr(part, "missing_values", None))
            for part in met
        )

    def _table(self, rows: NDArray[Any], wanted: Mask) -> Table:
        changed = np.flatnonzero(self._changed(rows) & wanted)
        return Table(changed, rows[:, changed])

    def _changed(self, rows: NDArray[Any]) -> Mask:
        """Return a boolean mask of the columns that differ from the base row in some row."""
        return np.asarray((~_equal(rows, self.base)).any(axis=0))


def _equal(rows: NDArray[Any], others: NDArray[Any]) -> Mask:
    # Two missing values are equal here, unlike NaN with NaN.
    return np.asarray((rows == others) | ((rows != rows) & (others != others)))


def split(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline and the estimator at its end; other models have no transformers."""
    steps: list[Any] = []
    while own_kind(model) == "pipeline":
        *before, (_, last) = model.steps
        steps += [step for _, step in before if not passes(step)]
        model = last
    return steps, model


def passes(step: Any) -> bool:
    """Return True if a step hands all columns on unchanged, or drops them."""
    return step is None or (isinstance(step, str) and step in ("passthrough", "drop"))


def parts_of(step: Any, column: int | None = None) -> Iterator[Any]:
    """Yield the innermost transformers of a step: all, or only those that a column of the input passes through."""
    if passes(step):
        return
    kind = own_kind(step)
    if kind == "columns":
        made = [part for _, part, mine in step.transformers_ if column is None or column in positions(step, mine)]
    elif kind in ("pipeline", "union"):
        made = [part for _, part in (step.steps if kind == "pipeline" else step.transformer_list)]
    else:
        yield step
        return
    for part in made:
        yield from parts_of(part)


def positions(step: Any, columns: Any) -> list[int]:
    """Return the numbers of the columns that a part of a ColumnTransformer gets."""
    every = np.arange(step.n_features_in_)
    names = [str(name) for name in getattr(step, "feature_names_in_", ())]
    if isinstance(columns, slice) and any(isinstance(end, str) for end in (columns.start, columns.stop)):
        return every.tolist()  # more than needed does no harm
    chosen = np.atleast_1d(np.asarray(columns)) if not isinstance(columns, slice) else columns
    if isinstance(chosen, np.ndarray) and chosen.dtype.kind not in "iub":
        return [names.index(str(name)) for name in chosen]
    return np.atleast_1d(every[chosen]).tolist()
