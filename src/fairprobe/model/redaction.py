"""Secrets: headers come from the environment, and nothing of them, nor of an address's secrets, is ever shown."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from fairprobe.errors import SettingError

PREFIX: Final = "FAIRPROBE_HEADER_"
"""FAIRPROBE_HEADER_X_API_KEY is sent as the header X-API-KEY."""

HIDDEN: Final = "***"

_SHORTEST: Final = 4
"""Shorter values are no secrets, and would be found in any text."""

_LOGGERS: Final = (
    "httpx",
    "httpcore",
    *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)
"""All by name: a logger's filter is not for those below it."""

_secrets: set[str] = set()


def keep_secret(text: str) -> None:
    """From now on `redacted` hides this, also as it is written in JSON, in an address or without `Bearer` before it."""
    words = text.split()
    for part in {text, unquote(text), *words[1:]}:
        forms = {part, quote(part), quote(part, safe=""), json.dumps(part)[1:-1], _base64(part)}
        _secrets.update(form for form in forms if len(form) >= _SHORTEST)


def redacted(text: str) -> str:
    """The text without any secret, and without what an address in it may carry."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"(https?://)[^\s/@]+@", rf"\1{HIDDEN}@", text)


def shortened(text: str, most: int = 200) -> str:
    """The text in one line, without secrets; these go first, as half of one would no longer be known."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def shown_source(source: str) -> str:
    """Where a model comes from, as it may be shown: an address without its user, password and the values of its query.

    >>> shown_source("https://me:secret@host:8443/invocations?code=abcdef&v=1")
    'https://host:8443/invocations?code=***&v=***'
    >>> shown_source("package.module:model")
    'package.module:model'
    """
    if not re.match(r"https?://", source, re.IGNORECASE):
        return source
    scheme, _, rest = source.partition("://")
    address, _, query = rest.partition("#")[0].partition("?")
    host, slash, path = address.partition("/")
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    shown = "&".join(f"{name}={HIDDEN}" for name in names)
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{'?' if shown else ''}{shown}"


def guard(url: str) -> None:
    """Keep what an address carries out of messages and logs."""
    parts = urlsplit(url)
    if parts.password:
        keep_secret(parts.password)
        keep_secret(f"{unquote(parts.username or '')}:{unquote(parts.password)}")
    for _, value in parse_qsl(parts.query):
        keep_secret(value)
    for name in _LOGGERS:  # httpx logs every address it asks
        logger = logging.getLogger(name)
        if not any(isinstance(each, _Redacting) for each in logger.filters):
            logger.addFilter(_Redacting())


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
        keep_secret(value)
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", header) or not re.fullmatch(r"[\x20-\x7e\t]*", value):
            raise SettingError(f"a header must be a name and one line of plain characters, got another for {header!r}")
    return headers


class _Redacting(logging.Filter):
    """Takes secrets out of what others log."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted(record.getMessage()), ()
        return True


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
