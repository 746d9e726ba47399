"""Tables of rows from files, read strictly: a file that is no clean table is refused with the line at fault."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fairprobe.checks import nearest, opened_regular
from fairprobe.errors import DataError, SettingError

if TYPE_CHECKING:
    import pandas as pd

HEAD = 65_536
"""Bytes at the start of a file that tell text from anything else; chosen."""


def read_frame(path: str, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; `missing` are markers of missing values besides those that pandas knows."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"the data must be a file, got the folder {path}")
    kind = file.name.lower()
    if not kind.endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(f"the data must be a .csv, .csv.gz or .parquet file, got {path!r}")
    try:
        with opened_regular(file) as found:  # a pipe may never end
            is_empty = not found.read(1)
        if is_empty:
            raise DataError(f"the data must have a header and a row, got an empty file: {path}")
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
        frame = pd.read_parquet(file, engine="pyarrow")
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
    except UnicodeDecodeError as error:
        raise DataError(f"{file} must be UTF-8 text, got the byte 0x{error.object[error.start]:02x}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} must be compressed by gzip, got {_first_line(error)}") from None
    try:
        return pd.read_csv(file, encoding="utf-8-sig", na_values=list(missing), low_memory=False, index_col=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{file} must be a CSV file, got {_first_line(error)}") from None


def _open(file: Path) -> IO[str]:
    """Open a file that begins like text."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as raw:
        head = raw.read(HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} must be UTF-8 text, got UTF-16: save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{file} must be UTF-8 text, got zero bytes: a binary file, or UTF-16?")
    return opener(file, "rt", encoding="utf-8-sig", newline="")


def lines_of(path: str) -> list[int] | None:
    """The line of the file that each row of a table begins on; None for a file that has no lines."""
    file = Path(path)
    if file.name.lower().endswith(".parquet"):
        return None
    with _open(file) as text:
        return [line for line, _ in _rows(csv.reader(text))][1:]


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line that it begins on."""
    begins = 1
    for row in reader:
        if row:
            yield begins, row
        begins = reader.line_num + 1


def _check_table(file: Path, text: Iterable[str]) -> None:
    """Pandas fills rows that are too short and renames columns that come twice: both are refused here."""

    def lines() -> Iterator[str]:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                raise DataError(f"{file} must be text, got a zero byte on line {number:,}")
            yield line

    reader = csv.reader(lines())
    rows = _rows(reader)
    try:
        _, header = next(rows, (0, []))
        _check_header(file, header)
        n_rows = 0
        for begins, row in rows:
            if len(row) != len(header):
                rule = f"a row must have {len(header)} values, as the header has"
                raise DataError(f"{file}: {rule}, got {len(row)} on line {begins:,}")
            n_rows += 1
    except csv.Error as error:
        raise DataError(f"{file} must be a CSV file, got {error} on line {reader.line_num:,}") from None
    if not n_rows:
        raise DataError(f"{file} must have a row of data, got only a header: {', '.join(header)}")


def _check_header(file: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{file} must have a header and a row, got only blank lines")
    repeated = [name for name, n in Counter(header).items() if n > 1 and name]
    if repeated:
        raise DataError(f"{file}: columns must have distinct names, got {', '.join(repeated)} more than once")
    if len(header) == 1 and set(";\t") & set(header[0]):
        raise DataError(f"{file} must have commas between its columns, got {header[0]!r:.60}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
