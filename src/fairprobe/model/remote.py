"""Adapter for models behind an address: asked in requests over several connections, each row paid for once."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fairprobe.arguments import SecretHeaders, TrustedFile
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning, ModelError, SettingError
from fairprobe.model.adapters import Adapter
from fairprobe.model.answer_cache import AnswerCache
from fairprobe.model.answers import OUTPUTS
from fairprobe.model.encoding import Batch
from fairprobe.model.forms import ArrayForm, Form, FrameForm, checked_columns, natural_dtype
from fairprobe.model.pacing import BatchSize, Persistence
from fairprobe.model.protocols import (
    InvalidAnswerError,
    OpenInference,
    Service,
    checked_answers,
    decoded,
    joined,
    service_at,
)
from fairprobe.model.redaction import guard_logs, hiding, shown_source
from fairprobe.model.sklearn import last_class

Result = TypeVar("Result")

ADDRESS = r"https?://([^/?#@\\\s]*@)?([\w.%-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?([/?#]\S*)?"
"""A host, with a user and a port, and whatever follows."""


def connect(
    url: str,
    *,
    protocol: str | None = None,
    answers: Mapping[str, str] | None = None,
    header_from_env: SecretHeaders | None = None,
    connections: int = 4,
    batch_rows: int | None = None,
    rate_limit: float | None = None,
    timeout: float = 60.0,
    retries: int = 8,
    cache_rows: int = 500_000,
    ca_file: TrustedFile | None = None,
) -> RemoteModel:
    """A model behind an address, which must answer.

    Args:
        url: where it is: http:// or https://, whose certificate must verify.
        protocol: "mlflow" (/invocations), "oip" (Open Inference Protocol, /v2/models/NAME) or "instances"
            (TensorFlow Serving and others like it); by default as the address tells.
        answers: where it gives several answers a row, their names by output: {"label": "predict", "proba":
            "predict_proba"}. It then can be asked for each of these, as strategies that learn from scores do.
        header_from_env: by header, the variable of the environment that holds its value. FAIRPROBE_HEADER_X_API_KEY
            is sent as X-API-KEY without being named. No header is ever shown, logged or kept with the model.
        connections: requests at a time.
        batch_rows: rows of a request; by default doubled until throughput stops rising.
        rate_limit: requests a second at most.
        timeout: seconds that a request may take in all.
        retries: how often a request is repeated that failed by no fault of its own: no connection, no answer in time,
            408, 429, 5xx, an answer that is none. Each time it waits longer, or as long as Retry-After says.
        cache_rows: answered rows to remember. The same row is not sent again but to find out whether the model
            repeats itself.
        ca_file: certificates to trust in place of the usual ones.
    """
    if not re.fullmatch(ADDRESS, url, re.IGNORECASE):
        raise SettingError(f"the address of a model must be http://... or https://..., got {shown_source(url)!r}")
    for name in answers or {}:
        if name not in OUTPUTS:
            raise SettingError.about("answers", f"must be names by output, {', '.join(OUTPUTS)}; got {name!r}")
    for setting, number in (("timeout", timeout), ("rate_limit", rate_limit)):
        if number is not None and not (isinstance(number, (int, float)) and 0 < number < np.inf):
            raise SettingError.about(setting, f"must be a number above 0, got {number!r}")
    patience = Persistence(
        connections=checked_count("connections", connections),
        timeout=timeout,
        retries=checked_count("retries", retries, at_least=0),
        rate_limit=rate_limit,
        ca_file=ca_file,
        headers=tuple((header_from_env or {}).items()),
    )
    rows = None if batch_rows is None else checked_count("batch_rows", batch_rows)
    n_kept = checked_count("cache_rows", cache_rows, at_least=0)
    model = RemoteModel(service_at(url, protocol), patience, answers or {}, rows, n_kept)
    model.look()
    return model


class RemoteModel:
    """A model behind an address. Sent to another process it makes connections of its own, and headers are read there.

    `predict` gives its answers to a frame or an array of rows.
    """

    def __init__(
        self,
        service: Service,
        patience: Persistence,
        answers: Mapping[str, str],
        batch_rows: int | None = None,
        cache_rows: int = 0,
    ) -> None:
        from fairprobe.model.background import PerProcess  # imports asyncio, which takes its time

        self.service = service
        self.answers = dict(answers)
        self.columns: tuple[str, ...] | None = None
        """The columns that the service says it takes, where it does."""
        self._looked_for: set[str] = set()
        self._cache_rows = cache_rows
        self._here = PerProcess(partial(_Connected, service.url, patience, batch_rows))

    def __repr__(self) -> str:
        return f"RemoteModel({self.name})"

    @property
    def name(self) -> str:
        """Where the service is, without secrets, and its protocol."""
        return f"{shown_source(self.service.url)} ({self.service.name})"

    @property
    def n_sent(self) -> int:
        """Rows sent so far by this process, those of repeated requests each time."""
        return self._here.get().transport.n_sent

    @property
    def batch_rows(self) -> int:
        """The rows of a request, as far as that is found out."""
        return self._here.get().size.rows

    def close(self) -> None:
        """Let go of the connections; that also happens when the model is no longer used."""
        self._here.close()

    def look(self) -> None:
        """Make sure that something answers at the address; learn what it takes, where it says so."""
        here, about = self._here.get(), self.service.about
        with hiding(here.transport.secrets):
            reply = here.run(here.transport.get(about or self.service.url))
            if about is None:
                return  # any answer shows that it is there
            if reply.status != 200:
                raise ModelError(
                    f"a service of the protocol {self.service.name!r} must describe its model at "
                    f"{shown_source(about)}, got {reply.words}"
                )
            assert isinstance(self.service, OpenInference)
            try:
                self.columns = self.service.described(decoded(reply.data))
            except InvalidAnswerError as error:
                raise ModelError(f"{shown_source(about)} must describe a model, got {error}") from None

    def takes(self, row: Any) -> bool:
        """Return True if the service answers a frame of one row. It is asked once, so a False may be by chance."""
        here = self._here.get()
        body = self.service.request(Batch(row, as_objects=self.service.as_objects), [0], None)
        return here.run(here.transport.takes(body, 1))

    def check_needs(self, form: FrameForm, domain: Domain) -> None:
        """Warn of a sensitive column that the service answers without, as some pass over what they do not know."""
        row = form.rows(domain.without_constraints().sample_codes(1, np.random.default_rng(0)))
        for name in (each for each in domain.sensitive if each in row.columns and each not in self._looked_for):
            self._looked_for.add(name)
            if row.shape[1] > 1 and self.takes(row.drop(columns=name)):
                warnings.warn(
                    f"column-not-needed: {self.name} answers rows without {name} as well. If it passes over that "
                    f"column, no case can be found: say hidden=[{name!r}], and by links what changes along with it",
                    HealthWarning,
                    stacklevel=2,
                )

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """Inside this, rows are sent whether or not their answer is known."""
        here = self._here.get()
        before, here.is_afresh = here.is_afresh, True
        try:
            yield
        finally:
            here.is_afresh = before

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer for each row."""
        return self.ask("label", rows)

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to a frame or an array; of rows answered before, those are remembered."""
        if not len(rows):
            return np.empty(0)
        here, answer = self._here.get(), self.answers.get(output)
        batch = Batch(rows, as_objects=self.service.as_objects)

        def ask(places: list[int]) -> list[Any]:
            begun = time.monotonic()
            answers = here.run(self._sent(batch, places, answer))
            here.size.timed(len(places), time.monotonic() - begun)
            return answers

        kind = (answer, *(batch.names or ()))
        if kind not in here.caches:
            here.caches[kind] = AnswerCache(self._cache_rows)
        return joined(here.caches[kind].answer(batch.rows, ask, afresh=here.is_afresh))

    async def _sent(self, batch: Batch, places: list[int], answer: str | None) -> list[Any]:
        """The answers to the rows at some places, in as many requests as they take."""
        from fairprobe.model.transport import all_of

        parts = self._here.get().size.parts(len(places))
        told = await all_of(self._request(batch, places[part], answer) for part in parts)
        return [each for answers in told for each in answers]

    async def _request(self, batch: Batch, places: list[int], answer: str | None) -> list[Any]:
        """The answers to one request; where that is too large, to its two halves."""
        from fairprobe.model.transport import TooLargeError

        here, service, n = self._here.get(), self.service, len(places)

        def read(data: bytes) -> list[Any]:
            return checked_answers(service.values(decoded(data), n, answer), n)

        try:
            async with here.transport.places:
                body, is_bold = service.request(batch, places, answer), n > max(1, here.size.proven)
                answers = await here.transport.ask(body, n, read, is_bold=is_bold)
        except TooLargeError as error:
            if n == 1:
                raise ModelError(f"the service at {self.name} must take a single row, got {error}") from None
            here.size.settle(n // 2)
            halves = places[: n // 2], places[n // 2 :]
            return [each for half in halves for each in await self._request(batch, half, answer)]
        here.size.proven = max(here.size.proven, n)
        return answers


class _Connected:
    """The state of a service in one process: connections, the size of requests and remembered answers."""

    def __init__(self, url: str, patience: Persistence, batch_rows: int | None) -> None:
        from fairprobe.model.transport import Transport

        guard_logs()
        self.transport = Transport(url, patience)
        self.size = BatchSize(batch_rows)
        self.caches: dict[tuple[str | None, ...], AnswerCache] = {}
        """By the name of the answer and the names of the columns."""
        self.is_afresh = False

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run requests, and show none of their secrets."""
        from fairprobe.model.background import run

        with hiding(self.transport.secrets):
            return run(coroutine)

    async def close(self) -> None:
        """Let go of the connections."""
        await self.transport.close()


class RemoteAdapter(Adapter):
    """Asks for the answer that goes by the output's name, if the service has one; else for the one answer it has."""

    is_elsewhere = True
    connections = True

    def __init__(self, model: RemoteModel) -> None:
        super().__init__(model)
        self.name = model.name
        self.scores, self.probabilities = "score" in model.answers, "proba" in model.answers
        self.columns = model.columns
        self.is_function = not self.scores and not self.probabilities

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for a model behind an address."""
        return isinstance(model, RemoteModel)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """A frame, or for services that take numbers without names an array."""
        model: RemoteModel = self.model
        checked_columns(model.columns, model.name, domain)
        takes_frame = model.service.takes_frames or model.columns is not None
        if takes_frame and batch == "array":
            raise SettingError.about("batch", f"must be 'frame' for {model.name}, got 'array'")
        if takes_frame or batch == "frame" or not all(parameter.is_numeric for parameter in domain.seen):
            form = FrameForm(domain, model.columns or domain.visible)
            if model.columns is None:
                model.check_needs(form, domain)
            return form
        return ArrayForm(domain, natural_dtype(domain))

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The service's answer; a score may be made of probabilities."""
        if output == "score" and not self.scores and self.probabilities:
            return partial(last_class, partial(self.model.ask, "proba"))
        return partial(self.model.ask, output)

    def afresh(self) -> AbstractContextManager[None]:
        """Inside this, nothing that the service said before is used."""
        return cast("AbstractContextManager[None]", self.model.afresh())

    @property
    def n_sent(self) -> int | None:
        """Rows that the service was sent."""
        return int(self.model.n_sent)
