"""Checks of argument values that many functions share, and strict reading of TOML and regular files."""

from __future__ import annotations

import errno
import math
import numbers
import operator
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable
from typing import IO, Any, Final

from fairprobe.errors import SettingError


def checked_count(name: str, value: Any, *, at_least: int = 1) -> int:
    """Return the value of the argument `name` as an int.

    Raise a SettingError unless it is a whole number of at least `at_least`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if number < at_least or isinstance(value, bool):
        raise SettingError.about(name, f"must be a whole number of at least {at_least}, got {value!r}")
    return number


def checked_fraction(name: str, value: Any, *, from_zero: bool = False) -> float:
    """Return the value of the argument `name` as a float; raise a SettingError unless it is above 0 and below 1.

    With `from_zero`, 0 is allowed as well.
    """
    if not is_number(value) or not (value >= 0 if from_zero else value > 0) or value >= 1:
        rule = "must be at least 0 and below 1" if from_zero else "must lie between 0 and 1"
        raise SettingError.about(name, f"{rule}, got {value!r}")
    return float(value)


def checked_seed(seed: Any) -> int:
    """Return a seed after checking that it is a whole number of at least 0; for None, return a random seed."""
    if seed is not None:
        return checked_count("seed", seed, at_least=0)
    import secrets

    return secrets.randbits(128)


def repeated(values: Iterable[Any]) -> list[Any]:
    """Return the values that occur more than once, each of them once."""
    return [value for value, count in Counter(iter(values)).items() if count > 1]


def nearest(name: Any, known: Iterable[Any]) -> str:
    """Return ": did you mean ...?" with the known name that is most like `name`; an empty text if none is like it.

    >>> nearest("Sex", ["age", "sex"]), nearest("uniforn", ["uniform", "anchored"]), nearest("height", ["age", "sex"])
    (": did you mean 'sex'?", ": did you mean 'uniform'?", '')
    """
    import difflib

    by_folded = {str(other).casefold().strip(): other for other in known}
    close = difflib.get_close_matches(str(name).casefold().strip(), by_folded, n=1)
    return f": did you mean {by_folded[close[0]]!r}?" if close else ""


def checked_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return the value of the argument `name`; raise a SettingError if it is not one of the `known` words."""
    words = list(known)
    if value not in words:
        raise SettingError.about(name, f"must be one of {', '.join(words)}; got {value!r}{nearest(value, words)}")
    return str(value)


def check_names(argument: str, names: Iterable[Any], known: Iterable[Any], rule: str) -> None:
    """Raise a SettingError about `argument` if one of the names is not known; `rule` begins its message."""
    known = list(known)
    for name in names:
        if name not in known:
            words = f"{rule} of {', '.join(map(str, known))}; got {name!r}{nearest(name, known)}"
            raise SettingError.about(argument, words)


def is_number(value: Any) -> bool:
    """Return True if a value is a finite real number; True and False do not count as numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def check_above_0(name: str, value: Any) -> None:
    """Raise a SettingError if the value of the argument `name` is neither None nor a number above 0."""
    if value is not None and not (is_number(value) and value > 0):
        raise SettingError.about(name, f"must be a number above 0 or None, got {value!r}")


def shown(number: int) -> str:
    """Return a whole number as text: with commas below a billion, otherwise rounded to two digits.

    >>> shown(46_656_000), shown(2_150_000_000_000_000)
    ('46,656,000', '2.2e15')
    """
    return f"{number:,}" if number < 10**9 else f"{number:.1e}".replace("e+", "e")


MOST_TOML: Final = 2**24
"""Largest size of a TOML file in bytes. Chosen: a domain of a million categories is as large."""

_LONG_KEY: Final = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")
"""Pattern of a key of more than a hundred parts. Python takes time that grows with the square of their number."""


def parsed_toml(text: str) -> dict[str, Any]:
    """Return a text of TOML as nested dicts and lists; any fault, including deep nesting, raises a ValueError."""
    import tomllib

    if len(text) > MOST_TOML or _LONG_KEY.search(text):
        raise ValueError(f"it has more than {MOST_TOML:,} characters, or a key of more than a hundred parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a TOML file as nested dicts and lists.

    Raise an OSError if it is no regular file that can be read, and a ValueError if it is no TOML in UTF-8.
    """
    with opened_regular(path, MOST_TOML) as file:
        return parsed_toml(file.read().decode())


def opened_regular(path: str | os.PathLike[str], most_bytes: int | None = None) -> IO[bytes]:
    """Open a regular file for reading bytes.

    Raise an OSError if it has more than `most_bytes` bytes, or if it is a folder, or a pipe, which may never end.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode) and (most_bytes is None or found.st_size <= most_bytes):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    is_large = stat.S_ISREG(found.st_mode) and most_bytes is not None
    raise OSError(0, f"{found.st_size:,} bytes, more than {most_bytes:,}" if is_large else "no regular file")
