"""The paper's figures and its table of subjects, made again; and the hypothesis that its search is built on."""

from __future__ import annotations

from pathlib import Path

from fairprobe import datasets
from fairprobe.estimate.plot import svg_panels
from fairprobe.reproduce import effectiveness
from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.drawing import a_panel_each, plain_axes
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import SEX, Plan
from fairprobe.reproduce.printed import RETRAINING, TITLES
from fairprobe.reproduce.writing import digits, percent_text, ratio, share_text, table

SHARE = 1
"""Per cent of the inputs in the figure of the first case."""


def about(subject: str) -> Cell:
    """Accuracy and real rows."""
    return Cell("about_subject", {"subject": subject})


def share(plan: Plan, subject: str) -> Cell:
    """The share of the domain."""
    settings = {"n_experiments": plan.n_experiments, "n_samples": plan.n_samples, "seed": plan.seed}
    return Cell("share", {"subject": subject, "sensitive": list(SEX), **settings})


def neighbours(plan: Plan, subject: str) -> Cell:
    """The neighbours of cases."""
    settings = {"n_cases": plan.n_neighbourhoods, "seed": plan.seed}
    return Cell("neighbours", {"subject": subject, "sensitive": list(SEX), **settings})


def first(plan: Plan) -> Cell:
    """Inputs until the first case."""
    return Cell("first_case", {"percent": SHARE, "n_runs": plan.n_first, "seed": plan.seed})


def curves(plan: Plan) -> list[tuple[str, Cell]]:
    """Runs of the figure of effectiveness, by name; those of the table, one seed."""
    subject = plan.subjects[0]
    return [
        (title, effectiveness.runs(plan, subject, strategy, how)[0]) for title, strategy, how in effectiveness.columns()
    ]


def cells(plan: Plan) -> list[Cell]:
    """All measurements, the long ones first."""
    found = [share(plan, subject) for subject in plan.subjects] + [neighbours(plan, each) for each in plan.subjects]
    return [*found, *(about(subject) for subject in plan.subjects), *(cell for _, cell in curves(plan)), first(plan)]


def text(plan: Plan, ledger: Ledger) -> str:
    """The subjects, and what the figures show."""
    mantissa, exponent = f"{datasets.census_domain().size:.1e}".split("e+")
    return "\n\n".join([
        "## The subjects",
        f"Fitted on the encoded census with fixed seeds. The domain of all is the product of the bounds, {mantissa} "
        f"x 10^{exponent} inputs (the paper says 10^6). Shares are those of the domain, by {plan.n_experiments} "
        f"experiments of "
        f"{plan.n_samples:,} uniform inputs, and of the real rows of the test split, each with its exact 95% interval.",
        _subjects(plan, ledger),
        "## Figures",
        "![Probability of a case over trials](paper-first.svg)",
        f"The probability that uniform sampling has found a case, where {SHARE}% of the inputs are cases: "
        f"1 - (1 - {SHARE / 100:g})^n, and the fraction of {plan.n_first} runs of the sampler that had.",
        "![Convergence of the estimates](paper-convergence.svg)",
        f"The running mean of the estimated shares over {plan.n_experiments} experiments, and the final interval.",
        "![Cases over inputs generated](paper-effectiveness.svg)",
        f"Distinct cases over inputs generated, {TITLES[plan.subjects[0]]}, one seed: as in the paper.",
        "## The hypothesis",
        f"The search rests on the hypothesis that inputs near a case are cases too. Of {plan.n_neighbourhoods:,} cases "
        f"of uniform sampling all neighbours were judged, one step of one parameter away:",
        _neighbours(plan, ledger),
    ])  # fmt: skip


def _subjects(plan: Plan, ledger: Ledger) -> str:
    header = ["classifier", "subject", "accuracy", "share of the domain", "paper", "share of real rows"]
    rows = []
    for subject in plan.subjects:
        known, domain = ledger[about(subject)].figures, ledger[share(plan, subject)].figures
        printed = RETRAINING[subject]
        low, high = printed.before_interval
        figures = [share_text(domain), f"{printed.before}% ({low}-{high})", share_text(known["rows"])]
        rows.append([TITLES[subject], f"`{subject}`", percent_text(known["accuracy"]), *figures])
    return table(header, rows, n_left=2)


def _neighbours(plan: Plan, ledger: Ledger) -> str:
    header = ["classifier", "cases", "neighbours that are cases", "share of the domain", "times as many"]
    rows = []
    for subject in plan.subjects:
        near, domain = ledger[neighbours(plan, subject)].figures, ledger[share(plan, subject)].figures["value"]
        mean, reach = near["mean"] or 0.0, 1.96 * (near["error"] or 0.0)
        part = f"{percent_text(mean)} ({digits(100 * (mean - reach))}-{digits(100 * (mean + reach))})"
        rows.append(
            [
                TITLES[subject],
                f"{near['n_cases']:,}",
                part,
                percent_text(domain),
                ratio(mean / domain) if domain else "",
            ]
        )
    return table(header, rows)


def draw(plan: Plan, ledger: Ledger, folder: Path) -> None:
    """The three figures."""
    _draw_first(plan, ledger, folder / "paper-first.svg")
    _draw_convergence(plan, ledger, folder / "paper-convergence.svg")
    _draw_curves(plan, ledger, folder / "paper-effectiveness.svg")


def _draw_first(plan: Plan, ledger: Ledger, path: Path) -> None:
    trials = ledger[first(plan)].figures["trials"]
    at = range(0, 1001, 5)
    with svg_panels(path, 6.4, 3.4) as [axes]:
        axes.plot(at, [1 - (1 - SHARE / 100) ** n for n in at], label=f"1 - (1 - {SHARE / 100:g})^n")
        axes.step(
            at, [sum(each <= n for each in trials) / len(trials) for n in at], label=f"{len(trials)} runs", linewidth=1
        )
        axes.legend(frameon=False, loc="lower right")
        plain_axes(axes, f"{SHARE}% of the inputs are cases", "inputs sampled", "probability of a case")


def _draw_convergence(plan: Plan, ledger: Ledger, path: Path) -> None:
    with a_panel_each(path, plan.subjects) as panels:
        for subject, axes in panels.items():
            figures = ledger[share(plan, subject)].figures
            means = [100 * value for value in figures["history"]]
            axes.axhspan(100 * figures["low"], 100 * figures["high"], alpha=0.2, linewidth=0)
            axes.plot(range(1, len(means) + 1), means, linewidth=1.2)
            plain_axes(axes, TITLES[subject], "experiments", "share, %")


def _draw_curves(plan: Plan, ledger: Ledger, path: Path) -> None:
    """Lockstep and one walker of a strategy have one colour."""
    with svg_panels(path, 7.2, 4.2) as [axes]:
        colours: dict[str, str] = {}
        for title, run in curves(plan):
            cases, n = ledger[run].figures["curve"], run.settings["n_inputs"]
            strategy = run.settings["strategy"]
            is_lockstep = run.settings["n_walkers"] > 1
            inputs = [n * point / (len(cases) - 1) for point in range(len(cases))]
            [line] = axes.plot(
                inputs, cases, linestyle="-" if is_lockstep else "--", color=colours.get(strategy), label=title
            )
            colours[strategy] = line.get_color()
        axes.legend(frameon=False, fontsize=8)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.0f}")
        plain_axes(axes, TITLES[plan.subjects[0]], "inputs generated", "distinct cases")
