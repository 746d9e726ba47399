"""Compiling: from a fitted model to twins, where there is a way that was measured to be faster."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from fairprobe.accelerate.protocol import Evaluator, Twins
from fairprobe.accelerate.rows import Rows
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes

KINDS: dict[str, str] = {
    "sklearn.ensemble:ExtraTreesClassifier": "forest",
    "sklearn.ensemble:RandomForestClassifier": "forest",
    "sklearn.ensemble:VotingClassifier": "vote",
    "sklearn.linear_model:LogisticRegression": "linear",
    "sklearn.linear_model:Perceptron": "linear",
    "sklearn.linear_model:RidgeClassifier": "linear",
    "sklearn.linear_model:SGDClassifier": "linear",
    "sklearn.neural_network:MLPClassifier": "network",
    "sklearn.svm:LinearSVC": "linear",
    "sklearn.svm:SVC": "kernel",
    "sklearn.tree:DecisionTreeClassifier": "tree",
    "sklearn.tree:ExtraTreeClassifier": "tree",
    "fairprobe.subjects.fair_svm:FairSVM": "linear",
}
"""By class of model, the module here that compiles it. A subclass may predict otherwise, so it is not in."""


def compile_twins(model: Any, domain: Domain, output: str = "label") -> Twins | None:
    """Something that gives the model's labels for inputs and all their twins, but faster; None if there is no way.

    >>> from fairprobe.datasets import census_domain
    >>> compile_twins(lambda rows: rows[:, 0] > 5, census_domain()) is None
    True
    """
    if output != "label" or kind_of(model) is None:
        return None
    rows = Rows.of(model, domain)
    evaluator = None if rows is None else evaluator_of(model, rows)
    if rows is None or evaluator is None:
        return None
    return _Compiled(rows, evaluator, model.classes_)


SCREENING = ("forest", "kernel", "vote")
"""Kinds that are so much slower than their twins that it pays to ask them only to confirm."""

SCREENING_FEW = ("linear", "network")
"""Kinds whose every call costs so much that it pays where few inputs are judged at a time."""

FEW = 100


def may_screen(model: Any, n_inputs: int) -> bool:
    """Whether a search that judges so many inputs at a time is likely to gain by compiled twins that propose."""
    kind = kind_of(model)
    return kind in SCREENING or (kind in SCREENING_FEW and n_inputs <= FEW)


def evaluator_of(model: Any, rows: Rows) -> Evaluator | None:
    """A model, or a member of one, compiled for its columns."""
    kind = kind_of(model)
    if kind is None:
        return None
    evaluator: Evaluator | None = import_module(f"fairprobe.accelerate.{kind}").evaluator(model, rows)
    return evaluator


def kind_of(model: Any) -> str | None:
    """The module that compiles this very class of model."""
    if "predict" in getattr(model, "__dict__", {}):
        return None  # its own predict was put over the class's
    for path, kind in KINDS.items():
        module, name = path.split(":")
        # Only a class of that name and package is worth an import, which then is none: the model brought it along.
        if type(model).__name__ == name and type(model).__module__.startswith(module.partition(".")[0]):
            return kind if getattr(import_module(module), name) is type(model) else None
    return None


@dataclass(frozen=True)
class _Compiled:
    """A compiled model's places among the classes, as labels."""

    rows: Rows
    evaluator: Evaluator
    classes: NDArray[Any]

    @property
    def name(self) -> str:
        return self.evaluator.name

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        return self.classes.take(self.evaluator.positions(self.rows.batch(codes)))
