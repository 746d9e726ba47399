"""The nodes of a decision tree, or the coefficients of a linear model, that separate twins.

Only models of the classes that `model/known.py` knows are supported, alone or at the end of a pipeline whose steps work
column by column. The model is not queried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.domain.values import plain
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding
from fairprobe.model.known import known_kind
from fairprobe.model.tables import Seen, UnfitError
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

TOP = 20
"""Largest number of nodes of a tree in the result, the strongest first; chosen."""

OTHERS = 10
"""Largest number of coefficients in the result, for comparison, of columns in which twins do not differ; chosen."""

MOST_MEMBERS = 5_000
"""Largest number of members of cases whose paths through the tree are followed; chosen. If there are more, cases are
taken evenly."""

SHOWN = 3
"""Largest number of nodes, coefficients or values that sentences name; chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Inside(Finding):
    """The nodes of a tree, or the coefficients of a linear model, that separate twins."""

    model: str
    """Name of the class of the model, or of the last step of a pipeline."""
    n_members: int
    """Number of members of cases whose paths through the model were followed."""
    table: pd.DataFrame
    """Table of the places in the model that separate twins.

    For a tree, it has a row for each node that splits on a parameter in which twins differ.

    - `node`, `parameter`; `condition`: of the left branch, in the model's own feature.
    - `left`, `right`: the values of the parameter that take either branch.
    - `mass`: the fraction of the cases' members that pass it.
    - `parted`: the fraction of the cases whose members take both branches; the largest come first.

    For a linear model, a row for each coefficient: first the columns in which twins differ, then the largest other
    coefficients.

    - `parameter`: the one in which twins differ that makes the column; None of other columns. `feature`: the column.
    - `outcome`: the class whose score it adds to; None for numbers.
    - `coefficient`; `effect`: the coefficient times the range of its column over the cases' members.
    """
    said: tuple[str, ...]
    """Sentences on the nodes or coefficients that use columns in which twins differ, the strongest first."""

    json_names: ClassVar = {"said": ""}

    def sentences(self) -> list[str]:
        """Return sentences on the nodes or coefficients that use columns in which twins differ, the strongest first."""
        return list(self.said)


def inside_of(evidence: Evidence) -> Inside | None:
    """Return the nodes of a tree, or the coefficients of a linear model, that use columns in which twins differ.

    For each node, the result has the cases that pass it. Twins differ in the sensitive parameters and in the linked
    columns. The result is None for a model that is neither a plain tree nor linear, and for one with a column that
    comes from several parameters.
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
    """Members of cases as the model's last step gets them, and the columns of these in which twins differ."""

    def __init__(self, evidence: Evidence) -> None:
        self._domain, cases = evidence.domain, evidence.cases
        families = self._domain.families
        output = "value" if evidence.output == "value" else "label"
        self.seen = Seen(evidence.model, self._domain, np.float64, evidence.batch, output)
        n = len(self.seen.base)
        every = np.ones(n, dtype=bool)
        varying = [name for name in families.varying if name not in self._domain.hidden]
        self.tables = {name: self.seen.table(self._domain.names.index(name), every) for name in varying}
        """Tables of the values that the last step gets for each level, by parameter in which twins differ."""
        self.owner = np.full(n, None, dtype=object)
        """For each column of the last step: the parameter in which twins differ that it comes from; None for other
        columns."""
        for name, table in self.tables.items():
            if (self.owner[table.columns] != None).any():  # noqa: E711 - by element
                raise UnfitError("a column that the preprocessing makes depends on more than one parameter")
            self.owner[table.columns] = name
        self.names = _feature_names(self.seen)
        self.n_cases = min(evidence.n_cases, max(1, MOST_MEMBERS // len(families)))
        cases = cases.take(np.linspace(0, evidence.n_cases - 1, self.n_cases).astype(np.int64))
        exist = cases.exist.ravel()
        self.case = np.tile(np.arange(self.n_cases), len(families))[exist]
        """Number of the case of each member."""
        self.rows = self.seen.rows(cases.members(families).rows[exist]) if self.n_cases else np.zeros((0, n))

    def values(self, parameter: str, levels: Mask) -> str:
        """Return some values of a parameter in words: those of the levels that a boolean mask chooses."""
        codes = np.flatnonzero(levels)
        named = [str(plain(value)) for value in self._domain[parameter].decode(codes[:SHOWN])]
        return ", ".join(named) + (f" and {len(codes) - SHOWN:,} more" if len(codes) > SHOWN else "")


def _feature_names(seen: Seen) -> list[str]:
    """Return names of the columns that the model's last step gets; numbers if the previous steps give no names."""
    names: Any = [name for name in seen.order if name not in seen.domain.hidden]
    try:
        for step in seen.steps:
            names = step.get_feature_names_out(names)
    except (AttributeError, ValueError):
        names = []
    numbered = [f"column {column}" for column in range(len(seen.base))]
    return [str(name) for name in names] if len(names) == len(numbered) else numbered


# Trees


def _inside_tree(view: _View) -> Inside:
    import pandas as pd

    tree, n = view.seen.final.tree_, max(1, len(view.rows))
    passes = np.zeros((0, tree.node_count), dtype=bool)
    if len(view.rows):
        passes = np.asarray(tree.decision_path(view.rows.astype(np.float32)).toarray(), dtype=bool)
    is_inner = tree.children_left >= 0
    owner = view.owner[tree.feature].copy()
    owner[~is_inner] = None
    parted, mass = np.zeros(tree.node_count), passes.sum(axis=0) / n
    mine = np.flatnonzero([name is not None for name in owner])
    for node in mine.tolist():
        left, right = (view.case[passes[:, side[node]]] for side in (tree.children_left, tree.children_right))
        parted[node] = len(np.intersect1d(left, right)) / max(1, view.n_cases)
    strongest = mine[np.lexsort([mine, -mass[mine], -parted[mine]])][:TOP].tolist()
    nodes = [_node(view, tree, owner, node) for node in strongest]
    table = pd.DataFrame(nodes, columns=["node", "parameter", "condition", "left", "right"])
    table = table.assign(mass=mass[strongest], parted=parted[strongest])
    said = []
    for name in view.tables:
        are_mine = owner == name
        share = percent(float(passes[:, are_mine].any(axis=1).sum() / n))
        passing = f"; {share} of the cases' members pass at least one" if are_mine.any() and len(view.rows) else ""
        said.append(f"{are_mine.sum():,} of {is_inner.sum():,} nodes split on {name}{passing}.")
    said += [_node_words(row) for row in table.head(SHOWN).itertuples()]
    return Inside(type(view.seen.final).__name__, len(view.rows), table, tuple(said))


def _node(view: _View, tree: Any, owner: Any, node: int) -> tuple[Any, ...]:
    """Return a row of the table of nodes: the number, the parameter, the condition, and the values of either branch."""
    feature, threshold, table = tree.feature[node], tree.threshold[node], view.tables[owner[node]]
    values = table.values[:, np.flatnonzero(table.columns == feature)[0]].astype(np.float32)
    goes_left = np.where(np.isnan(values), bool(tree.missing_go_to_left[node]), values <= threshold)
    left, right = (view.values(owner[node], way) for way in (goes_left, ~goes_left))
    return node, owner[node], f"{view.names[feature]} <= {threshold:.6g}", left, right


def _node_words(node: Any) -> str:
    ways = f"{node.left or 'of no value'} one way and {node.right or 'of no value'} the other"
    return (
        f"Node {node.node} asks for {node.condition}: it sends {node.parameter} {ways}. {percent(node.mass)} of the "
        f"cases' members pass it, and {percent(node.parted)} of the cases part there."
    )


# Linear models


def _inside_linear(view: _View) -> Inside | None:
    import pandas as pd

    final = view.seen.final
    coefficients = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64))
    if coefficients.shape[1] != len(view.owner):
        return None
    ranges = np.ptp(view.rows, axis=0) if len(view.rows) else np.zeros(len(view.owner))
    classes = np.asarray(getattr(final, "classes_", [None])).tolist()
    weights = [
        (view.owner[column], view.names[column], outcome, coefficient, abs(coefficient * ranges[column]))
        for outcome, row in zip(classes[-1:] if len(coefficients) == 1 else classes, coefficients.tolist(), strict=True)
        for column, coefficient in enumerate(row)
    ]
    weights.sort(key=lambda each: (-each[4], -abs(each[3])))
    mine = [each for each in weights if each[0] is not None]
    others = [each for each in weights if each[0] is None]
    names = ["parameter", "feature", "outcome", "coefficient", "effect"]
    table = pd.DataFrame([*mine, *others[:OTHERS]], columns=names).astype({"parameter": object, "outcome": object})
    said = [f"{_weight_words(*each[1:])}, by {each[0]}." for each in mine[:SHOWN]]
    said += [f"Of the other columns, {_weight_words(*each[1:])}." for each in others[:1] if mine]
    nothing = "No column of the linear model depends on what twins differ in."
    return Inside(type(final).__name__, len(view.rows), table, tuple(said) or (nothing,))


def _weight_words(feature: str, outcome: Any, coefficient: float, effect: float) -> str:
    of = "" if outcome is None else f" for {outcome!r}"
    return f"{feature} has the coefficient {coefficient:+.3g}{of} and moves the score by {effect:.3g}"
