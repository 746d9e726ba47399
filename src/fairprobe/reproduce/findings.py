"""What the paper claims, each claim beside what was measured here; and its slips."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from fairprobe.reproduce import effectiveness, efficiency, figures, retraining, sweeps
from fairprobe.reproduce.cells import Figures
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import LOCKSTEP, ONE_WALKER, Plan
from fairprobe.reproduce.printed import EFFECTIVENESS, RETRAINING, TITLES
from fairprobe.reproduce.writing import digits, percent_text, ratio, table


class Finding(NamedTuple):
    """A claim and what came of it."""

    claim: str
    measured: str
    verdict: str


def text(plan: Plan, ledger: Ledger) -> str:
    """The findings, the claims and the slips."""
    boxes = [make(plan, ledger) for make in (_over_uniform, _over_semi, _over_random, _faster, _retrained)]
    makers = (_robust, _too_low, _too_high, _all_at_once, _short_of_time, _random_wins, _rows_added, _settled)
    claims = [make(plan, ledger) for make in makers]
    return "\n\n".join([
        "## What held",
        "### The finding boxes",
        _listed(boxes),
        "Why, as far as we can tell:",
        "\n".join(f"{number}. {why}" for number, why in enumerate(WHY, start=1)),
        "### Claims in the text",
        _listed(claims),
        "### Slips of the paper",
        _slips(),
    ])  # fmt: skip


def _listed(findings: Sequence[Finding]) -> str:
    header = ["", "the paper", "measured here", "held?"]
    return table(header, [[number, *each] for number, each in enumerate(findings, start=1)], n_left=len(header))


WHY = (
    "A neighbour of a case is a case far more often than a random input is (see the hypothesis), so walks from cases "
    "find more. How much more hangs on the length of a walk, which the paper does not tell: a long one wanders off.",
    "Δpr favours the parameters whose moves kept an input a case, those that the model looks at least. It "
    "pays where walks are long enough to learn that; seeds differ much, as what is learnt first goes on.",
    "Δv learns one direction for each parameter, for all walks. That helps where cases lie on one side of most walks, "
    "and has nothing to learn where they lie scattered.",
    "With the model asked about one input at a time an input takes as long in all strategies, so the time follows the "
    "yield.",
    "The paper's rounds stop at the first that does not lower the estimated share. Cases whose sensitive value is "
    "redrawn, labelled by a vote, need not lower it; rows together with their twins under one label do.",
)
"""One line for each box."""


def _verdict(n_yes: int, n_all: int) -> str:
    return "held" if n_yes == n_all else f"held on {n_yes} of {n_all}" if n_yes else "did not hold"


def _less(measured: float, printed: float) -> str:
    return ", but less" if measured < printed else ""


def _titles(names: Sequence[str]) -> str:
    return ", ".join(TITLES[name] for name in names)


# The finding boxes


def _over_uniform(plan: Plan, ledger: Ledger) -> Finding:
    parts = []
    for title, strategy, how in (
        ("one walker", "fully-directed", ONE_WALKER),
        ("lockstep", "fully-directed", LOCKSTEP),
        ("our best", effectiveness.BEST, LOCKSTEP),
    ):
        times = effectiveness.ratios(plan, ledger, strategy, "uniform", how).values()
        parts.append(f"{title} {ratio(fmean(times))} on average, at most {ratio(max(times))}")
    yes, *_ = effectiveness.compared(plan, ledger, "fully-directed", "uniform", ONE_WALKER)
    mean = fmean(effectiveness.ratios(plan, ledger, "fully-directed", "uniform", ONE_WALKER).values())
    return Finding(
        "Fully-directed finds 9.6 times as many as uniform sampling on average, at most 20.4 times.",
        f"{'; '.join(parts)}.",
        _verdict(len(yes), len(plan.subjects)) + _less(mean, 9.6),
    )


def _over_semi(plan: Plan, ledger: Ledger) -> Finding:
    return _better(
        plan, ledger, "fully-directed", "semi-directed", "Fully-directed is up to 56.7% better than semi-directed."
    )


def _over_random(plan: Plan, ledger: Ledger) -> Finding:
    return _better(plan, ledger, "semi-directed", "random", "Semi-directed is up to 64.9% better than random.")


def _better(plan: Plan, ledger: Ledger, better: str, worse: str, claim: str) -> Finding:
    """By one walker, with what lockstep makes of it."""
    parts = []
    for title, how in (("one walker", ONE_WALKER), ("lockstep", LOCKSTEP)):
        gains = [100 * (each - 1) for each in effectiveness.ratios(plan, ledger, better, worse, how).values()]
        yes, *_ = effectiveness.compared(plan, ledger, better, worse, how)
        parts.append(
            f"{title}: {fmean(gains):+.1f}% on average ({min(gains):+.1f} to {max(gains):+.1f}%), shown by the seeds "
            f"on {_titles(yes) or 'none'}"
        )
    yes, *_ = effectiveness.compared(plan, ledger, better, worse, ONE_WALKER)
    return Finding(claim, "; ".join(parts) + ".", _verdict(len(yes), len(plan.subjects)))


def _faster(plan: Plan, ledger: Ledger) -> Finding:
    rows = efficiency.rows_faster(plan, ledger, "fully-directed")
    ours = efficiency.ours_faster(plan, ledger, "fully-directed")
    measured = "; ".join(
        f"{title} {fmean(each.values()):.1f}% on average, at most {max(each.values()):.1f}% "
        f"({TITLES[max(each, key=lambda name: each[name])]})"
        for title, each in (("a row at a time", rows), ("in lockstep", ours))
        if each
    )
    n_yes = sum(each > 0 for each in rows.values())
    claim = "Fully-directed is 83.27% faster than uniform sampling on average, at most 96.62% (MLPC)."
    verdict = _verdict(n_yes, len(rows)) + _less(fmean(rows.values()), 83.27)
    return Finding(claim, f"{measured}.", verdict)


def _retrained(plan: Plan, ledger: Ledger) -> Finding:
    papers, ours = (
        {name: retraining.improved(of) for name, of in retraining.figures(plan, ledger, how).items()}
        for how in retraining.HOW
    )
    measured = (
        f"its algorithm {fmean(papers.values()):.1f}% on average, at most {max(papers.values()):.1f}%, none on "
        f"{_titles([name for name, gone in papers.items() if gone <= 0]) or 'no subject'}; our best "
        f"{fmean(ours.values()):.1f}%, at most {max(ours.values()):.1f}%."
    )
    n_yes = sum(gone > 0 for gone in papers.values())
    verdict = _verdict(n_yes, len(papers)) + _less(fmean(papers.values()), 43.2)
    return Finding("Retraining lowers the share by 43.2% on average, at most 94.36%.", measured, verdict)


# The claims in the text


def _robust(plan: Plan, ledger: Ledger) -> Finding:
    near = {name: ledger[figures.neighbours(plan, name)].figures["mean"] or 0.0 for name in plan.subjects}
    share = {name: ledger[figures.share(plan, name)].figures["value"] for name in plan.subjects}
    parts = [f"{TITLES[name]} {percent_text(near[name])} against {percent_text(share[name])}" for name in plan.subjects]
    n_yes = sum(near[name] > share[name] for name in plan.subjects)
    return Finding(
        "Inputs near a case are more likely cases (robustness).",
        f"Neighbours of a case that are cases, against the share: {'; '.join(parts)}.",
        _verdict(n_yes, len(plan.subjects)),
    )


def _too_low(plan: Plan, ledger: Ledger) -> Finding:
    """Without Δpr, fully-directed is what semi-directed is."""
    low = plan.deltas[0]
    gains = {
        "`semi-directed` against `random`": _gains(plan, ledger, ("delta_v", low), None),
        "`fully-directed` against `semi-directed`": _gains(plan, ledger, ("delta_pr", low), ("delta_v", PAPERS)),
    }
    near = [abs(gain) < NEAR for each in gains.values() for gain in each.values()]
    return Finding(
        "With Δv or Δpr too low, directed search is like random.",
        f"With Δ={low:g} the yield differs: {_words(gains)}.",
        _verdict(sum(near), len(near)),
    )


def _too_high(plan: Plan, ledger: Ledger) -> Finding:
    high = plan.deltas[-1]
    gains = {
        f"{strategy} over {symbol}": _gains(plan, ledger, (name, high), (name, PAPERS))
        for (name, strategy), symbol in zip(sweeps.DELTAS.items(), ("Δv", "Δpr"), strict=True)
    }
    worse = [gain < 0 for each in gains.values() for gain in each.values()]
    return Finding(
        "With Δv or Δpr too high, regions are never explored.",
        f"With Δ={high:g} the yield differs from that at {PAPERS}: {_words(gains)}.",
        _verdict(sum(worse), len(worse)),
    )


PAPERS = 0.001
"""The paper's Δv and Δpr."""

NEAR = 10
"""Yields that differ by fewer per cent are called alike."""

Delta = tuple[str, float]


def _gains(plan: Plan, ledger: Ledger, ours: Delta, theirs: Delta | None) -> dict[str, float]:
    """How much more the yield with one Δ is, in per cent of that with another, or of that of random."""
    gains = {}
    for subject in plan.sweep_subjects:
        other = sweeps.random_runs(plan, subject) if theirs is None else sweeps.delta_runs(plan, subject, *theirs)
        base = sweeps.mean_percent(ledger, other)
        if base:
            gains[subject] = 100 * (sweeps.mean_percent(ledger, sweeps.delta_runs(plan, subject, *ours)) / base - 1)
    return gains


def _words(gains: dict[str, dict[str, float]]) -> str:
    return "; ".join(
        f"{title} {', '.join(f'{gain:+.0f}% ({TITLES[subject]})' for subject, gain in each.items())}"
        for title, each in gains.items()
    )


def _all_at_once(plan: Plan, ledger: Ledger) -> Finding:
    parts, n_yes, n_all = [], 0, 0
    for name, of in retraining.figures(plan, ledger, "ours").items():
        control = of["controls"].get("all")
        if control is None or control["why_not"]:
            continue
        before, after = of["before"]["domain"]["value"], control["shares"]["domain"]
        parts.append(f"{TITLES[name]} {percent_text(before)} -> {percent_text(after)} (+{control['n_added']:,} rows)")
        n_yes, n_all = n_yes + (after >= before), n_all + 1
    claim = "Adding all cases to the training data at once is likely to fail."
    return Finding(
        claim, f"Share of the domain: {'; '.join(parts) or 'not measured'}.", _verdict(n_yes, n_all) if n_all else ""
    )


def _short_of_time(plan: Plan, ledger: Ledger) -> Finding:
    """Cases a second and seconds an input, by the runs of a row at a time, which all had the same time."""
    strategies = ("random", "fully-directed")
    rates, costs = (
        {name: [_per(plan, ledger, subject, name, *pair) for subject in plan.subjects] for name in strategies}
        for pair in (("n_cases", "search_seconds"), ("search_seconds", "n_judged"))
    )
    n_yes = sum(ours > theirs for ours, theirs in zip(*rates.values(), strict=True))
    per_input = [f"{1e6 * fmean(costs[name]):.0f} µs in `{name}`" for name in strategies]
    return Finding(
        "Random suits best where computing is short: the directed ones cost more.",
        f"A row at a time, an input takes {' and '.join(per_input)} (mean over subjects, the model included). `random` "
        f"finds more cases a second on {n_yes} of {len(plan.subjects)}.",
        _verdict(n_yes, len(plan.subjects)),
    )


def _per(plan: Plan, ledger: Ledger, subject: str, strategy: str, over: str, under: str) -> float:
    times = ledger[efficiency.by_rows(plan, subject, strategy)].times
    return float(times[over] / times[under])


def _random_wins(plan: Plan, ledger: Ledger) -> Finding:
    yes, *_ = effectiveness.compared(plan, ledger, "random", "uniform", ONE_WALKER)
    times = effectiveness.ratios(plan, ledger, "random", "uniform", ONE_WALKER)
    return Finding(
        "Even the least of the strategies, random, finds far more than uniform sampling.",
        f"{ratio(fmean(times.values()))} on average by one walker; shown by the seeds on {_titles(yes) or 'none'}.",
        _verdict(len(yes), len(plan.subjects)),
    )


def _rows_added(plan: Plan, ledger: Ledger) -> Finding:
    papers, ours = (retraining.figures(plan, ledger, how) for how in retraining.HOW)
    parts = [
        f"{title} {fmean(of['n_added'] for of in each.values()):,.0f} ({_mean_added(each):.1f}%; by subject "
        f"{_range_added(each)})"
        for title, each in (("its algorithm", papers), ("our best", ours))
    ]
    near = 0.5 < _mean_added(papers) / 22.92 < 2
    return Finding(
        "On average only 7,463 rows (22.92%) are added.",
        f"{'; '.join(parts)}.",
        "the mean within a factor of two" if near else "did not hold",
    )


def _range_added(found: dict[str, Figures]) -> str:
    added = [retraining.added(of) for of in found.values()]
    return f"{digits(min(added))} to {digits(max(added))}%"


def _mean_added(found: dict[str, Figures]) -> float:
    return fmean(map(retraining.added, found.values()))


def _settled(plan: Plan, ledger: Ledger) -> Finding:
    """Whether the mean at half-time was within the last interval, and how wide that is."""
    shares = [ledger[figures.share(plan, subject)].figures for subject in plan.subjects]
    n_yes = sum(each["low"] <= each["history"][len(each["history"]) // 2] <= each["high"] for each in shares)
    widths = [100 * (each["high"] - each["low"]) / 2 / each["value"] for each in shares if each["value"]]
    return Finding(
        "The estimate converges within 400 experiments.",
        f"After half of {plan.n_experiments} experiments the mean is within the last interval on {n_yes} of "
        f"{len(shares)}; that reaches {min(widths):.1f} to {max(widths):.1f}% of the share to either side: rare cases "
        f"need more.",
        _verdict(n_yes, len(shares)),
    )


def _slips() -> str:
    better, worse = (
        effectiveness.printed_ratios("semi-directed", "random"),
        effectiveness.printed_ratios("fully-directed", "semi-directed"),
    )
    gains = [100 * (each - 1) for each in better.values()]
    over_semi = [100 * (each - 1) for each in worse.values()]
    relative = [100 * (1 - 1 / each) for each in worse.values()]
    outside = [
        f"{TITLES[name]} {row['uniform'].percent}% ({low}-{high})"
        for name, row in EFFECTIVENESS.items()
        for low, high in [RETRAINING[name].before_interval]
        if not low <= row["uniform"].percent <= high
    ]
    lines = [
        'The threshold: an input is called discriminatory if |f(I) - f(I\')| "≥ 0", which every input is; its '
        'Algorithm 1 has ">", which is what it and we do.',
        "The input domain is given as 10^6; the bounds of its parameters multiply to 4.3 x 10^15.",
        "The box says that fully-directed is up to 56.7% better than semi-directed, the text 56.56%.",
        f"Semi-directed is said to be 46.7% better than random on average and up to 64.9%; by its table it is "
        f"{fmean(gains):.1f}% and {max(gains):.1f}%.",
        f"Fully-directed is said to be 29.5% better than semi-directed on average and up to 56.56%: that is the part "
        f"of the higher yield ({fmean(relative):.1f}% and {max(relative):.2f}%); counted as for semi-directed and "
        f"random it is {fmean(over_semi):.1f}% and {max(over_semi):.1f}%.",
        f"Uniform yields outside its own intervals of the share, which they estimate: {'; '.join(outside)}.",
        "Inputs such as images, sound and video are out of scope, there as here.",
    ]
    return "\n".join(f"- {line}" for line in lines)
