"""The good outcome: the word given for it is read here alone, before the work; and who is denied it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

Reading = Callable[[Any, Iterable[Any]], tuple[Any] | None]
"""From a word to the outcome meant, in a tuple."""

ENDS = ("lowest", "highest")
"""The outcomes of numbers. Of probabilities they are about the last class."""

MOST_LOOKED_AT = 100_000
"""Inputs of a domain that are looked at for an outcome before it counts as never seen; chosen. Of rows, all are."""


@dataclass(frozen=True)
class Favourable:
    """The good outcome of a model."""

    word: Any
    """As its users call it: a label, a class or an end."""
    column: Any
    """By which a table of outcomes knows it."""
    is_label: bool = False
    is_low: bool = False
    """Whether the lower number is the better one."""
    place: int | None = None
    """The class whose probability or score is meant, where there are classes."""
    n_queries: int = field(default=0, compare=False)
    """Rows that the model was asked about to see it: they are not among those of a share."""

    @property
    def is_class(self) -> bool:
        """Whether it is a class by its name, no end."""
        return self.place is not None and self.word == self.column

    @property
    def in_explanations(self) -> Any:
        """The word as an explanation takes it: of more than two classes a class alone, so None for the lowest."""
        if self.place is None or self.place < 2 or self.is_class:
            return self.word
        return None if self.is_low else self.column

    def worse_off(self, outcomes: pd.DataFrame | None) -> str | None:
        """The combination that gets it least often; None if two are level."""
        if outcomes is None:
            return None
        asked = outcomes[outcomes.sum(axis=1) > 0]
        if self.column not in asked.columns or len(asked) < 2:
            return None  # none of the hits gets it: all are level
        rates = asked[self.column] / asked.sum(axis=1)
        rates = (-rates if self.is_low and self.place is not None else rates).sort_values()
        return None if rates.iloc[0] == rates.iloc[1] else str(rates.index[0])

    def denied(self, outputs: NDArray[Any], present: Mask, place: int, above: float) -> Mask:
        """By input, whether another member gets an output that is better than this member's by more than `above`."""
        good = self._goodness(outputs)
        others = np.where(present, good, -np.inf)
        others[place] = -np.inf
        return np.asarray(present[place] & (others.max(axis=0) - good[place] > above))

    def _goodness(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """By member, then input: a number that is higher where the output is better."""
        if self.is_label:
            return np.asarray(outputs == self.word).astype(np.float64)
        numbers = outputs if self.place is None else outputs[..., self.place]
        return -numbers if self.is_low else numbers


def favourable_of(word: Any, targets: Sequence[Population], *, as_text: bool = False) -> Favourable | None:
    """The good outcome that a word stands for, made sure of; None for None.

    A model that tells its classes is not asked. Of any other, inputs of the populations are looked at, few first, until
    one of their members gets the outcome; one that is never seen is refused. With `as_text`, the word is the text of an
    outcome, as "1" is of 1; otherwise it must be the outcome itself.
    """
    if word is None or isinstance(word, Favourable):
        return word
    before = [target.oracle.asker.n_queries for target in targets]
    found = _found(word, targets, match if as_text else meant)
    n_queries = 0
    for target, n in zip(targets, before, strict=True):
        n_queries += target.oracle.asker.n_queries - n
        target.oracle.asker.n_queries = n
    return replace(found, n_queries=n_queries)


def _found(word: Any, targets: Sequence[Population], read: Reading) -> Favourable:
    classes = classes_of(targets[0].model)
    if targets[0].oracle.asker.output != "label":
        return _of_numbers(word, read, targets[0], classes)
    rule, known = "be an outcome of the model", classes or []
    if classes is None:
        rule, known = "be an outcome that was seen", []
        for known in _seen(targets):
            if read(word, known) is not None:
                break
    found = read(word, known)
    if found is None:
        raise _refused(word, rule, known)
    return Favourable(found[0], found[0], is_label=True)


def favourable_in(
    word: Any, model: Any, domain: Domain, rows: Any, *, as_text: bool = False, **asked: Any
) -> Favourable | None:
    """The good outcome of a model on rows, where there are some, and in the domain; see `favourable_of`.

    The other arguments are `output`, `threshold` and `batch`, as in `estimate`.
    """
    populations = [] if word is None else [each for each in (rows, "domain") if each is not None]
    return favourable_of(word, [Population(model, domain, each, **asked) for each in populations], as_text=as_text)


def classes_of(model: Any) -> list[Any] | None:
    """The model's classes, in order; None if it does not tell them."""
    classes = adapter_for(model).classes
    return np.asarray(classes).tolist() if classes is not None and np.ndim(classes) == 1 else None


def named_outcomes(outcomes: pd.DataFrame | None, classes: Sequence[Any] | None) -> pd.DataFrame | None:
    """A table of outcomes with the names of classes, which the oracle knows by their place."""
    if outcomes is None or classes is None or {*outcomes.columns} & {*ENDS}:
        return outcomes
    return outcomes.rename(columns=dict(enumerate(classes)))


def _of_numbers(word: Any, read: Reading, target: Population, classes: list[Any] | None) -> Favourable:
    """An end, or a class of probabilities or scores; where a class has the name of an end, the class is meant."""
    output, n_classes = target.oracle.asker.output, 0
    if output == "proba" and classes is not None:
        n_classes = len(classes)
    elif output == "proba" or (output == "score" and (classes is None or len(classes) > 2)):
        first = next(_answers([target]))
        n_classes = first.shape[1] if first.ndim == 2 else 0
    names = classes if classes is not None and len(classes) == n_classes else list(range(n_classes))
    found = read(word, names)
    if found is not None:
        return Favourable(found[0], found[0], place=names.index(found[0]))
    end = read(word, ENDS)
    if end is None:
        raise _refused(word, "be an outcome of the model", [*names, *ENDS])
    last = n_classes - 1 if n_classes else None
    return Favourable(end[0], end[0] if last is None else names[last], is_low=end[0] == "lowest", place=last)


def _seen(targets: Sequence[Population]) -> Iterator[list[Any]]:
    """The labels seen so far, batch after batch."""
    import pandas as pd

    labels: dict[Any, None] = {}
    for answers in _answers(targets):
        labels |= dict.fromkeys(plain(label) for label in pd.unique(answers))
        yield sorted(labels, key=lambda label: (str(type(label)), label))


def _answers(targets: Sequence[Population]) -> Iterator[NDArray[Any]]:
    """What the model says of all members of inputs: of few, then of all rows or of very many inputs drawn."""
    for target in targets:
        first = next(target.parts(FEW, 0)) if target.rows is None else target.rows.iloc[:FEW]
        for part in chain([first], target.parts(MOST_LOOKED_AT, 0)):
            batch = target.judged(part)
            everyone = np.ones(batch.outputs.shape[:2], dtype=bool)
            yield batch.outputs[everyone if batch.present is None else batch.present]


def _refused(word: Any, rule: str, known: Iterable[Any]) -> SettingError:
    named = ", ".join(map(repr, known))
    return SettingError.about("favourable", f"must {rule}, one of {named}; got {word!r}{nearest(word, known)}")


def meant(word: Any, outcomes: Iterable[Any]) -> tuple[Any] | None:
    """The outcome that a word is, in a tuple, as it may be a false one; truth values are no numbers, nor texts."""
    word = plain(word)
    alike = (each for each in outcomes if isinstance(each, bool) == isinstance(word, bool) and bool(each == word))
    return next(((outcome,) for outcome in alike), None)


def match(text: str, outcomes: Iterable[Any]) -> tuple[Any] | None:
    """The outcome that a text stands for, in a tuple, as it may be a false one; None if there is none.

    >>> match("1", [0, 1]), match("true", [False, True]), match("1", [0.0, 1.0]), match("yes", ["no"])
    ((1,), (True,), (1.0,), None)
    """
    for reading in (str, lambda outcome: str(outcome).lower(), _as_number):
        wanted = reading(text)
        found = [outcome for outcome in outcomes if wanted is not None and reading(outcome) == wanted]
        if len(found) == 1:
            return (found[0],)
    return None


def _as_number(outcome: Any) -> float | None:
    try:
        return None if isinstance(outcome, bool) else float(outcome)
    except (TypeError, ValueError):
        return None
