"""Asking: batches go to the model, answers are checked, queries are counted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.errors import ModelError, SettingError
from fairprobe.model import estimator, function, torch_module
from fairprobe.model.answers import checked_answer, checked_output
from fairprobe.model.threads import InThreads

if TYPE_CHECKING:
    import pandas as pd

ADAPTERS = (estimator, torch_module, function)
"""Tried in turn; the first that accepts a model asks it."""


class Asker:
    """Asks one model about inputs of one domain, and counts every row sent."""

    def __init__(
        self, model: Any, domain: Domain, *, output: str = "label", batch: str | None = None, n_threads: int = 1
    ) -> None:
        checked_output(output)
        if batch not in (None, "array", "frame"):
            raise SettingError(f"batch must be 'array', 'frame' or None, got {batch!r}")
        module = next((module for module in ADAPTERS if module.accepts(model)), None)
        if module is None:
            raise SettingError(f"a model must have predict or be callable, got {type(model).__name__}: {model!r:.80}")
        self.domain = domain
        self.output = output
        adapter = module.adapt(model, domain, output, batch)
        if n_threads > 1:
            adapter = replace(adapter, function=InThreads(adapter.function, n_threads))
        self.adapter = adapter
        self.n_queries = 0

    def ask(self, codes: Codes) -> NDArray[Any]:
        """One answer for each input."""
        return self._send(self.adapter.form.rows(codes), len(codes), lambda: codes)

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """The answers for each input in all combinations of sensitive values: a row a combination, in domain order."""
        n = len(self.domain.combinations)
        batch = self.adapter.form.families(codes)
        answer = self._send(batch, n * len(codes), lambda: self.domain.families(codes))
        return answer.reshape(n, len(codes), *answer.shape[1:])

    def ask_frame(self, frame: pd.DataFrame) -> NDArray[Any]:
        """One answer for each row of a frame that has the parameters' columns; values may lie outside the domain."""
        self.n_queries += len(frame)
        try:
            ask = self.adapter.careful or self.adapter.function
            raw = ask(self.adapter.form.of_frame(frame))
        except Exception as error:
            raise ModelError(f"the model must answer every row, got {type(error).__name__}: {error}") from error
        return checked_answer(raw, len(frame), self.output, lambda row: _words(frame.iloc[row]))

    def quiet(self) -> AbstractContextManager[Any]:
        """Ask inside this: inputs are known to be finite, so scikit-learn is spared looking for NaN in each batch."""
        if not self.adapter.finite_only:
            return nullcontext()
        import sklearn

        return sklearn.config_context(assume_finite=True)

    def _send(self, batch: Any, n_rows: int, codes: Callable[[], Codes]) -> NDArray[Any]:
        """`codes` gives the rows sent as codes: only an error needs them."""
        self.n_queries += n_rows
        try:
            raw = self.adapter.function(batch)
        except Exception as error:
            row = self._first_raising(codes())
            raise ModelError(
                f"the model must answer every input of the domain, got {type(error).__name__}: {error}; for {row}"
            ) from error
        return checked_answer(raw, n_rows, self.output, lambda row: describe(self.domain, codes()[row]))

    def _first_raising(self, codes: Codes) -> str:
        """The first row that the model raises on, in words; by halving the batch."""
        good, bad = 0, len(codes)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._raises(codes[:middle]):
                bad = middle
            else:
                good = middle
        return describe(self.domain, codes[bad - 1])

    def _raises(self, codes: Codes) -> bool:
        self.n_queries += len(codes)
        try:
            self.adapter.function(self.adapter.form.rows(codes))
        except Exception:
            return True
        return False


def describe(domain: Domain, codes: Codes) -> str:
    """One input in words: its parameters and values."""
    return _words(domain.decode(codes[None, :]).iloc[0])


def _words(row: pd.Series) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.items())
