"""Remedies: simulated shares if sensitive columns were held constant for the whole model, or regions decided anew.

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
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.favourable import in_order
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import CONFIDENCE, Finding, as_json
from fairprobe.oracle import ROWS_A_CALL
from fairprobe.wording import POPULATIONS, counted, percent, shown

if TYPE_CHECKING:
    import pandas as pd


N_SIMULATED = 5_000
"""Number of drawn inputs on which remedies are simulated; chosen."""

N_ROWS = 20_000
"""Largest number of rows on which remedies are simulated; chosen."""

GROUP = ["region", "remedy"]
COLUMNS = [*GROUP, "population", "twins", "n", "share_before", "share_after", "low", "high"]
WHOLE = "the whole model"
"""Name in the table of what is changed where no region is."""

COLUMNS += ["accuracy_before", "accuracy_after", "simulated"]

IN_JSON = {"remedy": "decision", "share_before": "before", "share_after": "after"}


@dataclass(frozen=True, repr=False, eq=False)
class Remedies(Finding):
    """Simulated shares of discriminatory inputs that would remain with each remedy."""

    table: pd.DataFrame
    """Table with a row for each remedy of the whole model or a region (or the first ones together), and population.

    The first rows hold sensitive columns constant for the whole model: each alone, then all. Linked columns stay as
    they are, so linked twins may still differ.

    - `n`: number of comparable inputs.
    - `share_before`, `share_after`: discriminatory share of the present model, and simulated share after the change;
      `low`, `high`: exact interval of the share after the change.
    - `accuracy_before`, `accuracy_after`: accuracy on the rows with a label, including rows that the model was fitted
      to; NaN for other populations, and if outputs give no label.
    """

    def __len__(self) -> int:
        return len(self.table)

    def sentences(self) -> list[str]:
        """Return a sentence for each remedy: the simulated share that it would leave, and the share as it is now."""
        return [
            f"Simulated: with {_done(row)}, {percent(row.share_after)} of "
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
        """Return a table for reports: the shares by population and the accuracy, now and with each remedy."""
        if not len(self):
            return [Sentence("No remedy was simulated.")]
        table, samples = self.table, self.table["population"].unique().tolist()

        def line(name: str, part: pd.DataFrame, when: str) -> list[str]:
            shares = part.groupby("population")[f"share_{when}"].first().reindex(samples)
            return [name, *map(percent, [*shares, part[f"accuracy_{when}"].max()])]

        rows = [line("as it is", table, "before")]
        rows += [line(_done(next(part.itertuples())), part, "after") for _, part in table.groupby(GROUP, sort=False)]
        title = "What would end it, simulated: the share that would be left, and the accuracy on the rows."
        return [Table.of(["", *samples, "accuracy"], rows, title)]


def _done(row: Any) -> str:
    """Return what a row of the table simulates, in words."""
    return f"{row.region} decided {WAYS[row.remedy][0]}" if row.remedy in WAYS else f"{row.remedy} for {row.region}"


def remedies_of(rules: Sequence[Rule], evidence: Evidence, *, n: int = N_SIMULATED, n_rows: int = N_ROWS) -> Remedies:
    """Simulate the share of discriminatory inputs that would remain with columns held constant or regions decided anew.

    Each region is decided alone, and the first ones together. All members of a family that is inside then get one
    outcome.
    """
    import pandas as pd

    regions = {f"region {place + 1}": slice(place, place + 1) for place in range(len(rules))}
    regions |= {f"the first {k} regions": slice(k) for k in range(2, len(rules) + 1)}
    twins, rows = "linked" if evidence.domain.links else "plain", []
    samples = list(_samples(evidence, rules, n, n_rows)) if evidence.n_cases else []

    def add(region: str, remedy: str, sample: _Sample, hits: Mask, own: NDArray[Any] | None) -> None:
        k, before, after = (int(each.sum()) for each in (sample.comparable, sample.hits, hits & sample.comparable))
        shares = (before / k, after / k) if k else (math.nan, math.nan)
        figures = (*shares, *clopper_pearson(after, k, CONFIDENCE), *_accuracies(sample, own, evidence))
        rows.append((region, remedy, sample.population, twins, k, *figures, True))

    for names in _held_together(evidence):
        for sample in samples:
            add(WHOLE, *_held(evidence, sample, names))
    decided = [
        (decision, sample, *outcomes)
        for decision, (_, decide) in WAYS.items()
        for sample in samples
        if (outcomes := decide(sample, evidence)) is not None
    ]
    for name, places in regions.items():
        for decision, sample, outcome, exists in decided:
            changed = sample.inside[places].any(axis=0) & exists
            own = None if sample.own is None else _where(changed, outcome, sample.own)
            add(name, decision, sample, sample.hits & ~changed, own)
    return Remedies(pd.DataFrame(rows, columns=COLUMNS))


def _where(changed: Mask, then: NDArray[Any], now: NDArray[Any]) -> NDArray[Any]:
    """Return `then` for the changed inputs and `now` for the others; outputs may have an axis of classes."""
    return np.where(changed.reshape(-1, *[1] * (now.ndim - 1)), then, now)


# Samples, asked about once


@dataclass(frozen=True)
class _Sample:
    """Inputs or rows with the model's outputs for all members of their families, from which remedies are simulated."""

    population: str
    domain: Domain
    frame: pd.DataFrame
    """The drawn inputs or rows."""
    members: pd.DataFrame
    """All present members of their families, one row each: the first member of each input, then the second, and so
    on."""
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

    The budget is split over them by their sizes.
    """
    rows = evidence.rows if evidence.rows is None or evidence.rows.known.any() else None
    n_rows, cost = 0 if rows is None else min(n_rows, len(rows)), evidence.budget.cost
    cost += sum(_n_kinds(evidence.domain, names) for names in _held_together(evidence))
    n_drawn = evidence.budget.inputs(n, n / max(1, n + n_rows), cost)
    if n_drawn:
        domain = evidence.population.domain
        frame = domain.decode(evidence.population.sample(n_drawn, evidence.rng("remedies")))
        yield _sample(evidence, rules, evidence.population.name, domain, frame)
    n_rows = 0 if rows is None else evidence.budget.inputs(n_rows, n_rows / max(1, n + n_rows - n_drawn), cost)
    if n_rows and rows is not None:
        rows = rows.take(rows.known)
        if len(rows) > n_rows:
            rows = rows.take(np.sort(evidence.rng("remedies of rows").choice(len(rows), n_rows, replace=False)))
        yield _sample(evidence, rules, "rows", evidence.domain, rows.frame, rows.labels)


def _sample(
    evidence: Evidence,
    rules: Sequence[Rule],
    population: str,
    domain: Domain,
    frame: pd.DataFrame,
    labels: NDArray[Any] | None = None,
) -> _Sample:
    """Ask about all members of the families of inputs, and return them as a sample."""
    import pandas as pd

    families = domain.families
    members = families.of_frame(frame, [domain.sensitive])
    answers, present = _answers(evidence, members.frame), members.present
    outputs = _by_member(answers, present)
    counted = comparable(present, len(frame), members.kinds)
    hits = evidence.oracle.are_discriminatory(outputs, present) & counted
    inside = np.stack([rule.matches(frame) for rule in rules]) if rules else np.zeros((0, len(frame)), dtype=bool)
    sample = _Sample(population, domain, frame, members.frame, inside, outputs, present, counted, hits)
    if labels is None or not present.any():
        return sample
    place, every = families.place_of(members.own), np.arange(len(frame))
    own, is_answered = outputs[place, every], (place >= 0) & present[place, every]
    # A row that is not one of its own compared members is asked about.
    others = np.flatnonzero(~is_answered)
    if len(others) and evidence.budget.inputs(len(others), cost=1) == len(others):
        own[others], is_answered[others] = _answers(evidence, frame.iloc[others]), True
    return replace(sample, labels=labels, own=own, labelled=is_answered & ~np.asarray(pd.isna(labels)))


def _by_member(answers: NDArray[Any], present: Mask) -> NDArray[Any]:
    """Return outputs by member and input, given those of the present members in this order; 0 for the other members."""
    # Labels that are text as objects: an array of text would cut longer ones off.
    dtype = object if answers.dtype.kind in "US" else answers.dtype
    outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=dtype)
    outputs[present] = answers
    return outputs


def _answers(evidence: Evidence, frame: pd.DataFrame) -> NDArray[Any]:
    """Return the model's outputs for the rows of a frame, which are sent to it in batches."""
    firsts = range(0, len(frame), ROWS_A_CALL)
    parts = [evidence.oracle.asker.ask_frame(frame.iloc[first : first + ROWS_A_CALL]) for first in firsts]
    return np.concatenate(parts) if parts else np.zeros(0)


# Simulations


def _held_together(evidence: Evidence) -> Iterator[tuple[str, ...]]:
    """Yield the sets of sensitive columns that are held constant together: each that the model takes, then all."""
    names = [name for name in evidence.domain.sensitive if name not in evidence.domain.hidden]
    yield from ((name,) for name in names)
    if len(names) > 1:
        yield tuple(names)


def _n_kinds(domain: Domain, names: Sequence[str]) -> int:
    """Return the largest number of different rows in a family, and the row as it is, with some columns held constant.

    A held column makes no difference, but the columns that are linked to it do.
    """
    linked = {link.sensitive for link in domain.links}
    columns = [place for place, name in enumerate(domain.sensitive) if name not in names or name in linked]
    return len(np.unique(domain.combinations[:, columns], axis=0)) + 1


def _held(evidence: Evidence, sample: _Sample, names: Sequence[str]) -> tuple[str, _Sample, Mask, NDArray[Any] | None]:
    """Simulate that the model gets one value in some sensitive columns, whatever value an input has there.

    The value is the most frequent one of the rows, or else of the drawn inputs. The results are the remedy in words,
    the sample, a boolean mask of the inputs that are discriminatory then, and the outputs for the rows as they are.
    """
    import pandas as pd

    known = None if evidence.rows is None else evidence.rows.frame[evidence.rows.known]
    rows = sample.frame if known is None or not len(known) else known
    values = {name: rows[name].mode().iloc[0] for name in names}
    frame = pd.concat([sample.members, *([] if sample.own is None else [sample.frame])], ignore_index=True)
    for name, value in values.items():
        frame[name] = pd.Series(value, index=frame.index, dtype=frame[name].dtype)
    # Many members are equal now; each kind is asked about once.
    kinds = frame.groupby(list(frame), dropna=False, sort=False, observed=True).ngroup().to_numpy()
    answers = _answers(evidence, frame.iloc[np.unique(kinds, return_index=True)[1]])[kinds]
    outputs = _by_member(answers[: len(sample.members)], sample.present)
    hits = evidence.oracle.are_discriminatory(outputs, sample.present) & sample.comparable
    own = None if sample.own is None else answers[len(sample.members) :]
    return f"{' and '.join(names)} held constant at {', '.join(map(shown, values.values()))}", sample, hits, own


def _accuracies(sample: _Sample, own: NDArray[Any] | None, evidence: Evidence) -> tuple[float, float]:
    """Return (accuracy now, accuracy after a remedy) on the rows with a label; NaN if outputs give no label.

    `own` are the outputs for the rows after the remedy.
    """
    if sample.own is None or own is None or sample.labelled is None or not sample.labelled.any():
        return math.nan, math.nan
    now, then = (_right(outputs, sample, evidence) for outputs in (sample.own, own))
    if now is None or then is None:
        return math.nan, math.nan
    return float(now[sample.labelled].mean()), float(then[sample.labelled].mean())


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


WAYS: dict[str, tuple[str, Callable[[_Sample, Evidence], Decided | None]]] = {
    "twins-mean": ("by the mean outcome of the twins", _by_mean),
    "favourable": ("always by the favourable outcome", _by_favourable),
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
