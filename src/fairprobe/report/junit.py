"""Turns an audit's verdict into JUnit XML for continuous integration: violated is a failure, inconclusive an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from fairprobe.report.content import Content, changes_of, names, population_title, same_words
from fairprobe.wording import TWINS, answer, closed, isolated, percent, value

MOST_CASES = 10
"""Largest number of cases listed with the verdict's test; chosen."""

ELEMENTS = {"violated": "failure", "inconclusive": "error"}


def junit(content: Content) -> str:
    """Return an audit's content as JUnit XML, with one test for the verdict and one for each share with a limit.

    Args:
        content: the object in `audit.json`.
    """
    suite = ET.Element("testsuite", name=isolated(content["title"]))
    properties = ET.SubElement(suite, "properties")
    for name, text in _properties(content).items():
        ET.SubElement(properties, "property", name=name, value=isolated(text))
    outcomes = []
    for kind, name, outcome, message, more in _tests(content):
        test = ET.SubElement(suite, "testcase", classname=f"fairprobe.{kind}", name=isolated(name))
        outcomes.append(ELEMENTS.get(outcome))
        if outcome in ELEMENTS:
            ET.SubElement(test, ELEMENTS[outcome], message=isolated(message), type=outcome).text = isolated(more)
        else:
            ET.SubElement(test, "system-out").text = isolated("\n".join(filter(None, [message, more])))
    counts = {f"{element}s": str(outcomes.count(element)) for element in ELEMENTS.values()}
    suite.attrib |= {"tests": str(len(outcomes)), **counts}
    root = ET.Element("testsuites", {"tests": str(len(outcomes)), **counts})
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _tests(content: Content) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a tuple for each test in the XML: its kind, name, outcome, message and details."""
    verdict, interrupted = content["verdict"], content["about"]["interrupted"]
    lines = [f"interrupted while it was at: {interrupted}"] if interrupted else []
    lines += map(closed, verdict["details"])
    lines += map(_line, content["cases"][:MOST_CASES])
    yield "verdict", "verdict", verdict["outcome"], verdict["sentence"], "\n".join(lines)
    for share in content["shares"]:
        outcome = verdict["outcomes"].get(share["id"])
        if outcome is not None and content["question"]["max_share"] is not None:
            twins = TWINS.get(share["twins"], share["twins"])
            name = f"{population_title(share)}, {twins}: {names(share['sensitive'])}"
            condition = f"{outcome}, {verdict['condition']}: " if outcome == "passed" and verdict["condition"] else ""
            more = f"most often worse off: {share['worse_off']}" if share["worse_off"] else ""
            yield "share", name, outcome, condition + share["sentence"], more
    for told in content["ratios"]:
        if told["id"] in verdict["outcomes"]:
            outcome = verdict["outcomes"][told["id"]]
            yield "ratio", f"observed rates by {value(told['sensitive'])}", outcome, told["sentence"], ""
    for side in verdict["directions"]:
        yield "direction", f"{side['combination']} worse off, {side['twins']}", side["outcome"], side["sentence"], ""


def _properties(content: Content) -> dict[str, str]:
    about, question = content["about"], content["question"]
    return {
        "model": value(about["model"]["name"]),
        "model_hash": about["model"]["hash"] or "none",
        "data": value(about["data"]["name"] or "rows"),
        "data_hash": about["data"]["hash"],
        "sensitive": ", ".join(map(value, question["sensitive"])),
        "min_ratio": "none" if question["min_ratio"] is None else percent(question["min_ratio"]),
        "max_share": "none" if question["max_share"] is None else percent(question["max_share"]),
        "seed": str(about["seed"]),
        "selfcheck": about["selfcheck"]["line"] if about["selfcheck"] else "not run",
        "digest": content["digest"],
    }


def _line(case: Any) -> str:
    changes = ", ".join(f"{value(name)} {value(before)} -> {value(after)}" for name, before, after in changes_of(case))
    told = f"case {case['id']}: {changes} ({' -> '.join(map(answer, case['outputs']))})"
    return ", ".join(filter(None, [told, same_words(case)]))
