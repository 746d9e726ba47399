"""`fairprobe runs`, and --store."""

import json
import re
import shutil
import sys

import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, search
from fairprobe.cli import main
from fairprobe.errors import FairprobeError

SEARCH = ["search", "--model", "subject:decision-tree", "--domain", "fairprobe.datasets:census_domain"]
SEARCH += ["--shard-inputs", "3000", "--max-cases", "8000"]


def test_a_run_is_listed_shown_exported_and_merged(fairprobe):
    assert fairprobe(*SEARCH, "--store", "runs/a", "--out", "cases.parquet").code == 0
    again = fairprobe(*SEARCH, "--store", "runs/a")
    assert (again.code, "finished shards of before, read instead of run" in again.err) == (0, True)
    fairprobe(*SEARCH, "--store", "runs/a", "--seed", "9").refuses("--store must be a run of the same model")
    (listed,) = json.loads(fairprobe("runs", "list", "--json").out)
    assert (listed["path"], listed["kind"], listed["state"]) == ("runs/a", "search", "max-cases")
    assert re.search(r"n_cases +8000", fairprobe("runs", "show", "runs/a").out)
    assert fairprobe("runs", "export", "runs/a", "--out", "again.parquet").code == 0
    written = pd.read_parquet("cases.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("again.parquet"), written)
    assert fairprobe("runs", "merge", "runs/a", "runs/a", "--out", "all.csv").code == 0
    merged = pd.read_csv("all.csv")
    key = [name for name in written.columns[:13] if name != "sex"]
    assert len(merged) == listed["n_cases"] == len(merged[key].drop_duplicates())


@pytest.mark.parametrize("arguments", [["lst"], ["show"], ["export", "."], ["merge"], ["list", "none"]])
def test_bad_use(fairprobe, arguments):
    fairprobe("runs", *arguments).refuses()


def test_a_model_is_named(fairprobe, folder):
    (folder / "logging_model.py").write_text(
        "LOG = open('log', 'w')\ndef model(X): return (X[:, 0] > 50) & bool(LOG)\n"
    )
    asked = ("--model", "logging_model:model", "--domain", "domain.toml")
    search = ("search", *asked, "--store", "runs/a", "--max-judged", 3000)
    first = fairprobe(*search)
    assert (first.code, "note: untold-model" in first.err) == (0, True)
    fairprobe(*search).refuses("name the model with --model-id")
    few = ("--method", "sample", "--experiments", 1)
    for _ in range(2):
        named = fairprobe("estimate", *asked, "--store", "runs/b", *few, "--model-id", "mine")
        assert (named.code, "untold-model" in named.err) == (0, False)
    fairprobe("search", *asked, "--model-id", "mine").refuses("--model-id goes with")
    sys.modules["logging_model"].LOG.close()


def quick(frame):
    return (frame["a"] + 20 * (frame["s"] == "f") > 30).to_numpy().astype(int)


DOMAIN = Domain([Integer("a", 0, 50), Category("s", ["f", "m"])], ["s"])


def keep(path, **changes):
    return search(quick, DOMAIN, store=path, seed=0, **{"max_inputs": 3000, "shard_inputs": 500, **changes})


def everything(path, out):
    """All commands that read a run, and a search that takes it up: the exit codes; an error of the search is 2."""
    codes = [
        main(["runs", "show", str(path)]),
        main(["runs", "list", str(path.parent)]),
        main(["runs", "merge", str(path), "--out", str(out)]),
        main(["replay", str(path), "--model", "subject:decision-tree"]),
    ]
    try:
        keep(path)
    except FairprobeError:
        codes.append(2)
    return codes


@pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")
def test_a_run_toml_that_is_not_as_it_was_written(tmp_path, capsys):
    """Lines left out, keys flipped, other types, nesting without an end: a message each time, and no traceback."""
    keep(tmp_path / "runs" / "a")
    about = tmp_path / "runs" / "a" / "run.toml"
    lines = about.read_bytes().splitlines(keepends=True)
    deep = b"[" * 3000 + b"]" * 3000
    spoilt = [[*lines[:i], *lines[i + 1 :]] for i in range(len(lines))]
    spoilt += [[*lines[:i], bytes([line[0] ^ 16]) + line[1:], *lines[i + 1 :]] for i, line in enumerate(lines)]
    for i, line in enumerate(lines):
        values = (b"3", b'"x"', b"[]", deep) if b" = " in line else ()
        spoilt += [[*lines[:i], line.split(b" = ")[0] + b" = " + value + b"\n", *lines[i + 1 :]] for value in values]
    for content in spoilt[:: 1 + len(spoilt) // 20]:
        about.write_bytes(b"".join(content))
        assert set(everything(about.parent, tmp_path / "out.csv")) <= {0, 2, 3, 4}
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("file", ["domain.toml", "fairprobe.toml"])
def test_files_that_are_nested_without_an_end(tmp_path, capsys, file):
    (tmp_path / file).write_text(f"format = {'[' * 5000}{']' * 5000}")
    path = str(tmp_path / file)
    estimate = ["estimate", "--model", "subject:decision-tree", "--domain", path]
    assert main(estimate if file == "domain.toml" else ["audit", path]) == 2
    assert "nested too deeply" in capsys.readouterr().err


def test_nothing_is_not_merged(tmp_path, capsys):
    keep(tmp_path / "a")
    shutil.rmtree(tmp_path / "a" / "shards")
    (tmp_path / "a" / "end.json").unlink()
    for action in ("merge", "export"):
        assert main(["runs", action, str(tmp_path / "a"), "--out", str(tmp_path / "out.csv")]) == 3
        assert "must be given a finished shard at least" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
