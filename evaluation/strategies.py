"""Strategies against each other: at equal judged inputs, at equal queries and at equal seconds, over many seeds."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.ledger import Cell, Figures, Ledger
from evaluation.numbers import Estimate, mean_of, quotient, settings_text, spread, times
from evaluation.page import draw_curve, panels, table
from evaluation.plan import ONE_WALKER, SEX, Plan

STRATEGIES = ("uniform", "fully-directed", "genetic", "anchored", "guided")
"""Of the paper's, the one that finds the most: `docs/paper.md` has the others."""

ONE = "one walker"
AUTO = "auto"
RIVALS = ("fully-directed", "genetic")

NEARLY_ALL = 0.03
"""So far below the highest a recall may be."""

Runs = list[Figures]


@dataclass(frozen=True)
class Budget:
    """The settings that all strategies share."""

    title: str
    limit: dict[str, Any]
    n_seeds: int
    strategies: tuple[str, ...] = STRATEGIES


def budgets(plan: Plan, subject: str) -> list[Budget]:
    """The budgets of a subject, of which the SVM's are smaller; their titles are the same for all."""
    is_slow = subject == "svm"
    few, many = plan.duel_queries
    n_seeds = plan.duel_seeds // 2 if is_slow else plan.duel_seeds
    return [
        Budget("equal inputs", {"max_judged": plan.duel_inputs // (20 if is_slow else 1)}, plan.duel_runs),
        # One walker asks about one input at a time: many would take an hour of a pipeline.
        Budget(f"{few:,} queries", {"max_queries": few}, n_seeds, (ONE, *STRATEGIES)),
        Budget(f"{many:,} queries", {"max_queries": many // (4 if is_slow else 1)}, n_seeds),
        # Where seconds alone are few, `auto` is a strategy with settings of its own: it runs beside the others.
        Budget(
            "equal seconds",
            {"max_seconds": plan.duel_seconds * (4 if is_slow else 1)},
            plan.duel_runs,
            (*STRATEGIES, AUTO),
        ),
    ]


def runs(plan: Plan, subject: str, strategy: str, budget: Budget) -> list[Cell]:
    """A strategy on a subject, over the seeds."""
    how: dict[str, Any] = {"strategy": "fully-directed", **ONE_WALKER} if strategy == ONE else {"strategy": strategy}
    if "max_seconds" in budget.limit:
        how["accelerate"] = "off"  # what a stand-in proposes is confirmed after the deadline
    settings = {"subject": subject, "n_references": plan.duel_inputs, **how, **budget.limit}
    return [Cell("search_spread", {**settings, "seed": seed}) for seed in range(plan.seed, plan.seed + budget.n_seeds)]


def curve(plan: Plan, subject: str, strategy: str) -> Cell:
    """Cases over inputs generated, of one seed."""
    n_inputs = budgets(plan, subject)[0].limit["max_judged"]
    settings = {"subject": subject, "sensitive": list(SEX), "strategy": strategy, "n_inputs": n_inputs}
    return Cell("search_curve", {**settings, "seed": plan.seed})


def auto(subject: str, budget: Budget) -> Cell:
    """The strategy that `auto` stands for."""
    return Cell("auto_strategy", {"subject": subject, **budget.limit})


def cells(plan: Plan) -> list[Cell]:
    """All runs, those on a subject one after the other: it is fitted once. Strategies take turns, seed by seed."""
    found = []
    for subject in plan.duel_subjects:
        found += [curve(plan, subject, strategy) for strategy in STRATEGIES]
        for budget in budgets(plan, subject):
            each = [runs(plan, subject, strategy, budget) for strategy in budget.strategies]
            found += [auto(subject, budget), *(cell for turn in zip(*each, strict=True) for cell in turn)]
    return found


def figures(plan: Plan, ledger: Ledger, subject: str, budget: Budget) -> dict[str, Runs]:
    """The figures of a subject's runs, by strategy."""
    return {
        strategy: [ledger[cell] for cell in runs(plan, subject, strategy, budget)] for strategy in budget.strategies
    }


# What `auto` is worth


@dataclass(frozen=True)
class Standing:
    """How `auto` stands on a subject within a budget, beside the others."""

    settled: str
    """The strategy that it is."""
    pick: str
    """Whose runs are its own: that one's, or where it ran by itself, `auto`."""
    cases: dict[str, Estimate]
    """By strategy, the mean."""
    recall: dict[str, float]
    """By strategy, the median."""

    @property
    def most(self) -> str:
        """The strategy that found the most cases."""
        return max(self.cases, key=lambda strategy: self.cases[strategy].value)

    @property
    def widest(self) -> str:
        """The strategy with the highest recall; of several, the one that found the most cases."""
        return max(self.recall, key=lambda strategy: (self.recall[strategy], self.cases[strategy].value))

    @property
    def best(self) -> str:
        """The strategy that found the most cases among those whose recall is nearly the highest."""
        wide = {each: cases for each, cases in self.cases.items() if self.behind(each) <= NEARLY_ALL}
        return max(wide, key=lambda strategy: wide[strategy].value)

    def behind(self, strategy: str) -> float:
        """How far its recall is below the highest."""
        return self.recall[self.widest] - self.recall[strategy]

    def part(self, other: str) -> Estimate:
        """Its cases as a part of another strategy's; of none it has all."""
        theirs = self.cases[other]
        return quotient(self.cases[self.pick], theirs) if other != self.pick and theirs.value else Estimate(1.0)


def standing(plan: Plan, ledger: Ledger, subject: str, budget: Budget) -> Standing:
    """How `auto` does."""
    found = figures(plan, ledger, subject, budget)
    settled = ledger[auto(subject, budget)]["strategy"]
    return Standing(
        settled,
        pick=AUTO if AUTO in found else settled,
        cases={strategy: mean_of([run["n_cases"] for run in each]) for strategy, each in found.items()},
        recall={strategy: statistics.median(run["recall"] for run in each) for strategy, each in found.items()},
    )


def _auto(plan: Plan, ledger: Ledger, number: int) -> str:
    """The table of a budget, and how often the bars are met."""
    each = {subject: standing(plan, ledger, subject, budgets(plan, subject)[number]) for subject in plan.duel_subjects}
    rows = [
        [
            subject,
            its.settled,
            f"{its.most}: {_part(its.part(its.most))}",
            f"{its.widest}: {its.recall[its.pick]:.1%} of {its.recall[its.widest]:.1%}",
            f"{its.best}: {_part(its.part(its.best))}",
        ]
        for subject, its in each.items()
    ]
    parts = [its.part(its.best).value for its in each.values()]
    n_wide = sum(its.behind(its.pick) <= NEARLY_ALL for its in each.values())
    met = (
        f"Of {len(rows)} models `auto` has at least 95% of the best's cases on {sum(part >= 0.95 for part in parts)}, "
        f"at least 85% on {sum(part >= 0.85 for part in parts)}, and a recall at most three points below the highest "
        f"on {n_wide}."
    )
    return f"{table(AUTO_HEADER, rows, n_left=5)}\n\n{met}"


AUTO_HEADER = ["model", "`auto` is", "most cases: its part", "highest recall: its own of that", "best: its part"]


def _part(part: Estimate) -> str:
    return spread(part.scaled(100), "%")


# The page


def text(plan: Plan, ledger: Ledger) -> str:
    """The tables and the figures."""
    titles = [budget.title for budget in budgets(plan, plan.duel_subjects[0])]
    parts = [_notes(plan), "## Most cases", _MOST, _best(plan, ledger), "## What `auto` is", _AUTO]
    for number, title in enumerate(titles):
        parts += [f"### At {title}", _auto(plan, ledger, number)]
    for number, title in enumerate(titles):
        rows = [
            [subject, strategy, *_row(strategy, found)]
            for subject in plan.duel_subjects
            for found in [figures(plan, ledger, subject, budgets(plan, subject)[number])]
            for strategy in found
        ]
        parts += [f"## At {title}", table(HEADER, rows, n_left=2)]
    shown = "![Cases over inputs generated](strategies.svg)"
    return "\n\n".join([*parts, "## Cases over inputs generated", f"One seed.\n\n{shown}"])


def _notes(plan: Plan) -> str:
    svm = [next(iter(budget.limit.values())) for budget in budgets(plan, "svm")]
    few, many = plan.duel_queries
    return (
        "Seven classifiers on the encoded census, and three pipelines on the natural one: one-hot encoding with "
        "logistic regression and with an MLP, ordinal encoding with gradient boosting of histograms. Of the paper's "
        "strategies `fully-directed` stands here, which finds the most; [paper.md](paper.md) has the others.\n\n"
        "Medians over seeds. Yield measures a search, never a model. Recall, of the cases that independent uniform "
        f"sampling finds among {plan.duel_inputs:,} inputs (500 at most), and the cells of a coarse grid that hold a "
        "case say how widely the cases are spread. On the pipelines recall tells nothing yet: near is a case that "
        "differs in one category at most, and there are millions of combinations.\n\n"
        "A strategy is compared with `fully-directed` and with `genetic` by its distinct cases: the probability that "
        "it finds more in one run than the other does (a half if they are alike), and the p of Mann-Whitney's test, "
        "not adjusted for the number of comparisons. `one walker` is the paper's algorithm trial by trial "
        f"({settings_text(ONE_WALKER)}): with {few:,} queries its first global round is all that it comes to.\n\n"
        f"Equal inputs are {plan.duel_inputs:,}, equal seconds {plan.duel_seconds:g} of the processor, in one thread. "
        f"The SVM's budgets are smaller, as libsvm answers some 3,000 rows a second: {svm[0]:,} inputs, {svm[1]:,} "
        f"queries, {svm[2]:,} in place of {many:,} queries, and {svm[3]:g} seconds. Acceleration is as by default, "
        "none where queries are limited; and none at equal seconds, as cases that a stand-in proposes are confirmed "
        "after the deadline, which may take several times as long."
    )


_MOST = (
    "Which strategy found the most, how many times the cases of `fully-directed` by their means, with the 95% interval "
    "over the seeds, and its recall."
)


def _best(plan: Plan, ledger: Ledger) -> str:
    rows = [
        [subject, *(_most(figures(plan, ledger, subject, budget)) for budget in budgets(plan, subject))]
        for subject in plan.duel_subjects
    ]
    titles = [f"at {budget.title}" for budget in budgets(plan, plan.duel_subjects[0])]
    return table(["model", *titles], rows, n_left=1 + len(titles))


def _most(found: dict[str, Runs]) -> str:
    means = {strategy: mean_of([run["n_cases"] for run in each]) for strategy, each in found.items()}
    best = max(means, key=lambda strategy: means[strategy].value)
    usual = means["fully-directed"]
    more = times(quotient(means[best], usual)) if usual.value else "none by fully-directed"
    return f"{best}: {more}, recall {_median(found[best], 'recall', '.0%')}"


_AUTO = (
    "`auto`, the default, picks by the declared kind of model and by the limits given. Same seed and settings, same "
    "run: its figures are those of the strategy that it is. At equal seconds it also lets all walkers begin at once "
    "(`hurry`; but not for the SVM), so it ran by itself there. Beside them stand who found the most cases, and the "
    "part of these that it found, by the means with the 95% interval over the seeds; and who has the highest recall, "
    "and its own of that, by the medians. Where cases and recall disagree, recall comes first: the best is who found "
    "the most of those whose recall is at most three points below the highest. A part above 100% is of a best that "
    "found fewer cases, more widely spread."
)

HEADER = ["model", "strategy", "seeds", "cases", "yield", "recall", "cells", *(f"against {rival}" for rival in RIVALS)]


def _row(strategy: str, found: dict[str, Runs]) -> list[str]:
    each = found[strategy]
    return [
        str(len(each)),
        _median(each, "n_cases", ",.0f"),
        f"{_median(each, 'percent', '.1f')}%",
        _median(each, "recall", ".1%"),
        _median(each, "cells", ",.0f"),
        *("" if rival == strategy else _against(each, found[rival]) for rival in RIVALS),
    ]


def _median(found: Runs, name: str, form: str) -> str:
    return format(statistics.median(run[name] for run in found), form)


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
