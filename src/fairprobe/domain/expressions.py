"""Rules as trees: evaluated for many inputs at once, or simplified where some values are known.

A comparison with a missing value is false, but `!=` and `not in` are then true. The nodes are immutable and compare by
content, so that equal trees count as one: `allowed` relies on that. `rule_text` reads and writes rules as text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats, Mask

Operand = NDArray[Any]
"""Numbers as floats, NaN where missing; anything else as objects, None where missing."""


# The tree


@dataclass(frozen=True)
class Constant:
    """A number, a text or a truth value; None is a missing value, which only substitution brings in."""

    value: Any


@dataclass(frozen=True)
class Name:
    """The value of a parameter."""

    name: str


@dataclass(frozen=True)
class Rank:
    """The place of an ordinal parameter's value among its values."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers joined."""

    symbol: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Compare:
    """Two values compared."""

    symbol: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Among:
    """Whether a value is one of some."""

    item: Term
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Missing:
    """Whether a value is missing."""

    item: Term


@dataclass(frozen=True)
class Not:
    """True where its part is false."""

    part: Formula


@dataclass(frozen=True)
class Join:
    """`and` or `or` of several parts."""

    word: str
    parts: tuple[Formula, ...]


Term = Constant | Name | Rank | Arithmetic
Leaf = Compare | Among | Missing
Formula = Leaf | Not | Join | bool
"""A statement that is true or false of an input. It is a bool if substitution leaves nothing unknown."""

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# Looking


@lru_cache(maxsize=100_000)
def names_in(node: Any) -> frozenset[str]:
    """The names of the parameters in a tree."""
    if isinstance(node, (Name, Rank)):
        return frozenset([node.name])
    return frozenset().union(*map(names_in, parts_of(node)))


def parts_of(node: Any) -> tuple[Any, ...]:
    """The direct parts of a node."""
    if isinstance(node, (Compare, Arithmetic)):
        return node.left, node.right
    if isinstance(node, (Among, Missing)):
        return (node.item,)
    if isinstance(node, Not):
        return (node.part,)
    return node.parts if isinstance(node, Join) else ()


def leaves_of(formula: Formula) -> Iterator[Leaf]:
    """The leaves of a formula: comparisons, lists and checks for missing values."""
    if isinstance(formula, (Compare, Among, Missing)):
        yield formula
    else:
        for part in parts_of(formula):
            yield from leaves_of(part)


# Evaluating, for many inputs at a time


def evaluate(formula: Formula, operands: Mapping[str, Operand], n: int) -> Mask:
    """Boolean mask of the n inputs for which a formula is true; `operands` has their values by name."""
    with np.errstate(all="ignore"):
        return _true_of(formula, operands, n)


def _true_of(formula: Formula, operands: Mapping[str, Operand], n: int) -> Mask:
    if isinstance(formula, bool):
        return np.full(n, formula)
    if isinstance(formula, Not):
        return ~_true_of(formula.part, operands, n)
    if isinstance(formula, Join):
        both = np.logical_and if formula.word == "and" else np.logical_or
        return np.asarray(both.reduce([_true_of(part, operands, n) for part in formula.parts]))
    if isinstance(formula, Missing):
        return np.broadcast_to(_absent(_value_of(formula.item, operands)), n)
    if isinstance(formula, Among):
        item = _value_of(formula.item, operands)
        hit = np.zeros(np.shape(item), dtype=bool)
        for value in formula.values:
            hit |= _compared("==", item, value)
        return np.broadcast_to(hit, n)
    left, right = _value_of(formula.left, operands), _value_of(formula.right, operands)
    return np.broadcast_to(_compared(formula.symbol, left, right), n)


def _compared(symbol: str, left: Any, right: Any) -> Mask:
    """A comparison in which None, like NaN, is unequal to everything. Only numbers are compared by order."""
    if symbol not in ("==", "!="):
        left, right = _as_number(left), _as_number(right)
    answer = np.asarray(COMPARISONS[symbol](left, right), dtype=bool)
    if _is_object(left) and _is_object(right):
        absent = _absent(left) | _absent(right)
        answer = np.where(absent, symbol == "!=", answer)
    return answer


def _absent(values: Any) -> Mask:
    return np.asarray(values == None if _is_object(values) else np.isnan(values))  # noqa: E711  # one by one


def _is_object(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "O"


def _value_of(term: Any, operands: Mapping[str, Operand]) -> Any:
    if isinstance(term, Name):
        return operands[term.name]
    if isinstance(term, Rank):
        places = {value: float(place) for place, value in enumerate(term.values)}
        return np.array([places.get(value, math.nan) for value in operands[term.name]], dtype=np.float64)
    if isinstance(term, Arithmetic):
        return ARITHMETIC[term.symbol](_number(term.left, operands), _number(term.right, operands))
    return math.nan if term.value is None else term.value


def _number(term: Any, operands: Mapping[str, Operand]) -> Floats | np.float64:
    """A value as a NumPy number, so that division by zero raises no error."""
    return _as_number(_value_of(term, operands))


def _as_number(value: Any) -> Floats | np.float64:
    """Numbers as they are; NaN in the place of anything else."""
    if _is_object(value):
        return np.array([each if _is_number(each) else math.nan for each in value.tolist()], dtype=np.float64)
    return value if isinstance(value, np.ndarray) else np.float64(value if _is_number(value) else math.nan)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_listed(values: Operand) -> bool:
    """Whether there are values and none of them is a number."""
    return _is_object(values) and any(each is not None for each in values) and not any(map(_is_number, values))


# Substituting: what is left of a rule once some values are known


def substitute(formula: Formula, values: Mapping[str, Any], truths: Mapping[Leaf, bool]) -> Formula:
    """A formula in which known values (None if missing) and known truths of leaves are put in and simplified."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, (Compare, Among, Missing)):
        return truths[formula] if formula in truths else _leaf_with(formula, values)
    if isinstance(formula, Not):
        part = substitute(formula.part, values, truths)
        return (not part) if isinstance(part, bool) else Not(part)
    assert isinstance(formula, Join)
    decisive = formula.word == "or"
    parts: list[Formula] = []
    for part in formula.parts:
        left = substitute(part, values, truths)
        if isinstance(left, bool):
            if left == decisive:
                return decisive
        else:
            parts.append(left)
    if not parts:
        return not decisive
    return parts[0] if len(parts) == 1 else Join(formula.word, tuple(parts))


def _leaf_with(leaf: Leaf, values: Mapping[str, Any]) -> Formula:
    if not names_in(leaf) & values.keys():
        return leaf
    if isinstance(leaf, Compare):
        changed: Leaf = Compare(leaf.symbol, _term_with(leaf.left, values), _term_with(leaf.right, values))
    elif isinstance(leaf, Among):
        changed = Among(_term_with(leaf.item, values), leaf.values)
    else:
        changed = Missing(_term_with(leaf.item, values))
    return changed if names_in(changed) else bool(evaluate(changed, {}, 1)[0])


def _term_with(term: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(term, Name):
        return Constant(values[term.name]) if term.name in values else term
    if isinstance(term, Rank):
        if term.name not in values:
            return term
        value = values[term.name]
        return Constant(float(term.values.index(value)) if value in term.values else None)
    if isinstance(term, Arithmetic):
        return joined(term.symbol, _term_with(term.left, values), _term_with(term.right, values))
    return term


def joined(symbol: str, left: Any, right: Any) -> Any:
    """An operation on two terms. Two constants become one constant, so that equal meanings give equal trees."""
    both = Arithmetic(symbol, left, right)
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return both
    if not all(isinstance(side.value, (int, float)) or side.value is None for side in (left, right)):
        return both  # a text, which is refused when the rule meets the parameters
    with np.errstate(all="ignore"):
        value = float(_value_of(both, {}))
    return Constant(None if math.isnan(value) else value)
