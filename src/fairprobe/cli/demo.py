"""`fairprobe demo`: the census, a decision tree and every strategy, on one page."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairprobe import datasets, subjects
from fairprobe.cli import live
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.sentences import pick, sentences
from fairprobe.cli.words import WIDTH, notes, say
from fairprobe.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.search import Found, StopReason, search
from fairprobe.search.auto import choose_strategy

if TYPE_CHECKING:
    from rich.table import Table

    from fairprobe.search.job import Snapshot

SUBJECT = "decision-tree"
N_INPUTS = 2_000_000
"""So many inputs are judged by each strategy: a second or so of work."""

N_CASES = 3
PAPER = ("uniform", "random", "semi-directed", "fully-directed")
"""The paper's strategies; beside them stands the one that suits the model."""


@dataclass(frozen=True)
class Row:
    """A strategy's row of the table."""

    strategy: str
    n_cases: int | None = None
    """None before it starts."""
    n_judged: int = 0
    n_inputs: int | None = None
    """Distinct ones; None until it ends."""
    seconds: float = 0.0

    @classmethod
    def of(cls, found: Found) -> Row:
        """The row of a search that has ended."""
        return cls(found.settings.strategy, found.n_cases, found.n_judged, found.n_inputs, found.seconds)

    def cells(self) -> list[str]:
        """What is shown; repeats are told apart at the end only, so until then the yield has a lower bound."""
        if self.n_cases is None:
            return [self.strategy]
        ended = self.n_inputs is not None
        n = self.n_inputs or self.n_judged
        return [
            self.strategy,
            f"{self.n_cases:,}",
            f"{self.n_judged:,}",
            f"{self.n_inputs:,}" if ended else "",
            f"{'' if ended else '>='}{self.n_cases / n if n else 0.0:.1%}",
            f"{self.n_cases / self.seconds if self.seconds else 0.0:,.0f}",
            f"{self.seconds:.1f}",
        ]


def run_demo(seed: int) -> int:
    """Search by every strategy and show what came of it; gives the exit code."""
    if seed < 0:
        raise SettingError(f"--seed must be a whole number of at least 0, got {seed}")
    domain = datasets.census_domain()
    _introduce(domain)
    with notes():
        with live.spinner("loading the tree; the first time it is fitted, which takes some seconds"):
            model = subjects.load(SUBJECT)
        found = _search_all(model, domain, seed)
    if found[-1].stop_reason is StopReason.INTERRUPTED:
        say("interrupted", err=True)
        return INTERRUPTED
    _print_table([Row.of(each) for each in found])
    _print_cases(max(found, key=lambda each: each.n_cases))
    _print_next()
    return 0


def _introduce(domain: Domain) -> None:
    mantissa, exponent = f"{domain.size:.1e}".split("e+")
    say("Does a model that predicts incomes change its answer with a person's sex?")
    say()
    say("  model    a decision tree, fitted on the US census of 1994")
    say(f"  domain   {mantissa} x 10^{exponent} inputs of {len(domain.parameters)} parameters; sensitive: sex")
    say(f"  search   {len(PAPER) + 1} strategies, each judges {N_INPUTS:,} inputs: asks the model")
    say("           about an input and about its twin, the same but for sex")


# The search and its display


def _search_all(model: Any, domain: Domain, seed: int) -> list[Found]:
    """One search a strategy; an interrupted one is the last."""
    found: list[Found] = []
    strategies = (*PAPER, choose_strategy(model))
    with _display() as show:
        for strategy in strategies:
            before = [Row.of(each) for each in found]
            after = [Row(name) for name in strategies][len(found) + 1 :]

            def watch(snapshot: Snapshot, seconds: float, name: str = strategy, rows: Any = (before, after)) -> None:
                row = Row(name, snapshot.n_cases, snapshot.n_judged, None, seconds)
                show([*rows[0], row, *rows[1]])

            show([*before, Row(strategy), *after])
            found.append(
                search(model, domain, strategy=strategy, max_cases=None, max_inputs=N_INPUTS, seed=seed, progress=watch)
            )
            if found[-1].stop_reason is StopReason.INTERRUPTED:
                break
    return found


@contextmanager
def _display() -> Iterator[Callable[[Sequence[Row]], None]]:
    """A table that is drawn over and over while the searches run; nothing where there is no terminal."""
    if not live.is_on():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as display:
        yield lambda rows: display.update(_table(rows), refresh=True)


def _table(rows: Sequence[Row]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    for title in ("cases", "judged", "distinct", "yield", "cases/s", "s"):
        table.add_column(title, justify="right", min_width=_WIDTHS[title])
    for row in rows:
        table.add_row(*row.cells())
    return table


_WIDTHS = {"cases": 9, "judged": 9, "distinct": 9, "yield": 7, "cases/s": 9, "s": 4}
"""Wide enough from the start, so that nothing jumps."""


# The page


def _print_table(rows: Sequence[Row]) -> None:
    from rich.console import Console

    Console(file=sys.stdout, highlight=False).print(_table(rows))
    say("Yield: distinct cases among the distinct inputs judged. It tells how well a")
    say("strategy looks, not how common cases are.")


def _print_cases(found: Found) -> None:
    rows = pick(found, N_CASES)
    say()
    say(f"It does. {len(rows)} of the {found.n_cases:,} cases of {found.settings.strategy}, chosen as easy to picture")
    say("(the survey weight is left out). They are inputs that the search made up, not")
    say("people of the census.")
    for row in rows:
        before, after = sentences(found, row)
        say()
        say(_indented(before))
        say(_indented(after))


def _indented(text: str) -> str:
    return textwrap.fill(
        text, WIDTH - 2, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _print_next() -> None:
    say()
    say("Next, a model and data of your own:")
    say("  fairprobe search --model module:attribute --data rows.csv \\")
    say("                   --label income --sensitive sex --out cases.csv")
