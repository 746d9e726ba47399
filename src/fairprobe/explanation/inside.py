"""The nodes of a decision tree, or the coefficients of a linear model, that tell twins apart.

Only models of the classes known to `model/known.py` are looked into, alone or at the end of a pipeline whose steps work
column by column. Nothing is asked of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.values import plain
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, figures_of
from fairprobe.model.known import known_kind
from fairprobe.model.tables import Seen, UnfitError
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

TOP = 20
"""Largest number of nodes that are kept, the strongest first. Chosen."""

OTHERS = 10
"""Largest number of coefficients of other columns that are kept, for comparison. Chosen."""

MOST_MEMBERS = 5_000
"""Largest number of members of cases whose paths are followed; of more cases, some are taken evenly. Chosen."""

SHOWN = 3
"""Number of nodes, coefficients or values that sentences name."""


@dataclass(frozen=True)
class SplitNode:
    """A node of a tree that splits on a parameter in which twins differ."""

    tree: int
    node: int
    depth: int
    parameter: str
    condition: str
    """The condition of the left branch, in the model's own feature."""
    left: str
    right: str
    """The values of the parameter that take either branch."""
    path: str
    """The conditions that lead to the node; empty at the root."""
    mass: float
    """The fraction of the cases' members that pass it."""
    parted: float
    """The fraction of the cases whose members take both branches there."""


@dataclass(frozen=True)
class Total:
    """All nodes that split on one parameter in which twins differ."""

    parameter: str
    n_nodes: int
    n_trees: int
    mass: float
    """The fraction of the cases' members that pass at least one."""
    per_member: float
    """Mean number of these nodes that a member passes."""


@dataclass(frozen=True)
class Weight:
    """A coefficient of a linear model."""

    parameter: str | None
    """The parameter in which twins differ that makes the column; None of other columns."""
    feature: str
    outcome: Any
    """The class whose score it adds to; None for numbers."""
    coefficient: float
    effect: float
    """The coefficient times the range of its column over the cases' members."""


@dataclass(frozen=True, repr=False)
class Inside(Finding):
    """The places where a model tells twins apart."""

    model: str
    """The class of the model, or of the last step of a pipeline."""
    n_members: int
    """Members of cases that were looked at."""
    n_trees: int = 0
    n_nodes: int = 0
    """Nodes of the tree that split."""
    nodes: tuple[SplitNode, ...] = ()
    """Those that most cases part at come first, then those that most members pass."""
    totals: tuple[Total, ...] = ()
    weights: tuple[Weight, ...] = ()
    """Those of the columns in which twins differ come first, then the largest others."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each node, or for each coefficient."""
        import pandas as pd

        kind = SplitNode if self.n_trees else Weight
        rows = [asdict(each) for each in (self.nodes if self.n_trees else self.weights)]
        return pd.DataFrame(rows, columns=list(kind.__dataclass_fields__))

    def sentences(self) -> list[str]:
        """How much of the model looks at what twins differ in, then the strongest nodes or coefficients."""
        if self.n_trees:
            return [*map(self._total_words, self.totals), *map(_node_words, self.nodes[:SHOWN])]
        return list(self._weights_words())

    def _total_words(self, total: Total) -> str:
        said = f"{total.n_nodes:,} of {self.n_nodes:,} nodes split on {total.parameter}"
        if not total.n_nodes or not self.n_members:
            return f"{said}."
        return f"{said}; {percent(total.mass)} of the cases' members pass at least one."

    def _weights_words(self) -> Iterator[str]:
        mine = [each for each in self.weights if each.parameter is not None]
        others = [each for each in self.weights if each.parameter is None]
        if not mine:
            yield "No column of the linear model depends on what twins differ in."
        for each in mine[:SHOWN]:
            yield f"{_weight_words(each)}, by {each.parameter}."
        if mine and others:
            yield f"Of the other columns, {_weight_words(others[0])}."

    def shown_table(self) -> pd.DataFrame:
        """The nodes or the coefficients."""
        return self.table

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentences as plain values of JSON."""
        return {
            **figures_of(self, ("model", "n_members", "n_trees", "n_nodes")),
            **{name: [asdict(each) for each in getattr(self, name)] for name in ("nodes", "totals", "weights")},
            "sentences": self.sentences(),
        }


def inside_of(evidence: Evidence) -> Inside | None:
    """List the nodes that split on what twins differ in with the cases that pass each, or the coefficients.

    Twins differ in the sensitive parameters and, where there are links, in the linked columns. The result is None for a
    model that is neither a plain tree nor linear, and for one whose columns do not come from one parameter each.
    """
    if known_kind(evidence.model) is None:
        return None
    try:
        view = _View(evidence)
    except UnfitError:
        return None
    kind = known_kind(view.seen.final) or ""
    if kind.removeprefix("regression-") == "tree":
        return _inside_tree(view)
    return _inside_linear(view) if kind.endswith("linear") else None


class _View:
    """The cases' members as the last estimator sees them, and the columns in which twins differ."""

    def __init__(self, evidence: Evidence) -> None:
        self._domain = evidence.domain
        output = "value" if evidence.oracle.asker.output == "value" else "label"
        self.seen = Seen(evidence.model, self._domain, np.float64, evidence.batch, output)
        varying = [name for name in self._domain.families.varying if name not in self._domain.hidden]
        every = np.ones(len(self.seen.base), dtype=bool)
        self.tables = {name: self.seen.table(self._domain.names.index(name), every) for name in varying}
        self.parameters = list(self.tables)
        """Parameters in which twins differ and that the model takes."""
        self.owner = np.full(len(self.seen.base), -1)
        """By column, the place of its parameter among these; -1 of other columns."""
        for place, table in enumerate(self.tables.values()):
            if (self.owner[table.columns] >= 0).any():
                raise UnfitError("a column that the preprocessing makes depends on more than one parameter")
            self.owner[table.columns] = place
        self.names = _feature_names(self.seen)
        if len(self.names) != len(self.owner):
            self.names = [f"column {column}" for column in range(len(self.owner))]
        members, self.case = _members(evidence)
        self.rows = self.seen.rows(members) if len(members) else np.zeros((0, len(self.owner)))
        self.n_cases = int(self.case.max(initial=-1)) + 1

    def parameter(self, column: int) -> str | None:
        """The parameter in which twins differ that makes a column."""
        return None if self.owner[column] < 0 else self.parameters[self.owner[column]]

    def values(self, parameter: str, levels: Mask) -> str:
        """Some of a parameter's values, in words."""
        codes = np.flatnonzero(levels)
        named = [str(plain(value)) for value in self._domain[parameter].decode(codes[:SHOWN])]
        return ", ".join(named) + (f" and {len(codes) - SHOWN:,} more" if len(codes) > SHOWN else "")


def _members(evidence: Evidence) -> tuple[Codes, Codes]:
    """The members of the cases that exist and are allowed, and the number of the case that each belongs to."""
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


def _feature_names(seen: Seen) -> list[str]:
    """The estimator's columns by the names that the steps before it give them; none where they give none."""
    names: Any = [name for name in seen.order if name not in seen.domain.hidden]
    try:
        for step in seen.steps:
            names = step.get_feature_names_out(names)
    except (AttributeError, ValueError):
        return []
    return [str(name) for name in names]


# Trees


def _inside_tree(view: _View) -> Inside:
    tree, n = view.seen.final.tree_, max(1, len(view.rows))
    inner = tree.children_left >= 0
    owner = np.where(inner, view.owner[tree.feature], -1)
    paths = _paths(tree, view.rows)
    strengths = []
    for node in np.flatnonzero(owner >= 0).tolist():
        left, right = (view.case[paths[:, children[node]]] for children in (tree.children_left, tree.children_right))
        parted = len(np.intersect1d(left, right)) / max(1, view.n_cases)
        strengths.append((-parted, -float(paths[:, node].sum() / n), node))
    totals = []
    for place, name in enumerate(view.parameters):
        n_met = paths[:, owner == place].sum(axis=1)
        n_nodes = int((owner == place).sum())
        mass, mean = float((n_met > 0).sum() / n), float(n_met.sum() / n)
        totals.append(Total(name, n_nodes, int(n_nodes > 0), mass, mean))
    return Inside(
        model=type(view.seen.final).__name__,
        n_members=len(view.rows),
        n_trees=1,
        n_nodes=int(inner.sum()),
        nodes=tuple(_node(view, tree, node, -mass, -parted) for parted, mass, node in sorted(strengths)[:TOP]),
        totals=tuple(totals),
    )


def _paths(tree: Any, rows: Floats) -> Mask:
    """By row and node, whether the row passes the node."""
    if not len(rows):
        return np.zeros((0, tree.node_count), dtype=bool)
    return np.asarray(tree.decision_path(rows.astype(np.float32)).toarray(), dtype=bool)


def _node(view: _View, tree: Any, node: int, mass: float, parted: float) -> SplitNode:
    """A node in words, with the path that leads to it."""

    def condition(at: int, sign: str) -> str:
        return f"{view.names[tree.feature[at]]} {sign} {tree.threshold[at]:.6g}"

    path: list[str] = []
    below = node
    while below:
        is_left = below in tree.children_left
        above = int(np.flatnonzero((tree.children_left if is_left else tree.children_right) == below)[0])
        path.append(condition(above, "<=" if is_left else ">"))
        below = above
    parameter = view.parameters[view.owner[tree.feature[node]]]
    table = view.tables[parameter]
    values = table.values[:, np.flatnonzero(table.columns == tree.feature[node])[0]].astype(np.float32)
    goes_left = np.where(np.isnan(values), bool(tree.missing_go_to_left[node]), values <= tree.threshold[node])
    return SplitNode(
        tree=0,
        node=node,
        depth=len(path),
        parameter=parameter,
        condition=condition(node, "<="),
        left=view.values(parameter, goes_left),
        right=view.values(parameter, ~goes_left),
        path=" and ".join(reversed(path)),
        mass=mass,
        parted=parted,
    )


def _node_words(node: SplitNode) -> str:
    after = f", after {node.path}," if node.path else ""
    return (
        f"Node {node.node} at depth {node.depth}{after} asks for {node.condition}: it sends {node.parameter} "
        f"{node.left or 'of no value'} one way and {node.right or 'of no value'} the other. {percent(node.mass)} of "
        f"the cases' members pass it, and {percent(node.parted)} of the cases part there."
    )


# Linear models


def _inside_linear(view: _View) -> Inside | None:
    final = view.seen.final
    coefficients = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64))
    if coefficients.shape[1] != len(view.owner):
        return None
    ranges = np.ptp(view.rows, axis=0) if len(view.rows) else np.zeros(len(view.owner))
    classes = np.asarray(getattr(final, "classes_", [None])).tolist()
    outcomes = classes[-1:] if len(coefficients) == 1 else classes
    weights = [
        Weight(view.parameter(column), view.names[column], outcome, coefficient, abs(coefficient * ranges[column]))
        for outcome, row in zip(outcomes, coefficients.tolist(), strict=True)
        for column, coefficient in enumerate(row)
    ]
    weights.sort(key=lambda each: (-each.effect, -abs(each.coefficient)))
    mine = [each for each in weights if each.parameter is not None]
    others = [each for each in weights if each.parameter is None]
    return Inside(type(final).__name__, len(view.rows), weights=(*mine, *others[:OTHERS]))


def _weight_words(weight: Weight) -> str:
    of = "" if weight.outcome is None else f" for {weight.outcome!r}"
    return (
        f"{weight.feature} has the coefficient {weight.coefficient:+.3g}{of} and moves the score by {weight.effect:.3g}"
    )
