"""`reproduce`: take the measurements that are missing, then write the pages."""

from __future__ import annotations

import itertools
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluation import claims, effectiveness, efficiency, retraining, strategies, subjects, sweeps
from evaluation.ledger import Cell, Figures, Ledger
from evaluation.page import Page, Section
from evaluation.plan import FULL, Plan
from fairprobe.engine.base import checked_jobs
from fairprobe.errors import DataError, HealthWarning, RunError, SettingError

ALL = "all"
FILE = "measurements.json"

Progress = Callable[[int, int, Cell | None], None]
"""Told how many measurements are done, of how many, and which was the last; None before the first."""

_PAPER = (
    Section("figures", subjects.cells, subjects.text, subjects.draw),
    Section("effectiveness", effectiveness.cells, effectiveness.text),
    Section("effectiveness", sweeps.cells, sweeps.text, sweeps.draw),
    Section("efficiency", efficiency.cells, efficiency.text),
    Section("retraining", retraining.cells, retraining.text),
)

PAGES = (
    Page(
        "paper",
        "The paper's evaluation, made again",
        "Sakshi Udeshi, Pryanshu Arora, Sudipta Chattopadhyay: *Automated Directed Fairness Testing*, ASE 2018, on the "
        "US census and six classifiers, the sensitive parameter being sex. The paper's figures stand beside ours. A "
        "yield measures a search, a share the model: a yield is never an estimate of a share.",
        # What held follows from all the others.
        (*_PAPER, Section(ALL, lambda plan: [cell for each in _PAPER for cell in each.cells(plan)], claims.text)),
    ),
    Page(
        "strategies",
        "Strategies against each other",
        "Strategies on the census, the sensitive parameter being sex: the best of the paper's, and ours beyond it.",
        (Section("strategies", strategies.cells, strategies.text, strategies.draw),),
    ),
)

PARTS = tuple(dict.fromkeys(section.part for page in PAGES for section in page.sections if section.part != ALL))
"""The names of the parts that can be asked for."""


def reproduce(
    what: str = ALL, *, plan: Plan = FULL, out: Path | str = ".", n_jobs: int = -1, progress: Progress | None = None
) -> list[Path]:
    """Make the evaluation again, or a part of it, and write it down; gives the pages.

    Args:
        what: one of `PARTS`, or "all".
        plan: how much is measured.
        out: the folder for pages, figures and measurements; what is there already is not measured again.
        n_jobs: measurements at a time, those of time aside; -1 is one for each core. Figures do not depend on it.
        progress: a callable that is told of every measurement.
    """
    n_jobs = checked_jobs(n_jobs)
    wanted = wanted_cells(what, plan)
    folder = _made(Path(out))
    ledger = Ledger(folder / FILE)
    missing = [cell for cell in wanted if cell not in ledger]
    if progress is not None:
        progress(0, len(missing), None)
    try:
        for done, (cell, figures) in enumerate(taken(missing, n_jobs), start=1):
            ledger.add(cell, figures)
            if progress is not None:
                progress(done, len(missing), cell)
    finally:
        ledger.write()
    written = (page.write(plan, ledger, folder) for page in PAGES)
    return [path for path in written if path is not None]


def wanted_cells(what: str, plan: Plan) -> list[Cell]:
    """All measurements of a part, each once."""
    if what not in (*PARTS, ALL):
        raise SettingError(f"what is reproduced must be one of {', '.join((*PARTS, ALL))}, got {what!r}")
    sections = [section for page in PAGES for section in page.sections if what in (section.part, ALL)]
    return list({cell.key: cell for section in sections for cell in section.cells(plan)}.values())


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "reproduce.part").touch()
        (folder / "reproduce.part").unlink()
    except OSError as error:
        raise DataError(
            f"--out must be a folder that can be written, got {str(folder)!r} ({error.strerror}): choose another"
        ) from error
    return folder


# Several measurements at once in processes of their own, those of time one after the other


def taken(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Figures]]:
    """The measurements, one after the other as they are taken."""
    side_by_side = [cell for cell in cells if not cell.is_timed]
    if n_jobs == 1 or len(side_by_side) == 1:
        yield from ((cell, _take(cell)) for cell in side_by_side)
    elif side_by_side:
        yield from _in_processes(side_by_side, n_jobs)
    yield from ((cell, _take(cell)) for cell in cells if cell.is_timed)


def _take(cell: Cell) -> Figures:
    from evaluation import measure

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # that a search is short or finds little is what is measured
        figures: Figures = getattr(measure, cell.task)(**cell.settings)
    return figures


def _in_processes(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Figures]]:
    from joblib.externals.loky import get_reusable_executor

    left = iter(cells)
    with _interrupts_held():
        executor = get_reusable_executor(max_workers=n_jobs, initializer=_set_up, reuse=False)
        # Few at a time: loky fails, and may wait for ever, if it is shut down while some wait for a place in its queue.
        futures: dict[Future[Any], Cell] = {
            executor.submit(_take, cell): cell for cell in itertools.islice(left, n_jobs + 1)
        }
    try:
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                cell = futures.pop(future)
                futures.update(
                    {executor.submit(_take, following): following for following in itertools.islice(left, 1)}
                )
                yield cell, _result(future, cell)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt wait. Processes that are started meanwhile never see one, not even before they are set up."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _result(future: Future[Any], cell: Cell) -> Figures:
    try:
        figures: Figures = future.result()
    except Exception as error:
        raise RunError(
            f"a measurement must not fail, got {type(error).__name__}: {error} in {str(cell)!r}; "
            f"the others are kept: run it again to go on"
        ) from error
    return figures


def _set_up() -> None:
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is interrupted, and ends them
    threadpool_limits(1)  # the processes share the cores already
