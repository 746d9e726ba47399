"""Data files, read strictly: what is not a plain table is refused, not guessed at."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fairprobe.cli.words import listed
from fairprobe.errors import DataError, SettingError

if TYPE_CHECKING:
    import pandas as pd

HEAD = 65_536
"""Bytes looked at to tell text from anything else."""


def read_frame(path: str, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; `missing` are markers of missing values besides those that pandas knows."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"the data must be a file, got the folder {path}")
    kind = _kind(file)
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD)
    except OSError as error:
        raise DataError(f"the data must be a file that can be read, got {error.strerror}: {path}") from None
    if not head:
        raise DataError(f"the data must have a header and a row, got an empty file: {path}")
    if kind == "parquet":
        return _read_parquet(file, missing)
    return _read_csv(file, missing)


def _kind(file: Path) -> str:
    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith(".parquet"):
        return "parquet"
    raise DataError(f"the data must be a .csv, .csv.gz or .parquet file, got {str(file)!r}")


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
            _check_table(file, _checked_lines(file, text))
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(f"{file} must be UTF-8 text, got the byte 0x{byte:02x}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} must be compressed by gzip, got {_first_line(error)}") from None
    try:
        return pd.read_csv(file, encoding="utf-8-sig", na_values=list(missing), low_memory=False, index_col=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{file} must be a CSV file, got {_first_line(error)}") from None


def _open(file: Path) -> IO[str]:
    """Open a file that begins like text."""
    is_zipped = file.suffix.lower() == ".gz"
    with gzip.open(file, "rb") if is_zipped else file.open("rb") as raw:
        head = raw.read(HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} must be UTF-8 text, got UTF-16: save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{file} must be UTF-8 text, got zero bytes: a binary file, or UTF-16?")
    if is_zipped:
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _checked_lines(file: Path, text: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(text, start=1):
        if "\0" in line:
            raise DataError(f"{file} must be text, got a zero byte on line {number:,}")
        yield line


def _check_table(file: Path, lines: Iterator[str]) -> None:
    """Pandas fills rows that are too short and renames columns that come twice: both are refused here."""
    reader = csv.reader(lines)
    try:
        header = next((row for row in reader if row), [])
        _check_header(file, header)
        n_rows, begins = 0, reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                rule = f"a row must have {len(header)} values, as the header has"
                raise DataError(f"{file}: {rule}, got {len(row)} on line {begins:,}")
            n_rows += bool(row)
            begins = reader.line_num + 1
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
    other = next((mark for mark in ";\t" if mark in header[0]), None)
    if len(header) == 1 and other:
        raise DataError(f"{file} must have commas between its columns, got {header[0]!r:.60}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def inputs_of(frame: pd.DataFrame, label: str | None, ignore: Sequence[str]) -> pd.DataFrame:
    """The columns that are inputs of the model: all but the label and those ignored."""
    for option, name in [("--label", label), *(("--ignore", name) for name in ignore)]:
        if name is not None and name not in frame.columns:
            raise DataError(f"{option} must be one of the columns {listed(frame.columns)}; got {name!r}")
    inputs = frame.drop(columns=[*([label] if label else []), *ignore])
    unnamed = [name for name in inputs.columns if str(name).startswith("Unnamed: ")]
    if unnamed:
        raise DataError(f"every column must have a name, got none: leave it out by --ignore {unnamed[0]!r}")
    return inputs


def labels_of(frame: pd.DataFrame, label: str, path: str) -> pd.Series:
    """The labels of rows, as plain numbers or strings; all must be known."""
    import pandas as pd

    column = frame[label]
    unknown = int(column.isna().sum())
    if unknown:
        raise DataError(
            f"every row must have a known label, got {unknown:,} of {len(column):,} in {path} without {label}: leave "
            "these rows out"
        )
    return pd.Series(column.tolist(), name=label)


def check_columns(inputs: pd.DataFrame, parameters: Sequence[str]) -> None:
    """Refuse data whose columns are not the domain's parameters."""
    absent = [name for name in parameters if name not in inputs.columns]
    if absent:
        raise DataError(f"the data must have a column for every parameter, got none for {listed(absent)}")
    unknown = [str(name) for name in inputs.columns if name not in parameters]
    if unknown:
        raise DataError(
            f"every column of the data must be a parameter of the domain, the --label or one to --ignore, "
            f"got {listed(unknown)}"
        )
