"""The first screen of a report: verdict, who is worse off, shares against the limit, rates, next step and facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fairprobe.blocks import Block, Interval, Items, Sentence, Table
from fairprobe.estimation.matched_result import weakness_of
from fairprobe.estimation.verdict import IMPACT
from fairprobe.report import content as parts
from fairprobe.report.content import Columns, Content, compared_words, interval_of
from fairprobe.wording import ROLES, between, capital, closed, counted, figure, magnitude, outcome_words, percent, value

MOST_WORDS = 30
"""Largest number of words of a region that the first screen shows; chosen, as a sentence has at most 35."""

MOST_BARS = 6
"""Largest number of shares drawn on the first screen; chosen to fit it. The table of shares has all of them."""


Bar = tuple[str, str, Interval]
"""A share that is drawn beside the verdict: what was compared, the share in percent, and its interval."""


class FirstScreen(NamedTuple):
    """The parts of the first screen. A page draws the bars; other forms have their figures in sentences."""

    interrupted: Sentence | None
    verdict: Sentence
    worse_off: Items
    following: Sentence
    rates: Table | None
    facts: Table
    details: Items
    caption: str
    bars: list[Bar]

    def blocks(self) -> list[Block]:
        """Return the parts that have words as blocks, in the order in which they are read."""
        every = (self.interrupted, self.verdict, self.worse_off, self.following, self.rates, self.facts, self.details)
        return [block for block in every if block is not None and block != Items(())]


def first_screen(content: Content) -> FirstScreen:
    """Return the parts of the first screen of a report; a sentence comes first if the audit was interrupted."""
    stopped, verdict = content["about"]["interrupted"], content["verdict"]
    text = f"The audit stopped in this phase: {closed(stopped or '')} The report shows what was known by then."
    details = [*verdict["details"], *(side["sentence"] for side in verdict["directions"])]
    bound = [share["n"] for share in content["shares"] if share["id"] in verdict["bound"]]
    if content["matched"] and bound and not any(bound):
        details = []  # the model takes no sensitive parameter: the verdict says that nothing else can be compared
    matched = (each for told in content["matched"] for each in _matched_words(told) if each not in details)
    return FirstScreen(
        Sentence(text, "Interrupted") if stopped else None,
        Sentence(capital(closed(verdict["why"])), outcome_words(verdict)),
        _list([*dict.fromkeys([*_worse_off(content), *_where(content), *matched])]),
        Sentence(_next_step(content), "Next"),
        _rates(content),
        Table.of_facts(_facts(content)),
        _list(details),
        f"{parts.population_title(verdict)}: share that {parts.change_words(content)}",
        [*_bars(content)][:MOST_BARS],
    )


def _matched_words(told: Mapping[str, Any]) -> list[str]:
    """Return sentences on a share by matched twins: its figures, the columns that stay, and what it cannot show."""
    weakness = _weakness(told)
    told_not = f"{weakness}: who is worse off, and where, cannot be told" if weakness else None
    return [*filter(None, [told_not, told["sentence"], told["keep_words"]])]


def _weakness(told: Mapping[str, Any]) -> str | None:
    return weakness_of(each["check"] for each in told["health"])


def _list(sentences: list[str]) -> Items:
    return Items(tuple(closed(capital(each)) for each in sentences))


def _bars(content: Content) -> Iterator[Bar]:
    """Yield the bars of the shares that the limit binds and of those by matched twins, as far as measured."""
    end = parts.scale_of(content)
    for each in parts.held_of(content):
        if each["n"]:
            drawn = interval_of({**each, "method": None}, end, each["limit"])
            yield each["who"], percent(each["value"], each["limit"]), drawn


def _facts(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the facts that a reader needs first: the model, the rows and what they are, the question, date and seed."""
    about, question = content["about"], content["question"]
    data = about["data"]
    yield "Model", value(about["model"]["name"])
    of = f" of {value(data['name'])}" if data["name"] else ""
    yield "Rows", f"{magnitude(data['n_rows'])}{of}; {ROLES.get(data['role'], data['role'])}"
    yield "Sensitive", ", ".join(map(value, question["sensitive"]))
    yield "Limit", parts.limit_words(question)
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
        return "Compare the changes under “What would end it” with the model's owner. Then audit the changed model."
    if verdict["outcome"] == "no-limit":
        return "Name the largest share that you allow (max_share), so that the audit has a verdict."
    if about["data"]["role"] == "training":
        return "Give rows that the model was not trained on: only held-out rows represent other people."
    if verdict["condition"]:
        return "Say what the rows are to the model (rows_are): only held-out rows represent other people."
    if verdict["outcome"] == "passed":
        return "Keep this report. Repeat the audit when the model or the people change."
    if any(map(_weakness, content["matched"])):
        return "Audit again with more rows: these are too few to learn how other columns depend on the attribute."
    if content["matched"]:
        return 'Say which columns stay when people are compared (keep). Then audit again with gate="matched".'
    return "Read the reason above and the remarks: they say what would settle the verdict."


def _worse_off(content: Content) -> Iterator[str]:
    """Yield sentences on who is worse off for each share that the limit binds, and on why two shares may disagree."""
    bound = [each for each in content["shares"] if each["id"] in content["verdict"]["bound"] and each["worse_off"]]
    for share in bound:
        counts = {each["combination"]: each for each in share["outcomes"] or []}.get(share["worse_off"], {})
        n_good = counts.get(str(content["question"]["favourable"]))
        n = sum(each for name, each in counts.items() if name != "combination")
        cases = "" if n_good is None else f", in {magnitude(n - n_good)} of {counted(n, 'case')}"
        compared = f"{compared_words(content, share)}: " if content["domain"]["links"] else ""
        yield f"{compared}worse off most often as {value(share['worse_off'])}{cases}"
    if len({share["worse_off"] for share in bound}) > 1:
        yield "The directions differ because linked columns change along in one comparison and stay in the other"


def _where(content: Content) -> Iterator[str]:
    """Yield a sentence on the region that touches most people, if its words fit into one."""
    regions = (content["why"] or {}).get("regions") or []
    if regions and len(regions[0]["words"].split()) <= MOST_WORDS:
        yield f"The region with most affected people: {regions[0]['words']}"


def _rates(content: Content) -> Table | None:
    """Return a table of rates: those of one share, which the limit binds if it binds any; else those observed."""
    shares = [share for share in content["shares"] if share["rates"]]
    if shares and content["question"]["gate"] != IMPACT:
        return parts.rates_of(min(shares, key=lambda each: each["id"] not in content["verdict"]["bound"]))
    end = parts.round_end(each["high"] or each["rate"] for each in content["impact"])
    columns: Columns = {
        "By group": lambda each: f"{value(each['sensitive'])}={value(each['value'])}",
        "Rate": lambda each: Interval(percent(each["rate"]), None, each["rate"], None, end),
        "Interval": lambda each: between(each["low"], each["high"]),
    }
    told = Table.of_records(content["impact"], columns, f"Observed rate of {value(content['question']['favourable'])}")
    return told if content["impact"] else None
