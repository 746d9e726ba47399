"""`fairprobe init`: a commented config of an audit, from a data file."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fairprobe.arguments import REQUIRED
from fairprobe.cli import options as o
from fairprobe.cli.audit import OPTIONS as AUDIT_OPTIONS
from fairprobe.cli.command import Request
from fairprobe.cli.config import OWN, danger_of
from fairprobe.cli.destination import Destination
from fairprobe.cli.flags import reworded
from fairprobe.cli.tables import read_frame
from fairprobe.cli.words import say
from fairprobe.errors import DataError
from fairprobe.estimation.share import ROLES

if TYPE_CHECKING:
    import pandas as pd


OPTIONS = [
    o.own("data", "ReadFile", f"a table of rows: {o.TABLE}", default=REQUIRED, is_positional=True),
    o.own("model", "ModelSource | None", "the model: module:attribute, or a file.", o.WHAT),
    o.own("label", "Column | None", "the column to predict; by default guessed by its name.", o.WHAT),
    o.own("out", "WrittenFile | None", f"where to write it; by default {OWN}.", o.RESULTS, "--out", "-o"),
    o.own("overwrite", "Flag", "overwrite a file that is there."),
]

KEYS = {option.name: option.argument for option in AUDIT_OPTIONS if option.name not in o.NOT_SETTINGS}
"""What a config may set."""

FIRST = ("model", "data", "rows_are", "label", "ignore", "sensitive", "max_share", "favourable", "out", "seed")
"""What comes first in the file: most configs set these."""

EXAMPLES = {
    "rows_are": ROLES[0],
    "label": "label",
    "ignore": ["id"],
    "sensitive": ["sex"],
    "constraint": ["`capital-gain` == 0 or `capital-loss` == 0"],
    "link": ["relationship~sex: Male=Husband, Female=Wife"],
    "mask": [],
}
"""Values of settings that have no default, to show their form."""

HINTS = {
    "data": ["Beside this file, unless the path is absolute."],
    "sensitive": ['As a table it lists the values to compare: sensitive = { sex = ["Female", "Male"] }'],
    "max_share": ['By who is worse off, with favourable: max_share = { "sex=Female" = 0.01 }'],
}
"""Forms that only a file has."""

SENSITIVE = r"sex|gender|race|ethnic\w*|religion|disab\w*|nationality|native.?country|birth.?place|colou?r|orientation"
"""Names of columns that are likely to be sensitive; what else is, people must say."""

ALSO = r"age|marital.?status|pregnan\w*"
"""Sensitive by law in places, but also what many models may use, or with many values: a comment."""

LABEL = r"label|target|class|outcome|y|income|approved|default|decision"

SEPARATE = r"(?:^|[^a-z])(?:{})(?:$|[^a-z])"


def run(request: Request) -> int:
    """Write a commented config of an audit, from a data file.

    Sensitive columns are guessed by their names, and so is the label: look at them. Then: fairprobe audit.
    """
    out = Destination.of(request["out"] or OWN, (".toml",), may_be_stdout=False, overwrite=bool(request["overwrite"]))
    assert out is not None
    rows = read_frame(request["data"])
    if request["label"] is not None and request["label"] not in rows.columns:
        raise DataError(f"--label must be one of the columns {', '.join(rows.columns)}; got {request['label']!r}")
    label = request["label"] or next(reversed(named(LABEL, rows.columns)), None)
    sensitive = [name for name in named(SENSITIVE, rows.columns) if name != label]
    out.write_text(config_text(request["data"], request["model"], rows, label, sensitive, _role(), Path(out.name)))
    say(f"{out.name} is written. Guessed by name, so look at it:")
    say(f"  sensitive: {', '.join(sensitive) or 'none found; name them yourself'}")
    say(f"  label: {label or 'none found'}")
    say(f"next: fairprobe audit {out.name}{_trust(request['model'], Path(out.name))}")
    return 0


def _trust(model: str | None, path: Path) -> str:
    """The option that a config needs to be taken whole."""
    return " --trust-config" if danger_of(KEYS["model"], _model(model, path), path) else ""


def _model(given: str | None, path: Path) -> str:
    return _from(given, path) if given and Path(given).exists() else given or "package.module:model"


def _from(name: str, path: Path) -> str:
    """A file as a config names it: from its own folder, if it is there."""
    file, folder = Path(name).resolve(), path.resolve().parent
    return (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()


def named(pattern: str, columns: Iterable[Any]) -> list[str]:
    """The columns whose name has such a word in it.

    >>> named(SENSITIVE, ["Sex", "sextant", "native-country", "applicant_race"])
    ['Sex', 'native-country', 'applicant_race']
    """
    words = re.compile(SEPARATE.format(pattern), re.IGNORECASE)
    return [str(name) for name in columns if words.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)))]


def _role() -> str | None:
    """Asked for on a terminal alone."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    answer = typer.prompt(f"The rows are to the model ({', '.join(ROLES)})", default=ROLES[-1], err=True)
    return answer if answer in ROLES else None


def config_text(
    data: str,
    model: str | None,
    rows: pd.DataFrame,
    label: str | None,
    sensitive: list[str],
    role: str | None,
    path: Path,
) -> str:
    """The file: what is known, then all other settings as comments, with their defaults or an example."""
    also = [name for name in named(ALSO, rows.columns) if name not in (*sensitive, label)]
    known: dict[str, Any] = {"model": _model(model, path), "data": _from(data, path), "max_share": 0.01, "seed": 0}
    known |= {"out": "audit", "label": label, "sensitive": sensitive, "rows_are": role}
    examples = {**EXAMPLES, "favourable": _good(rows, label)}
    lines = [
        f"# An audit by fairprobe. Run it: fairprobe audit {path.name}{_trust(model, path)}",
        "# A model that is run (module:attribute, command:PROGRAM) or asked (https://...) needs --trust-config.",
        "# Columns were guessed by their names: look at them.",
        *([f"# Maybe sensitive, too: {', '.join(also)}"] if also else []),
    ]
    for name in dict.fromkeys([*FIRST, *KEYS]):
        argument = KEYS[name]
        default = None if argument.default in (REQUIRED, ()) else argument.default
        is_known = name in known and known[name] not in (None, [])
        value = known[name] if is_known else examples.get(name, default)
        sentence = reworded(argument.sentence, {"True": "true", "False": "false", "None": "no value"}, str)
        comments = [*textwrap.wrap(sentence, 110), *HINTS.get(name, ())]
        lines += ["", *(f"# {line}" for line in comments)]
        lines.append(
            f"# {name} =" if value is None else _said(name, value, known=bool(known.get(name)) or name == "seed")
        )
    return "\n".join(lines) + "\n"


def _good(rows: pd.DataFrame, label: str | None) -> Any:
    """Some label, to show what is meant."""
    values = [] if label is None else rows[label].dropna().unique().tolist()
    return sorted(values, key=str)[-1] if values and len(values) <= 20 else "yes"


def _said(name: str, value: Any, *, known: bool = True) -> str:
    """A line; what is only an example, or the default, as a comment. TOML writes such values as JSON does."""
    text = json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007F")
    return f"{'' if known else '# '}{name} = {text}"
