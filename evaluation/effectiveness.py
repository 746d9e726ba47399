"""Research question 1: how many of the inputs generated are discriminatory? The paper's table, made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evaluation.ledger import Cell, Ledger
from evaluation.numbers import Estimate, difference, mean_of, quotient, settings_text, spread, times
from evaluation.page import by_subject, table
from evaluation.plan import LOCKSTEP, ONE_WALKER, OTHERS, SEX, Plan
from evaluation.printed import EFFECTIVENESS, STRATEGIES, TITLES, titles

BEST = "auto"
"""Our best: the strategy that suits the model."""

COLUMNS: list[tuple[str, str, dict[str, int]]] = [
    ("uniform", "uniform", LOCKSTEP),
    *((f"{strategy}, one walker", strategy, ONE_WALKER) for strategy in STRATEGIES),
    *((f"{strategy}, lockstep", strategy, LOCKSTEP) for strategy in STRATEGIES),
    ("our best", BEST, LOCKSTEP),
]
"""Of the table: title, strategy, settings."""

HOW = (("one walker", ONE_WALKER), ("lockstep", LOCKSTEP))

PAIRS = (("fully-directed", "uniform"), ("semi-directed", "random"), ("fully-directed", "semi-directed"))
"""The strategies that the paper compares."""


def runs(plan: Plan, subject: str, strategy: str, how: dict[str, int], sensitive: Sequence[str] = SEX) -> list[Cell]:
    """The runs over the seeds of one cell of the table; uniform sampling has no walkers."""
    if sensitive == SEX:
        n_inputs = plan.n_inputs(subject, strategy)
    else:
        n_inputs = plan.other_inputs if how == ONE_WALKER else plan.other_inputs * 5 // 2
        if subject == "svm":  # its scores of ten twins for each input would take hours
            n_inputs //= 2
    settings: dict[str, Any] = {
        "subject": subject,
        "sensitive": list(sensitive),
        "strategy": strategy,
        **(LOCKSTEP if strategy == "uniform" else how),
        "n_inputs": n_inputs,
    }
    return [Cell("search_inputs", {**settings, "seed": seed}) for seed in plan.seeds]


def cells(plan: Plan) -> list[Cell]:
    """All runs, the long ones first."""
    all_runs = [
        run
        for sensitive in (SEX, *OTHERS)
        for subject in plan.subjects
        for _, strategy, how in COLUMNS
        for run in runs(plan, subject, strategy, how, sensitive)
    ]
    return sorted(all_runs, key=lambda cell: cell.settings["n_walkers"])


def percents(plan: Plan, ledger: Ledger, subject: str, strategy: str, how: dict[str, int]) -> list[float]:
    """The yields over the seeds, in per cent."""
    return ledger.values(runs(plan, subject, strategy, how), "percent")


def text(plan: Plan, ledger: Ledger) -> str:
    """The tables."""
    share = "" if plan.part == 1 else f" (here {plan.part:.0%} of it: lockstep has hardly begun to walk then)"
    return "\n\n".join([
        "## RQ1: effectiveness",
        f"Per cent of the inputs generated that are discriminatory, mean of {plan.n_seeds} seeds with its 95% interval "
        f"(Student's t). The budget of a row is the paper's number of inputs{share}; for uniform sampling and for our "
        f"best, where it tells none, that of `fully-directed`. \"One walker\" is the paper's algorithm to the letter "
        f"({settings_text(ONE_WALKER)}; the paper does not tell the numbers of trials, these are those of its authors' "
        f"program). \"Lockstep\" is what `search` does unless told otherwise ({settings_text(LOCKSTEP)}). Our best is "
        f"`strategy=\"auto\"`. Searches were accelerated where they can be, which changes their time alone.",
        _table(plan, ledger),
        "### How much better",
        "Yields divided by each other: the paper's by its own table, ours by the means above, with 95% intervals (the "
        "errors of both, to first order). The intervals tell how much the seeds of a search matter, not how much the "
        "subjects do: a mean is of these six and no others.",
        _ratios(plan, ledger),
        _order(plan, ledger),
        "### Race, and sex and race together",
        f"The paper leaves open what it finds for other sensitive parameters. One walker: {plan.other_inputs:,} "
        f"inputs, the others: {plan.other_inputs * 5 // 2:,}; SVM: half as many. {plan.n_seeds} seeds.",
        _others(plan, ledger),
    ])  # fmt: skip


def _table(plan: Plan, ledger: Ledger) -> str:
    rows = []
    for subject in plan.subjects:
        for strategy in (*EFFECTIVENESS[subject], BEST):
            printed = EFFECTIVENESS[subject].get(strategy)
            alone, lockstep = (
                spread(mean_of(percents(plan, ledger, subject, strategy, how)), "%")
                if strategy in STRATEGIES or how == LOCKSTEP
                else ""
                for how in (ONE_WALKER, LOCKSTEP)
            )
            rows.append([
                TITLES[subject],
                "**our best**" if strategy == BEST else strategy,
                f"{plan.n_inputs(subject, strategy):,}",
                "" if printed is None else f"{printed.percent}%",
                alone,
                lockstep,
            ])  # fmt: skip
    return table(["classifier", "strategy", "inputs", "paper", "one walker", "lockstep"], rows, n_left=2)


def printed_ratios(better: str, worse: str) -> dict[str, float]:
    """How many times as many, by the paper's table."""
    return {name: row[better].percent / row[worse].percent for name, row in EFFECTIVENESS.items()}


def ratios(plan: Plan, ledger: Ledger, better: str, worse: str, how: dict[str, int]) -> dict[str, Estimate]:
    """How many times as many, by ours; without any found by the worse there is no telling."""
    means = {
        subject: [mean_of(percents(plan, ledger, subject, strategy, how)) for strategy in (better, worse)]
        for subject in plan.subjects
    }
    return {subject: quotient(ours, theirs) for subject, (ours, theirs) in means.items() if theirs.value}


def _ratios(plan: Plan, ledger: Ledger) -> str:
    who = ("paper", *(title for title, _ in HOW))
    header = ["", *(f"{better} / {worse}: {each}" for better, worse in PAIRS for each in who), "our best / uniform"]
    columns = []
    for pair in PAIRS:
        columns.append({name: Estimate(each) for name, each in printed_ratios(*pair).items()})
        columns += [ratios(plan, ledger, *pair, how) for _, how in HOW]
    columns.append(ratios(plan, ledger, BEST, "uniform", LOCKSTEP))
    return table(header, by_subject(plan.subjects, columns, times))


class Order(NamedTuple):
    """The subjects on which one strategy is shown to be better than another, or worse, or neither."""

    better: list[str]
    worse: list[str]
    alike: list[str]


def compared(plan: Plan, ledger: Ledger, ours: str, theirs: str, how: dict[str, int]) -> Order:
    """The comparison of two strategies over the seeds."""
    order = Order([], [], [])
    for subject in plan.subjects:
        apart = difference(*(percents(plan, ledger, subject, each, how) for each in (ours, theirs)))
        (order.better if apart.low > 0 else order.worse if apart.high < 0 else order.alike).append(subject)
    return order


def _order(plan: Plan, ledger: Ledger) -> str:
    """Sentences that say if the paper's order of the strategies was found."""
    lines = []
    verbs = ("beats it on", "is beaten by it on", "no difference is shown on")
    for better, worse in (*PAIRS, ("fully-directed", "random")):
        for title, how in HOW:
            order = compared(plan, ledger, better, worse, how)
            words = [f"{verb} {titles(names)}" for verb, names in zip(verbs, order, strict=True) if names]
            lines.append(f"- `{better}` against `{worse}`, {title}: {'; '.join(words)}.")
    return "\n".join([
        "Whether the seeds show which of two is better (the 95% interval of the difference of means, Welch's t, "
        "each by itself: with so many, one in twenty of those without a difference shows one):",
        "",
        *lines,
    ])  # fmt: skip


def _others(plan: Plan, ledger: Ledger) -> str:
    rows = []
    for subject in plan.subjects:
        for sensitive in OTHERS:
            yields = [
                mean_of(ledger.values(runs(plan, subject, strategy, how, sensitive), "percent"))
                for _, strategy, how in COLUMNS
            ]
            rows.append([TITLES[subject], ", ".join(sensitive), *(spread(each, "%") for each in yields)])
    return table(["classifier", "sensitive", *(title for title, _, _ in COLUMNS)], rows, n_left=2)
