"""Rules as text, read and written.

    `capital-gain` == 0 or `capital-loss` == 0
    relationship not in ('Husband', 'Wife') or `marital-status` == 'Married-civ-spouse'
    age - 18 >= `years-employed` and not (income is missing)

A name that is not a word stands in backticks, as in pandas' `query`. The grammar is a small part of Python's. A
placeholder replaces every name and value, Python parses what is left, and its tree becomes ours. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from typing import Any, NamedTuple

from fairprobe.domain.expressions import (
    ARITHMETIC,
    COMPARISONS,
    Among,
    Arithmetic,
    Compare,
    Constant,
    Formula,
    Join,
    Missing,
    Name,
    Not,
    Rank,
    joined,
)
from fairprobe.errors import DomainError

MAX_LENGTH = 10_000
"""Characters of a rule; chosen: a person reads it, and longer texts are mistakes or attacks."""

MAX_DEPTH = 50
"""Brackets around a value, with the signs and negations in a row before it; chosen: Python parses 200."""

MAX_TREE = 120
"""Operations around a value; chosen: far fewer than would end Python's recursion."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


_TOKENS = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<quoted>`[^`]+`)"
    r"|(?P<symbol>(?:and|or|not|in|is)\b|\*\*|==|!=|<=|>=|//|[-+*/%<>()\[\],=&|~!^.])"
    r"|(?P<word>[^\W\d]\w*)"
)
_POWERS = "powers are not among the operations, which are + - * / // %"
_ADVICE = {"=": "write '==' to compare", "&": "write 'and'", "|": "write 'or'", "~": "write 'not'", "!": "write 'not'"}
_ADVICE |= {"**": _POWERS, "^": _POWERS, ".": "a name with a point stands in backticks"}

_MISSING = object()
"""Stands for `missing` until the comparison with it is read."""

_CONSTANTS: dict[str, Any] = {"missing": _MISSING, "None": _MISSING}
_CONSTANTS |= {"True": Constant(True), "true": Constant(True), "False": Constant(False), "false": Constant(False)}
_KEYWORDS = {"and", "or", "not", "in", "is", *_CONSTANTS}

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SYMBOLS = dict(zip(_ARITHMETIC + _COMPARISONS, (*ARITHMETIC, *COMPARISONS), strict=True))
_CLOSING = {"(": ")", "[": "]"}
_A_VALUE = "a name, a number or a text in quotes"
_AN_END = "'and', 'or' or the end"


def parse(text: str) -> Formula:
    """A rule's tree. A text outside the grammar is refused, with the place of the mistake."""
    if not isinstance(text, str) or not text.strip():
        raise DomainError(f"a constraint must be a text that is not empty, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise DomainError(
            f"a constraint may have {MAX_LENGTH:,} characters at most, got {len(text):,}: {text[:40]!r}..."
        )
    return _Reader(text).rule()


class _Reader:
    """Reads one rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.starts: list[int] = []
        """Where each token begins in Python's source."""
        self.depth = 0

    def rule(self) -> Formula:
        """The rule's tree."""
        try:
            return self._formula(ast.parse(self._source(), mode="eval").body)
        except SyntaxError as error:
            raise self._unexpected(_A_VALUE, (error.offset or 1) - 1) from None
        except (RecursionError, MemoryError):
            raise self._too_deep(self.tokens[0]) from None

    def _tokens(self) -> list[_Token]:
        tokens, place = [], 0
        while place < len(self.text):
            match = _TOKENS.match(self.text, place)
            if match is None:
                raise self._error(f"{_A_VALUE} or an operation, got {self.text[place]!r}", place)
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), place))
            place = match.end()
        return [*tokens, _Token("end", "", place)]

    # Refusals

    def _error(self, rule: str, place: int) -> DomainError:
        shown = self.text if len(self.text) <= 80 else f"{self.text[max(0, place - 30) : place + 30]}"
        return DomainError(f"constraint {shown!r}: at position {place + 1} there must be {rule}")

    def _unexpected(self, wanted: str, at: _Token | int) -> DomainError:
        """The refusal of a token, or of the first one at a place of Python's source or behind it."""
        token = at if isinstance(at, _Token) else self.tokens[bisect_left(self.starts, at)]
        got = "the end" if token.kind == "end" else repr(token.text)
        advice = f": {_ADVICE[token.text]}" if token.text in _ADVICE else ""
        return self._error(f"{wanted}, got {got}{advice}", token.place)

    def _too_deep(self, token: _Token) -> DomainError:
        limits = f"brackets and signs at most {MAX_DEPTH} deep, and at most {MAX_TREE} operations in a row"
        return self._error(limits, token.place)

    # From text to Python's tree

    def _source(self) -> str:
        """The rule in Python, with `_` for a name or a value and `[]` for the list of `in`, all in brackets."""
        source = "("
        before = _Token("symbol", "(", -1)
        closing: list[tuple[str, str]] = []  # as written, and in Python
        n_signs = 0
        for token in self.tokens:
            is_value = token.kind not in ("symbol", "end")
            after_value = before.kind != "symbol" or before.text in (")", "]")
            is_sign = token.kind == "symbol" and token.text in ("-", "not") and not after_value
            self._check_turn(token, before, is_value or is_sign or token.text in ("(", "["), after_value)
            n_signs = n_signs + 1 if is_sign else 0
            written = "_" if is_value else token.text
            if written in _CLOSING:
                written = "[" if before.text == "in" else token.text
                closing.append((_CLOSING[token.text], _CLOSING[written]))
            elif written in (")", "]") or (token.kind == "end" and closing):
                wanted, written = closing.pop() if closing else ("", "")
                if token.text != wanted:
                    raise self._unexpected(repr(wanted) if wanted else _AN_END, token)
            if len(closing) + n_signs > MAX_DEPTH:
                raise self._too_deep(token)
            self.starts.append(len(source))
            source += f"{written} "
            before = token
        return f"{source})"

    def _check_turn(self, token: _Token, before: _Token, begins_value: bool, after_value: bool) -> None:
        """Values and operations take turns. Python itself would also understand calls and other things."""
        if begins_value and after_value and token.text == "(" and before.kind == "word":
            raise self._error(f"a comparison: nothing can be called here, got {before.text}(...)", before.place)
        if after_value and (begins_value or token.text in _ADVICE):
            raise self._unexpected(_AN_END, token)
        ends_list = before.text in ("(", "[", ",") and token.text in (")", "]")
        are_one = (before.text, token.text) in (("is", "not"), ("not", "in"))
        if not (begins_value or after_value or ends_list or are_one):
            raise self._unexpected(_A_VALUE, token)

    def _token(self, node: ast.expr) -> _Token:
        """The token that a node of Python's tree begins with."""
        return self.tokens[bisect_left(self.starts, node.col_offset)]

    def _value(self, token: _Token) -> Any:
        if token.kind == "number":
            return Constant(self._number(token))
        if token.kind == "string":
            return Constant(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
        if token.kind == "quoted":
            return Name(token.text[1:-1])
        return _CONSTANTS.get(token.text, Name(token.text))

    def _number(self, token: _Token) -> int | float:
        try:
            number = float(token.text) if re.search("[.eE]", token.text) else int(token.text)
            if abs(float(number)) < 1e300:
                return number
        except (ValueError, OverflowError):
            pass
        raise self._error(f"a number of a usual size, got {token.text[:30]!r}", token.place)

    # From Python's tree to ours

    def _formula(self, node: ast.expr) -> Formula:
        """What is true or false; a name alone means that it is true."""
        made = self._made(node)
        if isinstance(made, Name):
            return Compare("==", made, Constant(True))
        if isinstance(made, Constant) and isinstance(made.value, bool):
            return made.value
        if made is _MISSING or isinstance(made, (Constant, Arithmetic)):
            raise self._unexpected("a comparison", node.end_col_offset or 0)
        return made

    def _term(self, node: ast.expr) -> Any:
        made = self._made(node)
        if made is _MISSING:
            raise self._unexpected(_A_VALUE, node.col_offset)
        if not isinstance(made, (Constant, Name, Arithmetic)):
            raise self._unexpected("a value before, not a comparison in brackets", node.end_col_offset or 0)
        return made

    def _made(self, node: ast.expr) -> Any:
        """A node of Python's tree as one of ours; those that are not listed here are refused."""
        self.depth += 1
        if self.depth > MAX_TREE:
            raise self._too_deep(self._token(node))
        if isinstance(node, ast.Name):
            made = self._value(self._token(node))
        elif isinstance(node, ast.BoolOp):
            made = Join("and" if isinstance(node.op, ast.And) else "or", tuple(map(self._formula, node.values)))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            made = Not(self._formula(node.operand))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            made = joined("-", Constant(0), self._term(node.operand))
        elif isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
            made = joined(_SYMBOLS[type(node.op)], self._term(node.left), self._term(node.right))
        elif isinstance(node, ast.Compare):
            made = self._compared(node)
        else:
            raise self._unexpected(_A_VALUE, node.col_offset)
        self.depth -= 1
        return made

    def _compared(self, node: ast.Compare) -> Formula:
        """One comparison, or several in a row as in low <= x <= high."""
        parts: list[Formula] = []
        left = node.left
        for place, (sign, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            parts.append(self._comparison(left, sign, right))
            if not isinstance(parts[-1], Compare) and place < len(node.ops) - 1:
                raise self._unexpected(_AN_END, right.end_col_offset or 0)
            left = right
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def _comparison(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Formula:
        item = self._term(left)
        if isinstance(sign, (ast.In, ast.NotIn)):
            part = self._among(item, right)
        elif isinstance(right, ast.Name) and self._made(right) is _MISSING:
            part = Missing(item)
            if not isinstance(sign, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                raise self._unexpected("a value: what is missing has no order", right.col_offset)
        elif isinstance(sign, (ast.Is, ast.IsNot)):
            raise self._unexpected("'missing' after 'is'", right.col_offset)
        else:
            return Compare(_SYMBOLS[type(sign)], item, self._term(right))
        return Not(part) if isinstance(sign, (ast.NotIn, ast.IsNot, ast.NotEq)) else part

    def _among(self, item: Any, values: ast.expr) -> Formula:
        if not isinstance(values, ast.List):
            raise self._unexpected("a list of values in brackets after 'in'", values.col_offset)
        made = [self._made(value) for value in values.elts]
        for value, node in zip(made, values.elts, strict=True):
            if not isinstance(value, Constant) and value is not _MISSING:
                raise self._unexpected("values in a list, no names", node.col_offset)
        among = Among(item, tuple(dict.fromkeys(value.value for value in made if value is not _MISSING)))
        return Join("or", (among, Missing(item))) if _MISSING in made else among


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
