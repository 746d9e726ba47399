"""Arguments in the words of the command line: their flags, and messages of the library that mention them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fairprobe.arguments import Argument

NONE = "none"
"""What stands for None on the command line: no limit, or any seed."""

ARGUMENTS: set[str] = set()
"""The names of all arguments that have an option; each option adds its own."""

_OTHER_FLAGS = {"n_select": "--select-inputs", "n_report": "--report-inputs", "start_from": "--from"}

_MENTIONED = re.compile(r"\b(\w+)=(?:'(\w+)'|\{'(.+?)': \[\.\.\.\]\})|\b(\w+_\w+)\b")
"""An argument with its value, or a name that can't be plain English."""


def flag(argument: str) -> str:
    """The option that sets an argument of the library.

    >>> flag("max_cases"), flag("n_jobs"), flag("n_report")
    ('--max-cases', '--jobs', '--report-inputs')
    """
    return _OTHER_FLAGS.get(argument) or f"--{argument.removeprefix('n_').replace('_', '-')}"


def in_flags(said: object) -> str:
    """A message of the library, or an error, in the words of the command line.

    >>> ARGUMENTS.update(["output", "max_cases"])
    >>> in_flags("raise max_cases, or use output='label'; age_group stays")
    'raise --max-cases, or use --output label; age_group stays'
    """
    text, argument = str(said), getattr(said, "argument", None)
    if argument in ARGUMENTS:
        text = flag(argument) + text.removeprefix(argument)

    def replaced(match: re.Match[str]) -> str:
        name, value, parameter, alone = match.groups()
        if (name or alone) not in ARGUMENTS:
            return match[0]
        return flag(alone) if alone else f"{flag(name)} {value or f'{parameter}=VALUE,VALUE'}"

    return _MENTIONED.sub(replaced, text)


def help_of(argument: Argument) -> str:
    """The help of an option: the first sentence of its argument, the form of its value, and its default.

    >>> help_of(Argument("linked", "bool | None", None, "True compares linked twins, `pay` aside; None both. More."))
    '--linked compares linked twins, pay aside; neither both.'
    """
    kind, default, own = argument.kind, argument.default, flag(argument.name)
    assert kind is not None
    words = {"True": own, "False": f"--no-{own[2:]}", "None": NONE if kind.metavar else "neither"}
    told = ""
    if default is True:
        told = "Default: yes."
    elif isinstance(default, str):
        told = f"Default: {default}."
    elif isinstance(default, int | float) and default is not False:
        told = f"Default: {default:,.12g}."
    sentence = reworded(argument.sentence, words, lambda name: flag(name) if name in ARGUMENTS else name)
    return " ".join(part for part in (sentence, kind.form, told) if part)


def reworded(sentence: str, words: Mapping[str, str], called: Callable[[str], str]) -> str:
    """A sentence of a docstring for somebody who writes no Python: other words, other names of arguments.

    >>> reworded("None for all of `n_jobs`: ``{1: 2}``", {"None": "nothing"}, flag)
    'nothing for all of --jobs.'
    """
    text = re.sub(r":? ``[^`]*``,?", "", sentence)
    text = re.sub(r"\b(True|False|None)\b", lambda match: words[match[0]], text)
    text = re.sub(r"`(\w+)`", lambda match: called(match[1]), text)
    text = re.sub(r'"([^"\s]+)"', r"\1", re.sub(r"`([\w.:]+)`", r"\1", text))
    return text if text.endswith(".") else f"{text.rstrip(',:;')}."
