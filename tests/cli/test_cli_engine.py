"""Engines from the command line: what is refused, and what a failed scheduler comes to."""

from __future__ import annotations

import json
import socket

import pytest

from fairprobe.cli import main

CENSUS = ["--model", "subject:decision-tree", "--domain", "fairprobe.datasets:census_domain"]


@pytest.mark.parametrize("command", ["search", "estimate"])
def test_an_engine_that_is_none(command, capsys):
    assert main([command, *CENSUS, "--engine", "dusk"]) == 2
    assert "error: --engine must be one of local, processes, dask, or dask://host:port" in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer(monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setattr("fairprobe.engine.dask.TIMEOUT_SECONDS", 1.0)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        engine = f"dask://127.0.0.1:{listener.getsockname()[1]}"
        assert main(["search", *CENSUS, "--engine", engine]) == 3
        assert main(["estimate", *CENSUS, "--engine", engine, "--method", "sample"]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("a Dask scheduler must answer within 1 s, got no answer from 127.0.0.1:") == 2


def test_two_processes_print_the_same(capsys):
    outputs = []
    for jobs in ("1", "2"):
        assert main(["search", *CENSUS, "--jobs", jobs, "--engine", "processes", "--max-cases", "50", "--json"]) == 0
        outputs.append({**json.loads(capsys.readouterr().out), "seconds": 0})
    assert outputs[0] == outputs[1]
