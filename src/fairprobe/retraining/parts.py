"""The parts of the rows: rows to fit to, rows to choose by, and rows to report on. Each row is in one part only.

Rows are told apart by their content (inputs and label), never by their place or index. Copies of a row, rows of one
group, and rows that are equal in all but the sensitive columns come into one part. So no model is fitted to a row that
it is judged on, or to its twin. In a table with few different inputs, people who are equal by chance are not copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.domain.rows import Rows
from fairprobe.errors import DataError, SettingError
from fairprobe.frames import as_values

if TYPE_CHECKING:
    import pandas as pd

SELECT: Final = 0.15
REPORT: Final = 0.15
"""Fraction of the given rows for the report, if the caller holds no rows out; chosen. `SELECT` is that for choosing."""

_FEWEST: Final = 10
"""Smallest number of rows of a part (fit, select or report); chosen."""
_MOST_CLASSES: Final = 20
"""Largest number of different numeric labels that count as classes, unless a twentieth of the rows is more; chosen.
With more labels, the task is a regression."""

_MOST_ALIKE: Final = 2.0
"""Largest mean number of rows that are equal except in the sensitive columns, up to which they always stay in one part;
chosen. With more, a part would lack many kinds of people."""

_COPIED: Final = 0.9
"""Smallest mean fraction of the rows equal to a row that also agree with it in label and sensitive values, from which
equal rows count as copies; chosen: different people agree less often."""

_FEWEST_KINDS: Final = 100
"""Smallest number of different inputs from which copies stay in one part although there are many of each; chosen."""

_CHANCE: Final = 0.001
"""P-value below which rows of select and report that equal rows of fit are not put down to chance; chosen."""


@dataclass(frozen=True, eq=False)
class LabelledRows(Rows):
    """Rows of a table with a known label each, and optional weights and groups. Their domain has no links."""

    labels: NDArray[Any]


@dataclass(frozen=True)
class Parts:
    """The three parts of the rows: `fit` to fit models, `select` to choose a model, `report` for its figures."""

    fit: LabelledRows
    select: LabelledRows
    report: LabelledRows
    known: str = ""
    """Number of rows of select and report that equal a row of fit or share its group, as "12 of 300". Empty if none
    do, or if chance explains them."""
    copies: int = 1
    """Number of times that every row was given (1 without copies); select and report keep one of each."""

    @property
    def sizes(self) -> dict[str, int]:
        """The number of rows of each part, by its name."""
        return {"fit": len(self.fit), "select": len(self.select), "report": len(self.report)}


def checked_rows(
    domain: Domain, X: Any, y: Any, weights: Any = None, groups: Any = None, called: Mapping[str, str] | None = None
) -> LabelledRows:
    """Return a table and its labels (and weights and groups) as checked rows; label i belongs to row i.

    `called` gives the arguments' names for messages.
    """
    import pandas as pd

    weights, groups = (None if each is None else np.asarray(as_values(each)) for each in (weights, groups))
    labels = np.asarray(as_values(y))
    rows = domain.rows(X, y=labels, sample_weight=weights, groups=groups, called=called)
    unknown = int(np.sum(pd.isna(labels)))
    if unknown:
        rule = f"must have a known label for every row, got {unknown:,} unknown: leave these rows out"
        raise DataError.about((called or {}).get("y", "y"), rule)
    return LabelledRows(domain, rows.reindexed().typed, labels, rows.weights, rows.groups)


def groups_of(groups: Any, held_out: Any) -> tuple[Any, Any]:
    """Return the groups of X and those of the held-out rows, from the argument `groups` of `retrain`.

    With held-out rows, `groups` must be a pair; without them, the second is None.
    """
    if groups is None or held_out is None:
        return groups, None
    if not isinstance(groups, (tuple, list)) or len(groups) != 2:
        rule = "must be a pair, of X and of the rows held out, where there are some"
        raise SettingError.about("groups", f"{rule}, got {type(groups).__name__}")
    return groups[0], groups[1]


def checked_held_out(domain: Domain, held_out: Any, classes: NDArray[Any], groups: Any = None) -> LabelledRows:
    """Return the argument `held_out` of `retrain`, a pair (X, y), as checked rows with labels among `classes`."""
    if not isinstance(held_out, (tuple, list)) or len(held_out) != 2:
        raise SettingError.about("held_out", f"must be a pair (X, y), got {type(held_out).__name__}")
    X, y = held_out
    rows = checked_rows(domain, X, y, groups=groups, called={"X": "held_out", "y": "held_out"})
    check_labels("held_out", "must have the labels of y", sorted(set(rows.labels.tolist()), key=str), classes)
    return rows


def classes_of(rows: LabelledRows) -> NDArray[Any]:
    """Return the different labels of rows, sorted; refuse a single one, mixed types and numbers of a regression."""
    try:
        classes = np.unique(rows.labels)
    except TypeError:
        raise DataError("labels must be all numbers or all strings, got a mixture") from None
    if len(classes) < 2:
        raise DataError(f"the labels must be of two classes at least, got one: {classes.tolist()}")
    if rows.labels.dtype.kind in "fiu" and len(classes) > max(_MOST_CLASSES, len(rows) // 20):
        got = f"got {len(classes):,} different numbers: a regressor can't be retrained here"
        raise DataError(f"the labels must be classes, {got}")
    return classes


def check_labels(argument: str, rule: str, labels: Iterable[Any], known: NDArray[Any], who: str = "") -> None:
    """Raise a DataError if a label is not among the known ones; `who` ends the message, as " from the cases".

    >>> check_labels("held_out", "must have the labels of y", ["yes"], np.array(["no", "yes"]))
    """
    names = known.tolist()
    wrong = next((label for label in labels if label not in names), None)
    if wrong is not None:
        raise DataError.about(argument, f"{rule}, {', '.join(map(repr, names))}; got {wrong!r}{who}")


def split(given: LabelledRows, held_out: LabelledRows | None, rng: np.random.Generator) -> Parts:
    """Split the rows held out into select and report, or the rows given into fit, select and report.

    The split is random, but keeps the proportions of labels and sensitive values, and keeps equal rows together. If
    every row is given k times, select and report keep one of each k, because copies are not more people.
    """
    rows, sizes = (given, (1 - SELECT - REPORT, SELECT, REPORT)) if held_out is None else (held_out, (0.5, 0.5))
    strata = np.unique(rows.labels, return_inverse=True)[1].astype(np.int64)
    for name, own in zip(rows.domain.sensitive, rows.own.T, strict=True):
        strata = strata * (rows.domain[name].levels + 1) + own
    copies, units = _units(rows)
    n_of_unit = np.bincount(units)
    order = rng.permutation(len(rows))
    # One row stands for its unit; with equal strata, the largest units come first, so that all parts get some.
    order = order[np.sort(np.unique(units[order], return_index=True)[1])]
    order = order[np.lexsort((-n_of_unit[units[order]], strata[order]))]
    # Low-discrepancy marks along the sorted order deal each stratum out in proportion.
    marks = (np.arange(len(order)) * 0.6180339887498949 + rng.random()) % 1.0
    ends = np.cumsum(sizes)
    part = np.empty(len(n_of_unit), dtype=np.int64)
    part[units[order]] = np.minimum(np.searchsorted(ends, marks, side="right"), len(sizes) - 1)
    parts = [rows.take(part[units] == i) for i in range(len(sizes))]
    select, report = (each.take(_ranks(_with_labels(each)[0]) % copies == 0).reindexed() for each in parts[-2:])
    fit = parts[0].reindexed() if held_out is None else given
    if min(map(len, (fit, select, report))) < _FEWEST:
        rule = f"each part needs {_FEWEST} at least, where equal rows, and rows of one group, stay in one part"
        raise DataError(f"the rows must be enough to be split, got {len(rows):,}: {rule}")
    return Parts(fit, select, report, _known(fit, select, report), copies)


# Which rows are equal


def _numbered(frames: Sequence[pd.DataFrame]) -> list[Codes]:
    """Return an array for each frame with a number for each row; rows of any frame with equal values share a number.

    A missing value counts as a value.
    """
    import pandas as pd

    table = pd.concat([frame.astype(object) for frame in frames], ignore_index=True).assign(**{"": 0})
    numbers = table.groupby(list(table.columns), dropna=False, sort=False).ngroup().to_numpy()
    return np.split(numbers, np.cumsum([len(frame) for frame in frames])[:-1])


def _with_labels(*parts: LabelledRows) -> list[Codes]:
    """Return an array for each part with a number for each row; rows with equal inputs and labels share a number."""
    return _numbered([
        part.frame.set_axis(range(part.frame.shape[1]), axis=1).assign(label=part.labels) for part in parts
    ])  # fmt: skip


def _ranks(numbers: Codes) -> Codes:
    """Return for each position the number of earlier positions with an equal number."""
    import pandas as pd

    return np.asarray(pd.Series(numbers).groupby(numbers).cumcount())


def _n_alike(numbers: Codes) -> Codes:
    """Return for each position the number of positions with an equal number, itself included."""
    return np.bincount(numbers)[numbers]


def _joined(first: Codes, second: Codes) -> Codes:
    """Return a number for each row: rows share it if they agree in `first` or in `second`, or through other rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    edges = coo_array((np.ones(n), (first, n + second)), shape=(2 * n, 2 * n))
    return np.unique(connected_components(edges, directed=False)[1][first], return_inverse=True)[1]


def _units(rows: LabelledRows) -> tuple[int, Codes]:
    """Return the number of copies of every row, and for each row the number of its unit (rows that stay together)."""
    n = len(rows)
    [same], [alike] = _with_labels(rows), _numbered([rows.frame.drop(columns=list(rows.domain.sensitive))])
    n_same, n_alike = _n_alike(same), _n_alike(alike)
    copies = int(np.gcd.reduce(n_same))
    alone = np.unique(same * n + _ranks(same) // copies, return_inverse=True)[1]
    others = n_alike > copies
    agree = ((n_same - copies)[others] / (n_alike - copies)[others]).mean() if others.any() else 1.0
    are_copies = agree >= _COPIED and n >= _FEWEST_KINDS * n_alike.mean()
    units = alike if n_alike.mean() <= _MOST_ALIKE * copies or are_copies else alone
    if rows.group_numbers is not None:
        alone, units = _joined(alone, rows.group_numbers), _joined(units, rows.group_numbers)
        # Equal rows of different people may link one group to the next until all are one.
        units = units if _n_alike(units).mean() <= _MOST_ALIKE * _n_alike(alone).mean() else alone
    return copies, units


def _known(fit: LabelledRows, select: LabelledRows, report: LabelledRows) -> str:
    """Return how many rows of select and report equal a row of fit, as "12 of 300"; empty if none, or only by chance.

    Rows that share a group with a row of fit count too. By chance, rows of different people are equal as often as rows
    of fit are equal to each other; Fisher's exact test compares the two rates. Parts with exactly the same rows are not
    equal by chance.
    """
    from scipy.stats import hypergeom

    fitted, *parts = _with_labels(fit, select, report)
    judged = np.concatenate(parts)
    (own, n_own), (others, n_others) = (np.unique(each, return_counts=True) for each in (fitted, judged))
    n_own, n_alone = n_own // np.gcd.reduce(n_own), np.gcd.reduce(n_own)
    n, n_known = len(judged), int(np.isin(judged, fitted).sum())
    n_alike = int(n_alone * n_own[n_own > 1].sum())
    is_same = np.array_equal(own, others) and np.array_equal(n_own, n_others // np.gcd.reduce(n_others))
    is_chance = n_alike > 0 and hypergeom.sf(n_known - 1, n + len(fit), n_known + n_alike, n) >= _CHANCE
    n_known = 0 if is_chance and not is_same else n_known
    if fit.groups is not None and select.groups is not None and report.groups is not None:
        n_known = max(n_known, int(np.isin([*select.groups, *report.groups], fit.groups).sum()))
    return f"{n_known:,} of {n:,}" if n_known else ""
