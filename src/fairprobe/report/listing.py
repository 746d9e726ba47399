"""Lists of pairs as the page's script reads them: column by column, each text once, so that 10,000 cases stay small.

A list has `n` entries, each with a label, the `columns` of the inputs, and the texts of their distinct `values` in
order. By column it has the `codes` of the entries (-1: not told). By entry it has the `changes`, flat triples of
column, value before and value after, and the `answers`, flat pairs of a combination (-1: none) and an output. It can be
sorted by its `measures` and filtered by its `groups`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairprobe.checks import is_number
from fairprobe.report.content import changes_of
from fairprobe.wording import TWINS, answer, counted, shown

Entry = Mapping[str, Any]
Changes = Sequence[Sequence[Any]]


def cases_listing(content: Mapping[str, Any]) -> dict[str, Any]:
    """The cases, each with its twin."""
    cases: Sequence[Entry] = content["cases"]
    return {
        "labels": [shown(each["id"]) for each in cases],
        **_columns([each["case"] for each in cases], [changes_of(each) for each in cases]),
        **_answers([[("", output) for output in each["outputs"]] for each in cases]),
        "notes": [_origin(each) for each in cases],
        "measures": _measures(cases),
        "groups": [
            *_group("Parted by", [[shown(each["parameters"])] for each in cases]),
            *_group("In", [[f"Region {number}" for number in each["regions"]] for each in cases]),
        ],
    }


def flips_listing(content: Mapping[str, Any]) -> dict[str, Any]:
    """The real rows that flip, with what differs; the rows themselves only if these are shown."""
    flips: Sequence[Entry] = content["rows"]["flips"]
    return {
        "labels": [shown(each["row"]) for each in flips],
        **_columns([each.get("values") or {} for each in flips], [each["changes"] for each in flips]),
        **_answers([each["answers"].items() for each in flips]),
        "notes": [],
        "measures": [],
        "groups": _group("Compared with", [[TWINS[each["population"]]] for each in flips]),
    }


def as_script_data(data: Any) -> str:
    """JSON that stands in a script element and cannot end it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _columns(rows: Sequence[Entry], changes: Sequence[Changes]) -> dict[str, Any]:
    """Inputs and what changes in them, by the places of columns and of values in these."""
    found: dict[str, dict[str, Any]] = {}
    pairs = [pair for row in rows for pair in row.items()]
    pairs += [(name, value) for each in changes for name, *both in each for value in both]
    for name, value in pairs:
        found.setdefault(name, {})[shown(value)] = value
    ordered = {
        name: [text for text, _ in sorted(values.items(), key=lambda item: _order(item[1]))]
        for name, values in found.items()
    }
    places = {name: {text: place for place, text in enumerate(texts)} for name, texts in ordered.items()}
    numbers = {name: place for place, name in enumerate(ordered)}
    return {
        "n": len(rows),
        "columns": [shown(name) for name in ordered],
        "values": list(ordered.values()),
        "numeric": [all(is_number(each) for each in found[name].values() if each is not None) for name in ordered],
        "codes": [
            [codes[shown(row[name])] if name in row else -1 for row in rows]
            for name, codes in places.items()
            if any(rows)
        ],
        "changes": [
            [
                place
                for name, before, after in each
                for place in (numbers[name], places[name][shown(before)], places[name][shown(after)])
            ]
            for each in changes
        ],
    }


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by their size, then texts; a missing value comes last."""
    if value is None:
        return (2, 0.0, "")
    return (0, value, "") if is_number(value) else (1, 0.0, str(value))


def _answers(answers: Sequence[Iterable[tuple[str, Any]]]) -> dict[str, Any]:
    """Outputs by entry, each with the combination that gets it, by their places in lists of texts."""
    who: dict[str, int] = {}
    outputs: dict[str, int] = {}
    codes = [
        [
            place
            for one, output in each
            for place in (
                who.setdefault(shown(one), len(who)) if one else -1,
                outputs.setdefault(answer(output), len(outputs)),
            )
        ]
        for each in answers
    ]
    return {"answers": codes, "who": list(who), "outputs": list(outputs)}


def _origin(case: Entry) -> str:
    """The row that a case comes from."""
    if not case["origin"]:
        return ""
    row, n_changes = shown(case["origin"]["row"]), case["origin"]["n_changes"]
    return f"{counted(n_changes, 'change')} from row {row}" if n_changes else f"row {row} as it is"


def _measures(cases: Sequence[Entry]) -> list[dict[str, Any]]:
    """Figures that cases can be sorted by; a figure that all of them share is left out."""
    pairs = [each["plausibility"] for each in cases]
    told = {name: [each[name.lower()] for each in cases] for name in ("Severity", "Gap")}
    told["Plausibility"] = [pair and min(pair) for pair in pairs]
    if told["Severity"] == told["Gap"]:
        del told["Gap"]
    measures = [{"name": name, "values": values} for name, values in told.items() if len(set(values)) > 1]
    return [{**each, "pairs": pairs} if each["name"] == "Plausibility" else each for each in measures]


def _group(name: str, texts: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """A filter by texts, in order of their lengths, so that region 10 follows region 9; none if all have the same."""
    known = sorted({text for each in texts for text in each}, key=lambda text: (len(text), text))
    codes = [[known.index(text) for text in each] for each in texts]
    return [{"name": name, "texts": known, "codes": codes}] if len(known) > 1 else []
