"""Blocks (sentences, tables, figures and sections) that state a result, and the base class `Result`.

A result states its content once, in `blocks()`. A writer turns blocks into text for a terminal, a notebook or Markdown;
this module knows writers only by name. Texts in blocks are plain: the writer escapes them. A value from the user's data
is marked with `wording.value`, so that it cannot change the direction of the text around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from fairprobe.checks import checked_choice
from fairprobe.wording import unmarked, value

if TYPE_CHECKING:
    import pandas as pd

WRITERS = {
    "text": "fairprobe.report.terminal:written",
    "notebook": "fairprobe.report.html:written",
    "markdown": "fairprobe.report.markdown:written",
}
"""Module and function that turn blocks into text, by name of the writer. A new writer is one file and one line here."""


class Remark(NamedTuple):
    """The message of a named health check about a result.

    >>> Remark("few-rows", "only 12 rows were given").jsonable()
    {'check': 'few-rows', 'message': 'only 12 rows were given'}
    """

    check: str
    message: str

    def jsonable(self) -> dict[str, str]:
        """Return the remark as a dict with "check" (the name of the health check) and "message"."""
        return self._asdict()


@dataclass(frozen=True)
class Sentence:
    """Block of one or more sentences, with an optional title before them."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Items:
    """Block that is a list of sentences."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Interval:
    """Table cell with a number and its interval: a page draws them on an axis from 0 to `end`, others write `text`."""

    text: str
    low: float | None
    value: float | None
    high: float | None
    end: float = 1.0
    limit: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Code:
    """Block with a text to copy unchanged, such as a command, a rule or settings."""

    text: str
    title: str = ""
    is_folded: bool = False
    """True if a page shows the title alone until a reader opens it."""


Cell = str | Interval
Column = str | Callable[[Any], Cell] | tuple[str, Callable[[Any], str]]
"""Content of a table column: the name of a field of the record, whose value is shown as it is.

Or the field's name with a function from its value to the cell's text, or a function from the record to the cell."""


@dataclass(frozen=True)
class Table:
    """Block with rows of cells under column names. Without column names, the first cell of a row names the others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    numbers: frozenset[str] = frozenset()
    """Names of the columns that hold numbers, which are aligned on the right."""
    name: str = ""
    """Identifier of a table that a page shows as a list to sort and filter; empty for all other tables."""

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Iterable[Cell]], title: str = "", name: str = "") -> Table:
        """Return a table with these column names and rows; a column whose name begins with "#" holds numbers.

        >>> Table.of(["", "#share"], [["rows", "5%"]]).numbers
        frozenset({'share'})
        """
        names = tuple(columns)
        numbers = frozenset(column[1:] for column in names if column.startswith("#"))
        cells = tuple(tuple(row) for row in rows)
        return cls(tuple(column.removeprefix("#") for column in names), cells, title, numbers, name)

    @classmethod
    def of_records(
        cls, records: Iterable[Any], columns: Mapping[str, Column], title: str = "", name: str = ""
    ) -> Table:
        """Return a table with one row per record, whose cells the `columns` make, by column name.

        >>> Table.of_records([{"n": 5, "of": "rows"}], {"": ("of", str.upper), "#n": lambda each: str(each["n"])}).rows
        (('ROWS', '5'),)
        """
        return cls.of(columns, [[_written(each, of) for of in columns.values()] for each in records], title, name)

    @classmethod
    def of_facts(cls, facts: Mapping[str, object] | Iterable[tuple[str, object]], title: str = "") -> Table:
        """Return a table without column names that has one row per fact: its name and its value as text."""
        pairs = facts.items() if isinstance(facts, Mapping) else facts
        return cls((), tuple((name, str(figure)) for name, figure in pairs), title)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, title: str = "", *, index: bool = False, most_rows: int = 10) -> Table:
        """Return a table of the first `most_rows` rows of a frame; with `index`, the index is the first column."""
        from pandas.api.types import is_numeric_dtype

        shown = frame.head(most_rows)
        shown = shown.reset_index() if index else shown
        names = tuple(map(str, shown.columns))
        right = [str(name) for name in shown.columns if is_numeric_dtype(shown[name])]
        rows = tuple(tuple(map(_cell, row)) for row in shown.itertuples(index=False, name=None))
        return cls(names, rows, title, frozenset(right))


@dataclass(frozen=True)
class Figure:
    """Block with a drawing as SVG, and sentences that describe it to a reader who cannot see it."""

    title: str
    svg: str
    words: str = ""


@dataclass(frozen=True)
class Section:
    """Block that holds other blocks under a heading; `name` identifies the section, for example in a link to it."""

    title: str
    blocks: tuple[Block, ...]
    name: str = ""


Block = Sentence | Items | Code | Table | Figure | Remark | Section


class Result:
    """Base class of results, which state their content as blocks for people and as plain values of JSON.

    A subclass defines `blocks` and `jsonable`; its first block is a sentence.
    """

    def blocks(self) -> Sequence[Block]:
        """Return the content of the result as blocks, the most important first."""
        raise NotImplementedError

    def jsonable(self) -> Any:
        """Return the content of the result as values that JSON can hold."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the content of the result as lines of plain text."""
        return written(self.blocks(), "text")

    def __repr__(self) -> str:
        first = next((block.text for block in self.blocks() if isinstance(block, Sentence)), "")
        return f"{type(self).__name__}({unmarked(first)})"

    def _repr_html_(self) -> str:
        return written(self.blocks(), "notebook")


def written(blocks: Iterable[Block], writer: str) -> str:
    """Return blocks as text in the form of a writer, which is named as in `WRITERS`."""
    return str(entry_of(WRITERS, "writer", writer)(tuple(blocks)))


def entry_of(registry: Mapping[str, str], argument: str, name: str) -> Callable[[Any], Any]:
    """Import and return the function that a registry has under a name, as "module:function".

    An unknown name raises a SettingError about `argument`, the argument that named it.
    """
    module, function = registry[checked_choice(argument, name, registry)].split(":")
    made: Callable[[Any], Any] = getattr(import_module(module), function)
    return made


def _written(record: Any, column: Column) -> Cell:
    if callable(column):
        return column(record)
    field, write = (column, value) if isinstance(column, str) else column
    return write(record[field])


def _cell(of: Any) -> str:
    return f"{of:.6g}" if isinstance(of, float) else value(of)
