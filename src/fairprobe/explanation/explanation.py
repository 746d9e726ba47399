"""What `explain` gives: regions, influence, directions, severity, the model's own parts, and what would end it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Remark
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.case_region import CaseRegion
from fairprobe.explanation.directions import Directions
from fairprobe.explanation.influence import Influence
from fairprobe.explanation.inside import Inside
from fairprobe.explanation.remedies import Remedies
from fairprobe.explanation.severity import Severity
from fairprobe.notebook import as_html
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

CONFIDENCE = 0.95


def nothing_held(n_asked: int, n_given: int, cases: str) -> str:
    """That no case held of those asked about, in a sentence, or that none was asked about."""
    if not n_asked:
        return f"None of {cases} was asked about again, so nothing was measured."
    asked = "" if n_asked == n_given else f"the {n_asked:,} asked about of "
    return f"None of {asked}{cases} is one any more: there is nothing to explain."


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Why: the regions that hold the cases, and what else is known of them."""

    rules: tuple[CaseRegion, ...]
    """The regions, those first that touch most people."""
    coverage: float
    """The part of the cases explained that are in a region."""
    influence: Influence
    directions: Directions
    severity: Severity
    relabelled: tuple[int, int] | None
    """Of scores and probabilities: how many cases change their label too, and of how many that was asked."""
    inside: Inside | None
    """The parts of the model that look at a sensitive parameter; None where it cannot be looked into."""
    remedies: Remedies
    """What would remain if the first regions were decided otherwise: a simulation."""
    domain: Domain
    population: str
    """Whose inputs regions were measured on."""
    n_given: int
    """Cases given."""
    n_asked: int
    """Those that were asked about again: as many as the limit on queries has room for."""
    n_cases: int
    """Those that still hold, which this is about."""
    n_sampled: int
    """Fresh inputs of the population that can be compared, and the cases among them."""
    n_sampled_cases: int
    n_queries: int
    seconds: float
    seed: int
    health: tuple[Remark, ...] = ()
    """The name and the text of each health check that has something to say."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """By section, what to say in its place where the limit on queries left no room to measure it."""

    @property
    def table(self) -> pd.DataFrame:
        """The regions, one a row."""
        import pandas as pd

        names = ["text", "precision", "low", "high", "coverage", "of_domain", "of_density", "of_rows", "n_rows"]
        return pd.DataFrame([[getattr(region, name) for name in names] for region in self.rules], columns=names)

    def sentences(self) -> list[str]:
        """All of it in plain sentences, the most important first."""
        missing = [f"{section}: {why}" for section, why in self.not_measured.items()]
        if not self.n_cases:
            if self.n_given:
                return [nothing_held(self.n_asked, self.n_given, f"the {self.n_given:,} cases given"), *missing]
            return ["No cases were given: there is nothing to explain, which does not say that there are none."]
        said = []
        if self.rules:
            n, among = len(self.rules), "" if self.n_asked == self.n_given else f" of {self.n_given:,} given"
            said.append(
                f"{n} region{'s' if n > 1 else ''} hold{'' if n > 1 else 's'} {percent(self.coverage)} of "
                f"{self.n_cases:,} cases{among}."
            )
            said += [f"{place}. {region.sentence()}." for place, region in enumerate(self.rules, start=1)]
        said += self.directions.sentences()
        said += self.influence.sentences()
        said += self.label_sentences()
        said += (self.inside.sentences() if self.inside is not None else []) + self.remedies.sentences()[:3]
        return said + missing

    def label_sentences(self) -> list[str]:
        """That an answer moves is not yet that the label changes: both numbers, where they may differ."""
        if self.relabelled is None:
            return []
        n, asked = self.relabelled
        over = f"with answers more than {self.influence.threshold:g} apart"
        return [f"Of {asked:,} cases {over}, {n:,} have twins with different labels."]

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        low, high = clopper_pearson(self.n_sampled_cases, self.n_sampled, CONFIDENCE)
        figures = ("population", "n_given", "n_asked", "n_cases", "n_sampled", "n_sampled_cases", "n_queries")
        return {
            "coverage": self.coverage if self.n_cases else None,
            **{name: getattr(self, name) for name in figures},
            "share_low": low,
            "share_high": high,
            "seconds": self.seconds,
            "seed": self.seed,
            "regions": [region.summary() for region in self.rules],
            "influence": self.influence.summary(),
            "directions": self.directions.summary(),
            "severity": self.severity.summary(),
            "n_relabelled": None if self.relabelled is None else self.relabelled[0],
            "relabelled_of": None if self.relabelled is None else self.relabelled[1],
            "label_sentences": self.label_sentences(),
            "inside": None if self.inside is None else self.inside.summary(),
            "remedies": self.remedies.summary(),
            "not_measured": dict(self.not_measured),
            "health": [{"check": name, "message": message} for name, message in self.health],
        }

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write the figures to a file."""
        Path(path).write_text(json.dumps(self.summary(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def plot(self, folder: str | PathLike[str]) -> list[Path]:
        """Draw what can be drawn as SVG files in a folder; gives their paths."""
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        drawings = {
            "influence.svg": (self.influence.plot, len(self.influence.table)),
            "curves.svg": (self.influence.plot_curves, len(self.influence.curves)),
            "directions.svg": (self.directions.plot, len(self.directions.table)),
        }
        written = []
        for name, (draw, n) in drawings.items():
            if n:
                draw(into / name)
                written.append(into / name)
        return written

    def __repr__(self) -> str:
        return f"Explanation({self.sentences()[0]} {self.n_queries:,} queries, {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        figures = {"cases": f"{self.n_cases:,}", "population": self.population, "queries": f"{self.n_queries:,}"}
        table = self.table.to_html(escape=True, border=0, index=False) if self.rules else ""
        more = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.directions.sentences())
        return as_html("Explanation", self.sentences()[0], figures, self.health, table + more)
