"""Rules as trees: evaluated for many inputs at once, or simplified where some values are known.

A comparison with a missing value is false, except that `!=` and `not in` are true. The nodes are immutable and compare
by content, so that equal trees count as one; `allowed` relies on this. `constraints` reads and writes rules as text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain_or_none

Operand = NDArray[Any]
"""Values of one parameter for many inputs, as rules compare them: numbers as floats, NaN where missing; anything else
as objects, None where missing."""


# The tree


@dataclass(frozen=True)
class Constant:
    """A constant in a rule's tree: a number, a text or a truth value; None for "missing".

    The right side of `in` is a tuple of such values.
    """

    value: Any


@dataclass(frozen=True)
class Name:
    """The value of a parameter, by name, in a rule's tree.

    If `order` is given, it stands for the place of the value in that order instead.
    """

    name: str
    order: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Operation:
    """An inner node of a rule's tree: arithmetic or a comparison of two terms, or `and`, `or`, `not` of formulas.

    The symbol `in` has a constant tuple on the right, and `is` a missing value.
    """

    symbol: str
    parts: tuple[Any, ...]


Term = Constant | Name | Operation
Formula = Operation | bool
"""A formula in a rule's tree, which is true or false of an input. It is a bool if substitution leaves nothing
unknown."""

JOINS = ("and", "or", "not")
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


ORDERS = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Order comparisons, each mapped to the comparison with the sides exchanged."""


# Making


def missing(item: Term) -> Operation:
    """Return the formula that is true where the value of a term is missing."""
    return Operation("is", (item, Constant(None)))


def negated(formula: Formula) -> Operation:
    """Return the formula that is true where the given formula is false."""
    return Operation("not", (formula,))


def one_of(name: str, values: Sequence[Any]) -> Formula:
    """Return the formula that is true where a parameter has one of the values; None stands for a missing value."""
    known = tuple(value for value in values if value is not None)
    parts: list[Formula] = [Operation("in", (Name(name), Constant(known)))]
    if len(known) < 2:
        parts = [Operation("==", (Name(name), Constant(value))) for value in known]
    return joined("or", parts + [missing(Name(name))] * (len(known) < len(values)))


def none_of(name: str, values: Sequence[Any]) -> Formula:
    """Return the formula that is true where a parameter has none of the values; None stands for a missing value."""
    one: Any = one_of(name, values)
    parts = one.parts if one.symbol == "or" else (one,)
    return joined("and", [Operation("!=", part.parts) if part.symbol == "==" else negated(part) for part in parts])


def in_order(leaf: Operation, order: tuple[Any, ...]) -> Operation:
    """Return a comparison of listed values changed into a comparison of their places in an order."""
    sides = (Constant(order.index(s.value)) if isinstance(s, Constant) else Name(s.name, order) for s in leaf.parts)
    return Operation(leaf.symbol, tuple(sides))


def joined(word: str, formulas: Sequence[Formula]) -> Formula:
    """Return formulas joined by `and` or `or` without nesting; a single one is returned unchanged."""
    flat: list[Formula] = []
    for each in formulas:
        flat += each.parts if isinstance(each, Operation) and each.symbol == word else [each]
    return flat[0] if len(flat) == 1 else Operation(word, tuple(flat))


def reckoned(symbol: str, left: Any, right: Any) -> Any:
    """Return an arithmetic operation on two terms, as a node of a rule's tree.

    Two constants become one constant, so that equal meanings give equal trees.
    """
    both = Operation(symbol, (left, right))
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return both
    if not all(isinstance(side.value, (int, float)) or side.value is None for side in (left, right)):
        return both  # a text, which is refused when the rule meets the parameters
    with np.errstate(all="ignore"):
        value = float(_value_of(both, {}))
    return Constant(None if math.isnan(value) else value)


# Looking


@lru_cache(maxsize=100_000)
def names_in(node: Any) -> frozenset[str]:
    """Return the names of the parameters in a rule's tree."""
    if isinstance(node, Name):
        return frozenset([node.name])
    return frozenset().union(*map(names_in, getattr(node, "parts", ())))


def is_term(node: Any) -> bool:
    """Return True if a node of a rule's tree is a value (constant, name, arithmetic) instead of a formula."""
    return isinstance(node, (Constant, Name)) or (isinstance(node, Operation) and node.symbol in ARITHMETIC)


def leaves_of(formula: Formula) -> Iterator[Operation]:
    """Yield the comparisons in a formula, from left to right."""
    if isinstance(formula, Operation) and formula.symbol not in JOINS:
        yield formula
    elif isinstance(formula, Operation):
        for part in formula.parts:
            yield from leaves_of(part)


# Evaluating, for many inputs at a time


def evaluate(formula: Formula, operands: Mapping[str, Operand], n: int) -> Mask:
    """Return a boolean mask of the n inputs for which a formula is true; `operands` has their values by name."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(_value_of(formula, operands), n)


def _value_of(node: Any, operands: Mapping[str, Operand]) -> Any:
    """Return the values of a term, or the truth values of a formula, for all inputs.

    The result is an array, or one value that holds for all inputs.
    """
    if isinstance(node, Name):
        values = operands[node.name]
        return np.array([_place(node, value) for value in values], dtype=np.float64) if node.order else values
    if isinstance(node, Constant):
        return math.nan if node.value is None else node.value
    if not isinstance(node, Operation):
        return np.asarray(node)
    symbol, parts = node.symbol, [_value_of(part, operands) for part in node.parts]
    if symbol in ARITHMETIC:
        return ARITHMETIC[symbol](*map(_as_number, parts))
    if symbol == "not":
        return ~parts[0]
    if symbol == "is":
        return _absent(parts[0])
    if symbol == "in":
        symbol, parts = "or", [_compared("==", parts[0], value) for value in parts[1]]
    if symbol in JOINS:
        return reduce(np.logical_and if symbol == "and" else np.logical_or, parts, np.asarray(symbol == "and"))
    return _compared(symbol, *parts)


def _compared(symbol: str, left: Any, right: Any) -> Mask:
    """Compare two arrays or values elementwise and return the truth values.

    None and NaN are unequal to everything. Only numbers are compared by order.
    """
    if symbol not in ("==", "!="):
        left, right = _as_number(left), _as_number(right)
    answer = np.asarray(COMPARISONS[symbol](left, right), dtype=bool)
    if _is_object(left) and _is_object(right):
        answer = np.where(_absent(left) | _absent(right), symbol == "!=", answer)
    return answer


def _absent(values: Any) -> Mask:
    return np.asarray(values == None if _is_object(values) else np.isnan(values))  # noqa: E711  # one by one


def _is_object(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "O"


def _place(name: Name, value: Any) -> float:
    """Return the position of a value in the parameter's ordered list of values; NaN if the list lacks it."""
    return float(name.order.index(value)) if value in name.order else math.nan


def _as_number(value: Any) -> Floats | np.float64:
    """Return values as NumPy floats, NaN in the place of anything that is not a number.

    With NumPy's floats, a division by zero raises no error.
    """
    if _is_object(value):
        return np.array([each if _is_number(each) else math.nan for each in value.tolist()], dtype=np.float64)
    return value if isinstance(value, np.ndarray) else np.float64(value if _is_number(value) else math.nan)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_listed(values: Operand) -> bool:
    """Return True if an array has values that are not missing and none of them is a number."""
    return _is_object(values) and any(each is not None for each in values) and not any(map(_is_number, values))


def operand(parameter: Parameter, codes: Codes) -> Operand:
    """Return the values of a parameter's codes as rules compare them: numbers as floats, anything else as objects."""
    if is_number(parameter):
        return parameter.numbers(codes)
    distinct, places = np.unique(codes, return_inverse=True)
    return as_operand(np.asarray(parameter.decode(distinct), dtype=object))[places]


def is_number(parameter: Parameter) -> bool:
    """Return True if rules treat the parameter's values as numbers. Truth values are not numbers.

    In a column of numbers, any other value counts as missing.
    """
    own = parameter.own
    return own.is_numeric and not any(isinstance(value, bool) for value in getattr(own, "values", ()))


def as_operand(values: Sequence[Any] | NDArray[Any]) -> Operand:
    """Return values as rules compare them: numbers as floats, NaN where missing.

    If any value is a text or truth value, all are objects, None where missing.
    """
    told = [plain_or_none(value) for value in values]
    if all(value is None or _is_number(value) for value in told):
        return np.array([math.nan if value is None else value for value in told], dtype=np.float64)
    made = np.empty(len(told), dtype=object)
    made[:] = told
    return made


# Changing


def changed(formula: Formula, of_leaf: Callable[[Operation], Formula]) -> Formula:
    """Return a formula with each comparison replaced by what `of_leaf` returns for it.

    It is simplified where the replacements are true or false.
    """
    if isinstance(formula, bool):
        return formula
    if formula.symbol not in JOINS:
        return of_leaf(formula)
    parts: list[Formula] = []
    for part in formula.parts:
        left = changed(part, of_leaf)
        if not isinstance(left, bool):
            parts.append(left)
        elif formula.symbol == "not":
            return not left
        elif left == (formula.symbol == "or"):
            return left
    if not parts:
        return formula.symbol == "and"
    return parts[0] if len(parts) == 1 and formula.symbol != "not" else Operation(formula.symbol, tuple(parts))


def substitute(formula: Formula, values: Mapping[str, Any], truths: Mapping[Operation, bool]) -> Formula:
    """Return a formula simplified by known values of parameters and known truth values of comparisons.

    `values` has the known values by name, None if missing.
    """

    def of_leaf(leaf: Operation) -> Formula:
        if leaf in truths:
            return truths[leaf]
        if not names_in(leaf) & values.keys():
            return leaf
        told = Operation(leaf.symbol, tuple(_term_with(part, values) for part in leaf.parts))
        return told if names_in(told) else bool(evaluate(told, {}, 1)[0])

    return changed(formula, of_leaf)


def _term_with(term: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(term, Name) and term.name in values:
        value = values[term.name]
        return Constant(_place(term, value) if term.order else value)
    if isinstance(term, Operation):
        return reckoned(term.symbol, *(_term_with(part, values) for part in term.parts))
    return term
