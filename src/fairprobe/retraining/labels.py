"""Labels of added inputs. The paper leaves them open and names one way: the majority of several classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.retraining.parts import unknown_label

if TYPE_CHECKING:
    import pandas as pd

NAMES: Final = ("vote", "mean", "given")

Labels = NDArray[Any]
Votes = Floats

Labeller = Callable[[Codes], Votes]
"""Gives the votes for each class, by member of each input's family, by input, and by class."""


def by_vote(members: Sequence[Any], domain: Domain, classes: Labels) -> Labeller:
    """Labels by a committee: the votes for a class are the number of members that give it."""
    askers = [Asker(member, domain) for member in members]

    def votes(codes: Codes) -> Votes:
        answers = [asker.ask_families(codes) for asker in askers]
        for asker, answer in zip(askers, answers, strict=True):
            _check_names(asker.adapter.name, answer, classes)
        return np.sum([answer[..., None] == classes for answer in answers], axis=0, dtype=np.float64)

    return votes


def by_mean(model: Any, domain: Domain, classes: Labels) -> Labeller:
    """Labels by the mean of the model's own output over the twins that exist: probabilities, scores or labels."""
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
        exists = present_members(domain, codes)[..., None]
        mean = np.where(exists, outputs, 0.0).sum(axis=0) / exists.sum(axis=0)
        return np.broadcast_to(mean, outputs.shape)

    return votes


def as_given(codes: Codes, labels: Labels, domain: Domain, classes: Labels) -> Labeller:
    """Labels that came with the cases, one for all members of a family."""
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
    """Labels by a function of the caller, which gets a frame of all members."""

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
    """Mask of the members of each input's family that no constraint forbids, by member and input."""
    present = domain.families.of(codes).present
    return np.ones((len(domain.families), len(codes)), dtype=bool) if present is None else present


def chosen(votes: Votes, classes: Labels, prior: Floats) -> Labels:
    """The class with the most votes, by input. Of classes that are level, the more common in the training rows."""
    level = votes >= votes.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(classes[np.where(level, prior, -1.0).argmax(axis=1)])


def check_choice(labels: Any, committee: Any) -> None:
    """Refuse a choice of labels, or a committee, that is none."""
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
    """Refuse fitted members that use other names for the labels."""
    for member in committee or ():
        named = getattr(member, "classes_", None)
        if named is not None:
            _check_names(type(member).__name__, np.asarray(named), classes)


def _check_names(who: str, got: Labels, classes: Labels) -> None:
    # np.unique would sort, which fails for a mixture of numbers and strings.
    wrong = unknown_label(dict.fromkeys(got.ravel().tolist()), classes.tolist())
    if wrong:
        raise DataError(f"a committee and its labels must use the names of y, {wrong} from {who}")
