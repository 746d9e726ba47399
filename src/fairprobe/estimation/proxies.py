"""Proxies: the columns that predict a sensitive column, each alone and all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Block, Result, Sentence, Table
from fairprobe.checks import check_names, checked_count, checked_seed
from fairprobe.domain.values import as_floats, by_quantiles, plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.estimation.independence import boosted
from fairprobe.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

TOGETHER = "all together"
MOST_BINS = 64
"""Largest number of bins into which a numeric column is divided to learn from it; chosen."""

FEW_VALUES = 12
"""Largest number of distinct values of a sensitive number that are each predicted; chosen. Of a number with more, the
prediction is above or below its median."""

FEWEST = 20
"""Smallest number of rows with a sensitive value, and of rows without it, for it to be predicted; chosen."""

SMOOTHING = 5.0
"""Weight of the rate over all rows when the rate of a bin is computed, in rows; chosen: rare values then do not look
certain."""

BEYOND = 10
"""Approximate number of permutations that may beat a column that is still significant; chosen: the relative error of
the p-value is then about 1/3."""

MOST_PERMUTATIONS = 5_000
"""Largest number of permutations of the test; chosen. At an error below 1 in this many, no column is significant."""

CELLS = 2_000_000
"""Largest number of labels permuted at a time, rows times permutations; chosen to take about 16 MB."""


@dataclass(frozen=True, repr=False, eq=False)
class Proxies(Result):
    """The result of `proxies`: how closely other columns predict sensitive ones."""

    table: pd.DataFrame
    """Table with a row for each sensitive column and each other `column`, and for all other columns together.

    `value` is the sensitive value that the column predicts best, among those that it is shown to predict if there are
    any, and `auc` how well: the probability that of two
    people, one with the value and one without, the first gets the higher score. 0.5 is guessing. `low` to `high` is its
    interval; `low` is above 0.5 only if the column is shown to predict the value. `together` is the AUC of all columns
    for the same value. The rows of a sensitive column are sorted by `auc`, highest first."""
    confidence: float
    """Confidence with which all intervals hold together; they are approximate, and need many rows."""
    n: int
    seed: int

    def sentence(self) -> str:
        """Return in words how well each sensitive column is predicted, by all columns and by the best single ones."""
        parts = []
        for name, rows in self.table.groupby("sensitive", sort=False):
            every = rows[rows["column"] == TOGETHER].iloc[0]
            told = []
            for row in rows[(rows["column"] != TOGETHER) & (rows["low"] > 0.5)].head(3).itertuples():
                apart = f" (of {name}={row.value}, all together {row.together:.2f})" if row.value != every.value else ""
                told.append(f"{row.column} {row.auc:.2f}{apart}")
            interval = f"{every.auc:.2f} ({every.low:.2f} to {every.high:.2f}, of {name}={every.value})"
            is_told = f"{name} is {'' if every.low > 0.5 else 'not shown to be '}told by all other columns together"
            alone = f"Alone it is told most by {', '.join(told)}" if told else "No column alone is shown to tell it"
            parts.append(f"{is_told}, with an AUC of {interval}. {alone}.")
        return f"{' '.join(parts)} A model may use what tells it; that it does is not tested here"

    def blocks(self) -> list[Block]:
        """Return the result as blocks of a report: the sentence, the number of rows and the table."""
        return [Sentence(self.sentence()), Table.of_facts({"rows": f"{self.n:,}"}), Table.of_frame(self.table)]

    def jsonable(self) -> dict[str, Any]:
        """The figures and the table as a dict for JSON."""
        table = [{key: plain(value) for key, value in row.items()} for row in self.table.to_dict("records")]
        return {**vars(self), "table": table, "sentence": self.sentence()}


def proxies(
    X: Any,
    sensitive: Sequence[str],
    *,
    confidence: float = 0.95,
    max_rows: int = 20_000,
    seed: int | None = 0,
) -> Proxies:
    """Find the columns that predict sensitive columns: each alone, and all of them together.

    Scores are learned from half of the rows and tested on the other half. A column counts as a proxy only if it
    predicts better than nearly all columns and values do after the sensitive values of that half are permuted. If no
    column is a proxy, the probability that one is reported is at most (1 - `confidence`) / 2. For a sensitive number
    with many values, the prediction is above or below its median. For more than two values, each is predicted against
    the rest, and the best predicted one is shown. If every row is given k times, one of each k rows is used, because a
    copy of a row in the other half would be recognised.

    Args:
        X: rows with the sensitive columns and those that a model takes; without the label. The columns of an array are
            called x0, x1 and so on.
        sensitive: names of the sensitive columns. No sensitive column is used to predict another.
        confidence: confidence with which all intervals hold together.
        max_rows: largest number of rows used; more are drawn at random.
        seed: seed of the draw, the halves and the permutations.
    """
    import pandas as pd

    X = as_pandas(X)
    names = _checked(X, sensitive)
    checked_count("max_rows", max_rows, at_least=2 * FEWEST)
    rng = np.random.default_rng(seed := checked_seed(seed))
    X = _without_copies(X)
    rows = X if len(X) <= max_rows else X.iloc[np.sort(rng.choice(len(X), max_rows, replace=False))]
    columns = [name for name in X.columns if name not in names]
    codes = {name: _binned(rows[name]) for name in columns}
    error = (1 - checked_confidence(confidence)) / len(names)
    found = []
    for name in names:
        known = rows[name].notna().to_numpy()
        targets = _targets(rows[name])
        ones = np.stack(list(targets.values()))[:, known]
        is_tried = _half(number := np.arange(1, len(ones) + 1) @ ones, rng)
        mine = [codes[column][known] for column in columns]
        alone = [_alone(binned, ones, is_tried) for binned in mine]
        together = _together(np.column_stack(mine).astype(np.float64), number, len(ones), is_tried, seed)
        scores, ones = np.stack([*alone, together]), ones[:, is_tried]
        shown = _beat_chance(scores, ones, error / 2, rng)
        rows_of_name = [
            (name, column, *_best(scores, place, ones, list(targets), error / len(scores), shown[place]))
            for place, column in enumerate([*columns, TOGETHER])
        ]
        found += sorted(rows_of_name, key=lambda row: -row[3])
    header = ["sensitive", "column", "value", "auc", "low", "high", "together"]
    return Proxies(pd.DataFrame(found, columns=header), confidence, len(rows), seed)


def _checked(X: pd.DataFrame, sensitive: Any) -> list[str]:
    if isinstance(sensitive, str) or not list(sensitive):
        raise SettingError.about("sensitive", f"must be a list of names, got {sensitive!r}")
    names = list(sensitive)
    check_names("sensitive", names, X.columns, "must name columns, some")
    if len(X.columns) == len(names):
        raise DataError("proxies need a column that is not sensitive, got none")
    return names


def _without_copies(X: pd.DataFrame) -> pd.DataFrame:
    """Return one of each k equal rows if the number of rows of every kind is a multiple of k; otherwise all rows.

    With fewer than 2 x `FEWEST` kinds of rows, all rows are returned, because people may be equal by chance or by
    design.
    """
    import pandas as pd

    hashes = pd.util.hash_pandas_object(X, index=False)
    counts = np.unique(hashes, return_counts=True)[1]
    copies = int(np.gcd.reduce(counts)) if len(counts) >= 2 * FEWEST else 1
    return X if copies == 1 else X[(hashes.groupby(hashes.to_numpy()).cumcount() % copies == 0).to_numpy()]


def _targets(column: pd.Series[Any]) -> dict[str, Mask]:
    """Return the values of a sensitive column to predict, each with a mask of its rows; of two values, only one.

    A value is left out if fewer than `FEWEST` rows have it, or fewer lack it. Of a number with more than `FEW_VALUES`
    values, the only target is to be above the median.
    """
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
        rule = f"column {column.name!r} must have two values that {FEWEST} rows have each"
        raise DataError(f"{rule}, got {values.nunique()} values in {n:,} rows")
    return dict(sorted(kept.items())[:1]) if len(kept) == 2 and not is_wide and values.nunique() == 2 else kept


def _binned(column: pd.Series[Any]) -> Codes:
    """Return a column as bin numbers from 0 on, by row: each value is a bin.

    A number with more than `MOST_BINS` values has as many quantiles as bins. Numbers keep their order; missing values
    are in the last bin.
    """
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        codes = pd.factorize(column.astype(object))[0].astype(np.int64)
        return np.where(codes < 0, codes.max() + 1, codes)
    numbers = as_floats(column)
    if column.nunique() > MOST_BINS:
        return by_quantiles(numbers, MOST_BINS, includes="low")
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


def _half(number: Codes, rng: np.random.Generator) -> Mask:
    """Return a mask of the rows to test on: a random half of the rows with each number (target value)."""
    order = np.lexsort((rng.random(len(number)), number))
    is_tried = np.zeros(len(number), dtype=bool)
    is_tried[order[::2]] = True
    return is_tried


def _alone(binned: Codes, ones: Mask, is_tried: Mask) -> Floats:
    """Return scores of one column by target, then test row: the target's rate among training rows in the row's bin."""
    learned, n_bins = binned[~is_tried], int(binned.max()) + 1
    counts = np.bincount(learned, minlength=n_bins) + SMOOTHING
    hits = [np.bincount(learned, own, minlength=n_bins) + SMOOTHING * own.mean() for own in ones[:, ~is_tried]]
    return np.asarray((np.stack(hits) / counts)[:, binned[is_tried]])


def _together(matrix: Floats, number: Codes, n_targets: int, is_tried: Mask, seed: int) -> Floats:
    """Return scores of all columns by target, then test row: probabilities by one gradient boosting model."""
    seen, probabilities = boosted(matrix[~is_tried], number[~is_tried], matrix[is_tried], max_iter=60, seed=seed)
    scores = np.zeros((n_targets + 1, int(is_tried.sum())))
    scores[seen] = probabilities.T
    return scores[1:]


def _beat_chance(scores: Floats, ones: Mask, error: float, rng: np.random.Generator) -> Mask:
    """Return a mask by column, then target: True if the column's scores predict the target better than chance.

    `scores` are by column, target and row, `ones` by target and row. If no column predicts any target, the probability
    of any True is at most `error`, which is split over the targets. For each target, the permutation test of Westfall
    and Young (1993) is used, on the largest statistic of all columns. Statistics of a rare value have heavy tails, so
    one test for all targets would hide the columns that predict a common value.
    """
    ranks = np.stack([[_rank(score, score) * len(score) + 0.5 for score in column] for column in scores])
    n_targets, n = ones.shape
    n_ones, spread = ones.sum(axis=1), ((ranks - (n + 1) / 2) ** 2).sum(axis=2)
    deviation = np.sqrt(spread * (n_ones * (n - n_ones) / (n * max(1, n - 1))))

    def far(sums: Floats) -> Floats:
        """Return sums of ranks by column and target in standard deviations above the mean that guessing would give."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num((sums - n_ones * (n + 1) / 2) / deviation, nan=0.0, posinf=0.0, neginf=0.0)

    n_permutations = min(MOST_PERMUTATIONS, math.ceil(BEYOND * n_targets / error))
    labels, by_target = ones.T.astype(np.float32), ranks.transpose(1, 2, 0).astype(np.float32)
    farthest: list[Floats] = []
    for first in range(0, n_permutations, size := max(1, CELLS // n)):
        orders = rng.permuted(np.tile(np.arange(n), (min(size, n_permutations - first), 1)), axis=1)
        sums = np.stack([labels[:, place][orders] @ by_target[place] for place in range(n_targets)], axis=-1)
        farthest += [each.max(axis=0) for each in far(sums)]
    beaten_by = (np.array(farthest)[:, None] >= far((ranks * ones).sum(axis=2)) - 1e-3).sum(axis=0)
    return np.asarray((1 + beaten_by) / (1 + n_permutations) <= error / n_targets)


def _best(
    scores: Floats, column: int, ones: Mask, values: list[str], error: float, shown: Mask
) -> tuple[str, float, float, float, float]:
    """Return the value that a column predicts best, its AUC and interval, and the AUC of all columns for that value.

    A value that the column is shown to predict comes before all others, because the AUC of a rare value may be large by
    chance. The error of the interval is split over the values. If the column is not `shown` to predict the value, `low`
    is at most 0.5.
    """
    from scipy.special import ndtri

    told = []
    for place, (score, is_one) in enumerate(zip(scores[column], ones, strict=True)):
        auc, n = auc_of(score, is_one)
        low, high = wilson(auc, n, -float(ndtri(error / len(values) / 2)))
        told.append((shown[place] and low > 0.5, auc, low if shown[place] else min(low, 0.5), high, place))
    _, auc, low, high, place = max(told)
    return values[place], auc, low, high, auc_of(scores[-1, place], ones[place])[0]


def auc_of(scores: Floats, is_one: Mask) -> tuple[float, float]:
    """Return the AUC of scores for the rows where `is_one`, and its effective number of rows.

    The effective number follows from the variance of the AUC by DeLong (1988), from how each row ranks among the rows
    of the other kind. For an AUC of 0 or 1, it is the number of rows of the rarer kind.
    """
    ones, rest = scores[is_one], scores[~is_one]
    above, below = _rank(ones, rest), 1 - _rank(rest, ones)
    auc, few = float(above.mean()), float(min(len(ones), len(rest)))
    variance = float(above.var(ddof=1) / len(ones) + below.var(ddof=1) / len(rest))
    return auc, (auc * (1 - auc) / variance if variance else 0.0) or few


def wilson(fraction: float, n: float, reach: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval (1927) of a fraction of n rows, for `reach` standard deviations."""
    middle = (fraction + reach**2 / (2 * n)) / (1 + reach**2 / n)
    half = reach / (1 + reach**2 / n) * math.sqrt(fraction * (1 - fraction) / n + reach**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _rank(scores: Floats, others: Floats) -> Floats:
    """Return for each score the fraction of `others` that it exceeds; equal ones count half."""
    ordered = np.sort(others)
    return (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")) / (2 * len(others))
