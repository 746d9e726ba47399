"""Labels, names of columns and files, and arguments may hold anything: none of it commands a terminal."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from fairprobe.cli import main

EVIL = "\x1b]0;owned\x07\x9b2J\u202e"


def evil(frame):
    if "boom" in frame.columns:
        raise ValueError(f"no {EVIL}")
    return np.where(frame["a"] + 20 * (frame["s"] == "m") > 30, f"yes{EVIL}", "no")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 50, 200), "s": rng.choice(["f", "m"], 200), "c": rng.choice([EVIL, "x"], 200)}
    )
    frame.to_csv("d.csv", index=False)
    frame.to_csv(f"d{EVIL}.csv", index=False)
    frame.assign(boom=1).to_csv("boom.csv", index=False)


MODEL = ["--model", "test_cli_terminal:evil", "--sensitive", "s"]
QUICK = ["--no-selfcheck", "--populations", "rows", "--max-judged", "500", "--explain-queries", "2000"]


@pytest.mark.filterwarnings("ignore:Glyph")  # a picture's
@pytest.mark.parametrize(
    "command",
    [
        ["search", *MODEL, "--data", "d.csv", "--max-cases", "9"],
        ["search", *MODEL, "--data", "d.csv", "--max-cases", "9", "--out", f"o{EVIL}.csv"],
        ["search", *MODEL, "--data", "d.csv", "--dry-run"],
        ["estimate", *MODEL, "--data", f"d{EVIL}.csv", "--population", "rows"],
        ["explain", *MODEL, "--data", "d.csv", "--max-queries", "3000"],
        ["audit", *MODEL, "--data", "d.csv", "--out", "o", *QUICK],
        ["search", *MODEL, "--data", "boom.csv"],
        ["search", *MODEL, "--data", f"none{EVIL}.csv"],
        ["search", *MODEL, f"--{EVIL}"],
        [EVIL],
        ["runs", "list", EVIL],
        ["domain", "--data", "d.csv", "--sensitive", EVIL, "--out", "o.toml"],
    ],
    ids=lambda command: command[0] if command[0].isalpha() else "unknown",
)
@pytest.mark.thinned(2)
@pytest.mark.parametrize("is_terminal", [False, True])
def test_nothing_commands_a_terminal(files, undrawn, capsys, command, is_terminal, monkeypatch):
    if is_terminal:
        monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
        monkeypatch.setattr("fairprobe.cli.words.on_terminal", lambda: False)
    main(command)
    out = capsys.readouterr()
    told = out.out + out.err
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(told), told


def test_what_is_piped_is_as_it_is(files, capsys):
    main(["search", *MODEL, "--data", "d.csv", "--max-cases", "50", "--out", "-"])
    assert EVIL in capsys.readouterr().out
    main(["search", *MODEL, "--data", "d.csv", "--max-cases", "9", "--json"])
    assert json.loads(capsys.readouterr().out)
