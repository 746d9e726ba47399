"""Constraints as texts: rules that every allowed input satisfies; they are parsed and checked against parameters.

    `capital-gain` == 0 or `capital-loss` == 0
    relationship not in ('Husband', 'Wife') or `marital-status` == 'Married-civ-spouse'
    age - 18 >= `years-employed` and not (income is missing)

A name that is not a word stands in backticks, as in pandas' `query`. The grammar is a small part of Python's. A
placeholder of the same length replaces every name and value, so that places in the text stay, Python parses the
result, and its tree becomes ours. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Mask
from fairprobe.checks import nearest
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import (
    ARITHMETIC,
    COMPARISONS,
    ORDERS,
    Constant,
    Formula,
    Name,
    Operand,
    Operation,
    as_operand,
    changed,
    evaluate,
    in_order,
    is_listed,
    is_number,
    is_term,
    leaves_of,
    missing,
    names_in,
    negated,
    reckoned,
)
from fairprobe.domain.parameters import Ordinal, Parameter
from fairprobe.domain.restrictions import Constraint, Restrictions
from fairprobe.errors import DataError, DomainError
from fairprobe.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rule:
    """A constraint as text, which is true of every allowed input.

    >>> Rule("age >= 18 or `marital-status` == 'Never-married'").matches({"age": [17], "marital-status": ["Divorced"]})
    array([False])
    """

    text: str
    parameters: tuple[Parameter, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    """The parameters of the rule's domain, which define the order of values that are not numbers."""

    def __post_init__(self) -> None:
        parse(self.text)

    @cached_property
    def formula(self) -> Formula:
        """Return the rule's text as a tree of comparisons, not yet checked against parameters."""
        return parse(self.text)

    def matches(self, frame: pd.DataFrame | Mapping[str, Sequence[Any]]) -> Mask:
        """Return a boolean mask of the rows of a frame that satisfy the rule.

        The rule of a domain uses the orders of that domain's parameters. In a rule without a domain, texts have no
        order.

        Raises:
            DataError: a column is absent, or has no order where the rule needs one.

        >>> Rule("size >= 'M'", parameters=(Ordinal("size", ["S", "M", "L"]),)).matches({"size": ["S", "L", None]})
        array([False,  True, False])
        """
        import pandas as pd

        frame = pd.DataFrame(frame) if isinstance(frame, Mapping) else as_pandas(frame)
        names = names_in(self.formula)
        absent = [name for name in names if name not in frame]
        if absent:
            raise DataError(f"the data must have a column for every name in {self.text!r}, got none for {absent[0]!r}")
        if self.parameters and names:
            return Restrictions(self.parameters, [bind(self, self.parameters)], ()).allows_rows(frame)
        operands = {name: as_operand(frame[name].tolist()) for name in names}
        for leaf in leaves_of(self.formula):
            if leaf.symbol in ORDERS and any(_is_listed(side, operands) for side in leaf.parts):
                raise DataError(
                    f"values compared by {leaf.symbol!r} in {self.text!r} must be numbers, got {text_of(leaf)}: "
                    "take the rule from the constraints of a domain, where texts may have an order"
                )
        return evaluate(self.formula, operands, len(frame))

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"


def _is_listed(side: Any, operands: Mapping[str, Operand]) -> bool:
    """Return True if one side of a comparison has texts or truth values instead of numbers."""
    if isinstance(side, Name):
        return is_listed(operands[side.name])
    return isinstance(getattr(side, "value", 0.0), (str, bool))


def checked(constraints: Iterable[Any], parameters: tuple[Parameter, ...] = ()) -> tuple[Rule | Constraint, ...]:
    """Return constraints as a tuple, with texts made into rules that know the given parameters.

    Anything that is neither a text, a rule nor a callable is refused.
    """
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise DomainError.about("constraints", f"must be a list of texts or callables, got {constraints!r}")
    texts = (each.text if isinstance(each, Rule) else each for each in constraints)
    kept = tuple(Rule(each, parameters=parameters) if isinstance(each, str) else each for each in texts)
    for constraint in kept:
        if not isinstance(constraint, Rule) and not callable(constraint):
            raise DomainError(
                f"a constraint must be a text, or a callable that takes a frame of inputs, got {constraint!r}"
            )
    return kept


def rule_words(constraint: Rule | Constraint) -> str:
    """Return a constraint in words: the text of a rule, or the name of a function."""
    return constraint.text if isinstance(constraint, Rule) else getattr(constraint, "__name__", "a function")


# Rules read and written


MAX_LENGTH = 10_000
"""Largest number of characters of a rule; chosen: people read rules, so longer texts are mistakes or attacks."""

MAX_DEPTH = 120
"""Largest depth of nested operations in a rule; chosen: far fewer than would exhaust Python's recursion."""

_TOKENS = re.compile(
    r"\s*((?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?"  # a number
    r"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]+`"  # a text, and a name in backticks
    r"|[^\W\d]\w*|\*\*|==|!=|<=|>=|<<|>>|//|.|$)",
    re.DOTALL,
)
_SIGNS = re.compile(r"(?:and|or|not|in|is|==|!=|<=?|>=?|//?|[-+*%()\[\],])?")
_POWERS = "powers are not among the operations, which are + - * / // %"
_ADVICE = {"=": "write '==' to compare", "&": "write 'and'", "|": "write 'or'", "~": "write 'not'", "!": "write 'not'"}
_ADVICE |= {"**": _POWERS, "^": _POWERS, ".": "a name with a point stands in backticks"}

_MISSING = Constant(None)
_CONSTANTS = {"missing": _MISSING, "None": _MISSING}
_CONSTANTS |= {"True": Constant(True), "true": Constant(True), "False": Constant(False), "false": Constant(False)}
_KEYWORDS = {"and", "or", "not", "in", "is", *_CONSTANTS}

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SYMBOLS = dict(zip(_ARITHMETIC + _COMPARISONS, (*ARITHMETIC, *COMPARISONS), strict=True))
_SYMBOLS |= {ast.And: "and", ast.Or: "or"}
_NEGATED = {"in": "not in", "is": "is not"}
_GRAMMAR = (
    "it must consist of comparisons of names, numbers and texts in quotes, joined by 'and', 'or', 'not' and brackets"
)


def parse(text: str) -> Formula:
    """Return the tree of a rule's text. A text outside the grammar is refused, with the place of the mistake."""
    if not isinstance(text, str) or not text.strip():
        raise DomainError(f"a constraint must be a text that is not empty, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise DomainError(
            f"a constraint may have {MAX_LENGTH:,} characters at most, got {len(text):,}: {text[:40]!r}..."
        )
    reader = _Reader(text)
    try:
        return reader.formula(ast.parse(reader.source, mode="eval").body)
    except SyntaxError as error:
        advice = error.msg if re.search(r"[()\[\]]", error.msg) else ""
        raise reader.refusal((error.offset or 1) - 1, advice=advice) from None
    except (RecursionError, MemoryError):
        raise reader.refusal(0, f"its operations must be at most {MAX_DEPTH} deep") from None


class _Reader:
    """Parser of one rule's text.

    It walks the tree that Python's own parser makes of the rule, after `_` has replaced every name and value.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.depth = 0
        self.source = _TOKENS.sub(self._masked, self.text)

    def _masked(self, token: re.Match[str]) -> str:
        text = token[1]
        if _SIGNS.fullmatch(text):
            return token[0]
        if not re.match(r"\w|['\"`.].", text):
            raise self.refusal(token.start(1))
        return "_".ljust(len(text)).rjust(len(token[0]))

    def refusal(self, at: ast.expr | int, rule: str = _GRAMMAR, advice: str = "") -> DomainError:
        """Return the error for a rule's text, which names the position of the mistake.

        `at` is a node of Python's tree, or a position: then the mistake is the token at or after it.
        """
        token = self._token(at if isinstance(at, int) else at.col_offset)
        got, place = token[1], token.start(1)
        shown = self.text if len(self.text) <= 80 else self.text[max(0, place - 30) : place + 30]
        advice = _ADVICE.get(got, advice)
        shown_token = repr(got[:30]) if got else "the end"
        end = f": {advice}" if advice else ""
        return DomainError(f"constraint {shown!r}: {rule}, got {shown_token} at position {place + 1}{end}")

    def _token(self, place: int) -> re.Match[str]:
        """Return the match of the token at or after a position of the rule's text; its group 1 is empty at the end."""
        return next(_TOKENS.finditer(self.text, min(place, len(self.text))))

    def formula(self, node: ast.expr) -> Formula:
        """Return a node of Python's tree as a formula, which is true or false.

        A name alone means that the parameter's value is True.
        """
        made = self._made(node)
        if isinstance(made, Name):
            return Operation("==", (made, Constant(True)))
        if isinstance(made, Constant) and isinstance(made.value, bool):
            return made.value
        if is_term(made):
            raise self.refusal(node, "every part must be a comparison, not a value alone")
        return made

    def _term(self, node: ast.expr) -> Any:
        made = self._made(node)
        if made is _MISSING:
            raise self.refusal(node, advice="write 'is missing' after a name; what is missing has no order")
        if not is_term(made):
            raise self.refusal(node, "a comparison must be of values, not of other comparisons")
        return made

    def _made(self, node: ast.expr) -> Any:
        """Return a node of Python's tree as a node of a rule's tree; kinds of nodes outside the grammar are refused."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        match node:
            case ast.Name():
                made = self._value(node)
            case ast.BoolOp():
                made = Operation(_SYMBOLS[type(node.op)], tuple(map(self.formula, node.values)))
            case ast.UnaryOp(op=ast.Not()):
                made = negated(self.formula(node.operand))
            case ast.UnaryOp(op=ast.USub()):
                made = reckoned("-", Constant(0), self._term(node.operand))
            case ast.BinOp() if isinstance(node.op, _ARITHMETIC):
                made = reckoned(_SYMBOLS[type(node.op)], self._term(node.left), self._term(node.right))
            case ast.Compare():
                made = self._compared(node)
            case _:
                raise self.refusal(node, advice="nothing can be called here" if isinstance(node, ast.Call) else "")
        self.depth -= 1
        return made

    def _value(self, node: ast.Name) -> Any:
        text = self._token(node.col_offset)[1]
        if node.end_col_offset != node.col_offset + 1:  # two tokens without a space between them
            raise self.refusal(node.col_offset + len(text))
        if text[0] in "'\"":
            return Constant(re.sub(r"\\(.)", r"\1", text[1:-1]))
        if not re.match(r"[.\d]", text):
            return _CONSTANTS.get(text, Name(text.strip("`")))
        try:
            number = float(text) if re.search("[.eE]", text) else int(text)
            if abs(float(number)) < 1e300:
                return Constant(number)
        except (ValueError, OverflowError):
            pass
        raise self.refusal(node, "a number must be of a usual size")

    def _compared(self, node: ast.Compare) -> Formula:
        """Return the formula of one comparison, or of several in a row, such as low <= x <= high."""
        sides = [node.left, *node.comparators]
        if len(node.ops) > 1 and not all(isinstance(sign, _COMPARISONS) for sign in node.ops):
            raise self.refusal(node, "only == != < <= > >= can stand in a row")
        parts = tuple(map(self._comparison, sides, node.ops, sides[1:]))
        return parts[0] if len(parts) == 1 else Operation("and", parts)

    def _comparison(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Formula:
        item = self._term(left)
        if isinstance(sign, (ast.In, ast.NotIn)):
            part = self._among(item, right)
        elif isinstance(right, ast.Name) and self._made(right) is _MISSING and not isinstance(sign, _COMPARISONS[2:]):
            part = missing(item)
        elif isinstance(sign, (ast.Is, ast.IsNot)):
            raise self.refusal(right, "after 'is' there must be 'missing'")
        else:
            return Operation(_SYMBOLS[type(sign)], (item, self._term(right)))
        return negated(part) if isinstance(sign, (ast.NotIn, ast.IsNot, ast.NotEq)) else part

    def _among(self, item: Any, values: ast.expr) -> Formula:
        """Return the formula that is true if a value is in a list of values.

        Python's tree drops the brackets around a single value, so that they are looked up in the text.
        """
        is_single = isinstance(values, (ast.Name, ast.UnaryOp)) and self.source[: values.col_offset].rstrip().endswith(
            "("
        )
        if not is_single and not isinstance(values, (ast.List, ast.Tuple)):
            raise self.refusal(values, "after 'in' there must be a list of values in brackets")
        nodes = getattr(values, "elts", [values])
        made = list(map(self._made, nodes))
        names = [node for node, value in zip(nodes, made, strict=True) if not isinstance(value, Constant)]
        if names:
            raise self.refusal(names[0], "a list must hold values, no names")
        known = dict.fromkeys(value.value for value in made if value is not _MISSING)
        among = Operation("in", (item, Constant(tuple(known))))
        return Operation("or", (among, missing(item))) if _MISSING in made else among


def text_of(node: Any) -> str:
    """Return a rule's tree as a text that `parse` reads back as an equal tree.

    >>> text_of(parse("not (`a b` >= 3 and x in ('u', 'v')) or z is missing"))
    "not (`a b` >= 3 and x in ('u', 'v')) or z is missing"
    """
    if isinstance(node, Operation):
        return _operation_text(node.symbol, node.parts)
    if isinstance(node, Name):
        return node.name if re.fullmatch(r"[^\W\d]\w*", node.name) and node.name not in _KEYWORDS else f"`{node.name}`"
    return _value_text(node.value if isinstance(node, Constant) else node)


def _operation_text(symbol: str, parts: tuple[Any, ...]) -> str:
    if symbol == "not":
        inner = parts[0]
        if isinstance(inner, Operation) and inner.symbol in _NEGATED:
            return _operation_text(_NEGATED[inner.symbol], inner.parts)
        return f"not ({text_of(inner)})"
    if symbol == "==" and parts[1] == Constant(True) and isinstance(parts[1].value, bool):
        return text_of(parts[0])
    inside = ("and", "or") if symbol in ("and", "or") else ARITHMETIC if symbol in ARITHMETIC else ()
    texts = [f"({text_of(part)})" if getattr(part, "symbol", "") in inside else text_of(part) for part in parts]
    return f" {symbol} ".join(texts)


def _value_text(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value_text, value))})"
    if not isinstance(value, str):
        return repr(value)
    if "'" not in value and "\\" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\")
    return f'"{escaped}"' if '"' not in escaped else "'" + escaped.replace("'", "\\'") + "'"


# Rules held against parameters


class _Binder:
    """Checker of one rule against parameters: its names and values must exist.

    Numbers are compared only with numbers, and listed values only with values of the same list.
    """

    def __init__(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        self.text = text
        self.parameters = parameters

    def error(self, rule: str) -> DomainError:
        return DomainError(f"constraint {self.text!r}: {rule}")

    def parameter(self, name: str) -> Parameter:
        if name not in self.parameters:
            near = nearest(name, self.parameters)
            raise self.error(f"a name must be that of a parameter, got {name!r}{near}")
        return self.parameters[name]

    def is_number(self, term: Any) -> bool:
        """Return True if a term of the rule is a number, False if it is a text, truth value or listed value."""
        if isinstance(term, Constant):
            return isinstance(term.value, (int, float)) and not isinstance(term.value, bool)
        if isinstance(term, Name):
            return is_number(self.parameter(term.name))
        for side in term.parts:
            if not self.is_number(side):
                raise self.error(f"only numbers can be reckoned with, got {text_of(side)}")
        return True

    def leaf(self, leaf: Operation) -> Operation:
        """Return a comparison of a rule, checked against the parameters, with a name on the left.

        Listed values that have an order are compared by their places in it.
        """
        left, right = leaf.parts
        if not names_in(leaf):
            raise self.error("every comparison must name a parameter, got one of constants")
        if leaf.symbol == "in":
            for value in right.value:
                self.leaf(Operation("==", (left, Constant(value))))
            return leaf
        if isinstance(left, Constant):
            return self.leaf(Operation(ORDERS.get(leaf.symbol, leaf.symbol), (right, left)))
        is_known = self.is_number(left)
        if leaf.symbol == "is" or is_known is self.is_number(right) is True:
            return leaf
        if isinstance(left, Name) and not is_known and isinstance(right, Constant):
            values = listed_values(self.parameter(left.name))
            if not any(type(value) is type(right.value) and value == right.value for value in values):
                near = nearest(right.value, values)
                raise self.error(f"{left.name!r} must be compared with one of its values, got {right.value!r}{near}")
        elif is_known is not self.is_number(right) or isinstance(left, Operation):
            raise self.error(f"like must be compared with like, got {text_of(left)} and {text_of(right)}")
        return in_order(leaf, self.order(leaf)) if leaf.symbol in ORDERS else leaf

    def order(self, leaf: Operation) -> tuple[Any, ...]:
        """Return the values of the compared `Ordinal` parameters in their common order.

        Parameters without an order, or with different ones, are refused.
        """
        sides = [self.parameter(side.name) for side in leaf.parts if isinstance(side, Name)]
        first, *others = [(side, tuple(listed_values(side))) for side in sides]
        for side, values in (first, *others):
            if not isinstance(side, Ordinal):
                raise self.error(
                    f"the values of {side.name!r} must have an order for {leaf.symbol!r}, got a {side.kind}"
                )
            if values != first[1]:
                raise self.error(f"{sides[0].name!r} and {side.name!r} must have the same values in the same order")
        return first[1]


def listed_values(parameter: Parameter) -> Sequence[Any]:
    """Return the listed values of a categorical or derived parameter, including values that are not compared."""
    if isinstance(parameter, Derived):
        # All that may follow: real rows may have a value of the source that is not compared.
        return [value for value in dict.fromkeys(parameter.mapping.values()) if value is not None]
    return getattr(parameter, "categories", ()) or getattr(parameter, "values", ())


def bind(rule: Rule, parameters: Sequence[Parameter]) -> Formula:
    """Return a rule's tree, checked against the parameters of a domain; order comparisons of texts use their order."""
    binder = _Binder(rule.text, {parameter.name: parameter.own for parameter in parameters})
    bound = changed(rule.formula, binder.leaf)
    if isinstance(bound, bool):
        raise binder.error("a rule must say something about a parameter, got a truth value alone")
    return bound
