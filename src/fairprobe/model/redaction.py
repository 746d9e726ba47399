"""Secrets: headers come from the environment; headers and secrets in an address are never shown."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from fairprobe.errors import SettingError

PREFIX: Final = "FAIRPROBE_HEADER_"
"""Prefix of environment variables: FAIRPROBE_HEADER_X_API_KEY is sent as the header X-API-KEY."""

HIDDEN: Final = "***"

_SHORTEST: Final = 4
"""Smallest length of a secret in characters; shorter values would be found in any text. Chosen."""

_LONG: Final = 20
"""Smallest length of a query value that counts as a secret under any name. Chosen: keys are longer."""

_SECRET_NAMES: Final = re.compile(
    r"key|token|secret|sig|pass|pwd|auth|cred|code|jwt|session|bearer|hmac", re.IGNORECASE
)
"""Matches the name of a secret in the query of an address."""

_LOGGERS: Final = ("httpx", *map("httpcore{}".format, ("", ".connection", ".http11", ".http2", ".proxy", ".socks")))
"""Loggers whose records are filtered. All are named: a filter does not apply to the loggers below its own."""

_hidden: ContextVar[frozenset[str]] = ContextVar("hidden", default=frozenset())
"""Secrets of the service that is being asked, which `redacted` hides."""


@contextmanager
def hiding(secrets: frozenset[str]) -> Iterator[None]:
    """Within the context, `redacted` hides these texts."""
    token = _hidden.set(secrets)
    try:
        yield
    finally:
        _hidden.reset(token)


def secrets_of(url: str, headers: Iterable[str]) -> frozenset[str]:
    """The secrets in an address and in the values of headers, in all forms that an answer may quote them in."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    told = [value for name, value in parse_qsl(parts.query) if _is_secret(name, value)]
    told += [password, f"{user}:{password}"] if password else [user]
    for text in (*headers, parts.password or ""):
        told += [text, unquote(text), *text.split()[1:]]  # as in "Bearer abc"
    return frozenset(form for part in told for form in _forms(part) if len(form) >= _SHORTEST)


def redacted(text: str) -> str:
    """The text without the secrets of the service that is asked, and without those of any address in it."""
    for secret in sorted(_hidden.get(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"https?://[^\s\"'<>]+", lambda found: shown_source(found[0]), text, flags=re.IGNORECASE)


def shortened(text: str, most: int = 200) -> str:
    """The text in one line without secrets; they go before the text is cut, as half a secret would not be found."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def shown_source(source: str) -> str:
    """The source of a model as it may be shown: an address without its user, its password and the keys in its query.

    >>> shown_source("https://me:secret@host:8443/invocations?code=abcdef&version=2024")
    'https://host:8443/invocations?code=***&version=2024'
    >>> shown_source("package.module:model")
    'package.module:model'
    """
    if not re.match(r"https?://", source, re.IGNORECASE):
        return source
    scheme, _, rest = source.partition("://")
    address, _, query = rest.partition("#")[0].partition("?")
    host, slash, path = address.partition("/")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    shown = "&".join(f"{n}{equals}{HIDDEN if _is_secret(unquote(n), value) else value}" for n, equals, value in pairs)
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{'?' if shown else ''}{shown}"


def guard_logs() -> None:
    """Keep secrets out of what httpx logs of a request."""
    for name in _LOGGERS:  # httpx logs every address it asks
        logging.getLogger(name).addFilter(_redacting)


def headers_from_environment(named: Mapping[str, str]) -> dict[str, str]:
    """The headers to send: those of FAIRPROBE_HEADER_..., and by header the variable that holds its value."""
    headers = {
        name.removeprefix(PREFIX).replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith(PREFIX) and name != PREFIX
    }
    for header, variable in named.items():
        if variable not in os.environ:
            raise SettingError(f"the header {header} is to come from the variable {variable}, which is not set")
        headers[header] = os.environ[variable]
    for header, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", header) or not re.fullmatch(r"[\x20-\x7e\t]*", value):
            raise SettingError(f"a header must be a name and one line of plain characters, got another for {header!r}")
    return headers


def _redacting(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET_NAMES.search(name)) or len(value) >= _LONG


def _forms(text: str) -> tuple[str, ...]:
    return text, quote(text), quote(text, safe=""), json.dumps(text)[1:-1], base64.b64encode(text.encode()).decode()
