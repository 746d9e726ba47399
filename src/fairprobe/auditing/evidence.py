"""The shares, rows and cases of an audit as plain values, with the answers that the checker counts again."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.auditing.gating import id_of
from fairprobe.auditing.privacy import Mask
from fairprobe.auditing.state import AuditState
from fairprobe.domain.values import are_same
from fairprobe.estimation import Share
from fairprobe.estimation.drawing import has_history
from fairprobe.searching import Found

MOST_POINTS = 200
"""Points of a running mean; chosen, as a drawing shows no more."""

FIELDS = (
    *("population", "sensitive", "hits", "n", "value", "low", "high", "lower", "upper", "confidence", "method"),
    *("n_not_comparable", "n_left_out", "weight_compared", "n_queries", "seed", "threshold", "resolution", "design"),
    *("worse_off", "detail", "health"),
)
"""The figures of a share that the content has as they are."""


def every_share(run: AuditState) -> Iterator[tuple[Share, bool]]:
    """All shares, each with a flag for those of all sensitive parameters together."""
    for shares in run.sets.values():
        for share in reversed(shares):
            for side in share.sides:
                yield side, share is shares[-1]


def share_content(share: Share, is_main: bool, limit: float | None) -> dict[str, Any]:
    """A share as plain values; the sentence of a main one has digits that tell it from the limit."""
    figures = share.jsonable()
    told = {
        "id": id_of(share),
        "twins": share.compared,
        "is_main": is_main,
        **{name: figures[name] for name in FIELDS},
        "sentence": replace(share, plain=None).sentence(limit if is_main else None),
        "history": None,
        "outcomes": None,
        "evidence": _evidence(share, is_main),
    }
    if share.history is not None and has_history(share):
        places = np.unique(np.linspace(0, len(share.history) - 1, MOST_POINTS).round().astype(int))
        told["history"] = share.history[places]
    if share.outcomes is not None:
        told["outcomes"] = [{"combination": who, **counts.to_dict()} for who, counts in share.outcomes.iterrows()]
    return told


def _evidence(share: Share, is_main: bool) -> dict[str, Any]:
    """The hits that the counts can be made again from."""
    if share.record is None:
        return {"kind": "counts"}
    mask = share.record.hits
    if (len(mask), int(mask.sum())) != (share.n, share.hits):
        raise AssertionError(f"{id_of(share)}: the record has {int(mask.sum())} of {len(mask)}, not {share.hits}")
    if is_main and share.record.rows is not None:
        return {"kind": "rows", "certificate": share.compared}
    return {"kind": "bits", "n": len(mask), "hits": base64.b64encode(np.packbits(mask).tobytes()).decode()}


def certificate(run: AuditState) -> dict[str, Any]:
    """The model's answers to all comparable rows, by the twins that are compared."""
    found = {}
    for share, _, rows in run.row_sides:
        told = {
            "members": rows.members,
            "row": rows.index.tolist(),
            "position": rows.places,
            "outputs": [rows.of_row(place) for place in range(len(rows.index))],
            "not_comparable": share.n_not_comparable,
            "left_out": share.n_left_out,
        }
        again = [[place, rows.of_row(place, rows.second)] for place in rows.told_otherwise]
        found[share.compared] = told | ({"again": again} if again else {})
    return found


def rows(run: AuditState) -> dict[str, Any]:
    """The real rows that get another answer, and what differs; the rows themselves only if that was asked for."""
    flips: list[dict[str, Any]] = []
    flipped: set[int] = set()
    for side, record, answers in run.row_sides:
        flipped |= set(answers.places[record.hits].tolist())
        flips += _flips(side, run)
    return {"n_flipped": len(flipped), "n_relabelled": run.n_relabelled, "flips": flips}


def _flips(side: Share, run: AuditState) -> Iterator[dict[str, Any]]:
    if side.cases is None or side.twins is None or side.answers is None:
        return
    some = slice(run.settings.report_cases)
    frames = (side.cases[some].astype(object), side.twins[some].astype(object), side.answers[some])
    records = zip(side.cases.index[some].tolist(), *(frame.to_dict("records") for frame in frames), strict=True)
    for row, case, twin, answers in records:
        values = {"values": run.mask.row(case)} if run.settings.show_rows else {}
        yield {
            "row": row,
            "changes": _changes(case, twin, run.mask),
            "answers": {who: said for who, said in answers.items() if said is not None},
            "population": side.compared,
            **values,
        }


def _changes(case: Mapping[str, Any], twin: Mapping[str, Any], mask: Mask) -> list[tuple[str, Any, Any]]:
    """The columns that differ between a case and its twin, with both values."""
    before, after = mask.row(case), mask.row(twin)
    return [(name, before[name], after[name]) for name in case if not are_same(case[name], twin[name])]


def case_order(run: AuditState) -> list[int]:
    """The places of the cases to show: the most severe and plausible first, those without a rank last."""
    assert run.found is not None
    ranked: list[int] = [] if run.why is None else run.why.severity.ranking["place"].tolist()
    return list(dict.fromkeys([*ranked, *range(run.found.n_cases)]))[: run.settings.report_cases]


def cases(run: AuditState) -> list[dict[str, Any]]:
    """The cases of the search, each with its twin."""
    found, why, mask = run.found, run.why, run.mask
    if found is None or not found.n_cases:
        return []
    order = case_order(run)
    shown, twins = (frame.iloc[order].astype(object).to_dict("records") for frame in (found.cases, found.twins))
    outputs = found.outputs[["case", "twin"]].iloc[order].astype(object).to_numpy()
    plausibility = [None] * len(order) if found.plausibility is None else found.plausibility.iloc[order].to_numpy()
    regions = [] if why is None else [region.matches(found.cases.iloc[order]) for region in why.rules]
    told: list[dict[str, Any]] = []
    for number, place in enumerate(order):
        case, origin = shown[number], _origin(found, place)
        changes = _changes(case, twins[number], mask)
        if not run.settings.show_rows:  # a real row is told by what varies alone; no other case names its row
            if origin is not None and not origin["n_changes"]:
                case = {name: case[name] for name in found.domain.families.varying}
            else:
                origin = None
        told.append(
            {
                "id": number + 1,
                "case": mask.row(case),
                "twin": {name: after for name, _, after in changes},
                "outputs": outputs[number],
                "gap": found.gaps.iloc[place],
                "severity": None if why is None else why.severity.gaps[place],
                "plausibility": plausibility[number],
                "regions": [region for region, inside in enumerate(regions, start=1) if inside[number]],
                "origin": origin,
                "parameters": found.parameters.iloc[place],
            }
        )
    return told


def _origin(found: Found, place: int) -> dict[str, Any] | None:
    """The real row that a case comes from."""
    if found.origins is None:
        return None
    row = found.origins.iloc[place]
    return {"row": row["row"], "n_changes": int(row["n_changes"]), "distance": float(row.get("distance", 0.0))}
