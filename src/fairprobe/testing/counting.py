"""A model that counts what it is asked, for tests of anything that promises a number of queries."""

from __future__ import annotations

import time
from typing import Any

_ASKED = ("predict", "predict_proba", "decision_function")
_SHOWN = ("classes_", "feature_names_in_", "n_features_in_")


class CountingModel:
    """Wraps a model: answers as it does, and counts.

    Args:
        model: anything with `predict`, or a callable.
        fail_after: raise from the call that brings the rows above this number on; None never raises.
        delay: seconds to sleep in each call.

    >>> model = CountingModel(lambda batch: [0 for row in batch])
    >>> answer = model([[1, 2], [3, 4], [5, 6]])
    >>> model.n_calls, model.n_rows
    (1, 3)
    """

    def __init__(self, model: Any, *, fail_after: int | None = None, delay: float = 0.0) -> None:
        self.model = model
        self.fail_after = fail_after
        self.delay = delay
        self.n_calls = 0
        """Calls, those that raised included."""
        self.n_rows = 0
        """Rows sent, those of calls that raised included."""

    def __call__(self, batch: Any) -> Any:
        """Ask the wrapped callable."""
        return self._ask(self.model, batch)

    def __getattr__(self, name: str) -> Any:
        # Only what the wrapped model has: whoever looks finds out what it can do.
        if name in _SHOWN:
            return getattr(self.model, name)
        if name in _ASKED:
            return _Counted(self, getattr(self.model, name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _ask(self, function: Any, batch: Any) -> Any:
        self.n_calls += 1
        self.n_rows += len(batch)
        if self.delay:
            time.sleep(self.delay)
        if self.fail_after is not None and self.n_rows > self.fail_after:
            raise RuntimeError(f"this model fails after {self.fail_after:,} rows, got {self.n_rows:,}")
        return function(batch)


class _Counted:
    """One method of the wrapped model."""

    def __init__(self, counter: CountingModel, function: Any) -> None:
        self._counter = counter
        self._function = function

    def __call__(self, batch: Any) -> Any:
        return self._counter._ask(self._function, batch)
