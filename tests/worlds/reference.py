"""Every number of a world, by brute force: plain loops over tuples. It shares no code with the package."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.stats import beta, binom, t
from world import Column, Model, Row, World, WorldLink, answer, holds

MIN_COMPARABLE = 0.9


@dataclass
class Count:
    """A population counted."""

    n: int = 0
    hits: int = 0
    n_not_comparable: int = 0
    n_left_out: int = 0
    outcomes: Counter[tuple[Row, Any]] = field(default_factory=Counter)
    """For the hits: by combination of sensitive values, how often its members get which outcome."""
    hit_rows: list[tuple[int, bool]] = field(default_factory=list)
    """The number of each input that is comparable, and whether it is a hit."""
    verdicts: list[bool] = field(default_factory=list)
    """Of the inputs that are comparable, in order: whether it is a hit."""

    @property
    def comparable(self) -> float:
        """The part of the population that can be compared."""
        whole = self.n + self.n_not_comparable + self.n_left_out
        return self.n / whole if whole else 0.0


class Reference:
    def __init__(self, world: World) -> None:
        self.world = world
        self.names = world.names
        self.sensitive = tuple(name for name, _ in world.sensitive)
        self.place = {name: self.names.index(name) for name in self.names}
        columns = {column.name: column for column in world.columns}
        self.compared: dict[str, Row] = {
            name: columns[name].values if listed is None else _in_order(listed) for name, listed in world.sensitive
        }
        self._allowed: dict[Row, bool] = {}
        self.hidden = [self.place[name] for name in world.hidden]

    @cached_property
    def inputs(self) -> list[Row]:
        """All inputs of the domain, constraints aside, in order; none whose values links do not let go together."""
        derived = {column: (source, dict(pairs)) for column, source, pairs in self.world.derived}
        levels = [
            (None,)
            if index in derived
            else self.compared.get(column.name, (*column.values, None) if column.missing else column.values)
            for index, column in enumerate(self.world.columns)
        ]
        rows = []
        for values in itertools.product(*levels):
            row = list(values)
            for column, (source, pairs) in derived.items():
                row[column] = pairs.get(row[source])
            rows.append(tuple(row))
        return [row for row in rows if self.goes_together(row)]

    def is_allowed(self, row: Row) -> bool:
        """Whether no constraint, and no link's table, forbids it."""
        if row not in self._allowed:
            self._allowed[row] = all(holds(rule, row) for rule in self.world.rules) and self.goes_together(row)
        return self._allowed[row]

    @cached_property
    def valid(self) -> list[Row]:
        return [row for row in self.inputs if self.is_allowed(row)]

    def goes_together(self, row: Row) -> bool:
        """Whether every linked value has a role with the row's sensitive values."""
        return all(self.role(link, row) is not None for link in self.world.links)

    def role(self, link: WorldLink, row: Row) -> Any:
        """The part that a row's value plays; None if its values do not go together."""
        own, tied = row[link.column], row[link.sensitive]
        if link.roles:
            named = {player for role in link.roles for _, player in role}
            if own not in named:
                return "itself", own
            return next(((place,) for place, role in enumerate(link.roles) if (tied, own) in role), None)
        if own is None:
            return "missing", None
        added = link.added(tied, self.step(link))
        return None if added is None else ("number", round(own - added, 6))

    def step(self, link: WorldLink) -> Any:
        return self.world.columns[link.column].bounds[2]

    def player(self, link: WorldLink, row: Row, value: Any) -> tuple[bool, Any]:
        """Whether somebody plays the row's part with another sensitive value, and who."""
        role = self.role(link, row)
        if role is None:
            return False, None
        if role[0] in ("itself", "missing"):
            return True, role[1]
        if role[0] == "number":
            low, high, step = self.world.columns[link.column].bounds
            difference = link.added(value, step) - link.added(row[link.sensitive], step)
            moved = row[link.column] + difference
            if difference == 0:
                return True, row[link.column]
            return low - 1e-9 <= moved <= high + 1e-9, self.on_grid(link, moved)
        found = dict(link.roles[role[0]]).get(value)
        return found is not None, found

    def on_grid(self, link: WorldLink, number: Any) -> Any:
        """The very number of the grid, where it is one."""
        near = [value for value in self.world.columns[link.column].values if abs(value - number) < 1e-9]
        return near[0] if near else number

    def changed(self, row: Row, names: tuple[str, ...], values: Row) -> Row | None:
        """The row with other values of some parameters, and with what changes along; None if there is nobody."""
        new = list(row)
        for name, value in zip(names, values, strict=True):
            new[self.place[name]] = value
        for link in self.world.links:
            if self.names[link.sensitive] in names:
                exists, player = self.player(link, row, new[link.sensitive])
                if not exists:
                    return None
                new[link.column] = player
        for column, source, pairs in self.world.derived:
            if new[source] != row[source]:
                new[column] = dict(pairs).get(new[source])
        return tuple(new)

    def combinations(self, names: tuple[str, ...]) -> list[Row]:
        return list(itertools.product(*(self.compared[name] for name in names)))

    def seen(self, row: Row) -> Row:
        return tuple(None if index in self.hidden else value for index, value in enumerate(row))

    def members(self, row: Row, names: tuple[str, ...], population: str) -> list[tuple[Row, Row]]:
        """Those of a row's family that are compared, each with its combination, in domain order.

        A row that is itself among them needs no constraint's leave; in the domain as a whole none does.
        """
        if not self.goes_together(row):
            return []
        found = []
        for values in self.combinations(names):
            member = self.changed(row, names, values)
            if member is None:
                continue
            is_itself = all(member[self.place[name]] == row[self.place[name]] for name in self.sensitive)
            if population == "domain" or is_itself or self.is_allowed(member):
                found.append((values, member))
        return found

    def is_left_out(self, row: Row) -> bool:
        """Whether a sensitive value is missing where none is compared."""
        return any(row[self.place[name]] is None and None not in self.compared[name] for name in self.sensitive)

    def gap(self, outputs: list[Any]) -> float:
        if self.world.model.output == "label":
            return float(any(output != outputs[0] for output in outputs))
        if self.world.model.output == "proba":
            return max(max(column) - min(column) for column in zip(*outputs, strict=True))
        return max(outputs) - min(outputs)

    def is_hit(self, outputs: list[Any]) -> bool:
        return len(outputs) >= 2 and self.gap(outputs) > self.world.threshold

    def population(self, name: str) -> list[Row]:
        return {"domain": self.inputs, "valid": self.valid, "rows": list(self.world.rows)}[name]

    def count(
        self, model: Model, population: str, names: tuple[str, ...] | None = None, inputs: Iterable[Row] | None = None
    ) -> Count:
        """Count a population (all of it, or the inputs given) for a set of sensitive parameters (all, by default)."""
        names = self.sensitive if names is None else names
        count = Count()
        for place, row in enumerate(self.population(population) if inputs is None else inputs):
            if population == "rows" and self.is_left_out(row):
                count.n_left_out += 1
                continue
            members = self.members(row, names, population)
            if not self.is_comparable([member for _, member in members]):
                count.n_not_comparable += 1
                continue
            outputs = [answer(model, member) for _, member in members]
            hit = self.is_hit(outputs)
            count.n += 1
            count.verdicts.append(hit)
            count.hit_rows.append((place, hit))
            if hit:
                count.hits += 1
                self._note(count, [values for values, _ in members], outputs)
        return count

    def _note(self, count: Count, combinations: list[Row], outputs: list[Any]) -> None:
        for values, output in zip(combinations, outputs, strict=True):
            for outcome in self._outcomes(output, outputs):
                count.outcomes[values, outcome] += 1

    def _outcomes(self, output: Any, outputs: list[Any]) -> Iterator[Any]:
        """A label, the likeliest class by its position, or the end of the numbers that it is."""
        if self.world.model.output == "label":
            yield output
        elif self.world.model.output == "proba":
            yield max(range(len(output)), key=lambda position: (output[position], -position))
        else:
            if output == min(outputs):
                yield "lowest"
            if output == max(outputs):
                yield "highest"

    def has_outcome(self, output: Any, name: str) -> bool:
        """Whether an output is the outcome of a name; for probabilities, whether the last class is the likeliest."""
        if self.world.model.output == "label":
            return str(output) == name
        return max(range(len(output)), key=lambda position: (output[position], -position)) == len(output) - 1

    @cached_property
    def families(self) -> dict[Any, list[Row]]:
        """The allowed members, in domain order, of each family that has one; by what they share."""
        found: dict[Any, list[Row]] = {}
        for row in self.valid:
            if self.key(row) not in found:
                members = [self.changed(row, self.sensitive, values) for values in self.combinations(self.sensitive)]
                found[self.key(row)] = [each for each in members if each is not None and self.is_allowed(each)]
        return found

    def key(self, row: Row) -> Any:
        """What a row has in common with its twins."""
        fixed = {self.place[name] for name in self.sensitive} | {column for column, _, _ in self.world.derived}
        linked = {link.column for link in self.world.links}
        free = tuple(value for index, value in enumerate(row) if index not in fixed | linked)
        return free, tuple(self.role(link, row) for link in self.world.links)

    @cached_property
    def cases(self) -> dict[Row, list[Row]]:
        model = self.world.model
        families = self.families.items()
        return {key: members for key, members in families if self.is_hit([answer(model, each) for each in members])}

    def is_comparable(self, members: list[Row]) -> bool:
        """Whether two of them are different rows to the model."""
        return len(set(map(self.seen, members))) > 1

    def started(self, row: Row) -> Row | None:
        """The input that a search starts from, given a real row; None if there is none.

        Numbers go to the grid. With a sensitive value that is none of those compared, it is the first member of its
        family that counts, if it can be one with its other sensitive values. One that is unknown leaves it out.
        """
        if self.is_left_out(row):
            return None
        own = {name: self._sensitive_value(name, row) for name in self.sensitive}
        start: Row = row
        if any(value not in self.compared[name] for name, value in own.items()):
            members = self.members(row, self.sensitive, "rows")
            listed = [
                member
                for values, member in members
                if all(
                    own[name] not in self.compared[name] or own[name] == value
                    for name, value in zip(self.sensitive, values, strict=True)
                )
            ]
            candidates = listed or [member for _, member in members]
            if not candidates:
                return None
            start = candidates[0]
        on_grid = []
        for column, value in zip(self.world.columns, start, strict=True):
            if column.kind == "derived":
                on_grid.append(None)
                continue
            listed_values = dict(self.world.sensitive).get(column.name)
            if column.bounds is not None and listed_values is None and value is not None:
                value = self._on_grid(column, value)
            levels = self.compared.get(column.name, (*column.values, None) if column.missing else column.values)
            if value not in levels:
                return None
            on_grid.append(levels[levels.index(value)])
        for column, source, pairs in self.world.derived:
            on_grid[column] = dict(pairs).get(on_grid[source])
        return tuple(on_grid) if self.is_allowed(tuple(on_grid)) else None

    def _sensitive_value(self, name: str, row: Row) -> Any:
        """As it is compared: on the grid, where values are not listed."""
        column, value = self.world.columns[self.place[name]], row[self.place[name]]
        if column.bounds is None or value is None or dict(self.world.sensitive)[name] is not None:
            return value
        return self._on_grid(column, value)

    def _on_grid(self, column: Column, value: Any) -> Any:
        nearest = min(column.values, key=lambda own: abs(own - value))
        return nearest if abs(nearest - value) <= column.bounds[2] / 2 else value

    def twin(self, case: Row, members: list[Row]) -> tuple[Row, int | None]:
        """The first member at the other end of the largest gap from a case, and the class that has it.

        A case that is no end itself is a wrong one: a ValueError.
        """
        outputs = [answer(self.world.model, member) for member in members]
        if case not in members:
            raise ValueError(f"{case} is none of the members {members}")
        own = outputs[members.index(case)]
        if self.world.model.output == "label":
            return next(member for member, output in zip(members, outputs, strict=True) if output != own), None
        position = None
        if self.world.model.output == "proba":
            spans = [max(column) - min(column) for column in zip(*outputs, strict=True)]
            position = spans.index(max(spans))
            outputs = [output[position] for output in outputs]
            own = own[position]
        if own not in (min(outputs), max(outputs)):
            raise ValueError(f"{case} is at no end of {outputs}")
        end = max(outputs) if own == min(outputs) else min(outputs)
        return members[outputs.index(end)], position


def _in_order(listed: Row) -> Row:
    """As listed, the missing value last."""
    return tuple(sorted(listed, key=lambda value: value is None))


@cache
def clopper_pearson(hits: int, n: int, error: float) -> tuple[float, float]:
    """The exact bounds of a share, each with the chance `error` to be wrong."""
    if not n:
        return 0.0, 1.0
    low = float(beta.ppf(error, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.isf(error, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def rates(verdicts: list[bool], n_samples: int) -> list[float]:
    firsts = range(0, len(verdicts) - n_samples + 1, n_samples)
    return [sum(verdicts[first : first + n_samples]) / n_samples for first in firsts]


def mean_interval(shares: list[float], confidence: float) -> tuple[float, float]:
    """Student's interval of the mean of some experiments' shares."""
    mean = sum(shares) / len(shares)
    variance = sum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    reach = float(t.isf((1 - confidence) / 2, len(shares) - 1)) * math.sqrt(variance / len(shares))
    return max(0.0, mean - reach), min(1.0, mean + reach)


def weighted(
    hits: list[bool], weights: list[float], groups: list[Any], error: float
) -> tuple[float, tuple[float, float]]:
    """The weighted share, and Gaffke's bounds over groups, each at an error, by drawing: good to two digits."""
    rows_of: dict[Any, list[int]] = {}
    for place, name in enumerate(groups):
        rows_of.setdefault(name, []).append(place)
    each = [sum(weights[i] for i in rows) for rows in rows_of.values()]
    mine = [sum(weights[i] for i in rows if hits[i]) for rows in rows_of.values()]
    kept = [place for place, weight in enumerate(each) if weight]
    each, mine = [each[place] for place in kept], [mine[place] for place in kept]
    if not each:
        return math.nan, (0.0, 1.0)
    others = [weight - hit for weight, hit in zip(each, mine, strict=True)]
    return sum(mine) / sum(each), (1 - _gaffke(each, others, error), _gaffke(each, mine, error))


def _gaffke(weights: list[float], hits: list[float], error: float) -> float:
    if len(weights) < 2 or hits == weights:
        return 1.0
    further = sum(weight**3 for weight in weights) / sum(weight**2 for weight in weights)
    parts = np.random.default_rng(0).exponential(size=(20_000, len(weights) + 1))
    share = parts @ np.array([*hits, further]) / (parts @ np.array([*weights, further]))
    alike = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    return max(float(np.quantile(share, 1 - error)), 1 - error ** (1 / alike))


def verdict(count: Count, bounds: tuple[float, float], limit: float) -> str:
    low, high = bounds
    if low > limit or (limit == 0 and count.hits):
        return "violated"
    return "passed" if high <= limit and count.comparable >= MIN_COMPARABLE else "inconclusive"


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact p-value of McNemar's test."""
    n, few = only_a + only_b, min(only_a, only_b)
    return min(1.0, 2 * float(binom.cdf(few, n, 0.5))) if n else 1.0
