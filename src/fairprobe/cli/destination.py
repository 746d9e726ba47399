"""Where results are written: checked before the work starts, written whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairprobe.csv_tables import write_csv
from fairprobe.errors import SettingError
from fairprobe.files import check_folder, write_results
from fairprobe.progress import visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Destination:
    """A file, or the standard output."""

    name: str
    is_stdout: bool = False

    @classmethod
    def of(
        cls,
        name: str | None,
        suffixes: tuple[str, ...],
        option: str = "--out",
        *,
        may_be_stdout: bool = True,
        overwrite: bool = True,
    ) -> Destination | None:
        """What an option names, made sure of; None if it names nothing. A file that is there may be refused."""
        if name is None or (may_be_stdout and name == "-"):
            return None if name is None else cls(name, is_stdout=True)
        found = cls(name)
        path = found.path
        if path.is_dir():
            raise SettingError(f"{option} must be a file, got the folder {name}")
        if path.suffix.lower() not in suffixes:
            or_stdout = ", or be -" if may_be_stdout else ""
            raise SettingError(f"{option} must end in {' or '.join(suffixes)}{or_stdout}; got {name!r}")
        if not path.parent.is_dir():
            raise SettingError(f"{option} must lie in a folder that exists, got {name}")
        try:
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            check_folder(path.parent)
        except OSError as error:
            raise SettingError(f"{option} must be a file that can be written, got {error.strerror}: {name}") from None
        if not overwrite and path.exists():
            raise SettingError(
                f"{option} must name a file that is not there yet, got {name}: --overwrite allows to replace it"
            )
        return found

    @property
    def path(self) -> Path:
        """The file itself, where the name is a link to it."""
        return Path(self.name).resolve()

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write a frame as what the name ends in; as CSV to the standard output."""
        if self.is_stdout:
            text = io.StringIO()
            write_csv(frame, text)
            _print(text.getvalue())
        elif self.path.suffix.lower() == ".parquet":
            plain = for_parquet(frame)
            self.write_by(lambda part: plain.to_parquet(part, index=False, engine="pyarrow"))
        else:
            self.write_by(lambda part: write_csv(frame, part))

    def write_text(self, text: str) -> None:
        """Write a text."""
        if self.is_stdout:
            _print(text)
        else:
            self.write_by(lambda part: part.write_text(text, encoding="utf-8"))

    def write_by(self, write: Callable[[Path], object]) -> None:
        """Let a function write the file; it is given another name, which becomes the right one when all is written."""
        write_results(self.path, write, self.name)


def _print(text: str) -> None:
    """Write results to the standard output: as they are to a pipe, without commands to a terminal."""
    lines = (visible(text) if sys.stdout.isatty() else text).splitlines(keepends=True)
    sys.stdout.writelines(lines)  # not all at once, so that a reader that leaves is noticed


def for_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """Parquet has no columns of numbers and strings together: such are written as text."""
    objects = [name for name in frame.columns if frame[name].dtype == object]
    mixed = [name for name in objects if len(set(map(type, frame[name].dropna()))) > 1]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})


def checked_folder(name: str | None, option: str) -> Path | None:
    """The folder that an option names, made sure of; it is made when something is written to it."""
    if name is None:
        return None
    path = Path(name)
    if path.exists() and not path.is_dir():
        raise SettingError(f"{option} must be a folder, got the file {name}")
    if not path.is_dir() and not path.resolve().parent.is_dir():
        raise SettingError(f"{option} must lie in a folder that exists, got {name}")
    try:
        check_folder(path if path.is_dir() else path.resolve().parent)
    except OSError as error:
        raise SettingError(f"{option} must be a folder that can be written, got {error.strerror}: {name}") from None
    return path
