"""Constraints as texts: rules that state what an input must be, and their check against the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Mask
from fairprobe.checks import nearest
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import (
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
    leaves_of,
    names_in,
)
from fairprobe.domain.parameters import Ordinal, Parameter
from fairprobe.domain.restrictions import Constraint, Restrictions
from fairprobe.domain.rule_text import parse, text_of
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

        A rule of a domain means what it means there. In a rule by itself, texts have no order.

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
    """Whether one side of a comparison has texts or truth values instead of numbers."""
    if isinstance(side, Name):
        return is_listed(operands[side.name])
    return isinstance(getattr(side, "value", 0.0), (str, bool))


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


def rule_words(constraint: Rule | Constraint) -> str:
    """The text of a rule, or the name of a function."""
    return constraint.text if isinstance(constraint, Rule) else getattr(constraint, "__name__", "a function")


# Rules held against parameters


class _Binder:
    """Checks a rule against parameters: its names and values must exist, and only like values are compared."""

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
        """Whether a term is a number, not one of the values listed."""
        if isinstance(term, Constant):
            return isinstance(term.value, (int, float)) and not isinstance(term.value, bool)
        if isinstance(term, Name):
            return is_number(self.parameter(term.name))
        for side in term.parts:
            if not self.is_number(side):
                raise self.error(f"only numbers can be reckoned with, got {text_of(side)}")
        return True

    def leaf(self, leaf: Operation) -> Operation:
        """A comparison, with the name first, and by places where its values have an order."""
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
        """The order of the values that are compared."""
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
    """The values of a parameter that is not a number, including values that are not compared."""
    if isinstance(parameter, Derived):
        # All that may follow: real rows may have a value of the source that is not compared.
        return [value for value in dict.fromkeys(parameter.mapping.values()) if value is not None]
    return getattr(parameter, "categories", ()) or getattr(parameter, "values", ())


def bind(rule: Rule, parameters: Sequence[Parameter]) -> Formula:
    """A rule's tree, checked against parameters."""
    binder = _Binder(rule.text, {parameter.name: parameter.own for parameter in parameters})
    bound = changed(rule.formula, binder.leaf)
    if isinstance(bound, bool):
        raise binder.error("a rule must say something about a parameter, got a truth value alone")
    return bound
