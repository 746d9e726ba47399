"""Severity: the distance between the model's scores for the two twins of a case, and a ranking of cases by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.blocks import Remark
from fairprobe.errors import ModelError, SettingError
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

MEASURES = {"proba": "probabilities", "score": "scores", "value": "values"}
"""Name in sentences of the numbers whose distance is the severity, by output of the model."""

ROWS_A_CALL = 10_000
"""Largest number of rows sent to the model in one call; chosen: about as many as stay in a core's cache."""

MOST_RANKED = 100
"""Largest number of cases of the ranking that are written to JSON; chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Severity(Finding):
    """The distance between the model's outputs for the two twins of each case, with a ranking of the cases by it."""

    measure: str
    """The output whose distance is measured: "proba", "score" or "value"; "label" if the model gives nothing else."""
    gaps: Floats
    """Distance between the model's outputs for the two twins of each given case, in order; NaN for cases that no longer
    hold or that the budget did not reach."""
    quantiles: dict[float, float]
    """Quantiles of the known distances between twins, by their fraction; empty if none is known."""
    ranking: pd.DataFrame
    """The cases in descending order of `product`, which is `severity` times `plausibility` (1 without a density).
    `place` is the position among the given cases."""
    n_queries: int
    """Number of rows sent to the model for other outputs than those compared."""
    n_relabelled: int | None = None
    """Number of cases whose twins get different labels too, of the `relabelled_of` cases asked about. None unless
    scores or probabilities are compared and the model's labels could be asked for."""
    relabelled_of: int | None = None
    threshold: float = 0.0
    health: tuple[Remark, ...] = ()

    json_names: ClassVar = {"gaps": ""}

    def sentences(self) -> list[str]:
        """Return sentences with the quartiles of the gaps and the number of cases whose twins get different labels."""
        if not len(self.ranking):
            return ["There is no case whose severity was measured."]
        if self.measure == "label":
            return ["The model gives labels only, so some cases cannot be called more severe than others."]
        low, middle, high, most = (self.quantiles[q] for q in (0.25, 0.5, 0.75, 1.0))
        said = [
            f"The {MEASURES[self.measure]} of the two twins are {middle:.3g} apart in the median case, {low:.3g} to "
            f"{high:.3g} in half of the cases, and at most {most:.3g}."
        ]
        if self.n_relabelled is not None:
            over = f"{self.relabelled_of:,} cases with answers more than {self.threshold:g} apart"
            said.append(f"Of {over}, {self.n_relabelled:,} have twins with different labels.")
        return said

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentences about severity as values for JSON.

        The ranking is cut to the first cases.
        """
        return {**super().jsonable(), "ranking": as_json(self.ranking.head(MOST_RANKED))}


def severity_of(evidence: Evidence) -> Severity:
    """Measure the gap between the two twins of each case, by probabilities or scores if the model has them."""
    import pandas as pd

    output, gaps, n_queries = _measure(evidence), evidence.cases.gaps.astype(np.float64), 0
    health: tuple[Remark, ...] = ()
    if output != evidence.output:
        n = evidence.budget.inputs(evidence.n_cases, cost=2)
        if n < evidence.n_cases:
            text = f"the limit on queries leaves room to ask about the scores of {n:,} of {evidence.n_cases:,} cases"
            health = (Remark("fewer-scores", text),)
        case, twin, n_queries = _asked(evidence, output, n)
        gaps = np.abs(case - twin).reshape(n, -1 if n else 1).max(axis=1)
    n = len(gaps)
    of_given = np.full(evidence.n_given, np.nan)
    of_given[evidence.numbers[:n]] = gaps
    plausibility = np.ones(n)
    if evidence.density is not None and n:
        plausibility = evidence.density.plausibility_of(evidence.cases.codes[:n])
    ranking = pd.DataFrame({"place": evidence.numbers[:n], "severity": gaps, "plausibility": plausibility})
    ranking["product"] = gaps * plausibility
    ranking = ranking.sort_values("product", ascending=False, kind="stable", ignore_index=True)
    quantiles = dict(zip(QUANTILES, np.quantile(gaps, QUANTILES).tolist(), strict=True)) if n else {}
    n_relabelled, n_asked = relabelled_of(evidence)
    threshold = evidence.oracle.threshold
    return Severity(output, of_given, quantiles, ranking, n_queries, n_relabelled, n_asked, threshold, health)


def _measure(evidence: Evidence) -> str:
    """Return the model's output whose gap is the most informative: probabilities, else scores, else labels."""
    adapter = adapter_for(evidence.model)
    best = "proba" if adapter.probabilities else "score" if adapter.scores else "label"
    return best if evidence.output == "label" else evidence.output


def relabelled_of(evidence: Evidence) -> tuple[int, int] | tuple[None, None]:
    """Return (number of cases whose twins get different labels, number of cases asked about).

    Both are None if labels are compared anyway, if the model gives none, or if the budget is too small for one case.
    """
    own, n = evidence.oracle.asker, evidence.budget.inputs(evidence.n_cases, cost=2)
    if own.output not in ("score", "proba") or not n or not isinstance(own, Asker) or own.adapter.is_function:
        return None, None
    try:
        case, twin, _ = _asked(evidence, "label", n)
    except (ModelError, SettingError):  # it gives no labels
        return None, None
    return int((case != twin).sum()), n


def _asked(evidence: Evidence, output: str, n: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return the model's output for either twin of the first `n` cases, and the number of rows asked about.

    The three results are the outputs for the cases, those for their twins, and the number.
    """
    ends = evidence.oracle.ends(evidence.cases.take(np.arange(n)))
    if not n:
        return np.zeros(0), np.zeros(0), 0
    with evidence.asker(output=output) as asker:
        case, twin = (
            np.concatenate([asker.ask(codes[i : i + ROWS_A_CALL]) for i in range(0, n, ROWS_A_CALL)])
            for codes in (each.astype(np.int64, copy=False) for each in (ends.case, ends.twin))
        )
    return case, twin, asker.n_queries
