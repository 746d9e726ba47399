"""The committee that votes on the labels of added inputs: five kinds of classifier that the model is not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from fairprobe.domain.domain import Domain
from fairprobe.engine import Skipped, make_engine
from fairprobe.errors import ModelError
from fairprobe.model.known import kin
from fairprobe.retraining.fitting import is_fitted
from fairprobe.retraining.parts import LabelledRows

_SVM_ROWS: Final = 4000
"""Rows that the kernel machine is fitted to at most, as its time grows with their square; chosen."""

NEAREST: Final = {"boosting": "forest", "histogram-boosting": "forest", "libsvm": "kernel"}
"""By kind of model that no member is of, the kind of the most similar member."""


def kinds(domain: Domain, n_rows: int, seed: int) -> dict[str, Any]:
    """Classifiers of the kinds of the paper's subjects, not fitted yet. They take frames with any columns.

    Missing numbers are filled in and numbers are scaled; every other column is encoded one-hot.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    forest, tree = RandomForestClassifier(n_estimators=30, random_state=seed), DecisionTreeClassifier(random_state=seed)
    # A single bag is a random draw of as many rows as the kernel machine can take.
    few = {"n_estimators": 1, "max_samples": min(_SVM_ROWS, n_rows), "random_state": seed}
    classifiers = {
        "linear": LinearSVC(random_state=seed),
        "kernel": BaggingClassifier(SVC(random_state=seed), **few),
        "network": MLPClassifier((16,), max_iter=40, random_state=seed),
        "forest": forest,
        "tree": tree,
        "vote": VotingClassifier([("forest", forest), ("tree", tree)], voting="hard"),
    }
    numeric = [parameter.name for parameter in domain.parameters if parameter.is_numeric]
    listed = [parameter.name for parameter in domain.parameters if not parameter.is_numeric]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), listed),
    )
    # The pipelines share their parts, so each must be cloned before it is fitted.
    return {kind: make_pipeline(columns, classifier) for kind, classifier in classifiers.items()}


def other_kinds(domain: Domain, model: Any, n_rows: int, seed: int) -> list[Any]:
    """The default committee: the five kinds that the model is not. Their number is odd, so two classes cannot tie."""
    return [member for kind, member in kinds(domain, n_rows, seed).items() if kind != kind_of(model)]


def kind_of(model: Any) -> str:
    """The kind that is most similar to a model; a model of no known kind counts as a vote.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()), kind_of(len)
    ('tree', 'vote')
    """
    kind = kin(model) or ""
    return NEAREST.get(kind, kind if kind in ("tree", "forest", "linear", "kernel", "network") else "vote")


def fitted_members(members: Sequence[Any], rows: LabelledRows, n_jobs: int = 1, engine: str | None = None) -> list[Any]:
    """The members of a committee, fitted in parallel as shards of one run."""
    made = make_engine(partial(_fitted_shard, list(members), rows), n_jobs, engine=engine, n_shards=len(members))
    try:
        fitted = list(made.results())
    finally:
        made.close()
    for result in fitted:
        if isinstance(result, Skipped):
            name = type(members[result.shard]).__name__
            raise ModelError(f"a member of the committee must fit the rows, got {result.words()} from {name}")
    return fitted


def _fitted_shard(members: list[Any], rows: LabelledRows, shard: int, seconds: Any, report: Any) -> Any:
    """One member as it is if it is fitted, otherwise a clone of it, fitted."""
    member = members[shard]
    if is_fitted(member):
        return member
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a member that has not converged may vote
        try:
            return clone(member).fit(rows.frame, rows.labels)
        except Exception as error:
            got = f"{type(error).__name__}: {error} from {type(member).__name__}"
            raise ModelError(f"a member of the committee must fit the rows, got {got}") from error
