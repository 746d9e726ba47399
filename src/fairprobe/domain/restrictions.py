"""Restrictions of a domain: its rules and callables, with the number of inputs that they allow, and random draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask, uniform_rows
from fairprobe.domain.allowed import Block, TooManyError, make_variable
from fairprobe.domain.derived import Derived, Held
from fairprobe.domain.expressions import Formula, evaluate, names_in, operand
from fairprobe.domain.parameters import Parameter
from fairprobe.errors import DomainError

if TYPE_CHECKING:
    import pandas as pd

Constraint = Callable[["pd.DataFrame"], Any]
"""A constraint as a callable, which takes a frame of inputs and returns a truth value for each."""

PATIENCE = 1_000_000
"""Number of drawn candidates after which drawing stops if too few of them are allowed; chosen: some seconds."""

THINNEST = 1e-4
"""Smallest fraction of allowed candidates with which drawing goes on after `PATIENCE` candidates; chosen."""


class Restrictions:
    """The rules and callables that decide which inputs of a domain are allowed."""

    def __init__(
        self, parameters: Sequence[Parameter], rules: Sequence[Formula], callables: Sequence[Constraint]
    ) -> None:
        self._parameters = parameters
        self._by_name = {parameter.name: (parameter, column) for column, parameter in enumerate(parameters)}
        self._rules = list(rules)
        self.callables = tuple(callables)

    def also(self, rule: Formula) -> Restrictions:
        """Return new restrictions of a domain with one more rule."""
        return Restrictions(self._parameters, [*self._rules, rule], self.callables)

    def __bool__(self) -> bool:
        return bool(self._rules or self.callables)

    @cached_property
    def levels(self) -> Codes:
        """The number of values of each parameter; 1 for a derived parameter, because its source decides its value."""
        return np.array([1 if isinstance(p, Derived) else p.levels for p in self._parameters], dtype=np.int64)

    @cached_property
    def blocks(self) -> list[Block | _Rejecting]:
        """Return the blocks, the sets of parameters that rules tie together.

        A block is a table of states if that is small enough, and is otherwise sampled by rejection.
        """
        return [self._block(columns, rules) for columns, rules in self._tied(self._rules)]

    def _tied(self, rules: Sequence[Formula]) -> list[tuple[list[int], list[Formula]]]:
        """Return groups of rules: rules that share a parameter, directly or through other rules, are in one group.

        Each group is a pair: the sorted positions of its parameters, and its rules.
        """
        groups: list[tuple[set[int], list[Formula]]] = []
        for rule in rules:
            columns, mine = {self._source(name) for name in names_in(rule)}, [rule]
            for group in [group for group in groups if group[0] & columns]:
                groups.remove(group)
                columns, mine = columns | group[0], group[1] + mine
            groups.append((columns, mine))
        return [(sorted(columns), mine) for columns, mine in groups]

    def _source(self, name: str) -> int:
        """Return the position of a parameter given by name, or of its source if it is derived."""
        parameter, column = self._by_name[name]
        return self._by_name[parameter.source][1] if isinstance(parameter, Derived) else column

    def _block(self, columns: Sequence[int], rules: Sequence[Formula]) -> Block | _Rejecting:
        try:
            return Block([make_variable(column, self._parameters, rules) for column in columns], frozenset(rules))
        except TooManyError:
            return _Rejecting(Restrictions(self._parameters, rules, ()), columns)

    def allows(self, codes: Codes, decode: Callable[[Codes], pd.DataFrame]) -> Mask:
        """Return a boolean mask of the inputs, as codes, that all rules and callables allow.

        `decode` turns codes into the frame that callables get.
        """
        allowed = np.ones(len(codes), dtype=bool)
        for block in self.blocks:
            allowed &= block.allows(codes)
        if self.callables and allowed.any():
            allowed[allowed] = self.callables_hold(decode(codes[allowed]))
        return allowed

    def hold(self, column: Callable[[str], tuple[Parameter, Codes]], n: int) -> Mask:
        """Return a boolean mask of n inputs or rows that satisfy all rules.

        `column` returns the parameter and the codes for a name.
        """
        named = frozenset[str]().union(*map(names_in, self._rules))
        operands = {name: operand(*column(name)) for name in named}
        kept = np.ones(n, dtype=bool)
        for rule in self._rules if n else ():
            kept &= evaluate(rule, operands, n)
        return kept

    def hold_for(self, codes: Codes) -> Mask:
        """Return a boolean mask of the inputs, as codes, that satisfy all rules, evaluated without tables of states."""
        return self.hold(lambda name: (self._by_name[name][0], codes[:, self._source(name)]), len(codes))

    def allows_rows(self, frame: pd.DataFrame) -> Mask:
        """Return a boolean mask of the rows of a frame that satisfy all rules and callables.

        Values may lie outside the domain.
        """
        kept = self.hold(lambda name: Held.of(self._by_name[name][0], frame[name]), len(frame))
        return kept & self.callables_hold(frame)

    def callables_hold(self, frame: pd.DataFrame) -> Mask:
        """Return a boolean mask of the rows of a frame that all callables allow."""
        mask = np.ones(len(frame), dtype=bool)
        for constraint in self.callables if len(frame) else ():
            mask &= _answer(constraint, frame)
        return mask

    # Counting and sampling

    @cached_property
    def n(self) -> int | None:
        """The number of allowed inputs; None if there are callables or blocks without a table."""
        tables = [block.counts[0][0] for block in self.blocks if isinstance(block, Block)]
        if self.callables or len(tables) < len(self.blocks):
            return None
        tied = {column for block in self.blocks for column in block.columns}
        free = [n for column, n in enumerate(self.levels.tolist()) if column not in tied]
        return math.prod(free) * math.prod(tables)

    def candidates(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw `n` inputs, as codes, uniformly from those that the rules allow; callables may forbid some of them."""
        codes = uniform_rows(n, self.levels, rng)
        for block in self.blocks:
            block.sample(codes, rng)
        return codes


class _Rejecting:
    """A block (parameters that rules tie together) without a table; its values are drawn until the rules hold."""

    def __init__(self, restrictions: Restrictions, columns: Sequence[int]) -> None:
        self.allows = restrictions.hold_for
        self.columns = list(columns)
        self._levels = restrictions.levels[self.columns]

    def sample(self, codes: Codes, rng: np.random.Generator) -> None:
        """Fill the columns of `codes` that the rules are about, in place, with allowed values drawn uniformly."""

        def draw(n_kept: int, _: int) -> Codes:
            drawn = np.zeros((max(len(codes) - n_kept, 1024), codes.shape[1]), dtype=np.int64)
            drawn[:, self.columns] = uniform_rows(len(drawn), self._levels, rng)
            return drawn

        codes[:, self.columns] = draw_until(codes.shape, draw, self.allows, check_yield)[:, self.columns]


def draw_until(
    shape: tuple[int, int],
    draw: Callable[[int, int], Codes],
    may: Callable[[Codes], Mask],
    check: Callable[[int, int], None],
) -> Codes:
    """Draw inputs until `shape[0]` of them pass `may`, and return these as codes."""
    kept, n_kept, n_drawn = [np.empty((0, shape[1]), dtype=np.int64)], 0, 0
    while n_kept < shape[0]:
        check(n_kept, n_drawn)
        codes = draw(n_kept, n_drawn)
        kept.append(codes[may(codes)])
        n_kept += len(kept[-1])
        n_drawn += len(codes)
    return np.concatenate(kept)[: shape[0]]


def check_yield(n_kept: int, n_drawn: int) -> None:
    """Refuse to draw on, once `PATIENCE` candidates are drawn, if too few of them are allowed."""
    if n_drawn >= PATIENCE and n_kept < THINNEST * n_drawn:
        raise DomainError(
            f"the constraints must allow 1 in {round(1 / THINNEST):,} inputs at least, "
            f"got {n_kept:,} allowed of {n_drawn:,} drawn: loosen them or narrow the parameters"
        )


def _answer(constraint: Constraint, frame: pd.DataFrame) -> Mask:
    name = getattr(constraint, "__name__", repr(constraint))
    try:
        answer: NDArray[Any] = np.asarray(constraint(frame))
    except Exception as error:
        raise DomainError(f"constraint {name} raised {type(error).__name__}: {error}") from error
    if answer.shape != (len(frame),) or answer.dtype != bool:
        raise DomainError(
            f"constraint {name} must return one truth value a row, got the shape {answer.shape} of {answer.dtype} "
            f"for {len(frame)} rows"
        )
    return answer
