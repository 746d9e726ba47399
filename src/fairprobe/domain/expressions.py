"""Rules as text: our own small grammar, never evaluated as Python.

    `capital-gain` == 0 or `capital-loss` == 0
    relationship not in ('Husband', 'Wife') or `marital-status` == 'Married-civ-spouse'
    age - 18 >= `years-employed` and not (income is missing)

A name that is no word stands in backticks, as in pandas' `query`. A comparison with a missing value is false, but for
`!=` and `not in`, which are true; `x is missing` asks for it. A text becomes a tree of small immutable nodes, so that
two of them that are alike are one: `allowed` counts on that.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats, Mask
from fairprobe.errors import DomainError

MAX_LENGTH = 10_000
MAX_DEPTH = 50
"""A rule is read by a person; what is longer or deeper is a mistake, or an attack."""

Operand = NDArray[Any]
"""Numbers as floats, NaN where missing; anything else as objects, None where missing."""


# The tree


@dataclass(frozen=True)
class Constant:
    """A number, a text or a truth value; None is a missing value, which only substitution brings in."""

    value: Any


@dataclass(frozen=True)
class Name:
    """A parameter."""

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
    """The contrary."""

    part: Formula


@dataclass(frozen=True)
class Join:
    """`and` or `or` of several parts."""

    word: str
    parts: tuple[Formula, ...]


Term = Constant | Name | Rank | Arithmetic
Leaf = Compare | Among | Missing
Formula = Leaf | Not | Join | bool
"""What is true or false of an input. A plain bool is left over where everything is known."""

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


# Reading


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


_TOKENS = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<quoted>`[^`]+`)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<symbol>\*\*|==|!=|<=|>=|//|[-+*/%<>()\[\],=&|~!^.])"
)
_KEYWORDS = {"and", "or", "not", "in", "is", "missing", "True", "False", "true", "false", "None"}
_ADVICE = {
    "=": "write '==' to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "!": "write 'not'",
    "**": "powers are not among the operations, which are + - * / // %",
    "^": "powers are not among the operations, which are + - * / // %",
    ".": "a name with a point stands in backticks",
}


def parse(text: str) -> Formula:
    """A rule's tree. What is not of the grammar is refused, with its place."""
    if not isinstance(text, str) or not text.strip():
        raise DomainError(f"a constraint must be a text that is not empty, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise DomainError(
            f"a constraint may have {MAX_LENGTH:,} characters at most, got {len(text):,}: {text[:40]!r}..."
        )
    return _Parser(text).rule()


class _Parser:
    """Recursive descent, a method a level of precedence."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        self.next = 0
        self.depth = 0

    def _tokens(self) -> Iterator[_Token]:
        place = 0
        while place < len(self.text):
            match = _TOKENS.match(self.text, place)
            if match is None:
                raise self.error(f"a name, a number, a text in quotes or an operation, got {self.text[place]!r}", place)
            if match.lastgroup != "space":
                yield _Token(str(match.lastgroup), match.group(), place)
            place = match.end()
        yield _Token("end", "", len(self.text))

    def error(self, rule: str, place: int) -> DomainError:
        """A refusal that shows the place."""
        shown = self.text if len(self.text) <= 80 else f"{self.text[max(0, place - 30) : place + 30]}"
        return DomainError(f"constraint {shown!r}: at position {place + 1} there must be {rule}")

    def unexpected(self, wanted: str) -> DomainError:
        """The refusal of the token that comes next."""
        token = self.tokens[self.next]
        got = "the end" if token.kind == "end" else repr(token.text)
        advice = f": {_ADVICE[token.text]}" if token.text in _ADVICE else ""
        return self.error(f"{wanted}, got {got}{advice}", token.place)

    def take(self, *texts: str) -> str | None:
        """The next token, if it is one of these words or signs."""
        token = self.tokens[self.next]
        if token.kind in ("word", "symbol") and token.text in texts:
            self.next += 1
            return token.text
        return None

    def expect(self, text: str, wanted: str) -> None:
        if self.take(text) is None:
            raise self.unexpected(wanted)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"brackets and signs at most {MAX_DEPTH} deep", self.tokens[self.next].place)

    # True or false

    def rule(self) -> Formula:
        rule = self.formula(self.any_of())
        if self.tokens[self.next].kind != "end":
            raise self.unexpected("'and', 'or' or the end")
        return rule

    def any_of(self) -> Any:
        return self.joined("or", self.all_of)

    def all_of(self) -> Any:
        return self.joined("and", self.negated)

    def joined(self, word: str, part: Callable[[], Any]) -> Any:
        first = part()
        if self.take(word) is None:
            return first
        parts = [self.formula(first), self.formula(part())]
        while self.take(word):
            parts.append(self.formula(part()))
        return Join(word, tuple(parts))

    def negated(self) -> Any:
        if self.take("not") is None:
            return self.compared()
        self.deeper()
        part = self.formula(self.negated())
        self.depth -= 1
        return Not(part)

    def formula(self, node: Any) -> Formula:
        """A name alone means that it is true."""
        if isinstance(node, (Name, Constant)) and not isinstance(getattr(node, "value", True), bool):
            raise self.unexpected("a comparison")
        if isinstance(node, Name):
            return Compare("==", node, Constant(True))
        if isinstance(node, Constant):
            return bool(node.value)
        if isinstance(node, Arithmetic):
            raise self.unexpected("a comparison")
        return node

    def compared(self) -> Any:
        left = self.sum()
        parts: list[Formula] = []
        while True:
            symbol = self.take(*COMPARISONS)
            if symbol is not None:
                if self.take("missing", "None"):
                    if symbol not in ("==", "!="):
                        raise self.unexpected("a value: what is missing has no order")
                    parts.append(_negate_if(symbol == "!=", Missing(self.term(left))))
                    break
                right = self.sum()
                parts.append(Compare(symbol, self.term(left), self.term(right)))
                left = right  # as in low <= x <= high
            elif self.take("is"):
                negated = self.take("not") is not None
                if self.take("missing", "None") is None:
                    raise self.unexpected("'missing' after 'is'")
                parts.append(_negate_if(negated, Missing(self.term(left))))
                break
            elif self.tokens[self.next].text == "not" and self.tokens[self.next + 1].text == "in":
                self.next += 2
                parts.append(Not(self.among(left)))
                break
            elif self.take("in"):
                parts.append(self.among(left))
                break
            else:
                break
        if not parts:
            return left
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def among(self, left: Any) -> Formula:
        opened = self.take("(", "[")
        if opened is None:
            raise self.unexpected("a list of values in brackets after 'in'")
        closing = ")" if opened == "(" else "]"
        values: list[Any] = []
        missing = False
        while not self.take(closing):
            if values or missing:
                self.expect(",", f"',' or {closing!r}")
                if self.take(closing):
                    break
            if self.take("missing", "None"):
                missing = True
                continue
            value = self.term(self.unary())
            if not isinstance(value, Constant):
                raise self.unexpected("values in a list, no names")
            values.append(value.value)
        item = self.term(left)
        listed = Among(item, tuple(dict.fromkeys(values)))
        return Join("or", (listed, Missing(item))) if missing else listed

    # Values

    def term(self, node: Any) -> Any:
        if not isinstance(node, (Constant, Name, Arithmetic)):
            raise self.unexpected("a value before, not a comparison in brackets")
        return node

    def sum(self) -> Any:
        return self.arithmetic(self.product, "+", "-")

    def product(self) -> Any:
        return self.arithmetic(self.unary, "*", "//", "/", "%")

    def arithmetic(self, part: Callable[[], Any], *symbols: str) -> Any:
        left, n = part(), 0
        while symbol := self.take(*symbols):
            n += 1
            if n > MAX_DEPTH:
                raise self.error(f"{MAX_DEPTH} operations in a row at most", self.tokens[self.next].place)
            left = _joined(symbol, self.term(left), self.term(part()))
        return left

    def unary(self) -> Any:
        if self.take("-") is None:
            return self.value()
        self.deeper()
        value = self.term(self.unary())
        self.depth -= 1
        return _joined("-", Constant(0), value)

    def value(self) -> Any:
        token = self.tokens[self.next]
        if token.text == "(" and token.kind == "symbol":
            self.next += 1
            self.deeper()
            inside = self.any_of()
            self.expect(")", "')'")
            self.depth -= 1
            return inside
        self.next += 1
        if token.kind == "number":
            return Constant(self.number(token))
        if token.kind == "string":
            return Constant(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
        if token.kind == "quoted":
            return Name(token.text[1:-1])
        if token.kind == "word" and token.text in ("True", "true", "False", "false"):
            return Constant(token.text in ("True", "true"))
        if token.kind == "word" and token.text not in _KEYWORDS:
            following = self.tokens[self.next]
            if following.text == "(":
                raise self.error(f"a comparison: nothing can be called here, got {token.text}(...)", token.place)
            return Name(token.text)
        self.next -= 1
        raise self.unexpected("a name, a number or a text in quotes")

    def number(self, token: _Token) -> int | float:
        try:
            number = float(token.text) if re.search("[.eE]", token.text) else int(token.text)
            if abs(float(number)) < 1e300:
                return number
        except (ValueError, OverflowError):
            pass
        raise self.error(f"a number of a usual size, got {token.text[:30]!r}", token.place)


def _negate_if(negated: bool, formula: Formula) -> Formula:
    return Not(formula) if negated else formula


# Looking


@lru_cache(maxsize=100_000)
def names_in(node: Any) -> frozenset[str]:
    """The parameters that a tree names."""
    if isinstance(node, (Name, Rank)):
        return frozenset([node.name])
    return frozenset().union(*map(names_in, parts_of(node)))


def parts_of(node: Any) -> tuple[Any, ...]:
    """The trees right below."""
    if isinstance(node, (Compare, Arithmetic)):
        return node.left, node.right
    if isinstance(node, (Among, Missing)):
        return (node.item,)
    if isinstance(node, Not):
        return (node.part,)
    return node.parts if isinstance(node, Join) else ()


def leaves_of(formula: Formula) -> Iterator[Leaf]:
    """All comparisons and the like."""
    if isinstance(formula, (Compare, Among, Missing)):
        yield formula
    else:
        for part in parts_of(formula):
            yield from leaves_of(part)


# Evaluating, for many inputs at a time


def evaluate(formula: Formula, operands: Mapping[str, Operand], n: int) -> Mask:
    """Whether it is true of each of n inputs, whose values are given by name."""
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
    """None is as NaN is: unlike anything, itself included. Only numbers have an order: all else was ranked before."""
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
    """As NumPy's number, whose division by zero is no error."""
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
    """The rule with values in the place of names (None where missing), and with what is known of its leaves."""
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
        return _joined(term.symbol, _term_with(term.left, values), _term_with(term.right, values))
    return term


def _joined(symbol: str, left: Any, right: Any) -> Any:
    """Two numbers that are both known become one, so that trees which mean the same are the same."""
    joined = Arithmetic(symbol, left, right)
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return joined
    if not all(isinstance(side.value, (int, float)) or side.value is None for side in (left, right)):
        return joined  # a text, which is refused when the rule meets the parameters
    with np.errstate(all="ignore"):
        value = float(_value_of(joined, {}))
    return Constant(None if math.isnan(value) else value)


# Writing


def text_of(node: Any) -> str:
    """A tree as a text that reads back as the same.

    >>> text_of(parse("not (`a b` >= 3 and x in ('u', 'v')) or z is missing"))
    "not (`a b` >= 3 and x in ('u', 'v')) or z is missing"
    """
    if isinstance(node, Join):
        return f" {node.word} ".join(_bracketed(part, Join) for part in node.parts)
    if isinstance(node, Not):
        return _negated_text(node.part)
    if isinstance(node, Compare):
        if node.symbol == "==" and node.right == Constant(True) and isinstance(node.right.value, bool):
            return text_of(node.left)
        return f"{text_of(node.left)} {node.symbol} {text_of(node.right)}"
    if isinstance(node, (Among, Missing)):
        return f"{text_of(node.item)} " + (f"in {_list_text(node)}" if isinstance(node, Among) else "is missing")
    if isinstance(node, Arithmetic):
        return f" {node.symbol} ".join(_bracketed(side, Arithmetic) for side in (node.left, node.right))
    if isinstance(node, (Name, Rank)):
        return node.name if re.fullmatch(r"[^\W\d]\w*", node.name) and node.name not in _KEYWORDS else f"`{node.name}`"
    return _value_text(node.value if isinstance(node, Constant) else node)


def _bracketed(node: Any, kind: type) -> str:
    return f"({text_of(node)})" if isinstance(node, kind) else text_of(node)


def _negated_text(part: Formula) -> str:
    if isinstance(part, Among):
        return f"{text_of(part.item)} not in {_list_text(part)}"
    return f"{text_of(part.item)} is not missing" if isinstance(part, Missing) else f"not ({text_of(part)})"


def _list_text(among: Among) -> str:
    return f"({', '.join(map(_value_text, among.values))})"


def _value_text(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    if "'" not in value and "\\" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\")
    return f'"{escaped}"' if '"' not in escaped else "'" + escaped.replace("'", "\\'") + "'"
