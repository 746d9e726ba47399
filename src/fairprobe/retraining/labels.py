"""Labels of added inputs. The paper leaves them open and names one way: the majority of several classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.engine import Skipped, make_engine
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.known import kin
from fairprobe.retraining.parts import LabelledRows, unknown_label
from fairprobe.retraining.trainer import is_fitted

if TYPE_CHECKING:
    import pandas as pd

NAMES: Final = ("vote", "mean", "given")

Labels = NDArray[Any]
Votes = Floats

Labeller = Callable[[Codes], Votes]
"""For every member of each input's family and every class, how much speaks for it: by member, input and class."""


def make_labeller(
    labels: str | Callable[[Any], Any],
    committee: Sequence[Any] | None,
    model: Any,
    domain: Domain,
    rows: LabelledRows,
    given: tuple[Codes, Labels] | None,
    seed: int,
    classes: Labels | None = None,
    workers: tuple[int, str | None] = (1, None),
) -> Labeller:
    """The labeller asked for; a committee is fitted to the rows that models are fitted to, by the workers given.

    Given are cases and their labels, where `labels` says so.
    """
    classes = np.unique(rows.labels) if classes is None else classes
    if callable(labels):
        return by_function(labels, domain, classes)
    if labels == "mean":
        return by_mean(model, domain, classes)
    if given is not None:
        return as_given(*given, domain, classes)
    members = other_kinds(domain, model, len(rows), seed) if committee is None else committee
    return by_vote(fitted_members(members, rows, *workers), domain, classes)


def by_vote(members: Sequence[Any], domain: Domain, classes: Labels) -> Labeller:
    """A majority of classifiers: how many of them say so."""
    askers = [Asker(member, domain) for member in members]

    def votes(codes: Codes) -> Votes:
        answers = [asker.ask_families(codes) for asker in askers]
        for asker, answer in zip(askers, answers, strict=True):
            _check_names(asker.adapter.name, answer, classes)
        return np.sum([answer[..., None] == classes for answer in answers], axis=0, dtype=np.float64)

    return votes


def by_mean(model: Any, domain: Domain, classes: Labels) -> Labeller:
    """The model's own output, averaged over the twins that exist: probabilities, else scores, else labels."""
    can = adapter_for(model)
    # Scores of three classes have each a scale of their own: no mean of them tells which is the largest.
    output = "proba" if can.probabilities else "score" if can.scores and len(classes) == 2 else "label"
    asker = Asker(model, domain, output=output)
    known = np.asarray(classes if can.classes is None else can.classes).tolist()

    def votes(codes: Codes) -> Votes:
        outputs = asker.ask_families(codes)
        if output == "label":
            outputs = outputs[..., None] == classes
        else:
            outputs = np.stack([-outputs, outputs], axis=2) if outputs.ndim == 2 else outputs
            outputs = outputs[..., [known.index(label) for label in classes.tolist()]]
        exists = present_members(domain, codes)[..., None]
        mean = np.where(exists, outputs, 0.0).sum(axis=0) / exists.sum(axis=0)
        return np.broadcast_to(mean, outputs.shape)

    return votes


def as_given(codes: Codes, labels: Labels, domain: Domain, classes: Labels) -> Labeller:
    """Labels that came with the cases, for all members of a family."""
    _check_names("the cases", labels, classes)
    free = list(domain.free_columns)
    marks = (labels[:, None] == classes).astype(np.float64)
    by_case = dict(zip(map(tuple, codes[:, free].tolist()), marks, strict=True))

    def votes(codes: Codes) -> Votes:
        try:
            own = np.array([by_case[key] for key in map(tuple, codes[:, free].tolist())])
        except KeyError:
            raise SettingError("labels='given' are known for the cases given alone, got another input") from None
        return np.broadcast_to(own, (len(domain.families), *own.shape))

    return votes


def by_function(function: Callable[[pd.DataFrame], Any], domain: Domain, classes: Labels) -> Labeller:
    """What a function of the caller's says of every member; it gets a frame of inputs."""

    def votes(codes: Codes) -> Votes:
        members = domain.families.members(codes)
        try:
            labels = np.asarray(function(domain.decode(members)))
        except Exception as error:
            raise ModelError(f"labels must label a frame of inputs, got {type(error).__name__}: {error}") from error
        if labels.shape != (len(members),):
            raise ModelError(
                f"labels must give one label a row, got the shape {labels.shape} for {len(members):,} rows"
            )
        _check_names("labels", labels, classes)
        return (labels[:, None] == classes).astype(np.float64).reshape(-1, len(codes), len(classes))

    return votes


def present_members(domain: Domain, codes: Codes) -> Mask:
    """Which members of each input's family a constraint does not forbid: by member and input."""
    present = domain.families.of(codes).present
    return np.ones((len(domain.families), len(codes)), dtype=bool) if present is None else present


def chosen(votes: Votes, classes: Labels, prior: Floats) -> Labels:
    """The class that most speaks for, by input; where two are level, the one more common among the training rows."""
    level = votes >= votes.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(classes[np.where(level, prior, -1.0).argmax(axis=1)])


# The committee

_SVM_ROWS: Final = 4000
"""A kernel machine's time grows with the square of its rows; a vote does not need the last digit."""

NEAREST: Final = {"boosting": "forest", "histogram-boosting": "forest", "libsvm": "kernel"}
"""By kind of model that no member is of, the kind of a member."""


def kinds(domain: Domain, n_rows: int, seed: int) -> dict[str, Any]:
    """The kinds of classifier that the paper's subjects are, not fitted yet; they take frames, whatever the columns.

    Numbers are filled in and scaled, anything else gets a column for every value.
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
    classifiers = {
        "linear": LinearSVC(random_state=seed),
        # One bag is just a draw of rows that is no larger than the kernel machine can take.
        "kernel": BaggingClassifier(
            SVC(random_state=seed), n_estimators=1, max_samples=min(_SVM_ROWS, n_rows), random_state=seed
        ),
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
    # They share their parts: whoever fits one clones it first.
    return {kind: make_pipeline(columns, classifier) for kind, classifier in classifiers.items()}


def other_kinds(domain: Domain, model: Any, n_rows: int, seed: int) -> list[Any]:
    """The default committee, the five kinds that the model is not; an odd number, so that two classes do not tie."""
    return [member for kind, member in kinds(domain, n_rows, seed).items() if kind != kind_of(model)]


def kind_of(model: Any) -> str:
    """The kind that comes nearest to a model; what is none of them counts as a vote.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()), kind_of(len)
    ('tree', 'vote')
    """
    kind = kin(model) or ""
    return NEAREST.get(kind, kind if kind in ("tree", "forest", "linear", "kernel", "network") else "vote")


def fitted_members(members: Sequence[Any], rows: LabelledRows, n_jobs: int = 1, engine: str | None = None) -> list[Any]:
    """The members of a committee, each fitted as a shard of its own."""
    made = make_engine(partial(_fitted_member, list(members), rows), n_jobs, engine=engine, n_shards=len(members))
    try:
        fitted = list(made.results())
    finally:
        made.close()
    for result in fitted:
        if isinstance(result, Skipped):
            name = type(members[result.shard]).__name__
            raise ModelError(f"a member of the committee must fit the rows, got {result.words()} from {name}")
    return fitted


def _fitted_member(members: list[Any], rows: LabelledRows, shard: int, seconds: Any, report: Any) -> Any:
    return _fitted(members[shard], rows)


def _fitted(member: Any, rows: LabelledRows) -> Any:
    """A member as it is if it is fitted, else a clone of it, fitted."""
    if is_fitted(member):
        return member
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a vote needs no member that has converged
        try:
            return clone(member).fit(rows.frame, rows.labels)
        except Exception as error:
            name = type(member).__name__
            raise ModelError(
                f"a member of the committee must fit the rows, got {type(error).__name__}: {error} from {name}"
            ) from error


# What is refused


def check_choice(labels: Any, committee: Any) -> None:
    """Refuse what can't be."""
    if not callable(labels) and not (isinstance(labels, str) and labels in NAMES):
        raise SettingError.about(
            "labels", f"must be one of {', '.join(NAMES)}, or a function of a frame, got {labels!r}"
        )
    if committee is not None:
        if labels != "vote":
            raise SettingError(f"a committee is for labels='vote', got labels={labels!r}")
        if isinstance(committee, str) or not isinstance(committee, Sequence) or not committee:
            raise SettingError.about("committee", f"must be a list of models, got {committee!r:.80}")
        for member in committee:
            if isinstance(member, type) or not (callable(member) or callable(getattr(member, "predict", None))):
                raise SettingError(f"a member of the committee must be a model, got {member!r:.80}")


def check_committee(committee: Sequence[Any] | None, classes: Labels) -> None:
    """Refuse members that are known to use other names for the labels."""
    for member in committee or ():
        named = getattr(member, "classes_", None)
        if named is not None:
            _check_names(type(member).__name__, np.asarray(named), classes)


def _check_names(who: str, got: Labels, classes: Labels) -> None:
    # Not np.unique, which sorts: what is given may be a mixture of numbers and strings.
    wrong = unknown_label(dict.fromkeys(got.ravel().tolist()), classes.tolist())
    if wrong:
        raise DataError(f"a committee and its labels must use the names of y, {wrong} from {who}")
