"""Atomic writing: a file is written under a temporary name in its own folder, then renamed.

A reader finds the old file or the new one, never a part of either, even if the process is killed in between.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairprobe.errors import RunError

UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
"""Error numbers by which a file system reports that it lacks an operation, such as flushing or locking."""


def replace_with(path: Path, write: Callable[[Path], object], *, is_durable: bool = False) -> None:
    """Call `write` with a temporary path, then rename the written file to `path`. May raise an OSError.

    With `is_durable`, the content of the file and its new name are on the disk when the function returns.
    """
    part = path.absolute().with_name(f".{path.name}.{os.getpid()}.part")  # pandas takes ~ at the beginning for a home
    try:
        part.unlink(missing_ok=True)  # it may be a link to another file
        write(part)
        if is_durable:
            _flush_path(part, os.O_RDWR)
        part.replace(path)
        if is_durable:
            flush_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_bytes(path: Path, data: object, *, is_durable: bool = False) -> None:
    """Write bytes, or any other buffer, to a file that takes the place of an older one. May raise an OSError."""

    def write(part: Path) -> None:
        with part.open("xb") as file:
            file.write(data)  # type: ignore[arg-type]

    replace_with(path, write, is_durable=is_durable)


def write_results(path: Path, write: Callable[[Path], object], name: str | None = None) -> None:
    """Write a file of results by calling `write` with a temporary path, then renaming it to `path`.

    A failure raises a RunError that calls the file `name`, by default its path.
    """
    try:
        replace_with(path, write)
    except OSError as error:
        raise not_written(error, path if name is None else name) from None


def not_written(error: OSError, name: object) -> RunError:
    """Return a RunError that says that the file of results `name` cannot be written, and why."""
    return RunError(f"the results must be written, got {error.strerror or error}: {name}")


def check_folder(folder: Path) -> None:
    """Raise an OSError if no file can be created in a folder.

    The check creates a temporary file, because the file system may be read-only whatever the permissions say.
    """
    with tempfile.TemporaryFile(dir=folder):
        pass


def flush(descriptor: int) -> bool:
    """Wait until the content of an open file is on the disk; return False if the file system does not support this."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    return True


def flush_folder(folder: Path) -> None:
    """Wait until new and changed file names in a folder are on the disk; on Windows, do nothing.

    Windows cannot open a folder, and stores names by itself.
    """
    if os.name != "nt":
        _flush_path(folder, os.O_RDONLY)


def _flush_path(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)
