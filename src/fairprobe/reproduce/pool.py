"""Taking measurements: several at once in processes of their own, those of time one after the other."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from typing import Any

from fairprobe.errors import HealthWarning, RunError
from fairprobe.reproduce.cells import Cell, Outcome, take


def taken(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """The outcomes, as they come."""
    side_by_side = [cell for cell in cells if not cell.is_timed]
    if n_jobs == 1 or len(side_by_side) == 1:
        yield from ((cell, _taken(cell)) for cell in side_by_side)
    elif side_by_side:
        yield from _in_processes(side_by_side, n_jobs)
    yield from ((cell, _taken(cell)) for cell in cells if cell.is_timed)


def _in_processes(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=n_jobs, initializer=_set_up, reuse=False)
    futures: dict[Future[Any], Cell] = {executor.submit(_taken, cell): cell for cell in cells}
    try:
        for future in as_completed(futures):
            yield futures[future], _result(future, futures[future])
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def _result(future: Future[Any], cell: Cell) -> Outcome:
    try:
        return future.result()
    except Exception as error:
        raise RunError(
            f"a measurement must not fail, got {type(error).__name__}: {error} in {str(cell)!r}; "
            f"the others are kept: run it again to go on"
        ) from error


def _set_up() -> None:
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is interrupted, and ends them
    threadpool_limits(1)  # the processes share the cores already


def _taken(cell: Cell) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # that a search is short or finds little is what is measured
        return take(cell)
