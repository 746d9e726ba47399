"""Random small worlds: a domain, its constraints, two models and real rows, as plain Python values.

Nothing here knows the package. A world comes from a `random.Random`, so that a seed gives it again on any machine, and
Hypothesis, whose `randoms()` is one too, can shrink it.
"""

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

    @property
    def is_plain_number(self) -> bool:
        """Truth values are none."""
        return self.is_number and not any(isinstance(value, bool) for value in self.values)


@dataclass(frozen=True)
class Rule:
    """A constraint: `pairs` allows the listed pairs of values of two columns, `implies` says what goes with a value,

    `most` bounds a number, `apart` forbids that two columns are equal, `never` forbids all. `less` wants the first
    number below the second, `sum` the first two no more than the third together; what is missing keeps neither.
    """

    kind: str
    columns: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class WorldLink:
    """What a column, by its number, changes to along with a sensitive one: by roles, or by numbers added."""

    column: int
    sensitive: int
    roles: tuple[tuple[tuple[Any, Any], ...], ...] = ()
    """Each the pairs of a sensitive value and who plays the role with it."""
    shift: tuple[tuple[Any, Any], ...] = ()
    per: Any = None

    def added(self, value: Any, step: Any) -> Any:
        """What is added with a sensitive value; None if that is not known."""
        if self.per is not None:
            return None if value is None else math.floor(round(self.per * value / step, 9) + 0.5) * step
        return dict(self.shift).get(value)


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
    are_texts: bool = False
    """Whether rules are given as text, where they can be said so."""
    links: tuple[WorldLink, ...] = ()
    hidden: tuple[str, ...] = ()
    derived: tuple[tuple[int, int, tuple[tuple[Any, Any], ...]], ...] = ()
    """A derived column's number, its source's, and the pairs of a value of the source and what follows."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def is_fitted(self) -> bool:
        return self.model.kind in ("logistic", "tree")


def holds(rule: Rule, row: Row) -> bool:
    if rule.kind == "never":
        return False
    first = row[rule.columns[0]]
    if rule.kind == "most":
        return first is None or first <= rule.values[0]
    second = row[rule.columns[1]]
    if rule.kind == "less":
        return first is not None and second is not None and first < second
    if rule.kind == "sum":
        third = row[rule.columns[2]]
        return None not in (first, second, third) and first + second <= third
    if rule.kind == "pairs":
        return (first, second) in rule.values
    if rule.kind == "apart":
        return first is None or second is None or first != second
    return first != rule.values[0] or second == rule.values[1]


def rule_text(rule: Rule, columns: tuple[Column, ...]) -> str | None:
    """A rule as text; None if it cannot be said so."""
    names = [columns[column].name for column in rule.columns]
    if rule.kind == "never" or (rule.kind == "pairs" and not rule.values):
        return None
    if rule.kind == "most" and not columns[rule.columns[0]].is_plain_number:
        return None
    if rule.kind == "most":
        return f"{names[0]} <= {rule.values[0]!r} or {names[0]} is missing"
    if rule.kind == "less":
        return f"{names[0]} < {names[1]}"
    if rule.kind == "sum":
        return f"{names[0]} + {names[1]} <= {names[2]}"
    if rule.kind == "pairs":
        return " or ".join(f"({_equals(names[0], a)} and {_equals(names[1], b)})" for a, b in rule.values)
    if rule.kind == "apart":
        alike = len({columns[column].is_plain_number for column in rule.columns}) == 1
        return f"{names[0]} != {names[1]}" if alike else None
    return f"not ({_equals(names[0], rule.values[0])}) or {_equals(names[1], rule.values[1])}"


def _equals(name: str, value: Any) -> str:
    return f"{name} is missing" if value is None else f"{name} == {value!r}"


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


def make_world(rng: Any) -> World:
    fitted = rng.random() < 0.12
    columns, sensitive = _columns(rng, fitted)
    places = [index for index, column in enumerate(columns) if column.name in dict(sensitive)]
    output = "label" if fitted else rng.choice(("label",) * 5 + ("score", "value", "proba"))
    model = _model(rng, columns, places, output, fitted)
    world = World(
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
    return _enriched(rng, world, places) if rng.random() < 0.6 else world


def _enriched(rng: Any, world: World, places: list[int]) -> World:
    """More of it: text, numbers compared, what is derived, linked and hidden."""
    world = dataclasses.replace(world, are_texts=rng.random() < 0.8)
    numbers = [index for index, column in enumerate(world.columns) if column.is_plain_number]
    if len(numbers) > 1 and rng.random() < 0.3:
        kind = "sum" if len(numbers) > 2 and rng.random() < 0.5 else "less"
        rule = Rule(kind, tuple(rng.sample(numbers, 3 if kind == "sum" else 2)))
        world = dataclasses.replace(world, rules=(*world.rules, rule))
    if not world.is_fitted and rng.random() < 0.35:
        world = _with_derived(rng, world)
    if rng.random() < 0.7:
        world = _with_links(rng, world, places)
    if not world.is_fitted and rng.random() < 0.3:
        world = _with_hidden(rng, world, places)
    return world


def _with_derived(rng: Any, world: World) -> World:
    source = rng.randrange(len(world.columns))
    values = rng.choice(((1, 2, 3), ("low", "high")))
    pairs = [(value, rng.choice(values)) for value in world.columns[source].values]
    if world.columns[source].missing and rng.random() < 0.5:
        pairs.append((None, rng.choice(values)))
    listed = tuple(dict.fromkeys(value for _, value in pairs))
    parent = world.columns[source]
    column = Column("d0", "derived", listed, missing=parent.missing and len(pairs) == len(parent.values))
    place = len(world.columns)
    known = dict(pairs)
    rows = tuple((*row, rng.choice(values) if rng.random() < 0.3 else known.get(row[source])) for row in world.rows)
    rules = world.rules
    if rng.random() < 0.3:
        other = rng.randrange(place)
        rules = (*rules, Rule("implies", (place, other), (rng.choice(listed), rng.choice(world.columns[other].values))))
    models = [
        dataclasses.replace(model, uses=(*model.uses, place) if rng.random() < 0.7 else model.uses, known={})
        for model in (world.model, world.other)
    ]
    return dataclasses.replace(
        world,
        columns=(*world.columns, column),
        rows=rows,
        rules=rules,
        model=models[0],
        other=models[1],
        derived=((place, source, tuple(pairs)),),
    )


def _with_links(rng: Any, world: World, places: list[int]) -> World:
    derived = [column for column, _, _ in world.derived]
    free = [index for index in range(len(world.columns)) if index not in places and index not in derived]
    links = [_link(rng, world, column, rng.choice(places)) for column in free if rng.random() < 0.6]
    return dataclasses.replace(world, links=tuple(link for link in links if link is not None))


def _link(rng: Any, world: World, column: int, sensitive: int) -> WorldLink | None:
    linked, tied = world.columns[column], world.columns[sensitive]
    listed = dict(world.sensitive)[tied.name]
    compared = tied.values if listed is None else tuple(value for value in listed if value is not None)
    if linked.bounds is not None and rng.random() < 0.5:
        step = linked.bounds[2]
        if None in (listed or ()):
            return None
        if tied.is_plain_number and rng.random() < 0.4:
            return WorldLink(column, sensitive, per=rng.choice((-1, 1, 0.5, 2)) * step)
        known = dict.fromkeys((*compared, *(value for value in tied.values if rng.random() < 0.7)))
        if tied.bounds is not None:
            known = dict.fromkeys(compared)
        return WorldLink(column, sensitive, shift=tuple((value, rng.randint(-2, 2) * step) for value in known))
    keys = [value for value in compared if rng.random() < 0.9]
    if tied.bounds is None:
        keys += [value for value in tied.values if value not in compared and rng.random() < 0.5]
    players = {key: rng.sample(linked.values, len(linked.values)) for key in keys}
    roles = []
    for _ in range(rng.randint(1, max(1, len(linked.values) - 1))):
        role = tuple((key, players[key].pop()) for key in keys if players[key] and rng.random() < 0.85)
        if role:
            roles.append(role)
    return WorldLink(column, sensitive, roles=tuple(roles)) if roles else None


def _with_hidden(rng: Any, world: World, places: list[int]) -> World:
    hidden = [index for index in places if rng.random() < 0.7]
    models = [
        dataclasses.replace(
            model, uses=tuple(index for index in model.uses if index not in hidden), rare=(), spot=None, known={}
        )
        for model in (world.model, world.other)
    ]
    names = tuple(world.columns[index].name for index in hidden)
    return dataclasses.replace(world, hidden=names, model=models[0], other=models[1])


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
