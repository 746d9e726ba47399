"""Reads tables from the files that options name, and writes results to such files, completely or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fairprobe.checks import nearest, opened_regular
from fairprobe.errors import DataError, SettingError
from fairprobe.files import check_folder, write_results
from fairprobe.frames import write_csv
from fairprobe.wording import for_terminal

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")
STDOUT = "-"
FOLDER = "/"
"""Entry among the allowed endings of a destination that means that it is a folder."""

# Tables that are read: a file that is no clean table is refused with the line at fault


def read_frame(path: str, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file as a frame; `missing` are texts that mark missing values, besides those of pandas."""
    file = Path(path)
    kind = file.name.lower()
    if not kind.endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(f"the data must be a .csv, .csv.gz or .parquet file, got {path!r}")
    try:
        opened_regular(file).close()  # a pipe may never end
        return _read_parquet(file, missing) if kind.endswith(".parquet") else _read_csv(file, missing)
    except OSError as error:
        near = "" if file.exists() else nearest(file.name, (other.name for other in file.parent.glob("*")))
        raise DataError(f"the data must be a file that can be read, got {error.strerror}: {path}{near}") from None


def _read_parquet(file: Path, missing: Sequence[str]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow

    if missing:
        raise SettingError(f"--missing is for CSV, as Parquet has missing values of its own, got {missing[0]!r}")
    try:
        frame = pd.read_parquet(file.absolute(), engine="pyarrow")  # pandas takes ~ at the beginning for a home
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{file} must be a Parquet file, got {_first_line(error)}") from None
    if frame.empty:
        raise DataError(f"{file} must have a column and a row at least, got the shape {frame.shape}")
    return frame


def _read_csv(file: Path, missing: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    try:
        with _open(file) as text:
            _check_table(file, text)
        same = file.absolute()  # pandas takes ~ at the beginning for a home
        return pd.read_csv(same, encoding="utf-8-sig", na_values=list(missing), low_memory=False, index_col=False)
    except UnicodeDecodeError as error:
        got = f"the byte 0x{error.object[error.start]:02x}"
        raise DataError(f"{file} must be UTF-8 text, got {got}: a binary file, or UTF-16?") from None
    except DataError:
        raise
    except (ValueError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        rule = "must be a CSV file" if isinstance(error, ValueError) else "must be compressed by gzip"
        raise DataError(f"{file} {rule}, got {_first_line(error)}") from None


def _open(file: Path) -> IO[str]:
    """Open a CSV file, compressed or not, as text."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    opened: IO[str] = opener(file, "rt", encoding="utf-8-sig", newline="")
    return opened


def lines_of(path: str) -> list[int] | None:
    """Return the line number, from 1 on, where each row of data begins in a CSV file; None for a Parquet file."""
    file = Path(path)
    if file.name.lower().endswith(".parquet"):
        return None
    with _open(file) as text:
        return [line for line, _ in _rows(csv.reader(text))][1:]


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number where a row of CSV begins, and its cells, for each row that is not blank."""
    begins = 1
    for row in reader:
        if row:
            yield begins, row
        begins = reader.line_num + 1


def _check_table(file: Path, text: Iterable[str]) -> None:
    """Raise a DataError if the text of a CSV file has no row, a row of another length than the header, or a zero byte.

    Repeated columns are refused as well. pandas would fill short rows and rename repeated columns.
    """

    def lines() -> Iterator[str]:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                got = f"a zero byte on line {number:,}"
                raise DataError(f"{file} must be UTF-8 text, got {got}: a binary file, or UTF-16?")
            yield line

    reader = csv.reader(lines())
    rows, n_rows = _rows(reader), 0
    try:
        _, header = next(rows, (0, []))
        _check_header(file, header)
        for begins, row in rows:
            n_rows += 1
            if len(row) != len(header):
                rule = f"a row must have {len(header)} values, as the header has"
                raise DataError(f"{file}: {rule}, got {len(row)} on line {begins:,}")
    except csv.Error as error:
        raise DataError(f"{file} must be a CSV file, got {error} on line {reader.line_num:,}") from None
    if not n_rows:
        raise DataError(f"{file} must have a row of data, got only a header: {', '.join(header)}")


def _check_header(file: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{file} must have a header and a row, got an empty file or blank lines")
    repeated = [name for name, n in Counter(header).items() if n > 1 and name]
    if repeated:
        raise DataError(f"{file}: columns must have distinct names, got {', '.join(repeated)} more than once")
    if len(header) == 1 and set(";\t") & set(header[0]):
        raise DataError(f"{file} must have commas between its columns, got {header[0]!r:.60}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# Where results are written: checked before the work starts


@dataclass(frozen=True)
class Destination:
    """A file, a folder, or the standard output, to which results are written."""

    name: str
    """The destination as the user named it; "-" is the standard output."""
    stream: IO[str] | None = None
    """The standard output if it is the destination; otherwise None."""

    @classmethod
    def of(cls, name: str | None, endings: Collection[str], option: str, *, overwrite: bool = True) -> Destination:
        """Return the destination that `name`, the value of an option, names, after checking that it can be written.

        A wrong ending, or with `overwrite=False` an existing file, raises a SettingError.
        """
        if name is None:
            raise SettingError(f"{option} must name a file that ends in {' or '.join(endings)}, got none")
        if name == STDOUT and STDOUT in endings:
            return cls(name, sys.stdout)
        path, is_folder = Path(name).resolve(), FOLDER in endings
        what, other = ("folder", "file") if is_folder else ("file", "folder")
        if path.exists() and path.is_dir() != is_folder:
            raise SettingError(f"{option} must be a {what}, got the {other} {name}")
        if not is_folder and path.suffix.lower() not in endings:
            raise SettingError(f"{option} must end in {' or '.join(endings)}; got {name!r}")
        if not path.parent.is_dir():
            raise SettingError(f"{option} must lie in a folder that exists, got {name}")
        try:
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            check_folder(path if path.is_dir() else path.parent)
        except OSError as error:
            raise SettingError(f"{option} must be a {what} that can be written, got {error.strerror}: {name}") from None
        if not overwrite and path.exists():
            rule = f"{option} must name a file that is not there yet"
            raise SettingError(f"{rule}, got {name}: --overwrite allows to replace it")
        return cls(name)

    @property
    def path(self) -> Path:
        """The absolute path of the file or folder, with symbolic links followed."""
        return Path(self.name).resolve()

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write a frame as CSV, or as Parquet if the name of the destination ends in .parquet."""
        if self.stream is not None:
            text = io.StringIO()
            write_csv(frame, text)
            self.write_text(text.getvalue())
        elif self.path.suffix.lower() == ".parquet":
            plain = for_parquet(frame)
            self.write_by(lambda part: plain.to_parquet(part, index=False, engine="pyarrow"))
        else:
            self.write_by(lambda part: write_csv(frame, part))

    def write_text(self, text: str) -> None:
        """Write a text unchanged to a file or a pipe; on a terminal, control characters become escapes."""
        if self.stream is None:
            self.write_by(lambda part: part.write_text(text, encoding="utf-8"))
            return
        text = for_terminal(text) if self.stream.isatty() else text
        self.stream.writelines(text.splitlines(keepends=True))  # not at once: a reader that leaves is then noticed

    def write_by(self, write: Callable[[Path], object]) -> None:
        """Call `write` with a temporary path; the file written there then replaces the destination as a whole."""
        write_results(self.path, write, self.name)


def for_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that Parquet can hold: a column of values of several types becomes a column of strings."""
    objects = [name for name in frame.columns if frame[name].dtype == object]
    mixed = [name for name in objects if len(set(map(type, frame[name].dropna()))) > 1]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})
