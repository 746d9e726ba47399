"""The content of an audit as plain values of JSON: the only thing that report forms and the checker read.

It holds no clock and no time taken, so that the same run gives the same bytes. The rows sent to a service are the only
exception, because repeated requests add to them.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairprobe.auditing.evidence import cases, certificate, every_share, rows, share_content
from fairprobe.auditing.gating import id_of
from fairprobe.auditing.privacy import Mask
from fairprobe.auditing.state import AuditState
from fairprobe.domain import Domain, Parameter
from fairprobe.domain.description import described
from fairprobe.domain.values import is_missing
from fairprobe.estimation.drawing import convergence, has_history
from fairprobe.explanation import Explanation
from fairprobe.oracle import checked_threshold
from fairprobe.retraining import Retrained
from fairprobe.store.hashes import sealed
from fairprobe.wording import DRAWN

FORMAT = "fairprobe-audit"
FORMAT_VERSION = 1

TIMES = ("seconds", "max_seconds", "search_seconds")
"""Figures that differ from run to run, which the content leaves out."""


def content_of(run: AuditState) -> dict[str, Any]:
    """The whole content, sealed by digests."""
    mask = run.mask
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "title": run.about.get("title") or f"Audit of {run.name}",
        "about": _about(run),
        "question": _question(run),
        "domain": mask.everywhere(domain_words(run.domain, mask)),
        "verdict": run.judged.jsonable(),
        "shares": [share_content(share, is_main, run.settings.limit) for share, is_main in every_share(run)],
        "rows": rows(run),
        "certificate": certificate(run),
        "impact": run.impact,
        "cases": cases(run),
        "search": None if run.found is None else _without_time(run.found.summary()),
        "why": _why(run),
        "plots": _plots(run),
        "proxies": None if run.proxies is None else run.proxies.jsonable(),
        "retraining": _told(run.retrained, mask),
        "sensitivity": mask.everywhere(plain(run.sensitivity)),
        "sampling": [*_sampling(run)],
        "limitations": limitations(run),
        "health": mask.everywhere(plain(run.health)),
    }
    return sealed({name: plain(section) for name, section in content.items()})


# What was asked


def _about(run: AuditState) -> dict[str, Any]:
    about = run.about
    model = {"name": run.name, "kind": type(run.model).__name__, "hash": run.model_hash, "hash_of": run.model_hash_of}
    data = {"name": about.get("data_name"), "n_rows": len(run.rows), "hash": run.data_hash}
    this = {"seed": run.seed, "date": about.get("date"), "outcome": run.outcome, "config_hash": run.config_hash}
    return {
        "model": {**model, "n_sent": None if run.asker is None else run.asker.sent},
        "data": {**data, "role": run.settings.rows_are},
        "config": run.config,
        "config_hash": run.config_hash,
        "seed": run.seed,
        "date": about.get("date"),
        "versions": run.versions,
        "interrupted": run.interrupted,
        "selfcheck": about.get("selfcheck"),
        "attempts": run.attempts or [{**this, "is_this": True}],
        "masked": list(run.settings.mask),
        "shows_rows": run.settings.show_rows,
        "command": run.mask.command(about.get("command")),
    }


def _question(run: AuditState) -> dict[str, Any]:
    settings = run.settings
    return {
        "sensitive": {name: _values_of(run.domain[name]) for name in run.domain.sensitive},
        "output": settings.output,
        "threshold": checked_threshold(settings.threshold, settings.output),
        "favourable": settings.favourable,
        "max_share": settings.limit,
        "directions": settings.directions,
        "confidence": settings.confidence,
        "gate": settings.gate or run.judged.population,
        "min_comparable": settings.min_comparable,
    }


def _values_of(parameter: Parameter) -> list[Any]:
    return [plain(value) for value in list(parameter.decode(np.arange(parameter.levels)))]


def domain_words(domain: Domain, mask: Mask) -> dict[str, Any]:
    """The domain in words; counts are texts, as they may have any number of digits."""
    told = described(domain)
    for each in told["parameters"]:
        each["words"] = "masked" if each["name"] in mask.columns else each["words"]
    n_valid = str(told["n_valid"]) if domain.is_restricted and told["n_valid"] is not None else None
    return {**told, "n_inputs": str(domain.size), "n_valid": n_valid}


ROLES = {
    "training": "The rows are those that the model was trained on. Shares of people that it has not seen may differ.",
    "held-out": "The rows were said to be held out from training; that was not checked.",
    "unknown": "Nobody said whether the model was trained on the rows. If it was, shares of other people may differ.",
}
"""By role of the rows, what the audit does not say because of it."""


def limitations(run: AuditState) -> list[str]:
    """What this audit does not say."""
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


# What it took


def _sampling(run: AuditState) -> Iterator[dict[str, Any]]:
    for name, share in run.main.items():
        for side in share.sides:
            drawn = f"{DRAWN[name]}: {side.detail}" if side.method == "exact" else DRAWN[name]
            n = {"n_inputs": side.n + side.n_not_comparable, "n_queries": side.n_queries}
            yield {"phase": "shares", "what": id_of(side), "distribution": drawn, **n}
    found, why = run.found, run.why
    if found is not None:
        within = "" if found.density is None else f", plausibility at least {found.min_plausibility:g}"
        what = f"a search, {found.settings.strategy}, from {'rows' if found.start is not None else 'inputs drawn'}"
        n = {"n_inputs": found.n_judged, "n_queries": found.n_queries}
        yield {"phase": "search", "what": what, "distribution": f"directed, no sample{within}", **n}
    if why is not None:
        n = {"n_inputs": why.n_sampled, "n_queries": why.n_queries}
        what = "fresh inputs for regions and directions"
        yield {"phase": "why", "what": what, "distribution": why.population, **n}
    yield from run.sampling


# Pictures


def _plots(run: AuditState) -> dict[str, str]:
    """Drawings as SVG. Curves of masked columns are left out, because they would tell values."""
    drawings: dict[str, Callable[[Path], object]] = {}
    if run.why is not None:
        influence, directions = run.why.influence, run.why.directions
        if len(influence.table):
            drawings["influence"] = influence.plot
        if len(influence.curves) and not set(run.settings.mask) & set(influence.curves):
            drawings["curves"] = influence.plot_curves
        if len(directions.table):
            drawings["directions"] = directions.plot
    sampled = [share for share, is_main in every_share(run) if is_main and has_history(share)]
    if sampled:
        drawings["convergence"] = lambda path: convergence(sampled, path)
    if run.retrained is not None:
        drawings["front"] = run.retrained.plot
    with tempfile.TemporaryDirectory() as folder:
        return {name: _drawn(draw, Path(folder) / f"{name}.svg") for name, draw in drawings.items()}


def _drawn(draw: Callable[[Path], object], path: Path) -> str:
    draw(path)
    return path.read_text(encoding="utf-8")


# Plain values


def plain(value: Any) -> Any:
    """A value as JSON has it: without NaN and arrays, with texts as names."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if is_missing(value):
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int)) else str(value)


def _told(result: Explanation | Retrained | None, mask: Mask) -> Any:
    return None if result is None else mask.everywhere(plain(_without_time(result.jsonable())))


def _why(run: AuditState) -> Any:
    """The explanation, in which training rows are called so."""
    told = _told(run.why, run.mask)
    if told is not None and run.settings.rows_are == "training":
        for region in filter(None, (each["in_data"] for each in told["regions"])):
            region["sentence"] = region["sentence"].replace(" rows lie inside", " training rows lie inside", 1)
    return told


def _without_time(content: Any) -> Any:
    """Content without the seconds that anything took."""
    if isinstance(content, Mapping):
        return {name: _without_time(each) for name, each in content.items() if name not in TIMES}
    return [_without_time(each) for each in content] if isinstance(content, list) else content
