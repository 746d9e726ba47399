"""Remedies: simulated shares of discriminatory inputs if a region were decided in another way.

Inputs are drawn, rows are taken, and all their members are asked about once. All remedies are computed from these
answers, so that their figures can be compared. Nothing is trained and no model is changed. A newly trained model would
also differ elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Block, Sentence, Table
from fairprobe.checks import checked_count
from fairprobe.domain.constraints import Rule, bind
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import checked_confidence, clopper_pearson
from fairprobe.estimation.favourable import in_order
from fairprobe.estimation.populations import known_rows, sides_of
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.oracle import ROWS_A_CALL, Oracle
from fairprobe.wording import POPULATIONS, counted, percent

if TYPE_CHECKING:
    import pandas as pd


class Decision(StrEnum):
    """The ways to decide a region that are simulated."""

    MEAN = "twins-mean"
    FAVOURABLE = "favourable"
    CONSTANT = "constant-sensitive-value"


WAYS = {
    Decision.MEAN: "by the mean outcome of the twins",
    Decision.FAVOURABLE: "always by the favourable outcome",
    Decision.CONSTANT: "as if the sensitive value were always the same",
}
"""Words for each simulated decision in a sentence."""

COLUMNS = ["region", "remedy", "population", "twins", "n", "share_before", "share_after", "low", "high"]
COLUMNS += ["accuracy_before", "accuracy_after", "simulated"]

IN_TITLES = {"linked": ", linked twins", "plain": ""}
"""Words that follow the population's name in titles, by kind of twins."""

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
        """Return a sentence for each row of the table, with the share and the accuracy before and after."""
        return [_sentence(row) for row in self.table.itertuples()]

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
        table = self.table.assign(on=self.table["population"] + self.table["twins"].map(IN_TITLES))
        samples = table["on"].unique().tolist()
        ways = table.dropna(subset="accuracy_after")["remedy"].unique().tolist()

        def line(name: str, part: pd.DataFrame, when: str) -> list[str]:
            shares = part.groupby("on")[f"share_{when}"].max().reindex(samples)
            accuracies = part.groupby("remedy")[f"accuracy_{when}"].first().reindex(ways)
            return [name, *map(percent, [*shares, *accuracies])]

        rows = [line("as it is", table, "before")]
        rows += [line(str(region), part, "after") for region, part in table.groupby("region", sort=False)]
        title = "What would end it, simulated: the share left if all twins in a region got one outcome, and the "
        title += "accuracy on the rows."
        return [Table.of(["", *samples, *(f"accuracy, {way}" for way in ways)], rows, title)]


def _sentence(row: Any) -> str:
    where = POPULATIONS[row.population] + IN_TITLES[row.twins]
    if not row.n:
        return f"simulated: the effect of deciding {row.region} otherwise on {where} was not measured"
    said = (
        f"simulated: with {row.region} decided {WAYS[row.remedy]}, {percent(row.share_after)} of {where} would be "
        f"discriminatory ({percent(row.low)} to {percent(row.high)}); now {percent(row.share_before)} are, both by "
        f"{counted(row.n, 'input')} asked about"
    )
    if math.isnan(row.accuracy_after):
        return said
    return f"{said}; accuracy on the rows {percent(row.accuracy_after)}, now {percent(row.accuracy_before)}"


def remedies_of(rules: Sequence[Rule], evidence: Evidence, *, n: int = 20_000, confidence: float = 0.95) -> Remedies:
    """Simulate the share of discriminatory inputs that would remain if regions were decided in another way.

    Each region is decided alone, and the first ones together.
    """
    import pandas as pd

    checked_count("n", n)
    checked_confidence(confidence)
    samples = list(_samples(evidence, rules, n)) if rules else []
    regions = {f"region {place + 1}": slice(place, place + 1) for place in range(len(rules))}
    regions |= {f"the first {k} regions": slice(k) for k in range(2, len(rules) + 1)}
    decided = {
        (decision, place): outcomes
        for decision, decide in _DECIDE.items()
        for place, sample in enumerate(samples)
        if (outcomes := decide(sample, evidence)) is not None
    }
    rows = []
    for name, places in regions.items():
        for (decision, place), (outcome, exists) in decided.items():
            sample = samples[place]
            k = int(sample.counted.sum())
            hits = int(_hits_after(sample, sample.inside[places].any(axis=0) & exists, outcome).sum())
            before, after = (each / k if k else math.nan for each in (int(sample.hits.sum()), hits))
            accuracies = _accuracies(sample, sample.own[places].any(axis=0) & exists, outcome, evidence)
            share = (k, before, after, *clopper_pearson(hits, k, confidence))
            rows.append((name, str(decision), sample.population, sample.twins, *share, *accuracies, True))
    return Remedies(pd.DataFrame(rows, columns=COLUMNS))


# Samples, asked about once


@dataclass(frozen=True)
class _Sample:
    """Inputs or rows with the model's outputs for all members of their families, from which remedies are simulated."""

    population: str
    oracle: Oracle
    inside: Mask
    """Boolean mask by region, member and input: True where the member is present and in the region."""
    own: Mask
    """Boolean mask by region, then input: True where the input itself is in the region."""
    outputs: NDArray[Any]
    """Outputs of the model by member and input, and by class if there are classes; 0 where a member is not present."""
    present: Mask
    counted: Mask
    """Boolean mask by input: True where the input is comparable."""
    place: Codes
    """Place of each input among the members of its family; -1 if it is none of them."""
    labels: NDArray[Any] | None = None
    """The labels of the rows; None for drawn inputs, or without labels."""
    right: Mask | None = None
    """Boolean mask by row: True where the model's label is the row's label; None if outputs give no label."""
    labelled: Mask | None = None
    """Boolean mask by row: True where the row has a label and an output of its own."""

    @property
    def twins(self) -> str:
        """The kind of twins that are compared: "linked" or "plain"."""
        return "linked" if self.oracle.domain.links else "plain"

    @cached_property
    def hits(self) -> Mask:
        """Boolean mask by input: True where the input is discriminatory."""
        return self.oracle.are_discriminatory(self.outputs, self.present) & self.counted


def _samples(evidence: Evidence, rules: Sequence[Rule], n: int) -> Iterator[_Sample]:
    """Yield the samples on which remedies are simulated: drawn inputs and, if given, rows.

    If there are links, each is taken with linked and with plain twins. The budget is split equally.
    """
    draws = (_drawn,) if evidence.rows is None else (_drawn, _rows)
    wanted = [(side, draw) for side in sides_of(evidence.domain, None) for draw in draws]
    for place, (side, draw) in enumerate(wanted):
        n_here = evidence.budget.inputs(n, 1 / (len(wanted) - place))
        if n_here and (sample := draw(evidence, side, rules, n_here)) is not None:
            yield sample


def _drawn(evidence: Evidence, side: Domain, rules: Sequence[Rule], n: int) -> _Sample:
    """Draw `n` inputs of the population, ask about all members of their families, and return them as a sample."""
    population = evidence.population
    if not side.links:
        domain = population.domain.without_links()
        density = None if population.density is None else population.density.within(domain)
        population = replace(population, domain=domain, density=density)
    rows = population.domain.decode(population.sample(n, evidence.rng("remedies")))
    return _asked(evidence, population.domain, rules, rows, population.name)


def _rows(evidence: Evidence, side: Domain, rules: Sequence[Rule], n: int) -> _Sample | None:
    """Take all real rows, or `n` random ones, ask about all members of their families, and return them as a sample.

    Return None if no row has a known sensitive value.
    """
    given = side.rows(evidence.rows)
    if not given.known.any():
        return None
    rows, known = known_rows(given)
    labels = None if evidence.labels is None else evidence.labels[known].to_numpy()
    if len(rows) > n:
        chosen = np.sort(evidence.rng("remedies of rows").choice(len(rows), n, replace=False))
        rows, labels = rows.iloc[chosen], None if labels is None else labels[chosen]
    sample = _asked(evidence, side, rules, rows, "rows")
    if labels is None or not sample.present.any():
        return sample
    import pandas as pd

    own, answered = _own_outputs(evidence, sample, rows)
    sample = replace(sample, labels=labels, labelled=answered & ~np.asarray(pd.isna(labels)))
    return replace(sample, right=_right(own, sample, evidence))


def _asked(evidence: Evidence, side: Domain, rules: Sequence[Rule], rows: pd.DataFrame, population: str) -> _Sample:
    """Ask the model about all members of rows, and return the rows as a sample.

    `side` is the domain with or without links.
    """
    # A rule as restrictions of the domain is many times as fast as `Rule.matches`.
    regions = [Restrictions(side.parameters, [bind(rule, side.parameters)], ()) for rule in rules]
    members = side.families.of_frame(rows, [side.sensitive])
    present, frame = members.present, members.frame
    with _asking(evidence, side) as oracle:
        firsts = range(0, len(frame), ROWS_A_CALL)
        parts = [oracle.asker.ask_frame(frame.iloc[first : first + ROWS_A_CALL]) for first in firsts]
    answers = np.concatenate(parts) if parts else np.zeros(0)
    # Labels that are text as objects: an array of text would cut longer ones off.
    dtype = object if answers.dtype.kind in "US" else answers.dtype
    outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=dtype)
    outputs[present] = answers
    inside = np.zeros((len(regions), *present.shape), dtype=bool)
    inside[:, present] = [members.allowed_by(region, present) for region in regions]
    return _Sample(
        population,
        oracle,
        inside=inside,
        own=np.stack([each.allows_rows(rows) for each in regions]),
        outputs=outputs,
        present=present,
        counted=comparable(present, len(rows), members.kinds),
        place=side.families.place_of(members.own),
    )


def _own_outputs(evidence: Evidence, sample: _Sample, rows: pd.DataFrame) -> tuple[NDArray[Any], Mask]:
    """Return the model's outputs for the rows as they are, and a boolean mask of the rows that have one.

    A row that is not one of its own compared members is asked about.
    """
    everyone = np.arange(len(rows))
    outputs = sample.outputs[sample.place, everyone]
    answered = (sample.place >= 0) & sample.present[sample.place, everyone]
    others = np.flatnonzero(~answered)
    if len(others) and evidence.budget.inputs(len(others), cost=1) == len(others):
        with _asking(evidence, sample.oracle.domain) as oracle:
            outputs[others] = oracle.asker.ask_frame(rows.iloc[others])
        answered[others] = True
    return outputs, answered


@contextmanager
def _asking(evidence: Evidence, domain: Domain) -> Iterator[Oracle]:
    """Yield an oracle with the evidence's model and settings for another domain.

    Its queries count in the same budget.
    """
    if domain == evidence.domain:
        yield evidence.oracle
        return
    with evidence.asker(domain=domain) as asker:
        yield evidence.oracle.by(asker)


# Simulations


def _hits_after(sample: _Sample, changed: Mask, outcome: NDArray[Any]) -> Mask:
    """Return a boolean mask by input: True if the input would be discriminatory after a remedy.

    `changed` marks the members, by member, then input, that get the family's `outcome` instead of their own.
    """
    hits, some = sample.hits.copy(), np.flatnonzero(changed.any(axis=0))
    if len(some):
        outputs, where = sample.outputs[:, some], changed[:, some]
        outputs = np.where(where if outputs.ndim == 2 else where[:, :, None], outcome[some], outputs)
        hits[some] = sample.oracle.are_discriminatory(outputs, sample.present[:, some]) & sample.counted[some]
    return hits


def _accuracies(sample: _Sample, changed: Mask, outcome: NDArray[Any], evidence: Evidence) -> tuple[float, float]:
    """Return (accuracy now, accuracy after a remedy) on the rows with a label; NaN if outputs give no label."""
    right, labelled = _right(outcome, sample, evidence), sample.labelled
    if right is None or sample.right is None or labelled is None or not labelled.any():
        return math.nan, math.nan
    return float(sample.right[labelled].mean()), float(np.where(changed, right, sample.right)[labelled].mean())


Decided = tuple[NDArray[Any], Mask]
"""The outcome that a remedy gives to each family, by input, and a boolean mask of the families that get one."""


def _by_mean(sample: _Sample, evidence: Evidence) -> Decided:
    outputs, present = sample.outputs, sample.present
    exists = np.asarray(present.any(axis=0))
    if not exists.any():
        return outputs[0], exists
    if sample.oracle.is_label:
        import pandas as pd

        good = evidence.favourable
        labels = evidence.classes or in_order(plain(label) for label in pd.unique(outputs[present]))
        labels.sort(key=lambda label: good is None or bool(label != good.word))  # the favourable one first
        votes = np.stack([((outputs == label) & present).sum(axis=0) for label in labels])
        return np.array(labels, dtype=object)[votes.argmax(axis=0)], exists  # the first of those with most
    counts = present if outputs.ndim == 2 else present[:, :, None]
    sums = np.where(counts, outputs, 0.0).sum(axis=0)
    return sums / np.maximum(counts.sum(axis=0), 1), exists


def _by_favourable(sample: _Sample, evidence: Evidence) -> Decided | None:
    outputs, good = sample.outputs, evidence.favourable
    everyone = np.ones(outputs.shape[1], dtype=bool)
    if good is None:
        return None
    if good.is_label:
        return np.full(outputs.shape[1], good.word, dtype=object), everyone
    if sample.oracle.asker.output == "proba" and good.place is not None and not good.is_low:
        return np.tile(np.eye(outputs.shape[2])[good.place], (outputs.shape[1], 1)), everyone
    if good.place is not None:
        return None
    sign = -1.0 if good.is_low else 1.0
    best = sign * np.where(sample.present, sign * outputs, -np.inf).max(axis=0)
    return best, np.asarray(sample.present.any(axis=0))


def _by_constant(sample: _Sample, evidence: Evidence) -> Decided:
    place = 0
    if evidence.rows is not None:
        own = evidence.domain.families.place_of(evidence.row_codes[:, list(evidence.domain.sensitive_columns)])
        place = int(np.bincount(own[own >= 0], minlength=1).argmax())
    return sample.outputs[place], sample.present[place]


_DECIDE: dict[Decision, Callable[[_Sample, Evidence], Decided | None]] = {
    Decision.MEAN: _by_mean,
    Decision.FAVOURABLE: _by_favourable,
    Decision.CONSTANT: _by_constant,
}


def _right(outputs: NDArray[Any], sample: _Sample, evidence: Evidence) -> Mask | None:
    """Return a boolean mask by row: True if the row's output agrees with its label; None if outputs give no label."""
    oracle, classes = sample.oracle, evidence.classes
    if sample.labels is None or oracle.is_label:
        return None if sample.labels is None else np.asarray(outputs == sample.labels)
    if oracle.asker.output == "value" or classes is None or (outputs.ndim == 1 and len(classes) != 2):
        return None
    if outputs.ndim == 2:
        likeliest = outputs.argmax(axis=1)
    else:  # a score above its middle means the second of two classes
        likeliest = (outputs > (0.5 if getattr(oracle.asker, "gives_probabilities", False) else 0.0)).astype(np.int64)
    return np.asarray(np.array(classes, dtype=object)[likeliest] == sample.labels)
