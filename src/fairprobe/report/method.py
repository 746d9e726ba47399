"""Sections of a report on how it was measured, and for the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fairprobe.blocks import Block, Code, Items, Sentence, Table
from fairprobe.report.content import Columns, Content, health_of, outcome_of, plots_in, table_of
from fairprobe.wording import ROLES, counted, figure, listed, magnitude, percent, value


def question(content: Content) -> Iterator[Block]:
    """The sensitive parameters, the limits and the domain."""
    columns: Columns = {
        "Parameter": ("name", value),
        "Kind": ("kind", value),
        "Values": ("words", value),
        "Role": lambda each: "sensitive" if each["is_sensitive"] else "",
    }
    yield Table.of_facts(_asked(content))
    yield from table_of(content["domain"]["parameters"], columns)


def _asked(content: Content) -> Iterator[tuple[str, str]]:
    asked, domain = content["question"], content["domain"]
    for name, values in asked["sensitive"].items():
        yield value(name), f"sensitive; compared are {', '.join(map(value, values))}"
    if asked["output"] == "label":
        yield "Discriminatory", "if the labels of an input and its twins are not all equal"
    else:
        gap = f"lie more than {figure(asked['threshold'])} apart"
        yield "Discriminatory", f"if the outputs ({asked['output']}) of an input and its twins {gap}"
    if asked["favourable"] is not None:
        yield "Favourable", value(asked["favourable"])
    if asked["max_share"] is not None:
        limit = f"at most {percent(asked['max_share'])} of the {asked['gate']}, with {percent(asked['confidence'])}"
        yield "Limit", f"{limit} confidence; at least {percent(asked['min_comparable'])} must be comparable"
    for combination, limit in asked["directions"].items():
        yield "Limit for one side", f"{value(combination)} worse off: at most {percent(limit)}"
    n_valid = "" if domain["n_valid"] is None else f", {magnitude(domain['n_valid'])} of them allowed"
    yield "Domain", f"{magnitude(domain['n_inputs'])} inputs{n_valid}"
    yield from (("Link", value(link)) for link in domain["links"])
    yield from (("Rule", value(rule)) for rule in domain["constraints"])
    if domain["hidden"]:
        yield "Hidden", f"{', '.join(map(value, domain['hidden']))}: not taken by the model"


def sampling(content: Content) -> Iterator[Block]:
    """The inputs of each phase and the queries that they took."""
    phases, sent = content["sampling"], content["about"]["model"].get("n_sent")
    columns: Columns = {
        "Phase": ("phase", value),
        "What": ("what", value),
        "Drawn from": ("distribution", value),
        "#Inputs": ("n_inputs", magnitude),
        "#Queries": ("n_queries", magnitude),
    }
    totals = {"All queries": magnitude(sum(each["n_queries"] for each in phases))}
    if sent is not None:
        totals["Rows sent to the service, with repeats and without remembered answers"] = magnitude(sent)
    if phases:
        yield from table_of(phases, columns)
        yield Table.of_facts(totals)


def convergence(content: Content) -> Iterator[Block]:
    """The running estimate as a drawing."""
    told = [share["sentence"] for share in content["shares"] if share["is_main"] and share["history"]]
    yield from plots_in(content, "convergence", told)


def impact(content: Content) -> Iterator[Block]:
    """Rates of the favourable answer by group."""
    text = (
        "How often the model gives the favourable answer to the rows as they are, by group, and the ratio to the group "
        "that gets it most often. A difference between groups is not a difference between twins. The ratio is the one "
        "of New York City's Local Law 144; this report claims no compliance."
    )
    columns: Columns = {
        "Group": lambda each: f"{value(each['sensitive'])}: {value(each['value'])}",
        "#Rows": ("n", magnitude),
        "#Favourable": ("favourable", magnitude),
        "#Rate": ("rate", percent),
        "#Ratio": lambda each: "undefined" if each["ratio"] is None else figure(each["ratio"]),
    }
    yield from table_of(content["impact"], columns, text)


def health(content: Content) -> Iterator[Block]:
    """The health checks that have something to say."""
    told = health_of(content)
    if told:
        yield Table.of_facts((value(each["check"]), each["message"]) for each in told)


def limitations(content: Content) -> Iterator[Block]:
    """What the audit does not say."""
    if content["limitations"]:
        yield Items(tuple(content["limitations"]))


def record(content: Content) -> Iterator[Block]:
    """What identifies the audit, and its settings."""
    about = content["about"]
    yield Table.of_facts(identity(content))
    if about["command"]:
        yield Code(about["command"], "To repeat it")
    lines = (f"{name} = {json.dumps(each, ensure_ascii=False)}" for name, each in about["config"].items())
    yield Code("\n".join(lines), "All settings")


def identity(content: Content) -> dict[str, str]:
    """What identifies the audit, by name."""
    about = content["about"]
    model, data = about["model"], about["data"]
    hash_of = f" of {model['hash_of']}" if model.get("hash_of") else ""
    facts: dict[str, Any] = {
        "Model": f"{value(model['name'])}, {value(model['kind'])}, {model['hash'] or 'no hash'}{hash_of}",
        "Data": f"{value(data['name'] or 'rows')}, {counted(data['n_rows'], 'row')}, "
        f"{ROLES.get(data['role'], data['role'])}, {data['hash']}",
        "Settings": about["config_hash"],
        "Seed": about["seed"],
        "Date": value(about["date"] or "not given"),
        "Versions": listed(f"{value(name)} {value(version)}" for name, version in about["versions"].items()),
        "Selfcheck": about["selfcheck"]["line"] if about["selfcheck"] else "not run",
        "Attempts": f"{counted(len(about['attempts']), 'run')} on this model and data, with this one",
        "Masked": ", ".join(map(value, about["masked"])),
        "Digest of audit.json": content["digest"],
    }
    return {name: str(fact) for name, fact in facts.items() if fact != ""}


def attempts(content: Content) -> Iterator[Block]:
    """All runs on the same model and data."""
    runs = content["about"]["attempts"]
    columns: Columns = {
        "#Seed": ("seed", value),
        "Date": lambda each: value(each["date"] or "not given"),
        "Verdict": outcome_of,
        "Settings": lambda each: each["config_hash"][:19],
        "Which": lambda each: "this one" if each["is_this"] else "",
    }
    text = "All runs on this model and these rows. They are listed so that nobody repeats an audit until it passes."
    yield from table_of(runs if len(runs) > 1 else [], columns, text)


def sign_off(_: Content) -> Iterator[Block]:
    """Lines for two names."""
    text = "The figures hold for the domain, threshold and populations stated above. They promise nothing beyond them."
    yield Sentence(text)
    lines = [(line, "", "") for line in ("Name", "Role", "Date", "Signature")]
    yield Table.of(["", "Prepared by", "Reviewed by"], lines)
