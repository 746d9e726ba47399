"""Rows that a search starts from, as inputs of the domain, and the row nearest to each case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import coordinates
from fairprobe.errors import DataError, SettingError

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 256
"""Number of cases whose differences from all rows are computed at a time. Chosen: their table stays small."""


@dataclass(frozen=True)
class StartRows:
    """The rows to start a search from: those of the given rows that lie in the domain, in their order."""

    domain: Domain
    """The searched domain. With `max_changes` it also holds those values of the rows that lie between its steps."""
    codes: Codes
    frame: pd.DataFrame
    """The rows in the caller's values, one for each row of `codes`."""
    remarks: list[Remark]
    n_implausible: int = 0
    """Number of rows left out because they are less plausible by the density than required."""

    def plausible(self, density: Density, least: float) -> StartRows:
        """Return the rows with a plausibility of at least `least` by the density; refuse a `least` that none has."""
        likely = density.within(self.domain).plausibility_of(self.codes)
        kept = likely >= least
        if not kept.any():
            highest = f"the highest among {len(kept):,} rows is {likely.max():.4g}"
            rule = f"must be one that a row to start from reaches, got {least:g}: {highest}"
            raise SettingError.about("min_plausibility", rule)
        n = len(kept) - int(kept.sum())
        return replace(self, codes=self.codes[kept], frame=self.frame[kept], n_implausible=n)


def start_rows(domain: Domain, rows: Any, *, keep: bool = False) -> StartRows:
    """Return the given rows that lie in the domain, as inputs to start a search from.

    A row whose sensitive value is not compared gets the first compared value that fits, with the linked columns changed
    along. A number between two steps goes to the nearer one, unless `keep` is true. Rows with an unknown sensitive
    value are left out.
    """
    given = domain.rows(rows, called={"X": "start"})
    frame, unknown = given.typed, ~given.known
    known, own = frame[~unknown], given.nearest_codes[~unknown][:, list(domain.sensitive_columns)]
    compared = as_compared(domain, known, own) if (own < 0).any() else known
    if keep:
        domain = domain.holding(compared)
    codes = domain.encode(compared, nearest=True)
    inside = domain.contains(codes)
    if not inside.any():
        raise DataError(f"a row to start from must lie in the domain, got none among {len(frame):,}")
    reasons = {"lie outside the domain": ~inside, "have a sensitive value that is unknown": unknown}
    numbers = {why: int(rows.sum()) for why, rows in reasons.items()}
    left_out = [f"{n:,} of {len(frame):,} rows to start from {why}" for why, n in numbers.items() if n]
    remarks = [Remark("start-rows-outside", f"{' and '.join(left_out)}: they are left out")] if left_out else []
    return StartRows(domain, codes[inside], known[inside], remarks)


def as_compared(domain: Domain, frame: pd.DataFrame, own: Codes) -> pd.DataFrame:
    """Return rows in which each sensitive value that is not compared is replaced by the first compared, allowed one.

    `own` has the codes of the rows' sensitive values, negative for a value that is not compared.
    """
    others = np.flatnonzero((own < 0).any(axis=1))
    members = domain.families.of_frame(frame.iloc[others])
    present = members.present & np.asarray((members.members >= 0).all(axis=1))[:, None]
    agrees = present & ((members.members[:, None] == own[others][None]) | (own[others][None] < 0)).all(axis=2)
    best = np.where(agrees.any(axis=0), agrees.argmax(axis=0), present.argmax(axis=0))
    compared = frame.astype(object)
    has_one = present.any(axis=0)
    if has_one.any():
        places = np.flatnonzero(has_one)
        compared.iloc[others[places]] = members.as_members(best[places], places).astype(object).to_numpy()
    # A row without any member stays as it is, and so outside the domain.
    return domain.typed(compared.infer_objects())


def fewest_changes(domain: Domain, cases: Codes, rows: Codes) -> tuple[Codes, Codes]:
    """Return two arrays by case: the position of the row that differs in the fewest values, and how many these are.

    If several rows are equally near, the first one counts. Sensitive and derived columns do not count; in linked
    columns, roles are compared.
    """
    from scipy.spatial.distance import cdist

    ours, theirs = coordinates(domain, cases), coordinates(domain, rows)
    nearest, changes = np.zeros((2, len(cases)), dtype=np.int64)
    for first in range(0, len(cases), BLOCK):
        differ = np.nan_to_num(cdist(ours[first : first + BLOCK], theirs, "hamming")) * ours.shape[1]
        nearest[first : first + BLOCK] = differ.argmin(axis=1)
        changes[first : first + BLOCK] = np.rint(differ.min(axis=1))
    return nearest, changes


def count_changes(domain: Domain, cases: Codes, rows: Codes) -> Codes:
    """Return the number of values in which each case differs from the row at the same position of `rows`."""
    return np.asarray((coordinates(domain, cases) != coordinates(domain, rows)).sum(axis=1))
