"""The parts of a result, and the base class of results. This module knows writers only by name.

A result states its content once, in `blocks()`. A writer turns blocks into the text of a terminal, a notebook, Markdown
or a page. Texts in blocks are plain: the writer escapes them. A value from the user's data is marked with
`wording.value`, so that it cannot change the direction of the text around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from fairprobe.errors import SettingError
from fairprobe.wording import value

if TYPE_CHECKING:
    import pandas as pd

WRITERS = {
    "text": "fairprobe.report.terminal:written",
    "notebook": "fairprobe.report.html:written",
    "markdown": "fairprobe.report.markdown:written",
}
"""Module and function that write blocks, by name of the writer. A new writer is one file and one line here."""


class Remark(NamedTuple):
    """The message of a named health check about a result.

    >>> Remark("few-rows", "only 12 rows were given").jsonable()
    {'check': 'few-rows', 'message': 'only 12 rows were given'}
    """

    check: str
    message: str

    def jsonable(self) -> dict[str, str]:
        """The remark as an object of JSON."""
        return self._asdict()


@dataclass(frozen=True)
class Sentence:
    """One or more sentences, with an optional title before them."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Interval:
    """A figure with its interval on an axis from 0 to `end`; a table cell that a writer draws if it can."""

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
    """A text to copy unchanged, such as a command, a rule or settings."""

    text: str
    title: str = ""


Cell = str | Interval
Column = Callable[[Any], Cell] | tuple[str, Callable[[Any], str]]
"""Function that writes a table cell from a record, or the name of a field with a function that writes its value."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names. Without column names, the first cell of a row names the other cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    numbers: frozenset[str] = frozenset()
    """Names of the columns that hold numbers, which are aligned on the right."""
    name: str = ""
    """Identifier of a table that a page shows in another way, as a list to sort and to filter."""

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Iterable[Cell]], title: str = "", name: str = "") -> Table:
        """Return a table of any iterables; a column whose name begins with "#" holds numbers.

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
        """Return a table with one row per record.

        >>> Table.of_records([{"n": 5, "of": "rows"}], {"": ("of", str.upper), "#n": lambda each: str(each["n"])}).rows
        (('ROWS', '5'),)
        """
        return cls.of(columns, [[_written(each, of) for of in columns.values()] for each in records], title, name)

    @classmethod
    def of_facts(cls, facts: Mapping[str, object] | Iterable[tuple[str, object]], title: str = "") -> Table:
        """Return a table of named figures, one per row."""
        pairs = facts.items() if isinstance(facts, Mapping) else facts
        return cls((), tuple((name, str(figure)) for name, figure in pairs), title)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, title: str = "", *, index: bool = False, most_rows: int = 10) -> Table:
        """Return a table of the first rows of a frame; `index` puts its index before them."""
        from pandas.api.types import is_numeric_dtype

        shown = frame.head(most_rows)
        shown = shown.reset_index() if index else shown
        names = tuple(map(str, shown.columns))
        right = [str(name) for name in shown.columns if is_numeric_dtype(shown[name])]
        rows = tuple(tuple(map(_cell, row)) for row in shown.itertuples(index=False, name=None))
        return cls(names, rows, title, frozenset(right))


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, with sentences that describe it to a reader who cannot see it."""

    title: str
    svg: str
    words: str = ""


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; `name` identifies the section, for example in the address of a link."""

    title: str
    blocks: tuple[Block, ...]
    name: str = ""


Block = Sentence | Items | Code | Table | Figure | Remark | Section


class Result:
    """Base class of results. A result states its content once, as blocks and as plain values.

    A subclass defines `blocks` and `jsonable`; its first block is a sentence.
    """

    def blocks(self) -> Sequence[Block]:
        """Return the content for people, most important first."""
        raise NotImplementedError

    def jsonable(self) -> Any:
        """Return the content as plain values of JSON."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the content as lines of text."""
        return written(self.blocks(), "text")

    def __repr__(self) -> str:
        first = next((block.text for block in self.blocks() if isinstance(block, Sentence)), "")
        return f"{type(self).__name__}({first})"

    def _repr_html_(self) -> str:
        return written(self.blocks(), "notebook")


def written(blocks: Iterable[Block], writer: str) -> str:
    """Return blocks as text, made by the named writer."""
    return str(entry_of(WRITERS, "writer", writer)(tuple(blocks)))


def entry_of(registry: Mapping[str, str], argument: str, name: str) -> Callable[[Any], Any]:
    """Return the function under a name in a registry; `argument` gave the name and is named in the error."""
    if name not in registry:
        raise SettingError.about(argument, f"must be one of {', '.join(registry)}; got {name!r}")
    module, function = registry[name].split(":")
    made: Callable[[Any], Any] = getattr(import_module(module), function)
    return made


def _written(record: Any, column: Column) -> Cell:
    if not isinstance(column, tuple):
        return column(record)
    field, write = column
    return write(record[field])


def _cell(of: Any) -> str:
    return f"{of:.6g}" if isinstance(of, float) else value(of)
