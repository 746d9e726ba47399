"""Stored answers of a model in a run: to the rows of each shard (part of a run), and to the canaries.

A shard that is judged again with stored answers sends no query. Each call is recognised by a checksum of its input. If
a shard now asks another question, its stored answers are not used.

Canaries detect a changed model: they are inputs that are asked about when a run begins, is resumed and ends. A model
that is given as the name of a function or as an address can only be identified by its answers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.errors import RunError
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import differ, tolerance
from fairprobe.store.digests import canary_answers
from fairprobe.store.run_folder import BEGIN_ANEW, StoredRun, unusable
from fairprobe.store.shard_file import answers_of, from_bytes, of_answers

if TYPE_CHECKING:
    import pandas as pd

Call = tuple[int, NDArray[Any]]
"""One call of a model: a checksum of the batch sent, and the answers."""

NAME = "canaries"
"""Name of the file with the answers to the canaries (inputs that detect a changed model) in a run folder."""


class AnswerLog:
    """The stored model calls of a run's shards. Their files' names begin with `prefix`."""

    def __init__(self, run: StoredRun, prefix: str = "") -> None:
        self._run = run
        self._prefix = prefix

    def load(self, shard: int) -> list[Call] | None:
        """Return the stored model calls of a shard (part of a run), in order; None if there are none."""
        data = self._run.read(f"{self._prefix}{shard:06d}")
        if data is None:
            return None
        content = from_bytes(data)
        ends = np.cumsum(content.arrays["n_rows"])
        return list(zip(content.arrays["asked"].tolist(), np.split(answers_of(content), ends[:-1]), strict=True))

    def save(self, shard: int, calls: Sequence[Call]) -> None:
        """Store the model calls of a finished shard (part of a run)."""
        if not calls:
            return
        asked, answers = zip(*calls, strict=True)
        n_rows = np.array(list(map(len, answers)))
        content = of_answers(np.concatenate(answers), asked=np.array(asked), n_rows=n_rows)
        self._run.save(f"{self._prefix}{shard:06d}", content)


class NotKeptError(Exception):
    """The error that a batch is asked about for which no answer is stored."""


@contextmanager
def recorded(asker: Asker) -> Iterator[list[Call]]:
    """Within the context, record all model calls of an asker in the list that is yielded."""
    calls: list[Call] = []

    def recording(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(batch: Any) -> Any:
            answers = function(batch)
            calls.append((_checksum(batch), np.asarray(answers)))
            return answers

        return ask

    with _replaced(asker, recording):
        yield calls


@contextmanager
def recalled(asker: Asker, calls: Sequence[Call]) -> Iterator[None]:
    """Within the context, answer an asker's model calls from a list of stored calls instead of by the model.

    The calls must come in the stored order with equal batches; others raise a `NotKeptError`.
    """
    left, is_other = iter(calls), False

    def ask(batch: Any) -> NDArray[Any]:
        nonlocal is_other
        asked, answers = next(left, (None, np.empty(0)))
        is_other |= asked != _checksum(batch)
        if is_other:
            raise NotKeptError
        return answers

    try:
        with _replaced(asker, lambda _: ask):
            yield
    except Exception:
        if is_other:  # the asker has made a failure of the model of it
            raise NotKeptError from None
        raise


@contextmanager
def _replaced(asker: Asker, made: Callable[[Callable[[Any], Any]], Callable[[Any], Any]]) -> Iterator[None]:
    before = asker.function, asker.careful
    asker.function, asker.careful = map(made, before)
    try:
        yield
    finally:
        asker.function, asker.careful = before


def _checksum(batch: Any) -> int:
    import pandas as pd

    if isinstance(batch, pd.DataFrame):
        batch = pd.util.hash_pandas_object(batch, index=False).to_numpy()
    array = np.ascontiguousarray(batch)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return zlib.crc32(data, len(array))


class Canaries:
    """The canaries of a run: inputs whose answers, stored at its beginning, detect a changed model."""

    def __init__(self, run: StoredRun, asker: Asker, rows: pd.DataFrame | None = None, resolution: float = 0.0) -> None:
        self._run = run
        self._asker = copy(asker)  # it counts its own queries
        self._rows = rows
        self._resolution = resolution
        before = run.read(NAME)
        if before is not None:
            content = from_bytes(before)
            self._answers, self._repeats = answers_of(content), content.arrays["repeats"]
            n = self._n_other()
            if n:
                gave = f"whose model gave another output for {n:,} of {len(self._repeats):,} canary inputs"
                raise unusable(f"must be a run of the same model, got {run.path}, {gave}: {BEGIN_ANEW}")
            return
        if run.entries:
            got = f"got finished shards without them: {run.path}"
            why = "nothing tells whether the model is still the one of these shards"
            raise unusable(f"must have the canaries that it was begun with, {got}; {why}: {BEGIN_ANEW}")
        self._answers, second = self._ask(), self._ask()
        # Where a model does not repeat itself, another answer shows nothing.
        self._repeats = ~self._differ(self._answers, second)
        run.save(NAME, of_answers(self._answers, repeats=self._repeats))

    def check(self) -> None:
        """Raise a RunError if the model answers the canaries differently than at the beginning of the run."""
        n = self._n_other()
        if n:
            self._run.note(is_changed=True)
            got = f"got another output for {n:,} of {len(self._repeats):,} canary inputs"
            when = f"than when {self._run.path} was begun"
            raise RunError(f"a model must stay the same during a run, {got} {when}: {BEGIN_ANEW}")

    def _ask(self) -> NDArray[Any]:
        with self._asker.quiet():
            return canary_answers(self._asker, self._rows)[0]

    def _n_other(self) -> int:
        answers = self._ask()
        if answers.shape != self._answers.shape:
            return len(self._repeats)
        return int((self._differ(self._answers, answers) & self._repeats).sum())

    def _differ(self, first: NDArray[Any], second: NDArray[Any]) -> Mask:
        return differ(first, second, 0.0 if self._asker.output == "label" else tolerance(first, self._resolution))
