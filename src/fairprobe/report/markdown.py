"""The report as Markdown: what fits a pull request or a wiki, with every value as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairprobe.report.phrases import (
    between,
    confidence,
    count,
    flips_words,
    number_of,
    retrained_rows,
    retrained_words,
    verdict_words,
)
from fairprobe.report.sections import Content, health_of, missing_of
from fairprobe.wording import (
    DIRECTIONAL,
    NOT_MEASURED,
    OUTCOMES,
    ROLES,
    answer,
    figure,
    outcome_words,
    percent,
    said,
    shown,
)
from fairprobe.wording import POPULATION_TITLES as POPULATIONS

MOST_CASES = 20
"""Cases, and rows that flip, that are listed; all of them are in `audit.json`."""

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKS = re.compile(r"[\\`*_\[\]|~#$@!{}]")
_LINKS = re.compile(r"(?i)(?<=http|xmpp)(?=:)|(?<=https)(?=:)|(?<=ftp)(?=:)|(?<=www)(?=\.)|(?<=mailto)(?=:)")
_START = re.compile(r"^(?=[-+=:])|(?<=^\d)(?=[.)]\s)|(?<=^\d\d)(?=[.)]\s)")
"""Where a backslash keeps what follows from being a link, or the beginning of a list or a heading's underline."""


def markdown(content: Content) -> str:
    """An audit's content as Markdown.

    Args:
        content: what is in `audit.json`.
    """
    parts = [
        _verdict(content),
        _shares(content),
        _rows(content),
        _regions(content),
        _cases(content),
        _why(content),
        _sensitivity(content),
        _sampling(content),
        _impact(content),
        _listed("Remarks", [f"{each['check']}: {each['message']}" for each in health_of(content)]),
        _listed("Limitations", content["limitations"]),
        _record(content),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# Text that stays text


def text(words: Any) -> str:
    r"""A sentence as Markdown that shows as it is.

    >>> print(text("a|b <c> `d`"))
    a\|b &lt;c&gt; \`d\`
    """
    line = " ".join(re.split(r"\s*[\r\n\t]+\s*", said(words).strip()))
    return _START.sub(r"\\", _inert(line))


def value(of: Any) -> str:
    """A value: its direction, and all that turns it, stays inside."""
    whole = shown(of).replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎").replace("\t", "⇥")
    told = _inert(whole)
    return f"\u2068{told}\u2069" if DIRECTIONAL.search(told) else told


def _inert(line: str) -> str:
    line = _MARKS.sub(lambda found: f"\\{found.group()}", line).translate(_ENTITIES)
    return _LINKS.sub(r"\\", line)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts that are Markdown already; a column whose name begins with # is of numbers."""
    rule = ["---:" if name.startswith("#") else "---" for name in head]
    lines = [[name.lstrip("#") for name in head], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _listed(title: str, sentences: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {text(each)}" for each in sentences) if sentences else ""


# The parts


def _verdict(content: Content) -> str:
    about, verdict = content["about"], content["verdict"]
    lines = [f"# {text(content['title'])}"]
    if about["interrupted"]:
        lines.append(f"**Interrupted** while it was at: {text(about['interrupted'])}. What follows was known by then.")
    lines.append(f"**{text(outcome_words(verdict))}.** {text(verdict_words(verdict))}")
    return "\n\n".join([*lines, *(f"- {text(side['sentence'])}" for side in verdict["directions"])])


def _shares(content: Content) -> str:
    return "## How common it is\n\n" + shares_table(content, content["shares"]) if content["shares"] else ""


def shares_table(content: Content, shares: Iterable[Mapping[str, Any]]) -> str:
    """Shares with their intervals; those that the limit binds are marked."""
    bound = content["verdict"]["bound"] if content["question"]["max_share"] is not None else []
    rows = [
        [
            POPULATIONS.get(share["population"], value(share["population"])),
            value(share["twins"]),
            " and ".join(map(value, share["sensitive"])) + (" (bound by the limit)" if share["id"] in bound else ""),
            percent(share["value"]),
            "exact" if share["method"] == "exact" else between(share),
            confidence(share),
            f"{count(share['hits'])} of {count(share['n'])}",
        ]
        for share in shares
    ]
    return table(["Population", "Twins", "Sensitive", "#Share", "Interval", "#Confidence", "#Hits"], rows)


def _rows(content: Content) -> str:
    flips = content["rows"]["flips"]
    if not flips:
        return ""
    rows = [[value(flip["row"]), _changes(flip["changes"]), _answers(flip["answers"])] for flip in flips[:MOST_CASES]]
    told = f"{flips_words(content)}; {len(rows)} are listed."
    return f"## Real rows that flip\n\n{told}\n\n{table(['Row', 'What differs', 'Answers'], rows)}"


def _changes(changes: Iterable[Sequence[Any]]) -> str:
    return ", ".join(f"{value(name)} {value(before)} → {value(after)}" for name, before, after in changes)


def _answers(answers: Mapping[str, Any]) -> str:
    return ", ".join(f"{value(who)}: {value(answer(output))}" for who, output in answers.items())


def _regions(content: Content) -> str:
    regions = (content["why"] or {}).get("regions")
    if not regions:
        missing = missing_of(content).get("regions")
        return f"## Where it happens most\n\n{text(missing)}" if missing else ""
    rows = [
        [
            str(number),
            value(region["text"]),
            percent(region["precision"]),
            between(region) if region["n"] else NOT_MEASURED,
            percent(region["coverage"]),
            "no rows" if region["n_rows"] is None else count(region["n_rows"]),
            text((region["in_data"] or {}).get("verdict") or "no labels"),
        ]
        for number, region in enumerate(regions, start=1)
    ]
    head = ["#Place", "Region", "#Cases among its inputs", "Interval", "#Of the cases", "#Real people", "In the data"]
    return "## Where it happens most\n\n" + table(head, rows)


def _cases(content: Content) -> str:
    cases = content["cases"]
    if not cases:
        return ""
    shown_cases = cases[:MOST_CASES]
    told = f"{number_of(len(cases), 'case')}, {len(shown_cases):,} listed. They come from a search: how many there are "
    told += "says nothing of how common they are."
    return f"## Cases, before and after\n\n{told}\n\n{cases_table(shown_cases)}"


def cases_table(cases: Iterable[Mapping[str, Any]]) -> str:
    """Cases as pairs: what differs, what is the same, what the model answers."""
    rows = []
    for each in cases:
        one, twin = each["case"], each["twin"]
        same = ", ".join(f"{value(name)} {value(of)}" for name, of in one.items() if name not in twin)
        differs = _changes((name, one.get(name), after) for name, after in twin.items())
        outputs = " → ".join(value(answer(output)) for output in each["outputs"])
        rows.append([value(each["id"]), differs, outputs, figure(each["severity"]), same])
    return table(["Case", "What differs", "Answers", "#Severity", "The same"], rows)


def _why(content: Content) -> str:
    why = content["why"] or {}
    told = [
        sentence
        for part in ("directions", "influence", "severity", "inside")
        for sentence in (why.get(part) or {}).get("sentences", [])
    ]
    told += [content["proxies"]["sentence"]] if content["proxies"] else []
    missing = missing_of(content)
    told += why.get("label_sentences", [])
    told += [missing[part] for part in ("directions", "influence") if part in missing]
    remedies = [each["sentence"] for each in why.get("remedies") or []][:4] or [
        *filter(None, [missing.get("remedies")])
    ]
    parts = [_listed("Why", told), _listed("What would end it, simulated", remedies), _retraining(content)]
    return "\n\n".join(part for part in parts if part)


def _retraining(content: Content) -> str:
    told = content["retraining"]
    if not told:
        return ""
    rows = [
        [
            text(retrained_rows(told, name)),
            percent(told["before"][name]["value"]),
            percent(after["value"]),
            between(after),
        ]
        for name, after in told["after"].items()
    ]
    rows.append(["Accuracy", percent(told["accuracy_before"]), percent(told["accuracy_after"]), ""])
    head = ["Of", "#Before", "#After", "Interval after"]
    return f"## Retraining\n\n{text(retrained_words(told))}\n\n{table(head, rows)}"


def _sensitivity(content: Content) -> str:
    rows = [
        [
            value(each["what"]),
            OUTCOMES.get(each["outcome"], value(each["outcome"])),
            percent(each["value"]),
            between(each),
        ]
        for each in content["sensitivity"]
    ]
    head = ["Changed", "Verdict", "#Share", "Interval"]
    return "## What the verdict hangs on\n\n" + table(head, rows) if rows else ""


def _sampling(content: Content) -> str:
    rows = [
        [value(each[name]) for name in ("phase", "what", "distribution")]
        + [count(each[name]) for name in ("n_inputs", "n_queries")]
        for each in content["sampling"]
    ]
    sent = content["about"]["model"].get("n_sent")
    if sent is not None:
        rows.append(["all", "rows sent to the service: without those remembered, with repeats", "", "", count(sent)])
    head = ["Phase", "What", "Drawn from", "#Inputs", "#Queries"]
    return "## What was sampled\n\n" + table(head, rows) if rows else ""


def _impact(content: Content) -> str:
    rows = [
        [
            f"{value(each['sensitive'])}: {value(each['value'])}",
            count(each["n"]),
            percent(each["rate"]),
            "undefined" if each["ratio"] is None else figure(each["ratio"]),
        ]
        for each in content["impact"]
    ]
    told = "Rates of the favourable answer on rows as they are. Shown beside; no claim of compliance."
    head = ["Group", "#Rows", "#Rate", "#Ratio"]
    return f"## Impact ratios, beside\n\n{told}\n\n{table(head, rows)}" if rows else ""


def _record(content: Content) -> str:
    return "## For the record\n\n" + "\n".join(f"- {name}: {told}" for name, told in record_lines(content).items())


def record_lines(content: Content) -> dict[str, str]:
    """What identifies the audit, by name."""
    about = content["about"]
    model, data = about["model"], about["data"]
    lines = {
        "Model": f"{value(model['name'])}, {value(model['kind'])}, {value(model['hash'] or 'no hash')}",
        "Data": f"{value(data['name'] or 'rows')}, {number_of(data['n_rows'], 'row')}, "
        f"{ROLES.get(data['role'], value(data['role']))}, {value(data['hash'])}",
        "Settings": value(about["config_hash"]),
        "Seed": value(about["seed"]),
        "Date": value(about["date"] or "not given"),
        "Versions": ", ".join(f"{value(name)} {value(version)}" for name, version in about["versions"].items()),
        "Selfcheck": text(about["selfcheck"]["line"] if about["selfcheck"] else "not run"),
        "Attempts": f"{number_of(len(about['attempts']), 'run')} on this model and data, this one included",
        "Digest of audit.json": value(content["digest"]),
    }
    return lines | ({"Again": value(about["command"])} if about["command"] else {})
