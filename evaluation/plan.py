"""How much is measured: all that the paper measured, or a little of each in some minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evaluation.printed import EFFECTIVENESS, N_CASES

ALL: Final = tuple(EFFECTIVENESS)

ONE_WALKER: Final = {"n_walkers": 1, "n_global": 1000, "n_local": 1000}
"""The paper's algorithm to the letter. It does not tell how many trials; these are those of its authors' program."""

LOCKSTEP: Final = {"n_walkers": 1000, "n_global": 5000, "n_local": 150}
"""As `search` does it unless told otherwise."""

SEX: Final = ("sex",)
OTHERS: Final = (("race",), ("sex", "race"))
"""Settings that the paper leaves open."""


@dataclass(frozen=True)
class Plan:
    """The sizes of all measurements."""

    name: str
    subjects: tuple[str, ...] = ALL
    seed: int = 0
    n_seeds: int = 5
    part: float = 1.0
    """Of the numbers of inputs that the paper generated."""
    n_cases: int = N_CASES
    """To reach, where time is measured."""
    n_timed: int = 3
    """Times a search is timed; of the SVM once."""
    timed_seconds: float = 120.0
    """A search that takes longer is cut off, and what it would have taken is extrapolated."""
    row_seconds: float = 60.0
    """For a run that asks the model about one input at a time."""
    n_experiments: int = 400
    n_samples: int = 1000
    """Of the estimated shares."""
    fit_seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Seeds that the subjects are fitted anew with: theirs was chosen among these."""
    sweep_subjects: tuple[str, ...] = ("fair-svm", "mlp", "decision-tree")
    """Whose yields are measured over the settings of a search."""
    sweep_inputs: int = 30_000
    sweep_seeds: int = 3
    n_locals: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000)
    n_walkers: tuple[int, ...] = (1, 30, 1000)
    deltas: tuple[float, ...] = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
    other_inputs: int = 10_000
    """Of one walker, where race is sensitive; two and a half times as many in lockstep; of the SVM half as many."""
    n_neighbourhoods: int = 1000
    """Cases whose neighbours are judged."""
    n_first: int = 400
    """Runs until the first case, of an input domain with a share of 1%."""
    retrained: tuple[str, ...] = ALL
    n_rows: int | None = None
    """Of the training rows to retrain on; None is all of them."""
    max_rounds: int = 12
    slow_rounds: int = 3
    """Of the SVM, which takes a minute to fit."""
    n_select: int = 50_000
    n_report: int = 200_000
    duel_subjects: tuple[str, ...] = (*ALL, "forest-100", "one-hot-logistic", "one-hot-mlp", "ordinal-boosting")
    """On which all strategies are held against each other."""
    duel_queries: tuple[int, int] = (2000, 20_000)
    duel_seeds: int = 20
    """Of runs at equal queries; half of them of the SVM."""
    duel_inputs: int = 100_000
    """Also those that references for recall come from."""
    duel_seconds: float = 0.5
    """Of the processor."""
    duel_runs: int = 5
    """At equal inputs and at equal seconds."""

    @property
    def seeds(self) -> range:
        """Of the runs that an interval is about."""
        return range(self.seed, self.seed + self.n_seeds)

    @property
    def sweep_range(self) -> range:
        """The seeds of the runs over settings."""
        return range(self.seed, self.seed + self.sweep_seeds)

    def n_inputs(self, subject: str, strategy: str) -> int:
        """As many as the paper generated, or the part of them; for uniform sampling as for fully-directed."""
        printed = EFFECTIVENESS[subject]
        n = printed[strategy].n_inputs or printed["fully-directed"].n_inputs if strategy in printed else None
        return max(1, round(self.part * (n or printed["fully-directed"].n_inputs or 0)))


FULL: Final = Plan("full")

QUICK: Final = Plan(
    "quick",
    n_seeds=3,
    part=0.05,
    n_cases=1000,
    n_timed=1,
    timed_seconds=2.0,
    row_seconds=1.0,
    n_experiments=40,
    fit_seeds=(0, 1, 4),
    sweep_subjects=("decision-tree", "mlp"),
    sweep_inputs=5000,
    sweep_seeds=2,
    n_locals=(10, 100),
    n_walkers=(1, 1000),
    deltas=(1e-6, 1e-3, 1e-1),
    other_inputs=2000,
    n_neighbourhoods=100,
    n_first=100,
    retrained=("fair-svm", "random-forest", "decision-tree"),
    max_rounds=3,
    n_select=10_000,
    n_report=40_000,
    duel_subjects=("decision-tree", "mlp"),
    duel_seeds=3,
    duel_inputs=10_000,
    duel_seconds=0.1,
    duel_runs=3,
)
