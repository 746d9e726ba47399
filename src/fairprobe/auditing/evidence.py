"""The shares, rows and cases of an audit as plain values, with the answers that the checker counts again."""

from __future__ import annotations

import base64
import math
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
from fairprobe.estimation.share import as_number
from fairprobe.searching import Found

MOST_POINTS = 200
"""Points of a running mean; chosen, as a drawing shows no more."""

NUMBERS = ("value", "low", "high", "lower", "upper")
FIELDS = (
    *("population", "hits", "n", "confidence", "method", "n_not_comparable", "n_left_out", "weight_compared"),
    *("n_queries", "seed", "threshold", "resolution", "design", "worse_off", "detail"),
)
"""The fields of a share that the content has as they are."""


def every_share(run: AuditState) -> Iterator[tuple[Share, bool]]:
    """All shares, each with a flag for those of all sensitive parameters together."""
    for shares in run.sets.values():
        for share in reversed(shares):
            for side in share.sides:
                yield side, share is shares[-1]


def share_content(share: Share, is_main: bool, limit: float | None) -> dict[str, Any]:
    """A share as plain values; the sentence of a main one has digits that tell it from the limit."""
    outcomes = None if share.outcomes is None else share.outcomes.iterrows()
    return {
        "id": id_of(share),
        "twins": share.compared,
        "sensitive": list(share.sensitive),
        "is_main": is_main,
        **{name: as_number(getattr(share, name)) for name in NUMBERS},
        **{name: getattr(share, name) for name in FIELDS},
        "sentence": replace(share, plain=None).sentence(limit if is_main else None),
        "history": _thinned(share),
        "outcomes": outcomes
        and [
            {"combination": str(who), **{str(name): int(count) for name, count in row.items()}} for who, row in outcomes
        ],
        "health": [remark.jsonable() for remark in share.health],
        "evidence": _evidence(share, is_main),
    }


def _thinned(share: Share) -> list[float] | None:
    if not has_history(share) or share.history is None:
        return None
    places = np.unique(np.linspace(0, len(share.history) - 1, MOST_POINTS).round().astype(int))
    return [float(share.history[place]) for place in places]


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
    return {side.compared: _answers(side, run) for side in _row_sides(run) if side.record is not None}


def _row_sides(run: AuditState) -> list[Share]:
    return run.main["rows"].sides if "rows" in run.main else []


def _answers(share: Share, run: AuditState) -> dict[str, Any]:
    assert share.record is not None
    rows = share.record.rows
    assert rows is not None
    said = {
        "members": list(rows.members),
        "row": rows.index.tolist(),
        "position": run.rows.index.get_indexer(rows.index).tolist(),
        "outputs": [rows.of_row(place) for place in range(len(rows.index))],
        "not_comparable": share.n_not_comparable,
        "left_out": share.n_left_out,
    }
    others = rows.told_otherwise
    return said if not others else {**said, "again": [[place, rows.of_row(place, rows.second)] for place in others]}


def rows(run: AuditState) -> dict[str, Any]:
    """The real rows that get another answer: what differs, and the rows themselves only if that was asked for."""
    flips: list[dict[str, Any]] = []
    flipped: set[int] = set()
    for side in _row_sides(run):
        told = None if side.record is None else side.record.rows
        if side.record is not None and told is not None and side.cases is not None:
            flipped |= set(told.places[side.record.hits].tolist())
            flips += _flips(side, run)
    return {"n_flipped": len(flipped), "n_relabelled": run.n_relabelled, "flips": flips}


def _flips(side: Share, run: AuditState) -> Iterator[dict[str, Any]]:
    some = slice(run.settings.report_cases)
    assert side.cases is not None
    assert side.twins is not None
    assert side.answers is not None
    frames = (side.cases[some].astype(object), side.twins[some].astype(object), side.answers[some])
    records = zip(side.cases.index[some].tolist(), *(frame.to_dict("records") for frame in frames), strict=True)
    for row, case, twin, answers in records:
        values = {"values": run.mask.row(case)} if run.settings.show_rows else {}
        yield {
            "row": row,
            "changes": [[name, *each] for name, each in _changes(case, twin, run.mask)],
            "answers": {who: said for who, said in answers.items() if said is not None},
            "population": side.compared,
            **values,
        }


def _changes(case: Mapping[str, Any], twin: Mapping[str, Any], mask: Mask) -> Iterator[tuple[str, list[Any]]]:
    masked_case, masked_twin = mask.row(case), mask.row(twin)
    for name in case:
        if not are_same(case[name], twin[name]):
            yield name, [masked_case[name], masked_twin[name]]


def case_order(run: AuditState) -> list[int]:
    """The places of the cases to show: the most severe and plausible first, those without a rank last."""
    assert run.found is not None
    ranked: list[int] = [] if run.why is None else run.why.severity.ranking["place"].tolist()
    known = set(ranked)
    ranked += [place for place in range(run.found.n_cases) if place not in known]
    return ranked[: run.settings.report_cases]


def cases(run: AuditState) -> list[dict[str, Any]]:
    """The cases of the search, each with its twin."""
    found, mask = run.found, run.mask
    if found is None or not found.n_cases:
        return []
    order = case_order(run)
    shown, twins = found.cases.iloc[order].astype(object), found.twins.iloc[order].astype(object)
    regions = [] if run.why is None else [region.matches(found.cases.iloc[order]) for region in run.why.rules]
    told: list[dict[str, Any]] = []
    records = zip(order, shown.to_dict("records"), twins.to_dict("records"), strict=True)
    for number, (place, case, twin) in enumerate(records):
        outputs = found.outputs.iloc[place]
        values, origin = _case_and_origin(run, place, case)
        told.append(
            {
                "id": number + 1,
                "case": mask.row(values),
                "twin": {name: each[1] for name, each in _changes(case, twin, mask)},
                "outputs": [outputs["case"], outputs["twin"]],
                "gap": float(found.gaps.iloc[place]),
                "severity": math.nan if run.why is None else float(run.why.severity.gaps[place]),
                "plausibility": None if found.plausibility is None else found.plausibility.iloc[place].tolist(),
                "regions": [region for region, inside in enumerate(regions, start=1) if inside[number]],
                "origin": origin,
                "parameters": str(found.parameters.iloc[place]),
            }
        )
    return told


def _case_and_origin(run: AuditState, place: int, case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The values of a case that may be shown, and the row that it comes from.

    Unless rows are shown, a case that is a real row has only the values that vary, and others do not name their row.
    """
    assert run.found is not None
    origin = _origin(run.found, place)
    if run.settings.show_rows:
        return case, origin
    if origin is None or origin["n_changes"]:
        return case, None
    return {name: case[name] for name in run.found.domain.families.varying}, origin


def _origin(found: Found, place: int) -> dict[str, Any] | None:
    if found.origins is None:
        return None
    row = found.origins.iloc[place]
    return {"row": row["row"], "n_changes": int(row["n_changes"]), "distance": float(row.get("distance", 0.0))}
