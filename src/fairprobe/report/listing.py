"""Lists of pairs for the page's script: the figures and texts that it needs, entry by entry.

A list has the `columns` of the inputs and, by entry, its label, its `rows` of values in the order of the columns (null:
not told), its `changes` (column, value before, value after), its `answers` (combination, output) and a note. It can be
sorted by its `measures` and filtered by its `groups`, which have a value or a list of texts for each entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairprobe.checks import is_number
from fairprobe.report.content import Content, changes_of
from fairprobe.wording import TWINS, answer, counted, shown

LARGEST = 2**53
"""Whole numbers of JavaScript are exact below this one."""


def cases_listing(content: Content) -> dict[str, Any]:
    """The cases, each with its twin."""
    cases = content["cases"]
    return {
        **_entries([each["id"] for each in cases], [each["case"] for each in cases], map(changes_of, cases)),
        "answers": [[["", answer(output)] for output in each["outputs"]] for each in cases],
        "notes": [_origin(each) for each in cases],
        "measures": {name: [each[name.lower()] for each in cases] for name in ("Severity", "Gap", "Plausibility")},
        "groups": {
            "Parted by": [[shown(each["parameters"])] for each in cases],
            "In": [[f"Region {number}" for number in each["regions"]] for each in cases],
        },
    }


def flips_listing(content: Content) -> dict[str, Any]:
    """The real rows that flip, with what differs; the rows themselves only if these are shown."""
    flips = content["rows"]["flips"]
    values, changes = [each.get("values", {}) for each in flips], [each["changes"] for each in flips]
    return {
        **_entries([each["row"] for each in flips], values, changes),
        "answers": [[[shown(who), answer(output)] for who, output in each["answers"].items()] for each in flips],
        "notes": [],
        "measures": {},
        "groups": {"Compared with": [[TWINS[each["population"]]] for each in flips]},
    }


def as_script_data(data: Any) -> str:
    """JSON that stands in a script element and cannot end it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _entries(
    labels: Sequence[Any], rows: Sequence[Mapping[str, Any]], changes: Iterable[Iterable[Sequence[Any]]]
) -> dict[str, Any]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        "labels": list(map(shown, labels)),
        "columns": list(map(shown, names)),
        "rows": [[_told(row[name]) if name in row else None for name in names] for row in rows],
        "changes": [[[shown(name), shown(before), shown(after)] for name, before, after in each] for each in changes],
    }


def _told(value: Any) -> Any:
    """A number as it is, so that it can be sorted; anything else as text."""
    return value if is_number(value) and abs(value) < LARGEST else shown(value)


def _origin(case: Mapping[str, Any]) -> str:
    """The row that a case comes from."""
    if not case["origin"]:
        return ""
    row, n_changes = shown(case["origin"]["row"]), case["origin"]["n_changes"]
    return f"{counted(n_changes, 'change')} from row {row}" if n_changes else f"row {row} as it is"
