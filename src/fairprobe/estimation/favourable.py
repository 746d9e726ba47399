"""The favourable outcome of a model: the reading of the user's word for it, and the search for who is denied it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.checks import nearest
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.errors import SettingError
from fairprobe.estimation.populations import FEW, Population
from fairprobe.model.adapters import adapter_for

if TYPE_CHECKING:
    import pandas as pd

ENDS = ("lowest", "highest")
"""Words that name the better end of numeric outputs; for probabilities they refer to that of the last class."""

MOST_LOOKED_AT = 100_000
"""Largest number of drawn inputs that a model is asked about to see an outcome; chosen. Of real rows, all are used."""

MOST_TOLD = 10
"""Largest number of outcomes that an error message lists; chosen."""


@dataclass(frozen=True)
class Favourable:
    """The favourable outcome of a model: a label, a class, or an end of numeric outputs ("lowest" or "highest")."""

    word: Any
    """The favourable outcome itself: a label, a class, or a word of `ENDS`."""
    column: Any
    """Column of the outcome in a table of outcomes such as `Share.outcomes`."""
    is_label: bool = False
    is_low: bool = False
    """True if a lower output (score, probability or value) is the better one."""
    place: int | None = None
    """Position of the class whose probability or score is meant; None if outputs are not by class."""
    n_queries: int = field(default=0, compare=False)
    """Number of rows that the model was asked about before it gave the outcome; they count in no share."""

    @property
    def label(self) -> Any:
        """The label or class that is favourable; None for a word of `ENDS`."""
        return self.word if self.is_label or (self.place is not None and self.word == self.column) else None

    def worse_off(self, outcomes: pd.DataFrame | None) -> str | None:
        """Return the combination of sensitive values that gets the outcome least often; None in a tie.

        `outcomes` is a table as in `Share.outcomes`: combinations by outcomes.
        """
        if outcomes is None:
            return None
        asked = outcomes[outcomes.sum(axis=1) > 0]
        if self.column not in asked.columns or len(asked) < 2:
            return None  # none of the hits gets it: all are level
        rates = asked[self.column] / asked.sum(axis=1)
        rates = (-rates if self.is_low and self.place is not None else rates).sort_values()
        return None if rates.iloc[0] == rates.iloc[1] else str(rates.index[0])

    def denied(self, outputs: NDArray[Any], present: Mask, place: int, above: float) -> Mask:
        """Return a mask of inputs: True if another member's output is better than that of the member at `place`.

        It must be better by more than `above`, and the member at `place` must exist.
        """
        good = self._goodness(outputs)
        others = np.where(present, good, -np.inf)
        others[place] = -np.inf
        return np.asarray(present[place] & (others.max(axis=0) - good[place] > above))

    def got(self, outputs: NDArray[Any]) -> Mask:
        """Return a boolean mask by member of the family, then input: True where the output is the favourable outcome.

        Of outputs with a number for each class, the class with the highest number is compared.
        """
        if self.is_label:
            return np.asarray(outputs == self.word)
        return np.asarray((outputs.argmax(axis=-1) == self.place) != self.is_low)

    def worst(self, outputs: NDArray[Any], present: Mask | None) -> NDArray[Any]:
        """Return a number for each input: how good the worst output is that the input or one of its twins gets.

        It is higher for a better output.
        """
        good = self._goodness(outputs)
        return np.asarray(good.min(axis=0) if present is None else np.where(present, good, np.inf).min(axis=0))

    def _goodness(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return, by member, then input, how good the output is: a number, higher for a better output."""
        if self.is_label:
            return np.asarray(outputs == self.word).astype(np.float64)
        numbers = outputs if self.place is None else outputs[..., self.place]
        return -numbers if self.is_low else numbers


def read_favourable(
    word: Any,
    model: Any,
    output: str,
    outputs: Iterable[NDArray[Any]] = (),
    *,
    as_text: bool = False,
) -> Favourable | None:
    """Return the favourable outcome that a user's word names for a model; None for None.

    Args:
        word: a label, a class or an end; a `Favourable` is given back as it is.
        model: its classes are taken from it where it tells them.
        output: "label", "score", "proba" or "value".
        outputs: batches of the model's outputs. They are read only for a model that does not state its classes, until
            the outcome is among them.
        as_text: the word is the text of an outcome, as "1" is of 1; otherwise it must be the outcome itself.
    """
    if word is None or isinstance(word, Favourable):
        return word
    classes = classes_of(model)
    if output != "label":
        return _of_numbers(word, output, classes, outputs, as_text)
    known: Sequence[Any] = []
    for known in _seen(outputs) if classes is None else [classes]:
        for label in _matching(word, known, as_text):
            return Favourable(label, label, is_label=True)
    raise _refused(word, f"be an outcome {'that was seen' if classes is None else 'of the model'}", known)


def favourable_of(word: Any, targets: Sequence[Population], *, as_text: bool = False) -> Favourable | None:
    """Return the favourable outcome that a user's word names, for the model and output of some populations.

    None for None; a `Favourable` is returned as it is. If the model does not state its classes, inputs of the
    populations are judged, first `FEW` of each, until a member gets the outcome; an outcome that is never seen is
    refused.
    """
    if word is None or isinstance(word, Favourable):
        return word
    askers = [target.asker for target in targets]
    before = [asker.n_queries for asker in askers]
    found = read_favourable(word, targets[0].model, askers[0].output, _answers(targets), as_text=as_text)
    n_queries = sum(asker.n_queries for asker in askers) - sum(before)
    for asker, n in zip(askers, before, strict=True):
        asker.n_queries = n
    return None if found is None else replace(found, n_queries=n_queries)


def favourable_in(
    word: Any, model: Any, domain: Domain, rows: Any, *, as_text: bool = False, **asked: Any
) -> Favourable | None:
    """Return the favourable outcome that a user's word names for a model, looked for in rows (or None) and the domain.

    The other arguments are `output`, `threshold` and `batch`, as in `estimate`.
    """
    populations = [] if word is None else [each for each in (rows, "domain") if each is not None]
    targets = [Population(model, domain, each, may_lack=True, **asked) for each in populations]
    return favourable_of(word, targets, as_text=as_text)


def favourable_label(word: Any, labels: Sequence[Any], *, as_text: bool = False) -> Any:
    """Return the label, among those given, that a user's word names; refuse a word that names none."""
    word = word.label if isinstance(word, Favourable) else word
    for label in _matching(word, labels, as_text):
        return label
    raise _refused(word, "be a label of the rows", labels)


def classes_of(model: Any) -> list[Any] | None:
    """Return a list of the model's classes, in the model's order; None if it does not state them."""
    classes = adapter_for(model).classes
    return np.asarray(classes).tolist() if classes is not None and np.ndim(classes) == 1 else None


def named_outcomes(outcomes: pd.DataFrame | None, classes: Sequence[Any] | None) -> pd.DataFrame | None:
    """Return a table of outcomes with the classes' names as columns, in place of their positions; None for None."""
    if outcomes is None or classes is None or {*outcomes.columns} & {*ENDS}:
        return outcomes
    return outcomes.rename(columns=dict(enumerate(classes)))


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Return the distinct labels in a list, sorted by type, then by value."""
    return sorted({plain(label) for label in labels}, key=lambda label: (str(type(label)), label))


def _of_numbers(
    word: Any, output: str, classes: list[Any] | None, outputs: Iterable[NDArray[Any]], as_text: bool
) -> Favourable:
    """Return the favourable outcome of numeric outputs that a word names: a class, or a word of `ENDS`.

    If a class has the name of an end, the class is meant.
    """
    n = 0
    if output == "proba" and classes is not None:
        n = len(classes)
    elif output == "proba" or (output == "score" and (classes is None or len(classes) > 2)):
        first = next(iter(outputs))
        n = first.shape[1] if first.ndim == 2 else 0
    names = classes if classes is not None and len(classes) == n else list(range(n))
    for name in _matching(word, names, as_text):
        return Favourable(name, name, place=names.index(name))
    for end in _matching(word, ENDS, as_text):
        return Favourable(end, names[-1] if n else end, is_low=end == "lowest", place=n - 1 if n else None)
    raise _refused(word, "be an outcome of the model", [*names, *ENDS])


def _seen(outputs: Iterable[NDArray[Any]]) -> Iterator[list[Any]]:
    """Yield, after each batch of outputs, the list of all labels that the model has given so far."""
    import pandas as pd

    labels: set[Any] = set()
    for answers in outputs:
        labels |= {plain(label) for label in pd.unique(answers)}
        yield in_order(labels)


def _answers(targets: Sequence[Population]) -> Iterator[NDArray[Any]]:
    """Yield the model's outputs for all members of batches of inputs, for each population.

    The first batch has `FEW` inputs; then follow all rows, or `MOST_LOOKED_AT` drawn inputs.
    """
    for target in targets:
        first = next(target.parts(FEW, 0)) if target.rows is None else target.rows.iloc[:FEW]
        for part in chain([first], target.parts(MOST_LOOKED_AT, 0)):
            batch = target.judged(part)
            everyone = np.ones(batch.outputs.shape[:2], dtype=bool)
            yield batch.outputs[everyone if batch.present is None else batch.present]


def _refused(word: Any, rule: str, known: Sequence[Any]) -> SettingError:
    named = ", ".join(map(repr, known[:MOST_TOLD])) + " ..." * (len(known) > MOST_TOLD)
    return SettingError.about("favourable", f"must {rule}, one of {named}; got {word!r}{nearest(word, known)}")


def _matching(word: Any, outcomes: Iterable[Any], as_text: bool) -> list[Any]:
    """Return a list with the one outcome that a word names; empty if it names none, or (as text) more than one.

    Truth values are neither numbers nor texts.

    >>> _matching("1", [0, 1], True), _matching("true", [False, True], True), _matching("1", [0.0, 1.0], True)
    ([1], [True], [1.0])
    >>> _matching(1, [False, True], False), _matching("yes", ["no"], True)
    ([], [])
    """
    outcomes, word = list(outcomes), plain(word)
    if not as_text:
        return [each for each in outcomes if isinstance(each, bool) == isinstance(word, bool) and bool(each == word)][
            :1
        ]
    for reading in (str, lambda outcome: str(outcome).lower(), _as_number):
        wanted = reading(word)
        found = [outcome for outcome in outcomes if wanted is not None and reading(outcome) == wanted]
        if len(found) == 1:
            return found
    return []


def _as_number(outcome: Any) -> float | None:
    try:
        return None if isinstance(outcome, bool) else float(outcome)
    except (TypeError, ValueError):
        return None
