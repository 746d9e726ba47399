"""How severe: how far apart the model's scores are for the two twins that show a case, and which cases come first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.blocks import Remark
from fairprobe.errors import ModelError, SettingError
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.influence import records
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

MEASURES = {
    "proba": "probabilities",
    "score": "scores",
    "value": "values",
    "label": "labels, whose gap is 0 or 1",
}

ROWS_A_CALL = 10_000


@dataclass(frozen=True, repr=False, eq=False)
class Severity:
    """How far apart the two ends of each case are."""

    measure: str
    """What is apart: proba, score or value; label where the model tells no more than that."""
    gaps: Floats
    """By case given, in order; NaN for those that do not hold, or that there was no room to ask about."""
    quantiles: pd.Series[Any]
    """Of the gaps."""
    ranking: pd.DataFrame
    """The cases by `product`, of `severity` and `plausibility` (1 without a density), the largest first and those found
    first before others: `place` is that among the cases given."""
    n_queries: int
    health: tuple[Remark, ...] = ()
    """What is to be said of it."""

    def sentences(self) -> list[str]:
        """The middle half of the gaps, in words."""
        if not len(self.ranking):
            return ["There is no case whose severity was measured."]
        if self.measure == "label":
            return ["The model tells labels alone: whether some cases are as severe as others cannot be told."]
        low, middle, high, most = (self.quantiles[q] for q in (0.25, 0.5, 0.75, 1.0))
        return [
            f"The {MEASURES[self.measure]} of the two twins are {middle:.3g} apart in the median case; in half of the "
            f"cases {low:.3g} to {high:.3g}, and {most:.3g} at the most."
        ]

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON; of the ranking, the first hundred."""
        return {
            "measure": self.measure,
            "quantiles": {f"{q:g}": float(gap) if len(self.ranking) else None for q, gap in self.quantiles.items()},
            "ranking": records(self.ranking.head(100)),
            "n_queries": self.n_queries,
            "health": [{"check": name, "message": message} for name, message in self.health],
            "sentences": self.sentences(),
        }

    def __repr__(self) -> str:
        return f"Severity({' '.join(self.sentences())})"

    def _repr_html_(self) -> str:
        figures = {f"{q:.0%} quantile": f"{gap:.4g}" for q, gap in self.quantiles.items()}
        return as_html("Severity", " ".join(self.sentences()), figures, self.health)


def severity_of(evidence: Evidence) -> Severity:
    """Measure the gap between the two ends of each case, by probabilities or scores where the model has them."""
    import pandas as pd

    measure = _measure(evidence)
    gaps, n_queries = evidence.cases.gaps.astype(np.float64), 0
    health: tuple[Remark, ...] = ()
    if measure != evidence.oracle.asker.output:
        left = evidence.budget.n_left
        n = evidence.n_cases if left is None else min(evidence.n_cases, left // 2)
        if n < evidence.n_cases:
            text = f"the limit on queries leaves room to ask about the scores of {n:,} of {evidence.n_cases:,} cases"
            health = (Remark("fewer-scores", text),)
        gaps = np.full(evidence.n_cases, np.nan)
        case, twin, n_queries = _asked(evidence, measure, n)
        gaps[:n] = np.abs(case - twin).reshape(n, -1).max(axis=1) if n else 0.0
    known = np.flatnonzero(~np.isnan(gaps))
    places = np.arange(evidence.n_cases) if evidence.places is None else evidence.places
    of_given = np.full(evidence.n_given, np.nan)
    of_given[places] = gaps
    plausibility = np.ones(len(known))
    if evidence.density is not None and len(known):
        plausibility = evidence.density.plausibility_of(evidence.cases.codes[known])
    product = gaps[known] * plausibility
    ranking = pd.DataFrame(
        {"place": places[known], "severity": gaps[known], "plausibility": plausibility, "product": product}
    ).iloc[np.argsort(-product, kind="stable")]
    quantiles = np.quantile(gaps[known], QUANTILES) if len(known) else np.full(len(QUANTILES), np.nan)
    return Severity(
        measure=measure,
        gaps=of_given,
        quantiles=pd.Series(quantiles, index=pd.Index(QUANTILES, name="quantile"), name="gap"),
        ranking=ranking.reset_index(drop=True),
        n_queries=n_queries,
        health=health,
    )


def _measure(evidence: Evidence) -> str:
    """The output whose gap tells most."""
    output = evidence.oracle.asker.output
    if output != "label":
        return output
    abilities = adapter_for(evidence.model)
    return "proba" if abilities.probabilities else "score" if abilities.scores else "label"


def relabelled_of(evidence: Evidence) -> tuple[int, int] | None:
    """Of cases told by scores or probabilities: how many have twins of another label, and how many were asked about.

    None where labels are what is compared, or the model gives none, or there is no room to ask.
    """
    own, left = evidence.oracle.asker, evidence.budget.n_left
    n = evidence.n_cases if left is None else min(evidence.n_cases, left // 2)
    if own.output not in ("score", "proba") or not n or not isinstance(own, Asker) or own.adapter.is_function:
        return None
    try:
        case, twin, _ = _asked(evidence, "label", n)
    except (ModelError, SettingError):  # it gives no labels
        return None
    return int((case != twin).sum()), n


def _asked(evidence: Evidence, output: str, n: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """That output at both ends of the first n cases, and the rows that were asked about."""
    if not n:
        return np.empty(0), np.empty(0), 0
    ends = evidence.oracle.ends(evidence.cases)

    def ask(codes: Codes) -> NDArray[Any]:
        codes = codes[:n].astype(np.int64, copy=False)
        return np.concatenate([asker.ask(codes[i : i + ROWS_A_CALL]) for i in range(0, n, ROWS_A_CALL)])

    with evidence.asker(output=output) as asker:
        case, twin = ask(ends.case), ask(ends.twin)
    return case, twin, asker.n_queries
