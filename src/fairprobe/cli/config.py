"""Settings of an audit from a file: `fairprobe.toml`, or [tool.fairprobe] in pyproject.toml."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairprobe.checks import is_number, nearest, read_toml
from fairprobe.cli.words import flag
from fairprobe.errors import SettingError
from fairprobe.model.sources.load import SCHEMES, SUBJECT

OWN = "fairprobe.toml"
PROJECT = "pyproject.toml"

TEXT, WHOLE, NUMBER, TRUTH, TEXTS = "a text", "a whole number", "a number", "true or false", "a list of texts"
SENSITIVE = "a list of names, or a table of the values to compare by name"
LIMIT = "a number, or a table of numbers by who is worse off"
SCALAR = "a text, a number, true or false"

KINDS: dict[str, str] = {
    **dict.fromkeys(("model", "data", "domain", "label", "gate", "rows_are", "output", "method", "batch"), TEXT),
    **dict.fromkeys(("date", "title", "name", "out", "html", "model_weights", "protocol", "ca_file"), TEXT),
    **dict.fromkeys(("ignore", "missing", "constraint", "link", "hidden", "populations", "mask", "trust"), TEXTS),
    **dict.fromkeys(("answer", "header_from_env"), TEXTS),
    **dict.fromkeys(("threshold", "confidence", "min_comparable", "min_plausibility", "retrain_seconds"), NUMBER),
    **dict.fromkeys(("rate_limit", "timeout"), NUMBER),
    **dict.fromkeys(("connections", "batch_rows", "retries", "cache_rows"), WHOLE),
    **dict.fromkeys(("n_experiments", "n_samples", "max_cases", "search_cases", "max_inputs", "max_barren"), WHOLE),
    **dict.fromkeys(("explain_queries", "seed"), WHOLE),
    **dict.fromkeys(("retrain", "show_rows", "linked", "selfcheck", "allow_unsafe_load", "isolate"), TRUTH),
    "sensitive": SENSITIVE,
    "max_share": LIMIT,
    "favourable": SCALAR,
}
"""What may be set, and what it must be."""

CODE = ("trust", "allow_unsafe_load")
"""They allow code to run."""
SECRET = ("header_from_env", "ca_file")
"""They say which secrets are told, and to whom."""
OBJECTS = ("model", "domain")
"""They may name a program, an object in Python or an address in place of a file."""
CONFINED = ("model", "out", "html")
"""Paths that must lie in the config's folder: models, and what is written."""
READ = ("data", "domain", "model_weights", "ca_file")
"""Paths that must lie there if the config was found, not named. All are from its folder on."""
# Whatever else `KINDS` has is harmless: a new key that is not must stand in one of these.

OUTSIDE = "lies outside of its folder"


def read_config(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What a file sets, by the name of the option, and what of that is dangerous and taken; nothing without a file.

    The file is the config that the options name. With neither that nor a model named, `fairprobe.toml` of the current
    folder counts, or else its pyproject.toml. What is dangerous is refused unless the options say it, or to trust it.
    """
    named = given["config"]
    if given["trust_config"] and named is None:
        raise SettingError(f"--trust-config must stand beside the config to trust, got none named, as {OWN}")
    here = (each for each in (Path(OWN), Path(PROJECT)) if each.is_file())
    file = Path(named) if named else None if given["model"] else next(here, None)
    settings: Any = None if file is None else _load(file)
    if file is not None and file.name == PROJECT and (settings := _of_project(settings)) is None and named:
        raise SettingError(f"{named} must have a table [tool.fairprobe], got none")
    if file is None or settings is None:
        return {}, {}
    checked = _checked(settings, file)
    dangers = {name: danger_of(name, value, file, is_named=bool(named)) for name, value in checked.items()}
    taken = {name: danger for name, danger in dangers.items() if danger and given[name] is None}
    if taken and not given["trust_config"]:
        got = ", ".join(f"{_key(name)} ({danger})" for name, danger in taken.items())
        raise SettingError(
            f"{file} must only hold settings that run nothing, tell no secret and stay in its folder, as nobody said "
            f"to trust it; got {got}: say {' and '.join(map(flag, taken))} on the command line after the file, or "
            f"trust the file: fairprobe audit {shlex.quote(str(file))} --trust-config"
        )
    return {name: _as_option(name, value, file) for name, value in checked.items()}, taken


def _load(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except OSError as error:
        near = nearest(file.name, (each.name for each in file.parent.glob("*")))
        raise SettingError(f"a config must be a file that can be read, got {error.strerror}: {file}{near}") from None
    except ValueError as error:
        raise SettingError(f"{file} must be TOML in UTF-8, got an error: {error}") from None


def _of_project(content: Mapping[str, Any]) -> Any:
    tools = content.get("tool", {})
    return tools.get("fairprobe") if isinstance(tools, dict) else None


def _checked(settings: Any, file: Path) -> dict[str, Any]:
    """Every key known, every value of its kind."""
    if not isinstance(settings, dict):
        raise SettingError(f"{file}: [tool.fairprobe] must be a table, got {settings!r}")
    checked: dict[str, Any] = {}
    for given, value in settings.items():
        name = "model_weights" if given == "weights" else given.replace("-", "_")  # as the option may be called, too
        if name not in KINDS:
            known = sorted(map(_key, KINDS))
            raise SettingError(f"{file}: a key must be one of {', '.join(known)}; got {given!r}{nearest(given, known)}")
        if not _is_a(KINDS[name], value):
            raise SettingError(f"{file}: {_key(name)} must be {KINDS[name]}, got {value!r}")
        checked[name] = value
    return checked


def danger_of(name: str, value: Any, file: Path, *, is_named: bool = True) -> str | None:
    """The danger of a setting that only the user of the command may decide on; None if it is harmless."""
    if value and name in (*CODE, *SECRET):
        return "allows code to run" if name in CODE else "decides who is told secrets"
    if _is_path(name, value, file):
        place, folder = (Path(os.path.realpath(each)) for each in (file.parent / value, file.parent))
        return OUTSIDE if (name in CONFINED or not is_named) and not place.is_relative_to(folder) else None
    is_ours = name == "model" and value.startswith(f"{SUBJECT}:")
    return "names what is run or asked" if name in OBJECTS and not is_ours else None


def _is_path(name: str, value: Any, file: Path) -> bool:
    """Whether a setting names a file, by what will read it."""
    if name not in OBJECTS or ":" not in value:
        return name in CONFINED or name in READ
    is_scheme = name == "model" and value.partition(":")[0].lower() in SCHEMES
    return not is_scheme and os.path.exists(file.parent / value)


def _key(name: str) -> str:
    """As a file may have it; with underscores too, but then a message would take it for an option."""
    return name.replace("_", "-")


def _is_a(kind: str, value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return {
        TEXT: isinstance(value, str) and "\0" not in value,  # which no path may hold
        WHOLE: is_whole,
        NUMBER: is_number(value),
        TRUTH: isinstance(value, bool),
        TEXTS: _are_texts(value),
        SENSITIVE: _are_texts(value) or (isinstance(value, dict) and all(isinstance(v, list) for v in value.values())),
        LIMIT: is_number(value) or (isinstance(value, dict) and all(map(is_number, value.values()))),
        SCALAR: isinstance(value, (str, bool)) or is_number(value),
    }[kind]


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _as_option(name: str, value: Any, file: Path) -> Any:
    """A value as the option of that name would have it."""
    if _is_path(name, value, file):
        return str(file.parent / value)
    if name == "sensitive" and isinstance(value, dict):
        return [f"{each}={','.join(map(str, values))}" if values else each for each, values in value.items()]
    if name == "max_share":
        return [str(value)] if not isinstance(value, dict) else [f"{who}: {limit}" for who, limit in value.items()]
    return str(value) if name == "favourable" else value
