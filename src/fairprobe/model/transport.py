"""Transport: requests to one service, paced and timed, repeated where that may help and ended where it does not.

A request that fails in a way that may be by chance (no connection, no answer in time, 408, 429, 5xx, an answer that is
none) is repeated, later each time. One that has failed as often as is allowed opens the circuit breaker: nothing more
is sent for a while, so that a run ends with what it has found instead of waiting row by row.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

from fairprobe.errors import ModelError, SettingError
from fairprobe.model import redaction
from fairprobe.model.pacing import RateLimit
from fairprobe.model.services import InvalidAnswerError

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 10.0
"""Seconds before a request is repeated: doubled each time up to the longest, then between half of that and all."""

LONGEST_HOLD: Final = 60.0
"""No Retry-After is waited for longer."""

FIRST_TRIES: Final = 6
"""A service that never answered is tried no oftener: its address or protocol may be wrong."""

COOL_SECONDS: Final = 30.0
"""So long after the breaker opened nothing is sent."""

CONNECT_SECONDS: Final = 10.0

ANSWER_BYTES, ROW_BYTES = 1_000_000, 4_000
"""An answer may be so large, and so much larger for each row."""

LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
"""Hosts that are this machine: what is sent to them passes no network."""

WRITTEN: Final = 65_536
"""Bytes of a request that are written at once."""

Answer = TypeVar("Answer")


class TooLargeError(Exception):
    """A request that failed, and that may have been too large: it held more rows than any that was answered."""


class _FailedError(Exception):
    """What may be by chance; `after` is how long the service asks to wait."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    data: bytes
    retry_after: str | None = None

    @property
    def words(self) -> str:
        """In a line, without secrets."""
        text = redaction.shortened(self.data[:4000].decode(errors="replace"))
        return f"HTTP {self.status}{f': {text}' if text else ''}"


@dataclass(frozen=True)
class Persistence:
    """How long a service is waited for, and how it is asked."""

    connections: int = 4
    timeout: float = 60.0
    retries: int = 8
    rate_limit: float | None = None
    ca_file: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """By header, the environment's variable that holds its value."""


class Transport:
    """The connections to one service."""

    def __init__(self, url: str, patience: Persistence) -> None:
        self.url = url
        self.patience = patience
        self.n_sent = 0
        """Rows sent, those of repeated requests each time."""
        self._shown = redaction.shown_source(url)
        self._rate = RateLimit(patience.rate_limit)
        self._lock = threading.Lock()
        self._has_answered = False
        self._opened: float | None = None
        self._why = ""
        self._deadline = _Deadline()
        headers = redaction.headers_from_environment(dict(patience.headers))
        self.secrets = redaction.secrets_of(url, headers.values())
        """Never shown of what this service answers."""
        self._client = _client(url, patience, headers)

    def get(self, url: str) -> Reply:
        """Whatever a service answers to a plain look at an address; to be called inside `hiding` its secrets."""
        for attempt in range(3):
            try:
                return self._exchange("GET", url, None, ANSWER_BYTES)
            except _FailedError as failure:
                last = failure
                time.sleep(FIRST_DELAY * 2**attempt)
        raise ModelError(
            f"the service at {self._shown} must answer, got {last}: is it running, and is the address right?"
        )

    def takes(self, body: bytes, n_rows: int) -> bool:
        """Whether a request is answered as it should be, without any patience."""
        with self._lock:
            self.n_sent += n_rows
        try:
            with redaction.hiding(self.secrets):
                return self._exchange("POST", self.url, body, ANSWER_BYTES).status == 200
        except _FailedError:
            return False

    def ask(
        self,
        body: bytes,
        n_rows: int,
        read: Callable[[bytes], Answer],
        cancelled: threading.Event,
        *,
        is_bold: bool = False,
    ) -> Answer:
        """What is read in the answer to a request. A bold one, larger than any before, is given up sooner."""
        tries = 0
        while True:
            self._check_breaker()
            self._rate.wait(cancelled)
            if cancelled.is_set():
                raise ModelError(f"the service at {self._shown} is no longer asked: the run was stopped")
            with self._lock:
                self.n_sent += n_rows
            try:
                with redaction.hiding(self.secrets):
                    reply = self._exchange("POST", self.url, body, ANSWER_BYTES + ROW_BYTES * n_rows)
                    answer = read(self._accepted(reply))
            except (_FailedError, InvalidAnswerError) as failure:
                tries += 1
                self._repeat_or_end(failure, tries, cancelled, is_bold=is_bold)
            else:
                self._has_answered, self._opened = True, None
                return answer

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _repeat_or_end(
        self, failure: _FailedError | InvalidAnswerError, tries: int, cancelled: threading.Event, *, is_bold: bool
    ) -> None:
        """Wait until the request may be repeated; raise if it may not."""
        if is_bold and self._has_answered and tries > 1:
            raise TooLargeError(str(failure))
        most = 1 + self.patience.retries
        if not self._has_answered:
            most = min(most, FIRST_TRIES)
        if tries >= most:
            times = "" if tries == 1 else f" ({tries} times in a row)"
            rule = f"answer every request within {self.patience.timeout:g} s"
            if isinstance(failure, InvalidAnswerError):
                rule = "give one answer a row by the protocol it was asked in"
            self._why = f"the service at {self._shown} must {rule}, got {failure}{times}"
            self._opened = time.monotonic()
            raise ModelError(self._why)
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** (tries - 1))
        after = getattr(failure, "after", None)
        if after is not None:
            self._rate.hold(min(after, LONGEST_HOLD))
        # By chance, so that the connections do not all come back at once.
        cancelled.wait(delay * random.uniform(0.5, 1.0))

    def _check_breaker(self) -> None:
        opened = self._opened
        if opened is None:
            return
        if time.monotonic() - opened < COOL_SECONDS:
            raise ModelError(self._why)
        self._opened, self._has_answered = None, False  # it may be back: it is tried as at first

    def _accepted(self, reply: Reply) -> bytes:
        """The content of an answer that is one."""
        if reply.status == 200:
            return reply.data
        if reply.status == 413:
            raise TooLargeError(reply.words)
        if reply.status in (408, 429) or reply.status >= 500:
            raise _FailedError(reply.words, _seconds(reply.retry_after))
        advice = ""
        if reply.status in (401, 403):
            advice = "; headers come from FAIRPROBE_HEADER_... in the environment, or by --header-from-env"
        elif reply.status in (400, 404, 405, 415, 422):
            advice = "; are the address, the protocol and the columns those of the service?"
        raise ModelError(f"the service at {self._shown} must take the request, got {reply.words}{advice}")

    def _exchange(self, method: str, url: str, body: bytes | None, most: int) -> Reply:
        """One request and its answer, no longer than the timeout allows and no larger than `most` bytes."""
        import httpx

        self._deadline.at = time.monotonic() + self.patience.timeout
        headers = {"Content-Type": "application/json"} if body is not None else None
        extensions = {"trace": self._deadline.notice}
        try:
            with self._client.stream(method, url, content=body, headers=headers, extensions=extensions) as response:
                parts, size = [], 0
                for part in response.iter_raw():
                    parts.append(part)
                    size += len(part)
                    if size > most:
                        raise _FailedError(f"an answer of more than {most:,} bytes")
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise _FailedError("a compressed answer, which was not asked for")
                return Reply(response.status_code, b"".join(parts), response.headers.get("retry-after"))
        except httpx.TimeoutException:
            raise _FailedError(f"no answer within {self.patience.timeout:g} s") from None
        except httpx.TransportError as error:
            what = redaction.shortened(str(error)) or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ModelError(
                    f"the certificate of {self._shown} must verify, got {what}: name the file of its authority by "
                    "ca_file (--ca-file)"
                ) from None
            raise _FailedError(what) from None


class _Deadline(threading.local):
    """When the exchange that this thread is at must be over.

    Of httpx's own limits each is for one read or write: a service that drips its headers, or takes a request drop by
    drop, could keep one waiting for ever.
    """

    at: float = math.inf

    def notice(self, event: str, info: dict[str, Any]) -> None:
        """Told by httpx what it does: a connection just made is from now on given no longer than is left."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        stream = info["return_value"]
        read, write = stream.read, stream.write

        def read_in_time(size: int, timeout: float | None = None) -> Any:
            return read(size, self._left())

        def write_in_time(data: bytes, timeout: float | None = None) -> None:
            for begin in range(0, len(data), WRITTEN):
                write(data[begin : begin + WRITTEN], self._left())

        stream.read, stream.write = read_in_time, write_in_time

    def _left(self) -> float:
        import httpx

        left = self.at - time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("the time is over")
        return left


def _client(url: str, patience: Persistence, headers: dict[str, str]) -> Any:
    try:
        import httpx
        import orjson  # noqa: F401  # what requests are written by
    except ImportError as error:
        raise SettingError(f"a model behind an address needs {error.name}: pip install 'fairprobe[http]'") from None
    address = httpx.URL(url)
    sent = [*headers, *(["Authorization, of the address"] if address.userinfo else [])]
    is_open = bool(sent) and address.scheme == "http"
    if is_open and not LOOPBACK.fullmatch(address.host):
        raise SettingError(
            f"a header must not be sent over plain http, where others can read it, got {', '.join(sent)} for "
            f"{redaction.shown_source(url)}: use https://, or unset what it comes from"
        )
    verify: Any = True
    if patience.ca_file is not None:
        import ssl

        try:
            verify = ssl.create_default_context(cafile=patience.ca_file)
        except OSError as error:
            rule = f"must be a file of certificates, got {patience.ca_file}: {error}"
            raise SettingError.about("ca_file", rule) from None
    return httpx.Client(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx.Timeout(patience.timeout, connect=min(patience.timeout, CONNECT_SECONDS), pool=None),
        # As many as there are threads that ask; those that were given up keep nobody waiting.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=patience.connections),
        verify=verify,
        follow_redirects=False,  # headers are for the address that was given
        trust_env=not is_open,  # a proxy would read them
    )


def _seconds(retry_after: str | None) -> float | None:
    """How long a Retry-After says to wait: in seconds, or until a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
