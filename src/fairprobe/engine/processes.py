"""Shards in several processes of this machine, by joblib's loky.

The task, with the model in it, is sent once to each worker, not with each shard. A small file that all processes map
into memory is the notice board: whether to stop, and how far each shard has got.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np

from fairprobe.engine.base import Counts, Kept, SecondsLeft, Task, Watch
from fairprobe.engine.interrupts import interruptible
from fairprobe.errors import RunError, SettingError

POLL_SECONDS = 0.1
PATIENCE_SECONDS = 3.0
"""How long workers may take to stop by themselves, before they are killed."""

GRACE_SECONDS = 30.0
"""How long interrupted shards may take to hand over what they have: as long as one batch of a slow model."""


class ProcessEngine:
    """A few shards at once, each in a process of its own."""

    def __init__(
        self, task: Task, n_jobs: int, watch: Watch | None, seconds_left: SecondsLeft, kept: Kept | None = None
    ) -> None:
        import cloudpickle
        from joblib.externals.loky import get_reusable_executor

        self._n_jobs = n_jobs
        self._watch = watch
        self._seconds_left = seconds_left
        self._kept = kept
        try:
            content = cloudpickle.dumps(task)
        except Exception as error:
            raise SettingError(
                f"n_jobs={n_jobs} needs a model and constraints that can be sent to another process, "
                f"got {type(error).__name__}: {error}; use n_jobs=1"
            ) from error
        self._folder = tempfile.TemporaryDirectory(prefix="fairprobe-")
        board = str(Path(self._folder.name) / "board")
        # More rows than shards are ever under way, so that no two of these share one.
        self._board = _Board(np.memmap(board, dtype=np.int64, mode="w+", shape=(4 * n_jobs + 1, 3)))
        self._executor = get_reusable_executor(
            max_workers=n_jobs, initializer=_set_up, initargs=(content, board), reuse=False
        )
        self._pending: deque[tuple[int, Future[Any]]] = deque()
        self._unsaved: dict[int, Future[Any]] = {}
        """Shards that run here and now, whose results are still to be kept."""

    def results(self) -> Iterator[Any]:
        """The results in order; a few shards ahead are already under way."""
        for shard in itertools.count():
            while len(self._pending) <= self._n_jobs:
                ahead = shard + len(self._pending)
                self._pending.append((ahead, self._loaded(ahead) or self._submitted(ahead)))
            result = self._result(self._pending[0][1])
            self._save()
            yield result
            self._pending.popleft()

    def _loaded(self, shard: int) -> Future[Any] | None:
        """A shard that was finished before."""
        result = None if self._kept is None else self._kept.load(shard)
        if result is None:
            return None
        future: Future[Any] = Future()
        future.set_result(result)
        return future

    def _save(self) -> None:
        """Keep what has ended since, whichever shard it is."""
        for shard in [shard for shard, future in self._unsaved.items() if future.done()]:
            future = self._unsaved.pop(shard)
            if self._kept is not None and not future.cancelled() and future.exception() is None:
                self._kept.save(shard, future.result())

    def _submitted(self, shard: int) -> Future[Any]:
        """A shard under way. Where a worker has just died it can't be: that is told in its turn, after the results."""
        self._board.row(shard)[:] = 0
        try:
            future: Future[Any] = self._executor.submit(_run, shard, self._seconds_left())
            self._unsaved[shard] = future
        except Exception as error:
            future = Future()
            future.set_exception(error)
        return future

    def _result(self, future: Future[Any]) -> Any:
        while not wait([future], timeout=POLL_SECONDS).done:
            self._save()
            with interruptible():
                if self._watch is not None:
                    self._watch([Counts(*self._board.row(shard).tolist()) for shard, _ in self._pending])
        try:
            return future.result()
        except Exception as error:
            if type(error).__name__ in ("TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor"):
                raise RunError(
                    "a worker process must live as long as the run, got one that died: killed, or out of memory?"
                ) from error
            raise RunError(f"a shard must not fail, got {type(error).__name__}: {error}") from error

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have, in order."""
        self._board.stop()
        deadline = time.monotonic() + GRACE_SECONDS
        results = []
        for _, future in self._pending:
            future.cancel()
            with contextlib.suppress(BaseException):
                results.append(future.result(timeout=max(0.0, deadline - time.monotonic())))
        self._save()
        return results

    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""
        self._board.stop()
        futures = [future for _, future in self._pending if not future.cancel()]
        unfinished = wait(futures, timeout=PATIENCE_SECONDS).not_done
        self._executor.shutdown(wait=True, kill_workers=bool(unfinished))
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


# In the worker

_worker: dict[str, Any] = {}


def _set_up(content: bytes, board: str) -> None:
    import cloudpickle
    from threadpoolctl import threadpool_limits

    # Ctrl-C reaches all processes of a terminal. The one that waits for the others tells them to stop, by the board:
    # so no shard is lost on its way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)  # the processes share the cores already
    _worker["task"] = cloudpickle.loads(content)
    _worker["board"] = _Board(np.memmap(board, dtype=np.int64, mode="r+").reshape(-1, 3))


def _run(shard: int, seconds: float | None) -> Any:
    return _worker["task"](shard, seconds, lambda counts: _worker["board"].report(shard, counts))
