"""The record that a share was counted from: the hits and, of real rows, the outputs for every member.

With it anybody can count again, without the model and without this library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.values import plain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RowAnswers:
    """Comparable real rows, in order: what the model said of each as every member of its family."""

    index: pd.Index
    places: Codes
    """Where they stand in the frame given, from 0 on: an index may have the same label for several rows."""
    members: tuple[str, ...]
    """The combinations of sensitive values, in words."""
    outputs: NDArray[Any]
    """The model's outputs by member, then row (then class)."""
    present: Mask
    """Mask of the members that are compared, by member, then row. Outputs of the others mean nothing."""
    second: NDArray[Any] | None = None
    """The outputs once more, where hits were asked about again: a hit is one each time."""

    def of_row(self, place: int, outputs: NDArray[Any] | None = None) -> list[Any]:
        """The outputs of a row by member; None for a member that is not compared."""
        said = self.outputs if outputs is None else outputs
        return [as_plain(said[member, place]) if self.present[member, place] else None for member in range(len(said))]

    @property
    def told_otherwise(self) -> list[int]:
        """The rows that were answered differently when asked again, be it in the last bits."""
        if self.second is None:
            return []
        other = np.asarray(self.second != self.outputs).reshape(*self.present.shape, -1).any(axis=2)
        return np.flatnonzero((other & self.present).any(axis=0)).tolist()


def joined_answers(parts: Sequence[RowAnswers]) -> RowAnswers:
    """Batches put together, in order."""
    index = parts[0].index
    seconds = [part.outputs if part.second is None else part.second for part in parts]
    return RowAnswers(
        index.append([part.index for part in parts[1:]]) if len(parts) > 1 else index,
        np.concatenate([part.places for part in parts]),
        parts[0].members,
        np.concatenate([part.outputs for part in parts], axis=1),
        np.concatenate([part.present for part in parts], axis=1),
        None if all(part.second is None for part in parts) else np.concatenate(seconds, axis=1),
    )


@dataclass(frozen=True)
class Record:
    """The inputs that the hits and n of a share were counted from."""

    parts: tuple[tuple[NDArray[np.uint8], int], ...]
    """For each batch, the bits of the hits among the comparable inputs, in order, and the number of these inputs."""
    rows: RowAnswers | None = None
    """The answers about real rows, where all sensitive parameters change."""

    @property
    def hits(self) -> Mask:
        """Mask of the hits among the comparable inputs, in the order in which they were judged."""
        masks = [np.unpackbits(bits, count=n).astype(bool) for bits, n in self.parts]
        return np.concatenate(masks) if masks else np.zeros(0, dtype=bool)


def as_plain(output: Any) -> Any:
    """A model's output as a plain value; probabilities as a tuple."""
    return tuple(output.tolist()) if getattr(output, "ndim", 0) else plain(output)
