"""Research question 2: how long do 10,000 discriminatory inputs take? The paper's table, made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from evaluation.effectiveness import BEST
from evaluation.ledger import Cell, Ledger
from evaluation.numbers import Estimate, mean_of, points, quotient, settings_text, spread, times
from evaluation.page import by_subject, table
from evaluation.plan import ONE_WALKER, OTHERS, SEX, Plan
from evaluation.printed import EFFICIENCY, STRATEGIES, TITLES

PAPER = ("uniform", *STRATEGIES)
OURS = (*PAPER, BEST)
OTHER = ("uniform", "fully-directed", BEST)


def timed(plan: Plan, subject: str, strategy: str, sensitive: Sequence[str] = SEX) -> list[Cell]:
    """Searches in lockstep that have the machine for themselves."""
    n = 1 if subject == "svm" or tuple(sensitive) != SEX else plan.n_timed
    settings = {
        "subject": subject,
        "sensitive": list(sensitive),
        "strategy": strategy,
        "n_cases": plan.n_cases,
        "max_seconds": plan.timed_seconds,
    }
    seeds = range(plan.seed, plan.seed + n)
    return [Cell("time_to_cases", {**settings, "seed": seed}, is_timed=True) for seed in seeds]


def by_rows(plan: Plan, subject: str, strategy: str) -> Cell:
    """The paper's algorithm, one input a model call."""
    settings = {
        "subject": subject,
        "strategy": strategy,
        "n_cases": plan.n_cases,
        "max_seconds": plan.row_seconds,
        **ONE_WALKER,
        "seed": plan.seed,
    }
    return Cell("row_at_a_time", settings)


def cells(plan: Plan) -> list[Cell]:
    """All searches."""
    rows = [by_rows(plan, subject, strategy) for subject in plan.subjects for strategy in PAPER]
    sex = [cell for subject in plan.subjects for strategy in OURS for cell in timed(plan, subject, strategy)]
    others = [
        cell
        for sensitive in OTHERS
        for subject in plan.subjects
        for strategy in OTHER
        for cell in timed(plan, subject, strategy, sensitive)
    ]
    return [*rows, *sex, *others]


@dataclass(frozen=True)
class Time:
    """Seconds to the number of cases asked for, as measured or extrapolated from the cases found until the cut."""

    seconds: Estimate
    """Infinite if none was found."""
    is_measured: bool

    def __str__(self) -> str:
        return f"{'' if self.is_measured or not isfinite(self.seconds.value) else '~'}{spread(self.seconds, ' s')}"


def time_of(plan: Plan, ledger: Ledger, runs: Sequence[Cell]) -> Time:
    """The mean over runs."""
    counts, seconds = ledger.values(runs, "n_cases"), ledger.values(runs, "seconds")
    each = [time * max(1.0, plan.n_cases / n) if n else inf for n, time in zip(counts, seconds, strict=True)]
    mean = mean_of(each) if all(map(isfinite, each)) else Estimate(inf)
    return Time(mean, is_measured=min(counts) >= plan.n_cases)


def slow_time(plan: Plan, ledger: Ledger, subject: str, strategy: str) -> Time:
    """A row at a time: one run."""
    return time_of(plan, ledger, [by_rows(plan, subject, strategy)])


def quick_time(plan: Plan, ledger: Ledger, subject: str, strategy: str) -> Time:
    """In lockstep."""
    return time_of(plan, ledger, timed(plan, subject, strategy))


def printed_faster(strategy: str) -> dict[str, float]:
    """How much faster than uniform sampling, in per cent as the paper counts, by its own table."""
    return {name: 100 * (1 - row[strategy] / row["uniform"]) for name, row in EFFICIENCY.items()}


TimeOf = Callable[[Plan, Ledger, str, str], Time]


def faster(plan: Plan, ledger: Ledger, strategy: str, time: TimeOf, than: str = "uniform") -> dict[str, Estimate]:
    """Per cent of the time that a strategy saves, by subject; subjects where the other found no case are left out.

    Minus infinity where the strategy found none, and the other did.
    """
    found = {}
    for subject in plan.subjects:
        ours, theirs = (time(plan, ledger, subject, each).seconds for each in (strategy, than))
        if isfinite(theirs.value):
            found[subject] = quotient(ours, theirs).scaled(-100, 100)
    return found


def text(plan: Plan, ledger: Ledger) -> str:
    """The tables."""
    return "\n\n".join([
        "## RQ2: efficiency",
        f"Seconds to {plan.n_cases:,} discriminatory inputs, asking the model included. The paper: an Intel i7 with 64 "
        f"GB of memory. Row at a time: the paper's algorithm on this machine ({settings_text(ONE_WALKER)}), one call "
        f"of the model's `predict` for each input and its twin, for {plan.row_seconds:g} s, a run on each core at a "
        f"time; one run each, so that neither it nor what is divided by it has an interval. Ours: `search` as it is, "
        f"mean of {plan.n_timed} (SVM: 1) with its 95% interval, each of {plan.timed_seconds:g} s at most. A `~` marks "
        f"what is extrapolated from the cases found until a run was cut off; as repeats grow more frequent, the true "
        f"time would be longer. Like for like is the row at a time against ours: the same machine and model, the same "
        f"algorithm but for its walkers.",
        _table(plan, ledger),
        "### Faster than uniform sampling",
        _ratios(plan, ledger),
        "### Race, and sex and race together",
        f"Seconds to {plan.n_cases:,} cases, one run each.",
        _others(plan, ledger),
    ])  # fmt: skip


def _table(plan: Plan, ledger: Ledger) -> str:
    rows = []
    for subject in plan.subjects:
        for strategy in OURS:
            is_best = strategy == BEST
            slow = slow_time(plan, ledger, subject, "fully-directed" if is_best else strategy)
            quick = quick_time(plan, ledger, subject, strategy)
            is_known = isfinite(slow.seconds.value) and isfinite(quick.seconds.value)
            rows.append([
                TITLES[subject],
                "**our best** (against fully-directed)" if is_best else strategy,
                "" if is_best else f"{EFFICIENCY[subject][strategy]:,} s",
                slow,
                quick,
                times(quotient(slow.seconds, quick.seconds)) if is_known else "",
            ])  # fmt: skip
    return table(["classifier", "strategy", "paper", "row at a time", "ours", "row at a time / ours"], rows, n_left=2)


def _ratios(plan: Plan, ledger: Ledger) -> str:
    strategies = ("random", "fully-directed")
    header = ["", *(f"{each}: {who}" for each in strategies for who in ("paper", "row at a time", "ours"))]
    columns = []
    for strategy in strategies:
        columns.append({name: Estimate(each) for name, each in printed_faster(strategy).items()})
        columns += [faster(plan, ledger, strategy, time) for time in (slow_time, quick_time)]
    return table(header, by_subject(plan.subjects, columns, points))


def _others(plan: Plan, ledger: Ledger) -> str:
    rows = [
        [TITLES[subject], ", ".join(sensitive)]
        + [str(time_of(plan, ledger, timed(plan, subject, strategy, sensitive))) for strategy in OTHER]
        for subject in plan.subjects
        for sensitive in OTHERS
    ]
    return table(["classifier", "sensitive", *OTHER[:-1], "our best"], rows, n_left=2)
