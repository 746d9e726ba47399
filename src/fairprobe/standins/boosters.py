"""LightGBM and XGBoost, asked about the twins of an input one after the other, which is faster.

Twins take the same paths through most trees, and the processor predicts them. LightGBM's booster is asked directly, as
its classifier adds a fifth to the time of a thousand rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.model.tabulated import Tabulated
from fairprobe.standins.compile import Batch, Columns, Compiled, Places


def booster(model: Any, columns: Columns) -> Compiled | None:
    """A fitted classifier behind tables, with one label for each row; None for a member of a vote."""
    if not isinstance(columns.form, Tabulated):
        return None
    is_light = type(model).__module__.startswith("lightgbm")
    places = partial(_light, model.booster_, _threads(model.n_jobs)) if is_light else partial(_extreme, model)
    return Compiled(type(model).__name__, partial(_in_blocks, places))


def _in_blocks(places: Callable[[Any], Places], batch: Batch) -> Places:
    """The places by member, then input."""
    n_members, n_inputs = batch.shape
    found: NDArray[Any] = np.asarray(places(batch.side_by_side)).reshape(n_inputs, n_members)
    return found.T.reshape(-1)


def _light(booster: Any, threads: dict[str, int], rows: NDArray[Any]) -> Places:
    likely = booster.predict(rows, **threads)
    # Of two classes it gives the probability of the second; a tie is the first one's.
    return np.asarray(likely > 1.0 - likely if likely.ndim == 1 else likely.argmax(axis=1))


def _threads(n_jobs: int | None) -> dict[str, int]:
    """The number of threads as LightGBM's classifier counts it: negative numbers count down from the cores."""
    if n_jobs is None:
        return {}
    return {"num_threads": n_jobs if n_jobs >= 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)}


def _extreme(model: Any, rows: NDArray[Any]) -> Places:
    return np.asarray(model.predict(rows))  # its classes are 0, 1, 2, ...
