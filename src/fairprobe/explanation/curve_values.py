"""The values of a parameter along which cases are moved for a curve, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import is_missing, plain

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 24
"""Largest number of values of a curve. Chosen."""


def along(domain: Domain, column: int, inputs: Codes) -> Codes:
    """One input for each value of a parameter: evenly spread along its order, or the most frequent names."""
    roles, firsts, counts = np.unique(
        domain.families.canonical(inputs)[:, column], return_index=True, return_counts=True
    )
    known = roles >= 0
    firsts, counts = firsts[known], counts[known]
    if domain.parameters[column].wraps:
        return inputs[firsts[np.argsort(-counts, kind="stable")][:MOST_POINTS]]
    firsts = firsts[np.argsort(_shown_as(domain, column, inputs[firsts]), kind="stable")]
    points = np.unique(np.linspace(0, len(firsts) - 1, min(MOST_POINTS, len(firsts))).round().astype(np.int64))
    return inputs[firsts[points]]


def _players(domain: Domain, column: int, inputs: Codes) -> tuple[Codes, Mask]:
    """By member and input: its code in a linked column, and whether this code has the input's role."""
    families = domain.families
    rows = families.members(inputs)
    roles = families.canonical(rows)[:, column].reshape(len(families), -1)
    return rows[:, column].reshape(len(families), -1), roles == families.canonical(inputs)[:, column]


def _shown_as(domain: Domain, column: int, inputs: Codes) -> Codes:
    """The code that stands for an input's value: in a linked column, that of the first member that has one."""
    if not _is_linked(domain, column):
        return inputs[:, column]
    codes, exist = _players(domain, column, inputs)
    return codes[exist.argmax(axis=0), np.arange(len(inputs))]


def values_of(domain: Domain, column: int, inputs: Codes) -> pd.Series[Any]:
    """The values of a parameter: numbers, NaN where missing, or names; in a linked column, those of all members."""
    import pandas as pd

    parameter = domain.parameters[column]
    shown = _shown_as(domain, column, inputs)
    if parameter.is_numeric and not parameter.wraps:
        return pd.Series(parameter.numbers(shown))
    if not _is_linked(domain, column):
        return pd.Series([_name(domain, column, code) for code in shown.tolist()], dtype=object)
    names = []
    for codes, exist in zip(*(part.T for part in _players(domain, column, inputs)), strict=True):
        names.append("/".join(str(_name(domain, column, code)) for code in dict.fromkeys(codes[exist].tolist())))
    return pd.Series(names, dtype=object)


def _is_linked(domain: Domain, column: int) -> bool:
    return domain.names[column] in [link.column for link in domain.links]


def _name(domain: Domain, column: int, code: int) -> Any:
    value = np.asarray(domain.parameters[column].decode(np.array([code])), dtype=object)[0]
    return "missing" if is_missing(value) else plain(value)
