"""Tables that commands write: values that spreadsheets would run, and the same values back."""

import csv
import io
import json

import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer

JOBS = ["=cmd|' /C calc'!A0", "+1", "-2", "@x", "\r=1", "\t=1", "a\n=1", "'=1", "\uff1d1", "plain, or not", '"q"']
DOMAIN = Domain([Category("job", JOBS), Integer("age", 20, 60), Category("sex", ["-f", "+m"])], sensitive=["sex"])

MODEL = """
import numpy as np


def model(rows):
    return np.where((rows["sex"] == "+m") & (rows["age"] > 30), "=yes", "-no")
"""


@pytest.fixture
def here(folder):
    (folder / "hostile.py").write_text(MODEL)
    DOMAIN.to_toml(folder / "hostile.toml")
    DOMAIN.sample(60, seed=0).to_parquet(folder / "rows.parquet")
    return folder


def checked(text):
    """The cells of a table, of which none is a formula."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) > 5
    for row in rows:
        for name, cell in zip(rows[0], row, strict=True):
            assert not cell.startswith(tuple("=+-@\t\r\n\uff1d")) or name.startswith("gap"), cell
    return rows


def test_no_table_has_a_formula(fairprobe, here):
    ask = ("--model", "hostile:model", "--domain", "hostile.toml")
    walk = ("--max-judged", 3000, "--shard-inputs", 1000, "--strategy", "random", "--walkers", 20)
    assert fairprobe("search", *ask, *walk, "--out", "cases.csv", "--store", "run").code == 0
    stdout = fairprobe("search", *ask, *walk, "--out", "-")
    assert fairprobe("runs", "export", "run", "--out", "exported.csv").code == 0
    assert fairprobe("runs", "merge", "run", "--out", "merged.csv").code == 0
    assert fairprobe("replay", "cases.csv", *ask, "--out", "replayed.csv").code == 1
    rows = ("--data", "rows.parquet", "--population", "rows")
    assert fairprobe("estimate", *ask, *rows, "--out", "flips.csv").code == 0
    for name in ("cases.csv", "exported.csv", "merged.csv", "replayed.csv", "flips.csv"):
        with (here / name).open(newline="", encoding="utf-8") as file:
            checked(file.read())
    assert "'=cmd" in checked(stdout.out)[0][0] or "'=cmd" in stdout.out


def test_our_own_tables_are_read_as_they_were_written(fairprobe, here):
    ask = ("--model", "hostile:model", "--domain", "hostile.toml")
    walk = ("--max-cases", 300, "--strategy", "random", "--walkers", 20)
    assert fairprobe("search", *ask, *walk, "--out", "cases.csv").code == 0
    assert fairprobe("search", *ask, *walk, "--out", "cases.parquet").code == 0
    assert set(pd.read_parquet(here / "cases.parquet")["job"]) == set(JOBS)
    for name in ("cases.csv", "cases.parquet"):
        told = json.loads(fairprobe("replay", name, *ask, "--json").out)
        assert (told["n_cases"], told["n_holds"]) == (300, 300)
        fairprobe("explain", *ask, "--cases", name, "--explain-queries", 20_000).says("100% of 300 cases")
