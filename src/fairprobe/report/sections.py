"""Sections of a report on method and record, and the chapters that hold all sections.

A section is a function that makes blocks from the content. A section without blocks is left out. A new section is one
function and one line in `CHAPTERS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from fairprobe.blocks import Block, Code, Items, Section, Sentence, Table
from fairprobe.report import findings
from fairprobe.report.content import Columns, Content, health_of, outcome_of, plots_in, table_of
from fairprobe.wording import ROLES, capital, closed, counted, figure, listed, magnitude, outcome_words, percent, value

# How it was measured


def question(content: Content) -> Iterator[Block]:
    """Yield the section on the sensitive parameters, the limits and the domain."""
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
    """Yield the section on how many inputs each phase drew, from where, and how many queries it took."""
    phases, sent = content["sampling"], content["about"]["model"].get("n_sent")
    columns: Columns = {
        "Phase": ("phase", value),
        "What": ("what", value),
        "Drawn from": ("distribution", value),
        "#Inputs": ("n_inputs", magnitude),
        "#Queries": ("n_queries", magnitude),
    }
    what = "All queries but those of retraining" if content["retraining"] else "All queries"
    totals = {what: magnitude(sum(each["n_queries"] for each in phases))}
    if sent is not None:
        totals["Rows sent to the service, with repeats and without remembered answers"] = magnitude(sent)
    if phases:
        yield from table_of(phases, columns)
        yield Table.of_facts(totals)


def convergence(content: Content) -> Iterator[Block]:
    """Yield the section with a drawing of the estimated shares as more inputs were drawn."""
    told = [share["sentence"] for share in content["shares"] if share["is_main"] and share["history"]]
    yield from plots_in(content, "convergence", told)


def impact(content: Content) -> Iterator[Block]:
    """Yield the section on how often each group gets the favourable answer, and the ratio to the best rate."""
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
    """Yield the section on the messages of the health checks."""
    told = health_of(content)
    if told:
        yield Table.of_facts((value(each["check"]), each["message"]) for each in told)


def limitations(content: Content) -> Iterator[Block]:
    """Yield the section on what the audit cannot say."""
    if content["limitations"]:
        yield Items(tuple(content["limitations"]))


# For the record


def record(content: Content) -> Iterator[Block]:
    """Yield the section on the audit's model, data, versions, command and settings."""
    about = content["about"]
    yield Table.of_facts(identity(content))
    if about["command"]:
        yield Code(about["command"], "To repeat it")
    lines = (f"{name} = {json.dumps(each, ensure_ascii=False)}" for name, each in about["config"].items())
    yield Code("\n".join(lines), "All settings")


def identity(content: Content) -> dict[str, str]:
    """Return the facts that identify the audit (model, data, seed, versions and so on) as texts, by name."""
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
    """Yield the section on all attempts on the audit's model and data, if there is more than one."""
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
    """Yield the section with lines for the signatures of two people."""
    text = "The figures hold for the domain, threshold and populations stated above. They promise nothing beyond them."
    yield Sentence(text)
    lines = [(line, "", "") for line in ("Name", "Role", "Date", "Signature")]
    yield Table.of(["", "Prepared by", "Reviewed by"], lines)


# All sections

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
"""Short name and full name of each regulation that asks for sections of a report. See `docs/report-fields.md`."""

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
        "question": ("What was asked", question, "ai-act sr-11-7"),
        "sampling": ("What was sampled", sampling, "ai-act sr-11-7"),
        "convergence": ("Convergence", convergence, "sr-11-7"),
        "impact": ("Impact ratios", impact, "nist ecoa"),
        "health": ("Remarks", health, "sr-11-7"),
        "limitations": ("Limitations", limitations, "ai-act sr-11-7"),
    },
    "For the record": {
        "record": ("Model, data and settings", record, "ai-act sr-11-7"),
        "attempts": ("Attempts", attempts, ""),
        "sign-off": ("Sign-off", sign_off, "ai-act sr-11-7"),
    },
}
"""Title, function and regulations (keys of `TAGS`) of each section, by title of its chapter and name of the section."""

ASKED_BY = {name: asked for sections in CHAPTERS.values() for name, (_, _, asked) in sections.items()}
"""Regulations (keys of `TAGS`, separated by spaces) that ask for a section, by its name, or for the verdict."""
ASKED_BY["verdict"] = "ai-act nist ecoa"


def chapters(content: Content, but: Collection[str] = ()) -> Iterator[Section]:
    """Yield the chapters of a report with their sections; sections named in `but` and empty ones are left out."""
    missing = (content["why"] or {}).get("not_measured") or {}
    for title, sections in CHAPTERS.items():
        parts = []
        for name, (heading, make, _) in sections.items():
            blocks = (Sentence(closed(missing[name])),) if name in missing else tuple(make(content))
            parts += [Section(heading, blocks, name)] if blocks and name not in but else []
        if parts:
            yield Section(title, tuple(parts))


def head(content: Content) -> Iterator[Block]:
    """Yield the blocks at the top of a report: the verdict, after a note if the audit was interrupted."""
    interrupted, verdict = content["about"]["interrupted"], content["verdict"]
    if interrupted:
        text = f"The audit stopped in this phase: {closed(interrupted)} The report shows what was known by then."
        yield Sentence(text, "Interrupted")
    yield Sentence(capital(closed(verdict["why"])), outcome_words(verdict))
    if verdict["directions"]:
        yield Items(tuple(side["sentence"] for side in verdict["directions"]))
