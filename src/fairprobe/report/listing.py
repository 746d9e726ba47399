"""Lists of pairs as the page's script reads them: column by column, each text once, so that 10,000 cases stay small.

A list has so many entries `n`, each with a label; the `columns` of the inputs, their distinct `values` in order, and by
column the `codes` of the entries (-1: not told); by entry its `changes`, flat triples of column, value before and value
after, and its `answers`, flat pairs of who (-1: case, then twin) and what; the `measures` that it can be sorted by, and
the `groups` that it can be filtered by.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairprobe.wording import TWINS, answer, counted, shown

Entry = Mapping[str, Any]


def cases_listing(content: Mapping[str, Any]) -> dict[str, Any]:
    """The cases, each with its twin."""
    cases: Sequence[Entry] = content["cases"]
    changes = [[(name, each["case"].get(name), after) for name, after in each["twin"].items()] for each in cases]
    outputs = _Texts()
    return {
        "n": len(cases),
        "labels": [shown(each["id"]) for each in cases],
        **_columns([each["case"] for each in cases], changes),
        "answers": [
            [cell for output in each["outputs"] for cell in (-1, outputs.place(answer(output)))] for each in cases
        ],
        "who": [],
        "outputs": outputs.all,
        "notes": [_origin(each) for each in cases],
        "measures": _measures(cases),
        "groups": _groups(cases),
    }


def flips_listing(content: Mapping[str, Any]) -> dict[str, Any]:
    """The real rows that flip: what differs, and the rows themselves only if these are shown."""
    flips: Sequence[Entry] = content["rows"]["flips"]
    who, outputs, twins = _Texts(), _Texts(), _Texts()
    kinds = [[twins.place(TWINS[each["population"]])] for each in flips]
    return {
        "n": len(flips),
        "labels": [shown(each["row"]) for each in flips],
        **_columns([each.get("values") or {} for each in flips], [each["changes"] for each in flips]),
        "answers": [
            [
                cell
                for one, output in each["answers"].items()
                for cell in (who.place(shown(one)), outputs.place(answer(output)))
            ]
            for each in flips
        ],
        "who": who.all,
        "outputs": outputs.all,
        "notes": [],
        "measures": [],
        "groups": [{"name": "Compared with", "texts": twins.all, "codes": kinds}] if len(twins.all) > 1 else [],
    }


def as_script_data(data: Any) -> str:
    """JSON that stands in a script element and cannot end it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


class _Texts:
    """Texts by the place they were first given."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> list[str]:
        return list(self._places)


def _columns(rows: Sequence[Entry], changes: Sequence[Sequence[Sequence[Any]]]) -> dict[str, Any]:
    """Inputs and what changes in them, by the places of columns and of values in these."""
    found: dict[str, dict[tuple[str, Any], None]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, {})[_key(value)] = None
    for name, before, after in itertools.chain(*changes):
        found.setdefault(name, {}).update(dict.fromkeys((_key(before), _key(after))))
    ordered = {name: sorted(values, key=_order) for name, values in found.items()}
    places = {name: {key: place for place, key in enumerate(keys)} for name, keys in ordered.items()}
    columns = {name: place for place, name in enumerate(ordered)}
    return {
        "columns": [shown(name) for name in ordered],
        "values": [[shown(value) for _, value in keys] for keys in ordered.values()],
        "numeric": [all(kind == "number" for kind, value in keys if value is not None) for keys in ordered.values()],
        "codes": [
            [codes[_key(row[name])] if name in row else -1 for row in rows]
            for name, codes in places.items()
            if any(rows)
        ],
        "changes": [
            [
                cell
                for name, before, after in each
                for cell in (columns[name], places[name][_key(before)], places[name][_key(after)])
            ]
            for each in changes
        ],
    }


def _key(value: Any) -> tuple[str, Any]:
    """True is not 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return ("number" if is_number else type(value).__name__, value)


def _order(key: tuple[str, Any]) -> tuple[int, float, str]:
    kind, value = key
    if value is None:
        return (2, 0.0, "")
    return (0, value, "") if kind == "number" else (1, 0.0, str(value))


def _origin(case: Entry) -> str:
    """How a case comes from a real row."""
    if not case["origin"]:
        return ""
    row, n_changes = shown(case["origin"]["row"]), case["origin"]["n_changes"]
    return f"{counted(n_changes, 'change')} from row {row}" if n_changes else f"row {row} as it is"


def _measures(cases: Sequence[Entry]) -> list[dict[str, Any]]:
    """What cases can be sorted by; what is the same for all of them tells nothing and is left out."""
    told = {
        "Severity": [each["severity"] for each in cases],
        "Gap": [each["gap"] for each in cases],
        "Plausibility": [each["plausibility"] and min(each["plausibility"]) for each in cases],
    }
    if told["Severity"] == told["Gap"]:
        del told["Gap"]
    measures = [{"name": name, "values": each} for name, each in told.items() if len(set(each)) > 1]
    return [
        {**each, "pairs": [case["plausibility"] for case in cases]} if each["name"] == "Plausibility" else each
        for each in measures
    ]


def _groups(cases: Sequence[Entry]) -> list[dict[str, Any]]:
    """What cases can be filtered by: the sensitive parameters that part the twins, and the regions they lie in."""
    parameters = _Texts()
    parted = [[parameters.place(shown(each["parameters"]))] for each in cases]
    regions = sorted({number for each in cases for number in each["regions"]})
    inside = [[regions.index(number) for number in each["regions"]] for each in cases]
    groups = [
        {"name": "Parted by", "texts": parameters.all, "codes": parted},
        {"name": "In", "texts": [f"Region {number}" for number in regions], "codes": inside},
    ]
    return [each for each in groups if len(each["texts"]) > 1]
