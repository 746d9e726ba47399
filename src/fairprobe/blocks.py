"""The parts that a result consists of, and the base class of results. This module knows no writer but by name.

A result says what it has to say once, in `blocks()`. A writer turns blocks into the text of a terminal, a notebook,
Markdown or a page. Texts in blocks are plain: the writer escapes them. A value from somebody's data is marked with
`wording.value`, so that it cannot turn the text around it.
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
"""By name, the module and the function that writes blocks. A new writer is one file and one line here."""


class Remark(NamedTuple):
    """A named health check that has something to say about a result.

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
    """A figure with its interval on an axis from 0 to `end`; a cell of a table, drawn where the writer can draw."""

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
    """A text to be copied as it is, such as a command, a rule or settings."""

    text: str
    title: str = ""


Cell = str | Interval
Column = Callable[[Any], Cell] | tuple[str, Callable[[Any], str]]
"""How a column writes a record: by a function of the record, or by a function of one of its fields."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under the names of columns. Without columns, the first cell of a row names the others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    numbers: frozenset[str] = frozenset()
    """The columns that hold numbers, which are aligned on the right."""
    name: str = ""
    """Identifies a table that a page shows in another way, as a list to sort and to filter."""

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Iterable[Cell]], title: str = "", name: str = "") -> Table:
        """A table of any iterables; a column whose name begins with "#" holds numbers.

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
        """A table with one row per record.

        >>> Table.of_records([{"n": 5, "of": "rows"}], {"": ("of", str.upper), "#n": lambda each: str(each["n"])}).rows
        (('ROWS', '5'),)
        """
        return cls.of(columns, [[_written(each, of) for of in columns.values()] for each in records], title, name)

    @classmethod
    def of_facts(cls, facts: Mapping[str, object] | Iterable[tuple[str, object]], title: str = "") -> Table:
        """A table of named figures, one a row."""
        pairs = facts.items() if isinstance(facts, Mapping) else facts
        return cls((), tuple((name, str(figure)) for name, figure in pairs), title)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, title: str = "", *, index: bool = False, most_rows: int = 10) -> Table:
        """The first rows of a frame; `index` puts its index before them."""
        from pandas.api.types import is_numeric_dtype

        shown = frame.head(most_rows)
        shown = shown.reset_index() if index else shown
        names = tuple(map(str, shown.columns))
        right = [str(name) for name in shown.columns if is_numeric_dtype(shown[name])]
        rows = tuple(tuple(map(_cell, row)) for row in shown.itertuples(index=False, name=None))
        return cls(names, rows, title, frozenset(right))


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, and the sentences that say the same to a reader who does not see it."""

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
    """Base class of results: each says its content once, as blocks and as plain values.

    A subclass defines `blocks` and `jsonable`; its first block is a sentence.
    """

    def blocks(self) -> Sequence[Block]:
        """The content for people, most important first."""
        raise NotImplementedError

    def jsonable(self) -> Any:
        """The content as plain values of JSON."""
        raise NotImplementedError

    def text(self) -> str:
        """The content as lines of text."""
        return written(self.blocks(), "text")

    def __repr__(self) -> str:
        first = next((block.text for block in self.blocks() if isinstance(block, Sentence)), "")
        return f"{type(self).__name__}({first})"

    def _repr_html_(self) -> str:
        return written(self.blocks(), "notebook")


def written(blocks: Iterable[Block], writer: str) -> str:
    """Blocks as the text that a writer makes of them."""
    return str(entry_of(WRITERS, "writer", writer)(tuple(blocks)))


def entry_of(registry: Mapping[str, str], argument: str, name: str) -> Callable[[Any], Any]:
    """The function that a registry has under a name, which an argument gave."""
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
