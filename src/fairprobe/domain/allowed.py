"""Tables that count the inputs that rules (constraints) allow, draw them without rejection, and check by look-up.

Rules tie some parameters together: a block. A block is walked parameter by parameter. A state is the set of rules that
remain once the values chosen so far are put into them. Two ways with the same remaining rules reach one state, so rules
that compare parameters with constants need only a handful of states, however many inputs there are. In each step, the
values of a parameter that lead to the same next state from every state form one atom (capital-gain: 0, above 0).

A block that needs too many states (a comparison of two wide numbers) is sampled by rejection instead, alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.derived import Derived
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
"""Largest number of levels of a parameter that are tabulated one by one; chosen. A larger parameter is cut at the
constants in rules."""

MOST_STATES = 20_000
"""Largest number of states (sets of rules that remain) after one step of a table of allowed inputs; chosen."""
MOST_ENTRIES = 20_000_000
"""Largest number of entries in one step of a table of allowed inputs; chosen: 20 million entries take 160 MB."""

DEAD = -1
"""Number that stands, while a table is built, for the state in which a rule is broken."""

State = frozenset[Formula]
"""The rules that remain after some parameters got values."""


class TooManyError(Exception):
    """The error that the inputs that rules allow cannot be tabulated: there are too many states, boxes or values."""


@dataclass(frozen=True)
class Variable:
    """A parameter divided into cells: runs of levels within which no rule changes its value.

    Rules are evaluated at the first level of each cell.
    """

    column: int
    n_levels: int
    starts: Codes
    """The first level of each cell (run of a parameter's levels that no rule tells apart), in increasing order."""
    operands: Mapping[str, Operand]
    """The values at the first levels of the cells, as rules compare them, by name of the parameter or of one derived
    from it."""

    @property
    def sizes(self) -> Codes:
        """Return the number of levels in each cell (run of a parameter's levels that no rule tells apart)."""
        return np.diff(self.starts, append=self.n_levels)

    def cells(self, codes: Codes) -> Codes:
        """Return, for codes of a parameter, the number of the cell (run of levels that no rule tells apart) of each."""
        if len(self.starts) == self.n_levels:
            return codes
        return np.searchsorted(self.starts, codes, side="right") - 1

    def value(self, cell: int) -> dict[str, Any]:
        """Return the values at a cell's first level, by name of the parameter or a derived one; None if missing."""
        return {name: plain_or_none(values[cell]) for name, values in self.operands.items()}


def make_variable(column: int, parameters: Sequence[Parameter], rules: Sequence[Formula]) -> Variable:
    """Return the parameter at position `column` as a `Variable`: its levels divided into cells.

    Within a cell no rule changes its value. With at most `MOST_LEVELS` levels each level is a cell; a larger parameter
    is cut at the constants in `rules`, which are those about the parameter and about the ones derived from it.
    """
    parameter = parameters[column]
    named = frozenset().union(*map(names_in, rules))
    derived = [p for p in parameters if isinstance(p, Derived) and p.source == parameter.name and p.name in named]
    starts = np.arange(parameter.levels) if parameter.levels <= MOST_LEVELS else _cut(parameter, rules, bool(derived))
    operands = {parameter.name: operand(parameter, starts)} | {each.name: as_operand(each.by_code) for each in derived}
    return Variable(column, parameter.levels, starts, operands)


def _cut(parameter: Any, rules: Sequence[Formula], has_derived: bool) -> Codes:
    """Return the first level of each cell of a parameter with too many levels to tabulate.

    Constants in rules cut the levels, so that rules cannot differ within a cell.
    """
    if has_derived or not hasattr(parameter, "step"):
        raise TooManyError
    constants: list[float] = []
    for leaf in (leaf for rule in rules for leaf in leaves_of(rule) if parameter.name in names_in(leaf)):
        left, right = leaf.parts
        if not isinstance(left, Name) or not isinstance(right, Constant):
            raise TooManyError
        values = right.value if isinstance(right.value, tuple) else [right.value]
        constants += [value for value in values if value is not None]
    n_values = parameter.levels - parameter.missing
    near = np.rint((np.array(constants) - parameter.low) / parameter.step).clip(-3, n_values + 2).astype(np.int64)
    starts = (near[:, None] + np.arange(-1, 3)).ravel()
    starts = np.unique(np.concatenate([[0], starts[(starts >= 0) & (starts < n_values)]]))
    return np.append(starts, n_values) if parameter.missing else starts


@dataclass(frozen=True)
class Step:
    """One parameter's part of a table: its atoms (groups of cells), and the next state by state and atom."""

    variable: Variable
    atom: Codes
    """The number of the atom that each cell of the parameter belongs to. Cells of one atom lead to the same next state
    from every state."""
    table: Codes
    """The number of the next state (set of rules that remain), by state, then atom. The last state is that of broken
    rules, both before and after the step."""

    def of(self, levels: Codes) -> Codes:
        """Return the number of the atom (group of levels that no rule tells apart) of each of the given levels."""
        return self.atom.take(self.variable.cells(levels))

    @cached_property
    def weights(self) -> list[int]:
        """Return the number of a parameter's levels in each atom (group of levels that no rule tells apart)."""
        weights = np.zeros(self.table.shape[1], dtype=np.int64)
        np.add.at(weights, self.atom, self.variable.sizes)
        return [int(weight) for weight in weights]

    @cached_property
    def order(self) -> tuple[Codes, Codes, Codes]:
        """Return three arrays for drawing a level of an atom (group of levels that no rule tells apart).

        They are the cells sorted by atom, the cumulative number of levels at the end of each sorted cell, and the
        number of levels before each atom.
        """
        cells = np.argsort(self.atom, kind="stable")
        ends = np.cumsum(self.variable.sizes[cells])
        return cells, ends, np.concatenate([[0], np.cumsum(self.weights)])[:-1]

    def draw(self, atoms: Codes, rng: np.random.Generator) -> Codes:
        """Draw one level uniformly from each of the given atoms (groups of levels that no rule tells apart)."""
        cells, ends, firsts = self.order
        place = firsts[atoms] + rng.integers(0, np.array(self.weights)[atoms])
        which = np.searchsorted(ends, place, side="right")
        return self.variable.starts[cells[which]] + place - (ends[which] - self.variable.sizes[cells[which]])


class Block:
    """Parameters that rules tie together, as a table of states that counts, draws and checks their allowed values."""

    def __init__(self, variables: Sequence[Variable], start: State) -> None:
        self.columns = [variable.column for variable in variables]
        self.steps: list[Step] = []
        states: list[State] = [start]
        for variable in variables:
            step, states = _step(variable, states)
            self.steps.append(step)
        self._known_ends: dict[tuple[int, int], NDArray[Any]] = {}
        self._alive: Mask = np.arange(len(states) + 1) < len(states)
        """Boolean mask of the states after the last step: False for the last one, that of broken rules."""

    @cached_property
    def counts(self) -> list[list[int]]:
        """By step, then state before it, the number of ways to give the block's remaining parameters allowed values.

        A state is the set of rules that remain. The last list is for the ends: 1 for each allowed one, else 0.
        """
        counts: list[list[int]] = [self._alive.astype(int).tolist()]
        for step in reversed(self.steps):
            ways = [[w * counts[0][to] for w, to in zip(step.weights, row, strict=True)] for row in step.table.tolist()]
            counts.insert(0, [*map(sum, ways)])
        return counts

    def allows(self, codes: Codes) -> Mask:
        """Return a boolean mask of the inputs, given as codes: True where all rules on this block's parameters hold."""
        state = np.zeros(len(codes), dtype=np.int64)
        for step in self.steps:
            state *= step.table.shape[1]
            state += step.of(codes[:, step.variable.column])
            state = step.table.take(state)
        return self._alive.take(state)

    def sample(self, codes: Codes, rng: np.random.Generator) -> None:
        """Fill the block's columns of `codes` in place with allowed values.

        Every allowed combination of values is equally likely.
        """
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
        """Return the cumulative numbers of allowed combinations by atom, from one state before the step at `place`.

        They are fractions of the total if the total does not fit into 64 bits.
        """
        if (place, state) not in self._known_ends:
            step, after = self.steps[place], self.counts[place + 1]
            ways = [w * after[to] for w, to in zip(step.weights, step.table[state].tolist(), strict=True)]
            ends = list(itertools.accumulate(ways))
            exact = ends[-1] < 2**63
            self._known_ends[place, state] = np.array(ends if exact else [end / ends[-1] for end in ends])
        return self._known_ends[place, state]


def _step(variable: Variable, states: Sequence[State]) -> tuple[Step, list[State]]:
    """Return a parameter's part of a table, made for the states before it, and the list of states after it.

    Raise a TooManyError for more than `MOST_ENTRIES` entries or `MOST_STATES` states.
    """
    n_cells = len(variable.starts)
    if len(states) * n_cells > MOST_ENTRIES:
        raise TooManyError
    number: dict[State, int] = {}
    rows, atom = [], np.zeros(n_cells, dtype=np.int64)
    for state in states:
        group, targets = _ways(variable, state)
        reached = [DEAD if to is None else number.setdefault(to, len(number)) for to in targets]
        if len(number) > MOST_STATES:
            raise TooManyError
        rows.append(np.array(reached)[group])
        atom = np.unique(atom * len(targets) + group, return_inverse=True)[1].reshape(-1)
    first = np.unique(atom, return_index=True)[1]
    table = np.stack([*rows, np.full(n_cells, DEAD)])[:, first]
    table[table == DEAD] = len(number)
    return Step(variable, atom, table), list(number)


def _ways(variable: Variable, state: State) -> tuple[Codes, list[State | None]]:
    """Return (number of a group for each cell, next state of each group) for a parameter and a state before its step.

    All cells of a group lead to the same next state, which is None if a rule is broken.
    """
    n_cells, mine = len(variable.starts), variable.operands.keys()
    rules = {rule for rule in state if names_in(rule) & mine}
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
        targets.append(_left(state, rules, variable.value(cell), known))
    return np.argsort(order)[group.reshape(-1)], targets


def _left(
    state: State, rules: set[Formula], values: Mapping[str, Any], known: Mapping[Operation, bool]
) -> State | None:
    """Return the rules of a state that remain after a parameter gets its value; None if one of them is broken.

    `rules` are those about the parameter, and `known` has the truth of comparisons with it.
    """
    left = set(state - rules)
    for rule in rules:
        rest = substitute(rule, values, known)
        if rest is False:
            return None
        if rest is not True:
            left.add(rest)
    return frozenset(left)
