"""The client of a model service: it sends requests, with rate limits, timeouts and repetition after failures.

A request that fails for a possibly temporary reason is repeated, after longer and longer delays. Such reasons are: no
connection, no answer in time, 408, 429, 5xx, an answer that breaks the protocol. A request that has failed as often as
allowed opens the circuit breaker: nothing more is sent for a while. A run then ends with its findings instead of
waiting row by row.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import islice, pairwise
from typing import Any, Final, TypeVar

import numpy as np

from fairprobe.errors import ModelError, SettingError
from fairprobe.model import redaction
from fairprobe.model.background import run
from fairprobe.model.measuring import differ, tolerance
from fairprobe.model.protocols import EncodedRows, Instances, InvalidAnswerError, checked_answers, decoded

FIRST_DELAY: Final = 0.1
"""Largest number of seconds before a failed request is first repeated. Chosen."""

LONGEST_DELAY: Final = 10.0
"""Largest number of seconds before a failed request is repeated. The delay doubles from `FIRST_DELAY` up to this; a
random half to all of it is waited. Chosen."""

LONGEST_HOLD: Final = 60.0
"""Largest number of seconds that a service's Retry-After header can delay requests. Chosen."""

FIRST_TRIES: Final = 4
"""Largest number of tries of a request while the service has never answered. Chosen: its address or protocol may be
wrong."""

FIRST_ROWS: Final = 64
"""Number of rows of the first requests to a service. Chosen."""

MOST_ROWS: Final = 16_384
"""Largest number of rows of a request after doubling from `FIRST_ROWS`. Chosen."""

QUICK: Final = 0.5
"""Seconds. A request that takes less time doubles the number of rows of later requests. Chosen."""

COOL_SECONDS: Final = 30.0
"""Seconds for which nothing is sent after a request failed as often as allowed (open circuit breaker). Chosen."""

CONNECT_SECONDS: Final = 10.0
"""Largest number of seconds for opening a connection. Chosen."""

ANSWER_BYTES, ROW_BYTES = 1_000_000, 4_000
"""Largest size of an answer in bytes: `ANSWER_BYTES`, plus `ROW_BYTES` for each row. Chosen: a row of 100 probabilities
takes half of `ROW_BYTES`."""

LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
"""Pattern of host names that stand for this machine; data sent to them passes no network."""

ADVICE: Final = {
    **dict.fromkeys((401, 403), "; headers come from FAIRPROBE_HEADER_... in the environment, or by --header-from-env"),
    **dict.fromkeys((400, 404, 405, 415, 422), "; are the address, the protocol and the columns those of the service?"),
}
"""Advice for the error message when a service refuses a request, by HTTP status."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Persistence:
    """The settings for requests to a service, as in `remote.connect`."""

    connections: int
    timeout: float
    retries: int
    rate_limit: float | None
    ca_file: str | None
    batch_rows: int | None
    cache_rows: int
    headers: tuple[tuple[str, str], ...]
    """Pairs of a header's name and the environment variable that holds its value."""


class TooLargeError(Exception):
    """The error that a request may have been too large: by its status, or larger than any answered and failed twice."""


class _FailedError(Exception):
    """The error that a request failed for a possibly temporary reason.

    `after` is the number of seconds that the service asks to wait.
    """

    def __init__(self, what: str, after: float = 0.0) -> None:
        super().__init__(what)
        self.after = after


@dataclass(frozen=True)
class Reply:
    """The HTTP answer to a request: status, body, duration in seconds, and Retry-After header."""

    status: int
    data: bytes
    seconds: float
    retry_after: str | None

    @property
    def words(self) -> str:
        """The status and body in one line for messages, without secrets."""
        text = redaction.shortened(self.data[:4000].decode(errors="replace"))
        return f"HTTP {self.status}{f': {text}' if text else ''}"


class BatchSize:
    """The number of rows to send in a request: it doubles while requests are quick, or is fixed by the user."""

    def __init__(self, given: int | None = None) -> None:
        self.rows = given or FIRST_ROWS
        self.proven = given or 1
        """Number of rows of the largest request answered so far. A larger request that fails may be too large."""
        self._is_settled = given is not None

    def parts(self, places: list[int]) -> list[list[int]]:
        """Split row numbers into lists of about equal length, one for each request, as few as possible."""
        ends = np.linspace(0, len(places), -(-len(places) // self.rows) + 1).astype(int).tolist()
        return [places[first:end] for first, end in pairwise(ends)]

    def answered(self, n_rows: int, seconds: float) -> None:
        """Record an answered request; the size doubles if it was quick, of about that size, and if it is not fixed."""
        self.proven = max(self.proven, n_rows)
        if not self._is_settled and seconds < QUICK and n_rows > self.rows // 2:
            self.rows = min(2 * self.rows, MOST_ROWS)

    def settle(self, rows: int) -> None:
        """Limit all further requests to this number of rows, without doubling."""
        self.rows, self._is_settled = max(1, min(self.rows, rows)), True


class ServiceClient:
    """Sends requests to one service from one process; it holds connections, request size and cached answers."""

    def __init__(self, service: Instances, patience: Persistence) -> None:
        self.patience, self._service = patience, service
        self.n_sent = 0
        """Number of rows sent, counting repeated requests each time."""
        self.is_afresh = False
        """True while rows with cached answers are sent again, too."""
        self.size = BatchSize(patience.batch_rows)
        self._caches: dict[tuple[str | None, ...], AnswerCache] = {}
        """Caches of answers, one for each name of an answer and names of columns."""
        self._places = asyncio.Semaphore(patience.connections)
        """Semaphore that limits the number of requests at a time; it is held while a request is made, sent and
        repeated."""
        self._shown = redaction.shown_source(service.url)
        self._next_turn = 0.0
        """Earliest time of the next request, on the clock of `time.monotonic`."""
        self._has_answered = False
        self._opened: float | None = None
        self._why = ""
        headers = redaction.headers_from_environment(dict(patience.headers))
        self.secrets = redaction.secrets_of(service.url, headers.values())
        """Secrets of this service, which `redaction.hiding` removes from all shown text."""
        redaction.guard_logs()
        self._client = _client(service.url, patience, headers)

    def ask(self, batch: EncodedRows, answer: str | None) -> list[Any]:
        """Return one answer for each row of a batch, from the cache or the service.

        `answer` is the name of the wanted answer if the service gives more than one; otherwise None.
        """
        cache = self._caches.setdefault((answer, *(batch.names or ())), AnswerCache(self.patience.cache_rows))
        with redaction.hiding(self.secrets):
            return cache.answer(batch.rows, lambda some: run(self._all(batch, some, answer)), afresh=self.is_afresh)

    def look(self, url: str) -> Reply:
        """Return the service's reply to a GET request at an address."""
        return run(self._sent("GET", url, None, 0, lambda reply: reply))

    def takes(self, batch: EncodedRows) -> bool:
        """Return True if the service answers a request about the batch's first row with status 200; it is sent once."""
        self.n_sent += 1
        body = self._service.request(batch, [0], None)
        try:
            with redaction.hiding(self.secrets):
                return run(self._exchange("POST", self._service.url, body, ANSWER_BYTES)).status == 200
        except _FailedError:
            return False

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._client.aclose()

    async def _all(self, batch: EncodedRows, places: list[int], answer: str | None) -> list[Any]:
        """Return the answers to the rows with the numbers `places`, in parallel requests; if one fails, others end."""
        tasks = [asyncio.ensure_future(self._request(batch, part, answer)) for part in self.size.parts(places)]
        try:
            return [each for answers in await asyncio.gather(*tasks) for each in answers]
        finally:
            for task in tasks:
                task.cancel()

    async def _request(self, batch: EncodedRows, places: list[int], answer: str | None) -> list[Any]:
        """Return the answers to the rows with the numbers `places`; a request that is too large is halved."""
        n = len(places)

        def read(reply: Reply) -> list[Any]:
            self._check_status(reply)
            answers = checked_answers(self._service.values(decoded(reply.data), n, answer), n)
            self.size.answered(n, reply.seconds)
            self._has_answered, self._opened = True, None
            return answers

        try:
            async with self._places:
                body = self._service.request(batch, places, answer)
                return await self._sent("POST", self._service.url, body, n, read)
        except TooLargeError as error:
            if n == 1:
                raise ModelError(f"the service at {self._shown} must take a single row, got {error}") from None
            self.size.settle(n // 2)
            halves = places[: n // 2], places[n // 2 :]
            return [each for half in halves for each in await self._request(batch, half, answer)]

    async def _sent(
        self, method: str, url: str, body: bytes | None, n_rows: int, read: Callable[[Reply], Answer]
    ) -> Answer:
        """Send a request until `read` accepts the reply, and return what `read` makes of it.

        A request larger than any answered before gets fewer tries.
        """
        is_bold = n_rows > self.size.proven
        tries = 0
        while True:
            self._check_breaker()
            await asyncio.sleep(self._turn())
            self.n_sent += n_rows
            try:
                return read(await self._exchange(method, url, body, ANSWER_BYTES + ROW_BYTES * n_rows))
            except (_FailedError, InvalidAnswerError) as failure:
                tries += 1
                await self._wait_or_end(failure, tries, is_bold=is_bold)

    def _turn(self) -> float:
        """Return the seconds to wait until a request may be sent under the rate limit, and reserve that time."""
        now, limit = time.monotonic(), self.patience.rate_limit
        turn = max(now, self._next_turn)
        self._next_turn = turn + (0.0 if limit is None else 1.0 / limit)
        return turn - now

    async def _wait_or_end(self, failure: _FailedError | InvalidAnswerError, tries: int, *, is_bold: bool) -> None:
        """Wait until a failed request may be repeated; raise an error if it has failed as often as allowed."""
        if is_bold and self._has_answered and tries > 1:
            raise TooLargeError(str(failure))
        most = 1 + self.patience.retries
        if tries >= (most if self._has_answered else min(most, FIRST_TRIES)):
            times = "" if tries == 1 else f" ({tries} times in a row)"
            rule, advice = f"answer every request within {self.patience.timeout:g} s", ""
            if isinstance(failure, InvalidAnswerError):
                rule = "give one answer a row by the protocol it was asked in"
            elif not self._has_answered:
                advice = "; is it running, and is the address right?"
            self._why = f"the service at {self._shown} must {rule}, got {failure}{times}{advice}"
            self._opened = time.monotonic()
            raise ModelError(self._why)
        after = getattr(failure, "after", 0.0)
        self._next_turn = max(self._next_turn, time.monotonic() + min(after, LONGEST_HOLD))
        # By chance, so that the connections do not all come back at once.
        await asyncio.sleep(min(LONGEST_DELAY, FIRST_DELAY * 2 ** (tries - 1)) * random.uniform(0.5, 1.0))

    def _check_breaker(self) -> None:
        if self._opened is None:
            return
        if time.monotonic() - self._opened < COOL_SECONDS:
            raise ModelError(self._why)
        self._opened, self._has_answered = None, False  # it may be back: it is tried as at first

    def _check_status(self, reply: Reply) -> None:
        if reply.status == 200:
            return
        if reply.status == 413:
            raise TooLargeError(reply.words)
        if reply.status in (408, 429) or reply.status >= 500:
            raise _FailedError(reply.words, _seconds(reply.retry_after))
        advice = ADVICE.get(reply.status, "")
        raise ModelError(f"the service at {self._shown} must take the request, got {reply.words}{advice}")

    async def _exchange(self, method: str, url: str, body: bytes | None, most: int) -> Reply:
        """Send one request and return the reply; an error if it takes too long or has more than `most` bytes."""
        import httpx

        headers = {"Content-Type": "application/json"} if body is not None else None
        request = self._client.stream(method, url, content=body, headers=headers)
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self.patience.timeout), request as response:
                data = bytearray()
                async for part in response.aiter_raw():
                    data += part
                    if len(data) > most:
                        raise _FailedError(f"an answer of more than {most:,} bytes")
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise _FailedError("a compressed answer, which was not asked for")
                seconds = time.monotonic() - begun
                return Reply(response.status_code, bytes(data), seconds, response.headers.get("retry-after"))
        except (httpx.TimeoutException, TimeoutError):
            raise _FailedError(f"no answer within {self.patience.timeout:g} s") from None
        except httpx.TransportError as error:
            what = redaction.shortened(str(error)) or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                got = f"{what}: name the file of its authority by ca_file (--ca-file)"
                raise ModelError(f"the certificate of {self._shown} must verify, got {got}") from None
            raise _FailedError(what) from None


def _client(url: str, patience: Persistence, headers: dict[str, str]) -> Any:
    try:
        import httpx
        import orjson  # noqa: F401  # requests are written by it
    except ImportError as error:
        raise SettingError(f"a model behind an address needs {error.name}: pip install 'fairprobe[http]'") from None
    address = httpx.URL(url)
    sent = [*headers, *(["Authorization, of the address"] if address.userinfo else [])]
    is_open = bool(sent) and address.scheme == "http"
    if is_open and not LOOPBACK.fullmatch(address.host):
        got = f"{', '.join(sent)} for {redaction.shown_source(url)}: use https://"
        raise SettingError(f"a header must not be sent over plain http, where others can read it, got {got}")
    verify: Any = True
    if patience.ca_file is not None:
        import ssl

        try:
            verify = ssl.create_default_context(cafile=patience.ca_file)
        except OSError as error:
            rule = f"must be a file of certificates, got {patience.ca_file}: {error}"
            raise SettingError.about("ca_file", rule) from None
    return httpx.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx.Timeout(None, connect=min(patience.timeout, CONNECT_SECONDS)),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=patience.connections),
        verify=verify,
        follow_redirects=False,  # headers are for the address that was given
        trust_env=not is_open,  # a proxy would read them
    )


def _seconds(retry_after: str | None) -> float:
    """Return the seconds to wait by a Retry-After header, which is a number or a date; 0 without one."""
    for read in (float, lambda text: parsedate_to_datetime(text).timestamp() - time.time()):
        try:
            return max(0.0, read(retry_after or ""))
        except (TypeError, ValueError):
            pass
    return 0.0


class AnswerCache:
    """Keeps the answers to the last `capacity` different rows. The key is a row as the bytes that are sent."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: dict[bytes, Any] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_off(self) -> bool:
        """True if the cache keeps no answers."""
        return self._capacity < 1

    def answer(self, keys: Sequence[bytes], ask: Callable[[list[int]], list[Any]], *, afresh: bool) -> list[Any]:
        """Return one answer per key, from the cache or from `ask`, which maps positions in `keys` to answers.

        With `afresh`, `ask` is called for every key. If an answer then differs from a cached one, the cache is emptied
        and no longer used.
        """
        every = list(range(len(keys)))
        if self.is_off:
            return ask(every)
        answers = [self._known.get(key) for key in keys]
        if afresh:
            now = ask(every)
            known = [place for place in every if answers[place] is not None]
            if known and _differ([answers[place] for place in known], [now[place] for place in known]):
                self._capacity, self._known = 0, {}
            self._add(keys, now)
            return now
        places = {key: place for place, key in enumerate(keys) if answers[place] is None}
        if places:
            new = dict(zip(places, ask(list(places.values())), strict=True))
            answers = [new[key] if answer is None else answer for key, answer in zip(keys, answers, strict=True)]
            self._add(list(new), list(new.values()))
        return answers

    def _add(self, keys: Sequence[bytes], answers: Sequence[Any]) -> None:
        self._known.update(zip(keys, answers, strict=True))
        for key in list(islice(self._known, max(0, len(self._known) - self._capacity))):
            del self._known[key]  # the oldest


def _differ(before: list[Any], now: list[Any]) -> bool:
    """Return True if two lists of answers differ. Floating-point numbers must differ by more than rounding."""
    if before == now:
        return False
    try:
        one, other = np.array(before), np.array(now)
    except ValueError:  # lists of several lengths
        return True
    is_alike = one.dtype.kind == other.dtype.kind == "f" and one.shape == other.shape
    return not is_alike or bool(differ(one, other, tolerance(one, 0.0)).any())
