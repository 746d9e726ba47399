"""The first screen of a report: verdict, shares in words, rates, who is worse off, facts and the next step."""

from __future__ import annotations

from collections.abc import Iterator

from fairprobe.blocks import Block, Items, Sentence, Table
from fairprobe.estimation.rates import rates_table
from fairprobe.report.content import Content
from fairprobe.wording import ROLES, capital, closed, counted, figure, magnitude, outcome_words, percent, value


def head(content: Content) -> Iterator[Block]:
    """Yield the blocks at the top of a report: verdict, shares in words, rates, who is worse off, facts, next step.

    A note comes first if the audit was interrupted.
    """
    interrupted, verdict = content["about"]["interrupted"], content["verdict"]
    if interrupted:
        text = f"The audit stopped in this phase: {closed(interrupted)} The report shows what was known by then."
        yield Sentence(text, "Interrupted")
    yield Sentence(capital(closed(verdict["why"])), outcome_words(verdict))
    said = [*verdict["details"], *(side["sentence"] for side in verdict["directions"]), *_worse_off(content)]
    for told in content["matched"]:
        said += [told["sentence"], told["keep_words"]]
    if said:
        yield Items(tuple(closed(capital(each)) for each in said))
    yield from _rates(content)
    yield Table.of_facts(_facts(content))
    yield Sentence(_next_step(content), "Next")


def _facts(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the facts that a reader needs first: the model, the rows and what they are, the question, date and seed."""
    about, question = content["about"], content["question"]
    data = about["data"]
    yield "Model", value(about["model"]["name"])
    of = f" of {value(data['name'])}" if data["name"] else ""
    yield "Rows", f"{magnitude(data['n_rows'])}{of}; {ROLES.get(data['role'], data['role'])}"
    yield "Sensitive", ", ".join(map(value, question["sensitive"]))
    limit = "by side" if question["directions"] else "none given"
    yield "Limit", limit if question["max_share"] is None else percent(question["max_share"])
    if question["output"] != "label":
        yield "Threshold", f"{figure(question['threshold'])} ({question['output']})"
    yield "Date", value(about["date"] or "not given")
    yield "Seed", str(about["seed"])


def _next_step(content: Content) -> str:
    """Return a sentence on what the reader should do next, which follows from the verdict."""
    verdict, about = content["verdict"], content["about"]
    if about["interrupted"]:
        return "Run the audit again: it is not complete."
    if verdict["outcome"] == "violated":
        return "Read who is affected and where, then compare the ways that would end it."
    if verdict["outcome"] == "no-limit":
        return "Name the largest share that you allow (max_share), so that the audit has a verdict."
    if about["data"]["role"] == "training":
        return "Give rows that the model was not trained on: only held-out rows represent other people."
    if verdict["condition"]:
        return "Say what the rows are to the model (rows_are): only held-out rows represent other people."
    if verdict["outcome"] == "passed":
        return "Keep this report. Repeat the audit when the model or the people change."
    if content["matched"]:
        return "Read the matched twins, and say which columns stay (keep): the model does not take the attribute."
    return "Read the reason above and the remarks: they say what would settle the verdict."


def _worse_off(content: Content) -> Iterator[str]:
    """Yield a sentence on who is worse off for each share that the limit binds, if the share says so."""
    for share in content["shares"]:
        if share["id"] not in content["verdict"]["bound"] or not share["worse_off"]:
            continue
        favourable = str(content["question"]["favourable"])
        got = {each["combination"]: each.get(favourable) for each in share["outcomes"] or []}
        said = f"Most often worse off ({share['twins']} twins) is {value(share['worse_off'])}"
        n = got.get(share["worse_off"])
        of = "" if n is None else f": {value(favourable)} in {magnitude(n)} of the {counted(share['hits'], 'case')}"
        yield f"{said}{of}"


def _rates(content: Content) -> Iterator[Table]:
    """Yield a table of the rates for one share, if any has them: one that the limit binds, or else the first."""
    bound = content["verdict"]["bound"]
    told = sorted((share for share in content["shares"] if share["rates"]), key=lambda each: each["id"] not in bound)
    for share in told[:1]:
        yield rates_table(share["rates"], share["rated"], share["is_last_class"])
