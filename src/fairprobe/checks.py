"""Checks of arguments that many calls share. `errors` defines the wording of messages."""

from __future__ import annotations

import errno
import math
import numbers
import operator
import os
import stat
from collections import Counter
from collections.abc import Iterable
from typing import IO, Any

from fairprobe.errors import SettingError


def checked_count(name: str, value: Any, *, at_least: int = 1) -> int:
    """Return a whole number of at least `at_least`; refuse any other value."""
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if number < at_least or isinstance(value, bool):
        raise SettingError.about(name, f"must be a whole number of at least {at_least}, got {value!r}")
    return number


def checked_fraction(name: str, value: Any, *, from_zero: bool = False) -> float:
    """Return a number between 0 and 1, without 1; 0 is allowed only with `from_zero`."""
    if not is_number(value) or not (value >= 0 if from_zero else value > 0) or value >= 1:
        rule = "must be at least 0 and below 1" if from_zero else "must lie between 0 and 1"
        raise SettingError.about(name, f"{rule}, got {value!r}")
    return float(value)


def checked_seed(seed: Any) -> int:
    """Return the seed, or a fresh one for None."""
    if seed is not None:
        return checked_count("seed", seed, at_least=0)
    import secrets

    return secrets.randbits(128)


def repeated(values: Iterable[Any]) -> list[Any]:
    """Return the values that occur more than once."""
    return [value for value, count in Counter(iter(values)).items() if count > 1]


def nearest(name: Any, known: Iterable[Any]) -> str:
    """Return the known name that is probably meant, as the end of a message; empty if none is near.

    >>> nearest("Sex", ["age", "sex"]), nearest("uniforn", ["uniform", "anchored"]), nearest("height", ["age", "sex"])
    (": did you mean 'sex'?", ": did you mean 'uniform'?", '')
    """
    import difflib

    by_folded = {str(other).casefold().strip(): other for other in known}
    close = difflib.get_close_matches(str(name).casefold().strip(), by_folded, n=1)
    return f": did you mean {by_folded[close[0]]!r}?" if close else ""


def checked_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return one of the allowed words of an argument; refuse any other value."""
    words = list(known)
    if value not in words:
        raise SettingError.about(name, f"must be one of {', '.join(words)}; got {value!r}{nearest(value, words)}")
    return str(value)


def is_number(value: Any) -> bool:
    """Return True if a value is a finite number; truth values are not numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def check_above_0(name: str, value: Any) -> None:
    """Refuse a value that is neither None nor a number above 0, for example a limit of time."""
    if value is not None and not (is_number(value) and value > 0):
        raise SettingError.about(name, f"must be a number above 0 or None, got {value!r}")


def shown(number: int) -> str:
    """Return a number as a sentence shows it.

    >>> shown(46_656_000), shown(2_150_000_000_000_000)
    ('46,656,000', '2.2e15')
    """
    return f"{number:,}" if number < 10**9 else f"{number:.1e}".replace("e+", "e")


def parsed_toml(text: str) -> dict[str, Any]:
    """Return TOML as plain values; any fault, including deep nesting, raises a ValueError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a TOML file as plain values; OSError if it is no regular file, ValueError if it is no TOML."""
    with opened_regular(path) as file:
        return parsed_toml(file.read().decode())


def opened_regular(path: str | os.PathLike[str], most_bytes: int | None = None) -> IO[bytes]:
    """Open a regular file for reading; OSError for a larger file or, because it may never end, a pipe."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode) and (most_bytes is None or found.st_size <= most_bytes):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    is_large = stat.S_ISREG(found.st_mode) and most_bytes is not None
    raise OSError(0, f"{found.st_size:,} bytes, more than {most_bytes:,}" if is_large else "no regular file")
