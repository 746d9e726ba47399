"""Contents of audits that were never made: one that has everything, and one in which every text is hostile."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

HOSTILE = (
    "<script>alert(1)</script>",
    "]]></script><img src=x onerror=alert(2)>",
    '=HYPERLINK("http://evil.example","x")',
    "`a|b` *c* [d](http://evil.example) _e_ ~f~ $g$ # h & i",
    "line\nbreak\r\n# heading",
    "\u200fright-to-left",
    "\u202eturned",
    "nul\x00bell\x07half\ud800",
    "{{ 7 * 7 }} {% raw %}",
    "' \" onmouseover=alert(3) \\",
)

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="518" height="160" viewBox="0 0 518 160">'
    '<rect width="518" height="160" fill="#ffffff"/><g font-family="sans-serif" font-size="13" fill="#5b6770">'
    '<rect x="120" y="30" width="300" height="20" fill="#1b4965"/><text x="10" y="45">relationship</text>'
    '<rect x="120" y="70" width="180" height="20" fill="#bee3f0"/><text x="10" y="85">age</text>'
    '<text x="120" y="140">of moves end a case</text></g></svg>'
)

VALUES: dict[str, list[Any]] = {
    "age": list(range(17, 91)),
    "workclass": ["Private", "Self-emp-not-inc", "Local-gov", None],
    "education": ["HS-grad", "Some-college", "Bachelors", "Masters", "Prof-school"],
    "marital-status": ["Married-civ-spouse", "Never-married", "Divorced", "Widowed"],
    "occupation": ["Exec-managerial", "Craft-repair", "Sales", "Prof-specialty", "Adm-clerical"],
    "relationship": ["Husband", "Wife", "Not-in-family", "Own-child"],
    "race": ["White", "Black", "Asian-Pac-Islander"],
    "sex": ["Female", "Male"],
    "capital-gain": [0, 3103, 7298, 15024],
    "capital-loss": [0, 1902],
    "hours-per-week": list(range(10, 81, 5)),
    "native-country": ["United-States", "Mexico", "Germany"],
    "balance": [round(0.37 * k, 2) for k in range(400)],
}


def share(
    population: str, twins: str, sensitive: list[str], hits: int, n: int, *, is_main: bool = False
) -> dict[str, Any]:
    value = hits / n
    half = 2 * (value * (1 - value) / n) ** 0.5
    low, high = max(0.0, value - half), min(1.0, value + half)
    return {
        "id": f"{population}/{twins}/{' x '.join(sensitive)}",
        "population": population,
        "twins": twins,
        "sensitive": sensitive,
        "is_main": is_main,
        "hits": hits,
        "n": n,
        "value": value,
        "low": low,
        "high": high,
        "lower": low,
        "upper": high,
        "confidence": 0.95,
        "method": "rows" if population == "rows" else "sample",
        "n_not_comparable": 12,
        "n_left_out": 0,
        "n_queries": 2 * n,
        "seed": None,
        "threshold": 0.0,
        "resolution": 0.0,
        "sentence": f"{hits:,} of {n:,} are discriminatory",
        "design": "simple",
        "history": [value] * 20,
        "worse_off": "sex=Female",
        "outcomes": None,
        "health": [],
        "evidence": {"kind": "counts"},
    }


def case(rng: random.Random, number: int) -> dict[str, Any]:
    one = {name: rng.choice(values) for name, values in VALUES.items()}
    one |= {"sex": "Male", "relationship": "Husband"}
    twin: dict[str, Any] = {"sex": "Female", "relationship": "Wife"}
    if number % 3 == 0:
        twin = {"race": next(each for each in VALUES["race"] if each != one["race"])}
    return {
        "id": number,
        "case": one,
        "twin": twin,
        "outputs": [">50K", "<=50K"],
        "gap": 1.0,
        "severity": round(rng.random(), 4),
        "plausibility": [round(rng.random(), 3), round(rng.random(), 3)],
        "regions": [1 + number % 2] if number % 4 else [],
        "origin": {"row": number * 7, "n_changes": number % 4, "distance": 0.1},
        "parameters": "race" if number % 3 == 0 else "sex",
    }


def flip(number: int, *, shows_rows: bool = False) -> dict[str, Any]:
    linked = number % 3 > 0
    changes = [["sex", "Male", "Female"], *([["relationship", "Husband", "Wife"]] if linked else [])]
    told = {
        "row": 1000 + 13 * number,
        "changes": changes,
        "answers": {"sex=Male": ">50K", "sex=Female": "<=50K"},
        "population": "linked" if linked else "plain",
    }
    return {
        **told,
        **({"values": {name: values[number % len(values)] for name, values in VALUES.items()}} if shows_rows else {}),
    }


def direction() -> dict[str, Any]:
    sentence = (
        "sex=Female is worse off than sex=Male in 215 of 325 sampled cases (95% interval 60.73% to "
        "71.28%; more than chance would make of it, p = 5.9e-09)."
    )
    row = {
        "compared": "combination",
        "first": "sex=Female",
        "second": "sex=Male",
        "first_gets": "<=50K",
        "second_gets": ">50K",
        "found": 769,
        "found_reversed": 230,
        "sampled": 215,
        "sampled_reversed": 110,
        "fraction": 0.66,
        "low": 0.607,
        "high": 0.713,
        "p": 1e-8,
        "p_adjusted": 1e-8,
    }
    return {
        "sensitive": ["sex", "race"],
        "output": "label",
        "n_found": 1000,
        "n_sampled": 325,
        "n_drawn": 2000,
        "favourable": ">50K",
        "directions": [row],
        "health": [],
        "sentences": [sentence],
    }


def region(text: str, hits: int, verdict: str) -> dict[str, Any]:
    p = hits / 2000
    in_data = {
        "region": text,
        "verdict": verdict,
        "n": 11044,
        "n_rows": 32561,
        "n_apart": 0,
        "confidence": 0.95,
        "n_regions": 2,
        "level": 0.0125,
        "least": 5,
        "is_numeric": False,
        "groups": [],
        "differences": [],
        "sentence": (
            "11,044 of 32,561 training rows lie inside (sex=Female: 1,096, 44.43% '>50K', 40.67% to "
            "48.25%; sex=Male: 9,948, 41.57% '>50K', 40.33% to 42.81%): the data have no such "
            "difference: the model makes it"
        ),
    }
    return {
        "text": text,
        "n": 2000,
        "hits": hits,
        "low": p - 0.02,
        "high": p + 0.02,
        "coverage": 0.3,
        "of_domain": 0.0018,
        "of_density": 0.347,
        "n_rows": 11044,
        "of_rows": 0.339,
        "precision": p,
        "share_of_population": 0.79,
        "directions": direction(),
        "in_data": in_data,
    }


def why() -> dict[str, Any]:
    remedy = {
        "region": "region 1",
        "decision": "the twins' mean outcome",
        "population": "rows",
        "twins": "linked",
        "n": 20000,
        "before": 0.088,
        "after": 0.031,
        "low": 0.028,
        "high": 0.034,
        "accuracy_before": 0.871,
        "accuracy_after": 0.87,
        "confidence": 0.95,
        "simulated": True,
        "sentence": "simulated: with region 1 decided otherwise, 3.1% would be",
    }
    regions = [
        region(
            (
                "age >= 30 and age <= 50 and education not in ['Masters', 'Prof-school'] and "
                "`marital-status` == 'Married-civ-spouse' and `capital-gain` <= 6000"
            ),
            325,
            "not-in-the-data",
        ),
        region("education == 'Bachelors' and `marital-status` == 'Married-civ-spouse'", 422, "in-the-data"),
    ]
    return {
        "coverage": 0.8752,
        "population": "density",
        "n_given": 1000,
        "n_cases": 1000,
        "n_sampled": 20000,
        "n_sampled_cases": 1545,
        "n_queries": 422474,
        "share_low": 0.07,
        "share_high": 0.08,
        "seed": 0,
        "regions": regions,
        "influence": {
            "n_cases": 300,
            "n_given": 1000,
            "source": "density",
            "output": "label",
            "threshold": 0.0,
            "n_queries": 31000,
            "parameters": [{"parameter": "relationship", "ended": 0.7}],
            "pairs": [],
            "curves": {},
            "health": [],
            "sentences": [
                (
                    "How often another value, by the density, ends a case: relationship 70% (66% to 74%), age "
                    "21% (18% to 24%)."
                )
            ],
        },
        "directions": direction(),
        "severity": {
            "measure": "proba",
            "quantiles": {},
            "ranking": [],
            "n_queries": 2000,
            "health": [],
            "sentences": [
                (
                    "The probabilities of the two twins are 0.21 apart in the median case; in half of the "
                    "cases 0.12 to 0.33, and 0.71 at the most."
                )
            ],
        },
        "inside": {
            "model": "random-forest",
            "n_members": 2000,
            "n_trees": 10,
            "n_nodes": 51234,
            "nodes": [],
            "totals": [],
            "weights": [],
            "sentences": [
                (
                    "1,204 of 51,234 nodes, in 10 of 10 trees, split on sex; 81% of the cases' members pass "
                    "one, 3.4 on average"
                )
            ],
        },
        "remedies": [remedy, {**remedy, "decision": "always the favourable outcome", "after": 0.04}],
        "health": [],
    }


def retraining() -> dict[str, Any]:
    before = {"rows": share("rows", "plain", ["sex"], 59, 1000), "domain": share("domain", "plain", ["sex"], 96, 1000)}
    after = {"rows": share("rows", "plain", ["sex"], 43, 1000), "domain": share("domain", "plain", ["sex"], 1, 1000)}
    control = {
        "control": "constant",
        "words": "the sensitive column made constant",
        "shares": after,
        "accuracy": 0.85,
        "n_added": 0,
        "why_not": "",
    }
    return {
        "accepted": True,
        "before": before,
        "after": after,
        "changes": {},
        "before_is": "a clone fitted to the fit part",
        "compared_with": "a clone",
        "is_reported": True,
        "on_fitted_rows": False,
        "accuracy_before": 0.852,
        "accuracy_after": 0.849,
        "loss": {"value": 0.003, "low": 0.0, "high": 0.006},
        "favourable": ">50K",
        "groups": [],
        "rounds": [{"round": 1, "accepted": True}],
        "front": [1],
        "chosen": 1,
        "controls": {"constant": control},
        "stop_reason": "searched",
        "n_added": 1000,
        "n_cases": 1000,
        "n_rows": 32561,
        "n_inputs": 10000,
        "seed": 0,
        "how": [],
        "health": [],
        "failure": None,
    }


def content(
    n_cases: int = 60, n_flips: int = 45, *, outcome: str = "violated", shows_rows: bool = False
) -> dict[str, Any]:
    """Everything there can be in an audit."""
    rng = random.Random(0)
    shares = [
        share(population, twins, sensitive, hits, n, is_main=len(sensitive) == 2)
        for population, n in (("rows", 32561), ("density", 20000), ("domain", 400000))
        for twins in ("linked", "plain")
        for sensitive, hits in ((["sex", "race"], n * 9 // 100), (["sex"], n * 7 // 100), (["race"], n // 300))
    ]
    made = {
        "format": "fairprobe-audit",
        "format_version": 1,
        "title": "Audit of census-forest",
        "about": {
            "model": {
                "name": "census-forest",
                "kind": "RandomForestClassifier",
                "hash": "sha256:" + "ab" * 32,
                "hash_of": "the file model.skops",
            },
            "data": {"name": "adult.csv", "n_rows": 32561, "hash": "sha256:" + "cd" * 32, "role": "held-out"},
            "config": {"sensitive": ["sex", "race"], "max_share": 0.05, "budget": "default"},
            "config_hash": "sha256:" + "ef" * 32,
            "seed": 0,
            "date": "2026-11-18",
            "versions": {"fairprobe": "0.1.0", "python": "3.11.9", "numpy": "2.4.6"},
            "interrupted": None,
            "selfcheck": {"ok": True, "line": "selfcheck: 12 of 12 planted models judged as they were planted"},
            "attempts": [
                {
                    "seed": 1,
                    "date": "2026-11-17",
                    "outcome": "violated",
                    "config_hash": "sha256:" + "ef" * 32,
                    "is_this": False,
                },
                {
                    "seed": 0,
                    "date": "2026-11-18",
                    "outcome": outcome,
                    "config_hash": "sha256:" + "ef" * 32,
                    "is_this": True,
                },
            ],
            "masked": ["native-country"],
            "shows_rows": shows_rows,
            "command": "fairprobe audit --model model.skops --data adult.csv --sensitive sex,race --max-share 0.05",
        },
        "question": {
            "sensitive": {"sex": ["Female", "Male"], "race": ["White", "Black", "Asian-Pac-Islander"]},
            "output": "label",
            "threshold": 0.0,
            "favourable": ">50K",
            "max_share": 0.05,
            "directions": {},
            "confidence": 0.95,
            "gate": "rows",
            "min_comparable": 0.9,
        },
        "domain": {
            "parameters": [
                {
                    "name": name,
                    "kind": "Category" if isinstance(values[0], str) else "Integer",
                    "words": ", ".join(map(str, values[:5])),
                    "is_sensitive": name in ("sex", "race"),
                }
                for name, values in VALUES.items()
            ],
            "constraints": ["`capital-gain` == 0 or `capital-loss` == 0"],
            "links": ["relationship changes along with sex: Husband, Wife"],
            "hidden": [],
            "n_inputs": "184467440737095516150",
            "n_valid": "74467440737095516150",
        },
        "verdict": {
            "outcome": outcome,
            "sentence": (
                "8.99% of the rows are discriminatory, with 95% confidence between 8.68% and 9.31%: above "
                "the limit of 5%"
            ),
            "exit_code": {"violated": 1, "passed": 0, "inconclusive": 4}[outcome],
            "population": "rows",
            "bound": ["rows/linked/sex x race", "rows/plain/sex x race"],
            "outcomes": dict.fromkeys(["rows/linked/sex x race", "rows/plain/sex x race"], outcome),
            "condition": None,
            "why": "Both shares of the rows lie above the limit, plain and linked.",
            "directions": [],
        },
        "shares": shares,
        "rows": {
            "n_flipped": 2930,
            "n_relabelled": None,
            "flips": [flip(k, shows_rows=shows_rows) for k in range(n_flips)],
        },
        "certificate": {
            "plain": {
                "members": ["sex=Female", "sex=Male"],
                "row": [1, 2],
                "outputs": [[1, 1], [0, 1]],
                "not_comparable": 0,
                "left_out": 0,
            }
        },
        "impact": [
            {"sensitive": "sex", "value": "Female", "n": 10771, "favourable": 1100, "rate": 0.102, "ratio": 0.34},
            {"sensitive": "sex", "value": "Male", "n": 21790, "favourable": 6537, "rate": 0.3, "ratio": 1.0},
        ],
        "cases": [case(rng, k + 1) for k in range(n_cases)],
        "search": {"n_cases": n_cases, "n_inputs": 120000, "n_queries": 250000},
        "why": why(),
        "plots": {"influence": SVG, "curves": SVG, "directions": SVG, "convergence": SVG, "front": SVG},
        "proxies": {
            "table": [
                {
                    "sensitive": "sex",
                    "column": "relationship",
                    "value": "Female",
                    "auc": 0.912,
                    "low": 0.905,
                    "high": 0.919,
                },
                {"sensitive": "sex", "column": "occupation", "value": "Female", "auc": 0.74, "low": 0.73, "high": 0.75},
            ],
            "sentence": (
                "sex is told by all other columns together with an AUC of 0.94 (0.93 to 0.95). A model may "
                "use what tells it; that it does is not tested here"
            ),
        },
        "retraining": retraining(),
        "sensitivity": [
            {
                "what": "bounds at 99%",
                "outcome": "violated",
                "value": 0.09,
                "low": 0.086,
                "high": 0.094,
                "hits": 2930,
                "n": 32561,
            },
            {
                "what": "without the link relationship",
                "outcome": "inconclusive",
                "value": 0.05,
                "low": 0.048,
                "high": 0.053,
                "hits": 1630,
                "n": 32561,
            },
        ],
        "sampling": [
            {
                "phase": "search",
                "what": "directed search from rows and density",
                "distribution": "none: a directed search is no sample",
                "n_inputs": 120000,
                "n_queries": 250000,
            },
            {
                "phase": "shares",
                "what": "share of the domain",
                "distribution": "uniform over the domain",
                "n_inputs": 400000,
                "n_queries": 800000,
            },
        ],
        "limitations": [
            "Only the values listed were compared.",
            "A change that the domain does not know was not tried.",
        ],
        "health": [{"check": "narrow-bounds", "message": "Bounds were inferred from the rows.", "phase": "shares"}],
    }
    return sealed(made)


def bare() -> dict[str, Any]:
    """As little as an audit can have."""
    made = content(0, 0, outcome="inconclusive")
    made |= {
        "why": None,
        "proxies": None,
        "retraining": None,
        "plots": {},
        "impact": [],
        "sensitivity": [],
        "limitations": [],
        "health": [],
        "sampling": [],
        "shares": made["shares"][:1],
    }
    made["rows"] = {"n_flipped": 0, "n_relabelled": None, "flips": []}
    made["about"] |= {
        "attempts": [],
        "date": None,
        "selfcheck": None,
        "command": None,
        "masked": [],
        "interrupted": "search",
        "model": {"name": "m", "kind": "function", "hash": None, "hash_of": ""},
    }
    made["question"] |= {"max_share": None, "favourable": None, "directions": {}}
    return sealed(made)


def hostile(n_cases: int = 30) -> dict[str, Any]:
    """Each text of names, values and words is one that would like to be more than text; what has to be a word stays."""
    words = {
        "outcome",
        "population",
        "twins",
        "id",
        "bound",
        "method",
        "format",
        "kind",
        "verdict",
        "hash",
        "hash_of",
        "config_hash",
        "role",
        "output",
        "gate",
        "plots",
        "evidence",
        "simulated",
        "n_inputs",
        "n_valid",
        *content()["verdict"]["outcomes"],
    }
    names = {name: f"{name} {HOSTILE[k % len(HOSTILE)]}" for k, name in enumerate(VALUES)}
    n_told = 0

    def turned(each: Any, under: str = "") -> Any:
        nonlocal n_told
        if isinstance(each, dict) and under != "plots":
            return {names.get(key, key): turned(value, key) for key, value in each.items()}
        if isinstance(each, list):
            return [turned(value, under) for value in each]
        if isinstance(each, str) and under not in words:
            if each in names:
                return names[each]
            n_told += 1
            return f"{each} {HOSTILE[n_told % len(HOSTILE)]}"
        return each

    made = turned(content(n_cases, 12, shows_rows=True))
    made["about"]["model"]["name"] = " ".join(HOSTILE)
    return sealed(made)


def sealed(made: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in made.items() if key not in ("digests", "digest")}
    made["digests"] = {key: _digest(value) for key, value in made.items()}
    return {**made, "digest": _digest(made)}


def _digest(part: Any) -> str:
    text = json.dumps(part, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def written(made: dict[str, Any], path: Path) -> Path:
    """Its page in a file."""
    from fairprobe.report.html import html

    path.write_text(html(made), encoding="utf-8")
    return path
