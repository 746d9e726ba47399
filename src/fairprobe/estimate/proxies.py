"""Proxies: which columns give a sensitive one away, alone and together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import checked_count, checked_seed, nearest
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimate.bounds.intervals import checked_confidence
from fairprobe.frames import as_pandas
from fairprobe.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd

TOGETHER = "all together"
MOST_BINS = 64
"""A column alone is cut into so many parts; in each, the rate among the other rows is the score."""

FEW_VALUES = 12
"""A number with more values is told above from below its median."""

FEWEST = 20
"""A value that fewer rows have is not looked at."""

SMOOTHING = 5.0
"""Rows of the overall rate that a part's rate is mixed with, so that rare values do not look sure."""


@dataclass(frozen=True, repr=False, eq=False)
class Proxies:
    """How well columns tell a sensitive one."""

    table: pd.DataFrame
    """A row for each sensitive column and each other one, and for all of these together: which `value` is told best,
    and with what `auc`, between `low` and `high`: the probability that of two people, one with that value and one
    without, the one with it gets the higher score. 0.5 is guessing. Ordered by `auc`."""
    confidence: float
    """All intervals hold together with this confidence; they are approximations for many rows."""
    n: int
    seed: int

    def sentence(self) -> str:
        """What was found, in words, and no more than was tested."""
        parts = []
        for name, rows in self.table.groupby("sensitive", sort=False):
            every = rows[rows["column"] == TOGETHER].iloc[0]
            told = rows[(rows["column"] != TOGETHER) & (rows["low"] > 0.5)].head(3)
            many = len({*rows["value"]}) > 1  # then each figure says of which value it is
            alone = ", ".join(f"{row.column} {row.auc:.2f}{f' ({row.value})' * many}" for row in told.itertuples())
            whose = f" ({every.value})" * many
            parts.append(
                f"{name}{whose} is told by all other columns together with an AUC of {every.auc:.2f} "
                f"({every.low:.2f} to {every.high:.2f})"
                + (f", alone most by {alone}" if alone else "; none alone is shown to tell it")
            )
        return f"{'; '.join(parts)}. A model may use what tells it; that it does is not tested here"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "table": [{key: plain(value) for key, value in row.items()} for row in self.table.to_dict("records")],
            "confidence": self.confidence,
            "n": self.n,
            "seed": self.seed,
            "sentence": self.sentence(),
        }

    def __repr__(self) -> str:
        return f"Proxies({self.sentence()})"

    def _repr_html_(self) -> str:
        table = self.table.to_html(escape=True, border=0, index=False)
        return as_html("Proxies", self.sentence(), {"rows": f"{self.n:,}"}, (), table)


def proxies(
    X: Any,
    sensitive: Sequence[str],
    *,
    n_folds: int = 5,
    confidence: float = 0.95,
    max_rows: int = 20_000,
    seed: int | None = 0,
) -> Proxies:
    """Which columns give sensitive ones away: alone, and all other columns together.

    Scores are cross-validated: each row's comes from rows of the other folds. A sensitive number with many values is
    told above from below its median; of more than two values, each is told from the rest, and the best is shown.

    Args:
        X: rows with the sensitive columns and those that a model takes; without the label. The columns of an array are
            called x0, x1 and so on.
        sensitive: their names. None of them is used to tell another.
        n_folds: of the cross-validation.
        confidence: that all intervals hold together.
        max_rows: so many rows are looked at, drawn at random.
        seed: of the folds and the draw.
    """
    X = as_pandas(X)
    names = _checked(X, sensitive)
    checked_count("n_folds", n_folds, at_least=2)
    checked_count("max_rows", max_rows, at_least=2 * FEWEST)
    rng = np.random.default_rng(seed := checked_seed(seed))
    rows = X if len(X) <= max_rows else X.iloc[np.sort(rng.choice(len(X), max_rows, replace=False))]
    columns = [name for name in X.columns if name not in names]
    codes = {name: _binned(rows[name]) for name in columns}
    each = (1 - checked_confidence(confidence)) / (len(names) * (len(columns) + 1))
    found = []
    for name in names:
        targets = _targets(rows[name])
        known = rows[name].notna().to_numpy()
        folds = rng.permutation(int(known.sum())) % n_folds
        mine = {column: binned[known] for column, binned in codes.items()}
        for column in columns:
            scores = {value: _alone(mine[column], is_one[known], folds) for value, is_one in targets.items()}
            found.append((name, column, *_best(scores, targets, known, folds, each)))
        matrix = np.column_stack(list(mine.values())).astype(np.float64)
        scores = _together(matrix, {value: is_one[known] for value, is_one in targets.items()}, folds, seed)
        found.append((name, TOGETHER, *_best(scores, targets, known, folds, each)))
    return Proxies(_table(found, names), confidence, len(rows), seed)


def _checked(X: pd.DataFrame, sensitive: Any) -> list[str]:
    if isinstance(sensitive, str) or not list(sensitive):
        raise SettingError.about("sensitive", f"must be a list of names, got {sensitive!r}")
    names = list(sensitive)
    for name in names:
        if name not in X.columns:
            raise SettingError.about("sensitive", f"must name columns, got {name!r}{nearest(name, X.columns)}")
    if len(X.columns) == len(names):
        raise DataError("proxies need a column that is not sensitive, got none")
    return names


def _targets(column: pd.Series[Any]) -> dict[str, Mask]:
    """What is told from the rest: each value that enough rows have; of two, one."""
    import pandas as pd

    values = column.dropna()
    is_wide = pd.api.types.is_numeric_dtype(values) and values.nunique() > FEW_VALUES
    if is_wide:
        middle = plain(values.median())
        targets = {f"above {middle:g}": (column > middle).to_numpy(dtype=bool, na_value=False)}
    else:
        targets = {str(value): (column == value).to_numpy(dtype=bool, na_value=False) for value in values.unique()}
    n = len(values)
    kept = {value: is_one for value, is_one in targets.items() if FEWEST <= int(is_one.sum()) <= n - FEWEST}
    if not kept:
        raise DataError(
            f"column {column.name!r} must have two values that {FEWEST} rows have each, got {values.nunique()} values "
            f"in {n:,} rows"
        )
    return dict(sorted(kept.items())[:1]) if len(kept) == 2 and not is_wide and values.nunique() == 2 else kept


def _binned(column: pd.Series[Any]) -> Codes:
    """A column in numbers: values as they come, numbers with many values by quantiles; a missing one is a part too."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_BINS:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, MOST_BINS + 1)[1:-1]))
        return np.where(np.isnan(numbers), len(edges) + 1, np.searchsorted(edges, numbers, side="right"))
    if pd.api.types.is_numeric_dtype(column):
        codes = pd.factorize(column, sort=True)[0].astype(np.int64)
    else:
        codes = pd.factorize(column.astype(object))[0].astype(np.int64)
    return np.where(codes < 0, codes.max() + 1, codes)


def _alone(binned: Codes, is_one: Mask, folds: Codes) -> Floats:
    """Each row's score: the rate among the rows of the other folds with the same value."""
    scores = np.empty(len(binned))
    n_bins = int(binned.max()) + 1
    for fold in range(int(folds.max()) + 1):
        others = folds != fold
        ones = np.bincount(binned[others], weights=is_one[others], minlength=n_bins)
        counts = np.bincount(binned[others], minlength=n_bins)
        rates = (ones + SMOOTHING * is_one[others].mean()) / (counts + SMOOTHING)
        scores[~others] = rates[binned[~others]]
    return scores


def _together(matrix: Floats, targets: dict[str, Mask], folds: Codes, seed: int) -> dict[str, Floats]:
    """Each row's scores by gradient boosting on the rows of the other folds: one model for all values."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    number = np.zeros(len(matrix), dtype=np.int64)
    for place, is_one in enumerate(targets.values(), 1):
        number[is_one] = place
    scores = np.zeros((len(targets) + 1, len(matrix)))
    for fold in range(int(folds.max()) + 1):
        others = folds != fold
        model = HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=seed % 2**32)
        model.fit(matrix[others], number[others])
        scores[np.ix_(model.classes_, np.flatnonzero(~others))] = model.predict_proba(matrix[~others]).T
    return dict(zip(targets, scores[1:], strict=True))


def _best(
    scores: dict[str, Floats], targets: dict[str, Mask], known: Mask, folds: Codes, error: float
) -> tuple[str, float, float, float]:
    """The value told best, its AUC and the interval; the error is split over the values."""
    from scipy.special import ndtri

    reach = -float(ndtri(error / len(scores) / 2))
    found = []
    for value, score in scores.items():
        auc, deviation = auc_over_folds(score, targets[value][known], folds)
        found.append((value, auc, max(0.0, auc - reach * deviation), min(1.0, auc + reach * deviation)))
    return max(found, key=lambda each: each[1])


def auc_over_folds(scores: Floats, is_one: Mask, folds: Codes) -> tuple[float, float]:
    """The AUC averaged over folds, as scores of different folds come from different models, and its deviation.

    The variance of a fold's is DeLong's (1988), from how each row ranks among those of the other kind.
    """
    aucs, variances = [], []
    for fold in range(int(folds.max()) + 1):
        ones, rest = scores[(folds == fold) & is_one], scores[(folds == fold) & ~is_one]
        if len(ones) < 2 or len(rest) < 2:
            continue
        above, below = _rank(ones, rest), 1 - _rank(rest, ones)
        aucs.append(above.mean())
        variances.append(above.var(ddof=1) / len(ones) + below.var(ddof=1) / len(rest))
    if not aucs:
        return 0.5, math.inf
    return float(np.mean(aucs)), float(np.sqrt(np.mean(variances) / len(variances)))


def _rank(scores: Floats, others: Floats) -> Floats:
    """The part of the others that each score is above; one that is equal counts half."""
    ordered = np.sort(others)
    return (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")) / (2 * len(others))


def _table(found: list[tuple[Any, ...]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(found, columns=["sensitive", "column", "value", "auc", "low", "high"])
    order = pd.Categorical(table["sensitive"], names)
    return table.iloc[np.lexsort((-table["auc"].to_numpy(), order.codes))].reset_index(drop=True)
