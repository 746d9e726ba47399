"""Random small worlds: a domain, its constraints, two models and real rows, as plain Python values.

Nothing here knows the package. A world comes from a `random.Random`, so that a seed gives it again on any machine, and
Hypothesis, whose `randoms()` is one too, can shrink it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import zlib
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
"""Values in the columns' order; None is no value."""

WORDS = ("ann", "bob", "cat", "dot", "eve")
PARTS = ((1.0, 0.0, 0.0), (0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.125, 0.125, 0.75), (0.0, 0.5, 0.5))
"""Probabilities of three classes, in eighths: sums and differences of them are exact."""

MAX_SIZE = 400


@dataclass(frozen=True)
class Column:
    """One parameter: its values in order, whether it may be missing, and how it is written."""

    name: str
    kind: str
    values: Row
    missing: bool = False
    dtype: str = ""
    bounds: tuple[Any, Any, Any] | None = None
    """Low, high and step, of numbers on a grid."""

    @property
    def is_number(self) -> bool:
        return all(isinstance(value, (int, float)) for value in self.values)


@dataclass(frozen=True)
class Rule:
    """A constraint: `pairs` allows the listed pairs of values of two columns, `implies` says what goes with a value,

    `most` bounds a number, `apart` forbids that two columns are equal, `never` forbids all.
    """

    kind: str
    columns: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Model:
    """What a model answers. It looks at the columns `uses`; at those of `rare` only on one in `one_in` of the rest.

    With `spot`, all it sees of a column is whether that has this value. `linear` adds up a number for each value,
    `table` draws one for each row. `logistic` and `tree` are models of scikit-learn that say the same; `changed` is a
    subclass with a rule of its own.
    """

    kind: str
    output: str
    classes: tuple[Any, ...]
    salt: int
    uses: tuple[int, ...]
    rare: tuple[int, ...] = ()
    one_in: int = 1
    spot: tuple[int, Any] | None = None
    weights: tuple[float, ...] = ()
    changed: tuple[int, Any, int, Any] | None = None
    """The columns and values, sensitive then free, at which a subclass of scikit-learn's model answers otherwise."""
    known: dict[Row, Any] = field(default_factory=dict, compare=False, repr=False)
    """Answers given already."""


@dataclass(frozen=True)
class World:
    """Everything that a world has."""

    columns: tuple[Column, ...]
    sensitive: tuple[tuple[str, Row | None], ...]
    """The names, and the values to compare where they are listed."""
    rules: tuple[Rule, ...]
    model: Model
    other: Model
    rows: tuple[Row, ...]
    threshold: float
    batch: str | None
    form: str
    """`function` or `predict`: how a model is called."""
    strategy: str
    confidence: float
    limit: float
    """The share that a verdict allows."""
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def is_fitted(self) -> bool:
        """Whether the models are scikit-learn's."""
        return self.model.kind in ("logistic", "tree")


# What a world's rules and models say


def holds(rule: Rule, row: Row) -> bool:
    """Whether a rule allows a row."""
    if rule.kind == "never":
        return False
    first = row[rule.columns[0]]
    if rule.kind == "most":
        return first is None or first <= rule.values[0]
    second = row[rule.columns[1]]
    if rule.kind == "pairs":
        return (first, second) in rule.values
    if rule.kind == "apart":
        return first is None or second is None or first != second
    return first != rule.values[0] or second == rule.values[1]


def answer(model: Model, row: Row) -> Any:
    """What a model says of a row: a label, a number, or the probabilities of the classes."""
    if row not in model.known:
        model.known[row] = _answer(model, row)
    return model.known[row]


def _answer(model: Model, row: Row) -> Any:
    number = _number(model, row)
    if model.output == "label":
        return model.classes[number % len(model.classes)]
    return PARTS[number % len(PARTS)] if model.output == "proba" else (number % 9) / 8


def _number(model: Model, row: Row) -> int:
    if model.kind == "logistic":
        number = int(math.fsum(w * float(v) for w, v in zip(model.weights, (1.0, *row), strict=True)) > 0)
    else:
        seen = _seen(model, row)
        parts = [_hash(model.salt, part) % 5 for part in seen]
        number = sum(parts) // 3 if model.kind == "linear" else _hash(model.salt, seen)
    if model.changed is not None:
        column, value, free, other = model.changed
        number += row[column] == value and row[free] == other
    return number


def _seen(model: Model, row: Row) -> Row:
    hidden: tuple[int, ...] = ()
    if model.rare:
        rest = tuple(value for column, value in enumerate(row) if column not in model.rare)
        hidden = model.rare if _hash(model.salt + 1, rest) % model.one_in else ()
    values = [(column, row[column]) for column in model.uses if column not in hidden]
    if model.spot is not None:
        spot, value = model.spot
        values = [(column, own == value if column == spot else own) for column, own in values]
    return tuple(values)


def _hash(salt: int, value: Any) -> int:
    """The same on every machine, and for 1, 1.0 and True."""
    return zlib.crc32(repr((salt, _plain(value))).encode()) >> 3


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    return float(value) if isinstance(value, (bool, int, float)) else value


# Making worlds


def make_world(rng: Any) -> World:
    """A random world."""
    fitted = rng.random() < 0.12
    columns, sensitive = _columns(rng, fitted)
    places = [index for index, column in enumerate(columns) if column.name in dict(sensitive)]
    output = "label" if fitted else rng.choice(("label",) * 5 + ("score", "value", "proba"))
    model = _model(rng, columns, places, output, fitted)
    return World(
        columns=columns,
        sensitive=sensitive,
        rules=_rules(rng, columns, places),
        model=model,
        other=_model(rng, columns, places, output, fitted, model),
        rows=tuple(_row(rng, columns, places, fitted) for _ in range(rng.randint(1, 14))),
        threshold=rng.choice((0.0, 0.25, 0.25, 0.5)) if output != "label" else 0.0,
        batch=None if fitted else rng.choice((None, None, "frame", "array")),
        form=rng.choice(("function", "predict")),
        strategy=rng.choice(("uniform", "anchored", "fully-directed", "fully-directed", "random", "semi-directed")),
        confidence=rng.choice((0.95, 0.9, 0.99)),
        limit=rng.choice((0.0, 0.0, 0.05, 0.2, 0.5, 0.9)),
        seed=rng.randrange(1000),
    )


def _columns(rng: Any, fitted: bool) -> tuple[tuple[Column, ...], tuple[tuple[str, Row | None], ...]]:
    n_sensitive = rng.choice((1, 1, 2))
    n_free = rng.randint(1, 3)
    columns = [_column(rng, f"s{i}", rng.randint(2, 4), fitted) for i in range(n_sensitive)]
    columns += [_column(rng, f"x{i}", rng.randint(1, 5), fitted) for i in range(n_free)]
    while math.prod(len(column.values) + column.missing for column in columns) > MAX_SIZE:
        columns.pop()
    sensitive = [(column.name, _listed(rng, column)) for column in columns[:n_sensitive]]
    rng.shuffle(columns)
    rng.shuffle(sensitive)
    return tuple(columns), tuple(sensitive)


def _column(rng: Any, name: str, n: int, fitted: bool) -> Column:
    missing = not fitted and rng.random() < 0.25
    kind = rng.choice(("integer", "real", "ordinal") if fitted else ("integer", "real", "category", "ordinal"))
    if kind == "integer":
        step = rng.choice((1, 1, 2, 5))
        low = rng.randint(-3, 5)
        bounds = (low, low + (n - 1) * step + rng.randrange(step), step)
        values = tuple(low + step * i for i in range(n))
        return Column(name, kind, values, missing, "" if fitted else rng.choice(("", "", "Int64")), bounds)
    if kind == "real":
        step = rng.choice((0.25, 0.5) if fitted else (0.25, 0.5, 0.1))
        low = round(rng.randint(-3, 3) * step, 6)
        values = tuple(round(low + step * i, 6) for i in range(n))
        return Column(name, kind, values, missing, "", (low, values[-1], step))
    pools: tuple[Row, ...] = ((3, 1, 4, 0, 7), (0.5, 2.0, 1.25, -1.0, 3.5))
    if not fitted:
        pools += (WORDS, WORDS, (False, True), ("ann", 2, "bob", 5, "dot"))
    pool = list(rng.choice(pools))
    rng.shuffle(pool)
    values = tuple(pool[:n])
    dtype = rng.choice(("", "category")) if all(isinstance(value, str) for value in values) else ""
    return Column(name, kind, values, missing, dtype)


def _listed(rng: Any, column: Column) -> Row | None:
    """Values to compare, in any order; or None for all of them."""
    values: list[Any] = [*column.values, None] if column.missing else list(column.values)
    if rng.random() < 0.5 and not (column.missing and len(column.values) < 2):
        return None
    rng.shuffle(values)
    return tuple(values[: rng.randint(2, max(2, len(values) - 1))])


def _rules(rng: Any, columns: tuple[Column, ...], places: list[int]) -> tuple[Rule, ...]:
    if rng.random() < 0.4:
        return ()
    if rng.random() < 0.04:
        return (Rule("never"),)
    return tuple(_rule(rng, columns, places) for _ in range(rng.choice((1, 1, 2))))


def _rule(rng: Any, columns: tuple[Column, ...], places: list[int]) -> Rule:
    sensitive = rng.choice(places)
    free = rng.choice([index for index in range(len(columns)) if index != sensitive])
    if rng.random() < 0.5:
        free, sensitive = sensitive, free
    values = [(*column.values, None) if column.missing else column.values for column in columns]
    kind = rng.choice(("pairs", "determined", "implies", "implies", "most", "apart"))
    if kind == "pairs":
        pairs = itertools.product(values[sensitive], values[free])
        return Rule("pairs", (sensitive, free), tuple(pair for pair in pairs if rng.random() < 0.7))
    if kind == "determined":  # each value of the one goes with one value of the other
        turn = rng.randrange(4)
        pairs = (
            (values[sensitive][(place + turn) % len(values[sensitive])], value)
            for place, value in enumerate(values[free])
        )
        return Rule("pairs", (sensitive, free), tuple(pairs))
    if kind == "most" and columns[free].is_number:
        return Rule("most", (free,), (rng.choice(columns[free].values),))
    if kind == "apart":
        return Rule("apart", (sensitive, free))
    return Rule("implies", (sensitive, free), (rng.choice(values[sensitive]), rng.choice(values[free])))


def _model(
    rng: Any, columns: tuple[Column, ...], places: list[int], output: str, fitted: bool, like: Model | None = None
) -> Model:
    rest = [index for index in range(len(columns)) if index not in places]
    classes = rng.choice((("no", "yes"), (0, 1), (False, True), ("a", "b", "c"), (-1, 1, 7)))
    if like is not None:
        classes = like.classes
    elif fitted:
        classes = rng.choice(((0, 1), ("no", "yes")))
    salt = rng.randrange(10_000)
    uses = tuple(index for index in range(len(columns)) if rng.random() < (0.9 if index in places else 0.6))
    if fitted:
        weights = (rng.choice((-0.0625, 0.0625)) + rng.randint(-2, 2), *(rng.randint(-2, 2) for _ in columns))
        changed = None
        if rng.random() < 0.5:
            sensitive, free = rng.choice(places), rng.choice(rest)
            changed = (sensitive, rng.choice(columns[sensitive].values), free, rng.choice(columns[free].values))
        kind = rng.choice(("logistic", "tree")) if like is None else like.kind
        return Model(kind, output, classes, salt, uses, weights=tuple(map(float, weights)), changed=changed)
    rare, spot = (), None
    how = rng.choice(("plain", "plain", "rare", "spot", "blind"))
    if how == "blind":
        uses = tuple(index for index in uses if index in rest)
    elif how == "rare":
        rare = tuple(places)
    elif how == "spot":
        place = rng.choice(places)
        spot = (place, rng.choice((*columns[place].values, None)))
        uses = tuple(sorted({*uses, place}))
    kind = rng.choice(("table", "table", "linear"))
    return Model(kind, output, classes, salt, uses, rare, rng.randint(2, 5) if rare else 1, spot)


def _row(rng: Any, columns: tuple[Column, ...], places: list[int], fitted: bool) -> Row:
    return tuple(_value(rng, column, index in places, fitted) for index, column in enumerate(columns))


def _value(rng: Any, column: Column, is_sensitive: bool, fitted: bool) -> Any:
    """A value of the column's, at times one from outside, off the grid, or none at all."""
    chance = rng.random()
    if chance < 0.1 and (is_sensitive or not fitted):
        return None
    if chance < 0.2 and not fitted and column.dtype == "":
        outside = _outside(rng, column)
        if outside is not None:
            return outside
    return rng.choice(column.values)


def _outside(rng: Any, column: Column) -> Any:
    if column.bounds is not None:
        low, high, step = column.bounds
        return rng.choice((low - step, high + 2 * step, low + step / 4))
    if all(isinstance(value, bool) for value in column.values):
        return None
    return "zoe" if any(isinstance(value, str) for value in column.values) else 9


def shown(world: World) -> str:
    """A world as text, a field a line, to be read and to be pasted."""
    lines = [f"    {field.name}={getattr(world, field.name)!r}," for field in dataclasses.fields(world)]
    return "\n".join(["World(", *lines, ")"])
