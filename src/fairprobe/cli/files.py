"""Where results are written: checked before the work starts, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairprobe.errors import RunError, SettingError

if TYPE_CHECKING:
    import pandas as pd

STDOUT = "-"


@dataclass(frozen=True)
class Target:
    """A file, or the standard output."""

    name: str
    option: str
    may_be_stdout: bool

    @classmethod
    def of(
        cls,
        name: str | None,
        suffixes: tuple[str, ...],
        option: str = "--out",
        *,
        may_be_stdout: bool = True,
        overwrite: bool = True,
    ) -> Target | None:
        """The target that an option names, made sure of; None if none is. A file that is there may be refused."""
        if name is None:
            return None
        target = cls(name, option, may_be_stdout)
        if not target.is_stdout:
            target._check(suffixes)
            if not overwrite and target.path.exists():
                raise SettingError(
                    f"{option} must name a file that is not there yet, got {name}: --overwrite allows to replace it"
                )
        return target

    @property
    def is_stdout(self) -> bool:
        """Whether it is "-"."""
        return self.name == STDOUT and self.may_be_stdout

    @property
    def path(self) -> Path:
        """The file itself, where the name is a link to it."""
        return Path(self.name).resolve()

    def _check(self, suffixes: tuple[str, ...]) -> None:
        path = self.path
        if path.is_dir():
            raise SettingError(f"{self.option} must be a file, got the folder {self.name}")
        if path.suffix.lower() not in suffixes:
            or_stdout = ", or be -" if self.may_be_stdout else ""
            raise SettingError(f"{self.option} must end in {' or '.join(suffixes)}{or_stdout}; got {self.name!r}")
        if not path.parent.is_dir():
            raise SettingError(f"{self.option} must lie in a folder that exists, got {self.name}")
        try:
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            got = f"got {error.strerror}: {self.name}"
            raise SettingError(f"{self.option} must be a file that can be written, {got}") from None

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write a frame as what the name ends in; as CSV to the standard output."""
        if self.is_stdout:
            frame.to_csv(sys.stdout, index=False)
        elif self.path.suffix.lower() == ".parquet":
            plain = _without_mixtures(frame)
            self.write_by(lambda part: plain.to_parquet(part, index=False, engine="pyarrow"))
        else:
            self.write_by(lambda part: frame.to_csv(part, index=False))

    def write_text(self, text: str) -> None:
        """Write a text."""
        if self.is_stdout:
            sys.stdout.write(text)
        else:
            self.write_by(lambda part: part.write_text(text, encoding="utf-8"))

    def write_by(self, write: Callable[[Path], object]) -> None:
        """Let a function write the file; it is given another name, which becomes the right one when all is written."""
        try:
            with _part_of(self.path) as part:
                write(part)
        except OSError as error:
            raise RunError(f"the results must be written, got {error.strerror or error}: {self.name}") from None


@contextlib.contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """A file beside it that takes its place when all went well."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _without_mixtures(frame: pd.DataFrame) -> pd.DataFrame:
    """Parquet has no columns of numbers and strings together: such are written as text."""
    mixed = [
        name
        for name in frame.columns
        if frame[name].dtype == object and len({type(value) for value in frame[name].dropna()}) > 1
    ]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})
