"""The default committee: the kinds of classifier that the paper's subjects are, fitted to the user's own rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fairprobe.domain.domain import Domain
from fairprobe.model.known import kin

_SVM_ROWS: Final = 4000
"""A kernel machine's time grows with the square of its rows; a vote does not need the last digit."""


def kinds(domain: Domain, seed: int) -> dict[str, Callable[[], Any]]:
    """Makes of each kind, not fitted yet; they take frames, whatever the columns are."""
    from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    def forest() -> Any:
        return RandomForestClassifier(n_estimators=30, random_state=seed)

    def tree() -> Any:
        return DecisionTreeClassifier(random_state=seed)

    def svm() -> Any:
        # One bag is just a draw of rows that is no larger than the kernel machine can take.
        return BaggingClassifier(SVC(random_state=seed), n_estimators=1, max_samples=_SVM_ROWS, random_state=seed)

    makers: dict[str, Callable[[], Any]] = {
        "linear": lambda: LinearSVC(random_state=seed),
        "svm": svm,
        "mlp": lambda: MLPClassifier((16,), max_iter=40, random_state=seed),
        "forest": forest,
        "tree": tree,
        "vote": lambda: VotingClassifier([("forest", forest()), ("tree", tree())], voting="hard"),
    }
    return {kind: _on_frames(domain, make) for kind, make in makers.items()}


def others(domain: Domain, model: Any, n_rows: int, seed: int) -> list[Any]:
    """The five kinds that the model is not; an odd number, so that two classes do not tie."""
    makers = kinds(domain, seed)
    makers.pop(kind_of(model))
    made = [make() for make in makers.values()]
    for member in made:
        _fit_size(member, n_rows)
    return made


def kind_of(model: Any) -> str:
    """The kind that comes nearest to a model; what is none of them counts as a vote.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()), kind_of(len)
    ('tree', 'vote')
    """
    return NEAREST.get(kin(model) or "", "vote")


NEAREST: Final = {
    "tree": "tree",
    "forest": "forest",
    "boosting": "forest",
    "histogram-boosting": "forest",
    "linear": "linear",
    "kernel": "svm",
    "libsvm": "svm",
    "network": "mlp",
}
"""By kind of model, the kind of a member."""


def _on_frames(domain: Domain, make: Callable[[], Any]) -> Callable[[], Any]:
    """Numbers are filled in and scaled, anything else gets a column for every value."""

    def made() -> Any:
        from sklearn.compose import make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        numeric = [parameter.name for parameter in domain.parameters if parameter.is_numeric]
        listed = [parameter.name for parameter in domain.parameters if not parameter.is_numeric]
        scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        columns = make_column_transformer(
            (scaled, numeric), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), listed)
        )
        return make_pipeline(columns, make())

    return made


def _fit_size(member: Any, n_rows: int) -> None:
    """No draw is larger than the rows there are."""
    last = member.steps[-1][1]
    if hasattr(last, "max_samples") and isinstance(last.max_samples, int):
        last.set_params(max_samples=min(last.max_samples, n_rows))
