"""Workers that are copies of this process: all is loaded in them already, so that they begin at once.

A copy has the one thread that made it, and what any other held locked stays locked in it for ever. So copies are made
only of a process all of whose threads are known to hold nothing (`may_copy`, and whoever calls), and only for work that
is known to bear it: no library that it uses waits for threads of its own (`Work.may_copy`).
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from fairprobe.engine.base import in_words

JOIN_SECONDS = 1.0
"""How long a copy may take to end, before it is killed."""


def may_copy(n_threads: int) -> bool:
    """Whether this process can be copied, where it should have so many threads."""
    return (
        sys.platform == "linux"  # elsewhere the system's own libraries do not bear it, or there are no copies
        and threading.active_count() == n_threads
        and not multiprocessing.current_process().daemon
    )


class _Worker(NamedTuple):
    process: Any
    line: Connection[Any, Any]


class Copies:
    """So many copies, as an executor that never gets more to do at once than it has workers."""

    def __init__(self, n: int, initializer: Callable[..., None], initargs: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("fork")
        self._idle: list[_Worker] = []
        with _undisturbed() as signals:
            for _ in range(n):
                line, theirs = context.Pipe()
                others = [each.line for each in self._idle] + [line]
                process = context.Process(
                    target=_serve, args=(theirs, others, signals, initializer, initargs), daemon=True
                )
                process.start()
                theirs.close()
                self._idle.append(_Worker(process, line))
        self._all = tuple(self._idle)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A call under way."""
        worker, future = self._idle.pop(), Future[Any]()
        future.set_running_or_notify_cancel()
        threading.Thread(target=self._ask, args=(worker, (function, arguments), future), daemon=True).start()
        return future

    def _ask(self, worker: _Worker, call: tuple[Callable[..., Any], tuple[Any, ...]], future: Future[Any]) -> None:
        try:
            worker.line.send(call)
            content = worker.line.recv_bytes()
        except (EOFError, OSError):
            worker.process.join(JOIN_SECONDS)
            code = worker.process.exitcode
            future.set_exception(BrokenProcessPool(f"a worker must live as long as the run, got exit code {code}"))
            return
        self._idle.append(worker)  # before anybody hears of it, and has the next call
        try:
            result, error = pickle.loads(content)
        except Exception as wrong:  # an error that can be sent, but not received
            result, error = None, wrong
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def shutdown(self, *, wait: bool = True, kill_workers: bool = False) -> None:
        """End them all: they have nothing that is wanted."""
        for process, line in self._all:
            if kill_workers:
                process.kill()
            elif any(line is each.line for each in self._idle):
                line.close()  # which they hear of
        for process, _ in self._all if wait else ():
            process.join(JOIN_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _undisturbed() -> Iterator[set[Any]]:
    """Inside, no signal strikes a copy that is not ready for it; gives those that were held back before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        with warnings.catch_warnings():
            # What Python says of any process with threads, those of libraries too; here they hold nothing.
            warnings.simplefilter("ignore", DeprecationWarning)
            yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In the copy


def _serve(
    line: Connection[Any, Any],
    others: list[Connection[Any, Any]],
    signals: set[Any],
    initializer: Callable[..., None],
    initargs: tuple[Any, ...],
) -> None:
    # Ctrl-C reaches all processes of a terminal: the one that waits for the others tells them to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    for other in others:
        other.close()  # the ends of the original: were they held here, its end would not be heard
    initializer(*initargs)
    while True:
        try:
            function, arguments = line.recv()
        except EOFError:
            return
        answer: tuple[Any, BaseException | None]
        try:
            answer = function(*arguments), None
        except BaseException as error:
            answer = None, error
        try:
            line.send(answer)
        except OSError:  # the original is gone
            return
        except Exception as error:  # it cannot be sent
            line.send((None, RuntimeError(in_words(answer[1] or error))))
        del answer


def end_with_original() -> None:
    """Called now and then in a copy: it does not go on for a process that is gone."""
    original = multiprocessing.parent_process()
    if original is not None and os.getppid() != original.pid:
        os._exit(1)
