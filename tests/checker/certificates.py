"""Small audits that keep to the form, made without the code that makes real ones: by loops and SciPy."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv

KIN = ("Husband", "Wife", "Child")
NAMES = ("age", "kin", "sex")
MEMBERS = ["sex=Female", "sex=Male"]
N_ROWS = 40


def predict(frame: Any) -> list[int]:
    """The model: husbands of 50 or more get 1, and any man of 70 or more."""
    people = zip(*(frame[name] for name in NAMES), strict=True)
    return [answer(*person) for person in people]


def answer(age: int, kin: str, sex: str) -> int:
    return int((kin == "Husband" and age >= 50) or (sex == "Male" and age >= 70))


def score(frame: Any) -> list[float]:
    return [0.01 * age + 0.25 * one for age, one in zip(frame["age"], predict(frame), strict=True)]


def canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(content: Any) -> str:
    return f"sha256:{hashlib.sha256(canonical(content)).hexdigest()}"


def renewed(audit: dict[str, Any], *, sections: bool = True) -> dict[str, Any]:
    """With the digest made again; with those of the sections too, if wanted."""
    audit = {name: part for name, part in audit.items() if name != "digest"}
    if sections:
        parts = {name: part for name, part in audit.items() if name != "digests"}
        audit = {**parts, "digests": {name: digest(part) for name, part in parts.items()}}
    return {**audit, "digest": digest(audit)}


def intervals(hits: int, n: int, confidence: float) -> dict[str, float]:
    def low(error: float) -> float:
        return float(betaincinv(hits, n - hits + 1, error)) if hits else 0.0

    def high(error: float) -> float:
        return float(betainccinv(hits + 1, n - hits, error)) if hits < n else 1.0

    error = 1 - confidence
    return {"low": low(error / 2), "high": high(error / 2), "lower": low(error), "upper": high(error)}


def share(population: str, twins: str, hits: int, n: int, confidence: float, method: str, evidence: Any, **more: Any):
    exact = dict.fromkeys(("low", "high", "lower", "upper"), hits / n) if method == "exact" else None
    return {
        "id": f"{population}/{twins}/sex",
        "population": population,
        "twins": twins,
        "sensitive": ["sex"],
        "is_main": True,
        "hits": hits,
        "n": n,
        "value": hits / n,
        **(exact or intervals(hits, n, confidence)),
        "confidence": confidence,
        "method": method,
        "n_not_comparable": 0,
        "n_left_out": 0,
        "n_queries": 2 * n,
        "seed": 0,
        "threshold": 0.0,
        "resolution": 0.0,
        "sentence": f"{hits} of {n}",
        "design": "",
        "detail": "",
        "history": None,
        "worse_off": None,
        "outcomes": None,
        "health": [],
        "evidence": evidence,
        **more,
    }


def people() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    ages, sexes, kin = rng.integers(18, 90, N_ROWS), rng.integers(0, 2, N_ROWS), rng.integers(0, 2, N_ROWS)
    return [
        {"age": int(age), "kin": "Child" if child else ("Wife", "Husband")[sex], "sex": ("Female", "Male")[sex]}
        for age, sex, child in zip(ages, sexes, kin, strict=True)
    ]


def as_member(person: dict[str, Any], sex: str, *, linked: bool) -> dict[str, Any]:
    kin = {"Female": "Wife", "Male": "Husband"}[sex] if linked and person["kin"] != "Child" else person["kin"]
    return {**person, "kin": kin, "sex": sex}


def rows_share(twins: str, outputs: list[list[Any]], confidence: float) -> dict[str, Any]:
    flipped = [each for each in outputs if len(set(each)) > 1]
    table = [
        {"combination": member, **{str(one): sum(each[place] == one for each in flipped) for one in (0, 1)}}
        for place, member in enumerate(MEMBERS)
    ]
    evidence = {"kind": "rows", "certificate": twins}
    return share("rows", twins, len(flipped), len(outputs), confidence, "rows", evidence, outcomes=table)


def sample_share() -> dict[str, Any]:
    hits = np.random.default_rng(1).random(1003) < 0.05
    history = [float(hits[: 250 * k].mean()) for k in (1, 2, 3, 4)]
    evidence = {"kind": "bits", "n": 1000, "hits": base64.b64encode(np.packbits(hits[:1000]).tobytes()).decode()}
    return share("density", "linked", int(hits[:1000].sum()), 1000, 0.95, "sample", evidence, history=history)


def certificate(limit: float | None = 0.01, *, show_rows: bool = False) -> dict[str, Any]:
    """An audit of `predict` with a link, rows, a sample and an exact share."""
    rows = people()
    answers = {
        twins: [
            [answer(*as_member(row, sex, linked=twins == "linked").values()) for sex in ("Female", "Male")]
            for row in rows
        ]
        for twins in ("linked", "plain")
    }
    shares = [rows_share(twins, outputs, 0.975) for twins, outputs in answers.items()]
    counts = {"kind": "counts"}
    shares += [sample_share(), share("domain", "plain", 90, 432, 0.95, "exact", counts)]
    flips = [
        {
            "row": place,
            "changes": changes(row, twins),
            "answers": dict(zip(MEMBERS, outputs[place], strict=True)),
            "population": twins,
            **({"values": row} if show_rows else {}),
        }
        for twins, outputs in answers.items()
        for place, row in enumerate(rows)
        if len(set(outputs[place])) > 1
    ]
    made = {
        **frame_of_audit(limit, show_rows=show_rows),
        "shares": shares,
        "rows": {"n_flipped": len({flip["row"] for flip in flips}), "n_relabelled": None, "flips": flips},
        "certificate": {
            twins: {
                "members": MEMBERS,
                "row": list(range(len(rows))),
                "position": list(range(len(rows))),
                "outputs": outputs,
                "not_comparable": 0,
                "left_out": 0,
            }
            for twins, outputs in answers.items()
        },
        "impact": impact(rows),
        "cases": [
            {
                "id": number,
                "case": {"age": age, "kin": "Child", "sex": "Male"},
                "twin": {"sex": "Female"},
                "outputs": [1, 0],
                "gap": 1.0,
                "severity": 0.5,
                "plausibility": [0.5, 0.25],
                "regions": [1],
                "origin": {"row": 3, "n_changes": 1, "distance": 0.125},
                "parameters": "sex",
            }
            for number, age in enumerate((71, 80), 1)
        ],
        "sensitivity": [{"what": "bounds at 99%", "outcome": "violated", **figures(shares[0])}],
    }
    return renewed(json.loads(json.dumps(made)))


def figures(of: dict[str, Any]) -> dict[str, Any]:
    bounds = intervals(of["hits"], of["n"], 0.995)
    return {"value": of["value"], "low": bounds["low"], "high": bounds["high"], "hits": of["hits"], "n": of["n"]}


def changes(row: dict[str, Any], twins: str) -> list[list[Any]]:
    twin = as_member(row, {"Female": "Male", "Male": "Female"}[row["sex"]], linked=twins == "linked")
    return [[name, row[name], twin[name]] for name in NAMES if row[name] != twin[name]]


def impact(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    table = []
    for sex in ("Female", "Male"):
        got = [answer(*row.values()) for row in rows if row["sex"] == sex]
        table.append(
            {"sensitive": "sex", "value": sex, "n": len(got), "favourable": sum(got), "rate": sum(got) / len(got)}
        )
    best = max(each["rate"] for each in table)
    return [{**each, "ratio": each["rate"] / best} for each in table]


def frame_of_audit(limit: float | None, *, show_rows: bool) -> dict[str, Any]:
    """What stands around the figures."""
    kinds = {"age": ("integer", "18 to 89"), "kin": ("category", ", ".join(KIN)), "sex": ("category", "Female, Male")}
    domain = {
        "parameters": [
            {"name": name, "kind": kind, "words": words, "is_sensitive": name == "sex"}
            for name, (kind, words) in kinds.items()
        ],
        "constraints": [],
        "links": ["kin follows sex: Wife, Husband"],
        "hidden": [],
        "n_inputs": "432",
        "n_valid": None,
    }
    settings = {"max_share": limit, "gate": None, "favourable": 1, "output": "label", "threshold": None, "linked": None}
    effort = {"confidence": 0.95, "min_comparable": 0.9, "populations": None, "n_experiments": 4, "n_samples": 250}
    config = {**settings, **effort, "rows_are": "held-out", "mask": [], "domain": domain}
    outcome = "no-limit" if limit is None else "violated"
    attempt = {"seed": 0, "date": None, "outcome": outcome, "config_hash": digest(config), "is_this": True}
    bound = ["rows/linked/sex", "rows/plain/sex"]
    return {
        "format": "fairprobe-audit",
        "format_version": 1,
        "title": "Audit of a toy",
        "about": {
            "model": {"name": "a toy", "kind": "function", "hash": digest("toy"), "hash_of": "its name"},
            "data": {"name": "people", "n_rows": N_ROWS, "hash": digest("people"), "role": "held-out"},
            "config": config,
            "config_hash": digest(config),
            "seed": 0,
            "date": None,
            "versions": {"fairprobe": "0.1.0", "numpy": "2.0.0"},
            "interrupted": None,
            "selfcheck": {"ok": True, "line": "selfcheck: 14 of 14 checks passed"},
            "attempts": [attempt],
            "masked": [],
            "shows_rows": show_rows,
            "command": None,
        },
        "question": {
            "sensitive": {"sex": ["Female", "Male"]},
            "output": "label",
            "threshold": 0.0,
            "favourable": 1,
            "max_share": limit,
            "directions": {},
            "confidence": 0.95,
            "gate": "rows",
            "min_comparable": 0.9,
        },
        "domain": domain,
        "verdict": {
            "outcome": outcome,
            "sentence": "a sentence",
            "exit_code": int(limit is not None),
            "population": "rows",
            "bound": bound,
            "outcomes": {} if limit is None else dict.fromkeys(bound, outcome),
            "condition": None,
            "why": "a reason",
            "directions": [],
        },
        "search": {"n_cases": 2, "n_judged": 100, "yield": 0.02, "seed": 0},
        "why": None,
        "plots": {"influence": "<svg/>"},
        "proxies": None,
        "retraining": None,
        "sampling": [
            {"phase": "shares", "what": "rows", "distribution": "all rows", "n_inputs": N_ROWS, "n_queries": 2 * N_ROWS}
        ],
        "limitations": ["It is a toy."],
        "health": [{"check": "one-value", "message": "a message", "phase": "search"}],
    }


def scored() -> dict[str, Any]:
    """The same of `score`, with a threshold that rows and cases are above."""
    audit = copy.deepcopy(certificate())
    rows = people()
    for twins, part in audit["certificate"].items():
        members = [[as_member(row, sex, linked=twins == "linked") for sex in ("Female", "Male")] for row in rows]
        part["outputs"] = [[0.01 * one["age"] + 0.25 * answer(*one.values()) for one in pair] for pair in members]
    for flip in audit["rows"]["flips"]:
        outputs = audit["certificate"][flip["population"]]["outputs"][flip["row"]]
        flip["answers"] = dict(zip(MEMBERS, outputs, strict=True))
    for case in audit["cases"]:
        case["outputs"] = [0.01 * case["case"]["age"] + 0.25, 0.01 * case["case"]["age"]]
        case["gap"] = 0.25
    for each in audit["shares"]:
        each |= {"threshold": 0.125, "resolution": 1e-12, "outcomes": None}
    return renewed(asked(audit, output="score", threshold=0.125, favourable="highest"))


def asked(audit: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """With another question, and the configuration that asks it."""
    audit["question"] |= changes
    audit["about"]["config"] |= changes
    return with_config(audit)


def with_config(audit: dict[str, Any]) -> dict[str, Any]:
    """With the hash of the configuration made again, wherever it is said."""
    audit["about"]["config_hash"] = audit["about"]["attempts"][0]["config_hash"] = digest(audit["about"]["config"])
    return audit


def concluded(audit: dict[str, Any], outcome: str, **outcomes: str) -> dict[str, Any]:
    """With another verdict, said wherever it is."""
    audit["verdict"] |= {"outcome": outcome, "exit_code": {"passed": 0, "violated": 1, "inconclusive": 4}[outcome]}
    told = {share: outcomes.get(share.split("/")[1], outcome) for share in audit["verdict"]["bound"]}
    audit["verdict"]["outcomes"] = told
    audit["about"]["attempts"][0]["outcome"] = outcome
    return audit


def other(frame: Any) -> list[int]:
    """Another model: the contrary."""
    return [1 - one for one in predict(frame)]
