"""The command `fairprobe runs`: shows the contents of run folders, and exports or merges their cases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from fairprobe.arguments import Flag, WrittenFile
from fairprobe.blocks import Sentence, Table
from fairprobe.checks import checked_choice
from fairprobe.cli import options as o
from fairprobe.cli.files import TABLES, Destination, for_parquet
from fairprobe.cli.words import note, say, say_blocks
from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.store.run_folder import ABOUT, RunReader, as_written, read_own
from fairprobe.store.shard_file import summary_of
from fairprobe.wording import between, counted

ACTIONS = ("list", "show", "merge", "export")
MEGABYTE = 1_000_000


def run(action: str, folders: Sequence[str] = (), out: WrittenFile | None = None, json: Flag = False) -> int:
    """List, show, merge and export runs that were kept by --store.

    list names the runs of a folder. show says what a run is and where it stands, and checks every file. export writes
    the cases of a search as it would have written them itself. merge writes the distinct cases of all finished shards
    of one or more runs of one domain. None of them needs the model.

    Args:
        action: one of list, show, merge, export.
        folders: run folders; for list, the folder that contains them (by default runs).
        out: for merge and export: write the cases as .csv or .parquet; an older file is overwritten.
        json: print the output of list and show as JSON.
    """
    checked_choice("the action of runs", action, ACTIONS)
    if action in ("show", "export") and len(folders) != 1:
        raise SettingError(f"runs {action} must be given one run folder, got {len(folders)}")
    if action == "merge" and not folders:
        raise SettingError("runs merge must be given the folders of runs, got none")
    if action in ("merge", "export"):
        target = Destination.of(None if out is None else str(out), TABLES, "--out")
        with as_written(", ".join(folders)):
            write_cases(action, folders, target)
        return 0
    found = listed(Path(folders[0] if folders else "runs")) if action == "list" else [shown(folders[0], check=True)]
    if json:
        sys.stdout.write(dumps(found if action == "list" else found[0]) + "\n")
    else:
        show(found)
        if action == "show":
            show_end(found[0])
    return 0


OPTIONS = o.options_of(run, panel=o.RESULTS, positional=("action", "folders"))


def listed(folder: Path) -> list[dict[str, Any]]:
    """Return the facts of all runs in a folder and its subfolders, one dict per run, as `shown` returns them."""
    if not folder.is_dir():
        raise SettingError(f"runs list must be given a folder that exists, got {folder}")
    return [shown(path) for path in sorted(path.parent for path in folder.rglob(ABOUT))]


def shown(path: str | Path, *, check: bool = False) -> dict[str, Any]:
    """Return the facts of the run in a folder, as `facts_of` returns them, or its path and the error in reading it.

    With `check`, every file of the run is read, and a damaged file raises an error.
    """
    try:
        with as_written(path):
            reader = RunReader(path)
            for name in list(reader.entries) if check else ():
                reader.read(name)
            return facts_of(reader)
    except FairprobeError as error:
        if check:
            raise
        return {"path": str(path), "error": str(error)}


def facts_of(reader: RunReader) -> dict[str, Any]:
    """Return facts on a run as a dict for JSON: its kind, state, settings, versions, and numbers of shards and rows."""
    shards = [entry for name, entry in reader.entries.items() if name.rpartition("-")[2].isdigit()]
    end = reader.end
    summaries = [summary_of(read_own(entry.path)) for entry in shards]
    n_rows = sum(n for n, _ in summaries)
    figures = {"n_queries": n_rows}
    if reader.kind == "search":
        figures = {"n_judged": sum(about["n_judged"] for _, about in summaries), "n_cases": n_rows}
    state = "not finished" if end is None else str(end.get("stop_reason", "finished"))
    return {
        "path": str(reader.path),
        "kind": reader.kind,
        "state": "model changed" if reader.is_changed else state,
        "n_shards": len(shards),
        "n_bytes": sum(entry.path.stat().st_size for entry in reader.entries.values()),
        **figures,
        **{name: reader.about[name] for name in ("format", "settings", "model", "versions")},
        "end": end,
        "remarks": [remark.jsonable() for remark in reader.remarks],
    }


def show(found: list[dict[str, Any]]) -> None:
    """Print a table with one line for each run; `found` are dicts of `shown`."""
    rows = []
    for each in found:
        if "error" in each:
            note(f"unreadable-run: {each['error']}")
        else:
            held = counted(each["n_cases"], "case") if "n_cases" in each else counted(each["n_queries"], "answer")
            counts = f"{each['n_shards']:,}", held, f"{each['n_bytes'] / MEGABYTE:,.1f}"
            rows.append([each["path"], each["kind"], each["state"], *counts])
    columns = ["run", "kind", "state", "#shards", "#found in them", "#MB"]
    say_blocks([Table.of(columns, rows) if rows else Sentence("There are no runs.")])


def show_end(run: dict[str, Any]) -> None:
    """Print the settings of a run, its result and its remarks; `run` is a dict of `facts_of`."""
    end = {name: value for name, value in (run["end"] or {}).items() if name != "shares"}
    facts = {"model": run["model"]["kind"], **run["settings"], **run["versions"], **end}
    for share in (run["end"] or {}).get("shares", []):
        interval = between(share["low"], share["high"])
        facts[f"share by {' x '.join(share['sensitive'])}"] = f"{share['hits']:,} of {share['n']:,}, {interval}"
    say_blocks([Table.of_facts(facts)])
    for remark in run["remarks"]:
        note(f"{remark['check']}: {remark['message']}")


def write_cases(action: str, folders: Sequence[str], target: Destination) -> None:
    """Write the cases of one or more runs to a file, and print their number; `action` is "merge" or "export".

    merge writes the distinct cases of all finished shards; export writes the cases of the result of one run.
    """
    from fairprobe.searching.stored_search import StoredCases, merged, write_csv, write_parquet

    runs = [StoredCases(folder) for folder in folders]
    parts, most = [(each, each.finished()) for each in runs], None
    if action == "export":
        entries, most = runs[0].of_result()
        parts = [(runs[0], entries)]
        if most is None:
            note(f"not-finished: {folders[0]} has not come to its end: these are the cases of its finished shards")
    n_shards = sum(len(entries) for _, entries in parts)
    if not n_shards:
        raise RunError(f"runs {action} must be given a finished shard at least, got none in {', '.join(folders)}")
    counts: list[int] = []

    def write(part: Path) -> None:
        frames = merged(parts, most)
        is_csv = target.path.suffix.lower() == ".csv"
        counts.append(write_csv(frames, part) if is_csv else write_parquet(frames, part, for_parquet))

    target.write_by(write)
    say(f"{target.name}: {counted(counts[0], 'case')} of {counted(n_shards, 'shard')}")
