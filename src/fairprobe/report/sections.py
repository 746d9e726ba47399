"""Sections of a report, and the chapters that hold them.

A section is a function that makes blocks from the content. A section without blocks is left out. A new section is one
function and one line in `CHAPTERS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from fairprobe import wording
from fairprobe.blocks import Block, Code, Figure, Interval, Items, Section, Sentence, Table
from fairprobe.estimation.matched_result import matched_blocks
from fairprobe.explanation.remedies import WAYS
from fairprobe.report import content as parts
from fairprobe.report.content import Columns, Content, changes_words, part_of_why, table_of
from fairprobe.wording import between, capital, closed, counted, figure, magnitude, percent, value

MOST_CASES = 20
"""Largest number of cases, or of rows with another answer, in a table; chosen. A page lists all of them."""

MOST_ANSWERS = 4
"""Largest number of combinations of sensitive values whose answers a table lists one by one; chosen."""

MOST_ROWS = 12
"""Largest number of rows in the tables of directions, proxies and columns that end a case; chosen."""

MOST_REMEDIES = 16
"""Largest number of rows in the table of simulated remedies; chosen. `audit.json` has all of them."""


# What was found


def rows(content: Content) -> Iterator[Block]:
    """Yield the section on real rows that get another answer if a sensitive value changes."""
    flips, along = content["rows"]["flips"], ", with or without what is linked to it" * bool(content["domain"]["links"])
    names = " or ".join(map(value, content["question"]["sensitive"]))
    text = f"{parts.flips_words(content)} if {names} were another{along}."
    if len(flips) < content["rows"]["n_flipped"]:
        text += f" The report has {magnitude(len(flips))} of them."
    if not content["about"]["shows_rows"]:
        text += " Rows are people: the report names them and shows what differs, not their other values."
    columns: Columns = {"Row": "row", "What differs": ("changes", changes_words), "Answers": _answers}
    yield from table_of(flips, columns, text, most=MOST_CASES, name="flips")


def _answers(flip: Mapping[str, Any]) -> str:
    """Return what each combination of sensitive values gets; of many, what the person gets and how many differ."""
    answers, own = {who: value(wording.answer(output)) for who, output in flip["answers"].items()}, flip["own"]
    if len(answers) <= MOST_ANSWERS or own not in answers:
        return ", ".join(f"{value(who)}: {output}" for who, output in answers.items())
    n = sum(output != answers[own] for output in answers.values())
    return f"{value(own)}: {answers[own]}; another answer in {n} of {len(answers) - 1} other combinations"


def shares(content: Content) -> Iterator[Block]:
    """Yield the section on all shares, and on the shares with limits by who is worse off."""
    limit, end = content["question"]["max_share"], parts.scale_of(content)
    text = "The share of each population whose answer changes with a sensitive value, with its interval."
    text += f" The limit is {percent(limit)}; the last column marks the shares that it binds." if limit else ""
    yield from shares_table(content, content["shares"], text)
    for share in content["shares"]:
        if share["is_main"] and (share["n_not_comparable"] or share["n_left_out"]):
            title = f"{parts.population_title(share)}, {parts.compared_words(content, share)}"
            yield Sentence(closed(capital(share["sentence"])), title)
    for share in content["shares"]:
        if share["rates"]:
            yield Section(f"Rates, {parts.compared_words(content, share)}", (parts.rates_of(share),))
    columns: Columns = {"Worse off": "combination", "Twins": "twins", "#Limit": ("limit", percent)}
    columns |= {**parts.figures(end, itemgetter("limit")), "Verdict": parts.outcome_of}
    sides = tuple(table_of(content["verdict"]["directions"], columns))
    if sides and content["shares"]:
        yield Section("Limits for one side", sides)


def shares_table(content: Content, shown: Sequence[Mapping[str, Any]], text: str = "") -> Iterator[Block]:
    """Yield the sentence `text` and a table of the `shown` shares with intervals.

    The table marks the shares that the limit binds.
    """
    limit, end = content["question"]["max_share"], parts.scale_of(content)
    bound = {} if limit is None else dict.fromkeys(content["verdict"]["bound"], limit)
    columns: Columns = {"Population": parts.population_title, "Twins": "twins", "Sensitive": ("sensitive", parts.names)}
    columns |= {**parts.figures(end, lambda share: bound.get(share["id"])), "#Hits": parts.hits_words}
    if any(share["worse_off"] for share in shown):
        columns["Worse off"] = lambda share: value(share["worse_off"]) if share["worse_off"] else ""
    marks: Columns = {"Limit": lambda share: "bound" if share["id"] in bound else ""} if bound else {}
    yield from table_of(shown, columns | marks, text)


def matched(content: Content) -> Iterator[Block]:
    """Yield the section on matched twins, for sensitive parameters that the model does not take."""
    for told in content["matched"]:
        yield from matched_blocks(told)


def regions(content: Content) -> Iterator[Block]:
    """Yield the section on the regions of inputs that hold most cases, each with its rule and figures."""
    found, why = part_of_why(content, "regions"), content["why"]
    if not found:
        return
    holding = counted(len(found), "region holds", "regions hold")
    text = f"{holding} {percent(why['coverage'])} of {counted(why['n_cases'], 'case')}. Those that touch most people "
    yield Sentence(f"{text}come first.")
    rows_are = "training data" if content["about"]["data"]["role"] == "training" else "rows"
    for place, region in enumerate(found, start=1):
        yield Section(f"Region {place}", tuple(_region(region, rows_are)))


def _region(region: Mapping[str, Any], rows_are: str) -> Iterator[Block]:
    text = percent(region["precision"]) + (f" ({_between(region)})" if region["n"] else "")
    facts: dict[str, Any] = {
        "Inputs here that are cases": Interval(text, region["low"], region["precision"], region["high"]),
        "Part of all cases found": percent(region["coverage"]),
    }
    if region["n_rows"] is not None:
        facts["Real people in it"] = f"{magnitude(region['n_rows'])} ({percent(region['of_rows'])} of the rows)"
    elif region["of_density"] is not None:
        facts["Part of likely inputs"] = percent(region["of_density"])
    if region["of_domain"] is not None:
        facts["Part of the whole domain"] = percent(region["of_domain"])
    if "words" in region:
        yield Sentence(closed(value(capital(region["words"]))))
    yield Table((), tuple(facts.items()))
    if region.get("left_out"):
        yield Sentence(region["left_out"]["sentence"])
    if region["directions"] and region["directions"]["sentences"]:
        yield Sentence(" ".join(region["directions"]["sentences"]), "Who is worse off")
    if region["in_data"]:
        yield Sentence(closed(region["in_data"]["sentence"]), f"In the {rows_are}")
    yield Code(region["text"], "As a rule", is_folded="words" in region)


def cases(content: Content) -> Iterator[Block]:
    """Yield the section on the cases of the search, with what differs in their twins."""
    found = content["cases"]
    is_ranked = found and found[0]["severity"] is not None
    text = "Each case is an input with a twin that the model answers differently, though only the marked values differ."
    text += " The most severe and plausible cases come first." if is_ranked else ""
    text += f" The report has {counted(len(found), 'case')}. A directed search found them, so their number does not "
    text += "say how common such inputs are."
    columns: Columns = {
        "Case": "id",
        "What differs": lambda case: changes_words(parts.changes_of(case)),
        "Answers": lambda case: " → ".join(value(wording.answer(output)) for output in case["outputs"]),
        "#Severity": ("severity", figure),
        "Equal in both": parts.same_words,
    }
    yield from table_of(found, columns, text, most=MOST_CASES, name="cases")


# Why


def directions(content: Content) -> Iterator[Block]:
    """Yield the section on who is worse off, and how often."""
    told = part_of_why(content, "directions")
    if not told or not told["directions"]:
        return
    yield from map(Sentence, told["sentences"])
    columns: Columns = {"One side": "first", "Gets": "first_gets", "Other side": "second", "It gets": "second_gets"}
    columns |= {"#Cases found": ("found", magnitude), "#Sampled": ("sampled", magnitude)}
    columns |= {"#Sampled, reversed": ("sampled_reversed", magnitude), "Part of the sampled": _part("fraction")}
    yield from table_of(told["directions"], columns, most=MOST_ROWS)


def influence(content: Content) -> Iterator[Block]:
    """Yield the section on the parameters whose changes end a case, and on the severity of cases."""
    told = part_of_why(content, "influence")
    if told and told["parameters"]:
        severity = part_of_why(content, "severity").get("sentences", [])
        yield from map(Sentence, [*told["sentences"], *severity])
        columns: Columns = {"Column": "parameter", "Another value ends a case": _part("ended")}
        known = [each for each in told["parameters"] if each["n_moves"]]
        yield from table_of(known, columns | {"#Cases moved": ("n_cases", magnitude)}, most=MOST_ROWS)


def _part(name: str) -> Callable[[Mapping[str, Any]], Interval]:
    """Return a function from a record to a cell with its fraction, of the given name, and its interval."""
    return lambda of: Interval(f"{percent(of[name])} ({_between(of)})", of["low"], of[name], of["high"])


def proxies(content: Content) -> Iterator[Block]:
    """Yield the section on columns that reveal the sensitive parameters (proxies)."""
    told = content["proxies"]
    columns: Columns = {"Sensitive": "sensitive", "Revealed by": "column", "Value revealed best": "value"}
    columns |= {"#AUC": ("auc", figure), "Interval": lambda row: f"{figure(row['low'])} to {figure(row['high'])}"}
    if told:
        yield Sentence(closed(told["sentence"]))
        yield from table_of(told["table"], columns, most=MOST_ROWS)


# What would change it


def remedies(content: Content) -> Iterator[Block]:
    """Yield the section on simulated shares: those that would be left if a region's inputs were decided otherwise."""
    text = "A simulation of what would be left if a sensitive column were held constant for the whole model, or if the "
    text += "answer inside a region were decided otherwise. No model was changed."
    told = part_of_why(content, "remedies")
    # Drawn inputs have no labels, and so no accuracy: they stand here only if there are no rows.
    told = [each for each in told if each["population"] == "rows"] or told
    columns: Columns = {
        "Where": "region",
        "Change": ("decision", lambda way: WAYS[way][0] if way in WAYS else value(way)),
        "Measured on": lambda each: f"{parts.population_title(each)}, {each['twins']}",
        "#Inputs": ("n", magnitude),
        "#Now": ("before", percent),
        "#Simulated": ("after", percent),
    }
    if any(each["low"] is not None for each in told):
        columns["Interval"] = _between
    if any(each["accuracy_after"] is not None for each in told):
        columns |= {"#Accuracy now": ("accuracy_before", percent), "#Accuracy then": ("accuracy_after", percent)}
    yield from table_of(told, columns, text, most=MOST_REMEDIES)


def retraining(content: Content) -> Iterator[Block]:
    """Yield the section on shares and accuracy before and after retraining, and on other ways to train."""
    told = content["retraining"]
    if not told:
        return
    if told.get("advice"):
        yield Sentence(closed(told["advice"]))
    yield Sentence(_retrained_words(told))
    shares = [(retrained_rows(told, name), told["before"][name], after) for name, after in told["after"].items()]
    rows = [[on, percent(before["value"]), percent(after["value"]), _between(after)] for on, before, after in shares]
    rows.append(["Accuracy", percent(told["accuracy_before"]), percent(told["accuracy_after"]), ""])
    yield Table.of(["Measured on", "#Before", "#After", "Interval after"], rows)
    if told["failure"]:
        yield Sentence(closed(told["failure"]))
    controls = [
        [
            ": ".join(filter(None, [value(control["words"]), control["why_not"]])),
            *(percent(control["shares"].get(name, {}).get("value")) for name in told["after"]),
            percent(control["accuracy"]),
        ]
        for control in told["controls"].values()
    ]
    columns = ["Another way to train", *(f"#{_title(name)}" for name in told["after"]), "#Accuracy"]
    if controls:
        yield Section("Controls", (Table.of(columns, controls),))


def _between(of: Mapping[str, Any]) -> str:
    return between(of["low"], of["high"])


def _title(population: str) -> str:
    return "Linked rows" if population == "linked" else wording.POPULATION_TITLES.get(population, population)


def retrained_rows(told: Mapping[str, Any], population: str) -> str:
    """Return words on the rows or the population on which shares before and after retraining were measured."""
    if population not in ("rows", "linked"):
        return _title(population)
    seen = "that it was fitted to" if told["on_fitted_rows"] else "held back from fitting"
    return f"{counted(told['before'][population]['n'], 'row')} {seen}{', linked twins' * (population == 'linked')}"


def _retrained_words(told: Mapping[str, Any]) -> str:
    """Return sentences on the result of retraining, and on the models to which the figures before and after belong."""
    accepted = "A retrained model was accepted" if told["accepted"] else "No retrained model was shown to be better"
    after = "the new model" if told["accepted"] else "the model given"
    text = f"{accepted}, after {counted(len(told['rounds']), 'round')}. "
    text += f"Before is {told['before_is']}; after is {after}."
    if told["is_reported"] and not told["on_fitted_rows"]:
        text += " The rows and inputs of these figures were used neither to fit nor to choose a model."
    return f"{text} The shares of the audited model on all rows stand in another section."


def sensitivity(content: Content) -> Iterator[Block]:
    """Yield the section on the verdict with one setting changed at a time."""
    columns: Columns = {
        "Changed": "what",
        "Verdict": parts.outcome_of,
        "#Share": ("value", percent),
        "Interval": _between,
        "#Hits": parts.hits_words,
    }
    yield from table_of(content["sensitivity"], columns, "The same question, with one thing changed at a time.")


# How it was measured


def question(content: Content) -> Iterator[Block]:
    """Yield the section on the sensitive parameters, the limits and the domain."""
    columns: Columns = {"Parameter": "name", "Kind": "kind", "Values": "words"}
    columns |= {"Role": lambda each: "sensitive" if each["is_sensitive"] else ""}
    yield Table.of_facts(_asked(content))
    yield from table_of(content["domain"]["parameters"], columns)


def _asked(content: Content) -> Iterator[tuple[str, str]]:
    asked, domain = content["question"], content["domain"]
    for name, values in asked["sensitive"].items():
        yield value(name), f"sensitive; compared are {', '.join(map(value, values))}"
    labels = asked.get("labels") or {"columns": {}, "outcome": {}}
    for name, names in [*labels["columns"].items(), ("outcomes", labels["outcome"])]:
        if names:
            yield f"Names of {value(name)}", ", ".join(f"{value(text)} is {value(of)}" for text, of in names.items())
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
    if asked["min_ratio"] is not None:
        yield "Limit", f"{parts.limit_words(asked)}, with {percent(asked['confidence'])} confidence"
    for combination, limit in asked["directions"].items():
        yield "Limit for one side", f"{value(combination)} worse off: at most {percent(limit)}"
    n_valid = "" if domain["n_valid"] is None else f", {magnitude(domain['n_valid'])} of them allowed"
    yield "Domain", f"{magnitude(domain['n_inputs'])} inputs{n_valid}"
    yield from (("Link", value(link)) for link in domain["links"])
    yield from (("Rule", value(rule)) for rule in domain["constraints"])
    if domain["hidden"]:
        yield "Hidden", f"{', '.join(map(value, domain['hidden']))}: not taken by the model"


def sampling(content: Content) -> Iterator[Block]:
    """Yield the section on the number of inputs that each phase drew, their source, and its number of queries."""
    phases, sent = content["sampling"], content["about"]["model"].get("n_sent")
    columns: Columns = {"Phase": "phase", "What": "what", "Drawn from": "distribution"}
    columns |= {"#Inputs": ("n_inputs", magnitude), "#Queries": ("n_queries", magnitude)}
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
    title = "The estimate as inputs were drawn"
    if "convergence" in content["plots"]:
        yield Figure(title, content["plots"]["convergence"], " ".join([f"{title}.", *told]))


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
        "Interval": lambda each: between(each["low"], each["high"]),
        "#Ratio": lambda each: "undefined" if each["ratio"] is None else figure(each["ratio"]),
    }
    yield from table_of(content["impact"], columns, text)
    yield from (Sentence(capital(closed(each["sentence"]))) for each in content["ratios"])


def health(content: Content) -> Iterator[Block]:
    """Yield the section on the messages of the health checks."""
    told = parts.health_of(content)
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
        f"{wording.ROLES.get(data['role'], data['role'])}, {data['hash']}",
        "Settings": about["config_hash"],
        "Seed": about["seed"],
        "Date": value(about["date"] or "not given"),
        "Versions": wording.listed(f"{value(name)} {value(version)}" for name, version in about["versions"].items()),
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
        "#Seed": "seed",
        "Date": lambda each: value(each["date"] or "not given"),
        "Verdict": parts.outcome_of,
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
    "People": {
        "rows": ("Real rows that get another answer", rows, "ai-act nist ecoa"),
        "matched": ("Matched twins: the model does not take the attribute", matched, "ai-act nist ecoa"),
    },
    "Where": {
        "regions": ("Where it happens most", regions, "nist sr-11-7"),
        "cases": ("Cases, before and after", cases, "ai-act ecoa"),
    },
    "Why": {
        "directions": ("Who is worse off", directions, "nist ecoa"),
        "influence": ("Which parameters matter", influence, "nist sr-11-7"),
        "proxies": ("Which columns reveal the sensitive parameters", proxies, "nist ecoa"),
    },
    "What would end it": {
        "remedies": ("Other decisions, simulated", remedies, "nist"),
        "retraining": ("Retraining", retraining, "nist sr-11-7"),
    },
    "How it was measured": {
        "shares": ("How common it is", shares, "ai-act nist sr-11-7 ecoa"),
        "sensitivity": ("What the verdict depends on", sensitivity, "sr-11-7"),
        "impact": ("Impact ratios", impact, "nist ecoa"),
        "question": ("What was asked", question, "ai-act sr-11-7"),
        "sampling": ("What was sampled", sampling, "ai-act sr-11-7"),
        "convergence": ("Convergence", convergence, "sr-11-7"),
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
    missing = part_of_why(content, "not_measured")
    for title, sections in CHAPTERS.items():
        parts = []
        for name, (heading, make, _) in sections.items():
            blocks = (Sentence(closed(missing[name])),) if name in missing else tuple(make(content))
            parts += [Section(heading, blocks, name)] if blocks and name not in but else []
        if parts:
            yield Section(title, tuple(parts))
