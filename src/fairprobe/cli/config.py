"""Reads the settings of an audit from a config file: `fairprobe.toml`, or [tool.fairprobe] in pyproject.toml.

A key is the name of an option. The argument of the option declares the allowed values and their possible harm.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fairprobe import arguments
from fairprobe.arguments import Argument, Danger
from fairprobe.checks import is_number, nearest, read_toml
from fairprobe.cli.options import NOT_SETTINGS
from fairprobe.cli.words import flag
from fairprobe.errors import InputError, SettingError
from fairprobe.model.sources.load import SCHEMES, SUBJECT

OWN = "fairprobe.toml"
PROJECT = "pyproject.toml"

OUTSIDE = "lies outside of its folder"

Keys = Mapping[str, Argument]
"""The arguments that a config file may set, by the name of their option."""


class Config:
    """The settings of an audit in a config file, after a check of every key, value and possible harm.

    The options may name the file. Otherwise, unless they name a model, it is `fairprobe.toml` of the current folder, or
    else its pyproject.toml. Settings that run code, tell secrets or lead out of the file's folder are refused unless
    the options repeat them or trust the file.
    """

    def __init__(self, given: Mapping[str, Any], options: Iterable[Argument]) -> None:
        self.keys: Keys = {each.name: each for each in options if each.name not in NOT_SETTINGS}
        self.file = _found(given["config"], given["model"], is_trusted=bool(given["trust_config"]))
        content = {} if self.file is None else _content(self.file, is_named=bool(given["config"]))
        checked = {name: value for name, value in self._checked(content).items() if given[name] is None}
        self.settings: dict[str, Any] = {}
        """Values of the file that no option overrides, by name of the option, as if they were given by options."""
        self.dangers: dict[str, str] = {}
        """Words on the possible harm of each setting that is not harmless, by name of the option."""
        for name, value in checked.items():
            assert self.file is not None
            danger = danger_of(self.keys[name], value, self.file, is_named=bool(given["config"]))
            self.dangers |= {} if danger is None else {name: danger}
            self.settings[name] = _as_option(self.keys[name], value, self.file)
        if self.dangers and not given["trust_config"]:
            got = ", ".join(f"{key_of(name)} ({danger})" for name, danger in self.dangers.items())
            raise SettingError(
                f"{self.file} must only hold settings that run nothing, tell no secret and stay in its folder, unless "
                f"you trust it; got {got}: say {' and '.join(map(flag, self.dangers))} on the command line after the "
                f"file, or trust the file: fairprobe audit {shlex.quote(str(self.file))} --trust-config"
            )

    def _checked(self, settings: Any) -> dict[str, Any]:
        """Return the values of a config file by name of the option; an unknown key or a wrong value is refused."""
        if not isinstance(settings, dict):
            raise SettingError(f"{self.file}: [tool.fairprobe] must be a table, got {settings!r}")
        checked: dict[str, Any] = {}
        old = {before: each.name for each in self.keys.values() for before in each.old_names}
        for given, value in settings.items():
            name = given.replace("-", "_")
            name = old.get(name, name)
            if name not in self.keys:
                known = sorted(map(key_of, self.keys))
                near = nearest(given, known)
                raise SettingError(f"{self.file}: a key must be one of {', '.join(known)}; got {given!r}{near}")
            kind = self.keys[name].kind
            if kind is None or not RULES[kind.rule](value):
                raise SettingError(f"{self.file}: {key_of(name)} must be {kind and kind.rule}, got {value!r}")
            checked[name] = value
        return checked

    def in_keys(self, error: InputError) -> InputError:
        """Return an error with the file and the key in place of an argument that the file sets; others unchanged."""
        name = error.argument
        return error.calling(name, f"{self.file}: {key_of(name)}") if name in self.settings and name else error


def _found(named: str | None, model: str | None, *, is_trusted: bool) -> Path | None:
    """Return the path of the config file to use; None if there is none.

    It is the `named` file. If neither a file nor a `model` is named, it is a config in the current folder.
    """
    if is_trusted and named is None:
        raise SettingError(f"--trust-config must stand beside the config to trust, got none named, as {OWN}")
    if named is not None or model is not None:
        return None if named is None else Path(named)
    return next((each for each in (Path(OWN), Path(PROJECT)) if each.is_file()), None)


def _content(file: Path, *, is_named: bool) -> Any:
    """Return the settings of fairprobe in a TOML file; for pyproject.toml, its table [tool.fairprobe]."""
    try:
        settings = read_toml(file)
    except OSError as error:
        near = nearest(file.name, (each.name for each in file.parent.glob("*")))
        raise SettingError(f"a config must be a file that can be read, got {error.strerror}: {file}{near}") from None
    except ValueError as error:
        raise SettingError(f"{file} must be TOML in UTF-8, got an error: {error}") from None
    if file.name != PROJECT:
        return settings
    tools = settings.get("tool")
    found = tools.get("fairprobe") if isinstance(tools, dict) else None
    if is_named and found is None:
        raise SettingError(f"{file} must have a table [tool.fairprobe], got none")
    return {} if found is None else found


def danger_of(argument: Argument, value: Any, file: Path, *, is_named: bool = True) -> str | None:
    """Return words on the harm that a value in a config file could do; None if it is harmless.

    Only the user of the command may accept such a value. `is_named` is True if the user named the file.
    """
    danger = None if argument.kind is None else argument.kind.danger
    if danger in (Danger.RUNS_CODE, Danger.TELLS_SECRETS, Danger.SENDS) and value:
        return danger.value
    if danger is None or not value:
        return None
    if danger is Danger.NAMES_OBJECT and not _is_file(argument, value, file):
        is_ours = argument.annotation.startswith("ModelSource") and value.startswith(f"{SUBJECT}:")
        return None if is_ours else danger.value
    # A config that was found may name nothing elsewhere; one that the user named may name what is only read.
    is_confined = not is_named or danger is Danger.WRITES or argument.annotation.startswith("ModelSource")
    place, folder = (Path(os.path.realpath(each)) for each in (file.parent / value, file.parent))
    return OUTSIDE if is_confined and not place.is_relative_to(folder) else None


def _is_file(argument: Argument, value: str, file: Path) -> bool:
    """Return True if the value of `model` or `domain` in a config file is the path of a file.

    Any value without a colon gives True, whether or not such a file exists. False means an address, a program or an
    object in Python. The loader decides in the same way.
    """
    if ":" not in value:
        return True
    is_scheme = argument.annotation.startswith("ModelSource") and value.partition(":")[0].lower() in SCHEMES
    return not is_scheme and os.path.exists(file.parent / value)


def key_of(name: str) -> str:
    """Return the key that sets an option in a config file, with hyphens, as "max-share" for `max_share`.

    A file may also write underscores. Messages use hyphens, because a name with underscores would become a flag.
    """
    return name.replace("_", "-")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value  # which no path may hold


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


RULES: dict[str, Callable[[Any], bool]] = {
    arguments.TEXT: _is_text,
    arguments.TEXTS: _are_texts,
    arguments.WHOLE: lambda value: isinstance(value, int) and not isinstance(value, bool),
    arguments.NUMBER: is_number,
    arguments.TRUTH: lambda value: isinstance(value, bool),
    arguments.SCALAR: lambda value: isinstance(value, str | bool) or is_number(value),
    arguments.LIMIT: lambda value: (
        is_number(value) or (isinstance(value, dict) and all(map(is_number, value.values())))
    ),
    arguments.NAMES: lambda value: (
        isinstance(value, dict)
        and all(isinstance(each, dict) and _are_texts([*each.values()]) for each in value.values())
    ),
    arguments.SENSITIVE: lambda value: (
        _are_texts(value) or (isinstance(value, dict) and all(isinstance(each, list) for each in value.values()))
    ),
}
"""Function that returns True if a value of a config file satisfies a rule, by the words of the rule."""


def _as_option(argument: Argument, value: Any, file: Path) -> Any:
    """Return a value of a config file as the option for the argument would give it.

    Paths become relative to the current folder instead of the folder of the config file.
    """
    kind = argument.kind
    assert kind is not None
    if kind.danger is Danger.NAMES_OBJECT and not _is_file(argument, value, file):
        return value
    if kind.metavar in ("FILE", "FOLDER", "MODEL"):
        return str(file.parent / value)
    if kind.rule == arguments.SENSITIVE and isinstance(value, dict):
        return [f"{each}={','.join(map(str, values))}" if values else each for each, values in value.items()]
    if kind.rule == arguments.LIMIT:
        return [f"{who}: {limit}" for who, limit in value.items()] if isinstance(value, dict) else [str(value)]
    if kind.rule == arguments.NAMES:
        return [f"{column}:{each}={name}" for column, names in value.items() for each, name in names.items()]
    return str(value) if kind.rule == arguments.SCALAR else value
