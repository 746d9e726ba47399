"""Shards in several processes of this machine: this one, which has begun before others have started, and others.

The others are copies of this one where that is safe, which begin at once; else joblib's loky starts them, and the task,
with the model in it, is sent once to each. A small file that all processes map into memory is the notice board: whether
to stop, and how far each shard has got.
"""

from __future__ import annotations

import io
import pickle
import signal
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe._version import __version__
from fairprobe.engine.base import Counts, Task, Work
from fairprobe.engine.copies import Copies, end_with_original, may_copy
from fairprobe.engine.pooled import PooledEngine
from fairprobe.engine.scratch import Scratch
from fairprobe.errors import RunError, SettingError

PATIENCE_SECONDS = 3.0
"""How long workers may take to stop by themselves, before they are killed."""

WORTH_SECONDS = 6.0
"""How long a run must yet take for others to be worth their start, which takes a second or two and slows this one."""

WORTH_COPYING = 1.0
"""The same for copies, which take some hundredths of a second."""

LOOK_SECONDS = 0.3
"""How long a run must have lasted before what is foreseen is a reason to start others; copies are no great loss."""

PACKAGES: Final = ("numpy", "pandas", "sklearn")
"""Whose versions change what a model answers."""

DEATHS = ("TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor")


class ProcessEngine(PooledEngine):
    """A few shards at once: one in a thread of this process, each other in a process of its own."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        super().__init__(work)
        self._n_workers = work.n_jobs - 1
        self._most = 4 * work.n_jobs
        self._began = time.monotonic()
        self._may_copy = work.may_copy and may_copy(1)
        content = None if self._may_copy else self._content()  # what cannot be sent is refused before any work
        self._folder = Scratch(getattr(work.kept, "folder", None))
        self._paths = [str(self._folder.path / name) for name in ("task", "board")]
        if content is not None:
            self._folder.write("task", content)  # through a pipe it would keep this process busy
        self._board = _Board(np.memmap(self._paths[1], dtype=np.int64, mode="w+", shape=(self._most + 1, 3)))
        self._executor: Any = None
        """The other processes, once they are worth it."""
        self._limited: Any = None
        """Numeric libraries of this process, held to one thread while others have the other cores."""
        self._is_broken = False
        """Whether one of them has died: then all that they had under way is lost."""
        self._here: int | None = None
        """The shard that runs in this process."""
        self._suspects: set[int] = set()
        """Shards that were under way when a worker died. Each runs alone, so that it shows which one did it."""
        self._wants_copies = False
        """Whether the shard that runs here is to make them, as soon as it has something to tell."""
        self._at_work = threading.Lock()
        """Held by the thread that sees to the results, but while it waits for some."""
        self._at_work.acquire()

    def _content(self) -> bytes:
        return as_content(self._work.task, f"n_jobs={self._work.n_jobs}", "use n_jobs=1")

    def _most_ahead(self) -> int:
        return self._most

    # Who runs what

    def _start(self, shard: int) -> Future[Any] | None:
        elsewhere = self._under_way.keys() - {self._here}
        if shard in self._suspects:  # never here: it may end the process
            is_free = not elsewhere
        elif self._here is None:
            return self._run_here(shard)
        else:
            is_free = len(elsewhere) < self._n_workers and not self._suspects & elsewhere
        if not is_free or self._is_broken or not self._has_workers():
            return None
        self._board.row(shard)[:] = 0
        try:
            future: Future[Any] = self._executor.submit(_run, shard, self._work.seconds_left())
        except Exception as error:  # a worker has just died: that is told in the shard's turn
            future = Future()
            future.set_exception(error)
        return future

    def _run_here(self, shard: int) -> Future[Any]:
        """In a thread, so that results can be seen to and Ctrl-C be heard meanwhile."""
        self._here, future = shard, Future[Any]()
        future.set_running_or_notify_cancel()
        self._board.row(shard)[:] = 0
        seconds = self._work.seconds_left()

        def report(counts: Counts) -> bool:
            is_over = self._board.report(shard, counts)
            self._copy_if_wanted()
            return is_over

        def run() -> None:
            try:
                result = self._work.task(shard, seconds, report)
                self._copy_if_wanted()  # it may be too short to have told anything
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        # A daemon: a model that never answers does not keep the process from ending.
        threading.Thread(target=run, name=f"fairprobe-shard-{shard}", daemon=True).start()
        return future

    def _has_workers(self) -> bool:
        """Whether there are other processes; they are started when the run is foreseen to be long enough."""
        if self._executor is None:
            seconds = float("inf") if self._suspects else self._work.foreseen(self._counts())
            if self._may_copy:
                self._wants_copies = seconds >= WORTH_COPYING
            elif seconds >= WORTH_SECONDS and time.monotonic() - self._began >= LOOK_SECONDS:
                self._executor = self._started()
        return self._executor is not None

    def _started(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor  # one of our own: the model's joblib may use loky's

        if not Path(self._paths[0]).exists():
            self._folder.write("task", self._content())
        self._limit()
        # Before a worker has this process's path, the current folder must not be on its own.
        safe = {"PYTHONSAFEPATH": "1"}
        return ProcessPoolExecutor(self._n_workers, initializer=_set_up, initargs=self._paths, env=safe)

    def _copy_if_wanted(self) -> None:
        """Make copies, in the thread of the shard that runs here: it holds nothing now, nor does one that waits."""
        if not self._wants_copies or not self._at_work.acquire(blocking=False):
            return
        try:
            self._wants_copies = False
            self._may_copy = may_copy(2)
            if self._may_copy and not self._is_stopped:
                self._limit()
                self._executor = Copies(self._n_workers, _set_up_copy, (self._work.task, self._board))
        except OSError:  # no more processes, or no memory for them
            self._may_copy = False
        finally:
            self._at_work.release()
        self._news.set()

    def _limit(self) -> None:
        from threadpoolctl import threadpool_limits

        self._limited = self._limited or threadpool_limits(1)

    def _hear_news(self) -> bool:
        self._at_work.release()
        try:
            return super()._hear_news()
        finally:
            self._at_work.acquire()

    # Who has died

    def _freed(self, shard: int, future: Future[Any]) -> None:
        if shard == self._here:
            self._here = None
        elif not future.cancelled() and type(future.exception()).__name__ in DEATHS:
            self._is_broken = True

    def _failed(self, shard: int, error: BaseException) -> int:
        if type(error).__name__ not in DEATHS:
            return super()._failed(shard, error)
        was_alone = shard in self._suspects or self._n_workers == 1
        self._suspects.add(shard)
        return 1 if was_alone else 0

    def _look_around(self) -> None:
        with self._lock:
            if self._is_broken and not self._under_way.keys() - {self._here}:
                self._executor.shutdown(wait=True, kill_workers=True)
                self._executor, self._is_broken, self._may_copy = None, False, False
        self._fill()

    # How far they are, and the end

    def _counts(self) -> list[Counts]:
        return [Counts(*self._board.row(shard).tolist()) for shard in sorted(self._under_way)]

    def _stop(self) -> None:
        self._board.stop()

    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""
        self._halt()
        with self._lock:
            under_way = list(self._under_way.values())
        futures = [future for future in under_way if not future.cancel()]
        unfinished = wait(futures, timeout=PATIENCE_SECONDS).not_done
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=bool(unfinished))
        if self._limited is not None:
            self._limited.restore_original_limits()
        self._folder.cleanup()


class _Board:
    """Row 0 holds the sign to stop; the others the counts of a shard each, used in turn."""

    def __init__(self, cells: Any) -> None:
        self._cells = cells

    def row(self, shard: int) -> Any:
        return self._cells[1 + shard % (len(self._cells) - 1)]

    def stop(self) -> None:
        self._cells[0, 0] = 1

    def report(self, shard: int, counts: Counts) -> bool:
        self.row(shard)[:] = counts
        return bool(self._cells[0, 0])


def as_content(task: Task, who: str, instead: str) -> bytes:
    """A task as it is sent to other processes."""
    import cloudpickle

    try:
        content: bytes = pickle.dumps(versions()) + cloudpickle.dumps(task)
    except Exception as error:
        raise SettingError(
            f"{who} needs a model and constraints that can be sent to another process, "
            f"got {type(error).__name__}: {error}; {instead}"
        ) from error
    return content


def versions() -> dict[str, str]:
    """Versions by package that change a shard's result silently; a worker with other versions is refused."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"fairprobe": __version__, "python": python, **{name: import_module(name).__version__ for name in PACKAGES}}


def other_version(there: Mapping[str, str | None], where: str) -> str:
    """How a worker is refused that has another version of something; nothing if all are those that are here."""
    for name, here in versions().items():
        if there.get(name) != here:
            got = f"got {there.get(name) or 'none'} at {where}: install the same everywhere"
            return f"a worker must have version {here} of {name}, as here, {got}"
    return ""


# In the worker

_worker: dict[str, Any] = {}


def _set_up(task: str, board: str) -> None:
    from threadpoolctl import threadpool_limits

    # Ctrl-C reaches all processes of a terminal. The one that waits for the others tells them to stop, by the board:
    # so no shard is lost on its way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker["task"] = task_of(Path(task).read_bytes())
    threadpool_limits(1)  # of all that the model has brought along: the processes share the cores already
    _worker["board"] = _Board(np.memmap(board, dtype=np.int64, mode="r+").reshape(-1, 3))


def task_of(content: bytes) -> Task:
    """The task that was sent, in a process that is like the one that sent it; in another, a task that says so."""
    stream = io.BytesIO(content)
    theirs = pickle.load(stream)
    text = other_version(theirs, "the process that sent the task")
    if not text:
        task: Task = pickle.load(stream)
        return task

    def refuse(*_: Any) -> Any:
        raise RunError(text)

    return refuse


def _set_up_copy(task: Task, board: _Board) -> None:
    _worker.update(task=task, board=board)


def _run(shard: int, seconds: float | None) -> Any:
    def report(counts: Counts) -> bool:
        end_with_original()
        return bool(_worker["board"].report(shard, counts))

    return _worker["task"](shard, seconds, report)
