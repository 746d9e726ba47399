"""Constraints as texts: rules that state what an input must be, and their check against the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.checks import nearest
from fairprobe.domain.categorical import Ordinal
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import (
    Among,
    Arithmetic,
    Compare,
    Constant,
    Formula,
    Join,
    Missing,
    Name,
    Not,
    Operand,
    Rank,
    evaluate,
    is_listed,
    names_in,
)
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.restrictions import Constraint, Restrictions
from fairprobe.domain.rule_text import parse, text_of
from fairprobe.domain.values import plain
from fairprobe.domain.variables import as_operand, is_number
from fairprobe.errors import DataError, DomainError
from fairprobe.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rule:
    """A constraint as text: true of what is allowed.

    >>> Rule("age >= 18 or `marital-status` == 'Never-married'").matches({"age": [17], "marital-status": ["Divorced"]})
    array([False])
    """

    text: str
    parameters: tuple[Parameter, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    """The parameters of its domain, which define the order of values that are not numbers."""

    def __post_init__(self) -> None:
        parse(self.text)

    @cached_property
    def formula(self) -> Formula:
        """The text's tree, not yet checked against parameters."""
        return parse(self.text)

    def matches(self, frame: pd.DataFrame | Mapping[str, Sequence[Any]]) -> Mask:
        """Boolean mask of the rows for which it is true.

        A rule of a domain means what it means there. For a rule by itself, texts have an order only in a column that is
        an ordered categorical of pandas.

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
        operands = {name: _operand_of(frame[name]) for name in names}
        return evaluate(_ranked(self.formula, self.text, frame, operands), operands, len(frame))

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"


def _ranked(node: Any, text: str, frame: pd.DataFrame, operands: Mapping[str, Operand]) -> Any:
    """The formula with ranks in place of values that are compared by the order of an ordered categorical."""
    if isinstance(node, Not):
        return Not(_ranked(node.part, text, frame, operands))
    if isinstance(node, Join):
        return Join(node.word, tuple(_ranked(part, text, frame, operands) for part in node.parts))
    if not isinstance(node, Compare) or node.symbol in ("==", "!="):
        return node
    sides: tuple[Any, ...] = (node.left, node.right)
    orders = [_order_of(side, frame, operands) for side in sides]
    if orders == [None, None]:
        return node
    order = next((each for each in orders if each), ())
    fit = (
        s.value in order if isinstance(s, Constant) else each == order for s, each in zip(sides, orders, strict=True)
    )
    if not order or not all(fit):
        raise DataError(
            f"values compared by {node.symbol!r} in {text!r} must be numbers or have an order, got {text_of(node)}: "
            "give an ordered categorical of pandas, or take the rule from the constraints of a domain"
        )
    ranks = [Constant(order.index(s.value)) if isinstance(s, Constant) else Rank(s.name, order) for s in sides]
    return Compare(node.symbol, *ranks)


def _order_of(side: Any, frame: pd.DataFrame, operands: Mapping[str, Operand]) -> tuple[Any, ...] | None:
    """The ordered values of one side of a comparison; empty if they have no order, None if they are numbers."""
    if not isinstance(side, Name):
        return () if isinstance(getattr(side, "value", 0.0), (str, bool)) else None
    if getattr(frame[side.name].dtype, "ordered", False):
        values = tuple(map(plain, frame[side.name].cat.categories))
        return None if all(isinstance(value, (int, float)) for value in values) else values
    return () if is_listed(operands[side.name]) else None


def _operand_of(column: pd.Series[Any]) -> Operand:
    """A column as `evaluate` takes it."""
    import pandas as pd

    if column.dtype.kind in "iuf" and isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.float64)
    places, values = pd.factorize(column)
    return as_operand([*values, None])[places]


def checked(constraints: Iterable[Any], parameters: tuple[Parameter, ...] = ()) -> tuple[Rule | Constraint, ...]:
    """The constraints, with texts made into rules; anything that is neither text nor callable is refused."""
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


# Rules held against parameters


class _Binder:
    """Checks a rule against parameters: its names and values must exist, and only like values are compared."""

    def __init__(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        self.text = text
        self.parameters = parameters

    def error(self, rule: str) -> DomainError:
        return DomainError(f"constraint {self.text!r}: {rule}")

    def formula(self, node: Any) -> Formula:
        if isinstance(node, bool):
            raise self.error("a rule must say something about a parameter, got a truth value alone")
        if isinstance(node, Not):
            return Not(self.formula(node.part))
        if isinstance(node, Join):
            return Join(node.word, tuple(map(self.formula, node.parts)))
        if not names_in(node):
            raise self.error("every comparison must name a parameter, got one of constants")
        if isinstance(node, Missing):
            self.kind(node.item)
            return node
        if isinstance(node, Among):
            for value in node.values:
                self.comparison(Compare("==", node.item, Constant(value)))
            return node
        return self.comparison(node)

    def parameter(self, name: str) -> Parameter:
        if name not in self.parameters:
            known = list(self.parameters)
            raise self.error(f"a name must be that of a parameter, got {name!r}{nearest(name, known)}")
        return self.parameters[name]

    def kind(self, term: Any) -> str:
        """Whether a term is a number, or one of the values listed."""
        if isinstance(term, Constant):
            return "number" if isinstance(term.value, (int, float)) and not isinstance(term.value, bool) else "listed"
        if isinstance(term, Name):
            return "number" if is_number(self.parameter(term.name)) else "listed"
        for side in (term.left, term.right):
            if self.kind(side) != "number":
                raise self.error(f"only numbers can be reckoned with, got {text_of(side)}")
        return "number"

    def comparison(self, node: Compare) -> Compare:
        left, right = node.left, node.right
        if isinstance(left, Constant):  # the name first
            turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(node.symbol, node.symbol)
            return self.comparison(Compare(turned, right, left))
        kinds = self.kind(left), self.kind(right)
        if kinds == ("number", "number"):
            return Compare(node.symbol, left, right)
        if isinstance(left, Name) and kinds[0] == "listed" and isinstance(right, Constant):
            values = listed_values(self.parameter(left.name))
            if not any(type(value) is type(right.value) and value == right.value for value in values):
                near = nearest(right.value, values)
                raise self.error(f"{left.name!r} must be compared with one of its values, got {right.value!r}{near}")
        elif kinds[0] != kinds[1] or isinstance(left, Arithmetic):
            raise self.error(f"like must be compared with like, got {text_of(left)} and {text_of(right)}")
        return node if node.symbol in ("==", "!=") else self.ranked(node)

    def ranked(self, node: Compare) -> Compare:
        """A comparison by order of values that are not numbers, with ranks in their place."""
        assert isinstance(node.left, Name)
        parameter = self.parameter(node.left.name)
        if not isinstance(parameter, Ordinal):
            raise self.error(
                f"the values of {parameter.name!r} must have an order for {node.symbol!r}, got a {parameter.kind}"
            )
        values = tuple(listed_values(parameter))
        if isinstance(node.right, Constant):
            return Compare(node.symbol, Rank(parameter.name, values), Constant(values.index(node.right.value)))
        assert isinstance(node.right, Name)
        other = self.parameter(node.right.name)
        if not isinstance(other, Ordinal) or tuple(listed_values(other)) != values:
            raise self.error(f"{parameter.name!r} and {other.name!r} must have the same values in the same order")
        return Compare(node.symbol, Rank(parameter.name, values), Rank(other.name, values))


def listed_values(parameter: Parameter) -> Sequence[Any]:
    """The values of a parameter that is not a number, including values that are not compared."""
    if isinstance(parameter, Derived):
        # All that may follow: real rows may have a value of the source that is not compared.
        return [value for value in dict.fromkeys(parameter.mapping.values()) if value is not None]
    return getattr(parameter, "categories", ()) or getattr(parameter, "values", ())


def bind(rule: Rule, parameters: Sequence[Parameter]) -> Formula:
    """A rule's tree, checked against parameters."""
    return _Binder(rule.text, {parameter.name: parameter.own for parameter in parameters}).formula(rule.formula)
