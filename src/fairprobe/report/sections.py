"""The chapters of a report and their sections, in order, as blocks made from the content.

A section with nothing to say is absent. A new section is one function and one line in `CHAPTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from fairprobe.blocks import Block, Items, Section, Sentence
from fairprobe.report import findings, method
from fairprobe.report.content import Content
from fairprobe.wording import capital, closed, outcome_words

Make = Callable[[Content], Iterable[Block]]

TAGS = {
    "ai-act": (
        "AI Act",
        "EU AI Act, Annex IV 2(g): validation and testing, metrics, discriminatory impacts, signed logs",
    ),
    "nist": ("NIST 2.11", "NIST AI RMF, MEASURE 2.11: fairness and bias are evaluated and results are documented"),
    "sr-11-7": ("SR 11-7", "SR 11-7: model validation, outcomes analysis, limitations, documentation"),
    "ecoa": ("ECOA", "ECOA and Regulation B: no different treatment on a prohibited basis"),
}
"""The short name beside a section's title, and the text that asks for the section. See `docs/report-fields.md`."""

CHAPTERS: Mapping[str, Mapping[str, tuple[str, Make, str]]] = {
    "What was found": {
        "rows": ("Real rows that get another answer", findings.rows, "ai-act nist ecoa"),
        "shares": ("How common it is", findings.shares, "ai-act nist sr-11-7 ecoa"),
        "regions": ("Where it happens most", findings.regions, "nist sr-11-7"),
        "cases": ("Cases, before and after", findings.cases, "ai-act ecoa"),
    },
    "Why": {
        "directions": ("Who is worse off", findings.directions, "nist ecoa"),
        "influence": ("Which parameters matter", findings.influence, "nist sr-11-7"),
        "inside": ("Inside the model", findings.inside, ""),
        "proxies": ("Which columns reveal the sensitive parameters", findings.proxies, "nist ecoa"),
    },
    "What would change it": {
        "remedies": ("What would end it, simulated", findings.remedies, "nist"),
        "retraining": ("Retraining", findings.retraining, "nist sr-11-7"),
        "sensitivity": ("What the verdict depends on", findings.sensitivity, "sr-11-7"),
    },
    "How it was measured": {
        "question": ("What was asked", method.question, "ai-act sr-11-7"),
        "sampling": ("What was sampled", method.sampling, "ai-act sr-11-7"),
        "convergence": ("Convergence", method.convergence, "sr-11-7"),
        "impact": ("Impact ratios", method.impact, "nist ecoa"),
        "health": ("Remarks", method.health, "sr-11-7"),
        "limitations": ("Limitations", method.limitations, "ai-act sr-11-7"),
    },
    "For the record": {
        "record": ("Model, data and settings", method.record, "ai-act sr-11-7"),
        "attempts": ("Attempts", method.attempts, ""),
        "sign-off": ("Sign-off", method.sign_off, "ai-act sr-11-7"),
    },
}
"""By chapter and by name, the title of a section, its function, and who asks for it."""

ASKED_BY = {name: asked for sections in CHAPTERS.values() for name, (_, _, asked) in sections.items()}
"""By section and for the verdict, who asks for it."""
ASKED_BY["verdict"] = "ai-act nist ecoa"


def chapters(content: Content, but: Collection[str] = ()) -> Iterator[Section]:
    """The chapters with their sections, but some; those with nothing to say are left out."""
    missing = (content["why"] or {}).get("not_measured") or {}
    for title, sections in CHAPTERS.items():
        parts = []
        for name, (heading, make, _) in sections.items():
            blocks = (Sentence(closed(missing[name])),) if name in missing else tuple(make(content))
            parts += [Section(heading, blocks, name)] if blocks and name not in but else []
        if parts:
            yield Section(title, tuple(parts))


def head(content: Content) -> Iterator[Block]:
    """The verdict, and whether the audit was interrupted."""
    interrupted, verdict = content["about"]["interrupted"], content["verdict"]
    if interrupted:
        text = f"The audit stopped in this phase: {closed(interrupted)} The report shows what was known by then."
        yield Sentence(text, "Interrupted")
    yield Sentence(capital(closed(verdict["why"])), outcome_words(verdict))
    if verdict["directions"]:
        yield Items(tuple(side["sentence"] for side in verdict["directions"]))
