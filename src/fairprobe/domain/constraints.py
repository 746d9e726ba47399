"""Constraints: what cannot be, as text or as callables over a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import nearest
from fairprobe.domain import radix
from fairprobe.domain.allowed import Block, TooManyError, Variable, as_operand, is_number, make_variable, operand
from fairprobe.domain.boxes import Part, make_part
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
from fairprobe.domain.extended import Extended, Held
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.rule_text import parse, text_of
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, DomainError
from fairprobe.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

Constraint = Callable[["pd.DataFrame"], Any]

PATIENCE = 1_000_000
"""How many candidates are drawn before a thin domain is given up."""

THINNEST = 1e-4
"""The smallest fraction of allowed candidates that sampling by rejection is good for."""

PROBE = 20_000
"""Candidates drawn to tell how thin a domain is that is sampled by rejection."""


@dataclass(frozen=True)
class Rule:
    """A constraint as text: true of what is allowed.

    >>> Rule("age >= 18 or `marital-status` == 'Never-married'").matches({"age": [17], "marital-status": ["Divorced"]})
    array([False])
    """

    text: str
    parameters: tuple[Parameter, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    """Those of the domain that it is a rule of: they know the order of values that are no numbers."""

    def __post_init__(self) -> None:
        parse(self.text)

    @cached_property
    def formula(self) -> Formula:
        """The text's tree, not yet held against parameters."""
        return parse(self.text)

    def matches(self, frame: pd.DataFrame | Mapping[str, Sequence[Any]]) -> Mask:
        """Of which rows it is true.

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
    """A formula in which values that are no numbers are compared by the order of their ordered categoricals."""
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
    """The values of one side of a comparison in their order, empty where they have none; None of numbers."""
    if not isinstance(side, Name):
        return () if isinstance(getattr(side, "value", 0.0), (str, bool)) else None
    if getattr(frame[side.name].dtype, "ordered", False):
        values = tuple(map(plain, frame[side.name].cat.categories))
        return None if all(isinstance(value, (int, float)) for value in values) else values
    return () if is_listed(operands[side.name]) else None


def _operand_of(column: pd.Series[Any]) -> Operand:
    """A column as rules see it: numbers as they are, of anything else each value looked at once."""
    import pandas as pd

    if column.dtype.kind in "iuf" and isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.float64)
    places, values = pd.factorize(column)
    return as_operand([*values, None])[places]


def checked(constraints: Iterable[Any], parameters: tuple[Parameter, ...] = ()) -> tuple[Rule | Constraint, ...]:
    """The constraints, texts as rules; what is neither text nor callable is refused."""
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
    """Holds a rule against parameters: names and values must be known, and what is compared must be alike."""

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
        """An order of values that are no numbers: that of an ordinal parameter."""
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
    """The values of a parameter that is no number, those included that are not compared."""
    if isinstance(parameter, Derived):
        # All that may follow: real rows may have a value of the source that is not compared.
        return [value for value in dict.fromkeys(parameter.mapping.values()) if value is not None]
    return getattr(parameter, "categories", ()) or getattr(parameter, "values", ())


def bind(rule: Rule, parameters: Sequence[Parameter]) -> Formula:
    """A rule held against parameters."""
    own = (parameter.base if isinstance(parameter, Extended) else parameter for parameter in parameters)
    return _Binder(rule.text, {parameter.name: parameter for parameter in own}).formula(rule.formula)


# What all of them allow


class Restrictions:
    """All that restricts a domain: rules in blocks of parameters that they tie together, and callables."""

    def __init__(
        self, parameters: Sequence[Parameter], rules: Sequence[Formula], callables: Sequence[Constraint]
    ) -> None:
        self._parameters = parameters
        self._names = [parameter.name for parameter in parameters]
        self._rules = list(rules)
        self.callables = tuple(callables)

    def also(self, rule: Formula) -> Restrictions:
        """With another rule."""
        return Restrictions(self._parameters, [*self._rules, rule], self.callables)

    def __bool__(self) -> bool:
        return bool(self._rules or self.callables)

    @cached_property
    def levels(self) -> Codes:
        """How many values each parameter may take; one that is derived has no choice."""
        return np.array([1 if isinstance(p, Derived) else p.levels for p in self._parameters], dtype=np.int64)

    @cached_property
    def blocks(self) -> list[Block | _Rejecting]:
        """The parameters that rules tie together, as tables where these are small enough."""
        return [self._block(columns, rules) for columns, rules in self._tied(self._rules)]

    def _tied(self, rules: Sequence[Formula]) -> list[tuple[list[int], list[Formula]]]:
        """Rules that share a parameter, directly or by way of others, with their parameters in domain order."""
        groups: list[tuple[set[int], list[Formula]]] = []
        for rule in rules:
            columns, mine = {self._source(name) for name in names_in(rule)}, [rule]
            apart = []
            for group in groups:
                if group[0] & columns:
                    columns, mine = columns | group[0], group[1] + mine
                else:
                    apart.append(group)
            groups = [*apart, (columns, mine)]
        return [(sorted(columns), mine) for columns, mine in groups]

    def _source(self, name: str) -> int:
        """The column that decides a name's value."""
        parameter = self._parameters[self._names.index(name)]
        return self._names.index(parameter.source if isinstance(parameter, Derived) else name)

    def _block(self, columns: Sequence[int], rules: Sequence[Formula]) -> Block | _Rejecting:
        try:
            return Block([self._variable(column, rules) for column in columns], (frozenset(rules),))
        except TooManyError:
            return _Rejecting(self, columns, rules)

    def parts(self, sensitive: Sequence[int], combinations: Codes, most: int) -> list[Part]:
        """Block by block, the boxes of what is not sensitive within which the same combinations are allowed.

        Raises:
            TooManyError: a block has more than `most`, or its table would be too large.
        """
        codes = np.zeros((len(combinations), len(self._parameters)), dtype=np.int64)
        codes[:, list(sensitive)] = combinations
        return [
            make_part([self._variable(column, rules) for column in columns], rules, sensitive, codes, most)
            for columns, rules in self._tied(self._rules)
        ]

    def _variable(self, column: int, rules: Sequence[Formula]) -> Variable:
        parameter = self._parameters[column]
        named = frozenset().union(*map(names_in, rules))
        derived = {
            other.name: other.by_code
            for other in self._parameters
            if isinstance(other, Derived) and other.source == parameter.name and other.name in named
        }
        return make_variable(column, parameter, derived, rules)

    def operands(self, names: Iterable[str], codes: Codes) -> dict[str, Operand]:
        """Parameters' values as rules see them."""
        found = {}
        for name in names:
            parameter = self._parameters[self._names.index(name)]
            found[name] = operand(parameter, codes[:, self._source(name)])
        return found

    def allows(self, codes: Codes, decode: Callable[[Codes], pd.DataFrame]) -> Mask:
        """Which inputs are allowed."""
        allowed = np.ones(len(codes), dtype=bool)
        for block in self.blocks:
            allowed &= block.allows(codes)
        if self.callables and allowed.any():
            allowed[allowed] = self.callables_hold(decode(codes[allowed]))
        return allowed

    @cached_property
    def named(self) -> frozenset[str]:
        """The parameters that rules name."""
        return frozenset().union(*map(names_in, self._rules)) if self._rules else frozenset()

    def hold(self, operands: Mapping[str, Operand], n: int) -> Mask:
        """Which of n inputs, or real rows, keep all rules, by the values of the parameters named."""
        kept = np.ones(n, dtype=bool)
        for rule in self._rules if n else ():
            kept &= evaluate(rule, operands, n)
        return kept

    def allows_rows(self, frame: pd.DataFrame) -> Mask:
        """Which real rows are allowed; their values may lie off the grid."""
        held = {name: Held.of(self._parameters[self._names.index(name)], frame[name]) for name in self.named}
        operands = {name: operand(each.parameter, each.codes) for name, each in held.items()}
        return self.hold(operands, len(frame)) & self.callables_hold(frame)

    def callables_hold(self, frame: pd.DataFrame) -> Mask:
        """Which rows all callables allow."""
        mask = np.ones(len(frame), dtype=bool)
        for constraint in self.callables if len(frame) else ():
            mask &= _answer(constraint, frame)
        return mask

    # Counting and sampling

    @cached_property
    def n(self) -> int | None:
        """How many inputs are allowed; None where only trying tells."""
        if self.callables or any(isinstance(block, _Rejecting) for block in self.blocks):
            return None
        tied = {column for block in self.blocks for column in block.columns}
        n = 1
        for column, n_levels in enumerate(self.levels.tolist()):
            n *= 1 if column in tied else n_levels
        for block in self.blocks:
            n *= block.n  # type: ignore[union-attr]  # all are tables
        return n

    @property
    def n_states(self) -> int:
        """How many states the tables have."""
        return sum(len(step.table) for block in self.blocks if isinstance(block, Block) for step in block.steps)

    def candidates(self, n: int, rng: np.random.Generator) -> Codes:
        """Inputs that the rules allow, drawn uniformly; callables have not been asked."""
        codes = radix.sample(n, self.levels, rng)
        for block in self.blocks:
            block.sample(codes, rng)
        return codes

    @cached_property
    def acceptance(self) -> float:
        """The part of the candidates that is kept, where some are drawn in vain: 1 where none are."""
        rng = np.random.default_rng(0)
        parts = [block.acceptance(rng) for block in self.blocks if isinstance(block, _Rejecting)]
        return float(np.prod(parts)) if parts else 1.0


class _Rejecting:
    """A block whose table would be too large: drawn until the rules hold, these columns alone."""

    def __init__(self, restrictions: Restrictions, columns: Sequence[int], rules: Sequence[Formula]) -> None:
        self._restrictions = restrictions
        self.columns = list(columns)
        self._rules = list(rules)
        self._named = sorted(frozenset().union(*map(names_in, rules)))

    def allows(self, codes: Codes) -> Mask:
        """Which inputs are allowed, as far as this block goes."""
        operands = self._restrictions.operands(self._named, codes)
        allowed = np.ones(len(codes), dtype=bool)
        for rule in self._rules:
            allowed &= evaluate(rule, operands, len(codes))
        return allowed

    def sample(self, codes: Codes, rng: np.random.Generator) -> None:
        """Write allowed values into the block's columns."""
        waiting, n_drawn, n_kept = np.arange(len(codes)), 0, 0
        while len(waiting):
            drawn = self._draw(max(len(waiting), 1024), codes.shape[1], rng)
            kept = drawn[self.allows(drawn)][: len(waiting)]
            for column in self.columns:
                codes[waiting[: len(kept)], column] = kept[:, column]
            waiting, n_drawn, n_kept = waiting[len(kept) :], n_drawn + len(drawn), n_kept + len(kept)
            if n_drawn >= PATIENCE and n_kept < THINNEST * n_drawn:
                raise too_thin(n_kept, n_drawn)

    def _draw(self, n: int, n_columns: int, rng: np.random.Generator) -> Codes:
        codes = np.zeros((n, n_columns), dtype=np.int64)
        codes[:, self.columns] = radix.sample(n, self._restrictions.levels[self.columns], rng)
        return codes

    def acceptance(self, rng: np.random.Generator) -> float:
        """The part of what is drawn that is kept."""
        return float(self.allows(self._draw(PROBE, len(self._restrictions.levels), rng)).mean())


def too_thin(n_kept: int, n_drawn: int) -> DomainError:
    """The refusal of a domain of which next to nothing is allowed, where that can only be tried."""
    return DomainError(
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
