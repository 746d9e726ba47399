"""The content of an audit as plain values of JSON: the only thing that report forms and the checker read.

No clock and no time taken stands in it, so that the same run gives the same bytes; but for the rows sent to a service,
which repeated requests add to.
"""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.auditing.audit_settings import AuditSettings
from fairprobe.auditing.gating import Judged, id_of
from fairprobe.auditing.privacy import Mask
from fairprobe.domain import Category, Density, Derived, Domain, Ordinal, Parameter, Rule
from fairprobe.domain.values import are_same, is_missing
from fairprobe.estimation import Proxies, Share
from fairprobe.estimation.drawing import convergence, has_history
from fairprobe.estimation.share import as_number
from fairprobe.explanation import Explanation
from fairprobe.oracle import checked_threshold
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.store.hashes import digest, sealed

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "fairprobe-audit"
FORMAT_VERSION = 1

MOST_POINTS = 200
"""Of a running mean."""


@dataclass
class AuditParts:
    """What the phases of an audit came to, so far."""

    domain: Domain
    rows: pd.DataFrame
    settings: AuditSettings
    seed: int
    about: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    kind: str = ""
    model_hash: str | None = None
    model_hash_of: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    n_sent: int | None = None
    """Rows sent to a model that counts them itself, as a service does; None for any other."""
    data_hash: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    density: Density | None = None
    sets: dict[str, list[Share]] = field(default_factory=dict)
    """By population, the shares by set of sensitive parameters, all of them together last."""
    n_relabelled: int | None = None
    """Rows whose label changes, where scores or probabilities are compared; None where that is not known."""
    impact: list[tuple[Any, ...]] = field(default_factory=list)
    found: Found | None = None
    why: Explanation | None = None
    proxies: Proxies | None = None
    sensitivity: list[dict[str, Any]] = field(default_factory=list)
    retrained: Retrained | None = None
    sampling: list[dict[str, Any]] = field(default_factory=list)
    health: list[dict[str, str]] = field(default_factory=list)
    interrupted: str | None = None
    judged: Judged | None = None

    @cached_property
    def mask(self) -> Mask:
        """What must not be told."""
        return Mask(self.settings.mask, self.rows)

    @property
    def main(self) -> dict[str, Share]:
        """By population, the share of all sensitive parameters together."""
        return {name: shares[-1] for name, shares in self.sets.items()}

    def remark(self, check: str, message: str, phase: str) -> None:
        """Something to know, said once."""
        said = {"check": check, "message": message, "phase": phase}
        if said not in self.health:
            self.health.append(said)


def content_of(parts: AuditParts) -> dict[str, Any]:
    """All of it, sealed by digests."""
    assert parts.judged is not None
    mask = parts.mask
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "title": parts.about.get("title") or f"Audit of {parts.name}",
        "about": _about(parts, mask),
        "question": _question(parts),
        "domain": mask.everywhere(domain_words(parts.domain, mask)),
        "verdict": parts.judged.summary(),
        "shares": [_share(share, is_main, parts.settings.limit) for share, is_main in _every_share(parts)],
        "rows": _rows(parts, mask),
        "certificate": _certificate(parts),
        "impact": [
            dict(zip(("sensitive", "value", "n", "favourable", "rate", "ratio"), row, strict=True))
            for row in parts.impact
        ],
        "cases": _cases(parts, mask),
        "search": None if parts.found is None else _without_time(parts.found.summary()),
        "why": _why(parts, mask),
        "plots": _plots(parts),
        "proxies": None if parts.proxies is None else parts.proxies.jsonable(),
        "retraining": _told(parts.retrained, mask),
        "sensitivity": mask.everywhere(plain(parts.sensitivity)),
        "sampling": [*_sampling(parts)],
        "limitations": limitations(parts),
        "health": mask.everywhere(plain(parts.health)),
    }
    return sealed({name: plain(section) for name, section in content.items()})


# What it is about


def _about(parts: AuditParts, mask: Mask) -> dict[str, Any]:
    about, settings = parts.about, parts.settings
    selfcheck = about.get("selfcheck")
    return {
        "model": {
            "name": parts.name,
            "kind": parts.kind,
            "hash": parts.model_hash,
            "hash_of": parts.model_hash_of,
            "n_sent": parts.n_sent,
        },
        "data": {
            "name": about.get("data_name"),
            "n_rows": len(parts.rows),
            "hash": parts.data_hash,
            "role": settings.rows_are,
        },
        "config": parts.config,
        "config_hash": digest(parts.config),
        "seed": parts.seed,
        "date": about.get("date"),
        "versions": parts.versions,
        "interrupted": parts.interrupted,
        "selfcheck": None if selfcheck is None else dict(selfcheck),
        "attempts": parts.attempts or [_only_attempt(parts)],
        "masked": list(settings.mask),
        "shows_rows": settings.show_rows,
        "command": mask.command(about.get("command")),
    }


def _only_attempt(parts: AuditParts) -> dict[str, Any]:
    """Without a folder nothing is known of others."""
    assert parts.judged is not None
    outcome = "interrupted" if parts.interrupted else parts.judged.outcome
    attempt = {"seed": parts.seed, "date": parts.about.get("date"), "outcome": outcome}
    return {**attempt, "config_hash": digest(parts.config), "is_this": True}


def _question(parts: AuditParts) -> dict[str, Any]:
    settings, domain = parts.settings, parts.domain
    assert parts.judged is not None
    values = {name: _values_of(domain[name]) for name in domain.sensitive}
    return {
        "sensitive": values,
        "output": settings.output,
        "threshold": checked_threshold(settings.threshold, settings.output),
        "favourable": settings.favourable,
        "max_share": settings.limit,
        "directions": settings.directions,
        "confidence": settings.confidence,
        "gate": settings.gate or parts.judged.population,
        "min_comparable": settings.min_comparable,
    }


def _values_of(parameter: Parameter) -> list[Any]:
    decoded = parameter.decode(np.arange(parameter.levels))
    return [plain(value) for value in (decoded.tolist() if hasattr(decoded, "tolist") else list(decoded))]


def domain_words(domain: Domain, mask: Mask | None = None) -> dict[str, Any]:
    """What an input may be, in words."""
    masked = () if mask is None else mask.columns
    return {
        "parameters": [
            {
                "name": each.name,
                "kind": type(each).__name__.lower(),
                "words": "masked" if each.name in masked else words_of(each),
                "is_sensitive": each.name in domain.sensitive,
            }
            for each in domain.parameters
        ],
        "constraints": [
            each.text if isinstance(each, Rule) else getattr(each, "__name__", "a function")
            for each in domain.constraints
        ],
        "links": [link.words() for link in domain.links],
        "hidden": list(domain.hidden),
        "n_inputs": str(domain.size),
        "n_valid": None if not domain.is_restricted or domain.n_valid is None else str(domain.n_valid),
    }


def words_of(parameter: Parameter) -> str:
    """What values a parameter may take.

    >>> from fairprobe.domain import Integer
    >>> words_of(Integer("age", 17, 90))
    '17 to 90'
    """
    missing = ", or missing" if parameter.missing else ""
    if isinstance(parameter, (Category, Ordinal)):
        return f"{', '.join(map(str, parameter.values))}{missing}"
    if isinstance(parameter, Derived):
        return f"follows from {parameter.source}"
    low, high, step = (getattr(parameter, name) for name in ("low", "high", "step"))
    return f"{low} to {high}{f' by {step:g}' if step != 1 else ''}{missing}"


def limitations(parts: AuditParts) -> list[str]:
    """What this audit does not say."""
    settings, domain = parts.settings, parts.domain
    names = " or ".join(domain.sensitive)
    said = [
        f"It says how often the model's output changes when {names} changes and all else but what is linked stays. It "
        "does not say that the model is free of discrimination, nor that outcomes are equal between groups.",
    ]
    role = {
        "training": "The rows are those that the model was trained on: on people it has not seen shares may differ.",
        "held-out": "The rows were said to be held out from training; that was not checked.",
        "unknown": "Nobody said whether the model was trained on the rows: if so, shares of other people may differ.",
    }
    said.append(role[str(settings.rows_are)])
    if domain.hidden:
        said.append(f"The model does not take {' and '.join(domain.hidden)}: only what is linked to it can carry it.")
    if not domain.links:
        said.append(f"No links were given: what goes along with {names} in real life stays as it is in the twins.")
    if parts.main and not any(each.hits for share in parts.main.values() for each in (share, share.plain) if each):
        said.append(
            f"The model's output never changed with {names}. Another parameter may still stand in for it: look at "
            "linked parameters and proxies."
        )
    said.append("Cases were searched for, not sampled: how many there are says nothing of how common they are.")
    if "domain" in parts.main:
        said.append("Uniform inputs of the domain are no people: most of them may not exist.")
    if settings.output != "label":
        said.append("The threshold is a choice: the table of what the verdict hangs on shows others.")
    return said


# How common


def _every_share(parts: AuditParts) -> Iterable[tuple[Share, bool]]:
    for shares in parts.sets.values():
        for share in reversed(shares):
            for side in (share, share.plain):
                if side is not None:
                    yield side, share is shares[-1]


def _share(share: Share, is_main: bool, limit: float | None) -> dict[str, Any]:
    names = (
        *("population", "hits", "n", "confidence", "method", "n_not_comparable", "n_left_out", "weight_compared"),
        *("n_queries", "seed", "threshold", "resolution", "design", "worse_off", "detail"),
    )
    return {
        "id": id_of(share),
        "twins": share.compared,
        "sensitive": list(share.sensitive),
        "is_main": is_main,
        **{name: as_number(getattr(share, name)) for name in ("value", "low", "high", "lower", "upper")},
        **{name: getattr(share, name) for name in names},
        "sentence": replace(share, plain=None).sentence(limit if is_main else None),
        "history": _thinned(share),
        "outcomes": _outcomes(share),
        "health": [{"check": check, "message": message} for check, message in share.health],
        "evidence": _evidence(share, is_main),
    }


def _thinned(share: Share) -> list[float] | None:
    if not has_history(share) or share.history is None:
        return None
    places = np.unique(np.linspace(0, len(share.history) - 1, MOST_POINTS).round().astype(int))
    return [float(share.history[place]) for place in places]


def _outcomes(share: Share) -> list[dict[str, Any]] | None:
    if share.outcomes is None:
        return None
    return [
        {"combination": str(combination), **{str(name): int(count) for name, count in row.items()}}
        for combination, row in share.outcomes.iterrows()
    ]


def _evidence(share: Share, is_main: bool) -> dict[str, Any]:
    """What the counts can be made again from."""
    if share.record is None:
        return {"kind": "counts"}
    mask = share.record.hits
    if (len(mask), int(mask.sum())) != (share.n, share.hits):
        raise AssertionError(f"{id_of(share)}: the record has {int(mask.sum())} of {len(mask)}, not {share.hits}")
    if is_main and share.record.rows is not None:
        return {"kind": "rows", "certificate": share.compared}
    return {"kind": "bits", "n": len(mask), "hits": base64.b64encode(np.packbits(mask).tobytes()).decode()}


def _certificate(parts: AuditParts) -> dict[str, Any]:
    """The model's answers to all comparable rows, by which twins are compared."""
    share = parts.main.get("rows")
    sides = [] if share is None else [share, share.plain]
    return {side.compared: _answers(side, parts) for side in sides if side is not None and side.record is not None}


def _answers(share: Share, parts: AuditParts) -> dict[str, Any]:
    assert share.record is not None
    rows = share.record.rows
    assert rows is not None
    said = {
        "members": list(rows.members),
        "row": rows.index.tolist(),
        "position": parts.rows.index.get_indexer(rows.index).tolist(),
        "outputs": [rows.of_row(place) for place in range(len(rows.index))],
        "not_comparable": share.n_not_comparable,
        "left_out": share.n_left_out,
    }
    others = rows.told_otherwise
    return said if not others else {**said, "again": [[place, rows.of_row(place, rows.second)] for place in others]}


def _rows(parts: AuditParts, mask: Mask) -> dict[str, Any]:
    """The real rows that flip: what differs, and the rows themselves only if that was asked for."""
    share = parts.main.get("rows")
    sides = [] if share is None else [side for side in (share, share.plain) if side is not None]
    flips: list[dict[str, Any]] = []
    flipped: set[int] = set()
    for side in sides:
        told = None if side.record is None else side.record.rows
        if side.cases is None or side.twins is None or side.answers is None or side.record is None or told is None:
            continue
        flipped |= set(told.places[side.record.hits].tolist())
        some = slice(parts.settings.max_cases)
        records = zip(
            side.cases.index[some].tolist(),
            side.cases[some].astype(object).to_dict("records"),
            side.twins[some].astype(object).to_dict("records"),
            side.answers[some].to_dict("records"),
            strict=True,
        )
        for row, case, twin, answers in records:
            flip = {
                "row": row,
                "changes": [[name, *each] for name, each in _changes(case, twin, mask)],
                "answers": {who: said for who, said in answers.items() if said is not None},
                "population": side.compared,
            }
            flips.append({**flip, "values": mask.row(case)} if parts.settings.show_rows else flip)
    return {"n_flipped": len(flipped), "n_relabelled": parts.n_relabelled, "flips": flips}


def _changes(case: Mapping[str, Any], twin: Mapping[str, Any], mask: Mask) -> Iterable[tuple[str, list[Any]]]:
    masked_case, masked_twin = mask.row(case), mask.row(twin)
    for name in case:
        if not are_same(case[name], twin[name]):
            yield name, [masked_case[name], masked_twin[name]]


# Which


def case_order(parts: AuditParts) -> list[int]:
    """The cases to show, the most severe and plausible first; those without a rank behind."""
    assert parts.found is not None
    ranked: list[int] = []
    if parts.why is not None:
        ranked = parts.why.severity.ranking["place"].tolist()
    known = set(ranked)
    ranked += [place for place in range(parts.found.n_cases) if place not in known]
    return ranked[: parts.settings.max_cases]


def _cases(parts: AuditParts, mask: Mask) -> list[dict[str, Any]]:
    found = parts.found
    if found is None or not found.n_cases:
        return []
    order = case_order(parts)
    cases, twins = found.cases.iloc[order].astype(object), found.twins.iloc[order].astype(object)
    regions = [] if parts.why is None else [region.matches(found.cases.iloc[order]) for region in parts.why.rules]
    severities = None if parts.why is None else parts.why.severity.gaps
    told: list[dict[str, Any]] = []
    records = zip(order, cases.to_dict("records"), twins.to_dict("records"), strict=True)
    for number, (place, case, twin) in enumerate(records):
        origin = _origin(found, place)
        is_row = origin is not None and origin["n_changes"] == 0
        shown, severity = case, math.nan if severities is None else float(severities[place])
        if not parts.settings.show_rows:
            # A case that is a real row is shown by what differs; of others, not which row they are near to.
            shown = {name: case[name] for name in found.domain.families.varying} if is_row else case
            origin = origin if is_row else None
        outputs = found.outputs.iloc[place]
        told.append(
            {
                "id": number + 1,
                "case": mask.row(shown),
                "twin": {name: each[1] for name, each in _changes(case, twin, mask)},
                "outputs": [outputs["case"], outputs["twin"]],
                "gap": float(found.gaps.iloc[place]),
                "severity": severity,
                "plausibility": None if found.plausibility is None else found.plausibility.iloc[place].tolist(),
                "regions": [number for number, inside in enumerate(regions, start=1) if inside[len(told)]],
                "origin": origin,
                "parameters": str(found.parameters.iloc[place]),
            }
        )
    return told


def _origin(found: Found, place: int) -> dict[str, Any] | None:
    if found.origins is None:
        return None
    row = found.origins.iloc[place]
    return {"row": row["row"], "n_changes": int(row["n_changes"]), "distance": float(row.get("distance", 0.0))}


# What it took


def _sampling(parts: AuditParts) -> Iterable[dict[str, Any]]:
    how = {
        "rows": "all rows given",
        "density": "drawn from the density fitted to the rows",
        "domain": "uniform over the domain",
        "valid": "uniform over the allowed part of the domain",
    }
    for name, share in parts.main.items():
        for side in (share, share.plain):
            if side is not None:
                exact = f"{how[name]}: {side.detail}" if side.method == "exact" else how[name]
                n = {"n_inputs": side.n + side.n_not_comparable, "n_queries": side.n_queries}
                yield {"phase": "shares", "what": id_of(side), "distribution": exact, **n}
    if parts.found is not None:
        found = parts.found
        within = "" if found.density is None else f", plausibility at least {found.min_plausibility:g}"
        what = f"a search, {found.settings.strategy}, from {'rows' if found.start is not None else 'inputs drawn'}"
        n = {"n_inputs": found.n_judged, "n_queries": found.n_queries}
        yield {"phase": "search", "what": what, "distribution": f"directed, no sample{within}", **n}
    if parts.why is not None:
        n = {"n_inputs": parts.why.n_sampled, "n_queries": parts.why.n_queries}
        yield {
            "phase": "why",
            "what": "fresh inputs for regions and directions",
            "distribution": parts.why.population,
            **n,
        }
    yield from parts.sampling


# Pictures


def _plots(parts: AuditParts) -> dict[str, str]:
    """As SVG; curves would tell values of masked columns."""
    drawings: dict[str, Callable[[Path], object]] = {}
    if parts.why is not None:
        influence, directions = parts.why.influence, parts.why.directions
        if len(influence.table):
            drawings["influence"] = influence.plot
        if len(influence.curves) and not set(parts.settings.mask) & set(influence.curves):
            drawings["curves"] = influence.plot_curves
        if len(directions.table):
            drawings["directions"] = directions.plot
    sampled = [share for share, is_main in _every_share(parts) if is_main and has_history(share)]
    if sampled:
        drawings["convergence"] = lambda path: convergence(sampled, path)
    if parts.retrained is not None:
        drawings["front"] = parts.retrained.plot
    with tempfile.TemporaryDirectory() as folder:
        return {name: _drawn(draw, Path(folder) / f"{name}.svg") for name, draw in drawings.items()}


def _drawn(draw: Callable[[Path], object], path: Path) -> str:
    draw(path)
    return path.read_text(encoding="utf-8")


# Plain values


def plain(value: Any) -> Any:
    """A value as JSON has it: no NaN, no arrays, texts as names."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if is_missing(value):
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int)) else str(value)


def _told(result: Explanation | Retrained | None, mask: Mask) -> Any:
    return None if result is None else mask.everywhere(plain(_without_time(result.summary())))


def _why(parts: AuditParts, mask: Mask) -> Any:
    """The explanation, which takes the rows for those that the model was fitted to, as what they are."""
    told = _told(parts.why, mask)
    if told is not None and parts.settings.rows_are != "training":
        for region in filter(None, (each["in_data"] for each in told["regions"])):
            region["sentence"] = region["sentence"].replace(" training rows lie inside", " rows lie inside", 1)
    return told


TIMES = ("seconds", "max_seconds", "search_seconds")


def _without_time(content: Any) -> Any:
    """Without the seconds that anything took: the same run is to give the same bytes."""
    if isinstance(content, Mapping):
        return {name: _without_time(each) for name, each in content.items() if name not in TIMES}
    return [_without_time(each) for each in content] if isinstance(content, list) else content
