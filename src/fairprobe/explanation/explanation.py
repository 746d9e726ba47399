"""The result of `explain`: regions, influence, directions, severity, the model's own parts, and remedies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.blocks import Block, Remark, Sentence, Table
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.case_region import CONFIDENCE, CaseRegion
from fairprobe.explanation.directions import Directions
from fairprobe.explanation.finding import Finding
from fairprobe.explanation.influence import Influence
from fairprobe.explanation.inside import Inside
from fairprobe.explanation.region_rows import VERDICTS
from fairprobe.explanation.remedies import Remedies
from fairprobe.explanation.severity import Severity
from fairprobe.wording import NOT_MEASURED, POPULATIONS, capital, closed, counted, percent

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

TOLD = 3
"""Number of remedies that sentences tell."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Finding):
    """The regions that hold the cases, and the other findings about these cases."""

    regions: tuple[CaseRegion, ...]
    """Those that touch most people come first."""
    coverage: float
    """The part of the cases explained that are in a region."""
    influence: Influence
    directions: Directions
    severity: Severity
    relabelled: tuple[int, int] | None
    """Of scores and probabilities: the number of cases whose label changes too, and the number asked about."""
    inside: Inside | None
    """The parts of the model that look at a sensitive parameter; None where it cannot be looked into."""
    remedies: Remedies
    """Simulations of the first regions decided otherwise."""
    domain: Domain
    population: str
    """The population on whose inputs regions were measured."""
    n_given: int
    """Number of cases given."""
    n_asked: int
    """Number of these that were asked about again: as many as the limit on queries has room for."""
    n_cases: int
    """Number of these that still hold; the explanation is about them."""
    n_sampled: int
    """Number of fresh inputs of the population that are comparable."""
    n_sampled_cases: int
    n_queries: int
    seconds: float
    seed: int
    health: tuple[Remark, ...] = ()
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """By section that the limit on queries left no room for, the sentence that says so."""

    json_names: ClassVar = {"domain": "", "relabelled": ""}

    @property
    def rules(self) -> tuple[CaseRegion, ...]:
        """Another name of `regions`."""
        return self.regions

    @property
    def table(self) -> pd.DataFrame:
        """The regions, one a row."""
        import pandas as pd

        names = ["text", "precision", "low", "high", "coverage", "of_domain", "of_density", "of_rows", "n_rows"]
        return pd.DataFrame([[getattr(region, name) for name in names] for region in self.regions], columns=names)

    # Words

    def title(self) -> str:
        """The regions and the part of the cases that they hold, in a sentence."""
        if not self.n_given:
            return "No cases were given, so there is nothing to explain. The model may still have cases."
        if not self.n_asked:
            return f"None of the {self.n_given:,} cases given was asked about again, so nothing was measured."
        is_part = self.n_asked < self.n_given
        if not self.n_cases:
            asked = f"{self.n_asked:,} asked about of the " if is_part else ""
            return f"None of the {asked}{self.n_given:,} cases given is one any more: there is nothing to explain."
        cases = counted(self.n_cases, "case") + (f" of {self.n_given:,} given" if is_part else "")
        if not self.regions:
            return f"No region was found that holds {cases}."
        return f"{counted(len(self.regions), 'region holds', 'regions hold')} {percent(self.coverage)} of {cases}."

    def _findings(self) -> dict[str, list[str]]:
        """By heading, the sentences of all findings but the regions and the remedies."""
        if not self.n_cases:
            return {}
        return {
            "Who gets what" if self.directions.favourable is None else "Who is worse off": self.directions.sentences(),
            "Through what": self.influence.sentences(),
            "How severe": [*self.severity.sentences(), *self.label_sentences()],
            "What the model looks at": [] if self.inside is None else self.inside.sentences(),
        }

    def sentences(self) -> list[str]:
        """All findings in plain sentences, the most important first."""
        return [
            self.title(),
            *(f"{place}. {region.sentence()}." for place, region in enumerate(self.regions, start=1)),
            *(sentence for sentences in self._findings().values() for sentence in sentences),
            *self.remedies.sentences()[:TOLD],
            *(f"{section}: {why}" for section, why in self.not_measured.items()),
        ]

    def label_sentences(self) -> list[str]:
        """The number of cases whose label changes: a difference between scores need not change the label."""
        if self.relabelled is None:
            return []
        n, asked = self.relabelled
        over = f"with answers more than {self.influence.threshold:g} apart"
        return [f"Of {asked:,} cases {over}, {n:,} have twins with different labels."]

    def blocks(self) -> Sequence[Block]:
        """The title, the regions, the other findings, the remedies, and what was not measured."""
        return [
            Sentence(self.title()),
            *self._region_blocks(),
            *(Sentence(" ".join(sentences), name) for name, sentences in self._findings().items() if sentences),
            *(self.remedies.blocks() if len(self.remedies) else []),
            *(Sentence(why, capital(section)) for section, why in self.not_measured.items()),
            *self.health,
        ]

    def _region_blocks(self) -> list[Block]:
        """A table of the regions, and the meaning of the verdicts in it."""
        if not self.regions:
            return []
        import pandas as pd

        cells = pd.DataFrame([region.cells() for region in self.regions]).replace("", NOT_MEASURED)
        cells = cells.loc[:, (cells != NOT_MEASURED).any()]
        cells.insert(0, "", range(1, len(cells) + 1))
        cells["region"] = [region.text for region in self.regions]
        sampled = ""
        if self.n_sampled:
            sampled = f" (of all, {percent(self.n_sampled_cases / self.n_sampled)} are cases)"
        title = (
            f"Where. Precision is the part of a region's inputs in {POPULATIONS[self.population]} that are "
            f"cases{sampled}; coverage is the part of the cases. The 95% intervals hold for all regions at once."
        )
        verdicts = {region.in_data.verdict for region in self.regions if region.in_data is not None}
        legend = [Sentence(closed(words), str(verdict)) for verdict, words in VERDICTS.items() if verdict in verdicts]
        return [Table.of(cells.columns, cells.astype(str).to_numpy().tolist(), title), *legend]

    # Figures and files

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentences as plain values of JSON."""
        low, high = clopper_pearson(self.n_sampled_cases, self.n_sampled, CONFIDENCE)
        n_relabelled, relabelled_of = self.relabelled or (None, None)
        return {
            **super().jsonable(),
            "share_low": low,
            "share_high": high,
            "n_relabelled": n_relabelled,
            "relabelled_of": relabelled_of,
            "label_sentences": self.label_sentences(),
        }

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write the figures to a file."""
        Path(path).write_text(json.dumps(self.jsonable(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def plot(self, folder: str | PathLike[str]) -> list[Path]:
        """Draw the findings as SVG files in a folder; returns the paths of the files."""
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        drawings = {
            "influence.svg": (self.influence.plot, len(self.influence.table)),
            "curves.svg": (self.influence.plot_curves, len(self.influence.curves)),
            "directions.svg": (self.directions.plot, len(self.directions.table)),
        }
        drawn = {into / name: draw for name, (draw, n) in drawings.items() if n}
        for path, draw in drawn.items():
            draw(path)
        return list(drawn)

    def __repr__(self) -> str:
        return f"Explanation({self.title()} {self.n_queries:,} queries, {self.seconds:.1f} s)"
