"""Labels of added inputs. The paper does not fix them; it suggests the majority vote of several classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.frames import as_pandas, is_array
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.known import kin
from fairprobe.retraining.fitting import is_fitted, is_model
from fairprobe.retraining.parts import LabelledRows, check_labels

if TYPE_CHECKING:
    from fairprobe.retraining.retraining import Task

NAMES: Final = ("vote", "mean", "given")

_SVM_ROWS: Final = 4000
"""Largest number of rows to which the committee's kernel machine is fitted; chosen: its time grows with their
square."""

NEAREST: Final = {
    **{kind: kind for kind in ("tree", "forest", "linear", "kernel", "network")},
    "boosting": "forest",
    "histogram-boosting": "forest",
    "libsvm": "kernel",
}
"""Kind of the committee member that is most similar to a model, by the model's kind; other kinds count as "vote"."""

Labels = NDArray[Any]
Votes = Floats

Labeller = Callable[[Codes], Votes]
"""Function that takes inputs as codes and returns votes by member of the family, then input, then class."""

FamilyLabels = dict[tuple[int, ...], Any]
"""Label of each family of cases, by the codes of its columns that are neither sensitive nor derived."""


def labeller_of(task: Task, reference: Any) -> Labeller:
    """Return the labeller (function from inputs to votes for classes) that the argument `labels` of `retrain` asks for.

    Unfitted members of a committee are fitted to the fit part.
    """
    its, domain, classes, rows = task.settings, task.domain, task.classes, task.parts.fit
    if its.labels == "mean":
        return by_mean(reference, domain, classes)
    if task.case_labels is not None:
        return as_given(task.case_labels, domain, classes)
    if callable(its.labels):
        # A function also sees the columns that the model does not take.
        return by_vote([its.labels], domain._but(hidden=()), classes, batch="frame")
    members = its.committee or other_kinds(domain, reference, len(rows), task.seed_of("committee") % 2**31)
    return by_vote(fitted_members(members, rows), domain, classes)


def by_vote(members: Sequence[Any], domain: Domain, classes: Labels, batch: str | None = None) -> Labeller:
    """Return a labeller by a committee of fitted models or functions: each member has one vote, for its own label."""
    askers = [Asker(member, domain, batch=batch) for member in members]

    def votes(codes: Codes) -> Votes:
        try:
            every = [marks(asker.ask_families(codes), classes, asker.adapter.name) for asker in askers]
        except ModelError as error:
            raise ModelError(f"labels must give one label a row: {error}") from error
        return np.asarray(np.sum(every, axis=0))

    return votes


def by_mean(model: Any, domain: Domain, classes: Labels) -> Labeller:
    """Return a labeller by the mean of the model's own outputs over the allowed twins, the same for every member.

    Outputs are probabilities, or else scores of two classes, or else labels.
    """
    can = adapter_for(model)
    # Scores of three or more classes have different scales, so their means cannot be compared.
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
        exists = domain.families.of(codes).allowed[..., None]
        mean = np.where(exists, outputs, 0.0).sum(axis=0) / exists.sum(axis=0)
        return np.broadcast_to(mean, outputs.shape)

    return votes


def as_given(labels: FamilyLabels, domain: Domain, classes: Labels) -> Labeller:
    """Return a labeller that gives all members of a family the label that came with its case; it refuses others."""

    def votes(codes: Codes) -> Votes:
        try:
            own = np.array([labels[family] for family in _families(domain, codes)])
        except KeyError:
            raise SettingError("labels='given' are known for the cases given alone, got another input") from None
        return np.tile(marks(own, classes, "the cases"), (len(domain.families), 1, 1))

    return votes


def _families(domain: Domain, codes: Codes) -> list[tuple[int, ...]]:
    """Return a key for the family of each input: the codes of its columns that are neither sensitive nor derived."""
    return list(map(tuple, codes[:, list(domain.free_columns)].tolist()))


def given_labels(domain: Domain, cases: Any, codes: Codes, y: Any) -> FamilyLabels:
    """Return the label of each family of cases, from their column with the name of y, or "label".

    Cases of one family with different labels are refused.
    """
    names = [name for name in (getattr(y, "name", None), "label") if name is not None]
    table: Any = {} if is_array(cases) else as_pandas(cases)
    column = next(filter(table.__contains__, names), None)
    if column is None:
        raise DataError(f"labels='given' needs cases with a column {' or '.join(map(repr, names))}, got none")
    labels: FamilyLabels = {}
    own = np.asarray(table[column]).tolist()
    for row, (family, label) in enumerate(zip(_families(domain, codes), own, strict=True)):
        if labels.setdefault(family, label) != label:
            raise DataError(
                f"labels='given' must name one label for a family, as cases that are equal in all but "
                f"{', '.join(domain.sensitive)}; got {label!r} in row {row:,} and {labels[family]!r} in another row"
            )
    return labels


def marks(labels: Labels, classes: Labels, who: str) -> Votes:
    """Return an array with a last axis by class: 1 for the class of each label, else 0. Unknown labels are refused."""
    # np.unique would sort, which fails for a mixture of numbers and strings.
    check_labels("labels", "must use the names of y", dict.fromkeys(labels.ravel().tolist()), classes, f" from {who}")
    return (labels[..., None] == classes).astype(np.float64)


def chosen(votes: Votes, classes: Labels, prior: Floats) -> Labels:
    """Return the class with the most votes by row; in a tie, the tied class most common in the training rows."""
    level = votes >= votes.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(classes[np.where(level, prior, -1.0).argmax(axis=1)])


def check_choice(labels: Any, committee: Any) -> None:
    """Raise a SettingError if the arguments `labels` and `committee` of `retrain` are invalid."""
    if not callable(labels) and not (isinstance(labels, str) and labels in NAMES):
        near = nearest(labels, NAMES)
        rule = f"must be one of {', '.join(NAMES)}, or a function of a frame, got {labels!r}{near}"
        raise SettingError.about("labels", rule)
    if committee is not None and labels != "vote":
        raise SettingError(f"a committee is for labels='vote', got labels={labels!r}")
    if committee is not None and (isinstance(committee, str) or not isinstance(committee, Sequence) or not committee):
        raise SettingError.about("committee", f"must be a list of models, got {committee!r:.80}")
    for member in committee or ():
        if not is_model(member):
            raise SettingError(f"a member of the committee must be a model, got {member!r:.80}")


def check_committee(committee: Sequence[Any] | None, classes: Labels) -> None:
    """Raise an error if a fitted member of the committee has classes that are not among the labels of y."""
    for member in committee or ():
        named = np.asarray(getattr(member, "classes_", ())).tolist()
        check_labels("committee", "must use the names of y", named, classes, f" from {type(member).__name__}")


# The committee


def other_kinds(domain: Domain, model: Any, n_rows: int, seed: int) -> list[Any]:
    """Return the default committee: five unfitted classifiers of the kinds of subjects other than the model's.

    Five votes cannot tie between two classes. The classifiers take frames with any columns: missing numbers are filled
    in, numbers are scaled, and every other column is encoded one-hot.
    """
    from sklearn import compose, ensemble, impute, neural_network, pipeline, preprocessing, svm, tree

    forest = ensemble.RandomForestClassifier(n_estimators=30, random_state=seed)
    one_tree = tree.DecisionTreeClassifier(random_state=seed)
    # A single bag is a random draw of as many rows as the kernel machine can take.
    few = {"n_estimators": 1, "max_samples": min(_SVM_ROWS, n_rows), "random_state": seed}
    classifiers = {
        "linear": svm.LinearSVC(random_state=seed),
        "kernel": ensemble.BaggingClassifier(svm.SVC(random_state=seed), **few),
        "network": neural_network.MLPClassifier((16,), max_iter=40, random_state=seed),
        "forest": forest,
        "tree": one_tree,
        "vote": ensemble.VotingClassifier([("forest", forest), ("tree", one_tree)], voting="hard"),
    }
    numeric = [parameter.name for parameter in domain.parameters if parameter.is_numeric]
    imputed = impute.SimpleImputer(keep_empty_features=True)
    scaled = pipeline.make_pipeline(imputed, preprocessing.StandardScaler())
    one_hot = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    listed = [name for name in domain.names if name not in numeric]
    columns = compose.make_column_transformer((scaled, numeric), (one_hot, listed))
    # The pipelines share their parts, so each must be cloned before it is fitted.
    own = kind_of(model)
    return [pipeline.make_pipeline(columns, each) for kind, each in classifiers.items() if kind != own]


def kind_of(model: Any) -> str:
    """Return the kind of committee member, such as "tree", that is most similar to a model; "vote" if unknown.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()), kind_of(len)
    ('tree', 'vote')
    """
    return NEAREST.get(kin(model) or "", "vote")


def fitted_members(members: Sequence[Any], rows: LabelledRows) -> list[Any]:
    """Return the members of a committee: those that are not fitted as clones fitted to rows, all others as they are."""
    from sklearn.base import clone

    fitted = []
    for member in members:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a member that has not converged may vote
                fitted.append(member if is_fitted(member) else clone(member).fit(rows.frame, rows.labels))
        except Exception as error:
            got = f"{type(error).__name__}: {error} from {type(member).__name__}"
            raise ModelError(f"a member of the committee must fit the rows, got {got}") from error
    return fitted
