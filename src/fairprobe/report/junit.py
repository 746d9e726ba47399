"""The verdict as JUnit XML, which continuous integration shows: violated is a failure, inconclusive an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from fairprobe.report.content import Content, share_words
from fairprobe.wording import answer, counted, isolated, percent, value

MOST_CASES = 10
"""Cases that are listed in a group."""

ELEMENTS = {"violated": "failure", "inconclusive": "error"}


def junit(content: Content) -> str:
    """An audit's content as JUnit XML: a test for the verdict, each share or side that a limit binds, each case group.

    The limit is about shares, so a group of cases fails only along with the verdict.

    Args:
        content: what is in `audit.json`.
    """
    suite = ET.Element("testsuite", name=isolated(content["title"]))
    properties = ET.SubElement(suite, "properties")
    for name, text in _properties(content).items():
        ET.SubElement(properties, "property", name=name, value=isolated(text))
    verdict = content["verdict"]
    _test(suite, "verdict", "verdict", verdict["outcome"], verdict["sentence"], _interrupted(content))
    for share in content["shares"]:
        if share["id"] in verdict["bound"] and content["question"]["max_share"] is not None:
            worse_off = f"most often worse off: {share['worse_off']}" if share["worse_off"] else ""
            outcome = verdict["outcomes"][share["id"]]
            condition = f"{outcome}, {verdict['condition']}: " if outcome == "passed" and verdict["condition"] else ""
            _test(suite, "share", share_words(share), outcome, condition + share["sentence"], worse_off)
    for side in verdict["directions"]:
        name = f"{side['combination']} worse off, {side['twins']}"
        _test(suite, "direction", name, side["outcome"], side["sentence"], "")
    for parameters, cases in _groups(content).items():
        outcome = "violated" if verdict["outcome"] == "violated" else "passed"
        lines = "\n".join(map(_line, cases[:MOST_CASES]))
        _test(suite, "cases", f"parted by {parameters}", outcome, counted(len(cases), "case"), lines)
    tests = suite.findall("testcase")
    counts = {f"{name}s": str(sum(each.find(name) is not None for each in tests)) for name in ("failure", "error")}
    suite.attrib |= {"tests": str(len(tests)), **counts}
    root = ET.Element("testsuites", {"tests": str(len(tests)), **counts})
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _test(suite: ET.Element, kind: str, name: str, outcome: str, message: str, more: str) -> None:
    test = ET.SubElement(suite, "testcase", classname=f"fairprobe.{kind}", name=isolated(name))
    if outcome in ELEMENTS:
        ET.SubElement(test, ELEMENTS[outcome], message=isolated(message), type=outcome).text = isolated(more)
    else:
        ET.SubElement(test, "system-out").text = isolated("\n".join(filter(None, [message, more])))


def _properties(content: Content) -> dict[str, str]:
    about, question = content["about"], content["question"]
    return {
        "model": value(about["model"]["name"]),
        "model_hash": about["model"]["hash"] or "none",
        "data": value(about["data"]["name"] or "rows"),
        "data_hash": about["data"]["hash"],
        "sensitive": ", ".join(map(value, question["sensitive"])),
        "max_share": "none" if question["max_share"] is None else percent(question["max_share"]),
        "seed": str(about["seed"]),
        "selfcheck": about["selfcheck"]["line"] if about["selfcheck"] else "not run",
        "digest": content["digest"],
    }


def _interrupted(content: Content) -> str:
    interrupted = content["about"]["interrupted"]
    return f"interrupted while it was at: {interrupted}" if interrupted else ""


def _groups(content: Content) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for case in content["cases"]:
        groups.setdefault(case["parameters"], []).append(case)
    return groups


def _line(case: Mapping[str, Any]) -> str:
    one, twin = case["case"], case["twin"]
    changes = ", ".join(f"{value(name)} {value(one.get(name))} -> {value(after)}" for name, after in twin.items())
    same = [f"{value(name)} {value(of)}" for name, of in one.items() if name not in twin]
    return ", ".join([f"case {case['id']}: {changes} ({' -> '.join(map(answer, case['outputs']))})", *same])
