"""What a model said, call by call, kept in a run: asked the same again in the same order, it need not be.

For work that asks in one order that follows from its settings, as an estimate does. Each call is known by a checksum of
what was asked: where another is made than before, as when a last batch becomes larger with the limit, the log ends.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.clock import now
from fairprobe.model.asking import Asker
from fairprobe.store.run_folder import StoredRun
from fairprobe.store.shard_file import ShardContent, from_bytes

MOST_ROWS, MOST_SECONDS = 100_000, 1.0
"""Answers are written when there are so many, or when the first of them is so old: what a kill may lose."""

Call = tuple[int, NDArray[Any]]
"""The checksum of what was asked, and the answers."""


class AnswerLog:
    """The calls of one asker, in those shards of a run whose names begin with a prefix."""

    def __init__(self, run: StoredRun, prefix: str = "") -> None:
        self._run = run
        self._prefix = prefix
        self._n_shards = 0
        """Shards that were read or written."""
        self._ahead: deque[Call] = deque()
        """Calls of before, of the shard read last, that were not made again yet,"""
        self._made: list[Call] = []
        """and those that were."""
        self._new: list[Call] = []
        """Calls to be written."""
        self._since = 0.0

    @contextmanager
    def written(self) -> Iterator[None]:
        """Whatever happens inside, all is written in the end."""
        try:
            yield
        finally:
            self._write()

    @contextmanager
    def recalling(self, asker: Asker) -> Iterator[None]:
        """The same for what is worth it: `NotTold` if the first call inside was not made before."""
        is_begun = False

        def answering(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            ask = self._remembering(function)

            def ask_if_begun(batch: Any) -> Any:
                nonlocal is_begun
                if not is_begun and not self._knows(checksum(batch)):
                    raise NotTold
                is_begun = True
                return ask(batch)

            return ask_if_begun

        with _asking_by(asker, answering):
            yield

    def take(self, calls: Iterable[Call]) -> None:
        """Calls that others have made, in the order in which they would have been made here."""
        if not self._new:
            self._since = now()
        self._new.extend(calls)

    def flush(self) -> None:
        """Write what is due. Not while the model is asked: what fails here is no failure of the model."""
        n_rows = sum(len(answers) for _, answers in self._new)
        if n_rows >= MOST_ROWS or (n_rows and now() - self._since >= MOST_SECONDS):
            self._write()

    def _remembering(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(batch: Any) -> Any:
            asked = checksum(batch)
            answers = self._recalled(asked)
            if answers is None:
                answers = function(batch)
                if not self._new:
                    self._since = now()
                self._new.append((asked, np.asarray(answers)))
            return answers

        return ask

    def _recalled(self, asked: int) -> NDArray[Any] | None:
        if not self._knows(asked):
            return None
        self._made.append(self._ahead.popleft())
        return self._made[-1][1]

    def _knows(self, asked: int) -> bool:
        """Whether that was the next call of before."""
        if not self._ahead and not self._new:
            data = self._run.read(self._name(self._n_shards))
            if data is not None:
                self._ahead, self._made = deque(_calls(from_bytes(data))), []
                self._n_shards += 1
        if self._ahead and self._ahead[0][0] != asked:
            self._forget()
        return bool(self._ahead)

    def _forget(self) -> None:
        """Another call is made than before: the shard read last is written anew, up to here."""
        self._n_shards -= 1
        self._new, self._made, self._ahead, self._since = self._made, [], deque(), now()

    def _write(self) -> None:
        if not self._new:
            return
        answers = np.concatenate([each for _, each in self._new])
        columns = [answers] if answers.ndim == 1 else list(answers.T)
        content = ShardContent(
            {f"answer {place}": column for place, column in enumerate(columns)},
            {"asked": np.array([asked for asked, _ in self._new]), "n_rows": np.array([len(a) for _, a in self._new])},
            {"ndim": answers.ndim},
        )
        self._run.save(self._name(self._n_shards), content)
        self._n_shards += 1
        self._new = []

    def _name(self, shard: int) -> str:
        return f"{self._prefix}{shard:06d}"


class NotTold(BaseException):
    """What is asked was not asked before. No Exception: that would count as a failure of the model."""


@contextmanager
def recorded(asker: Asker) -> Iterator[list[Call]]:
    """Inside, what an asker asks and is told is written down."""
    calls: list[Call] = []

    def noting(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(batch: Any) -> Any:
            answers = function(batch)
            calls.append((checksum(batch), np.asarray(answers)))
            return answers

        return ask

    with _asking_by(asker, noting):
        yield calls


@contextmanager
def _asking_by(asker: Asker, made: Callable[[Callable[[Any], Any]], Callable[[Any], Any]]) -> Iterator[None]:
    """Inside, an asker asks by what is made of its functions."""
    before = asker.function, asker.careful
    asker.function, asker.careful = map(made, before)
    try:
        yield
    finally:
        asker.function, asker.careful = before


def _calls(content: ShardContent) -> Iterator[Call]:
    columns = list(content.columns.values())
    answers = columns[0] if content.about["ndim"] == 1 else np.column_stack(columns)
    ends = np.cumsum(content.arrays["n_rows"])
    return zip(content.arrays["asked"].tolist(), np.split(answers, ends[:-1]), strict=True)


def checksum(batch: Any) -> int:
    """Of what a model is asked."""
    import pandas as pd

    if isinstance(batch, pd.DataFrame):
        batch = pd.util.hash_pandas_object(batch, index=False).to_numpy()
    array = np.ascontiguousarray(batch)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return zlib.crc32(data, len(array))
