"""Labels of added inputs. The paper leaves them open and names one way: the majority of several classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.adapters import abilities_of
from fairprobe.model.asking import Asker
from fairprobe.retrain import committee as default
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.trainer import is_fitted

if TYPE_CHECKING:
    import pandas as pd

NAMES: Final = ("vote", "mean", "given")

Labels = NDArray[Any]
Votes = Floats


class Labeller(Protocol):
    """Says what inputs and their families are to be labelled."""

    def votes(self, codes: Codes) -> Votes:
        """For every member of each family and every class, how much speaks for it: by member, input and class."""


class Vote:
    """A majority of classifiers."""

    def __init__(self, members: Sequence[Any], domain: Domain, classes: Labels) -> None:
        self._askers = [Asker(member, domain) for member in members]
        self._classes = classes

    def votes(self, codes: Codes) -> Votes:
        """How many members of the committee say so."""
        answers = [asker.ask_families(codes) for asker in self._askers]
        for asker, answer in zip(self._askers, answers, strict=True):
            _check_names(asker.adapter.name, answer, self._classes)
        return np.sum([answer[..., None] == self._classes for answer in answers], axis=0, dtype=np.float64)


class Mean:
    """The model's own output, averaged over the twins: probabilities, else scores, else labels."""

    def __init__(self, model: Any, domain: Domain, classes: Labels) -> None:
        can = abilities_of(model)
        output = "proba" if can.probabilities else "score" if can.scores and len(classes) == 2 else "label"
        self._asker = Asker(model, domain, output=output)
        self._domain = domain
        self._classes = classes
        self._known = np.asarray(classes if can.classes is None else can.classes).tolist()

    def votes(self, codes: Codes) -> Votes:
        """The mean over the twins that exist, the same for all members of a family."""
        outputs = self._asker.ask_families(codes)
        if self._asker.output == "label":
            outputs = outputs[..., None] == self._classes
        else:
            outputs = np.stack([-outputs, outputs], axis=2) if outputs.ndim == 2 else outputs
            outputs = outputs[..., [self._known.index(label) for label in self._classes.tolist()]]
        exists = np.ones((*outputs.shape[:2], 1), dtype=bool)
        present = self._domain.families.of(codes).present
        if present is not None:
            exists = present[..., None]
        mean = np.where(exists, outputs, 0.0).sum(axis=0) / exists.sum(axis=0)
        return np.broadcast_to(mean, outputs.shape)


class Given:
    """Labels that came with the cases."""

    def __init__(self, codes: Codes, labels: Labels, domain: Domain, classes: Labels) -> None:
        _check_names("the cases", labels, classes)
        self._free = list(domain.free_columns)
        self._n_members = len(domain.families)
        keys = map(tuple, codes[:, self._free].tolist())
        self._votes = dict(zip(keys, (labels[:, None] == classes).astype(np.float64), strict=True))

    def votes(self, codes: Codes) -> Votes:
        """The label given, for all members of a family."""
        try:
            votes = np.array([self._votes[key] for key in map(tuple, codes[:, self._free].tolist())])
        except KeyError:
            raise SettingError("labels='given' are known for the cases given alone, got another input") from None
        return np.broadcast_to(votes, (self._n_members, *votes.shape))


class Called:
    """Labels by a function of the caller's, which gets a frame of inputs."""

    def __init__(self, function: Callable[[pd.DataFrame], Any], domain: Domain, classes: Labels) -> None:
        self._function = function
        self._domain = domain
        self._classes = classes

    def votes(self, codes: Codes) -> Votes:
        """What the function says of every member."""
        members = self._domain.families.members(codes)
        try:
            labels = np.asarray(self._function(self._domain.decode(members)))
        except Exception as error:
            raise ModelError(f"labels must label a frame of inputs, got {type(error).__name__}: {error}") from error
        if labels.shape != (len(members),):
            raise ModelError(
                f"labels must give one label a row, got the shape {labels.shape} for {len(members):,} rows"
            )
        _check_names("labels", labels, self._classes)
        return (labels[:, None] == self._classes).astype(np.float64).reshape(-1, len(codes), len(self._classes))


def make_labeller(
    labels: str | Callable[[Any], Any],
    committee: Sequence[Any] | None,
    model: Any,
    domain: Domain,
    rows: Rows,
    given: tuple[Codes, Labels | None] | None,
    seed: int,
    classes: Labels | None = None,
) -> Labeller:
    """The labeller asked for; a committee is fitted to the rows that models are fitted to."""
    classes = np.unique(rows.labels) if classes is None else classes
    if callable(labels):
        return Called(labels, domain, classes)
    if labels == "mean":
        return Mean(model, domain, classes)
    if labels == "given":
        assert given is not None
        assert given[1] is not None
        return Given(given[0], given[1], domain, classes)
    members = default.others(domain, model, len(rows), seed) if committee is None else committee
    return Vote([_fitted(member, rows) for member in members], domain, classes)


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


def chosen(votes: Votes, classes: Labels, prior: Floats) -> Labels:
    """The class that most speaks for, by input; where two are level, the one more common among the training rows."""
    level = votes >= votes.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(classes[np.where(level, prior, -1.0).argmax(axis=1)])


def _fitted(member: Any, rows: Rows) -> Any:
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


def _check_names(who: str, got: Labels, classes: Labels) -> None:
    known = classes.tolist()
    # Not np.unique, which sorts: what is given may be a mixture of numbers and strings.
    unknown = [label for label in dict.fromkeys(got.ravel().tolist()) if label not in known]
    if unknown:
        names = ", ".join(map(repr, known))
        raise DataError(f"a committee and its labels must use the names of y, {names}; got {unknown[0]!r} from {who}")
