"""What would end the cases of a region: a simulation of the share that would be left if it were decided otherwise.

Inputs are drawn, rows are taken and all their members are asked about once. All remedies are computed from the same
answers, so that their figures can be compared. Nothing is trained and no model is changed; a model that is trained anew
would differ elsewhere too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Sentence, Table
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.wording import POPULATIONS, percent

if TYPE_CHECKING:
    import pandas as pd

MOST_SAMPLES = 2
"""Largest number of shares side by side in a table that also shows their intervals."""


class Decision(StrEnum):
    """The ways to decide a region otherwise."""

    MEAN = "twins-mean"
    FAVOURABLE = "favourable"
    CONSTANT = "constant-sensitive-value"


WAYS = {
    Decision.MEAN: "by the mean outcome of the twins",
    Decision.FAVOURABLE: "always by the favourable outcome",
    Decision.CONSTANT: "as if the sensitive value were always the same",
}
"""By decision, its words in a sentence."""

COLUMNS = ["region", "remedy", "population", "twins", "n", "share_before", "share_after", "low", "high"]
COLUMNS += ["accuracy_before", "accuracy_after", "simulated"]

IN_JSON = {"remedy": "decision", "share_before": "before", "share_after": "after"}


@dataclass(frozen=True, repr=False, eq=False)
class Remedies(Finding):
    """The shares that would be left if regions were decided otherwise: all simulated."""

    table: pd.DataFrame
    """A row for each region (by its place, or the first ones together), remedy, population and kind of twins.

    - `n`: the number of inputs that are comparable.
    - `share_before`, `share_after`: the discriminatory share of the model as it is, and the one that would be left;
      `low`, `high`: the exact interval of the latter.
    - `accuracy_before`, `accuracy_after`: on the rows with a label, with those that the model was fitted to; NaN
      elsewhere, and where outputs give no label.
    """

    def __len__(self) -> int:
        return len(self.table)

    def sentences(self) -> list[str]:
        """Each in words."""
        return [_sentence(row) for row in self.table.itertuples()]

    def jsonable(self) -> Any:
        """The remedies as plain values of JSON."""
        records = as_json(self.table.rename(columns=IN_JSON))
        return [{**record, "sentence": said} for record, said in zip(records, self.sentences(), strict=True)]

    def blocks(self) -> Sequence[Block]:
        """A row for each region: the largest share that would be left in each population, and the accuracies."""
        if not len(self):
            return [Sentence("No remedy was simulated.")]
        samples = self.table["population"] + self.table["twins"].map({"linked": ", linked twins", "plain": ""})
        names, regions = samples.unique().tolist(), self.table["region"].unique().tolist()
        known = self.table.dropna(subset="accuracy_after").drop_duplicates(["region", "remedy"])
        ways = known["remedy"].unique().tolist()
        first = self.table.groupby(samples)["share_before"].first()
        rows = [["as it is", *first[names].map(percent), *known["accuracy_before"][: len(ways)].map(percent)]]
        for region in regions:
            left = [self.table[(self.table["region"] == region) & (samples == name)] for name in names]
            accuracies = known.loc[known["region"] == region, "accuracy_after"]
            rows.append([region, *(_most_left(each, len(names)) for each in left), *accuracies.map(percent)])
        letters = "ABC"[: len(ways)]
        told = ", ".join(f"{letter} {WAYS[way]}" for letter, way in zip(letters, ways, strict=True))
        title = "What would end it, simulated: the share left if all twins in a region got one outcome."
        title += f" Accuracy on the rows with a region decided {told}." if told else ""
        return [Table.of(["", *names, *(f"accuracy {letter}" for letter in letters)], rows, title)]


def _sentence(row: Any) -> str:
    where = POPULATIONS[row.population] + (", linked twins" if row.twins == "linked" else "")
    if not row.n:
        return f"simulated: the effect of deciding {row.region} otherwise on {where} was not measured"
    said = (
        f"simulated: with {row.region} decided {WAYS[row.remedy]}, {percent(row.share_after)} of {where} would be "
        f"discriminatory ({percent(row.low)} to {percent(row.high)}); now {percent(row.share_before)} are"
    )
    if math.isnan(row.accuracy_after):
        return said
    return f"{said}; accuracy on the rows {percent(row.accuracy_after)}, now {percent(row.accuracy_before)}"


def _most_left(remedies: pd.DataFrame, n_samples: int) -> str:
    """The largest share that would be left: a constant sensitive value may leave families as they are."""
    most = remedies.loc[remedies["share_after"].fillna(-1).idxmax()]
    interval = f" ({percent(most['low'])} to {percent(most['high'])})" if n_samples <= MOST_SAMPLES else ""
    return f"{percent(most['share_after'])}{interval}"
