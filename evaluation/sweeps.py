"""How a search's yield depends on its settings: the length of a walk, the number of walkers, Δv and Δpr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.ledger import Cell, Ledger
from evaluation.numbers import Estimate, mean_of, spread
from evaluation.page import panels, table
from evaluation.plan import ONE_WALKER, SEX, Plan
from evaluation.printed import TITLES

N_GLOBAL = ONE_WALKER["n_global"]

DELTAS = {"delta_v": "semi-directed", "delta_pr": "fully-directed"}
"""The offsets, and the strategy that each came with."""

Delta = tuple[str, float]


def walk_runs(plan: Plan, subject: str, n_walkers: int, n_local: int) -> list[Cell]:
    """Runs of one length of walks; so long that every walker ends one at least."""
    n_inputs = max(plan.sweep_inputs, N_GLOBAL + n_walkers * n_local)
    settings = {"n_walkers": n_walkers, "n_global": N_GLOBAL, "n_local": n_local, "n_inputs": n_inputs}
    return _runs(plan, subject, "fully-directed", settings)


def delta_runs(plan: Plan, subject: str, delta: Delta | None) -> list[Cell]:
    """Runs of one walker with another Δ; with None of `random`, which learns nothing."""
    settings = {**ONE_WALKER, "n_inputs": plan.sweep_inputs}
    if delta is None:
        return _runs(plan, subject, "random", settings)
    name, value = delta
    return _runs(plan, subject, DELTAS[name], {**settings, name: value})


def _runs(plan: Plan, subject: str, strategy: str, settings: dict[str, Any]) -> list[Cell]:
    about = {"subject": subject, "sensitive": list(SEX), "strategy": strategy}
    return [Cell("search_inputs", {**about, **settings, "seed": seed}) for seed in plan.sweep_range]


def _deltas(plan: Plan) -> list[Delta | None]:
    return [None, *((name, value) for name in DELTAS for value in plan.deltas)]


def cells(plan: Plan) -> list[Cell]:
    """All runs."""
    found: list[Cell] = []
    for subject in plan.sweep_subjects:
        for n_walkers in plan.n_walkers:
            for n_local in plan.n_locals:
                found += walk_runs(plan, subject, n_walkers, n_local)
        for delta in _deltas(plan):
            found += delta_runs(plan, subject, delta)
    return found


def mean_percent(ledger: Ledger, runs: list[Cell]) -> Estimate:
    """The mean yield, in per cent."""
    return mean_of(ledger.values(runs, "percent"))


def gains(plan: Plan, ledger: Ledger, ours: Delta, theirs: Delta | None) -> dict[str, Estimate]:
    """How much more the yield with one Δ is, in per cent of that with another, seed by seed.

    Runs of one seed draw the same numbers, so that those of two Δ that do the same differ by nothing.
    """
    found = {}
    for subject in plan.sweep_subjects:
        pairs = zip(
            *(ledger.values(delta_runs(plan, subject, each), "percent") for each in (ours, theirs)), strict=True
        )
        more = [100 * (our / their - 1) for our, their in pairs if their]
        if more:
            found[subject] = mean_of(more)
    return found


def text(plan: Plan, ledger: Ledger) -> str:
    """The words for the figure, and the table of Δv and Δpr."""
    seeds = f"mean of {plan.sweep_seeds} seeds"
    return "\n\n".join([
        "### The length of a walk",
        "![Yield over the length of a walk](paper-walks.svg)",
        f"`fully-directed`, {seeds}, `n_global={N_GLOBAL:,}`, {plan.sweep_inputs:,} inputs or as many as all "
        f"walkers need for one walk. A short walk stays near the case it began at and is discriminatory as often as "
        f"its neighbours are; a long one wanders off. {_walk_range(plan, ledger)}",
        "### Sensitivity to Δv and Δpr",
        f"Yield in per cent of one walker ({plan.sweep_inputs:,} inputs, {seeds} with its 95% interval): "
        f"`semi-directed` over Δv, and `fully-directed` over Δpr with Δv at 0.001. The paper's value for both is "
        f"0.001.",
        _delta_table(plan, ledger),
    ])  # fmt: skip


def _walk_range(plan: Plan, ledger: Ledger) -> str:
    parts = []
    for subject in plan.sweep_subjects:
        yields = {n: mean_percent(ledger, walk_runs(plan, subject, 1, n)) for n in plan.n_locals}
        best, last = max(yields, key=lambda n: yields[n].value), plan.n_locals[-1]
        parts.append(
            f"{TITLES[subject]} {spread(yields[best], '%')} at `n_local={best:,}`, {spread(yields[last], '%')} at "
            f"{last:,}"
        )
    return f"Best and at the longest, one walker: {'; '.join(parts)}."


def _delta_table(plan: Plan, ledger: Ledger) -> str:
    header = ["", "random", *(f"{symbol}={value:g}" for symbol in ("Δv", "Δpr") for value in plan.deltas)]
    rows = [
        [TITLES[subject]] + [spread(mean_percent(ledger, delta_runs(plan, subject, delta))) for delta in _deltas(plan)]
        for subject in plan.sweep_subjects
    ]
    return table(header, rows)


def draw(plan: Plan, ledger: Ledger, folder: Path) -> None:
    """Yield over the length of a walk, a line for each number of walkers, a panel for each subject."""
    titles = [TITLES[subject] for subject in plan.sweep_subjects]
    with panels(folder / "paper-walks.svg", titles) as all_axes:
        for subject, axes in zip(plan.sweep_subjects, all_axes, strict=True):
            for n_walkers in plan.n_walkers:
                yields = [mean_percent(ledger, walk_runs(plan, subject, n_walkers, n)).value for n in plan.n_locals]
                axes.plot(plan.n_locals, yields, marker="o", markersize=3, label=f"{n_walkers:,}")
            axes.set_xscale("log")
            axes.set_xticks(plan.n_locals, labels=[f"{n:,}" for n in plan.n_locals], fontsize=8)
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            axes.set(xlabel="trials of a walk", ylabel="yield, %")
        all_axes[0].legend(title="walkers", frameon=False, fontsize=8)
