"""Regions: the boxes that the rules of a domain leave, for a walk to start from instead of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.allowed import Part
from fairprobe.estimation.exact.axes import Slots, slots_of
from fairprobe.estimation.exact.solved import exact_dtype
from fairprobe.model.tables import UnfitError

if TYPE_CHECKING:
    from fairprobe.estimation.exact.trees import TreePlan

Weights = NDArray[Any]


@dataclass(frozen=True)
class Regions:
    """Boxes that do not overlap, within each of which the same members of a family are allowed; one at least is."""

    slots: Slots
    """Those of the axes and, as the last one, the number of the weight."""
    allowed: Mask
    """Mask of the allowed members by box, then by combination of sensitive values."""
    weights: Weights
    """The inputs that one family on the axes stands for: its allowed members, for all levels of untested parameters."""
    n_untested: int
    """Combinations of levels of the parameters that rules tie but no tree tests."""

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def sizes(self) -> Codes:
        """Number of members of a family, for each box."""
        return self.allowed.sum(axis=1)

    @property
    def most(self) -> int:
        """Inputs that all families at one place of the axes stand for, at most."""
        return self.n_untested * self.allowed.shape[1]

    def starts(self) -> list[tuple[Slots, Codes]]:
        """Boxes of families with two members at least, by their number, and the members of each."""
        groups = [np.flatnonzero(self.sizes == size) for size in np.unique(self.sizes[self.sizes > 1]).tolist()]
        return [(self.slots[rows], np.nonzero(self.allowed[rows])[1].reshape(len(rows), -1)) for rows in groups]


def make_regions(parts: Sequence[Part], space: TreePlan, n_combinations: int, max_boxes: int) -> Regions:
    """The boxes of all parts together."""
    atoms = [each for part in parts for each in part.atoms]
    n_untested = math.prod(each.n_levels for each in atoms if each.column not in space.parameters)
    dtype = exact_dtype(n_untested * n_combinations)
    slots, allowed = space.whole[None], np.ones((1, n_combinations), dtype=bool)
    weights: Weights = np.ones(1, dtype=dtype)
    for part in parts:
        places, mine, who, weighs = _projected(part, space, dtype)
        if len(slots) * len(mine) > max_boxes:
            raise too_many(max_boxes)
        one, other = np.repeat(np.arange(len(slots)), len(mine)), np.tile(np.arange(len(mine)), len(slots))
        both = allowed[one] & who[other]
        kept = both.any(axis=1)
        one, other = one[kept], other[kept]
        slots, allowed, weights = slots[one], both[kept], weights[one] * weighs[other]
        slots[:, places] = mine[other]
    different, number = np.unique(weights * allowed.sum(axis=1), return_inverse=True)
    return Regions(np.column_stack([slots, number.reshape(-1)]), allowed, different, n_untested)


def too_many(max_boxes: int) -> UnfitError:
    """The refusal of rules that leave too many boxes."""
    return UnfitError(f"the boxes that the constraints leave of the domain exceed the limit of {max_boxes:,}")


def _projected(part: Part, space: TreePlan, dtype: np.dtype[Any]) -> tuple[Codes, Slots, Mask, Weights]:
    """A part's boxes on the axes alone: the slots' places, the slots, who is allowed, and what the rest counts."""
    places, columns = [np.zeros(0, dtype=np.int64)], [np.zeros((len(part.boxes), 0), dtype=np.int64)]
    weights: Weights = np.ones(len(part.boxes), dtype=dtype)
    for atoms, mine in zip(part.atoms, part.boxes.T, strict=True):
        if atoms.column not in space.parameters:
            weights = weights * atoms.counts[mine]
            continue
        place = space.parameters.index(atoms.column)
        places.append(np.arange(space.slots[place].start, space.slots[place].stop))
        columns.append(slots_of(space.axes[place], atoms)[mine])
    slots = np.column_stack(columns)
    # Boxes that differ in untested parameters only are one.
    _, first, same = np.unique(np.column_stack([slots, part.allowed]), axis=0, return_index=True, return_inverse=True)
    total: Weights = np.zeros(len(first), dtype=dtype)
    np.add.at(total, same.reshape(-1), weights)
    return np.concatenate(places), slots[first], part.allowed[first], total
