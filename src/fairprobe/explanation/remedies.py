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
from fairprobe.domain.constraints import Rule
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


@dataclass(frozen=True)
class Remedy:
    """The share that would be left in one population if a region were decided in another way: simulated."""

    region: str
    """The region by its place, or the first ones together."""
    rules: tuple[Rule, ...]
    decision: Decision
    population: str
    """One of domain, valid, density (the sample) and rows."""
    twins: str
    """The twins that are compared: "linked" or "plain"."""
    n: int
    """Number of inputs that are comparable."""
    n_inside: int
    """Number of these that are inside the region."""
    before: float
    """The discriminatory share of the model as it is."""
    after: float
    """The share that would be left."""
    low: float
    high: float
    """The exact interval of `after`."""
    accuracy_before: float = math.nan
    accuracy_after: float = math.nan
    """On the rows with a label, with those it was fitted to; NaN elsewhere, and where outputs give no label."""
    confidence: float = 0.95

    @property
    def sample(self) -> str:
        """The population, and the twins where they are linked."""
        return self.population + (", linked twins" if self.twins == "linked" else "")

    def sentence(self) -> str:
        """The remedy in words."""
        where = self.sample.replace(self.population, POPULATIONS[self.population])
        if not self.n:
            return f"simulated: the effect of deciding {self.region} otherwise on {where} was not measured"
        said = (
            f"simulated: with {self.region} decided {WAYS[self.decision]}, {percent(self.after)} of {where} would be "
            f"discriminatory ({percent(self.low)} to {percent(self.high)}); now {percent(self.before)} are"
        )
        if math.isnan(self.accuracy_after):
            return said
        return f"{said}; accuracy on the rows {percent(self.accuracy_after)}, now {percent(self.accuracy_before)}"

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentence as plain values of JSON."""
        return {**as_json(vars(self)), "simulated": True, "sentence": self.sentence()}


class Remedies(Finding, list[Remedy]):
    """Remedies by region, decision and population, each of them simulated."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each."""
        import pandas as pd

        names = ["region", "decision", "population", "twins", "n", "before", "after", "low", "high"]
        names += ["accuracy_before", "accuracy_after"]
        table = pd.DataFrame([[getattr(each, name) for name in names] for each in self], columns=names)
        renamed = {"decision": "remedy", "before": "share_before", "after": "share_after"}
        return table.assign(decision=table["decision"].map(str), simulated=True).rename(columns=renamed)

    def sentences(self) -> list[str]:
        """Each in words."""
        return [each.sentence() for each in self]

    def jsonable(self) -> Any:
        """The remedies as plain values of JSON."""
        return [each.jsonable() for each in self]

    def blocks(self) -> Sequence[Block]:
        """A row for each region: the largest share that would be left in each population, and the accuracies."""
        if not self:
            return [Sentence("No remedy was simulated.")]
        samples = {each.sample: each for each in reversed(self)}  # the first of each
        names = list(dict.fromkeys(each.sample for each in self))
        known = [each for each in self if not math.isnan(each.accuracy_after)]
        letters = dict(zip(dict.fromkeys(each.decision for each in known), "ABC", strict=False))
        now = [percent(known[0].accuracy_before)] * len(letters) if known else []
        rows = [["as it is", *(percent(samples[name].before) for name in names), *now]]
        for region in dict.fromkeys(each.region for each in self):
            own = [each for each in self if each.region == region]
            left = [max((each for each in own if each.sample == name), key=lambda each: each.after) for name in names]
            after = {each.decision: percent(each.accuracy_after) for each in known[::-1] if each.region == region}
            rows.append([region, *(_left(each, len(names)) for each in left), *(after[each] for each in letters)])
        ways = [f"{letter} {WAYS[decision]}" for decision, letter in letters.items()]
        accuracy = f" Accuracy on the rows with a region decided {', '.join(ways)}." if ways else ""
        title = f"What would end it, simulated: the share left if all twins in a region got one outcome.{accuracy}"
        return [Table.of(["", *names, *(f"accuracy {letter}" for letter in letters.values())], rows, title)]


def _left(remedy: Remedy, n_samples: int) -> str:
    """The share that would be left, with its interval where there is room."""
    interval = f" ({percent(remedy.low)} to {percent(remedy.high)})" if n_samples <= MOST_SAMPLES else ""
    return f"{percent(remedy.after)}{interval}"
