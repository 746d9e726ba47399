"""The paper's tables, in its order of classifiers, and the figures in its text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

STRATEGIES: Final = ("random", "semi-directed", "fully-directed")
"""Of the paper; its baseline, Themis' uniform sampling, is called "Random" there and `uniform` here."""


class Effectiveness(NamedTuple):
    """A cell of the table "Effectiveness": per cent of the inputs generated that are discriminatory."""

    percent: float
    n_inputs: int | None
    """How many were generated; not told of uniform sampling."""


EFFECTIVENESS: Final[dict[str, dict[str, Effectiveness]]] = {
    "fair-svm": {
        "uniform": Effectiveness(3.45, None),
        "random": Effectiveness(39.4, 315_640),
        "semi-directed": Effectiveness(65.2, 322_725),
        "fully-directed": Effectiveness(70.32, 357_375),
    },
    "svm": {
        "uniform": Effectiveness(0.18, None),
        "random": Effectiveness(0.53, 54_683),
        "semi-directed": Effectiveness(0.574, 88_095),
        "fully-directed": Effectiveness(1.22, 100_101),
    },
    "mlp": {
        "uniform": Effectiveness(0.3466, None),
        "random": Effectiveness(2.15, 218_727),
        "semi-directed": Effectiveness(2.39, 129_556),
        "fully-directed": Effectiveness(2.896, 141_666),
    },
    "random-forest": {
        "uniform": Effectiveness(8.34, None),
        "random": Effectiveness(18.312, 218_727),
        "semi-directed": Effectiveness(21.722, 264_523),
        "fully-directed": Effectiveness(34.98, 282_973),
    },
    "decision-tree": {
        "uniform": Effectiveness(0.485, None),
        "random": Effectiveness(2.33, 153_166),
        "semi-directed": Effectiveness(2.89, 179_364),
        "fully-directed": Effectiveness(6.653, 248_229),
    },
    "ensemble": {
        "uniform": Effectiveness(8.23, None),
        "random": Effectiveness(22.34, 187_980),
        "semi-directed": Effectiveness(36.08, 458_910),
        "fully-directed": Effectiveness(37.9, 545_375),
    },
}

EFFICIENCY: Final[dict[str, dict[str, float]]] = {
    name: dict(zip(("uniform", *STRATEGIES), seconds, strict=True))
    for name, seconds in {
        "fair-svm": (1589.87, 534.47, 345.65, 228.14),
        "svm": (7159.54, 3589.9, 2673.8, 2190.21),
        "mlp": (6157.23, 759.63, 431.76, 207.87),
        "random-forest": (9563.12, 2692.98, 1334.67, 1145.34),
        "decision-tree": (1035.32, 569.13, 371.89, 254.25),
        "ensemble": (6368.79, 2178.45, 1067.75, 989.43),
    }.items()
}
"""The table "Test generation efficiency": seconds to 10,000 discriminatory inputs."""

N_CASES: Final = 10_000


class Retraining(NamedTuple):
    """A row of the table "Retraining Effectiveness", all in per cent; the shares with their printed intervals."""

    before: float
    before_interval: tuple[float, float]
    after: float
    after_interval: tuple[float, float]
    improved: float
    added: float


RETRAINING: Final[dict[str, Retraining]] = {
    "fair-svm": Retraining(3.86, (3.76, 3.95), 2.89, (2.64, 3.14), 25.15, 15.6),
    "svm": Retraining(0.33, (0.14, 0.51), 0.12, (0.09, 0.14), 63.54, 26.9),
    "mlp": Retraining(0.39, (0.36, 0.42), 0.28, (0.27, 0.29), 30.12, 23.7),
    "random-forest": Retraining(8.84, (8.78, 8.91), 6.68, (6.35, 7.01), 24.48, 32.4),
    "decision-tree": Retraining(0.48, (0.45, 0.51), 0.027, (0.026, 0.028), 94.36, 10.6),
    "ensemble": Retraining(7.73, (7.14, 8.32), 6.06, (5.64, 6.48), 21.58, 28.3),
}

TITLES: Final = {
    "fair-svm": "Fair SVM",
    "svm": "SVM",
    "mlp": "MLPC",
    "random-forest": "Random Forest",
    "decision-tree": "Decision Tree",
    "ensemble": "Ensemble",
}
"""The paper's names of the subjects."""


def titles(names: Iterable[str]) -> str:
    """Subjects in a sentence."""
    return ", ".join(TITLES[name] for name in names) or "none"
