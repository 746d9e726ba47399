"""Redaction of secrets: headers are read from the environment, and secrets are removed from all shown text."""

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
"""Prefix of environment variables that hold request headers: FAIRPROBE_HEADER_X_API_KEY is sent as X-API-KEY."""

HIDDEN: Final = "***"

_SHORTEST: Final = 4
"""Smallest length, in characters, of a secret that is hidden. Chosen: shorter values occur by chance in any text."""

_LONG: Final = 20
"""Smallest length, in characters, of a value in an address's query that is hidden whatever its name. Chosen: keys are
longer."""

_SECRET_NAMES: Final = re.compile(
    r"key|token|secret|sig|pass|pwd|auth|cred|code|jwt|session|bearer|hmac", re.IGNORECASE
)
"""Pattern of the names under which the query of an address holds a secret."""

_LOGGERS: Final = ("httpx", *map("httpcore{}".format, ("", ".connection", ".http11", ".http2", ".proxy", ".socks")))
"""Names of the loggers whose records are redacted. All are listed because a filter does not apply to child loggers."""

_hidden: ContextVar[frozenset[str]] = ContextVar("hidden", default=frozenset())
"""Secrets of the service that is currently asked, which `redacted` replaces."""


@contextmanager
def hiding(secrets: frozenset[str]) -> Iterator[None]:
    """Within the context, `redacted` replaces these secrets by `***`."""
    token = _hidden.set(secrets)
    try:
        yield
    finally:
        _hidden.reset(token)


def secrets_of(url: str, headers: Iterable[str]) -> frozenset[str]:
    """Return the secrets in an address and in header values, in every encoding in which an answer may quote them."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    told = [value for name, value in parse_qsl(parts.query) if _is_secret(name, value)]
    told += [password, f"{user}:{password}"] if password else [user]
    for text in (*headers, parts.password or ""):
        told += [text, unquote(text), *text.split()[1:]]  # as in "Bearer abc"
    return frozenset(form for part in told for form in _forms(part) if len(form) >= _SHORTEST)


def redacted(text: str) -> str:
    """Return a text with `***` in place of the asked service's secrets and of the secrets in any address in it."""
    for secret in sorted(_hidden.get(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"https?://[^\s\"'<>]+", lambda found: shown_source(found[0]), text, flags=re.IGNORECASE)


def shortened(text: str, most: int = 200) -> str:
    """Return a text in one line, redacted and then cut to `most` characters."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def shown_source(source: str) -> str:
    """Return the source of a model as it may be shown: an address without user and password, with its keys hidden.

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
    """Redact the log records of httpx and httpcore, which contain every address asked."""
    for name in _LOGGERS:  # httpx logs every address it asks
        logging.getLogger(name).addFilter(_redacting)


def headers_from_environment(named: Mapping[str, str]) -> dict[str, str]:
    """Return the request headers to send, as values by name.

    They come from the variables FAIRPROBE_HEADER_..., and from `named`: the variable that holds a header's value, by
    header.
    """
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
