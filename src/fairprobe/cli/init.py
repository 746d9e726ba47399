"""`fairprobe init`: a commented config of an audit, from a data file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairprobe.auditing.audit_settings import AuditSettings
from fairprobe.cli.command import Request
from fairprobe.cli.config import OWN, danger_of
from fairprobe.cli.data import read_frame
from fairprobe.cli.destination import Destination
from fairprobe.cli.options import TABLE, Option, option, switch
from fairprobe.cli.words import say
from fairprobe.errors import DataError
from fairprobe.estimation.share import ROLES

if TYPE_CHECKING:
    import pandas as pd


_data = typer.Argument(help=f"Rows: {TABLE}", metavar="DATA", show_default=False)

OPTIONS = [
    Option("data", Option.KEYWORD_ONLY, annotation=Annotated[str, _data]),
    option("model", "MODEL", "The model: module:attribute, or a file."),
    option("label", "COLUMN", "The column to predict. Default: guessed by its name."),
    option("out", "FILE", f"Where to write it. Default: {OWN}.", "Results", "--out", "-o"),
    switch("overwrite", "Overwrite a file that is there."),
]

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
    return " --trust-config" if danger_of("model", _model(model, path), path) else ""


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
    """The file: what is known, and all else as comments with the defaults."""
    also = [name for name in named(ALSO, rows.columns) if name not in (*sensitive, label)]
    defaults = AuditSettings()
    lines = [
        f"# An audit by fairprobe. Run it: fairprobe audit {path.name}{_trust(model, path)}",
        "",
        "# The model: a file in this folder. Or what is run: module:attribute, found from the folder that you run it",
        "# in, command:PROGRAM, or an address, https://...: to take these from here, add --trust-config.",
        _said("model", _model(model, path)),
        "# Real rows; beside this file, unless the path is absolute.",
        _said("data", _from(data, path)),
        f"# What the rows are to the model: {', '.join(ROLES)}. Only held-out rows represent other people.",
        _said("rows_are", role or ROLES[0], known=role is not None),
        "# The column to predict, which is left out of the inputs. A guess by its name.",
        _said("label", label or "label", known=label is not None),
        "# Columns that are no inputs of the model, as identifiers.",
        _said("ignore", ["id"], known=False),
        "",
        '# Guessed by name. As a table it lists the values to compare: sensitive = { sex = ["Female", "Male"] }',
        _said("sensitive", sensitive or ["sex"], known=bool(sensitive)),
        *([f"# Maybe also: {', '.join(also)}"] if also else []),
        "# What cannot be, and what changes along with a sensitive value.",
        '# constraint = ["`capital-gain` == 0 or `capital-loss` == 0"]',
        '# link = ["relationship~sex: Male=Husband, Female=Wife"]',
        "",
        "# The share of the rows allowed to change their outcome; or by who is worse off, with favourable:",
        '# max_share = { "sex=Female" = 0.01 }',
        _said("max_share", 0.01),
        "# The good outcome, to say who is worse off.",
        _said("favourable", _good(rows, label), known=False),
        "",
        "# Privacy: columns whose values appear nowhere; whether the report shows real rows.",
        _said("mask", [], known=False),
        _said("show_rows", defaults.show_rows, known=False),
        "",
        "# Effort. The same seed and settings give the same bytes.",
        *(
            _said(name, getattr(defaults, name), known=False)
            for name in ("confidence", "n_experiments", "search_cases", "max_inputs", "max_cases", "retrain")
        ),
        _said("seed", 0),
        "# Everything is kept here, with a list of all attempts on the same model and data.",
        _said("out", "audit"),
    ]
    return "\n".join(lines) + "\n"


def _good(rows: pd.DataFrame, label: str | None) -> Any:
    """Some label, to show what is meant."""
    values = [] if label is None else rows[label].dropna().unique().tolist()
    return sorted(values, key=str)[-1] if values and len(values) <= 20 else "yes"


def _said(name: str, value: Any, *, known: bool = True) -> str:
    """A line; what is only an example, or the default, as a comment. TOML writes such values as JSON does."""
    text = json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007F")
    return f"{'' if known else '# '}{name} = {text}"
