"""What stands in a report, and in which order. A section with nothing to say is absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Content = Mapping[str, Any]


class Section(NamedTuple):
    """A part of a chapter."""

    name: str
    title: str


CHAPTERS = {
    "What was found": {
        "rows": "Real rows that flip",
        "shares": "How common it is",
        "regions": "Where it happens most",
        "cases": "Cases, before and after",
    },
    "Why": {
        "directions": "Who is worse off",
        "influence": "What it hangs on",
        "inside": "Inside the model",
        "proxies": "What gives the sensitive parameters away",
    },
    "What would change it": {
        "remedies": "What would end it, simulated",
        "retraining": "Retraining",
        "sensitivity": "What the verdict hangs on",
    },
    "How it was measured": {
        "question": "What was asked",
        "sampling": "What was sampled",
        "convergence": "Convergence",
        "impact": "Impact ratios, beside",
        "health": "Remarks",
        "limitations": "Limitations",
    },
    "For the record": {
        "record": "Model, data and settings",
        "attempts": "Attempts",
        "sign-off": "Sign-off",
    },
}
"""The titles of all sections, in order."""

PLOTS = {
    "influence": ("influence", "How often another value ends a case, by parameter"),
    "curves": ("influence", "The gap along the strongest parameters"),
    "directions": ("directions", "How often it is the one way, and how often the other"),
    "convergence": ("convergence", "The estimate as inputs were drawn"),
    "front": ("retraining", "Accuracy and share of each round"),
}
"""By plot, the section that it stands in and its title."""


def chapters(content: Content) -> dict[str, list[Section]]:
    """By chapter, the sections that have something to say."""
    told = {
        title: [Section(name, words) for name, words in sections.items() if has(content, name)]
        for title, sections in CHAPTERS.items()
    }
    return {title: sections for title, sections in told.items() if sections}


def has(content: Content, section: str) -> bool:
    """Whether a section has something to say."""
    why = content["why"] or {}
    about = {
        "rows": content["rows"]["flips"],
        "regions": why.get("regions"),
        "directions": (why.get("directions") or {}).get("directions"),
        "influence": (why.get("influence") or {}).get("parameters"),
        "inside": (why.get("inside") or {}).get("sentences"),
        "remedies": why.get("remedies"),
        "health": health_of(content),
        "attempts": len(content["about"]["attempts"]) > 1,
        "convergence": "convergence" in content["plots"],
        "record": True,
        "sign-off": True,
    }
    return bool(section in missing_of(content) or (about[section] if section in about else content[section]))


def missing_of(content: Content) -> Mapping[str, str]:
    """By section, why it was not measured, where there was no room to."""
    return (content["why"] or {}).get("not_measured") or {}


def health_of(content: Content) -> list[Mapping[str, Any]]:
    """All remarks, each once."""
    told = [*content["health"], *(each for share in content["shares"] for each in share["health"])]
    return list({(each["check"], each["message"]): each for each in reversed(told)}.values())[::-1]


def section_of_plot(name: str) -> str:
    """Where a plot stands; one that is not known, beside the influence."""
    return PLOTS.get(name, ("influence", ""))[0]


def plot_words(content: Content, name: str) -> str:
    """What a plot shows, for those who do not see it: the sentences that say the same."""
    why = content["why"] or {}
    section, title = PLOTS.get(name, ("influence", name))
    told = (why.get(section) or {}).get("sentences", [])
    if section == "convergence":
        told = [share["sentence"] for share in content["shares"] if share["is_main"] and share["history"]]
    return " ".join([f"{title}.", *told])


def held_of(content: Content) -> list[Mapping[str, Any]]:
    """What is held against a limit: the shares that it binds, or the sides that have one of their own."""
    verdict, limit = content["verdict"], content["question"]["max_share"]
    sides = verdict["directions"]
    if sides:
        return [{**side, "who": [f"{side['combination']} worse off"]} for side in sides]
    bound = (share for share in content["shares"] if share["id"] in verdict["bound"])
    return [{**share, "who": share["sensitive"], "limit": limit} for share in bound]


def scale_of(content: Content) -> float:
    """Where the axis of the shares ends: a round figure beyond all intervals and limits."""
    held = held_of(content)
    ends = [each["high"] for each in (*content["shares"], *held) if each["high"] is not None]
    most = max([*ends, *(1.2 * (each["limit"] or 0.0) for each in held), 1e-6])
    size = 10.0**-9
    while size * 10 < most:
        size *= 10
    return min(1.0, next(step * size for step in (1.5, 2, 3, 4, 5, 6, 8, 10) if step * size >= most))
