"""The engine that runs shards in several processes on this machine.

The run begins in this process. If it is predicted to last long enough, a pool of other processes runs the rest, and
this process waits for them. The pool is made by loky, which comes with joblib, and is not shared with the model's own
joblib. Each process gets the task, with the model in it, when it starts. All processes map one file into memory, the
board. It tells them when to stop, and holds the counts of each shard.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from fairprobe._version import __version__
from fairprobe.clock import Clock
from fairprobe.engine.base import Counts, Engine, Task, Work
from fairprobe.errors import RunError, SettingError

PATIENCE_SECONDS = 3.0
"""Seconds that the pool's processes may take to stop by themselves before they are killed. Chosen."""

WORTH_SECONDS = 6.0
"""Predicted remaining seconds of a run above which a pool of processes is started. Measured: to start two processes,
which import all packages, takes 1 to 2 s on two cores."""

LOOK_SECONDS = 0.3
"""Seconds of a run before its predicted duration is used. Chosen: earlier it is based on one or two batches."""

AHEAD = 2
"""Number of shards under way for each process of the pool, so that none waits while results are merged. Chosen."""

PACKAGES: Final = ("numpy", "pandas", "sklearn")
"""Packages whose versions may change a model's answers."""

DEATHS = ("TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor")
"""Names of the exceptions that report the death of a process of the pool. All running futures then raise one."""


class ProcessEngine(Engine):
    """Engine that runs shards in this process, and then in a pool of `n_jobs` others."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        super().__init__(work)
        self._content = as_content(work.task, f"n_jobs={work.n_jobs}", "use n_jobs=1")  # refused before any work
        self._clock = Clock()
        self._folder = TemporaryDirectory(prefix="fairprobe-", ignore_cleanup_errors=True)
        self._path = str(Path(self._folder.name) / "board")
        shape = (self._most_ahead() + 1, len(Counts._fields))
        self._board: Any = np.memmap(self._path, dtype=np.int64, mode="w+", shape=shape)
        """Table in shared memory: row 0 is the stop signal, and each other row has the progress of one shard."""
        self._pool: Any = None
        self._limited: Any = None
        """Context that limits this process's numeric libraries to one thread while the pool uses the other cores."""
        self._is_broken = False
        """True if a process of the pool has died. All running shards of the pool are then lost."""
        self._suspects: set[int] = set()
        """Numbers of the shards that were running when a process died. Each is run again alone, to find the one at
        fault."""

    def _most_ahead(self) -> int:
        return 2 * AHEAD * self._work.n_jobs

    def _may_start(self, shard: int) -> bool:
        if self._is_broken:
            if self._under_way:
                return False  # these futures will fail too
            self._end_pool(kill=True)
        if self._pool is None:
            if not self._suspects and not self._is_worth_a_pool():
                return super()._may_start(shard)
            self._pool = self._started()
        if shard in self._suspects:
            return not self._under_way
        return len(self._under_way) < AHEAD * self._work.n_jobs and not self._suspects & self._under_way.keys()

    def _is_worth_a_pool(self) -> bool:
        is_known = self._work.n_jobs > 1 and self._clock.seconds >= LOOK_SECONDS
        return is_known and self._work.foreseen(self._counts()) >= WORTH_SECONDS

    def _start(self, shard: int) -> Future[Any]:
        if self._pool is None:
            return super()._start(shard)
        _row(self._board, shard)[:] = 0
        try:
            future: Future[Any] = self._pool.submit(_run, shard, self._work.seconds_left())
        except Exception as error:  # a process has just died
            future = Future()
            future.set_exception(error)
        return future

    def _started(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor
        from threadpoolctl import threadpool_limits

        self._limited = self._limited or threadpool_limits(1)
        # Before a process has the path of this one, the current folder must not be on its own.
        safe = {"PYTHONSAFEPATH": "1"}
        given = (self._content, self._path)
        return ProcessPoolExecutor(self._work.n_jobs, initializer=_set_up, initargs=given, env=safe)

    def _end_pool(self, *, kill: bool) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=kill)
        self._pool, self._is_broken = None, False

    def _failed(self, shard: int, error: BaseException) -> int:
        if type(error).__name__ not in DEATHS:
            return super()._failed(shard, error)
        self._is_broken = True
        was_alone = shard in self._suspects
        self._suspects.add(shard)
        return 1 if was_alone else 0

    def _counts(self) -> list[Counts]:
        return [*super()._counts(), *(Counts(*_row(self._board, shard).tolist()) for shard in self._under_way)]

    def _stop(self) -> None:
        self._board[0, 0] = 1

    def close(self) -> None:
        """Stop the running shards and discard their results."""
        self._stop()
        futures = [future for future in self._under_way.values() if not future.cancel()]
        self._end_pool(kill=bool(wait(futures, timeout=PATIENCE_SECONDS).not_done))
        if self._limited is not None:
            self._limited.restore_original_limits()
        self._folder.cleanup()


def _row(board: Any, shard: int) -> Any:
    """Return the row of the board that has the progress of a shard (part of a run)."""
    return board[1 + shard % (len(board) - 1)]


def as_content(task: Task, who: str, instead: str) -> bytes:
    """Return a task (the function that runs a shard) as bytes for other processes, with this process's versions.

    `who` and `instead` complete the error message if the task cannot be sent.
    """
    import cloudpickle

    try:
        return pickle.dumps(versions()) + cloudpickle.dumps(task)
    except Exception as error:
        rule = f"{who} needs a model and constraints that can be sent to another process"
        raise SettingError(f"{rule}, got {type(error).__name__}: {error}; {instead}") from error


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that may change a shard's result, by name."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"fairprobe": __version__, "python": python, **{name: import_module(name).__version__ for name in PACKAGES}}


# As in the caller: scikit-learn's settings (`sklearn.set_config`) and joblib's belong to a thread; another one, or
# another process, has the defaults.


def _settings() -> dict[str, Any]:
    """Return scikit-learn's settings in this thread; empty if scikit-learn is not imported."""
    sklearn = sys.modules.get("sklearn")
    return {} if sklearn is None else sklearn.get_config()


@dataclass(frozen=True)
class AsHere:
    """A function that, called in another thread or process, runs with this thread's scikit-learn settings."""

    function: Callable[..., Any]
    shares_cores: bool = False
    """True if fairprobe's other processes use the other cores. The joblib jobs of a model then run one after
    another."""
    settings: dict[str, Any] = field(default_factory=_settings)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the result of the function, called with the stored settings."""
        settings = import_module("sklearn").config_context(**self.settings) if self.settings else nullcontext()
        with settings, _in_turn() if self.shares_cores else nullcontext():
            return self.function(*arguments, **named)


def _in_turn() -> Any:
    """Within the context, joblib runs its jobs one after another.

    Work is split as for the requested number of jobs, so that rounding is the same.
    """
    import joblib
    from joblib.parallel import SequentialBackend

    class InTurn(SequentialBackend):  # type: ignore[misc]  # joblib has no types
        def effective_n_jobs(self, n_jobs: int | None) -> int:
            return max(1, joblib.cpu_count() + 1 + n_jobs) if (n_jobs := n_jobs or 1) < 0 else n_jobs

        def configure(self, n_jobs: int = 1, parallel: Any = None, **settings: Any) -> int:
            self.parallel = parallel
            return 1

    return joblib.parallel_config(InTurn())


# In a process of the pool

_worker: dict[str, Any] = {}


def _set_up(content: bytes, board: str) -> None:
    from threadpoolctl import threadpool_limits

    # Ctrl-C reaches all processes of a terminal. Only the waiting process acts on it and stops the others by the board,
    # so that no result is lost.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker["parent"] = os.getppid()
    _worker["task"] = task_of(content)
    threadpool_limits(1)  # after the model has brought its libraries along: the processes share the cores already
    _worker["board"] = np.memmap(board, dtype=np.int64, mode="r+").reshape(-1, len(Counts._fields))


def task_of(content: bytes) -> Task:
    """Return the task (the function that runs a shard) from the bytes that `as_content` made of it.

    If a version differs from the sender's, it is a task that raises a RunError.
    """
    stream, here = io.BytesIO(content), versions()
    wanted = pickle.load(stream)
    others = [f"version {wanted[name]} of {name}, got {here[name]}" for name in wanted if here[name] != wanted[name]]
    if not others:
        return pickle.load(stream)

    def refuse(*_: Any) -> Any:
        raise RunError(f"a worker must have {'; and '.join(others)}: install what the process that began the run has")

    return refuse


def _run(shard: int, seconds: float | None) -> Any:
    board = _worker["board"]
    if board[0, 0]:
        return None

    def report(counts: Counts) -> bool:
        if os.getppid() != _worker["parent"]:  # it was killed: nobody wants the result
            os._exit(1)
        _row(board, shard)[:] = counts
        return bool(board[0, 0])

    return _worker["task"](shard, seconds, report)
