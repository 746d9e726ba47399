"""A section for a model card, in Markdown: what a reader of the model must know, in half a page."""

from __future__ import annotations

from fairprobe.report.markdown import record_lines, shares_table, text, value
from fairprobe.report.phrases import verdict_words
from fairprobe.report.sections import Content
from fairprobe.wording import outcome_words, percent

SHOWN = ("Model", "Data", "Date", "Versions", "Digest of audit.json")


def model_card(content: Content) -> str:
    """An audit's content as the section of a model card on individual discrimination.

    Args:
        content: what is in `audit.json`.
    """
    verdict, question = content["verdict"], content["question"]
    limit = question["max_share"]
    lines = [
        "## Individual discrimination",
        f"**{text(outcome_words(verdict))}.** {text(verdict_words(verdict))}",
        "Measured is the share of a population whose answer changes when only "
        f"{' or '.join(map(value, question['sensitive']))}, and what is linked to it, is another"
        + (f"; the limit was {percent(limit)}." if limit is not None else "; no limit was given."),
        shares_table(content, [share for share in content["shares"] if share["is_main"]]),
    ]
    if content["about"]["interrupted"]:
        lines.insert(1, f"**Interrupted** while it was at: {text(content['about']['interrupted'])}.")
    directions = ((content["why"] or {}).get("directions") or {}).get("sentences", [])
    lines += [f"Who is worse off: {text(' '.join(directions))}"] if directions else []
    if content["limitations"]:
        lines.append("### Limitations\n\n" + "\n".join(f"- {text(each)}" for each in content["limitations"]))
    told = record_lines(content)
    lines.append("### The audit\n\n" + "\n".join(f"- {name}: {told[name]}" for name in SHOWN))
    return "\n\n".join(lines) + "\n"
