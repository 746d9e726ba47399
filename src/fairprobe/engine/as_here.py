"""Asking in another thread or process, with the settings of scikit-learn and joblib that the caller has.

Scikit-learn's settings (`sklearn.set_config`) and joblib's belong to a thread; another one has the defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


def _settings() -> dict[str, Any]:
    """Scikit-learn's settings in this thread; empty if nothing has imported scikit-learn."""
    sklearn = sys.modules.get("sklearn")
    return {} if sklearn is None else sklearn.get_config()


@dataclass(frozen=True)
class AsHere:
    """A function to be called in another thread or process, with scikit-learn's settings of this thread."""

    function: Callable[..., Any]
    shares_cores: bool = False
    """True if our other processes use the other cores: then the jobs that a model starts run in turn."""
    settings: dict[str, Any] = field(default_factory=_settings)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        settings = import_module("sklearn").config_context(**self.settings) if self.settings else nullcontext()
        with settings, _in_turn() if self.shares_cores else nullcontext():
            return self.function(*arguments, **named)


def _in_turn() -> Any:
    """Inside this, joblib runs its jobs in turn, split as for the number asked for, so that sums stay the same."""
    import joblib
    from joblib.parallel import SequentialBackend

    class InTurn(SequentialBackend):  # type: ignore[misc]  # joblib has no types
        def effective_n_jobs(self, n_jobs: int | None) -> int:
            return max(1, joblib.cpu_count() + 1 + n_jobs) if (n_jobs := n_jobs or 1) < 0 else n_jobs

        def configure(self, n_jobs: int = 1, parallel: Any = None, **settings: Any) -> int:
            self.parallel = parallel
            return 1

    return joblib.parallel_config(InTurn())
