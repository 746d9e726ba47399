"""The answers of a model, kept in a run for each shard, so that a shard that is judged again asks nothing.

Each call is known by a checksum of what was asked. If a shard now asks something else, its answers do not count.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.model.asking import Asker
from fairprobe.store.run_folder import StoredRun
from fairprobe.store.shard_file import answers_of, from_bytes, of_answers

Call = tuple[int, NDArray[Any]]
"""The checksum of what was asked, and the answers."""


class AnswerLog:
    """The calls of all shards that are kept under names with one prefix."""

    def __init__(self, run: StoredRun, prefix: str = "") -> None:
        self._run = run
        self._prefix = prefix

    def load(self, shard: int) -> list[Call] | None:
        """The calls of a shard; None if it is not finished."""
        data = self._run.read(self._name(shard))
        if data is None:
            return None
        content = from_bytes(data)
        ends = np.cumsum(content.arrays["n_rows"])
        return list(zip(content.arrays["asked"].tolist(), np.split(answers_of(content), ends[:-1]), strict=True))

    def save(self, shard: int, calls: Sequence[Call]) -> None:
        """Keep the calls of a finished shard."""
        if not calls:
            return
        asked, answers = zip(*calls, strict=True)
        n_rows = np.array(list(map(len, answers)))
        self._run.save(self._name(shard), of_answers(np.concatenate(answers), asked=np.array(asked), n_rows=n_rows))

    def _name(self, shard: int) -> str:
        return f"{self._prefix}{shard:06d}"


class NotKeptError(Exception):
    """Something is asked whose answer was not kept."""


@contextmanager
def recorded(asker: Asker) -> Iterator[list[Call]]:
    """Inside, all calls of an asker are added to the list that this gives."""
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
    """Inside, an asker gets the answers of these calls, in order; raises `NotKeptError` for any other call."""
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
