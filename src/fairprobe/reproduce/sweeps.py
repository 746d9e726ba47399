"""What the settings of a search do to its yield: the length of a walk, the number of walkers, Δv and Δpr."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.drawing import a_panel_each, plain_axes
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import ONE_WALKER, SEX, Plan
from fairprobe.reproduce.printed import TITLES
from fairprobe.reproduce.writing import digits, table

N_GLOBAL = ONE_WALKER["n_global"]

DELTAS = {"delta_v": "semi-directed", "delta_pr": "fully-directed"}
"""The offsets, and the strategy that each came with."""


def walk_runs(plan: Plan, subject: str, n_walkers: int, n_local: int) -> list[Cell]:
    """Runs of one length of walks; so long that every walker ends one at least."""
    n_inputs = max(plan.sweep_inputs, N_GLOBAL + n_walkers * n_local)
    settings = {"n_walkers": n_walkers, "n_global": N_GLOBAL, "n_local": n_local, "n_inputs": n_inputs}
    return _runs(plan, subject, "fully-directed", settings)


def delta_runs(plan: Plan, subject: str, name: str, value: float) -> list[Cell]:
    """Runs of one walker with another Δ."""
    return _runs(plan, subject, DELTAS[name], {**ONE_WALKER, name: value, "n_inputs": plan.sweep_inputs})


def random_runs(plan: Plan, subject: str) -> list[Cell]:
    """The same without any learning."""
    return _runs(plan, subject, "random", {**ONE_WALKER, "n_inputs": plan.sweep_inputs})


def _runs(plan: Plan, subject: str, strategy: str, settings: dict[str, Any]) -> list[Cell]:
    about = {"subject": subject, "sensitive": list(SEX), "strategy": strategy}
    return [Cell("search_inputs", {**about, **settings, "seed": seed}) for seed in plan.sweep_range]


def cells(plan: Plan) -> list[Cell]:
    """All runs."""
    found: list[Cell] = []
    for subject in plan.sweep_subjects:
        for n_walkers in plan.n_walkers:
            for n_local in plan.n_locals:
                found += walk_runs(plan, subject, n_walkers, n_local)
        for name in DELTAS:
            for value in plan.deltas:
                found += delta_runs(plan, subject, name, value)
        found += random_runs(plan, subject)
    return found


def mean_percent(ledger: Ledger, runs: list[Cell]) -> float:
    """The mean yield, in per cent."""
    return fmean(ledger.figures(runs, "percent"))


def text(plan: Plan, ledger: Ledger) -> str:
    """What the figure shows, and the table of Δv and Δpr."""
    seeds = f"{plan.sweep_seeds} seeds"
    return "\n\n".join([
        "### The length of a walk",
        "![Yield over the length of a walk](paper-walks.svg)",
        f"`fully-directed`, mean of {seeds}, `n_global={N_GLOBAL:,}`, {plan.sweep_inputs:,} inputs or as many as all "
        f"walkers need for one walk. A short walk stays near the case it began at and is discriminatory as often as "
        f"its neighbours are; a long one wanders off. {_walk_range(plan, ledger)}",
        "### Sensitivity to Δv and Δpr",
        f"Yield in per cent of one walker ({plan.sweep_inputs:,} inputs, mean of {seeds}): `semi-directed` over Δv, "
        f"and `fully-directed` over Δpr with Δv at 0.001. The paper's value for both is 0.001.",
        _delta_table(plan, ledger),
    ])  # fmt: skip


def _walk_range(plan: Plan, ledger: Ledger) -> str:
    parts = []
    for subject in plan.sweep_subjects:
        yields = {n: mean_percent(ledger, walk_runs(plan, subject, 1, n)) for n in plan.n_locals}
        best = max(yields, key=lambda n: yields[n])
        last = plan.n_locals[-1]
        parts.append(
            f"{TITLES[subject]} {digits(yields[best])}% (`n_local={best:,}`), {digits(yields[last])}% ({last:,})"
        )
    return f"Best and at the longest, one walker: {'; '.join(parts)}."


def _delta_table(plan: Plan, ledger: Ledger) -> str:
    header = ["", "random", *(f"Δv={value:g}" for value in plan.deltas), *(f"Δpr={value:g}" for value in plan.deltas)]
    rows = []
    for subject in plan.sweep_subjects:
        swept = [delta_runs(plan, subject, name, value) for name in DELTAS for value in plan.deltas]
        yields = [mean_percent(ledger, runs) for runs in (random_runs(plan, subject), *swept)]
        rows.append([TITLES[subject], *map(digits, yields)])
    return table(header, rows)


def draw(plan: Plan, ledger: Ledger, folder: Path) -> None:
    """Yield over the length of a walk, a line for each number of walkers, a panel for each subject."""
    with a_panel_each(folder / "paper-walks.svg", plan.sweep_subjects) as panels:
        for subject, axes in panels.items():
            for n_walkers in plan.n_walkers:
                yields = [mean_percent(ledger, walk_runs(plan, subject, n_walkers, n)) for n in plan.n_locals]
                axes.plot(plan.n_locals, yields, marker="o", markersize=3, label=f"{n_walkers:,}")
            axes.set_xscale("log")
            axes.set_xticks(plan.n_locals, labels=[f"{n:,}" for n in plan.n_locals], fontsize=8)
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            plain_axes(axes, TITLES[subject], "trials of a walk", "yield, %")
        panels[plan.sweep_subjects[0]].legend(title="walkers", frameon=False, fontsize=8)
