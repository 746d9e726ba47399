"""The command `fairprobe init`: writes a commented config file for an audit of the rows in a data file."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import REQUIRED, Column, DataFile, Flag, ModelSource, WrittenFile
from fairprobe.blocks import Code, Items, Section, Sentence
from fairprobe.checks import checked_choice
from fairprobe.cli import options as o
from fairprobe.cli.audit import OPTIONS as AUDIT_OPTIONS
from fairprobe.cli.config import OWN, danger_of
from fairprobe.cli.files import Destination, read_frame
from fairprobe.cli.words import reworded, say_blocks
from fairprobe.domain.health import LABELS, LABELS_OF_TWO, MOST_LABELS
from fairprobe.estimation.share import ROLES

if TYPE_CHECKING:
    import pandas as pd


KEYS = {option.name: option.argument for option in AUDIT_OPTIONS if option.name not in o.NOT_SETTINGS}
"""Arguments that a config file may set, by name of the option."""

FIRST = ("model", "data", "rows_are", "label", "ignore", "sensitive", "max_share", "favourable", "out", "seed")
"""Names of the settings at the start of the config file, which most configs set."""

EXAMPLES = {
    "rows_are": ROLES[0],
    "label": "label",
    "ignore": ["id"],
    "sensitive": ["sex"],
    "constraint": ["`capital-gain` == 0 or `capital-loss` == 0"],
    "link": ["relationship~sex: Male=Husband, Female=Wife"],
    "mask": [],
}
"""Example value of each setting without a default, which shows its form in a comment."""

HINTS = {
    "data": ["Beside this file, unless the path is absolute."],
    "sensitive": ['As a table it lists the values to compare: sensitive = { sex = ["Female", "Male"] }'],
    "max_share": ['By who is worse off, with favourable: max_share = { "sex=Female" = 0.01 }'],
}
"""Lines of comment for settings whose values have a form that only a config file has, by name of the setting."""

SENSITIVE = r"sex|gender|race|ethnic\w*|religion|disab\w*|nationality|native.?country|birth.?place|colou?r|orientation"
"""Pattern of words in names of columns that are probably sensitive. The user must add any other sensitive column."""

ALSO = r"age|marital.?status|pregnan\w*|foreign\w*|citizen\w*"
"""Pattern of words in names of columns that are mentioned only in a comment.

They are sensitive by law in places, but often permitted or with many values."""


TO_SAY = {
    "model": "a file of it, module:attribute or an address",
    "sensitive": "the columns that must not change the outcome; no column has a name that tells",
    "label": "the column to predict, if the table has one: else the audit takes it for an input of the model",
    "rows_are": "held-out if the model was not fitted to these rows, else training",
}
"""Advice for each setting that `init` could not guess, by the setting's name."""


def run(
    data: DataFile,
    model: ModelSource | None = None,
    label: Column | None = None,
    out: WrittenFile | None = None,
    overwrite: Flag = False,
) -> int:
    """Write a commented config of an audit, from a data file.

    Sensitive columns are guessed by their names, the label by its name, place and number of values: look at them. What
    could not be guessed is listed.

    Args:
        data: a table of rows: .csv, .csv.gz (UTF-8, commas, a header) or .parquet.
        model: the model: module:attribute, or a file.
        label: the column to predict; by default guessed.
        out: the config file to write; by default fairprobe.toml.
        overwrite: overwrite the file if it exists.
    """
    name = str(out or OWN)
    target = Destination.of(name, (".toml",), "--out", overwrite=overwrite)
    rows = read_frame(data)
    if label is not None:
        checked_choice("label", label, rows.columns)
    label, why = (label, "as you said") if label else guessed_label(rows)
    sensitive = [column for column in named(SENSITIVE, rows.columns) if column != label]
    known = {
        "model": place(model, name) if model and Path(model).exists() else model or "package.module:model",
        "data": place(data, name),
        "max_share": 0.01,
        "seed": 0,
        "out": "audit",
        "label": label,
        "sensitive": sensitive,
    }
    trust = " --trust-config" if danger_of(KEYS["model"], known["model"], Path(name)) else ""
    target.write_text(config_text(known, rows, f"fairprobe audit {Path(name).name}{trust}"))
    guessed = [f"sensitive: {', '.join(sensitive)}, by name"] if sensitive else []
    guessed += [f"label: {label}, {why}"] if label else []
    said = {"model": model, "sensitive": sensitive, "label": label}
    todo = [f"{name}: {text}" for name, text in TO_SAY.items() if not said.get(name)]
    looked_at = f"Look at what was guessed: {'; '.join(guessed)}." if guessed else "No column was guessed."
    say_blocks(
        [
            Sentence(f"{name} is written. {looked_at}"),
            Section("Not guessed, so say it in the file", (Items(tuple(todo)),)),
            Code(f"fairprobe audit {name}{trust}", "Then"),
        ]
    )
    return 0


OPTIONS = o.options_of(run, panel=o.WHAT, positional=("data",))


def guessed_label(rows: pd.DataFrame) -> tuple[str | None, str]:
    """Return the column that seems to be the label, and the reason in words; None if no column does.

    It is the last column with the name of a label and few values, else the last column of the table if it has two
    values and no sensitive name.
    """
    n_values = {str(name): rows[name].nunique() for name in rows.columns}
    for name in reversed(named(f"{LABELS}|{LABELS_OF_TWO}", n_values)):
        if 2 <= n_values[name] <= MOST_LABELS:
            return name, f"by its name and its {n_values[name]} values"
    last = next(reversed(n_values))
    is_input = n_values[last] != 2 or named(f"{SENSITIVE}|{ALSO}", [last])
    return (None, "") if is_input else (last, "as it is the last column and has 2 values")


def place(name: str, config: str) -> str:
    """Return the path of a file for a config: relative to the config's folder if it lies inside, else absolute."""
    file, folder = Path(name).resolve(), Path(config).resolve().parent
    return (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()


def named(pattern: str, columns: Iterable[Any]) -> list[str]:
    """Return the names of the columns that contain a word which matches the pattern, in any case.

    >>> named(SENSITIVE, ["Sex", "sextant", "native-country", "applicant_race"])
    ['Sex', 'native-country', 'applicant_race']
    """
    words = re.compile(rf"(?:^|[^a-z])(?:{pattern})(?:$|[^a-z])", re.IGNORECASE)
    return [str(name) for name in columns if words.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)))]


def config_text(known: dict[str, Any], rows: pd.DataFrame, command: str) -> str:
    """Return the text of a config file: known settings, and all others as comments with a default or an example.

    `known` are values by name of the setting, `rows` the data, and `command` the command line that runs the audit.
    """
    label = known["label"]
    also = [name for name in named(ALSO, rows.columns) if name not in (*known["sensitive"], label)]
    labels = [] if label is None else sorted(rows[label].dropna().unique().tolist(), key=str)
    examples = {**EXAMPLES, "favourable": labels[-1] if 0 < len(labels) <= MOST_LABELS else "yes"}
    lines = [
        f"# An audit by fairprobe. Run it: {command}",
        "# A model that is run (module:attribute, command:PROGRAM) or asked (https://...) needs --trust-config.",
        "# Columns were guessed by their names and values: look at them.",
        *([f"# Maybe sensitive, too: {', '.join(also)}"] if also else []),
    ]
    for name in dict.fromkeys([*FIRST, *KEYS]):
        argument = KEYS[name]
        is_known = known.get(name) not in (None, [])
        default = None if argument.default in (REQUIRED, ()) else argument.default
        value = known[name] if is_known else examples.get(name, default)
        sentence = reworded(argument.sentence, {"True": "true", "False": "false", "None": "no value"}, str)
        lines += ["", *(f"# {line}" for line in (*textwrap.wrap(sentence, 110), *HINTS.get(name, ())))]
        # TOML writes such values as JSON does.
        text = "" if value is None else f" {json.dumps(value, ensure_ascii=False, default=str)}"
        lines.append(f"{'' if is_known else '# '}{name} ={text}".replace("\x7f", "\\u007F"))
    return "\n".join(lines) + "\n"
