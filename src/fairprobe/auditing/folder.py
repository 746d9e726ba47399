"""The run folder of an audit: files with all its results, and a list of all attempts on its model and data."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.errors import SettingError
from fairprobe.files import check_folder, not_written, write_results
from fairprobe.frames import write_csv
from fairprobe.store.whole_files import own

if TYPE_CHECKING:
    from fairprobe.auditing.result import Audit

ATTEMPTS = "attempts.jsonl"
AUDIT = "audit.json"
DOMAIN = "domain.toml"
IDENTITY = ("model", "data", "config_hash", "seed")
"""Names of the fields that identify an attempt: attempts with equal values count as one."""

UNFINISHED = "not finished"
"""Outcome of an attempt (a run of an audit) that has begun and not ended."""

Attempt = dict[str, Any]


class RunFolder:
    """The folder of an audit's results and attempts, which is created, and checked to be writable, before the work."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            check_folder(self.path)
        except OSError as error:
            rule = "must be a folder that can be written to"
            raise SettingError.about("folder", f"{rule}, got {error.strerror or error}: {self.path}") from None

    # Attempts

    def note(self, attempt: Attempt) -> list[Attempt]:
        """Append an attempt to the list in the folder, and return all attempts on its model and data for the report.

        An attempt is recorded before its outcome is known and again with it, so that a broken-off attempt counts too.
        """
        known = self._read()
        is_new = attempt["outcome"] != UNFINISHED or _identity(attempt) not in map(_identity, known)
        if is_new and attempt not in known:
            self._append(attempt)
        ours = [each for each in self._read() if (each["model"], each["data"]) == (attempt["model"], attempt["data"])]
        return [told(each, is_this=_identity(each) == _identity(attempt)) for each in ours]

    def _append(self, attempt: Attempt) -> None:
        """Append an attempt in one write, so that two simultaneous audits do not mix their lines."""
        path = self.path / ATTEMPTS
        try:
            with open(path, "ab+", buffering=0, opener=_own) as file:
                is_torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
                line = b"\n" * is_torn + json.dumps(attempt, sort_keys=True).encode() + b"\n"
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise not_written(error, path) from None

    def _read(self) -> list[Attempt]:
        """Return the attempts in the list, each with its last recorded outcome, in the order of their beginnings."""
        path, attempts = self.path / ATTEMPTS, {}
        if not path.exists():
            return []
        try:
            with open(path, encoding="utf-8", opener=_own) as file:
                lines = file.read().splitlines()
            for line in lines:
                if line.startswith("{") and not line.endswith("}"):
                    continue  # torn, by a crash while it was written
                if line.strip():
                    attempt = json.loads(line)
                    attempts[_identity(attempt)] = {**dict.fromkeys((*IDENTITY, "date", "outcome")), **attempt}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            rule = f"must hold the attempts of before in {ATTEMPTS}"
            raise SettingError.about("folder", f"{rule}, got a file that cannot be read: {error}") from None
        return list(attempts.values())

    # Results

    def write(self, audit: Audit) -> None:
        """Write all results of an audit to the folder, each file atomically: data first, then forms of the report."""
        about, density, domain = audit.content["about"], audit.density, audit.domain
        config = json.dumps(about["config"], indent=1, ensure_ascii=False, sort_keys=True)
        files: dict[str, Callable[[Path], object]] = {
            AUDIT: audit.to_json,
            "config.json": lambda part: part.write_text(f"{config}\n", encoding="utf-8"),
            "cases.csv": lambda part: write_csv(audit.cases_table(), part),
        }
        if not about["masked"]:  # bins and values would tell what is masked
            files |= {} if domain.restrictions.callables else {DOMAIN: domain.to_toml}  # no file can hold a function
            files |= {} if density is None else {"density.parquet": density.to_parquet}
        files |= {"report.html": audit.to_html, "report.md": audit.to_markdown}
        files |= {"junit.xml": audit.to_junit, "model-card.md": audit.to_model_card}
        for name, write in files.items():
            write_results(self.path / name, write)


def _own(path: str, flags: int) -> int:
    """Return a file descriptor for a path; an opener for `open` that refuses links and all but regular files."""
    try:
        return own(path, flags)
    except SettingError as error:
        raise error.calling("store", "folder") from None


def told(attempt: Attempt, *, is_this: bool) -> Attempt:
    """Return the fields of an attempt that the report lists; `is_this` is True for the attempt of the report itself."""
    return {**{name: attempt[name] for name in ("seed", "date", "outcome", "config_hash")}, "is_this": is_this}


def _identity(attempt: Attempt) -> tuple[Any, ...]:
    return tuple(attempt.get(name) for name in IDENTITY)
