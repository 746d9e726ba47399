"""Strategies against each other: at equal judged inputs, at equal queries and at equal seconds, over many seeds."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from evaluation.ledger import Cell, Figures, Ledger
from evaluation.numbers import mean_of, quotient, times
from evaluation.page import draw_curve, panels, table
from evaluation.plan import SEX, Plan

STRATEGIES = ("uniform", "random", "semi-directed", "fully-directed", "genetic", "anchored", "guided")
RIVALS = ("fully-directed", "genetic")
BUDGETS = ("inputs", "queries", "seconds")

Runs = list[Figures]


def limits(plan: Plan, subject: str, budget: str) -> dict[str, Any]:
    """The settings of a search within a budget; the SVM's is smaller, as libsvm answers some 3,000 rows a second."""
    is_slow = subject == "svm"
    limit: dict[str, Any]
    if budget == "inputs":
        n = plan.duel_inputs // 5 if is_slow else plan.duel_inputs
        return {"max_inputs": n, "accelerate": "auto" if is_slow else "off"}
    if budget == "queries":
        limit = {"max_queries": plan.duel_inputs // 5 if is_slow else plan.duel_inputs * 2}
    else:
        limit = {"max_seconds": plan.duel_seconds * 5 if is_slow else plan.duel_seconds}
    return {**limit, "accelerate": "off", **({"n_global": 2000} if is_slow else {})}


def runs(plan: Plan, subject: str, strategy: str, budget: str) -> list[Cell]:
    """A strategy on a subject, over the seeds. They have the machine for themselves, as their seconds are compared."""
    settings = {
        "subject": subject,
        "strategy": strategy,
        "n_references": plan.duel_inputs // 5 if subject == "svm" else plan.duel_inputs,
        **limits(plan, subject, budget),
    }
    seeds = range(plan.seed, plan.seed + plan.duel_seeds)
    return [Cell("search_spread", {**settings, "seed": seed}, is_timed=True) for seed in seeds]


def curve(plan: Plan, subject: str, strategy: str) -> Cell:
    """Cases over inputs generated, of one seed."""
    budget = limits(plan, subject, "inputs")
    settings = {"subject": subject, "sensitive": list(SEX), "strategy": strategy, "accelerate": budget["accelerate"]}
    return Cell("search_curve", {**settings, "n_inputs": budget["max_inputs"], "seed": plan.seed})


def cells(plan: Plan) -> list[Cell]:
    """All runs. Strategies take turns, seed by seed, so that all see the same machine."""
    found = [curve(plan, subject, strategy) for subject in plan.duel_subjects for strategy in STRATEGIES]
    for subject in plan.duel_subjects:
        for budget in BUDGETS:
            each = [runs(plan, subject, strategy, budget) for strategy in STRATEGIES]
            found += [cell for turn in zip(*each, strict=True) for cell in turn]
    return found


def figures(plan: Plan, ledger: Ledger, subject: str, budget: str) -> dict[str, Runs]:
    """What came of a subject's runs, by strategy."""
    return {strategy: [ledger[cell] for cell in runs(plan, subject, strategy, budget)] for strategy in STRATEGIES}


def text(plan: Plan, ledger: Ledger) -> str:
    """The tables and the figures."""
    parts = [_notes(plan), "## Most cases", _MOST, _best(plan, ledger)]
    for budget in BUDGETS:
        rows = [
            [subject, strategy, *_row(strategy, found)]
            for subject in plan.duel_subjects
            for found in [figures(plan, ledger, subject, budget)]
            for strategy in STRATEGIES
        ]
        parts += [f"## At equal {budget}", table(HEADER, rows, n_left=2)]
    shown = "![Cases over inputs generated](strategies.svg)"
    return "\n\n".join([*parts, "## Cases over inputs generated", f"One seed.\n\n{shown}"])


def _notes(plan: Plan) -> str:
    n = plan.duel_inputs
    return (
        "Taken before the strategies beyond the paper (`genetic`, `anchored`, `guided`) started with a few seeds, not "
        "with those of a whole global round, and before `guided` asked once for labels and scores: at small budgets "
        "they find more now (`benchmarks/small_budgets.py`).\n\n"
        "Medians over seeds. Yield measures a search, never a model. Recall, of the cases that independent uniform "
        "sampling finds, and the mean pairwise Hamming distance (of 12) say how widely the cases are spread; so do the "
        "cells of a coarse grid and, for trees, the combinations of leaves that the cases fall into.\n\n"
        "A strategy is compared with `fully-directed` and with `genetic` by its distinct cases: the probability that "
        "it finds more in one run than the other does (a half if they are alike), and the p of Mann-Whitney's test, "
        "not adjusted for the number of comparisons. `guided` also asks for scores, which are queries too: on most "
        "models twice as many.\n\n"
        "Searches are not accelerated, but for the SVM's at equal inputs, which would take hours; what is found is the "
        f"same. The SVM's budgets are smaller: {n // 5:,} inputs (others {n:,}), {n // 5:,} queries ({2 * n:,}), "
        f"{5 * plan.duel_seconds:g} seconds ({plan.duel_seconds:g}). A global round is 5,000 inputs, for the SVM at "
        "equal queries and seconds 2,000. Strategies took turns, seed by seed, so their seconds can be compared; those "
        "of different subjects cannot, as the machine did other work too."
    )


_MOST = (
    "Which strategy found the most, how many times the cases of `fully-directed` by their means, with the 95% interval "
    "over the seeds, and its recall."
)


def _best(plan: Plan, ledger: Ledger) -> str:
    rows = [
        [subject, *(_most(figures(plan, ledger, subject, budget)) for budget in BUDGETS)]
        for subject in plan.duel_subjects
    ]
    return table(["subject", *(f"at equal {budget}" for budget in BUDGETS)], rows, n_left=4)


def _most(found: dict[str, Runs]) -> str:
    means = {strategy: mean_of([run["n_cases"] for run in each]) for strategy, each in found.items()}
    best = max(means, key=lambda strategy: means[strategy].value)
    usual = means["fully-directed"]
    more = times(quotient(means[best], usual)) if usual.value else "none by fully-directed"
    return f"{best}: {more}, recall {_median(found[best], 'recall', '.0%')}"


HEADER = [
    "subject", "strategy", "seeds", "cases", "yield", "cases/s", "queries/case", "recall", "hamming", "cells", "leaves",
    *(f"against {rival}" for rival in RIVALS),
]  # fmt: skip


def _row(strategy: str, found: dict[str, Runs]) -> list[str]:
    each = found[strategy]
    per_second = [run["n_cases"] / run["seconds"] for run in each if run["seconds"]]
    per_case = [run["n_queries"] / run["n_cases"] for run in each if run["n_cases"]]
    return [
        str(len(each)),
        _median(each, "n_cases", ",.0f"),
        f"{statistics.median(run['percent'] for run in each):.1f}%",
        f"{statistics.median(per_second):,.0f}" if per_second else "",
        f"{statistics.median(per_case):.2f}" if per_case else "",
        _median(each, "recall", ".1%"),
        _median(each, "hamming", ".2f"),
        *(_median(each, name, ",.0f") for name in ("cells", "leaves")),
        *("" if rival == strategy else _against(each, found[rival]) for rival in RIVALS),
    ]


def _median(found: Runs, name: str, form: str) -> str:
    """Empty where there is none, as leaves of a support vector machine."""
    known = [run[name] for run in found if name in run]
    return format(statistics.median(known), form) if known else ""


def _against(ours: Runs, theirs: Runs) -> str:
    """The probability of more cases, and Mann-Whitney's p."""
    from scipy.stats import mannwhitneyu

    counts = [[run["n_cases"] for run in each] for each in (ours, theirs)]
    test = mannwhitneyu(*counts, alternative="two-sided")
    # Newer versions of SciPy give none where all are the same.
    p_value = 1.0 if math.isnan(test.pvalue) else test.pvalue
    return f"{test.statistic / (len(ours) * len(theirs)):.2f} (p = {p_value:.1g})"


def draw(plan: Plan, ledger: Ledger, folder: Path) -> None:
    """Cases over inputs generated, a line a strategy, a panel for each subject."""
    with panels(folder / "strategies.svg", plan.duel_subjects, width=4.2, height=3.0) as all_axes:
        for subject, axes in zip(plan.duel_subjects, all_axes, strict=True):
            for strategy in STRATEGIES:
                cell = curve(plan, subject, strategy)
                draw_curve(axes, ledger[cell]["cases"], cell.settings["n_inputs"], label=strategy, linewidth=1.4)
        all_axes[0].legend(frameon=False, fontsize=8)
