"""Rates: the fraction of real rows that would get the favourable outcome if everybody had one combination of values.

They need no further query: the model was asked about every combination of sensitive values of every row already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Cell, Column, Interval, Table
from fairprobe.estimation.bounds.clustered import clustered, some
from fairprobe.estimation.bounds.differences import paired_difference
from fairprobe.estimation.bounds.intervals import split_confidence
from fairprobe.estimation.counts import RowAnswers
from fairprobe.estimation.favourable import Favourable, classes_of, in_order
from fairprobe.wording import percent, signed, value

if TYPE_CHECKING:
    import pandas as pd


def rated_outcome(favourable: Favourable | None, model: Any, answers: RowAnswers, is_label: bool) -> Favourable | None:
    """Return the outcome whose rates are stated: the favourable one, else the model's last class.

    For a model that does not state its classes, it is the last label, in order, that the rows got. None for plain
    numbers, such as scores, because they have no rate, and without answers.
    """
    if not answers.present.any() or not (is_label or answers.outputs.ndim == 3):
        return None
    if favourable is not None:
        return favourable
    classes = classes_of(model)
    if is_label:
        last = (classes or in_order(np.unique(answers.outputs[answers.present]).tolist()))[-1]
        return Favourable(last, last, is_label=True)
    place = answers.outputs.shape[2] - 1
    name = classes[-1] if classes is not None and len(classes) == place + 1 else place
    return Favourable(name, name, place=place)


def rates_of(
    answers: RowAnswers,
    good: Mask,
    confidence: float,
    *,
    weights: Floats | None = None,
    groups: Codes | None = None,
    is_count: bool = False,
) -> pd.DataFrame:
    """Return the rate of the favourable outcome by combination of sensitive values, in the order of the combinations.

    Args:
        answers: the rows, with their members.
        good: by member, then row: True where the member gets the favourable outcome.
        confidence: the confidence with which the intervals of all differences between two combinations hold together,
            so that it does not matter which combination turns out to be the best.
        weights: by row, or None if all rows count alike.
        groups: the number of the person or unit of each row, or None.
        is_count: True for training rows, whose differences have no interval.

    Returns:
        A row for each combination: "combination" in words; "rate"; "difference", its rate less that of the best
        combination on the rows that can have both; "low" and "high", the paired interval of the difference; "n", the
        number of these rows. A combination that no row can have has the rate NaN.
    """
    import pandas as pd

    weight = np.ones(good.shape[1]) if weights is None else weights
    good, present = good & answers.present, answers.present
    totals = present @ weight
    rates = np.divide(good @ weight, totals, out=np.full(len(totals), math.nan), where=totals > 0)
    best = int(np.nanargmax(rates)) if (totals > 0).any() else 0
    each = split_confidence(confidence, max(1, math.comb(len(rates), 2)))
    rows = []
    for place, (words, rate) in enumerate(zip(answers.members, rates.tolist(), strict=True)):
        both = present[place] & present[best]
        only = good[place] & ~good[best] & both, good[best] & ~good[place] & both
        whole = float(both @ weight)
        lead = float(only[0] @ weight - only[1] @ weight) / whole if whole else math.nan
        low, high = (lead, lead) if place == best else (math.nan, math.nan)
        if place != best and both.any() and not is_count:
            low, high = _paired(only[0][both], only[1][both], each, some(weights, both), some(groups, both))
        rows.append((words, rate, lead, low, high, int(both.sum())))
    return pd.DataFrame(rows, columns=["combination", "rate", "difference", "low", "high", "n"])


def rates_table(rates: Sequence[Mapping[str, Any]], rated: str | None, is_last_class: bool) -> Table:
    """Return a table of the rates by combination, as in `Share.rates`, from records without an interval as None or NaN.

    Each rate is drawn on one axis, so that their spread can be seen.
    """
    known = [each["rate"] for each in rates if each["rate"] is not None and not math.isnan(each["rate"])]
    end = min(1.0, max(0.05, math.ceil(22 * max(known, default=1.0)) / 20))  # a multiple of 5%

    def drawn(each: Mapping[str, Any]) -> Cell:
        return Interval(percent(each["rate"]), None, each["rate"], None, end) if each["n"] else percent(None)

    def difference(each: Mapping[str, Any]) -> str:
        if not each["n"]:
            return percent(None)
        if each["low"] == each["high"] == 0:
            return "the highest"
        points = f"{signed(100 * each['difference'])} points"
        if each["low"] is None or math.isnan(each["low"]):
            return points
        return f"{points} ({signed(100 * each['low'])} to {signed(100 * each['high'])})"

    why = ", the model's last class: no favourable outcome was named" if is_last_class else ""
    columns: dict[str, Column] = {
        "If everybody were": ("combination", value),
        "Rate": drawn,
        "Difference to the highest": difference,
    }
    return Table.of_records(rates, columns, f"Rate of {value(rated)}{why}")


def _paired(
    more: Mask, less: Mask, confidence: float, weights: Floats | None, groups: Codes | None
) -> tuple[float, float]:
    """Return the interval of the difference of two paired rates.

    `more` marks the rows where only the first combination gets the outcome, `less` those where only the second does.
    """
    if weights is None and groups is None:
        return paired_difference(int(more.sum()), int(less.sum()), len(more), confidence)
    # A difference of -1, 0 or 1 is twice the share of hits among two halves of the row, less 1.
    halves = np.concatenate([~less, more])
    weight = None if weights is None else np.tile(weights, 2)
    group = np.tile(np.arange(len(more)) if groups is None else groups, 2)
    low, high = clustered(halves, weight, group, confidence).two_sided
    return 2 * low - 1, 2 * high - 1
