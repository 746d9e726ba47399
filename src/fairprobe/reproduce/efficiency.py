"""Research question 2: how long do 10,000 discriminatory inputs take? The paper's table, made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.effectiveness import BEST
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import ONE_WALKER, OTHERS, SEX, Plan
from fairprobe.reproduce.printed import EFFICIENCY, STRATEGIES, TITLES
from fairprobe.reproduce.writing import by_subject, digits, ratio, settings_text, table

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

    seconds: float
    """Infinite if none was found."""
    is_measured: bool

    def __str__(self) -> str:
        if self.seconds == float("inf"):
            return "none found"
        return f"{'' if self.is_measured else '~'}{digits(self.seconds)} s"


def time_of(plan: Plan, ledger: Ledger, runs: Sequence[Cell]) -> Time:
    """The median over runs."""
    counts, seconds = ledger.times(runs, "n_cases"), ledger.times(runs, "search_seconds")
    times = [
        each if n >= plan.n_cases else each * plan.n_cases / n if n else float("inf")
        for n, each in zip(counts, seconds, strict=True)
    ]
    return Time(median(times), is_measured=min(counts) >= plan.n_cases)


def text(plan: Plan, ledger: Ledger) -> str:
    """The tables."""
    return "\n\n".join([
        "## RQ2: efficiency",
        f"Seconds to {plan.n_cases:,} discriminatory inputs, asking the model included. The paper: an Intel i7 with 64 "
        f"GB of memory. Row at a time: the paper's algorithm on this machine ({settings_text(ONE_WALKER)}), one call "
        f"of the model's `predict` for each input and its twin, for {plan.row_seconds:g} s, a run on each core at a "
        f"time. Ours: `search` as it is, median of "
        f"{plan.n_timed} (SVM: 1), each of {plan.timed_seconds:g} s at most. A `~` marks what is extrapolated from the "
        f"cases found until a run was cut off; as repeats grow more frequent, the true time would be longer. Like for "
        f"like is the row at a time against ours: the same machine and model, the same algorithm but for its walkers.",
        _table(plan, ledger),
        "### Ratios",
        _ratios(plan, ledger),
        "### Race, and sex and race together",
        f"Seconds to {plan.n_cases:,} cases, one run each.",
        _others(plan, ledger),
    ])  # fmt: skip


def _table(plan: Plan, ledger: Ledger) -> str:
    header = ["classifier", "strategy", "paper", "row at a time", "ours", "row at a time / ours"]
    rows = []
    for subject in plan.subjects:
        for strategy in PAPER:
            slow, quick = slow_and_quick(plan, ledger, subject, strategy)
            printed = f"{EFFICIENCY[subject][strategy]:,} s"
            rows.append([TITLES[subject], strategy, printed, slow, quick, _times_faster(slow, quick)])
        best = time_of(plan, ledger, timed(plan, subject, BEST))
        slow, _ = slow_and_quick(plan, ledger, subject, "fully-directed")
        rows.append(
            [TITLES[subject], "**our best** (against fully-directed)", "", slow, best, _times_faster(slow, best)]
        )
    return table(header, rows, n_left=2)


def slow_and_quick(plan: Plan, ledger: Ledger, subject: str, strategy: str) -> tuple[Time, Time]:
    """A row at a time, and ours."""
    return (
        time_of(plan, ledger, [by_rows(plan, subject, strategy)]),
        time_of(plan, ledger, timed(plan, subject, strategy)),
    )


def _times_faster(slow: Time, quick: Time) -> str:
    return ratio(slow.seconds / quick.seconds) if slow.seconds < float("inf") else ""


def faster(uniform: float, other: float) -> float:
    """How much faster than uniform sampling, in per cent, as the paper counts."""
    return 100 * (1 - other / uniform)


def printed_faster(strategy: str) -> dict[str, float]:
    """By the paper's table."""
    return {name: faster(row["uniform"], row[strategy]) for name, row in EFFICIENCY.items()}


def rows_faster(plan: Plan, ledger: Ledger, strategy: str) -> dict[str, float]:
    """A row at a time; where uniform sampling found none in its time there is no telling."""
    return _faster(plan, strategy, lambda name, each: time_of(plan, ledger, [by_rows(plan, name, each)]))


def ours_faster(plan: Plan, ledger: Ledger, strategy: str) -> dict[str, float]:
    """By ours."""
    return _faster(plan, strategy, lambda name, each: time_of(plan, ledger, timed(plan, name, each)))


def _faster(plan: Plan, strategy: str, time: Callable[[str, str], Time]) -> dict[str, float]:
    pairs = {name: (time(name, "uniform").seconds, time(name, strategy).seconds) for name in plan.subjects}
    return {name: faster(*pair) for name, pair in pairs.items() if pair[0] < float("inf")}


def _ratios(plan: Plan, ledger: Ledger) -> str:
    """How much faster than uniform sampling, in per cent."""
    strategies = ("random", "fully-directed")
    header = [
        "faster than uniform by",
        *(f"{each}: {who}" for each in strategies for who in ("paper", "row at a time", "ours")),
    ]
    columns = [
        column
        for each in strategies
        for column in (printed_faster(each), rows_faster(plan, ledger, each), ours_faster(plan, ledger, each))
    ]
    return table(header, by_subject(plan.subjects, columns, lambda each: f"{each:.1f}%"))


def _others(plan: Plan, ledger: Ledger) -> str:
    header = ["classifier", "sensitive", *("our best" if each == BEST else each for each in OTHER)]
    rows = [
        [TITLES[subject], ", ".join(sensitive)]
        + [str(time_of(plan, ledger, timed(plan, subject, strategy, sensitive))) for strategy in OTHER]
        for subject in plan.subjects
        for sensitive in OTHERS
    ]
    return table(header, rows, n_left=2)
