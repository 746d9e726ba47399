"""Settings of an audit from a file: `fairprobe.toml`, or [tool.fairprobe] in pyproject.toml."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairprobe.checks import is_number, nearest
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
    **dict.fromkeys(("retrain", "show_rows", "linked", "selfcheck", "allow_unsafe_load"), TRUTH),
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


@dataclass(frozen=True)
class Config:
    """What a file sets, by the name that the option has."""

    settings: dict[str, Any] = field(default_factory=dict)
    dangers: dict[str, str] = field(default_factory=dict)
    """What settings do that only who runs the command may decide."""
    file: Path | None = None

    def taken(self, given: Mapping[str, Any]) -> dict[str, str]:
        """The dangers of what is not said on the command line, if these are to be trusted; else they are refused."""
        taken = {name: danger for name, danger in self.dangers.items() if given[name] is None}
        if given["trust_config"] and given["config"] is None:
            raise SettingError(f"--trust-config must stand beside the config to trust, got none named, as {OWN}")
        if not taken or given["trust_config"]:
            return taken
        got = ", ".join(f"{_key(name)} ({danger})" for name, danger in taken.items())
        raise SettingError(
            f"{self.file} must only hold settings that run nothing, tell no secret and stay in its folder, as nobody "
            f"said to trust it; got {got}: say {' and '.join(map(flag, taken))} on the command line after the file, or "
            f"trust the file: fairprobe audit {shlex.quote(str(self.file))} --trust-config"
        )


def read_config(path: str | None) -> Config:
    """What a file sets; nothing without a file.

    With no path given, `fairprobe.toml` of the current folder counts, or else its pyproject.toml.
    """
    if path is None:
        return _found_here()
    file = Path(path)
    settings: Any = _load(file)
    if file.name == PROJECT and (settings := _of_project(settings)) is None:
        raise SettingError(f"{path} must have a table [tool.fairprobe], got none")
    return _checked(settings, file, is_named=True)


def _found_here() -> Config:
    if Path(OWN).is_file():
        return _checked(_load(Path(OWN)), Path(OWN))
    if Path(PROJECT).is_file():
        settings = _of_project(_load(Path(PROJECT)))
        return Config() if settings is None else _checked(settings, Path(PROJECT))
    return Config()


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        near = nearest(file.name, (each.name for each in file.parent.glob("*")))
        raise SettingError(f"a config must be a file that can be read, got {error.strerror}: {file}{near}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{file} must be TOML in UTF-8, got an error: {error}") from None


def _of_project(content: Mapping[str, Any]) -> Any:
    tools = content.get("tool", {})
    return tools.get("fairprobe") if isinstance(tools, dict) else None


def _checked(settings: Any, file: Path, *, is_named: bool = False) -> Config:
    """Every key known, every value of its kind; as the options would give them."""
    if not isinstance(settings, dict):
        raise SettingError(f"{file}: [tool.fairprobe] must be a table, got {settings!r}")
    checked: dict[str, Any] = {}
    dangers: dict[str, str] = {}
    for given, value in settings.items():
        name = "model_weights" if given == "weights" else given.replace("-", "_")  # as the option may be called, too
        if name not in KINDS:
            known = sorted(map(_key, KINDS))
            raise SettingError(f"{file}: a key must be one of {', '.join(known)}; got {given!r}{nearest(given, known)}")
        if not _is_a(KINDS[name], value):
            raise SettingError(f"{file}: {_key(name)} must be {KINDS[name]}, got {value!r}")
        checked[name] = _as_option(name, value, file)
        if danger := danger_of(name, value, file, is_named=is_named):
            dangers[name] = danger
    return Config(checked, dangers, file)


def danger_of(name: str, value: Any, file: Path, *, is_named: bool = True) -> str | None:
    """What a setting of a file does that only who runs the command may decide; None if it is harmless."""
    if value and name in (*CODE, *SECRET):
        return "allows code to run" if name in CODE else "decides who is told secrets"
    if _is_path(name, value, file):
        is_confined = name in CONFINED or not is_named
        return OUTSIDE if is_confined and not _is_within(file.parent / value, file.parent) else None
    is_ours = name == "model" and value.startswith(f"{SUBJECT}:")
    return "names what is run or asked" if name in OBJECTS and not is_ours else None


def _is_path(name: str, value: Any, file: Path) -> bool:
    """Whether a setting names a file, by what will read it."""
    if name not in OBJECTS or ":" not in value:
        return name in CONFINED or name in READ
    is_scheme = name == "model" and value.partition(":")[0].lower() in SCHEMES
    return not is_scheme and os.path.exists(file.parent / value)


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name that can be none, links that go round
        return False


def _key(name: str) -> str:
    """As a file may have it; with underscores too, but then a message would take it for an option."""
    return name.replace("_", "-")


def _is_a(kind: str, value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return {
        TEXT: isinstance(value, str),
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
