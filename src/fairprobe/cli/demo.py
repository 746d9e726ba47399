"""The command `fairprobe demo`: searches a decision tree fitted on the census by several strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe import datasets, subjects
from fairprobe.blocks import Code, Items, Sentence, Table
from fairprobe.checks import checked_seed
from fairprobe.cli import INTERRUPTED
from fairprobe.cli import options as o
from fairprobe.cli.words import progress, say, say_blocks, spinner
from fairprobe.datasets import describe_census
from fairprobe.domain.nearest import nearest_rows
from fairprobe.searching import Found, StopReason, search
from fairprobe.searching.registry import choose_strategy

SUBJECT = "decision-tree"
N_INPUTS = 2_000_000
"""Number of inputs that each strategy judges, including repeats; chosen: about a second of work."""

N_CASES = 3
MOST_CASES, MOST_PEOPLE = 20_000, 2_000
"""`MOST_CASES` and `MOST_PEOPLE`: largest numbers of cases and of census rows that are compared with each other.

The comparison finds the cases that are most like people. Both are chosen for speed."""
PAPER = ("uniform", "random", "semi-directed", "fully-directed")
"""Names of the paper's strategies; the demo also runs the strategy that suits the model."""

INTRODUCTION = (
    "Does a model that predicts incomes change its answer with a person's sex? The model is a decision tree, fitted on "
    "the US census of 1994. The domain has {size:.1e} inputs of {n} parameters. Each strategy judges {judged:,} "
    "inputs: it asks the model about an input and about its twin, which differs in sex alone."
)
OUTCOMES = {-1: "<=50K", 1: ">50K"}


def run(seed: int = 0) -> int:
    """Search a decision tree fitted on the US census by all strategies. Takes some seconds.

    Args:
        seed: the seed of the random inputs; another seed draws other inputs.
    """
    seed = checked_seed(seed)
    domain = datasets.census_domain()
    say(INTRODUCTION.format(size=domain.size, n=len(domain.parameters), judged=N_INPUTS))
    with spinner("loading the tree; the first time it is fitted, which takes some seconds"):
        model = subjects.load(SUBJECT)
    every: list[Found] = []
    for strategy in (*PAPER, choose_strategy(model)):
        with progress(f"{strategy}: ") as show:
            limits: dict[str, Any] = {"max_cases": None, "max_judged": N_INPUTS, "progress": show}
            every.append(search(model, domain, strategy=strategy, seed=seed, **limits))
        if every[-1].stop_reason is StopReason.INTERRUPTED:
            say("interrupted", err=True)
            return INTERRUPTED
    most = max(every, key=lambda each: each.n_cases)
    cases = tuple(sentence(most, place) for place in pick(most, N_CASES))
    command = "fairprobe search --model module:attribute --data rows.csv --label income --sensitive sex --out cases.csv"
    say_blocks(
        [
            Table.of(["strategy", "#cases", "#judged", "#distinct", "#yield", "#cases/s", "#s"], map(_figures, every)),
            Sentence("Yield is cases among distinct inputs judged. It measures a strategy, not how common cases are."),
            Sentence(
                f"{len(cases)} of the {most.n_cases:,} cases of {most.settings.strategy}: those most like people of "
                "the census. They are inputs that the search made up, not people."
            ),
            Items(cases),
            Code(command, "Next, a model and data of your own"),
        ]
    )
    return 0


OPTIONS = o.options_of(run)


def _figures(found: Found) -> list[str]:
    counts = (f"{n:,}" for n in (found.n_cases, found.n_judged, found.n_distinct))
    speed = f"{found.n_cases / found.seconds:,.0f}"
    return [found.settings.strategy, *counts, f"{found.yield_:.1%}", speed, f"{found.seconds:.1f}"]


# Cases as sentences, in the census's own words


def pick(found: Found, n: int) -> list[int]:
    """Return the positions of the `n` cases most like real people of the census, each with another occupation."""
    people, _ = datasets.load_census(split="test")
    places = np.arange(0, found.n_cases, 1 + found.n_cases // MOST_CASES)
    cases = found.cases.iloc[places]
    codes, rows = (found.domain.encode(frame) for frame in (cases, people.head(MOST_PEOPLE)))
    _, distances = nearest_rows(found.domain, codes, rows)
    likely = np.argsort(distances, kind="stable")
    _, first = np.unique(cases["occupation"].to_numpy()[likely], return_index=True)
    return [int(place) for place in places[likely[np.sort(first)[:n]]]]


def sentence(found: Found, row: int) -> str:
    """Return the case at a position in words: the person with the model's output, then the twin of the other sex."""
    before, after = (OUTCOMES.get(output, str(output)) for output in found.outputs[["case", "twin"]].iloc[row])
    words, other = (describe_census(frame.iloc[row].to_dict()) for frame in (found.cases, found.twins))
    told = ", ".join(words[name] for name in found.domain.names if name not in ("sex", "fnlwgt"))
    return f"{words['sex']}, {told}: predicted to earn {before}. The same person as {other['sex']}: {after}."
