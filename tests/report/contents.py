"""Contents of audits that were never made: one that has everything, and one in which every text is hostile."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from fairprobe.report.html import html
from fairprobe.store import digests

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

CONTENT = (Path(__file__).parent / "content.json").read_text(encoding="utf-8")
"""An audit with every section, without cases, rows and drawings."""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="518" height="160"><text x="10" y="45">share</text></svg>'

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

SEXES = ("Female", "Male")


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
    told = {
        "row": 1000 + 13 * number,
        "own": f"sex=Male, race={VALUES['race'][number % 3]}",
        "changes": [["sex", "Male", "Female"], *([["relationship", "Husband", "Wife"]] if linked else [])],
        "answers": {f"sex={s}, race={r}": ">50K" if s == "Male" else "<=50K" for s in SEXES for r in VALUES["race"]},
        "population": "linked" if linked else "plain",
    }
    values = {name: values[number % len(values)] for name, values in VALUES.items()}
    return told | ({"values": values} if shows_rows else {})


def content(
    n_cases: int = 60, n_flips: int = 45, *, outcome: str = "violated", shows_rows: bool = False
) -> dict[str, Any]:
    """Everything there can be in an audit."""
    rng = random.Random(0)
    made = json.loads(CONTENT)
    made["about"]["shows_rows"] = shows_rows
    made["about"]["attempts"][1]["outcome"] = outcome
    exit_code = {"violated": 1, "passed": 0, "inconclusive": 4}[outcome]
    outcomes = dict.fromkeys(made["verdict"]["bound"], outcome)
    made["verdict"] |= {"outcome": outcome, "exit_code": exit_code, "outcomes": outcomes}
    made["rows"]["flips"] = [flip(k, shows_rows=shows_rows) for k in range(n_flips)]
    made["cases"] = [case(rng, k + 1) for k in range(n_cases)]
    made["search"]["n_cases"] = n_cases
    made["plots"] = dict.fromkeys(made["plots"], SVG)
    return sealed(made)


def bare() -> dict[str, Any]:
    """As little as an audit can have."""
    made = content(0, 0, outcome="inconclusive")
    made |= {"why": None, "proxies": None, "retraining": None, "plots": {}, "shares": made["shares"][:1]}
    made |= {name: [] for name in ("impact", "ratios", "matched", "sensitivity", "limitations", "health", "sampling")}
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
    made["question"] |= {"max_share": None, "min_ratio": None, "favourable": None, "directions": {}}
    return sealed(made)


def one_side() -> dict[str, Any]:
    """A limit for one side alone, which is violated."""
    made = content()
    side = {**made["shares"][0], "combination": "sex=Female", "limit": 0.03, "outcome": "violated"}
    made["question"] |= {"max_share": None, "directions": {"sex=Female": 0.03}}
    made["verdict"]["directions"] = [side]
    return sealed(made)


def hostile(n_cases: int = 30) -> dict[str, Any]:
    """Each text of names, values and words is one that would like to be more than text; what has to be a word stays."""
    kept = (
        "outcome population twins id bound method format kind verdict hash hash_of config_hash role output gate plots "
        "evidence simulated n_inputs n_valid"
    )
    words = {*re.findall(r"\w+", kept), *content()["verdict"]["outcomes"]}
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
    return digests.sealed({key: value for key, value in made.items() if key not in ("digests", "digest")})


def written(made: dict[str, Any], path: Path) -> Path:
    path.write_text(html(made), encoding="utf-8")
    return path
