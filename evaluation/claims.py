"""The paper's claims, each beside the measurement made here; and its slips.

A claim has held where an interval shows it, and nowhere else: a difference that chance may have made shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from statistics import fmean
from typing import NamedTuple

from evaluation import effectiveness, efficiency, retraining, subjects, sweeps
from evaluation.ledger import Ledger
from evaluation.numbers import Estimate, Gone, Share, average, digits, gone, mean_gone, percent, points, times
from evaluation.page import table
from evaluation.plan import LOCKSTEP, ONE_WALKER, Plan
from evaluation.printed import EFFECTIVENESS, RETRAINING, TITLES, titles

NOT_MEASURED = "not measured"
"""Said where nothing can be: no run came far enough, or what would be divided by is 0."""

ONE_RUN = "one run each: no interval"

PAPERS = 0.001
"""The paper's Δv and Δpr."""

NEAR = 10
"""Yields that differ by fewer per cent are called alike."""


class Claim(NamedTuple):
    """A claim and what came of it."""

    paper: str
    measured: str
    verdict: str


def text(plan: Plan, ledger: Ledger) -> str:
    """The findings, the claims and the slips."""
    uniform = "Fully-directed finds 9.6 times as many as uniform sampling on average, at most 20.4 times."
    semi, random = (
        "Fully-directed is up to 56.7% better than semi-directed.",
        "Semi-directed is up to 64.9% better than random.",
    )
    least = "Even the least of the strategies, random, finds far more than uniform sampling."
    boxes = [
        _better(plan, ledger, "fully-directed", "uniform", uniform, 9.6),
        _better(plan, ledger, "fully-directed", "semi-directed", semi),
        _better(plan, ledger, "semi-directed", "random", random),
        _faster(plan, ledger),
        _retrained(plan, ledger),
    ]
    makers = (_robust, _too_low, _too_high, _all_at_once, _short_of_time, _rows_added, _settled)
    claims = [*(make(plan, ledger) for make in makers), _better(plan, ledger, "random", "uniform", least)]
    return "\n\n".join([
        "## What held",
        "A claim holds on a subject where a 95% interval shows it; \"the contrary\" is shown likewise. Where runs or "
        "inputs are too few to show either, nothing is said to hold. Each interval is by itself, so of twenty claims "
        "about nothing one would hold.",
        "### The finding boxes",
        _listed(boxes),
        "Why, as far as we can tell:",
        "\n".join(f"{number}. {why}" for number, why in enumerate(WHY, start=1)),
        "### Claims in the text",
        _listed(claims),
        "### Slips of the paper",
        _slips(),
    ])  # fmt: skip


def _listed(claims: Sequence[Claim]) -> str:
    header = ["", "the paper", "measured here", "held?"]
    return table(header, [[number, *each] for number, each in enumerate(claims, start=1)], n_left=len(header))


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
    "redrawn, labelled by a vote, need not lower it; rows together with their twins under one label do, and so do "
    "random inputs with theirs (see the controls).",
)
"""One line for each box."""


def _verdict(shown: Sequence[object], contrary: Sequence[object], n_all: int) -> str:
    """Of so many subjects, those where a claim is shown and those where the contrary is."""
    if not n_all:
        return NOT_MEASURED
    words = "held" if len(shown) == n_all else f"held on {len(shown)} of {n_all}" if shown else "not shown"
    return f"{words}, the contrary on {len(contrary)}" if contrary else words


def _signs(found: dict[str, Estimate] | dict[str, Gone]) -> tuple[list[str], list[str], int]:
    """The subjects with a number that is shown to be above 0, and below, and how many there are."""
    above = [name for name, each in found.items() if each.low > 0]
    below = [name for name, each in found.items() if each.high < 0 or each.value == float("-inf")]
    return above, below, len(found)


def _less(measured: Iterable[Estimate], printed: float) -> str:
    mean = average(measured)
    return ", but less" if mean is not None and mean.high < printed else ""


def _mean_and_most(found: dict[str, Estimate], form: Callable[[Estimate], str]) -> str:
    """The mean and the largest, of the finite."""
    known = {name: each for name, each in found.items() if isfinite(each.value)}
    mean = average(known.values())
    if mean is None:
        return NOT_MEASURED
    most = max(known, key=lambda name: known[name].value)
    lost = [name for name in found if name not in known]
    words = f"{form(mean)} on average, at most {form(known[most])} ({TITLES[most]})"
    return f"{words}, none found on {titles(lost)}" if lost else words


# The finding boxes


def _better(plan: Plan, ledger: Ledger, ours: str, theirs: str, claim: str, printed: float | None = None) -> Claim:
    """By one walker, with what lockstep makes of it; in times where the paper says so, else in per cent more."""
    parts = []
    for title, how in effectiveness.HOW:
        ratios = effectiveness.ratios(plan, ledger, ours, theirs, how)
        better, worse, _ = effectiveness.compared(plan, ledger, ours, theirs, how)
        parts.append(
            f"{title} {_mean_and_most(ratios, times if theirs == 'uniform' else _more)}, shown to be better on "
            f"{titles(better)}, worse on {titles(worse)}"
        )
    if ours == "fully-directed" and theirs == "uniform":
        best = effectiveness.ratios(plan, ledger, effectiveness.BEST, theirs, LOCKSTEP)
        parts.append(f"our best {_mean_and_most(best, times)}")
    better, worse, _ = effectiveness.compared(plan, ledger, ours, theirs, ONE_WALKER)
    verdict = _verdict(better, worse, len(plan.subjects))
    if printed is not None:
        verdict += _less(effectiveness.ratios(plan, ledger, ours, theirs, ONE_WALKER).values(), printed)
    return Claim(claim, "; ".join(parts) + ".", verdict)


def _more(ratio: Estimate) -> str:
    return points(ratio.scaled(100, -100))


def _faster(plan: Plan, ledger: Ledger) -> Claim:
    """By lockstep, as a row at a time was run once."""
    rows, ours = (
        efficiency.faster(plan, ledger, "fully-directed", time)
        for time in (efficiency.slow_time, efficiency.quick_time)
    )
    return Claim(
        "Fully-directed is 83.27% faster than uniform sampling on average, at most 96.62% (MLPC).",
        f"a row at a time ({ONE_RUN}) {_mean_and_most(rows, points)}; in lockstep {_mean_and_most(ours, points)}.",
        _verdict(*_signs(ours)) + _less(ours.values(), 83.27),
    )


def _retrained(plan: Plan, ledger: Ledger) -> Claim:
    papers, ours = (
        {name: retraining.improved(of) for name, of in retraining.figures(plan, ledger, how).items()}
        for how in retraining.HOW
    )
    parts = []
    for title, found in (("its algorithm", papers), ("our best", ours)):
        above, below, _ = _signs(found)
        parts.append(
            f"{title} {mean_gone(found.values())} on average, shown to be lower on {titles(above)}, higher on "
            f"{titles(below)}"
        )
    constant = retraining.controls(plan, ledger, "constant").values()
    if constant:
        lower = [gone(Share(*of["before"]["domain"]), Share(*each["shares"]["domain"])) for of, each in constant]
        parts.append(f"the sensitive column held constant instead {mean_gone(lower)} on average")
    less = ", but less" if mean_gone(papers.values()).high < 43.2 else ""
    return Claim(
        "Retraining lowers the share by 43.2% on average, at most 94.36%.",
        f"{'; '.join(parts)}.",
        _verdict(*_signs(papers)) + less,
    )


# The claims in the text


def _robust(plan: Plan, ledger: Ledger) -> Claim:
    near = {name: subjects.near(plan, ledger, name) for name in plan.subjects}
    share = {name: subjects.share_of(plan, ledger, name) for name in plan.subjects}
    parts = [f"{TITLES[name]} {percent(near[name].value)} against {percent(share[name].value)}" for name in near]
    yes = [name for name in near if near[name].low > share[name].interval[1]]
    no = [name for name in near if near[name].high < share[name].interval[0]]
    return Claim(
        "Inputs near a case are more likely cases (robustness).",
        f"Neighbours of a case that are cases, against the share: {'; '.join(parts)}.",
        _verdict(yes, no, len(near)),
    )


def _too_low(plan: Plan, ledger: Ledger) -> Claim:
    """Without Δpr, fully-directed is what semi-directed is."""
    low = plan.deltas[0]
    gains = {
        "`semi-directed` against `random`": sweeps.gains(plan, ledger, ("delta_v", low), None),
        "`fully-directed` against `semi-directed`": sweeps.gains(plan, ledger, ("delta_pr", low), ("delta_v", PAPERS)),
    }
    each = [gain for found in gains.values() for gain in found.values()]
    alike = [gain for gain in each if gain.low > -NEAR and gain.high < NEAR]
    apart = [gain for gain in each if gain.low > NEAR or gain.high < -NEAR]
    return Claim(
        "With Δv or Δpr too low, directed search is like random.",
        f"With Δ={low:g} the yield differs, seed by seed: {_by_subject(gains)}. Alike is what an interval within "
        f"{NEAR}% to either side shows.",
        _verdict(alike, apart, len(each)),
    )


def _too_high(plan: Plan, ledger: Ledger) -> Claim:
    high = plan.deltas[-1]
    gains = {
        f"{strategy} over {symbol}": sweeps.gains(plan, ledger, (name, high), (name, PAPERS))
        for (name, strategy), symbol in zip(sweeps.DELTAS.items(), ("Δv", "Δpr"), strict=True)
    }
    each = [gain for found in gains.values() for gain in found.values()]
    return Claim(
        "With Δv or Δpr too high, regions are never explored.",
        f"With Δ={high:g} the yield differs from that at {PAPERS}, seed by seed: {_by_subject(gains)}.",
        _verdict([gain for gain in each if gain.high < 0], [gain for gain in each if gain.low > 0], len(each)),
    )


def _by_subject(gains: dict[str, dict[str, Estimate]]) -> str:
    return "; ".join(
        f"{title} {', '.join(f'{TITLES[subject]} {points(gain)}' for subject, gain in found.items())}"
        for title, found in gains.items()
    )


def _all_at_once(plan: Plan, ledger: Ledger) -> Claim:
    """To fail is to have a share that is not shown to be lower; only a higher one shows it."""
    parts, yes, no = [], [], []
    for name, (of, control) in retraining.controls(plan, ledger, "all").items():
        before, after = Share(*of["before"]["domain"]), Share(*control["shares"]["domain"])
        parts.append(f"{TITLES[name]} {before} -> {after}")
        if before.is_below(after):
            yes.append(name)
        elif after.is_below(before):
            no.append(name)
    return Claim(
        "Adding all cases to the training data at once is likely to fail.",
        f"Share of the domain: {'; '.join(parts) or NOT_MEASURED}. Shown to be higher on {titles(yes)}, lower on "
        f"{titles(no)}.",
        _verdict(yes, no, len(parts)),
    )


def _short_of_time(plan: Plan, ledger: Ledger) -> Claim:
    """The cost of an input in the runs of a row at a time, and the faster strategy in those in lockstep."""
    costs = []
    for name in ("random", "fully-directed"):
        runs = [ledger[efficiency.by_rows(plan, subject, name)] for subject in plan.subjects]
        # A machine with much else to do may not have come to judge a single input in that time.
        each = [1e6 * run["seconds"] / run["n_judged"] for run in runs if run["n_judged"]]
        costs.append(f"{fmean(each):.0f} µs in `{name}`" if each else f"{NOT_MEASURED} in `{name}`")
    no, yes, n_all = _signs(efficiency.faster(plan, ledger, "fully-directed", efficiency.quick_time, than="random"))
    return Claim(
        "Random suits best where computing is short: the directed ones cost more.",
        f"A row at a time, an input takes {' and '.join(costs)} (mean over subjects, the model included, {ONE_RUN}). "
        f"In lockstep `random` is shown to reach {plan.n_cases:,} cases sooner on {titles(yes)}, later on "
        f"{titles(no)}.",
        _verdict(yes, no, n_all),
    )


def _rows_added(plan: Plan, ledger: Ledger) -> Claim:
    parts = []
    for title, how in (("its algorithm", "paper"), ("our best", "ours")):
        found = retraining.figures(plan, ledger, how).values()
        added = [retraining.added(of) for of in found]
        parts.append(
            f"{title} {fmean(of['n_added'] for of in found):,.0f} ({fmean(added):.1f}%; by subject "
            f"{digits(min(added))} to {digits(max(added))}%)"
        )
    return Claim("On average only 7,463 rows (22.92%) are added.", f"{'; '.join(parts)}.", ONE_RUN)


def _settled(plan: Plan, ledger: Ledger) -> Claim:
    """Says if the mean at half-time was within the last interval, and how wide that interval is."""
    yes, widths = [], []
    for name in plan.subjects:
        share, means = subjects.share_of(plan, ledger, name), subjects.running_means(plan, ledger, name)
        low, high = share.interval
        if low <= means[len(means) // 2] <= high:
            yes.append(name)
        if share.hits:
            widths.append(100 * (high - low) / 2 / share.value)
    reach = (
        f"that reaches {min(widths):.1f} to {max(widths):.1f}% of the share to either side: rare cases need more"
        if widths
        else "no share was above 0"
    )
    return Claim(
        "The estimate converges within 400 experiments.",
        f"After half of {plan.n_experiments} experiments the mean is within the last interval on {len(yes)} of "
        f"{len(plan.subjects)}; {reach}.",
        _verdict(yes, [], len(plan.subjects)),
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
