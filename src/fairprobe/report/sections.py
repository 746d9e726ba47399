"""The sections of a report, in order: what each is called, and the function that makes its blocks from the content.

A section with nothing to say is absent. A new section is one function and one line in `CHAPTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fairprobe.blocks import Block, Items, Section, Sentence
from fairprobe.report import findings, method, reasons
from fairprobe.report.content import Content, missing_of
from fairprobe.wording import closed, outcome_words

Make = Callable[[Content], list[Block]]

CHAPTERS: Mapping[str, Mapping[str, tuple[str, Make]]] = {
    "What was found": {
        "rows": ("Real rows that get another answer", findings.rows),
        "shares": ("How common it is", findings.shares),
        "regions": ("Where it happens most", findings.regions),
        "cases": ("Cases, before and after", findings.cases),
    },
    "Why": {
        "directions": ("Who is worse off", reasons.directions),
        "influence": ("Which parameters matter", reasons.influence),
        "inside": ("Inside the model", reasons.inside),
        "proxies": ("Which columns reveal the sensitive parameters", reasons.proxies),
    },
    "What would change it": {
        "remedies": ("What would end it, simulated", reasons.remedies),
        "retraining": ("Retraining", reasons.retraining),
        "sensitivity": ("What the verdict depends on", reasons.sensitivity),
    },
    "How it was measured": {
        "question": ("What was asked", method.question),
        "sampling": ("What was sampled", method.sampling),
        "convergence": ("Convergence", method.convergence),
        "impact": ("Impact ratios", method.impact),
        "health": ("Remarks", method.health),
        "limitations": ("Limitations", method.limitations),
    },
    "For the record": {
        "record": ("Model, data and settings", method.record),
        "attempts": ("Attempts", method.attempts),
        "sign-off": ("Sign-off", method.sign_off),
    },
}
"""By chapter and by name, the title of a section and its function."""


def chapters(content: Content) -> tuple[Section, ...]:
    """The chapters with their sections; those with nothing to say are left out."""
    made = [Section(title, tuple(_sections(content, sections))) for title, sections in CHAPTERS.items()]
    return tuple(chapter for chapter in made if chapter.blocks)


def _sections(content: Content, sections: Mapping[str, tuple[str, Make]]) -> Iterator[Section]:
    missing = missing_of(content)
    for name, (title, make) in sections.items():
        blocks = [Sentence(closed(missing[name]))] if name in missing else make(content)
        if blocks:
            yield Section(title, tuple(blocks), name)


def head(content: Content) -> list[Block]:
    """The verdict, and whether the audit was interrupted."""
    interrupted, verdict = content["about"]["interrupted"], content["verdict"]
    blocks: list[Block] = []
    if interrupted:
        text = f"The audit stopped in this phase: {closed(interrupted)} The report shows what was known by then."
        blocks.append(Sentence(text, "Interrupted"))
    blocks.append(Sentence(verdict_words(verdict), outcome_words(verdict)))
    sides = tuple(side["sentence"] for side in verdict["directions"])
    return [*blocks, Items(sides)] if sides else blocks


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """The verdict's sentence without the outcome, which stands before it.

    >>> verdict_words({"outcome": "passed", "condition": None, "sentence": "passed: at most 1% change"})
    'At most 1% change.'
    """
    outcome = ", ".join(filter(None, [verdict["outcome"], verdict["condition"]]))
    sentence = str(verdict["sentence"]).removeprefix(f"{outcome}: ")
    return closed(sentence[:1].upper() + sentence[1:])
