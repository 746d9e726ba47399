"""Where results are written: checked before the work starts, written whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fairprobe.csv_tables import write_csv
from fairprobe.errors import SettingError
from fairprobe.files import check_folder, write_results
from fairprobe.progress import visible

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")
STDOUT = "-"
FOLDER = "/"
"""Among the endings that a destination may have, stands for a folder."""


@dataclass(frozen=True)
class Destination:
    """A file, a folder, or the standard output."""

    name: str
    stream: IO[str] | None = None
    """The standard output, where that is meant."""

    @classmethod
    def of(cls, name: str | None, endings: Collection[str], option: str, *, overwrite: bool = True) -> Destination:
        """The destination that an option names, checked. A file that exists may be refused."""
        if name is None:
            raise SettingError(f"{option} must name a file that ends in {' or '.join(endings)}, got none")
        if name == STDOUT and STDOUT in endings:
            return cls(name, sys.stdout)
        path, is_folder = Path(name).resolve(), FOLDER in endings
        if path.exists() and path.is_dir() != is_folder:
            rule, got = ("folder", "file") if is_folder else ("file", "folder")
            raise SettingError(f"{option} must be a {rule}, got the {got} {name}")
        if not is_folder and path.suffix.lower() not in endings:
            raise SettingError(f"{option} must end in {' or '.join(endings)}; got {name!r}")
        if not path.parent.is_dir():
            raise SettingError(f"{option} must lie in a folder that exists, got {name}")
        try:
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            check_folder(path if path.is_dir() else path.parent)
        except OSError as error:
            rule = f"must be a {'folder' if is_folder else 'file'} that can be written"
            raise SettingError(f"{option} {rule}, got {error.strerror}: {name}") from None
        if not overwrite and path.exists():
            raise SettingError(
                f"{option} must name a file that is not there yet, got {name}: --overwrite allows to replace it"
            )
        return cls(name)

    @property
    def path(self) -> Path:
        """The file itself, where the name is a link to it."""
        return Path(self.name).resolve()

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write a frame in the format that the ending names; as CSV to the standard output."""
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
        """Write a text: as it is to a file or a pipe, without commands to a terminal."""
        if self.stream is None:
            self.write_by(lambda part: part.write_text(text, encoding="utf-8"))
            return
        text = visible(text) if self.stream.isatty() else text
        self.stream.writelines(text.splitlines(keepends=True))  # not at once: a reader that leaves is then noticed

    def write_by(self, write: Callable[[Path], object]) -> None:
        """Let a function write the file; it is given another name, which becomes the right one when all is written."""
        write_results(self.path, write, self.name)


def for_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame as Parquet can hold it: a column of numbers and strings becomes one of strings."""
    objects = [name for name in frame.columns if frame[name].dtype == object]
    mixed = [name for name in objects if len(set(map(type, frame[name].dropna()))) > 1]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})
