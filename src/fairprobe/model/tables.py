"""Tables of preprocessed values: what the last step of a pipeline gets for each level of each parameter.

If the preprocessing steps work column by column, they are run once on every level. Exact solvers read the tables, and
`tabulated.py` assembles batches for searches from them.
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
from fairprobe.domain.values import is_missing
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.known import known_kind, own_kind

MAX_TABLE = 2_000_000
"""Largest number of levels of a parameter for which a table is made. Chosen: a sample asks about as many rows."""

MAX_CELLS = 50_000_000
"""Largest number of entries (levels times columns) in a table. Chosen: 400 MB."""

COLUMNWISE = ("columnwise", "identity", "monotone")
"""Kinds of transformers (see `known.KINDS`) that compute each output column from one input column."""

NARROW = 1_000
"""Largest number of levels of a numeric parameter that are sent through all preprocessing steps. With more levels, only
the transformer of this parameter is run. Chosen."""

N_RANDOM = 300
"""Number of random families for which an exact solver's result is compared with the model's own answers.

Chosen: if all agree, then with 95% confidence fewer than 1% of all families disagree.
"""

_BLOCK_CELLS = 4_000_000
"""Largest number of matrix entries in a batch that is preprocessed at once. Chosen: 32 MB."""

_N_TRIED = 256
"""Number of random inputs on which the tables are compared with the preprocessing itself. Chosen."""


class UnfitError(Exception):
    """The error that a shortcut cannot be used for a model or domain. It is caught, and the model is asked instead."""


def check_fits(n: int, most: int, words: str) -> None:
    """Raise an UnfitError that begins with `words` if a number, such as that of steps, is above the most allowed."""
    if n > most:
        raise UnfitError(f"{words}, over the {shown(most)} allowed")


class MismatchError(UnfitError):
    """The error that a model's answers differ from those computed from its fitted parameters."""


@dataclass(frozen=True)
class LevelTable:
    """The values that the last step of a pipeline gets for each level of one parameter."""

    columns: Codes
    """Numbers of the columns of the estimator's input that depend on the parameter."""
    values: NDArray[Any]
    """Values of these columns, indexed by level of the parameter, then position in `columns`."""


class Seen:
    """The preprocessing of a pipeline: turns codes into the matrix that the last step gets.

    Each column of the matrix must depend on one parameter only. Transformers not known to work column by column are
    refused. `check` compares the matrix of random inputs with the one assembled from single parameters.
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
        for part in (part for step in self.steps for part in parts_of(step)):
            if known_kind(part) not in COLUMNWISE:
                raise UnfitError(f"the preprocessing by {type(part).__name__} is not known column by column")

    def check(self) -> None:
        """Raise an UnfitError unless each column of the preprocessed matrix depends on one parameter only."""
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
        """Return the preprocessed matrix of a batch of codes, dense or sparse."""
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
        """Return the preprocessed matrix of a batch of codes as a dense array in the given dtype."""
        from sklearn.utils import check_array

        batch = self.transformed(codes)
        try:
            batch = batch.toarray() if hasattr(batch, "toarray") else batch
            return np.asarray(check_array(batch, dtype=self._dtype, ensure_all_finite=False))
        except Exception as error:
            raise UnfitError(f"the preprocessing must make numbers, got {type(error).__name__}: {error}") from error

    def scores(self, codes: Codes) -> NDArray[Any]:
        """Return the scores that the whole model gives to a batch of codes; the rows count as queries."""
        # By an asker of its own, as `asker` asks for labels; the rows it sends count all the same.
        asker = Asker(self._model, self.domain, output="score")
        scores = asker.ask(codes)
        self.asker.n_queries += asker.n_queries
        return scores

    def at(self, parameter: int, codes: Codes) -> NDArray[Any]:
        """Return preprocessed rows in which one parameter has the given levels and all others have level 0."""
        varied = np.zeros((len(codes), len(self.domain.levels)), dtype=np.int64)
        varied[:, parameter] = codes
        return self.rows(varied)

    @cached_property
    def base(self) -> NDArray[Any]:
        """The preprocessed row of the input with every parameter at level 0."""
        return self.rows(np.zeros((1, len(self.domain.levels)), dtype=np.int64))[0]

    def table(self, parameter: int, wanted: Mask) -> LevelTable:
        """Return the preprocessed values of each level of a parameter, in those columns of `wanted` that it changes.

        Raise an UnfitError if it has more than `MAX_TABLE` levels, or if the table has too many entries.
        """
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
        return LevelTable(columns, values)

    def tables(self, parameters: Sequence[int]) -> dict[int, LevelTable]:
        """Return the preprocessed values of each level of some parameters: one `LevelTable` by parameter number.

        If their levels fit into one block together, the preprocessing is run once for all of them.
        """
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

    def sensitive_columns(self) -> set[int]:
        """Return the numbers of the preprocessed columns that depend on a sensitive parameter."""
        levels = ((i, np.arange(self.domain.parameters[i].levels)) for i in self.domain.sensitive_columns)
        rows = [self.at(parameter, codes) for parameter, codes in levels]
        return set(np.flatnonzero(self._changed(np.concatenate(rows))).tolist())

    def _table(self, rows: NDArray[Any], wanted: Mask) -> LevelTable:
        changed = np.flatnonzero(self._changed(rows) & wanted)
        return LevelTable(changed, rows[:, changed])

    def _changed(self, rows: NDArray[Any]) -> Mask:
        """Return a boolean mask of the preprocessed matrix's columns: True where some row of `rows` is unlike `base`.

        `base` is the preprocessed input with every parameter at level 0.
        """
        return np.asarray((~_equal(rows, self.base)).any(axis=0))


def _equal(rows: NDArray[Any], others: NDArray[Any]) -> Mask:
    # Two missing values are equal here, unlike NaN with NaN.
    return np.asarray((rows == others) | ((rows != rows) & (others != others)))


def keeps_order(part: Any) -> bool:
    """Return True if a transformer keeps the order of numbers and treats no number as a missing value."""
    return known_kind(part) in ("identity", "monotone") and is_missing(getattr(part, "missing_values", None))


def split(model: Any) -> tuple[list[Any], Any]:
    """Return the list of a pipeline's transformers, and its last step; for other models, [] and the model."""
    steps: list[Any] = []
    while own_kind(model) == "pipeline":
        *before, (_, last) = model.steps
        steps += [step for _, step in before if not passes(step)]
        model = last
    return steps, model


def passes(step: Any) -> bool:
    """Return True if a pipeline step transforms nothing: None, "passthrough" or "drop" (which removes columns)."""
    return step is None or (isinstance(step, str) and step in ("passthrough", "drop"))


def parts_of(step: Any) -> Iterator[Any]:
    """Yield the innermost transformers of a pipeline step."""
    if passes(step):
        return
    kind = own_kind(step)
    if kind == "columns":
        made = [part for _, part, _ in step.transformers_]
    elif kind in ("pipeline", "union"):
        made = [part for _, part in (step.steps if kind == "pipeline" else step.transformer_list)]
    else:
        yield step
        return
    for part in made:
        yield from parts_of(part)


def positions(step: Any, columns: Any) -> list[int]:
    """Return the positions of the input columns that `columns` selects in the ColumnTransformer `step`.

    A slice by names returns all columns, which is more than needed but safe.
    """
    every = np.arange(step.n_features_in_)
    names = [str(name) for name in getattr(step, "feature_names_in_", ())]
    if isinstance(columns, slice) and any(isinstance(end, str) for end in (columns.start, columns.stop)):
        return every.tolist()  # more than needed does no harm
    chosen = np.atleast_1d(np.asarray(columns)) if not isinstance(columns, slice) else columns
    if isinstance(chosen, np.ndarray) and chosen.dtype.kind not in "iub":
        return [names.index(str(name)) for name in chosen]
    return np.atleast_1d(every[chosen]).tolist()
