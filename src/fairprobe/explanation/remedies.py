"""Remedies: simulated shares of discriminatory inputs if a region were decided in another way.

Inputs are drawn, rows are taken, and all their members are asked about once. All remedies are computed from these
answers, so that their figures can be compared. Nothing is trained and no model is changed. A newly trained model would
also differ elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.blocks import Block, Sentence, Table
from fairprobe.domain.constraints import Rule
from fairprobe.domain.families import comparable
from fairprobe.domain.rows import Rows
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.favourable import in_order
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import CONFIDENCE, Finding, as_json
from fairprobe.oracle import ROWS_A_CALL
from fairprobe.wording import POPULATIONS, counted, percent

if TYPE_CHECKING:
    import pandas as pd


N_SAMPLED = 5_000
"""Number of drawn inputs on which remedies are simulated; chosen."""

N_ROWS = 20_000
"""Largest number of rows on which remedies are simulated; chosen."""

COLUMNS = ["region", "remedy", "population", "twins", "n", "share_before", "share_after", "low", "high"]
COLUMNS += ["accuracy_before", "accuracy_after", "simulated"]

IN_JSON = {"remedy": "decision", "share_before": "before", "share_after": "after"}


@dataclass(frozen=True, repr=False, eq=False)
class Remedies(Finding):
    """Simulated shares of discriminatory inputs that would remain if regions were decided in another way."""

    table: pd.DataFrame
    """Table with a row for each region (or the first ones together), remedy, population and kind of twins.

    - `n`: number of comparable inputs.
    - `share_before`, `share_after`: discriminatory share of the present model, and simulated share after the change;
      `low`, `high`: exact interval of the share after the change.
    - `accuracy_before`, `accuracy_after`: accuracy on the rows with a label, including rows that the model was fitted
      to; NaN for other populations, and if outputs give no label.
    """

    def __len__(self) -> int:
        return len(self.table)

    def sentences(self) -> list[str]:
        """Return a sentence for each row of the table, with the share before and after."""
        return [
            f"Simulated: with {row.region} decided {WAYS[row.remedy][0]}, {percent(row.share_after)} of "
            f"{POPULATIONS[row.population]} would be discriminatory ({percent(row.low)} to {percent(row.high)}), "
            f"now {percent(row.share_before)}, both by "
            f"{counted(row.n, 'input')} asked about."
            for row in self.table.itertuples()
        ]

    def jsonable(self) -> Any:
        """Return the remedies as values for JSON: one record for each row of the table, with its sentence."""
        records = as_json(self.table.rename(columns=IN_JSON))
        return [{**record, "sentence": said} for record, said in zip(records, self.sentences(), strict=True)]

    def blocks(self) -> Sequence[Block]:
        """Return a table for reports, with a row for each region and one for the model as it is.

        A row has the largest remaining share in each population, and the accuracies.
        """
        if not len(self):
            return [Sentence("No remedy was simulated.")]
        table, samples = self.table, self.table["population"].unique().tolist()
        ways = table.dropna(subset="accuracy_after")["remedy"].unique().tolist()

        def line(name: str, part: pd.DataFrame, when: str) -> list[str]:
            shares = part.groupby("population")[f"share_{when}"].max().reindex(samples)
            accuracies = part.groupby("remedy")[f"accuracy_{when}"].first().reindex(ways)
            return [name, *map(percent, [*shares, *accuracies])]

        rows = [line("as it is", table, "before")]
        rows += [line(str(region), part, "after") for region, part in table.groupby("region", sort=False)]
        title = "What would end it, simulated: the share left if all twins in a region got one outcome, and the "
        title += "accuracy on the rows."
        return [Table.of(["", *samples, *(f"accuracy, {way}" for way in ways)], rows, title)]


def remedies_of(rules: Sequence[Rule], evidence: Evidence, *, n: int = N_SAMPLED, n_rows: int = N_ROWS) -> Remedies:
    """Simulate the share of discriminatory inputs that would remain if regions were decided in another way.

    Each region is decided alone, and the first ones together. All members of a family that is inside then get one
    outcome.
    """
    import pandas as pd

    regions = {f"region {place + 1}": slice(place, place + 1) for place in range(len(rules))}
    regions |= {f"the first {k} regions": slice(k) for k in range(2, len(rules) + 1)}
    samples = list(_samples(evidence, rules, n, n_rows)) if rules else []
    decided = [
        (decision, sample, *outcomes)
        for decision, (_, decide) in WAYS.items()
        for sample in samples
        if (outcomes := decide(sample, evidence)) is not None
    ]
    twins, rows = "linked" if evidence.domain.links else "plain", []
    for name, places in regions.items():
        for decision, sample, outcome, exists in decided:
            k, changed = int(sample.comparable.sum()), sample.inside[places].any(axis=0) & exists
            hits = int((sample.hits & ~changed).sum())
            before, after = (each / k if k else math.nan for each in (int(sample.hits.sum()), hits))
            share = (k, before, after, *clopper_pearson(hits, k, CONFIDENCE))
            accuracies = _accuracies(sample, changed, outcome, evidence)
            rows.append((name, decision, sample.population, twins, *share, *accuracies, True))
    return Remedies(pd.DataFrame(rows, columns=COLUMNS))


# Samples, asked about once


@dataclass(frozen=True)
class _Sample:
    """Inputs or rows with the model's outputs for all members of their families, from which remedies are simulated."""

    population: str
    inside: Mask
    """Boolean mask by region, then input: True where the input is in the region."""
    outputs: NDArray[Any]
    """Outputs of the model by member and input, and by class if there are classes; 0 where a member is not present."""
    present: Mask
    comparable: Mask
    hits: Mask
    """Boolean mask by input: True where the input is comparable and discriminatory."""
    labels: NDArray[Any] | None = None
    """The labels of the rows; None for drawn inputs, or without labels."""
    own: NDArray[Any] | None = None
    """The model's outputs for the rows as they are; None without labels."""
    labelled: Mask | None = None
    """Boolean mask by row: True where the row has a label and an output of its own."""


def _samples(evidence: Evidence, rules: Sequence[Rule], n: int, n_rows: int) -> Iterator[_Sample]:
    """Yield the samples on which remedies are simulated: drawn inputs and, if given, rows.

    The budget is split equally.
    """
    n_drawn = evidence.budget.inputs(n, 1.0 if evidence.rows is None else 0.5)
    if n_drawn:
        domain = evidence.population.domain
        codes = evidence.population.sample(n_drawn, evidence.rng("remedies"))
        with evidence.asker(domain=domain) as asker:
            judged = evidence.oracle.by(asker).judge_batches(codes)
        frame = domain.decode(codes)
        inside = np.stack([rule.matches(frame) for rule in rules])
        hits = judged.hits & judged.comparable
        yield _Sample(evidence.population.name, inside, judged.outputs, judged.exist, judged.comparable, hits)
    n_rows = evidence.budget.inputs(n_rows)
    if n_rows and evidence.rows is not None and evidence.rows.known.any():
        yield _of_rows(evidence, evidence.rows.take(evidence.rows.known), rules, n_rows)


def _of_rows(evidence: Evidence, rows: Rows, rules: Sequence[Rule], n: int) -> _Sample:
    """Take all rows, or `n` random ones, ask about all members of their families, and return them as a sample."""
    import pandas as pd

    if len(rows) > n:
        rows = rows.take(np.sort(evidence.rng("remedies of rows").choice(len(rows), n, replace=False)))
    oracle, families = evidence.oracle, evidence.domain.families
    members = families.of_frame(rows.frame, [evidence.domain.sensitive])
    answers, present = _answers(evidence, members.frame), members.present
    # Labels that are text as objects: an array of text would cut longer ones off.
    dtype = object if answers.dtype.kind in "US" else answers.dtype
    outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=dtype)
    outputs[present] = answers
    counted = comparable(present, len(rows), members.kinds)
    hits = oracle.are_discriminatory(outputs, present) & counted
    inside = np.stack([rule.matches(rows.frame) for rule in rules])
    sample = _Sample("rows", inside, outputs, present, counted, hits)
    if rows.labels is None or not present.any():
        return sample
    place, every = families.place_of(members.own), np.arange(len(rows))
    own, is_answered = outputs[place, every], (place >= 0) & present[place, every]
    # A row that is not one of its own compared members is asked about.
    others = np.flatnonzero(~is_answered)
    if len(others) and evidence.budget.inputs(len(others), cost=1) == len(others):
        own[others], is_answered[others] = _answers(evidence, rows.frame.iloc[others]), True
    return replace(sample, labels=rows.labels, own=own, labelled=is_answered & ~np.asarray(pd.isna(rows.labels)))


def _answers(evidence: Evidence, frame: pd.DataFrame) -> NDArray[Any]:
    """Return the model's outputs for the rows of a frame, which are sent to it in batches."""
    firsts = range(0, len(frame), ROWS_A_CALL)
    parts = [evidence.oracle.asker.ask_frame(frame.iloc[first : first + ROWS_A_CALL]) for first in firsts]
    return np.concatenate(parts) if parts else np.zeros(0)


# Simulations


def _accuracies(sample: _Sample, changed: Mask, outcome: NDArray[Any], evidence: Evidence) -> tuple[float, float]:
    """Return (accuracy now, accuracy after a remedy) on the rows with a label; NaN if outputs give no label."""
    if sample.own is None or sample.labelled is None or not sample.labelled.any():
        return math.nan, math.nan
    now, then = (_right(outputs, sample, evidence) for outputs in (sample.own, outcome))
    if now is None or then is None:
        return math.nan, math.nan
    return float(now[sample.labelled].mean()), float(np.where(changed, then, now)[sample.labelled].mean())


Decided = tuple[NDArray[Any], Mask]
"""The outcome that a remedy gives to each family, by input, and a boolean mask of the families that get one."""


def _by_mean(sample: _Sample, evidence: Evidence) -> Decided:
    import pandas as pd

    outputs, present = sample.outputs, sample.present
    exists = np.asarray(present.any(axis=0))
    if not exists.any():
        return outputs[0], exists
    if evidence.oracle.is_label:
        good = evidence.favourable
        labels = evidence.classes or in_order(pd.unique(outputs[present]))
        labels.sort(key=lambda label: good is None or bool(label != good.word))  # the favourable one first
        votes = np.stack([((outputs == label) & present).sum(axis=0) for label in labels])
        return np.array(labels, dtype=object)[votes.argmax(axis=0)], exists  # the first of those with most
    counts = present if outputs.ndim == 2 else present[:, :, None]
    return np.where(counts, outputs, 0.0).sum(axis=0) / np.maximum(counts.sum(axis=0), 1), exists


def _by_favourable(sample: _Sample, evidence: Evidence) -> Decided | None:
    outputs, good, n = sample.outputs, evidence.favourable, sample.outputs.shape[1]
    if good is None:
        return None
    if good.is_label:
        return np.full(n, good.word, dtype=object), np.ones(n, dtype=bool)
    if evidence.output == "proba" and good.place is not None and not good.is_low:
        return np.tile(np.eye(outputs.shape[2])[good.place], (n, 1)), np.ones(n, dtype=bool)
    if good.place is not None:
        return None
    sign = -1.0 if good.is_low else 1.0
    best = sign * np.where(sample.present, sign * outputs, -np.inf).max(axis=0)
    return best, np.asarray(sample.present.any(axis=0))


def _by_constant(sample: _Sample, evidence: Evidence) -> Decided:
    place = 0
    if evidence.rows is not None:
        own = evidence.domain.families.place_of(evidence.rows.own)
        place = int(np.bincount(own[own >= 0], minlength=1).argmax())
    return sample.outputs[place], sample.present[place]


WAYS: dict[str, tuple[str, Callable[[_Sample, Evidence], Decided | None]]] = {
    "twins-mean": ("by the mean outcome of the twins", _by_mean),
    "favourable": ("always by the favourable outcome", _by_favourable),
    "constant-sensitive-value": ("as if the sensitive value were always the same", _by_constant),
}
"""Words in a sentence and function of each simulated decision of a region, by name."""


def _right(outputs: NDArray[Any], sample: _Sample, evidence: Evidence) -> Mask | None:
    """Return a boolean mask by row: True if the row's output agrees with its label; None if outputs give no label."""
    asker, classes = evidence.oracle.asker, evidence.classes
    if evidence.oracle.is_label:
        return np.asarray(outputs == sample.labels)
    if evidence.output == "value" or classes is None or (outputs.ndim == 1 and len(classes) != 2):
        return None
    if outputs.ndim == 2:
        likeliest = outputs.argmax(axis=1)
    else:  # a score above its middle means the second of two classes
        likeliest = (outputs > (0.5 if getattr(asker, "gives_probabilities", False) else 0.0)).astype(np.int64)
    return np.asarray(np.array(classes, dtype=object)[likeliest] == sample.labels)
