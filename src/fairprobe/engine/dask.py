"""The engine that runs shards on Dask's workers: a cluster on this machine, or a scheduler at any address.

The task, with the model in it, reaches the workers as the result of a submitted task. Scattered data would be lost with
the worker that holds it, but Dask computes a result again wherever it is needed. Each thread of a worker unpacks it
once.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import uuid
from concurrent.futures import CancelledError, Future
from typing import Any

from fairprobe._version import __version__
from fairprobe.clock import Timer
from fairprobe.engine.base import TRIES, Counts, Engine, Work
from fairprobe.engine.processes import as_content, task_of
from fairprobe.errors import RunError, SettingError

TIMEOUT_SECONDS = 10.0
"""Seconds that a Dask scheduler may take to answer, and again to have its first worker. Chosen."""

LOOK_SECONDS = 5.0
"""Seconds between two queries of the scheduler's number of threads. Chosen."""

REPORT_SECONDS = 0.5
"""Seconds between two progress reports of a shard. Chosen: all reports pass through the scheduler."""

DEATHS = TRIES // 2 + 1
"""Number of tries that count when Dask gives up a shard because four workers died while running it. Chosen so that the
shard is tried once more: the workers may have died for another reason."""

STOP_SECONDS = 5.0
"""Seconds to wait until the workers have been told to stop. Chosen."""

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Python code that makes each worker of a cluster on this machine ignore Ctrl-C. Ctrl-C reaches all processes of a
terminal, but the engine itself tells the workers to stop."""


class DaskEngine(Engine):
    """Engine that runs shards on Dask's workers, with shards queued so that no worker waits for its next one."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        super().__init__(work)
        try:
            import distributed
        except ImportError as error:
            rule = "engine='dask' needs the package dask.distributed"
            raise SettingError(f"{rule}, got none: pip install 'fairprobe[dask]'") from error
        content = as_content(work.task, "engine='dask'", "use engine='local'")
        self._run = uuid.uuid4().hex
        self._progress: dict[int, Counts] = {}
        self._look = Timer(LOOK_SECONDS)
        self._n_threads = 0
        """Number of threads of all Dask workers together; 0 before they are counted."""
        self._cluster: Any = None
        self._client: Any = None
        try:
            self._open(distributed, address)
            self._prepare(content)
        except BaseException:
            self._shut()
            raise

    def _open(self, distributed: Any, address: str | None) -> None:
        """Connect to a new cluster on this machine, or to a scheduler's address, and wait for the first worker."""
        if address is None:
            self._cluster = distributed.LocalCluster(
                n_workers=self._work.n_jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                preload=IGNORE_INTERRUPTS,
                memory_limit=0,
                silence_logs="CRITICAL",
            )
        answers: queue.Queue[Any] = queue.Queue()

        def connect() -> None:
            try:
                where = self._cluster or f"tcp://{address}"
                answers.put(distributed.Client(where, timeout=TIMEOUT_SECONDS, set_as_default=False))
            except Exception as error:
                answers.put(error)

        # In a thread: a client waits for ever for a scheduler that takes the connection and says nothing.
        threading.Thread(target=connect, daemon=True).start()
        try:
            client = answers.get(timeout=TIMEOUT_SECONDS + 1)
        except queue.Empty:
            client = TimeoutError()
        if isinstance(client, Exception):
            text = f"a Dask scheduler must answer within {TIMEOUT_SECONDS:.0f} s, got no answer from {address}"
            raise RunError(text) from client
        self._client, self.address = client, client.dashboard_link
        try:
            client.wait_for_workers(1, timeout=TIMEOUT_SECONDS)
        except (OSError, TimeoutError) as error:
            text = f"a Dask cluster must have a worker within {TIMEOUT_SECONDS:.0f} s, got none at {address}"
            raise RunError(text) from error

    def _prepare(self, content: bytes) -> None:
        import dask

        # The model may be large: that it goes with a task is meant.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            self._content = self._client.submit(_as_is, content, key=f"fairprobe-{self._run}")
        self._client.subscribe_topic(self._run, self._hear)
        self._executor = self._client.get_executor(pure=False)

    # Shards

    def _most_ahead(self) -> int:
        if not self._n_threads or self._look.is_due():
            with contextlib.suppress(OSError, RuntimeError):  # if the scheduler is gone, the futures say so
                self._n_threads = sum(self._client.nthreads().values())
        return 2 * max(1, self._n_threads) + 2

    def _may_start(self, shard: int) -> bool:
        return True

    def _start(self, shard: int) -> Future[Any]:
        self._progress[shard] = Counts(0, 0, 0)
        arguments = (self._content, self._run, shard, self._work.seconds_left())
        return self._executor.submit(_sent(), __version__, arguments)

    def _failed(self, shard: int, error: BaseException) -> int:
        if isinstance(error, CancelledError):
            raise RunError("a Dask scheduler must live as long as the run, got one that went away") from error
        if isinstance(error, ImportError):  # it would fail for all shards alike
            raise RunError(f"a worker must have the packages that are here, got {error}") from error
        return DEATHS if type(error).__name__ == "KilledWorker" else super()._failed(shard, error)

    def _hear(self, event: tuple[float, Any]) -> None:
        shard, *counts = event[1]
        self._progress[shard] = Counts(*counts)

    def _counts(self) -> list[Counts]:
        return [self._progress[shard] for shard in sorted(self._under_way)]

    # The end

    def _stop(self) -> None:
        # In a thread: a worker that is dead and not yet missed would be waited for.
        run, client = self._run, self._client

        def tell() -> None:
            with contextlib.suppress(Exception):
                client.run(stop_there, run, on_error="ignore")

        telling = threading.Thread(target=tell, daemon=True)
        telling.start()
        telling.join(STOP_SECONDS)

    def close(self) -> None:
        """Stop the running shards and discard their results."""
        self._stop()
        for future in self._under_way.values():
            future.cancel()
        self._shut()

    def _shut(self) -> None:
        for each in (self._client, self._cluster):
            if each is not None:
                with contextlib.suppress(Exception):  # they may be gone already
                    each.close()


# In the worker

_tasks: dict[tuple[str, int], Any] = {}
"""Unpacked tasks on this worker, by run and thread."""

_stopped: set[str] = set()


def _as_is(content: bytes) -> bytes:
    return content


def _sent() -> Any:
    """Return the function that a Dask worker calls to run a shard (part of a run).

    It is sent by value, because another version of this package may not have it.
    """

    def run_there(version: str, arguments: tuple[Any, ...]) -> Any:
        import importlib

        there = importlib.import_module("fairprobe").__version__
        if there != version:
            raise ImportError(f"version {there} of fairprobe, here it is {version}")
        from fairprobe.engine.dask import run_shard_there

        return run_shard_there(*arguments)

    return run_there


def run_shard_there(content: bytes, run: str, shard: int, seconds: float | None) -> Any:
    """Run a shard (part of a run) on a Dask worker and return its result; None if the run has stopped."""
    from distributed import get_worker

    if run in _stopped:
        return None
    mine = run, threading.get_ident()
    if mine not in _tasks:
        _tasks[mine] = task_of(content)
    task = _tasks[mine]
    worker, timer = get_worker(), Timer(REPORT_SECONDS)

    def report(counts: Counts) -> bool:
        if timer.is_due():
            worker.log_event(run, [shard, *map(int, counts)])
        return run in _stopped

    return task(shard, seconds, report)


def stop_there(run: str) -> None:
    """Make the running shards of a run on this worker stop, and discard its tasks."""
    _stopped.add(run)
    for mine in [each for each in _tasks if each[0] == run]:
        _tasks.pop(mine, None)
