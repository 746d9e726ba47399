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
    """Call `write` with a temporary path, then rename the file to `path`. Raises OSError.

    A durable file, and its new name, are on the disk when this returns.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
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
    """Write bytes, or any other buffer, to a file. Raises OSError."""

    def write(part: Path) -> None:
        with part.open("xb") as file:
            file.write(data)  # type: ignore[arg-type]

    replace_with(path, write, is_durable=is_durable)


def write_results(path: Path, write: Callable[[Path], object], name: str | None = None) -> None:
    """Call `write` for a file of results; an error names the file `name`, which is its path by default."""
    try:
        replace_with(path, write)
    except OSError as error:
        raise not_written(error, path if name is None else name) from None


def not_written(error: OSError, name: object) -> RunError:
    """Return the error to raise if a file of results cannot be written."""
    return RunError(f"the results must be written, got {error.strerror or error}: {name}")


def check_folder(folder: Path) -> None:
    """Check that files can be written to a folder. Raises OSError.

    Only writing shows this: the disk may be full, or the file system may be read-only.
    """
    with tempfile.TemporaryFile(dir=folder):
        pass


def flush(descriptor: int) -> bool:
    """Wait until an open file is on the disk. Return False if the file system cannot tell."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    return True


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Windows, where a folder is not opened, does this by itself."""
    if os.name != "nt":
        _flush_path(folder, os.O_RDONLY)


def _flush_path(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)
