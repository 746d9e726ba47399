"""The command line as a process: exit codes, signals, pipes, a terminal, and what it imports."""

import shlex
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from fairprobe.cli import main

COMMAND = [sys.executable, "-m", "fairprobe"]
SEARCH = [*COMMAND, "search", "--domain", "domain.toml"]


@pytest.mark.parametrize("command", ["demo", "search", "estimate", "explain", "retrain", "domain"])
def test_help_of_every_command_fits_a_terminal(fairprobe, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    done = fairprobe(command, "--help").says()
    assert done.out.startswith("Usage: ")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\x1b" not in done.out


def test_choices_complete(monkeypatch, capsys):
    asked = {"_FAIRPROBE_COMPLETE": "complete_bash", "COMP_WORDS": "fairprobe search --strategy g", "COMP_CWORD": "3"}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as left:
        main([])
    assert not left.value.code
    assert capsys.readouterr().out.split() == ["guided", "genetic"]


def test_version(fairprobe):
    from fairprobe import __version__

    assert fairprobe("--version").out == f"fairprobe {__version__}\n"


def test_exit_codes(folder, fairprobe):
    arguments = ["search", "--model", "toys:raises", "--domain", "domain.toml"]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == fairprobe(*arguments).code == 3
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert fairprobe("search", "--model", "toys:flip", "--domain", "domain.toml").code == 2


def test_interrupted_search_keeps_what_it_found(folder, fairprobe):
    command = [*SEARCH, "--model", "toys:slow", "--walkers", "20", "--max-cases", "none", "--out", "cases.csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(folder / "called")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    cases = pd.read_csv(folder / "cases.csv")
    assert len(cases) > 0
    assert err.startswith(f"interrupted; kept: {len(cases):,} cases in ")
    assert err.endswith("; written: cases.csv\n")
    again = shlex.split(out.split("The same again:")[1].replace("cases.csv", "again.csv"))
    assert fairprobe(*again[1:]).code == 0
    assert (folder / "cases.csv").read_bytes() == (folder / "again.csv").read_bytes()


def test_interrupted_while_the_model_is_loaded(folder):
    (folder / "sleepy.py").write_text("import pathlib, time\npathlib.Path('called').touch()\ntime.sleep(60)\n")
    process = subprocess.Popen([*SEARCH, "--model", "sleepy:model"], stderr=subprocess.PIPE, text=True)
    wait_for(folder / "called")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "interrupted\n"


def wait_for(path):
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_reader_that_leaves_ends_it_quietly(folder):
    command = [*SEARCH, "--model", "toys:flips", "--max-cases", "10000", "--out", "-"]  # more than a pipe holds
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert err == ""


def test_progress_on_a_terminal_goes_to_the_standard_error(search, terminal):
    done = search("--max-seconds", "0.5", "--max-cases", "none", model="toys:slow").says()
    assert "cases, yield >=" in done.err
    assert "cases/s" in done.err
    assert "distinct inputs, yield " in done.out
    assert "cases/s" not in done.out
