"""`fairprobe demo`: the census, a decision tree and every strategy, on one page."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe import datasets, subjects
from fairprobe.arrays import Codes
from fairprobe.cli import options as o
from fairprobe.cli.command import Request
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.words import WIDTH, notes, on_terminal, say, spinner
from fairprobe.datasets import CENSUS_WORDS, describe_census
from fairprobe.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.progress import Status
from fairprobe.searching import Found, StopReason, search
from fairprobe.searching.registry import choose_strategy

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


SUBJECT = "decision-tree"
N_INPUTS = 2_000_000
"""So many inputs are judged by each strategy: a second or so of work."""

N_CASES = 3
PAPER = ("uniform", "random", "semi-directed", "fully-directed")
"""The paper's strategies; beside them stands the one that suits the model."""


OPTIONS = [o.own("seed", "int", "another seed finds other cases.", o.HOW, default=0)]


def run(request: Request) -> int:
    """Search a decision tree fitted on the US census by all strategies. Takes some seconds."""
    seed = request["seed"] or 0
    if seed < 0:
        raise SettingError(f"--seed must be a whole number of at least 0, got {seed}")
    domain = datasets.census_domain()
    mantissa, exponent = f"{domain.size:.1e}".split("e+")
    say("Does a model that predicts incomes change its answer with a person's sex?")
    say()
    say("  model    a decision tree, fitted on the US census of 1994")
    say(f"  domain   {mantissa} x 10^{exponent} inputs of {len(domain.parameters)} parameters; sensitive: sex")
    say(f"  search   {len(PAPER) + 1} strategies, each judges {N_INPUTS:,} inputs: asks the model")
    say("           about an input and about its twin, the same but for sex")
    with notes():
        with spinner("loading the tree; the first time it is fitted, which takes some seconds"):
            model = subjects.load(SUBJECT)
        found, rows = _search_all(model, domain, seed)
    if found[-1].stop_reason is StopReason.INTERRUPTED:
        say("interrupted", err=True)
        return INTERRUPTED
    from rich.console import Console

    Console(file=sys.stdout, highlight=False).print(_table(rows))
    say("Yield: distinct cases among the distinct inputs judged. It tells how well a")
    say("strategy looks, not how common cases are.")
    most = max(found, key=lambda each: each.n_cases)
    places = pick(most, N_CASES)
    say()
    say(f"It does. {len(places)} of the {most.n_cases:,} cases of {most.settings.strategy}, chosen as easy to picture")
    say("(the survey weight is left out). They are inputs that the search made up, not")
    say("people of the census.")
    for place in places:
        say()
        for text in sentences(most, place):
            lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
            say("\n".join(f"  {line}" for line in lines))
    say()
    say("Next, a model and data of your own:")
    say("  fairprobe search --model module:attribute --data rows.csv \\")
    say("                   --label income --sensitive sex --out cases.csv")
    return 0


# The search and its display


def _search_all(model: Any, domain: Domain, seed: int) -> tuple[list[Found], list[list[str]]]:
    """One search a strategy, and the table's rows; an interrupted search is the last."""
    found: list[Found] = []
    rows = {strategy: cells(strategy) for strategy in (*PAPER, choose_strategy(model))}
    limits: dict[str, Any] = {"max_cases": None, "max_judged": N_INPUTS}
    with _display() as show:
        for strategy in rows:

            def watch(status: Status, name: str = strategy) -> None:
                so_far = status.figures
                rows[name] = cells(name, so_far["n_cases"], so_far["n_judged"], so_far["seconds"])
                show(rows.values())

            show(rows.values())
            found.append(search(model, domain, strategy=strategy, seed=seed, progress=watch, **limits))
            over = found[-1]
            rows[strategy] = cells(strategy, over.n_cases, over.n_judged, over.seconds, over.n_distinct)
            if over.stop_reason is StopReason.INTERRUPTED:
                break
    return found, list(rows.values())


def cells(
    strategy: str, n_cases: int | None = None, n_judged: int = 0, seconds: float = 0.0, n_inputs: int | None = None
) -> list[str]:
    """A strategy's row of the table. Repeats are told apart at the end only: until then the yield has a lower bound."""
    if n_cases is None:
        return [strategy]
    n = n_inputs or n_judged
    return [
        strategy,
        f"{n_cases:,}",
        f"{n_judged:,}",
        "" if n_inputs is None else f"{n_inputs:,}",
        f"{'>=' if n_inputs is None else ''}{n_cases / n if n else 0.0:.1%}",
        f"{n_cases / seconds if seconds else 0.0:,.0f}",
        f"{seconds:.1f}",
    ]


@contextmanager
def _display() -> Iterator[Callable[[Iterable[list[str]]], None]]:
    """A table that is drawn over and over while the searches run; nothing where there is no terminal."""
    if not on_terminal():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as display:
        yield lambda rows: display.update(_table(rows), refresh=True)


def _table(rows: Iterable[list[str]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    # Wide enough from the start, so that nothing jumps.
    widths = {"cases": 9, "judged": 9, "distinct": 9, "yield": 7, "cases/s": 9, "s": 4}
    for title, width in widths.items():
        table.add_column(title, justify="right", min_width=width)
    for row in rows:
        table.add_row(*row)
    return table


# Cases as sentences, in the census's own words

PERSONS = {"Female": "woman", "Male": "man"}
OUTCOMES = {-1: "<=50K", 1: ">50K"}


def pick(found: Found, n: int) -> list[int]:
    """The rows of a few cases that are easy to imagine, each of another occupation."""
    occupations = found.cases["occupation"].to_numpy()
    picked: list[int] = []
    for row in np.argsort(_oddness(found.cases), kind="stable")[:1000]:
        if occupations[row] not in occupations[picked]:
            picked.append(int(row))
        if len(picked) == n:
            break
    return picked


def _oddness(cases: pd.DataFrame) -> Codes:
    """How many things about each person are hard to imagine: a search tries all combinations, likely or not."""

    def among(column: str, *words: str) -> Any:
        return cases[column].isin([CENSUS_WORDS[column].index(word) for word in words])

    checks = [
        ~among("workclass", "Without-pay", "Never-worked"),
        among("relationship", "Not-in-family", "Unmarried"),  # not Husband or Wife, which say the sex as well
        ~among("marital-status", "Married-civ-spouse", "Married-AF-spouse"),
        ~among("education", "Preschool", "1st-4th", "5th-6th"),
        ~among("occupation", "Armed-Forces", "Priv-house-serv"),
        cases["age"].between(2, 6),
        cases["hours-per-week"].between(20, 60),
        cases["capital-loss"] == 0,
        cases["capital-gain"] <= 20,
    ]
    return np.sum([~check.to_numpy() for check in checks], axis=0)


def sentences(found: Found, row: int) -> tuple[str, str]:
    """A case before and after: the person with the model's output, then the same person with another sex."""
    before, after = (OUTCOMES.get(output, str(output)) for output in found.outputs[["case", "twin"]].iloc[row])
    words, other = (describe_census(frame.iloc[row].to_dict()) for frame in (found.cases, found.twins))
    person = (
        f"A {PERSONS[words['sex']]}, {words['age'].replace('age ', '')} years old, race {words['race']}, "
        f"from {words['native-country']}, {words['marital-status']}, {words['relationship']}, "
        f"education {words['education']}, works {words['hours-per-week'].replace('hours per week ', '')} hours a week "
        f"in {words['occupation']} ({words['workclass']}), {words['capital-gain']}, {words['capital-loss']}"
    )
    return f"{person}: predicted to earn {before}.", f"The same person as a {PERSONS[other['sex']]}: {after}."
