"""Preprocessing: the transformers known to make each of their columns out of one column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairprobe.domain.rules import is_missing
from fairprobe.estimate.exact.outcome import UnfitError
from fairprobe.model.known import known_kind, own_kind

COLUMNWISE = ("columnwise", "identity", "monotone")


def split(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline and the estimator at its end; any other model has no transformers."""
    steps: list[Any] = []
    while own_kind(model) == "pipeline":
        *before, (_, last) = model.steps
        steps += [step for _, step in before if not _passes(step)]
        model = last
    return steps, model


def check(step: Any) -> None:
    """Raise unless each column that a step makes is made of one column."""
    for part in _simple_parts(step):
        if known_kind(part) not in COLUMNWISE:
            raise UnfitError(f"the preprocessing by {type(part).__name__} is not one that is known column by column")


def is_monotone(steps: list[Any], column: int) -> bool:
    """Whether all that steps make of an input's column never falls while the column rises."""
    return all(_keeps_order(part) for step in steps[:1] for part in _parts_on(step, column)) and all(
        _keeps_order(part) for step in steps[1:] for part in _simple_parts(step)
    )


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step in ("passthrough", "drop"))


def _keeps_order(part: Any) -> bool:
    # An imputer that puts a number in the place of another keeps no order.
    return known_kind(part) in ("identity", "monotone") and is_missing(getattr(part, "missing_values", None))


def _simple_parts(step: Any) -> Iterator[Any]:
    """The transformers within a step that are not made of others."""
    if _passes(step):
        return
    inner = _inner(step)
    if inner is None:
        yield step
        return
    for part in inner:
        yield from _simple_parts(part)


def _inner(step: Any) -> list[Any] | None:
    kind = own_kind(step)
    if kind == "pipeline":
        return [part for _, part in step.steps]
    if kind == "union":
        return [part for _, part in step.transformer_list]
    if kind == "columns":
        return [part for _, part, _ in step.transformers_]
    return None


def _parts_on(step: Any, column: int) -> Iterator[Any]:
    """The simple transformers that one column of an input meets."""
    if own_kind(step) != "columns":
        yield from _simple_parts(step)
        return
    for _, part, columns in step.transformers_:
        if column in _positions(step, columns):
            yield from _simple_parts(part)


def _positions(step: Any, columns: Any) -> list[int]:
    """The columns that a part of a ColumnTransformer was given, by number."""
    every = np.arange(step.n_features_in_)
    names = [str(name) for name in getattr(step, "feature_names_in_", ())]
    if isinstance(columns, slice) and any(isinstance(end, str) for end in (columns.start, columns.stop)):
        return every.tolist()  # more than needed does no harm
    chosen = np.atleast_1d(np.asarray(columns)) if not isinstance(columns, slice) else columns
    if isinstance(chosen, np.ndarray) and chosen.dtype.kind not in "iub":
        return [names.index(str(name)) for name in chosen]
    return np.atleast_1d(every[chosen]).tolist()
