"""The index of run folders of format 1: `index.jsonl`, which named the finished files with their hashes."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from fairprobe.errors import SettingError
from fairprobe.store.whole_files import read_own

INDEX = "index.jsonl"

NAMES = {"n_inputs": "n_distinct"}
"""Figures of an end that have another name today."""


def read_old_index(folder: Path) -> tuple[dict[str, str], tuple[dict[str, Any] | None, bool]]:
    """The hash of each finished file by its name; how the last call ended, and whether the model became another.

    Each line begins with its own checksum. A damaged line does not count: its shard is run again. All is empty for a
    folder of a later format.
    """
    path, hashes = folder / INDEX, dict[str, str]()
    end, is_changed = None, False
    try:
        lines = read_own(path).splitlines() if path.exists() or path.is_symlink() else []
    except OSError as error:
        raise SettingError.about("store", f"must be readable, got {error.strerror}: {path}") from None
    for line in lines:
        check, _, data = line.partition(b" ")
        if check != b"%08x" % zlib.crc32(data):
            continue
        content: dict[str, Any] = json.loads(data)
        if "end" in content:
            end = {NAMES.get(name, name): value for name, value in content["end"].items()}
        elif "changed" in content:
            is_changed = True
        elif "dropped" in content:
            hashes.pop(content["dropped"], None)
        else:
            hashes[content["name"]] = content["hash"].partition(":")[2]
    return hashes, (end, is_changed)
