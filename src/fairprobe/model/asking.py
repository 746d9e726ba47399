"""The asker: sends batches of inputs to a model, has the answers checked and counts the rows sent (queries)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import Members
from fairprobe.errors import FairprobeError, ModelError, SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.categories import ADVICE
from fairprobe.model.forms import ArrayForm, FrameForm
from fairprobe.model.outputs import LabelNames, checked_answer, checked_output
from fairprobe.model.threads import Threads

if TYPE_CHECKING:
    import pandas as pd


class Answers(Protocol):
    """Anything that answers about inputs of a domain: the asker of a model, or a stand-in."""

    def ask(self, codes: Codes) -> NDArray[Any]:
        """Return one answer for each input, given as codes (one row per input, one column per parameter)."""

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """Return the answers for each input with every combination of sensitive values, allowed or not.

        The array is indexed by combination in domain order, then input.
        """


class Answering(Answers, Protocol):
    """The interface through which an oracle asks: implemented by the `Asker` of a model and by its substitutes."""

    domain: Domain
    output: str
    n_queries: int
    """Number of rows sent to the model so far."""

    def ask_members(self, members: Members) -> NDArray[Any]:
        """Return the answers for inputs and their existing twins, by combination of sensitive values, then input.

        The entries of twins that do not exist are placeholders without meaning.
        """

    def ask_frame(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return one answer for each row of a DataFrame with the parameters' columns.

        Values may lie outside the domain.
        """

    def quiet(self) -> AbstractContextManager[Any]:
        """Within the context, the model need not check its input for NaN, because inputs are known to be finite."""

    def afresh(self) -> AbstractContextManager[Any]:
        """Within the context, every row is sent to the model, even if its answer is cached."""


class Asker:
    """Asks one model about inputs of one domain, checks its answers, and counts the rows sent."""

    def __init__(self, model: Any, domain: Domain, *, output: str = "label", batch: str | None = None) -> None:
        checked_output(output)
        if batch not in (None, "array", "frame"):
            raise SettingError.about("batch", f"must be 'array', 'frame' or None, got {batch!r}")
        self.model = model
        self.domain = domain
        self.output = output
        self.adapter = adapter = adapter_for(model)
        self._n_sent_before = adapter.n_sent or 0  # before the form, which may ask about a row
        self.form = adapter.form(domain, batch)
        self.careful = adapter.method(output, self.form)
        """Function from a batch to the model's raw answers, for rows given by the user, which may hold any value."""
        self.function = adapter.fast(self.careful, output, self.form)
        """Function from a batch to the model's raw answers, for inputs of the domain, which need fewer checks."""
        self._names = LabelNames(adapter.classes) if output == "label" else None
        self._threads = Threads(model)
        self.n_queries = 0
        self.limit: int | None = None
        """Largest total number of rows to send; None for no limit. Only the search for the row that the model fails on
        reads it, because other callers check their limit themselves."""

    def ask(self, codes: Codes) -> NDArray[Any]:
        """Return one answer for each input, given as codes (one row per input, one column per parameter)."""
        return self._send(self.form.rows(codes), len(codes), lambda: codes)

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """Return the answers for each input with every combination of sensitive values, allowed or not.

        The array is indexed by combination in domain order, then input.
        """
        families = self.domain.families
        batch = self.form.families(codes)
        answer = self._send(batch, len(families) * len(codes), lambda: families.members(codes))
        return answer.reshape(len(families), len(codes), *answer.shape[1:])

    def ask_members(self, members: Members) -> NDArray[Any]:
        """Return the answers for inputs and their existing twins, by combination of sensitive values, then input.

        The entries of twins that do not exist are placeholders without meaning.
        """
        return ask_members(self, members)

    def ask_frame(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return one answer for each row of a DataFrame with the parameters' columns.

        Values may lie outside the domain.
        """
        with self._asking(len(frame), "row"):
            raw = self.careful(self.form.of_frame(frame))
        return self._checked(raw, len(frame), lambda row: _words(frame.iloc[row]))

    def ask_any(self, rows: Codes | pd.DataFrame) -> NDArray[Any]:
        """Return one answer for each row, given as codes or as a DataFrame."""
        return self.ask(rows) if isinstance(rows, np.ndarray) else self.ask_frame(rows)

    def quiet(self) -> AbstractContextManager[Any]:
        """Within the context, scikit-learn does not check batches for NaN, because inputs are known to be finite.

        It has no effect where an input may be missing, or for models outside scikit-learn's checks.
        """
        sklearn = sys.modules.get("sklearn")  # a model that works by it has brought it along
        may_be_missing = any(parameter.missing for parameter in self.domain.parameters)
        if sklearn is None or not self.adapter.always_finite or may_be_missing or not isinstance(self.form, ArrayForm):
            return nullcontext()
        context: AbstractContextManager[Any] = sklearn.config_context(assume_finite=True)
        return context

    def afresh(self) -> AbstractContextManager[Any]:
        """Within the context, every row is sent to the model, even if its answer is cached."""
        return self.adapter.afresh()

    @property
    def batch(self) -> str:
        """The form in which batches are sent to the model: "frame" (a DataFrame) or "array"."""
        return "frame" if isinstance(self.form, FrameForm) else "array"

    @property
    def gives_probabilities(self) -> bool:
        """True if the scores asked for are probabilities of a class, between 0 and 1."""
        return self.output == "score" and self.adapter.probabilities and not self.adapter.scores

    @property
    def sent(self) -> int | None:
        """The number of rows that the model itself counted since this asker was made; None if it does not count.

        A service counts its rows itself, because caching and retries change the number.
        """
        n_sent = self.adapter.n_sent
        return None if n_sent is None else n_sent - self._n_sent_before

    def _send(self, batch: Any, n_rows: int, codes: Callable[[], Codes]) -> NDArray[Any]:
        """Send a batch to the model and return its checked answers.

        `codes` returns the rows as codes. It is called only to name a row in an error message.
        """
        with self._asking(n_rows, "input of the domain", lambda: f"; {self._guilty(codes())}"):
            raw = self.function(batch)
        return self._checked(raw, n_rows, lambda row: describe(self.domain, codes()[row]))

    @contextmanager
    def _asking(self, n_rows: int, what: str, guilty: Callable[[], str] = str) -> Iterator[None]:
        """Within the context, a batch is sent: its rows are counted, and an error of the model becomes a ModelError."""
        self.n_queries += n_rows
        try:
            with self._threads.limited(n_rows):
                yield
        except FairprobeError:
            raise
        except Exception as error:
            is_array = self.adapter.is_function and not isinstance(self.form, FrameForm)
            advice = ". If the function expects a DataFrame, say batch='frame'" if is_array else ""
            got = f"{type(error).__name__}: {self._told(error)}{guilty()}{advice}"
            raise ModelError(f"the model must answer every {what}, got {got}") from error

    def _told(self, error: Exception) -> str:
        """Return the text of a model's error, with advice if text columns may have to be declared as categories."""
        text = str(error)
        is_other = not self.adapter.is_function and not type(self.model).__module__.startswith("sklearn.")
        texts = {parameter.name for parameter in self.domain.parameters if not parameter.is_numeric}
        is_untold = is_other and "categor" in text and bool(texts - set(self.form.categories))
        return f"{text.strip().rstrip('.')}: {ADVICE}" if is_untold else text

    def _checked(self, raw: Any, n_rows: int, describe_row: Callable[[int], str]) -> NDArray[Any]:
        answer = checked_answer(raw, n_rows, self.output, describe_row)
        if self._names is not None:
            self._names.check(answer)
        return answer

    def _guilty(self, codes: Codes) -> str:
        """Return a phrase for an error message that names the row on which the model raises, found by bisection."""
        failing = codes
        while len(failing) > 1:
            half = failing[: len(failing) // 2]
            fails = self._raises(half)
            if fails is None:
                return f"in a batch of {len(codes):,} rows (the limit on queries leaves no room to look for which)"
            failing = half if fails else failing[len(half) :]
        # Only a row that fails alone is to blame: a model that failed once, for whatever reason, blames no one.
        if self._raises(failing):
            return f"for {describe(self.domain, failing[0])}"
        return f"in a batch of {len(codes):,} rows; asked again, it answered: no single row is to blame"

    def _raises(self, codes: Codes) -> bool | None:
        """Return True if the model raises on these rows, False if not; None if the limit of queries forbids asking."""
        if self.limit is not None and self.n_queries + len(codes) > self.limit:
            return None
        self.n_queries += len(codes)
        try:
            self.function(self.form.rows(codes))
        except Exception:
            return True
        return False


def ask_members(asked: Answers, members: Members) -> NDArray[Any]:
    """Return the answers of `asked` for inputs and their existing twins, by one call.

    They are indexed by combination of sensitive values, then input. Entries of twins that do not exist are 0.
    """
    present = members.present
    if present is None:
        return asked.ask_families(members.codes)
    return spread(present, lambda: asked.ask(members.rows[present.ravel()]))


def spread(present: Mask, ask: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return the answers about the members that are present, by member, then input; 0 or empty for absent members.

    `ask` returns the answers about the present members, and is called only if there is one.
    """
    answers = ask() if present.any() else np.zeros(0)
    outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=answers.dtype)
    outputs[present] = answers
    return outputs


def describe(domain: Domain, codes: Codes) -> str:
    """Return one input as text for messages, such as "age=30, sex=Female"."""
    return _words(domain.decode(codes[None, :]).iloc[0])


def _words(row: pd.Series) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.items())
