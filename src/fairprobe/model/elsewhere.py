"""Models that run elsewhere, in services and programs: nothing is known of them but their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.model.adapters import Adapter
from fairprobe.model.forms import Form
from fairprobe.model.sklearn import last_class


class Elsewhere:
    """A model that runs elsewhere. Sent to another process, it is connected or started there anew."""

    answers: Mapping[str, str] = {}
    """By output, the name of the answer to it, where a model gives several."""
    columns: tuple[str, ...] | None = None
    """The columns that the model says it takes, where it does."""
    connections = False

    def __init__(self, make: Callable[[], Any]) -> None:
        from fairprobe.model.background import PerProcess  # imports asyncio, which takes its time

        self._here = PerProcess(make)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    @property
    def name(self) -> str:
        """What runs, without secrets."""
        raise NotImplementedError

    @property
    def n_sent(self) -> int | None:
        """Rows sent so far by this process, if they are counted."""
        return None

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to the rows of a batch, read as that output."""
        raise NotImplementedError

    def form(self, domain: Domain, batch: str | None) -> Form:
        """The form of the model's batches."""
        raise NotImplementedError

    def afresh(self) -> AbstractContextManager[None]:
        """Inside this, a row is sent even if its answer is remembered."""
        return nullcontext()

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer for each row."""
        return self.ask("label", rows)

    def close(self) -> None:
        """Let go of the connections, or end the program; that also happens when the model is no longer used."""
        self._here.close()


class ElsewhereAdapter(Adapter):
    """Asks for the answer that goes by the output's name, if the model has one; else for the one answer it has."""

    is_elsewhere = True

    def __init__(self, model: Elsewhere) -> None:
        super().__init__(model)
        self.name, self.columns, self.connections = model.name, model.columns, model.connections
        self.scores, self.probabilities = "score" in model.answers, "proba" in model.answers
        self.is_function = not self.scores and not self.probabilities
        self.form, self.afresh = model.form, model.afresh  # type: ignore[method-assign]

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for a service or a program."""
        return isinstance(model, Elsewhere)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The model's answer; a score may be made of probabilities."""
        if output == "score" and not self.scores and self.probabilities:
            return partial(last_class, partial(self.model.ask, "proba"))
        return partial(self.model.ask, output)

    @property
    def n_sent(self) -> int | None:
        """Rows that the model was sent, if it counts them."""
        n: int | None = self.model.n_sent
        return n
