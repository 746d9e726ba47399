"""Inside a model whose every answer is known: the nodes of its trees, or the coefficients, that tell twins apart.

Only the known classes are looked into, as they were shipped (`model/known.py`), alone or at the end of a pipeline whose
steps work column by column (`model/tables.py`). Nothing is asked of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.explanation.evidence import Evidence
from fairprobe.model.known import known_kind
from fairprobe.model.tables import Seen, Table, UnfitError
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

TOP = 20
"""Nodes that are kept, the strongest."""

OTHERS = 10
"""Coefficients of other columns that are kept, for scale."""

MOST_MEMBERS = 5_000
"""Members of cases whose paths are followed; of more cases, as many as that are taken evenly."""

SHOWN = 3
"""Nodes and coefficients that are told one by one."""

N_CATEGORIES = 256
"""More than a boosting by histograms can tell apart."""


@dataclass(frozen=True)
class SplitNode:
    """A node of a tree that splits on a parameter in which twins differ."""

    tree: int
    node: int
    depth: int
    parameter: str
    condition: str
    """Who goes left, in the model's own feature."""
    left: str
    right: str
    """The values of the parameter that go either way."""
    path: str
    """What leads to the node; nothing at the root."""
    mass: float
    """The fraction of the cases' members that pass it."""
    parted: float
    """The fraction of the cases whose members go both ways there."""


@dataclass(frozen=True)
class Total:
    """All that a parameter in which twins differ does in a model's trees."""

    parameter: str
    n_nodes: int
    """Nodes that split on it."""
    n_trees: int
    """Trees that have one."""
    mass: float
    """The fraction of the cases' members that pass one at least."""
    per_member: float
    """How many a member passes, on average."""


@dataclass(frozen=True)
class Weight:
    """A coefficient of a linear model."""

    parameter: str | None
    """The one in which twins differ that makes the column; None of other columns."""
    feature: str
    outcome: Any
    """The class whose score it adds to; None for numbers."""
    coefficient: float
    effect: float
    """How far it moves the score over the cases' members: the coefficient times the column's range there."""


@dataclass(frozen=True, repr=False)
class Inside:
    """Where a model tells twins apart."""

    model: str
    """The class at its end."""
    n_members: int
    """Members of cases that were looked at."""
    n_trees: int = 0
    n_nodes: int = 0
    """Nodes of all trees that split."""
    nodes: tuple[SplitNode, ...] = ()
    """The strongest: those that most cases part at, then those that most members pass."""
    totals: tuple[Total, ...] = ()
    weights: tuple[Weight, ...] = ()
    """Of a linear model: those of the columns in which twins differ, then the largest others."""

    @property
    def table(self) -> pd.DataFrame:
        """A row a node, or a coefficient."""
        import pandas as pd

        kind = SplitNode if self.n_trees else Weight
        rows = [asdict(each) for each in (self.nodes if self.n_trees else self.weights)]
        return pd.DataFrame(rows, columns=list(kind.__dataclass_fields__))

    def sentences(self) -> list[str]:
        """What there is to say, the most important first."""
        return [*map(self._total_words, self.totals), *map(_node_words, self.nodes[:SHOWN]), *self._weight_words()]

    def _total_words(self, total: Total) -> str:
        said = f"{total.n_nodes:,} of {self.n_nodes:,} nodes, in {total.n_trees:,} of {self.n_trees:,} trees, "
        said += f"split on {total.parameter}"
        if not total.n_nodes or not self.n_members:
            return said
        return f"{said}; {percent(total.mass)} of the cases' members pass one, {total.per_member:.3g} on average"

    def _weight_words(self) -> Iterator[str]:
        if self.n_trees:
            return
        mine = [each for each in self.weights if each.parameter is not None]
        others = [each for each in self.weights if each.parameter is None]
        if not mine:
            yield "no column of the linear model depends on what twins differ in"
        for each in mine[:SHOWN]:
            yield f"{_weight_words(each)}, by {each.parameter}"
        if mine and others:
            yield f"of the other columns, {_weight_words(others[0])}"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        figures = ("model", "n_members", "n_trees", "n_nodes")
        return {
            **{name: getattr(self, name) for name in figures},
            **{name: [asdict(each) for each in getattr(self, name)] for name in ("nodes", "totals", "weights")},
            "sentences": self.sentences(),
        }

    def __repr__(self) -> str:
        return f"Inside({'; '.join(self.sentences())})"


def inside_of(evidence: Evidence) -> Inside | None:
    """The nodes that split on what twins differ in and the mass of cases that passes each, or the coefficients.

    Twins differ in the sensitive parameters and, where there are links, in what changes along. None for a model that is
    not known, is no tree, ensemble of trees or linear one, or whose columns do not come from one parameter each.
    """
    if known_kind(evidence.model) is None:
        return None
    try:
        view = _View(evidence)
        trees = list(_trees(view.seen.final))
        if trees:
            return _inside_trees(view, trees)
        return _inside_linear(view) if (known_kind(view.seen.final) or "").endswith("linear") else None
    except UnfitError:
        return None


class _View:
    """The cases' members as the estimator at the end sees them, and which of its columns twins differ in."""

    def __init__(self, evidence: Evidence) -> None:
        asker = evidence.oracle.asker
        self.domain: Domain = evidence.domain
        output = "value" if asker.output == "value" else "label"
        self.seen = Seen(evidence.model, self.domain, np.float64, evidence.batch, output)
        self.names = _names(self.seen)
        encoder = getattr(self.seen.final, "_preprocessor", None)
        if encoder is not None:  # boosting by histograms encodes categories itself, and puts their columns first
            first = np.asarray(self.seen.final.is_categorical_)
            self.names = [*np.array(self.names)[first].tolist(), *np.array(self.names)[~first].tolist()]
            self.seen.steps.append(encoder)
        varying = [name for name in self.domain.families.varying if name not in self.domain.hidden]
        every = np.ones(len(self.seen.base), dtype=bool)
        self.tables = {name: self.seen.table(self.domain.names.index(name), every) for name in varying}
        self.owner = np.full(len(self.seen.base), -1)
        """By column, the place of its parameter among those in which twins differ; -1 of other columns."""
        for place, table in enumerate(self.tables.values()):
            if (self.owner[table.columns] >= 0).any():
                raise UnfitError("a column that the preprocessing makes depends on more than one parameter")
            self.owner[table.columns] = place
        if len(self.names) != len(self.owner):
            self.names = [f"column {column}" for column in range(len(self.owner))]
        self.members, self.case = _members(evidence)

    @property
    def parameters(self) -> list[str]:
        """In which twins differ, and which the model takes."""
        return list(self.tables)

    def values(self, parameter: str, levels: Mask) -> str:
        """Some of a parameter's values, in words."""
        codes = np.flatnonzero(levels)
        named = [str(plain(value)) for value in self.domain[parameter].decode(codes[:SHOWN])]
        return ", ".join(named) + (f" and {len(codes) - SHOWN:,} more" if len(codes) > SHOWN else "")


def _members(evidence: Evidence) -> tuple[Codes, Codes]:
    """The members of the cases that exist and are allowed, and the number of the case that each is of."""
    cases, families = evidence.cases, evidence.domain.families
    most = max(1, MOST_MEMBERS // len(families))
    if evidence.n_cases > most:
        cases = cases.take(np.linspace(0, evidence.n_cases - 1, most).astype(np.int64), cases.codes.dtype)
    numbers = np.tile(np.arange(len(cases.codes)), len(families))
    if not evidence.n_cases:
        return cases.codes, numbers
    members = cases.members(families)
    present = np.ones(len(numbers), dtype=bool) if members.present is None else members.present.ravel()
    return members.rows[present], numbers[present]


def _names(seen: Seen) -> list[str]:
    """The estimator's columns by the names that the steps before it give them; none where they give none."""
    names: Any = [name for name in seen.order if name not in seen.domain.hidden]
    try:
        for step in seen.steps:
            names = step.get_feature_names_out(names)
    except (AttributeError, ValueError):
        return []
    return [str(name) for name in names]


# Trees


@dataclass(frozen=True)
class _Tree:
    """One tree as flat arrays."""

    left: Codes
    """Where to go if the test holds; -1 at a leaf."""
    right: Codes
    column: Codes
    threshold: Floats
    missing_left: Mask
    dtype: type
    """What it makes of its rows."""
    lists: Codes | None = None
    """By node, which of the lists of categories go left; -1 of a node that tests a number."""
    listed: Mask | None = None
    """By list, then category."""
    known: dict[int, Mask] | None = None
    """By column of categories, which were known when it was fitted: others are taken for missing."""

    def goes_left(self, nodes: Codes, values: NDArray[Any]) -> Mask:
        """Where a value at each node leads."""
        values = values.astype(self.dtype).astype(np.float64)
        missing, left = np.isnan(values), values <= self.threshold[nodes]
        if self.lists is not None and self.listed is not None and self.known is not None:
            is_list = self.lists[nodes] >= 0
            category = np.where(is_list & ~missing & (values >= 0), values, 0).astype(np.int64) % N_CATEGORIES
            left = np.where(is_list, self.listed[self.lists[nodes], category], left)
            for column, known in self.known.items():
                missing |= is_list & (self.column[nodes] == column) & ((values < 0) | ~known[category])
        return np.where(missing, self.missing_left[nodes], left)

    def visits(self, rows: NDArray[Any]) -> Iterator[tuple[Codes, Codes, Mask]]:
        """Level by level: the rows that are at a node which splits, these nodes, and who goes left."""
        active, at = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
        while True:
            inner = self.left[at] >= 0
            active, at = active[inner], at[inner]
            if not len(active):
                return
            goes_left = self.goes_left(at, rows[active, self.column[at]])
            yield active, at, goes_left
            at = np.where(goes_left, self.left[at], self.right[at])

    def words(self, node: int, name: str, *, goes_left: bool = True) -> str:
        """What a node asks, or its contrary."""
        if self.lists is not None and self.listed is not None and self.lists[node] >= 0:
            codes = ", ".join(map(str, np.flatnonzero(self.listed[self.lists[node]])))
            return f"{name} {'in' if goes_left else 'not in'} ({codes})"
        return f"{name} {'<=' if goes_left else '>'} {self.threshold[node]:.6g}"


def _trees(final: Any) -> Iterator[_Tree]:
    """The trees of an estimator, in order; none if it is no tree and not made of trees."""
    kind = (known_kind(final) or "").removeprefix("regression-")
    if kind == "tree":
        yield _of_tree(final.tree_)
    elif kind == "forest":
        for member in final.estimators_:
            yield _of_tree(member.tree_)
    elif kind == "boosting":
        for member in final.estimators_.ravel():
            yield _of_tree(member.tree_)
    elif kind == "histogram-boosting":
        yield from _of_histograms(final)
    elif kind == "vote":
        for member in final.estimators_:
            trees = list(_trees(member)) if getattr(member, "_preprocessor", None) is None else []
            if not trees:
                raise UnfitError(f"a vote is looked into where all that vote are trees, got {type(member).__name__}")
            yield from trees


def _of_tree(tree: Any) -> _Tree:
    return _Tree(
        left=np.asarray(tree.children_left, dtype=np.int64),
        right=np.asarray(tree.children_right, dtype=np.int64),
        column=np.asarray(tree.feature, dtype=np.int64),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        missing_left=np.asarray(tree.missing_go_to_left, dtype=bool),
        dtype=np.float32,
    )


def _of_histograms(final: Any) -> Iterator[_Tree]:
    """Those of boosting by histograms, which may list categories."""
    try:
        bitsets, places = final._bin_mapper.make_known_categories_bitsets()
        is_list = np.asarray(final._bin_mapper.is_categorical_, dtype=bool)
        known = {int(column): _bits(bitsets[[places[column]]])[0] for column in np.flatnonzero(is_list)}
        predictors = [tree for stage in final._predictors for tree in stage]
        for tree in predictors:
            nodes, listed = tree.nodes, _bits(tree.raw_left_cat_bitsets)
            inner = nodes["is_leaf"] == 0
            yield _Tree(
                left=np.where(inner, nodes["left"].astype(np.int64), -1),
                right=np.where(inner, nodes["right"].astype(np.int64), -1),
                column=nodes["feature_idx"].astype(np.int64),
                threshold=nodes["num_threshold"].astype(np.float64),
                missing_left=nodes["missing_go_to_left"].astype(bool),
                dtype=np.float64,
                lists=np.where(inner & (nodes["is_categorical"] == 1), nodes["bitset_idx"].astype(np.int64), -1),
                listed=listed if len(listed) else np.zeros((1, N_CATEGORIES), dtype=bool),
                known=known,
            )
    except (AttributeError, ValueError, IndexError) as error:  # these are no public attributes
        raise UnfitError(f"this version's boosting by histograms is built otherwise: {error}") from error


def _bits(bitsets: NDArray[Any]) -> Mask:
    """By row, then number from 0 to 255: whether its bit is set."""
    words = np.asarray(bitsets, dtype=np.uint32).reshape(-1, N_CATEGORIES // 32)
    return np.asarray((words[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1, dtype=bool).reshape(-1, N_CATEGORIES)


@dataclass(frozen=True)
class _Passed:
    """What the cases' members do in one tree."""

    members: Codes
    """By node, how many pass."""
    parted: Codes
    """By node, how many cases part, where that is looked at."""
    n_met: Codes
    """By parameter in which twins differ, then member: how many nodes that split on it."""


def _passed(tree: _Tree, rows: NDArray[Any], case: Codes, owner: Codes, n_kinds: int) -> _Passed:
    """Follow all members through a tree; `owner` is by node the parameter that it splits on."""
    n_nodes, n_cases = len(tree.left), int(case.max(initial=-1)) + 1
    nobody = np.zeros(n_nodes, dtype=np.int64)
    passed = _Passed(nobody, nobody.copy(), np.zeros((n_kinds, len(rows)), dtype=np.int64))
    for active, at, goes_left in tree.visits(rows):
        passed.members[:] += np.bincount(at, minlength=n_nodes)
        mine = owner[at] >= 0
        passed.n_met[owner[at[mine]], active[mine]] += 1
        # Members of a case that are at one node are there at the same time.
        places = at[mine] * n_cases + case[active[mine]]
        both = np.intersect1d(places[goes_left[mine]], places[~goes_left[mine]])
        passed.parted[:] += np.bincount(both // max(1, n_cases), minlength=n_nodes)
    return passed


def _inside_trees(view: _View, trees: Sequence[_Tree]) -> Inside:
    rows = view.seen.rows(view.members) if len(view.members) else np.zeros((0, len(view.owner)))
    n, n_cases, kinds = len(rows), max(1, int(view.case.max(initial=-1)) + 1), view.parameters
    n_met = np.zeros((len(kinds), n), dtype=np.int64)
    n_nodes = np.zeros((len(trees), len(kinds)), dtype=np.int64)
    found: list[tuple[float, float, int, int]] = []
    for number, tree in enumerate(trees):
        owner = np.where(tree.left >= 0, view.owner[tree.column], -1)
        splits = np.flatnonzero(owner >= 0)
        n_nodes[number] = np.bincount(owner[splits], minlength=len(kinds))
        if len(splits):
            passed = _passed(tree, rows, view.case, owner, len(kinds))
            n_met += passed.n_met
            parted, mass = passed.parted[splits] / n_cases, passed.members[splits] / max(1, n)
            found += [(-each[0], -each[1], number, each[2]) for each in zip(parted, mass, splits.tolist(), strict=True)]
    return Inside(
        model=type(view.seen.final).__name__,
        n_members=n,
        n_trees=len(trees),
        n_nodes=int(sum((tree.left >= 0).sum() for tree in trees)),
        nodes=tuple(
            _node(view, trees[number], number, node, float(-mass), float(-parted))
            for parted, mass, number, node in sorted(found)[:TOP]
        ),
        totals=tuple(
            Total(
                name,
                int(n_nodes[:, place].sum()),
                int((n_nodes[:, place] > 0).sum()),
                mass=float((n_met[place] > 0).mean()) if n else 0.0,
                per_member=float(n_met[place].mean()) if n else 0.0,
            )
            for place, name in enumerate(kinds)
        ),
    )


def _node(view: _View, tree: _Tree, number: int, node: int, mass: float, parted: float) -> SplitNode:
    """A node in words, with the path that leads to it."""
    path: list[str] = []
    below = node
    while below:
        is_left = below in tree.left
        above = int(np.flatnonzero((tree.left if is_left else tree.right) == below)[0])
        path.append(tree.words(above, view.names[tree.column[above]], goes_left=is_left))
        below = above
    column = int(tree.column[node])
    parameter = view.parameters[view.owner[column]]
    goes_left = _levels_left(view.tables[parameter], tree, node)
    return SplitNode(
        number,
        node,
        len(path),
        parameter,
        tree.words(node, view.names[column]),
        view.values(parameter, goes_left),
        view.values(parameter, ~goes_left),
        " and ".join(reversed(path)),
        mass,
        parted,
    )


def _levels_left(table: Table, tree: _Tree, node: int) -> Mask:
    """Which of a parameter's values go left at a node."""
    values = table.values[:, np.flatnonzero(table.columns == tree.column[node])[0]]
    return tree.goes_left(np.full(len(values), node), values)


# Linear models


def _inside_linear(view: _View) -> Inside:
    final = view.seen.final
    coefficients = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64))
    if coefficients.shape[1] != len(view.owner):
        raise UnfitError("the model's coefficients are not one for each of its columns")
    rows = view.seen.rows(view.members) if len(view.members) else view.seen.base[None]
    ranges = rows.max(axis=0) - rows.min(axis=0)
    classes = np.asarray(getattr(final, "classes_", [None])).tolist()
    outcomes = classes[-1:] if len(coefficients) == 1 else classes
    weights = [
        Weight(
            None if view.owner[column] < 0 else view.parameters[view.owner[column]],
            view.names[column],
            outcome,
            float(coefficient),
            abs(float(coefficient * ranges[column])),
        )
        for outcome, row in zip(outcomes, coefficients, strict=True)
        for column, coefficient in enumerate(row)
    ]
    weights.sort(key=lambda each: (-each.effect, -abs(each.coefficient)))
    mine = [each for each in weights if each.parameter is not None]
    others = [each for each in weights if each.parameter is None]
    return Inside(type(final).__name__, len(view.members), weights=(*mine, *others[:OTHERS]))


# Words


def _node_words(node: SplitNode) -> str:
    said = f"tree {node.tree}, node {node.node}, depth {node.depth}: {node.condition} sends {node.parameter} "
    said += f"{node.left or 'of no value'} one way and {node.right or 'of no value'} the other"
    after = f" after {node.path}" if node.path else ""
    passed = f"{percent(node.mass)} of the cases' members pass it"
    return f"{said}{after}; {passed}, {percent(node.parted)} of the cases part there"


def _weight_words(weight: Weight) -> str:
    of = "" if weight.outcome is None else f" for {weight.outcome!r}"
    return (
        f"{weight.feature} has the coefficient {weight.coefficient:+.3g}{of} and moves the score by {weight.effect:.3g}"
    )
