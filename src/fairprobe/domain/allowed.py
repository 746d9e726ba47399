"""Which inputs rules allow, as a table of states: counted exactly, sampled without rejection, checked by look-up.

Rules tie some parameters together: a block. A block is walked parameter by parameter; a state is what is left of its
rules once the values so far are put into them. Two ways there that leave the same are one state, so that rules which
compare parameters with constants make a handful of states, however many inputs there are. In each step the values of
the parameter that lead everywhere to the same states are one atom (capital-gain: 0, above 0).

Rules allow a union of boxes, each a set of levels of every free parameter. Where rules name sensitive parameters too,
these are put in first: what is left for the different sensitive values is walked side by side, so that within a box the
same members of every family are allowed.

Where a block would take too many states (a comparison of two wide numbers), it is sampled by rejection, alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.expressions import (
    Constant,
    Formula,
    Name,
    Operand,
    Operation,
    as_operand,
    evaluate,
    leaves_of,
    names_in,
    operand,
    substitute,
)
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain_or_none

MOST_LEVELS = 4_000_000
"""Levels of a parameter that tables list one by one; chosen. A larger parameter is cut at the constants in rules."""

MOST_STATES = 20_000
MOST_ENTRIES = 20_000_000
"""States of a step, and entries of its table; chosen: a table of 20 million entries takes 160 MB."""

DEAD = -1

State = tuple[frozenset[Formula] | None, ...]
"""The rules that are left for each case, None if one is broken. Several cases are followed at the same time."""


class TooManyError(Exception):
    """A table would need too many states or values."""


@dataclass(frozen=True)
class Variable:
    """A parameter in cells: runs of levels that no rule separates. Rules see the value of a cell's first level."""

    column: int
    n_levels: int
    starts: Codes
    """The first level of each cell."""
    operands: Mapping[str, Operand]
    """The value at each first level, by the name of the parameter and of those derived from it."""

    @property
    def sizes(self) -> Codes:
        """How many levels each cell has."""
        return np.diff(self.starts, append=self.n_levels)

    def cells(self, codes: Codes) -> Codes:
        """The cell of each code."""
        if len(self.starts) == self.n_levels:
            return codes
        return np.searchsorted(self.starts, codes, side="right") - 1

    def value(self, cell: int) -> dict[str, Any]:
        """The values at a cell by name; None where missing."""
        return {name: plain_or_none(values[cell]) for name, values in self.operands.items()}


def make_variable(
    column: int, parameter: Parameter, derived: Mapping[str, Sequence[Any]], rules: Sequence[Formula]
) -> Variable:
    """The variable of a parameter; `derived` has, by name, the derived values for its levels."""
    n = parameter.levels
    if n <= MOST_LEVELS:
        starts = np.arange(n)
    else:
        if derived or not hasattr(parameter, "step"):
            raise TooManyError
        starts = _cut(
            parameter, [leaf for rule in rules for leaf in leaves_of(rule) if parameter.name in names_in(leaf)]
        )
    operands: dict[str, Operand] = {parameter.name: operand(parameter, starts)}
    for name, values in derived.items():
        operands[name] = as_operand(values)
    return Variable(column, n, starts, operands)


def _cut(parameter: Parameter, leaves: Sequence[Operation]) -> Codes:
    """First levels of cells: single levels next to each constant, and the runs between, where rules cannot differ."""
    constants: list[float] = []
    for leaf in leaves:
        left, right = leaf.parts
        if not isinstance(left, Name) or not isinstance(right, Constant):
            raise TooManyError
        value = right.value
        constants += value if isinstance(value, tuple) else [] if value is None else [value]
    n_values = parameter.levels - parameter.missing
    low, step = parameter.low, parameter.step  # type: ignore[attr-defined]  # so many values only a grid has
    near = np.rint((np.array(constants) - low) / step).clip(-3, n_values + 2).astype(np.int64)
    starts = (near[:, None] + np.arange(-1, 3)).ravel()
    starts = np.unique(np.concatenate([[0], starts[(starts >= 0) & (starts < n_values)]]))
    return np.append(starts, n_values) if parameter.missing else starts


@dataclass(frozen=True)
class _Step:
    """One parameter of a block: where its atoms lead from each state."""

    variable: Variable
    atom: Codes
    """The atom of each cell."""
    table: Codes
    """The next state, by state and atom; the last state, before and behind, is that of broken rules."""

    @cached_property
    def weights(self) -> list[int]:
        """How many levels each atom has."""
        weights = np.zeros(self.table.shape[1], dtype=np.int64)
        np.add.at(weights, self.atom, self.variable.sizes)
        return [int(weight) for weight in weights]

    @cached_property
    def order(self) -> tuple[Codes, Codes, Codes]:
        """The cells by atom, where each ends if levels are counted in that order, and where each atom begins."""
        cells = np.argsort(self.atom, kind="stable")
        ends = np.cumsum(self.variable.sizes[cells])
        return cells, ends, np.concatenate([[0], np.cumsum(self.weights)])[:-1]

    def draw(self, atoms: Codes, rng: np.random.Generator) -> Codes:
        """A level of each atom, uniformly."""
        cells, ends, firsts = self.order
        place = firsts[atoms] + rng.integers(0, np.array(self.weights)[atoms])
        which = np.searchsorted(ends, place, side="right")
        return self.variable.starts[cells[which]] + place - (ends[which] - self.variable.sizes[cells[which]])


class Block:
    """Parameters that rules tie together, as a table of states."""

    def __init__(self, variables: Sequence[Variable], start: State) -> None:
        self.columns = [variable.column for variable in variables]
        self.steps: list[_Step] = []
        states: list[State] = [start]
        for variable in variables:
            step, states = _step(variable, states)
            self.steps.append(step)
        self._known_ends: dict[tuple[int, int], NDArray[Any]] = {}
        self.ends: list[State] = [*states, (None,) * len(start)]
        """The states after the last step: no rule is left, or one is broken."""
        self._alive: Mask = np.array([any(case is not None for case in end) for end in self.ends])

    # For one case: all rules at once

    @cached_property
    def counts(self) -> list[list[int]]:
        """By step, then state: the number of ways onwards that break no rule."""
        counts: list[list[int]] = [self._alive.astype(int).tolist()]
        for step in reversed(self.steps):
            ways = [[w * counts[0][to] for w, to in zip(step.weights, row, strict=True)] for row in step.table.tolist()]
            counts.insert(0, [*map(sum, ways)])
        return counts

    @property
    def n(self) -> int:
        """How many combinations of the block's values are allowed."""
        return self.counts[0][0]

    def allows(self, codes: Codes) -> Mask:
        """Boolean mask of the inputs that the block's rules allow."""
        return self._alive.take(self.end(codes))

    def end(self, codes: Codes) -> Codes:
        """The number of the end that each input reaches; the number of ends itself if all cases are broken."""
        state = np.zeros(len(codes), dtype=np.int64)
        for step in self.steps:
            state *= step.table.shape[1]
            state += step.atom.take(step.variable.cells(codes[:, step.variable.column]))
            state = step.table.take(state)
        return state

    def sample(self, codes: Codes, rng: np.random.Generator) -> None:
        """Write allowed values into the block's columns, every combination with the same chance."""
        if not len(codes):
            return
        state = np.zeros(len(codes), dtype=np.int64)
        for place, step in enumerate(self.steps):
            atoms = np.empty(len(codes), dtype=np.int64)
            order = np.argsort(state, kind="stable")
            states, firsts = np.unique(state[order], return_index=True)
            for each, rows in zip(states.tolist(), np.split(order, firsts[1:]), strict=True):
                ends = self._ends(place, each)
                is_exact = ends.dtype.kind == "i"
                draws = rng.integers(0, ends[-1], size=len(rows)) if is_exact else rng.random(len(rows))
                atoms[rows] = np.searchsorted(ends, draws, side="right")
            codes[:, step.variable.column] = step.draw(atoms, rng)
            state = step.table[state, atoms]

    def _ends(self, place: int, state: int) -> NDArray[Any]:
        """Where the ways of each atom end, if all from this state are numbered; as fractions if a word is too short."""
        if (place, state) not in self._known_ends:
            step, after = self.steps[place], self.counts[place + 1]
            ways = [w * after[to] for w, to in zip(step.weights, step.table[state].tolist(), strict=True)]
            ends = list(itertools.accumulate(ways))
            exact = ends[-1] < 2**63
            self._known_ends[place, state] = np.array(ends if exact else [end / ends[-1] for end in ends])
        return self._known_ends[place, state]

    # For many cases: the ways through the table

    def ways(self, most: int) -> tuple[list[Mask], Codes, Codes]:
        """All ways that do not break the rules in every case: values that lead to the same state go together.

        Returns for each step its sets of atoms; by way, then step, the number of the set; and by way its end.

        Raises:
            TooManyError: there are more than `most`.
        """
        onwards = self._alive.astype(np.float64)
        edges: list[_Edges] = []
        for step in reversed(self.steps):
            edges.insert(0, _edges(step.table, onwards))
            onwards = edges[0].onwards
        if onwards[0] > most:
            raise TooManyError
        state = np.zeros(int(min(onwards[0], 1)), dtype=np.int64)
        chosen = np.zeros((len(state), 0), dtype=np.int64)
        for step_edges in edges:
            firsts, ends = (np.searchsorted(step_edges.source, state, side=side) for side in ("left", "right"))
            way = np.repeat(np.arange(len(state)), ends - firsts)
            edge = np.arange(len(way)) - np.repeat(np.cumsum(ends - firsts) - ends, ends - firsts)
            chosen, state = np.column_stack([chosen[way], edge]), step_edges.target[edge]
        return [each.atoms for each in edges], chosen, state


class _Edges(NamedTuple):
    """The ways from the states before a step to those behind it, in the order of the states that they begin at."""

    atoms: Mask
    """Boolean mask by way, then atom: the atoms that take the way."""
    source: Codes
    target: Codes
    onwards: Floats
    """The number of whole ways to the end from each state."""


def _edges(table: Codes, onwards: Floats) -> _Edges:
    source, atom = np.nonzero(onwards[table] > 0)
    ways, numbers = np.unique(source * len(onwards) + table[source, atom], return_inverse=True)
    if len(ways) * table.shape[1] > MOST_ENTRIES:
        raise TooManyError
    atoms = np.zeros((len(ways), table.shape[1]), dtype=bool)
    atoms[numbers.reshape(-1), atom] = True
    source, target = np.divmod(ways, len(onwards))
    total = np.bincount(source, weights=onwards[target], minlength=len(table)).astype(np.float64)
    return _Edges(atoms, source, target, total)


def _step(variable: Variable, states: Sequence[State]) -> tuple[_Step, list[State]]:
    """The step of a variable, and the states that follow it."""
    n_cells = len(variable.starts)
    if len(states) * n_cells > MOST_ENTRIES:
        raise TooManyError
    number: dict[State, int] = {}
    rows, atom = [], np.zeros(n_cells, dtype=np.int64)
    for state in states:
        group, targets = _ways(variable, state)
        reached = [DEAD if all(rules is None for rules in to) else number.setdefault(to, len(number)) for to in targets]
        if len(number) > MOST_STATES:
            raise TooManyError
        rows.append(np.array(reached)[group])
        atom = np.unique(atom * len(targets) + group, return_inverse=True)[1].reshape(-1)
    first = np.unique(atom, return_index=True)[1]
    table = np.stack([*rows, np.full(n_cells, DEAD)])[:, first]
    table[table == DEAD] = len(number)
    return _Step(variable, atom, table), list(number)


def _ways(variable: Variable, state: State) -> tuple[Codes, list[State]]:
    """The values in groups that lead to the same state, and these states."""
    n_cells, mine = len(variable.starts), variable.operands.keys()
    rules = {rule for case in state if case is not None for rule in case if names_in(rule) & mine}
    leaves = dict.fromkeys(leaf for rule in rules for leaf in leaves_of(rule) if names_in(leaf) & mine)
    group = np.zeros(n_cells, dtype=np.int64)
    truths: dict[Operation, Mask] = {}
    for leaf in leaves:
        if names_in(leaf) <= mine:
            truths[leaf] = evaluate(leaf, variable.operands, n_cells)
            group = group * 2 + truths[leaf]
            if len(truths) % 40 == 0:  # before the numbers of groups outgrow a word
                group = np.unique(group, return_inverse=True)[1].reshape(-1)
    if len(truths) < len(leaves):
        # A value is compared with one that comes later: what is left hangs on the very value.
        if n_cells < variable.n_levels or n_cells > MOST_STATES:
            raise TooManyError
        group = np.arange(n_cells)
    firsts, group = np.unique(group, return_index=True, return_inverse=True)[1:]
    # In the order of the values: that of the leaves is chance's, as rules are sets, and a seed must give the same.
    order = np.argsort(firsts)
    targets = []
    for cell in firsts[order].tolist():
        known = {leaf: bool(truth[cell]) for leaf, truth in truths.items()}
        values = variable.value(cell)
        targets.append(tuple(_left(case, rules, values, known) for case in state))
    return np.argsort(order)[group.reshape(-1)], targets


def _left(
    case: frozenset[Formula] | None, rules: set[Formula], values: Mapping[str, Any], known: Mapping[Operation, bool]
) -> frozenset[Formula] | None:
    """What is left of a case's rules; None if one is broken."""
    if case is None:
        return None
    left = set(case - rules)
    for rule in case & rules:
        rest = substitute(rule, values, known)
        if rest is False:
            return None
        if rest is not True:
            left.add(rest)
    return frozenset(left)


# Boxes of allowed inputs


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
    holds = np.array([[case is not None for case in end] for end in rest.ends])
    allowed = holds[ends][:, first.end(combinations)]
    atoms = [_atoms(step.variable, step.atom, mine) for step, mine in zip(rest.steps, sets, strict=True)]
    return Part(tuple(atoms), boxes, allowed)


def _atoms(variable: Variable, atom: NDArray[np.int64], sets: Mask) -> Atoms:
    is_new = np.concatenate([[True], atom[1:] != atom[:-1]])
    return Atoms(variable.column, variable.n_levels, variable.starts[is_new], atom[is_new], sets)
