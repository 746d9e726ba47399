"""Reads the arguments of public functions from their signatures and from the `Args:` sections of their docstrings.

Command-line options and the keys of a configuration file are derived from these arguments, with help and defaults.
The names below (`Outcome`, `WrittenFolder` and so on) are annotations for arguments whose plain type says too little.
They say how a text stands for the value, and which harm a configuration file from a stranger could do with it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from fairprobe.checks import nearest
from fairprobe.errors import SettingError

P = ParamSpec("P")
R = TypeVar("R")

Column = Any
"""The name of a column of the data, or its values by row."""
Outcome = Any
"""An outcome of the model: a label or a class that it gives; for numbers, "highest" or "lowest"."""
Flag = bool
"""A truth value that is False by default. Its command-line option is a switch without a `--no-` form."""
ReadFile = str | PathLike[str]
"""Path of a file or a folder that is read."""
DataFile = str
"""Path of a file with a table of rows, such as a CSV file."""
SensitiveNames = Sequence[str]
"""Names of sensitive parameters, optionally each with the values to compare."""
WrittenFile = str | PathLike[str]
"""Path of a file that is written."""
WrittenFolder = str | PathLike[str]
"""Path of a folder in which files are written."""
ModelSource = str
"""Location of a model: a file, an address, a program, or an object in Python."""
DomainSource = str
"""Location of a domain: a file, or an object in Python."""
TrustedTypes = Iterable[str]
"""Names of Python types that loading a model file may create. Creating an object runs code of its type."""
AllowsCode = bool
"""A truth value; True allows loading a model to run the code in its file."""
SecretHeaders = Mapping[str, str]
"""Names of request headers, each with the environment variable that holds its value."""
JsonText = str
"""A text that is JSON."""
TrustedFile = str
"""Path of a file of certificates that are trusted: they decide which servers may receive secrets."""


class Danger(StrEnum):
    """The harm that an argument could do if a stranger chose its value."""

    RUNS_CODE = "allows code to run"
    TELLS_SECRETS = "decides who is told secrets"
    SENDS = "decides what a service is sent"
    NAMES_OBJECT = "names what is run or asked"
    WRITES = "is written to"
    READS = "is read"


@dataclass(frozen=True)
class Kind:
    """The type of an argument's value: the rule for it in a configuration file, and its form on the command line."""

    rule: str
    """Rule that a value in a configuration file must satisfy, in words."""
    metavar: str | None = None
    """Placeholder for the value in the help of an option; None for a switch."""
    form: str = ""
    """Sentence for the help of an option on how to write the value; empty if the placeholder is enough."""
    is_list: bool = False
    """True if an option may be given several times."""
    danger: Danger | None = None
    """Harm that the value could do if a stranger chose it; None if it can do no harm."""


AGAIN = "Give it again for more."
TEXT, WHOLE, NUMBER, TRUTH, TEXTS = "a text", "a whole number", "a number", "true or false", "a list of texts"
SCALAR = "a text, a number, true or false"
LIMIT = "a number, or a table of numbers by who is worse off"
NAMES = "a table of names by value, for each column"
SENSITIVE = "a list of names, or a table of the values to compare by name"

KINDS: dict[str, Kind | None] = {
    "Progress": None,
    "Mapping[str, float]": Kind(LIMIT, "LIMIT", 'As 0.01; or by who is worse off, as "sex=Female: 0.01".', True),
    "SensitiveNames": Kind(
        SENSITIVE, "NAME", "As sex,race. To compare only some values: age=25,45,65, in an option of its own.", True
    ),
    "AllowsCode": Kind(TRUTH, danger=Danger.RUNS_CODE),
    "TrustedTypes": Kind(TEXTS, "TYPE", AGAIN, True, Danger.RUNS_CODE),
    "SecretHeaders": Kind(TEXTS, "HEADER=VARIABLE", AGAIN, True, Danger.TELLS_SECRETS),
    "JsonText": Kind(TEXT, "JSON", danger=Danger.SENDS),
    "TrustedFile": Kind(TEXT, "FILE", danger=Danger.TELLS_SECRETS),
    "ModelSource": Kind(TEXT, "MODEL", danger=Danger.NAMES_OBJECT),
    "DomainSource": Kind(TEXT, "FILE", danger=Danger.NAMES_OBJECT),
    "ReadFile": Kind(TEXT, "FILE", danger=Danger.READS),
    "DataFile": Kind(TEXT, "FILE", danger=Danger.READS),
    "WrittenFile": Kind(TEXT, "FILE", danger=Danger.WRITES),
    "WrittenFolder": Kind(TEXT, "FOLDER", danger=Danger.WRITES),
    "Mapping[str, Mapping[Any, str]]": Kind(NAMES, "COLUMN:VALUE=NAME", f'As "sex:0=women". {AGAIN}', True),
    "Mapping[str, str]": Kind(TEXTS, "NAME=VALUE", AGAIN, True),
    "Flag": Kind(TRUTH),
    "bool": Kind(TRUTH),
    "int": Kind(WHOLE, "N"),
    "float": Kind(NUMBER, "NUMBER"),
    "Outcome": Kind(SCALAR, "OUTCOME"),
    "Column": Kind(TEXT, "COLUMN"),
    "Sequence[Column]": Kind(TEXTS, "COLUMN", "Give it again for more, or put commas between them.", True),
    "str": Kind(TEXT, "NAME"),
    "Sequence[str]": Kind(TEXTS, "NAME", AGAIN, True),
}
"""Kind of an argument's value, by an alternative of its annotation, such as "int" in "int | None".

The first key that matches applies. None means that no text can express the value."""

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """One argument of a public function, as its signature and docstring declare it."""

    name: str
    annotation: str
    default: Any
    """Default value; `REQUIRED` if there is none."""
    help: str
    """Description of the argument in the docstring, on one line."""
    old_names: tuple[str, ...] = ()
    """Other names that are accepted: those of earlier versions, and the declared name after `named`."""

    @property
    def kind(self) -> Kind | None:
        """The kind of the argument's value; None if no text can express the value."""
        types = list(_alternatives(self.annotation))
        return next((kind for name, kind in KINDS.items() if name in types), None)

    @property
    def may_be_none(self) -> bool:
        """True if the annotation of the argument allows None."""
        return "None" in _alternatives(self.annotation)

    @property
    def sentence(self) -> str:
        """The first sentence of the argument's help, beginning with a capital letter."""
        first = re.split(r"(?<=\.)\s+(?=[A-Z`])", self.help, maxsplit=1)[0]
        return first[:1].upper() + first[1:]

    @property
    def choices(self) -> list[str]:
        """The values that the help names: every single word that stands in double quotes there, in order."""
        return list(dict.fromkeys(re.findall(r'"([\w-]+)"', self.help)))

    def named(self, name: str) -> Argument:
        """Return a copy of the argument with another name; the present name is added to the old names.

        It serves a command that takes options from two functions which use one name for two things.
        """
        return self if name == self.name else replace(self, name=name, old_names=(*self.old_names, self.name))


@functools.cache
def arguments_of(function: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments of a function or of a class's constructor, in order: a dict from name to `Argument`.

    >>> def search(model, *, max_cases: int | None = 10_000):
    ...     '''Search.
    ...
    ...     Args:
    ...         max_cases: stop after this many cases. None is no limit.
    ...     '''
    >>> argument = arguments_of(search)["max_cases"]
    >>> argument.sentence, argument.default, argument.kind.rule, argument.may_be_none
    ('Stop after this many cases.', 10000, 'a whole number', True)
    """
    help_of = dict(_described(inspect.getdoc(function) or ""))
    old: Mapping[str, str] = vars(function).get("old_names", {}) if callable(function) else {}
    return {
        name: Argument(
            name,
            "" if parameter.annotation is REQUIRED else str(parameter.annotation),
            parameter.default,
            help_of.get(name, ""),
            tuple(before for before, now in old.items() if now == name),
        )
        for name, parameter in inspect.signature(function).parameters.items()
    }


def filled(function: Callable[..., Any], given: Mapping[str, Any], but: Iterable[str] = ()) -> dict[str, Any]:
    """Return keyword arguments for a function: the given values, and the defaults of all other arguments.

    Arguments in `but` and arguments without a default are left out. A given name raises a TypeError if the function
    has no such argument or if it is in `but`; a name of an earlier version is accepted.
    """
    arguments = arguments_of(function)
    old = {before: argument.name for argument in arguments.values() for before in argument.old_names}
    todays = renamed(given, old)
    known = [name for name in arguments if name not in set(but)]
    for name in todays:
        if name not in known:
            raise TypeError(_unexpected(function, name, known))
    return {name: arguments[name].default for name in known if arguments[name].default is not REQUIRED} | todays


def done_by(work: Callable[..., R], **old: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function that only declares arguments; a call of it calls `work` with all of them.

    The decorated function is a signature and a docstring; its body never runs. `old` maps the names that keyword
    arguments had in earlier versions to the present ones. Old names, and options with these names, are still accepted.

    >>> def _search(**arguments):
    ...     return arguments
    >>> @done_by(_search, max_inputs="max_judged")
    ... def search(model, *, max_judged=None, seed=0):
    ...     raise NotImplementedError
    >>> search("tree", max_inputs=5), list(arguments_of(search))
    ({'model': 'tree', 'max_judged': 5, 'seed': 0}, ['model', 'max_judged', 'seed'])
    """

    def decorate(declaration: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(declaration)

        @functools.wraps(declaration)
        def call(*arguments: P.args, **given: P.kwargs) -> R:
            unknown = next((name for name in renamed(given, old) if name not in signature.parameters), None)
            if unknown is not None:
                raise TypeError(_unexpected(declaration, unknown, signature.parameters))
            try:
                bound = signature.bind(*arguments, **renamed(given, old))
            except TypeError as error:
                raise TypeError(f"{declaration.__name__}() {error}") from None
            bound.apply_defaults()
            return work(**bound.arguments)

        vars(call)["old_names"] = old
        return call

    return decorate


def _unexpected(function: Callable[..., Any], name: str, known: Iterable[str]) -> str:
    """Return the message that a function does not take an argument, with the known name that is most like it."""
    return f"{function.__name__}() got an unexpected keyword argument {name!r}{nearest(name, known)}"


def old_name(today: str) -> Any:
    """Return a property that reads the attribute `today`, for a class that keeps an attribute's old name.

    >>> class Found:
    ...     n_distinct, n_inputs = 5, old_name("n_distinct")
    >>> Found().n_inputs
    5
    """
    return property(operator.attrgetter(today))


def renamed(given: Mapping[str, Any], old: Mapping[str, str]) -> dict[str, Any]:
    """Return keyword arguments with old names replaced by present ones; `old` maps old names to present ones.

    An old name and its present name at once raise a SettingError.
    """
    for before, now in old.items():
        if before in given and now in given:
            raise SettingError.about(now, f"is the new name of {before}, got both")
    return {old.get(name, name): value for name, value in given.items()}


def _alternatives(annotation: str) -> list[str]:
    """Return the alternatives of an annotation: its parts between the bars that stand outside brackets.

    >>> _alternatives("str | Mapping[str, int | None] | None")
    ['str', 'Mapping[str, int | None]', 'None']
    """
    return re.split(r" *\| *(?![^\[]*\])", annotation)


def _described(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the description, on one line, of each argument that a docstring describes."""
    entry = re.compile(r"^    (\w+)(?: \([^)]*\))?: (.*(?:\n {5,}.*)*)", re.MULTILINE)
    for match in entry.finditer(docstring):
        yield match[1], " ".join(match[2].split())
