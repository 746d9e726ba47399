"""Adapter for models behind an address: asked in requests over several connections, each row paid for once."""

from __future__ import annotations

import re
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairprobe.arguments import SecretHeaders, TrustedFile
from fairprobe.arrays import Codes
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning, ModelError, SettingError
from fairprobe.model.adapters import Adapter
from fairprobe.model.answer_cache import AnswerCache
from fairprobe.model.answers import OUTPUTS
from fairprobe.model.forms import ArrayForm, Form, FrameForm, checked_columns, natural_dtype
from fairprobe.model.pacing import NOTICE_SECONDS, BatchSize, Connections
from fairprobe.model.redaction import guard_logs, hiding, shown_source
from fairprobe.model.services import (
    InvalidAnswerError,
    OpenInference,
    Service,
    answers_of,
    decoded,
    encoded,
    service_at,
)
from fairprobe.model.sklearn import last_class
from fairprobe.model.transport import Persistence, TooLargeError, Transport

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
    model = RemoteModel(
        service_at(url, protocol), patience, answers or {}, rows, checked_count("cache_rows", cache_rows, at_least=0)
    )
    with hiding(model._transport.secrets):
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
        self.service = service
        self.answers = dict(answers)
        self.columns: tuple[str, ...] | None = None
        """The columns that it says it takes, where it does."""
        self._looked_for: set[str] = set()
        self._patience = patience
        self._batch_rows = batch_rows
        self._cache_rows = cache_rows
        self._set_up()

    def _set_up(self) -> None:
        self._size = BatchSize(self._batch_rows)
        self._caches: dict[str | None, AnswerCache] = {}
        self._is_afresh = False
        guard_logs()
        self._transport = Transport(self.service.url, self._patience)
        self._workers = Connections(self._patience.connections)
        self._end = weakref.finalize(self, _let_go, self._workers, self._transport)

    def __getstate__(self) -> dict[str, Any]:
        made = ("_size", "_caches", "_is_afresh", "_transport", "_workers", "_end")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_up()

    def __repr__(self) -> str:
        return f"RemoteModel({self.name})"

    @property
    def name(self) -> str:
        """Where it is, without secrets, and what it speaks."""
        return f"{shown_source(self.service.url)} ({self.service.name})"

    @property
    def n_sent(self) -> int:
        """Rows sent so far, those of repeated requests each time."""
        return self._transport.n_sent

    @property
    def batch_rows(self) -> int:
        """The rows of a request, as far as that is found out."""
        return self._size.rows

    def close(self) -> None:
        """Let go of the connections; so does whoever forgets the model."""
        self._end()

    def look(self) -> None:
        """Make sure that something answers at the address; hear what it takes, where it says so."""
        about = self.service.about
        reply = self._transport.get(about or self.service.url)
        if about is None:
            return  # whatever it says to that, it is there
        if reply.status != 200:
            raise ModelError(
                f"a service of the protocol {self.service.name!r} must describe its model at {shown_source(about)}, "
                f"got {reply.words}"
            )
        assert isinstance(self.service, OpenInference)
        try:
            self.columns = self.service.told(decoded(reply.data))
        except InvalidAnswerError as error:
            raise ModelError(f"{shown_source(about)} must describe a model, got {error}") from None

    def takes(self, row: Any) -> bool:
        """Whether it answers a frame of one row; asked once, so that no is no surer than the service is."""
        body = encoded(self.service.request(self.service.rows(row), slice(0, 1), None))
        return self._transport.takes(body, 1)

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
        before, self._is_afresh = self._is_afresh, True
        try:
            yield
        finally:
            self._is_afresh = before

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer a row."""
        return self.ask("label", rows)

    def ask(self, output: str, batch: Any) -> NDArray[Any]:
        """The answers for a batch; of rows answered before, those are remembered."""
        if not len(batch):
            return np.empty(0)
        answer = self.answers.get(output)
        if answer not in self._caches:
            self._caches[answer] = AnswerCache(self._cache_rows)
        cache = self._caches[answer]
        return cache.answer(batch, partial(self._ask_rows, batch, answer), afresh=self._is_afresh)

    def _ask_rows(self, batch: Any, answer: str | None, places: Codes) -> NDArray[Any]:
        """Send some rows of a batch, in as many requests as their number takes."""
        rows = batch.iloc if hasattr(batch, "iloc") else batch
        chosen = batch if len(places) == len(batch) else rows[places]
        begun, cancelled = time.monotonic(), threading.Event()
        plain = self.service.rows(chosen)
        parts = self._size.parts(len(chosen))
        futures = [self._workers.submit(self._request, plain, part, answer, cancelled) for part in parts]
        try:
            failed, is_over = None, False
            while failed is None and not is_over:
                done, left = wait(futures, NOTICE_SECONDS, FIRST_EXCEPTION)
                failed, is_over = next((each.exception() for each in done if each.exception()), None), not left
            if failed is not None:
                raise failed
        finally:
            if not all(future.done() for future in futures):  # another failed, or Ctrl-C came: no use to wait for these
                cancelled.set()
                self._workers.renew()
        self._size.timed(len(chosen), time.monotonic() - begun)
        return _joined([future.result() for future in futures])

    def _request(self, rows: Any, part: slice, answer: str | None, cancelled: threading.Event) -> NDArray[Any]:
        n, service = part.stop - part.start, self.service

        def read(data: bytes) -> NDArray[Any]:
            return answers_of(service.values(decoded(data), n, answer), n)

        body = encoded(service.request(rows, part, answer))
        is_bold = n > max(1, self._size.proven)
        try:
            answers = self._transport.ask(body, n, read, cancelled, is_bold=is_bold)
        except TooLargeError as error:
            if n == 1:
                raise ModelError(f"the service at {self.name} must take a single row, got {error}") from None
            self._size.settle(n // 2)
            middle = part.start + n // 2
            halves = (slice(part.start, middle), slice(middle, part.stop))
            return _joined([self._request(rows, half, answer, cancelled) for half in halves])
        self._size.proven = max(self._size.proven, n)
        return answers


def _let_go(workers: Connections, transport: Transport) -> None:
    workers.end()
    transport.close()


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """The answers of several requests, whose dtypes must go together: text and numbers only as objects."""
    if len({part.shape[1:] for part in parts}) > 1:
        raise ModelError("a service must give all rows an answer of the same form, got several")
    if len({part.dtype.kind in "iuf" for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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
