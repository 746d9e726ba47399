"""Health checks of data and of the domain inferred from them: named remarks on values and columns that may mislead."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.domain.constraints import Rule
from fairprobe.domain.derived import Derived
from fairprobe.domain.domain import Domain
from fairprobe.domain.infer import unseen_remarks
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.propose import propose
from fairprobe.domain.values import follows, numbered
from fairprobe.errors import DataError, HealthWarning

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS = 20_000
"""Largest number of rows that are checked for kinds of columns and dependences; they are evenly spread. Chosen for
speed."""

LEAST_ROWS = 30
"""Smallest number of rows for which a column is called unique or dependent on another; chosen."""

MARKERS = frozenset(
    {"?", "??", "-", "--", "---", ".", "..", "*", "na", "n/a", "n.a.", "#n/a", "nan", "none", "null", "nil"}
)
"""Texts, in lower case, that files use for a missing value; chosen."""

NEARLY_UNIQUE = 0.95
"""Smallest fraction of different values in a column of ids, and of dates in a column of dates; chosen."""
ID_NAME = re.compile(r"(?i:(^|[\W_])(id|idx|index|key|no|nr|uuid|guid|ssn))$|[a-z](Id|ID|Idx|Key)$")
"""Pattern of names that columns of ids often have; chosen."""

_DAY, _TIME = r"(0?[1-9]|[12]\d|3[01])", r"([ T]\d{1,2}:\d\d.*)?"
DATE = re.compile(
    rf"(\d{{4}}[-/.]{_DAY}[-/.]{_DAY}|{_DAY}[-/.]{_DAY}[-/.](\d{{4}}|\d\d)"
    rf"|{_DAY}[-. ][A-Za-z]{{3,9}}[-., ]+\d{{4}}|[A-Za-z]{{3,9}} {_DAY},? \d{{4}}){_TIME}"
)
MOST_DATES = 200
"""Largest number of different values of a column that are checked to recognise dates, roughly; chosen."""

LABELS = "label|labels|target|targets|y|y_true|ground_truth|outcome"
"""Pattern of names that columns of labels often have; chosen."""
LABELS_OF_TWO = (
    "class|income|approved|admitted|default|decision|result|churn|survived|hired|risk|recid|recidivism|loan_status"
)
"""Pattern of names that columns of labels have if they have two values; chosen."""
MOST_LABELS = 20
"""Largest number of different values of a column that may be the label; chosen."""

MANY_VALUES = 120
"""Smallest number of different values of a category, or of a sensitive parameter, that a remark calls many; chosen to
be above the ages of people."""

MOST_VALUES = 1000
"""Largest number of different values of a column that is checked for dependences; chosen."""
MOST_COLUMNS = 100
"""Largest number of columns for which all pairs are checked for dependences; with more, only pairs with a sensitive
column. Chosen for speed."""
EXPECTED = 20
"""Smallest number of rows that would contradict a dependence of two columns by chance, for it to be reported;
chosen."""
ERROR = 0.01
"""Error probability for the links that a remark proposes; chosen."""
MOST_PAIRS = 5
"""Largest number of pairs of columns that a remark names; chosen."""


def health_of_data(frame: pd.DataFrame, domain: Domain) -> list[Remark]:
    """Return remarks on the rows from which a domain was inferred, and on the domain's rules that they break."""
    of_rules = health_of_rules(frame, domain)  # first, as it may refuse
    return health_of_columns(frame, domain) + of_rules


def health_of_columns(frame: pd.DataFrame, domain: Domain) -> list[Remark]:
    """Return remarks on the columns of rows: suspicious values, kinds of columns, and columns that determine others.

    Columns that a `Derived` computes are left out; those that a link changes are not checked for dependences.
    """
    rows = _spread(frame)
    remarks: list[Remark] = []
    for parameter in domain.parameters:
        if isinstance(parameter, Derived):
            continue
        remarks += _of_values(frame[parameter.name], parameter)
        of_kind = list(_of_kind(rows[parameter.name], parameter))
        is_sensitive = parameter.name in domain.sensitive
        remarks += of_kind or _of_many_values(frame[parameter.name], parameter, is_sensitive=is_sensitive)
        if is_sensitive:
            remarks += unseen_remarks(frame, parameter)
    return remarks + _determined_columns(rows, domain)


def health_of_rules(frame: pd.DataFrame, domain: Domain) -> list[Remark]:
    """Return remarks on the domain's rules that rows break. A rule that no row keeps is refused."""
    remarks = []
    for rule in domain.constraints:
        if isinstance(rule, Rule):
            n, n_kept = len(frame), int(rule.matches(frame).sum())
            if not n_kept:
                raise DataError(f"constraint {rule.text!r} must hold for a row at least, got none of {n:,}")
            if n_kept < n:
                text = f"constraint {rule.text!r} is broken by {n - n_kept:,} of {n:,} rows"
                remarks.append(Remark("rule-broken", text))
    return remarks


def warn_of_health(remarks: Iterable[Remark], *, stacklevel: int = 2) -> None:
    """Issue remarks as Python warnings of the category `HealthWarning`."""
    for name, message in remarks:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=stacklevel)


def health_of_label(frame: pd.DataFrame, label: pd.Series[Any]) -> list[Remark]:
    """Return remarks on input columns that determine the label in all rows."""
    rows, numbers = _spread(frame), numbered(_spread(label))
    remarks = []
    for name in rows.columns:
        column = numbered(rows[name])
        if column.max() < MOST_LABELS and follows(column, numbers, EXPECTED):
            text = (
                f"column {name!r} determines the label {label.name!r} in all {len(rows):,} rows looked at: if it is "
                "the label in other words, leave it out of the inputs (--ignore on the command line)"
            )
            remarks.append(Remark("label-among-inputs", text))
    return remarks


def _spread(rows: Any) -> Any:
    """Return at most `MOST_ROWS` of the given rows, evenly spread, in their order."""
    if len(rows) <= MOST_ROWS:
        return rows
    return rows.iloc[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.int64)]


def _texts(parameter: Parameter) -> list[str]:
    """Return the values of a parameter that are text; empty for a number."""
    return [value for value in getattr(parameter, "values", ()) if isinstance(value, str)]


def _of_values(column: pd.Series[Any], parameter: Parameter) -> Iterator[Remark]:
    """Yield remarks on values of a column that may stand for "missing", and on a column with a single value."""
    for value in _texts(parameter):
        if value.strip().lower() in MARKERS:
            n = int((column == value).sum())
            yield Remark(
                "missing-marker",
                f"column {parameter.name!r} holds {value!r} in {n:,} of {len(column):,} rows: if that stands for no "
                f"value, say so by --missing '{value.strip()}', or in Python by na_values=[{value!r}] of read_csv",
            )
    yield from _of_spellings(column, parameter)
    if parameter.levels == 1:
        value = parameter.decode(np.zeros(1, dtype=np.int64))[0]
        yield Remark(
            "single-valued",
            f"column {parameter.name!r} has one value, {value}: a model may answer otherwise for others, which are not "
            "in the domain; give the parameter its bounds, or leave the column out",
        )


def _of_spellings(column: pd.Series[Any], parameter: Parameter) -> Iterator[Remark]:
    """Yield a remark on values of a column that differ from each other in case or spaces alone."""
    alike: dict[str, list[str]] = {}
    for value in _texts(parameter):
        alike.setdefault(" ".join(value.casefold().split()), []).append(value)
    counts = column.value_counts()
    groups = [sorted(group, key=lambda value: -counts.get(value, 0)) for group in alike.values() if len(group) > 1]
    if groups:
        n = sum(int(counts.get(value, 0)) for group in groups for value in group[1:])
        more = f", and {len(groups) - MOST_PAIRS} more such groups" if len(groups) > MOST_PAIRS else ""
        shown = "; ".join(" and ".join(map(repr, group)) for group in groups[:MOST_PAIRS])
        yield Remark(
            "same-but-for-spelling",
            f"column {parameter.name!r} holds values that differ in case or spaces alone: {shown}{more}. They count as "
            f"different values ({n:,} of {len(column):,} rows have the rarer spelling): if they mean one thing, write "
            "them alike, here and where the model is fitted",
        )


def _of_many_values(column: pd.Series[Any], parameter: Parameter, *, is_sensitive: bool) -> Iterator[Remark]:
    """Yield a remark on a category, or a sensitive parameter, with very many values for the rows of its column."""
    n_values, n = parameter.levels - parameter.missing, int(column.count())
    if n_values < MANY_VALUES or not (is_sensitive or bool(getattr(parameter, "values", ()))):
        return
    few = int((column.value_counts() < LEAST_ROWS).sum())
    has = f"{parameter.name!r} has {n_values:,} values in {n:,} rows, {few:,} of them in fewer than {LEAST_ROWS} rows"
    if is_sensitive:
        yield Remark(
            "many-values",
            f"the sensitive parameter {has}: each input is compared with {n_values - 1:,} twins, and one flip among "
            "them makes it a case. List the values to compare, or group them into few before the model is asked",
        )
    elif n < LEAST_ROWS * n_values:
        yield Remark(
            "many-values",
            f"column {has}: inputs of the domain have any of them, so few are like real rows, and density, links and "
            "matched twins learn little about them. Group them into fewer, or judge by the rows alone",
        )


def _of_kind(column: pd.Series[Any], parameter: Parameter) -> Iterator[Remark]:
    """Yield remarks on a column that looks like dates as text, an id or the label."""
    n, n_values = len(column), parameter.levels - parameter.missing
    if _are_dates(_texts(parameter)):
        yield Remark(
            "dates-as-text",
            f"column {parameter.name!r} holds dates as text, such as {_texts(parameter)[0]!r}: to the domain they are "
            "names in no order; make numbers of them (years, days since a date), or leave the column out",
        )
    elif n >= LEAST_ROWS and _is_id(column, parameter):
        yield Remark(
            "id-column",
            f"column {parameter.name!r} has {column.nunique():,} different values in {n:,} rows, as an id has: as an "
            "input it can only be noise; leave it out, here and when the model is fitted",
        )
    known = LABELS if n_values != 2 else f"{LABELS}|{LABELS_OF_TWO}"
    if 2 <= n_values <= MOST_LABELS and re.fullmatch(known, parameter.name.strip(), re.IGNORECASE):
        yield Remark(
            "label-among-inputs",
            f"column {parameter.name!r} is among the inputs, with {n_values} values: if it is what the model predicts, "
            "leave it out (--label on the command line)",
        )


def _are_dates(texts: Sequence[str]) -> bool:
    looked_at = texts[:: max(1, len(texts) // MOST_DATES)]
    n_dates = sum(bool(DATE.fullmatch(text.strip())) for text in looked_at)
    return len(texts) >= 2 and n_dates >= NEARLY_UNIQUE * len(looked_at)


def _is_id(column: pd.Series[Any], parameter: Parameter) -> bool:
    """Return True if a column seems to number the rows.

    At least the part `NEARLY_UNIQUE` of its values differ, and its name or its values suggest it.
    """
    n_values = column.nunique()
    if n_values < NEARLY_UNIQUE * len(column):
        return False
    if parameter.kind != "integer":
        return bool(_texts(parameter))
    is_dense = column.max() - column.min() < 2 * n_values
    return bool(ID_NAME.search(parameter.name) or is_dense or column.is_monotonic_increasing)


# A column that another determines


def _determined_columns(rows: pd.DataFrame, domain: Domain) -> list[Remark]:
    if len(rows) < LEAST_ROWS:
        return []
    following = {link.column for link in domain.links} | {p.name for p in domain.parameters if isinstance(p, Derived)}
    columns = {name: numbered(rows[name]) for name in domain.names if name not in following}
    columns = {name: column for name, column in columns.items() if 0 < column.max() < MOST_VALUES}
    found = sorted(_dependencies(columns, domain.sensitive), key=lambda pair: pair[0] in domain.sensitive, reverse=True)
    with_sensitive = [pair for pair in found if pair[0] in domain.sensitive]
    proposed = propose(domain.without_links(), rows, error=ERROR, columns=[other for _, other, _ in with_sensitive])
    links = {(link.sensitive, link.column): link.words() for link in proposed}
    texts = []
    for one, other, how in with_sensitive:
        link = links.get((one, other))
        texts.append(
            f"the sensitive parameter {one!r} {how} {other!r}: twins that change {one!r} and not {other!r} may be "
            f"people who cannot exist, and a model that uses {other!r} in its place is not found out by them"
            + (f"; a link to read and edit, as propose_links gives it: {link}" if link else "")
        )
    others = [f"{one!r} {how} {other!r}" for one, other, how in found[len(with_sensitive) :]]
    if others:
        more = f", and {len(others) - MOST_PAIRS:,} more pairs" if len(others) > MOST_PAIRS else ""
        texts.append(
            f"in all {len(rows):,} rows looked at {', '.join(others[:MOST_PAIRS])}{more}: inputs that change one and "
            "not the other may be people who cannot exist; say that the one is derived from the other, by Derived, or "
            "by a constraint which values go together"
        )
    return [Remark("determined-column", text) for text in texts]


def _dependencies(columns: dict[str, Codes], sensitive: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of dependent columns as (name, other name, dependency in words), with a sensitive column first.

    The dependency is "determines", for example. Above `MOST_COLUMNS` columns, only pairs with a sensitive one are
    checked.
    """
    names = set(sensitive)
    for one, other in combinations(columns, 2):
        one, other = (other, one) if other in names and one not in names else (one, other)
        if one not in names and len(columns) > MOST_COLUMNS:
            continue
        forth, back = (follows(columns[a], columns[b], EXPECTED) for a, b in ((one, other), (other, one)))
        if forth and back:
            yield one, other, "goes one to one with"
        elif forth:
            yield one, other, "determines"
        elif back:
            yield one, other, "is determined by"
