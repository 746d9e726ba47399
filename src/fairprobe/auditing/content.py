"""Makes the content of an audit: one object of JSON, the only data that report forms and the checker read.

It holds no time or duration, so that repeated runs give equal bytes. The number of rows sent to a service is the only
exception, because repeated requests increase it.
"""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairprobe.auditing.gating import id_of
from fairprobe.auditing.state import MASKED, AuditState, Mask
from fairprobe.domain import Domain
from fairprobe.domain.values import are_same, is_missing
from fairprobe.estimation import Share
from fairprobe.estimation.drawing import convergence, has_history
from fairprobe.estimation.group_rates import GroupRates
from fairprobe.estimation.share import records
from fairprobe.explanation import Explanation
from fairprobe.oracle import checked_threshold
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.store.digests import sealed
from fairprobe.wording import percent

FORMAT = "fairprobe-audit"
FORMAT_VERSION = 2

SAMPLED = ("phase", "what", "distribution", "n_inputs", "n_queries")
"""Names of the fields in a row of the table of sampled inputs, in the order of `Sampled`."""

MASKED_SECTIONS = ("matched", "search", "why", "retraining", "sensitivity", "health")
"""Sections of the content in which all texts are searched for masked values; other sections leave them out."""

TIMES = ("seconds", "max_seconds", "search_seconds")
"""Names of figures that the content leaves out, because they are times or set a time limit."""


MOST_POINTS = 200
"""Largest number of points in the running mean of a share; chosen, as a drawing shows no more."""

FIELDS = (
    *("population", "sensitive", "hits", "n", "value", "low", "high", "lower", "upper", "confidence", "method"),
    *("n_not_comparable", "n_left_out", "weight_compared", "n_queries", "seed", "threshold", "resolution", "design"),
    *("worse_off", "detail", "health", "rates", "rated", "is_last_class"),
)
"""Names of the figures of a share that the content repeats unchanged."""


def content_of(run: AuditState) -> dict[str, Any]:
    """Return the whole content of an audit as a dict for JSON, with masked values replaced and digests added."""
    mask, verdict = run.mask, run.judged
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "title": run.settings.title or f"Audit of {run.name}",
        "about": _about(run),
        "question": _question(run, verdict.population),
        "domain": domain_words(run.domain, mask),
        "verdict": verdict.jsonable(),
        "shares": [share_content(share, is_main, run.settings.limit) for share, is_main in every_share(run)],
        "rows": rows(run),
        "certificate": certificate(run),
        "matched": [each.jsonable() for each in run.matched],
        "impact": [row for each in run.impact for row in impact_rows(each)],
        "ratios": [each.jsonable() for each in run.impact],
        "cases": cases(run),
        "search": _told(run.found),
        "why": _why(run),
        "plots": _plots(run),
        "proxies": None if run.proxies is None else run.proxies.jsonable(),
        "retraining": _told(run.retrained),
        "sensitivity": run.sensitivity,
        "sampling": [dict(zip(SAMPLED, each, strict=True)) for each in run.sampled()],
        "limitations": limitations(run),
        "health": run.health,
    }
    made: dict[str, Any] = plain(content)
    return sealed(made | {name: mask.everywhere(made[name]) for name in MASKED_SECTIONS})


# What was asked


def _about(run: AuditState) -> dict[str, Any]:
    settings, model = run.settings, run.identity["model"]
    return {
        **run.identity,
        "model": {**model, "n_sent": None if run.asker is None else run.asker.sent},
        **settings.some("seed", "date"),
        "interrupted": run.interrupted,
        "selfcheck": run.selfcheck,
        "attempts": run.attempts or [told(run.attempt, is_this=True)],
        "masked": settings.mask,
        "shows_rows": settings.show_rows,
        "command": run.mask.command(settings.command),
    }


def told(attempt: Mapping[str, Any], *, is_this: bool) -> dict[str, Any]:
    """Return the fields of an attempt that the report lists; `is_this` is True for the attempt of the report itself."""
    return {**{name: attempt[name] for name in ("seed", "date", "outcome", "config_hash")}, "is_this": is_this}


def _question(run: AuditState, population: str) -> dict[str, Any]:
    settings, sensitive = run.settings, [run.domain[name] for name in run.domain.sensitive]
    return {
        **({"labels": run.value_names} if settings.labels else {}),
        **settings.some("output", "favourable", "directions", "confidence", "min_comparable"),
        "sensitive": {each.name: list(each.decode(np.arange(each.levels))) for each in sensitive},
        "threshold": checked_threshold(settings.threshold, settings.output),
        "max_share": settings.limit,
        "min_ratio": settings.min_ratio,
        "gate": settings.gate or population,
    }


def domain_words(domain: Domain, mask: Mask) -> dict[str, Any]:
    """Return a dict that describes the domain: parameters, constraints, links and numbers of inputs, masked.

    The numbers of inputs are texts, as they may have any number of digits.
    """
    words = domain.described()
    for each in words["parameters"]:
        each["words"] = MASKED if each["name"] in mask.columns else each["words"]
    n_valid = str(words["n_valid"]) if domain.is_restricted and words["n_valid"] is not None else None
    return mask.everywhere(plain({**words, "n_inputs": str(domain.size), "n_valid": n_valid}))


ROLES = {
    "training": "The rows are those that the model was trained on. Shares of people that it has not seen may differ.",
    "held-out": "The rows were said to be held out from training; that was not checked.",
    "unknown": "Nobody said whether the model was trained on the rows. If it was, shares of other people may differ.",
}
"""Sentence on what the audit cannot say, by the role of the rows (training, held-out, unknown)."""


def limitations(run: AuditState) -> list[str]:
    """Return sentences on what the audit cannot say, which follow from its domain, rows, settings and results."""
    domain, names = run.domain, " or ".join(run.domain.sensitive)
    said = [
        f"It says how often the model's output changes when {names} changes and all else but what is linked stays. It "
        "does not say that the model is free of discrimination, nor that outcomes are equal between groups.",
        ROLES[str(run.settings.rows_are)],
    ]
    if domain.hidden:
        said.append(f"The model does not take {' and '.join(domain.hidden)}: only what is linked to it can carry it.")
    if not domain.links:
        said.append(f"No links were given: columns that go along with {names} in real life stay as they are in twins.")
    if run.main and not any(side.hits for share in run.main.values() for side in share.sides):
        said.append(
            f"The model's output never changed with {names}. Another parameter may still stand in for it: look at "
            "linked parameters and proxies."
        )
    said.append("Cases were searched for, not sampled: how many there are does not say how common they are.")
    if "domain" in run.main:
        said.append("Uniform inputs of the domain are not people: most of them may not exist.")
    if run.settings.output != "label":
        said.append("The threshold is a choice: the table of what the verdict depends on shows others.")
    return said


# Shares, rows and cases, with the answers that the checker counts again


def every_share(run: AuditState) -> Iterator[tuple[Share, bool]]:
    """Yield all shares, by linked and by plain twins, each with True if it is of all sensitive parameters together."""
    for shares in run.sets.values():
        for share in reversed(shares):
            for side in share.sides:
                yield side, share is shares[-1]


def share_content(share: Share, is_main: bool, limit: float | None) -> dict[str, Any]:
    """Return a share as a dict for JSON, with its figures, sentence, running mean, outcomes and evidence.

    `is_main` is True for all sensitive parameters together: the digits of its sentence then show on which side of the
    limit it lies.
    """
    figures, history, outcomes = share.jsonable(), None, None
    if share.history is not None and has_history(share):
        history = share.history[np.unique(np.linspace(0, len(share.history) - 1, MOST_POINTS).round().astype(int))]
    if share.outcomes is not None:
        outcomes = [{"combination": who, **counts.to_dict()} for who, counts in share.outcomes.iterrows()]
    return {
        "id": id_of(share),
        "twins": share.compared,
        "is_main": is_main,
        **{name: figures[name] for name in FIELDS},
        "sentence": replace(share, plain=None).sentence(limit if is_main else None),
        "history": history,
        "outcomes": outcomes,
        "evidence": _evidence(share, is_main),
    }


def _evidence(share: Share, is_main: bool) -> dict[str, Any]:
    """Return a dict with the evidence from which the checker counts the hits of a share again.

    It refers to the answers about rows, or has one bit per input; without a record, it only says that there is none.
    """
    if share.record is None:
        return {"kind": "counts"}
    mask = share.record.hits
    if (len(mask), int(mask.sum())) != (share.n, share.hits):
        raise AssertionError(f"{id_of(share)}: the record has {int(mask.sum())} of {len(mask)}, not {share.hits}")
    if is_main and share.record.rows is not None:
        return {"kind": "rows", "certificate": share.compared}
    return {"kind": "bits", "n": len(mask), "hits": base64.b64encode(np.packbits(mask).tobytes()).decode()}


def impact_rows(found: GroupRates) -> list[dict[str, Any]]:
    """Return a dict for each group: its observed rate, and the part that this is of the highest rate of all groups."""
    best = found.table["rate"].max()
    rows = ({"sensitive": found.attribute, "value": row.pop("group"), **row} for row in records(found.table))
    return [{**row, "ratio": row["rate"] / best if best else None} for row in rows]


def certificate(run: AuditState) -> dict[str, Any]:
    """Return the model's outputs for all members of the families of comparable rows, by kind of twins.

    The kinds are "linked" and "plain". The checker counts the shares of the rows again from these outputs.
    """
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
    """Return a dict on the real rows that get another answer: their number, and for each its changes and answers.

    All values of a row are added only if the audit may show rows.
    """
    flipped = {place for _, record, answers in run.row_sides for place in answers.places[record.hits].tolist()}
    flips = [flip for side, _, _ in run.row_sides for flip in _flips(side, run)]
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
            "own": ", ".join(f"{name}={case[name]}" for name in side.sensitive),
            "changes": _changes(case, twin, run.mask),
            "answers": {who: said for who, said in answers.items() if said is not None},
            "population": side.compared,
            **values,
        }


def _changes(case: Mapping[str, Any], twin: Mapping[str, Any], mask: Mask) -> list[tuple[str, Any, Any]]:
    """Return the columns that differ between a case and its twin: tuples of name, value before and value after."""
    before, after = mask.row(case), mask.row(twin)
    return [(name, before[name], after[name]) for name in case if not are_same(case[name], twin[name])]


def case_order(run: AuditState) -> list[int]:
    """Return the positions of the cases that the report shows: the most severe and plausible first, unranked last.

    They index the cases of the search; there are at most `report_cases`.
    """
    assert run.found is not None
    ranked: list[int] = [] if run.why is None else run.why.severity.ranking["place"].tolist()
    return list(dict.fromkeys([*ranked, *range(run.found.n_cases)]))[: run.settings.report_cases]


def cases(run: AuditState) -> list[dict[str, Any]]:
    """Return a dict for each case that the report shows: the case, its twin, outputs, gap, severity and origin."""
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
        if not run.settings.show_rows and (origin is None or origin["n_changes"]):
            origin = None
        elif not run.settings.show_rows:  # a real row is told by what varies alone; no other case names its row
            case = {name: case[name] for name in found.domain.families.varying}
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
    """Return a dict on the start row of a case: its index, the number of changed values, and the distance.

    With a limit on changes, it is the row that was changed into the case, else the nearest row. None if the search had
    no rows.
    """
    if found.origins is None:
        return None
    # Column by column: one row of the frame would have one dtype, which turns the label 61 into 61.0.
    row = {name: column.iloc[place] for name, column in found.origins.items()}
    return {"row": row["row"], "n_changes": int(row["n_changes"]), "distance": float(row.get("distance", 0.0))}


# Pictures


def _plots(run: AuditState) -> dict[str, str]:
    """Return drawings as texts of SVG, by name."""
    sampled = [share for share, is_main in every_share(run) if is_main and has_history(share)]
    if not sampled:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "convergence.svg")
        convergence(sampled, path)
        return {path.stem: path.read_text(encoding="utf-8")}


# Plain values


def plain(value: Any, but: Collection[str] = ()) -> Any:
    """Return a value as JSON can hold it: arrays become lists, keys become texts, missing and infinite values None.

    Keys in `but` are left out at every depth.
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each, but) for name, each in value.items() if name not in but}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each, but) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist(), but)
    if is_missing(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, (bool, int, float)) else str(value)


def _told(result: Found | Explanation | Retrained | None) -> Any:
    """Return a result of a search, an explanation or retraining as plain values of JSON, without durations."""
    return None if result is None else plain(result.jsonable(), but=TIMES)


def _why(run: AuditState) -> Any:
    """Return the explanation as plain values of JSON; its sentences call rows training rows if they are.

    Simulated shares of training rows have no interval, as these rows represent nobody else.
    """
    why = _told(run.why)
    if why is not None and run.settings.rows_are == "training":
        for region in filter(None, (each["in_data"] for each in why["regions"])):
            region["sentence"] = region["sentence"].replace(" rows lie inside", " training rows lie inside", 1)
        for each in (each for each in why["remedies"] if each["population"] == "rows" and each["n"]):
            interval = f" ({percent(each['low'])} to {percent(each['high'])})"
            each |= {"low": None, "high": None, "sentence": each["sentence"].replace(interval, "", 1)}
    return why
