"""Worker processes that are kept from run to run: to start two, which import everything anew, takes longer than a test.

For tests of what comes out of several processes. How processes start, die and are ended is tested with those that the
package starts itself.
"""

from __future__ import annotations

import itertools
from typing import Any

from joblib.externals.loky.process_executor import ProcessPoolExecutor

_pools: dict[int, ProcessPoolExecutor] = {}
_numbers = itertools.count()
_current: int | None = None
"""In a worker: the run that it is set up for."""


def get_executor(
    max_workers: int, *, initializer: Any, initargs: tuple[Any, ...] = (), env: dict[str, str] | None = None
) -> WarmExecutor:
    """In the place of loky's `ProcessPoolExecutor`: never the one that it keeps for all, which a model may want."""
    if max_workers not in _pools:
        _pools[max_workers] = ProcessPoolExecutor(max_workers, env=env)
    return WarmExecutor(max_workers, initializer, initargs)


def end_all() -> None:
    while _pools:
        _pools.popitem()[1].shutdown(wait=True)


class WarmExecutor:
    """An executor of one run, by workers that others used before it."""

    def __init__(self, n_workers: int, initializer: Any, initargs: tuple[Any, ...]) -> None:
        self._n_workers = n_workers
        self._set_up = (next(_numbers), initializer, initargs)

    def submit(self, function: Any, *arguments: Any) -> Any:
        return _pools[self._n_workers].submit(_call, *self._set_up, function, arguments)

    def shutdown(self, *, wait: bool, kill_workers: bool) -> None:
        """Those that would have to be killed are of no use to others."""
        if kill_workers:
            _pools.pop(self._n_workers).shutdown(wait=wait, kill_workers=True)


def _call(number: int, initializer: Any, initargs: tuple[Any, ...], function: Any, arguments: tuple[Any, ...]) -> Any:
    global _current
    if _current != number:
        initializer(*initargs)
        _current = number
    return function(*arguments)
