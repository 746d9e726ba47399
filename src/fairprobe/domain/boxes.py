"""Boxes of allowed inputs, for counting inputs without looking at each.

Rules that tie parameters together allow a union of boxes, each a set of levels of every free parameter of theirs. Where
they name sensitive parameters too, these are put in first: what is left for the different sensitive values is walked
side by side, so that within a box the same members of every family are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.allowed import Block
from fairprobe.domain.expressions import Formula
from fairprobe.domain.variables import Variable


@dataclass(frozen=True)
class Atoms:
    """A parameter's levels in atoms, which no rule separates, and some sets of atoms."""

    column: int
    n_levels: int
    starts: Codes
    """Where a run of levels of one atom begins."""
    atom: Codes
    """The atom of each run."""
    sets: Mask
    """Boolean mask by set, then atom."""

    def of(self, levels: Codes) -> Codes:
        """The atom of each level."""
        return self.atom[np.searchsorted(self.starts, levels, side="right") - 1]

    @cached_property
    def counts(self) -> Codes:
        """The number of levels in each set."""
        sizes = np.zeros(self.sets.shape[1], dtype=np.int64)
        np.add.at(sizes, self.atom, np.diff(self.starts, append=self.n_levels))
        return np.asarray(self.sets @ sizes)


@dataclass(frozen=True)
class Part:
    """The inputs that one block of rules allows, as boxes that do not overlap."""

    atoms: tuple[Atoms, ...]
    """The atoms of each free parameter in the block."""
    boxes: Codes
    """The number of the parameter's set, by box, then parameter."""
    allowed: Mask
    """Boolean mask by box, then combination of sensitive values; at least one in each box is allowed."""


def make_part(
    variables: Sequence[Variable], rules: Sequence[Formula], sensitive: Sequence[int], combinations: Codes, most: int
) -> Part:
    """The boxes of rules over some parameters; `combinations` are of all sensitive values, as codes of inputs."""
    first = Block([variable for variable in variables if variable.column in sensitive], (frozenset(rules),))
    cases = tuple(end[0] for end in first.ends)
    rest = Block([variable for variable in variables if variable.column not in sensitive], cases)
    sets, boxes, ends = rest.ways(most)
    # The last one is the case that is broken by the sensitive values alone.
    holds = np.array([[case is not None for case in end] + [False] for end in rest.ends], dtype=bool)
    allowed = holds.reshape(len(rest.ends), len(cases) + 1)[ends][:, first.end(combinations)]
    atoms = [_atoms(step.variable, step.atom, mine) for step, mine in zip(rest.steps, sets, strict=True)]
    return Part(tuple(atoms), boxes, allowed)


def _atoms(variable: Variable, atom: NDArray[np.int64], sets: Mask) -> Atoms:
    is_new = np.concatenate([[True], atom[1:] != atom[:-1]])
    return Atoms(variable.column, variable.n_levels, variable.starts[is_new], atom[is_new], sets)
