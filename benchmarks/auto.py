"""Auto: the time of a share by method="auto" / the time of one by method="sample".

Where auto ends up sampling, the ratio is what was risked on an exact attempt; where it ends up exact, it says whether
that was foreseen rightly. Both methods take turns, so that they see the same machine.

    python benchmarks/auto.py [MODEL ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import fairprobe
from _common import model, print_table, turns

LIMIT = 1.2
TURNS = 5
N_EXPERIMENTS = 400


def main(names: list[str]) -> None:
    """Print the table."""
    header = ["model", "auto is", "auto, s", "sample, s", "ratio", "spread", "limit"]
    print_table(header, (_row(name) for name in names or MODELS))


def _row(name: str) -> list[object]:
    subject, domain = MODELS[name]()
    begun = time.perf_counter()
    share = fairprobe.estimate(subject, domain)
    n_turns = TURNS if time.perf_counter() - begun < 10 else 2
    measured = turns(
        lambda: fairprobe.estimate(subject, domain, n_experiments=N_EXPERIMENTS),
        lambda: fairprobe.estimate(subject, domain, n_experiments=N_EXPERIMENTS, method="sample"),
        n_turns,
    )
    return [name, share.method, *measured, LIMIT if share.method == "sample" else "-"]


def _subject(name: str) -> tuple[Any, fairprobe.Domain]:
    return model(name), fairprobe.datasets.census_domain()


def _encoded(estimator: Any) -> tuple[Any, fairprobe.Domain]:
    X, y = fairprobe.datasets.load_census()
    return estimator.fit(X.to_numpy(), y), fairprobe.datasets.census_domain()


def _forest(n_trees: int, max_depth: int | None = None) -> tuple[Any, fairprobe.Domain]:
    from sklearn.ensemble import RandomForestClassifier

    return _encoded(RandomForestClassifier(n_trees, max_depth=max_depth, random_state=0))


def _boosting() -> tuple[Any, fairprobe.Domain]:
    from sklearn.ensemble import GradientBoostingClassifier

    return _encoded(GradientBoostingClassifier(random_state=0))


def _logistic() -> tuple[Any, fairprobe.Domain]:
    from sklearn.linear_model import LogisticRegression

    return _encoded(LogisticRegression(max_iter=1000))


def _one_hot(kind: str) -> tuple[Any, fairprobe.Domain]:
    """Behind an encoder of words, on frames: where users are."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    X, y = fairprobe.datasets.load_census(encoded=False)
    domain = fairprobe.datasets.census_domain(encoded=False)
    words = [parameter.name for parameter in domain.parameters if not parameter.is_numeric]
    prepare = make_column_transformer((OneHotEncoder(), words), remainder=StandardScaler())
    estimators = {
        "boosting": GradientBoostingClassifier(random_state=0),
        "logistic": LogisticRegression(max_iter=1000),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    return make_pipeline(prepare, estimators[kind]).fit(X, y), domain


MODELS: dict[str, Callable[[], tuple[Any, fairprobe.Domain]]] = {
    "decision-tree": lambda: _subject("decision-tree"),
    "random-forest": lambda: _subject("random-forest"),
    "forest-50": lambda: _forest(50),
    "forest-100": lambda: _forest(100),
    "forest-100-of-depth-6": lambda: _forest(100, 6),
    "forest-10-of-depth-5": lambda: _forest(10, 5),
    "ensemble": lambda: _subject("ensemble"),
    "logistic": _logistic,
    "fair-svm": lambda: _subject("fair-svm"),
    "boosting": _boosting,
    "one-hot-tree": lambda: _one_hot("tree"),
    "one-hot-logistic": lambda: _one_hot("logistic"),
    "one-hot-boosting": lambda: _one_hot("boosting"),
}


if __name__ == "__main__":
    main(sys.argv[1:])
