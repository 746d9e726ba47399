"""The ledger: nothing measured is lost, and nothing else is taken for a measurement."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe.errors import DataError
from fairprobe.reproduce import ledger as ledgers
from fairprobe.reproduce.cells import Cell, Outcome
from fairprobe.reproduce.ledger import Ledger

CELL = Cell("search_inputs", {"subject": "svm", "seed": 1})

plain = st.one_of(
    st.integers(-9, 9), st.text(max_size=3), st.floats(allow_nan=False), st.lists(st.integers(), max_size=2)
)
settings = st.dictionaries(st.text(max_size=3), plain, max_size=3)


@given(st.lists(st.tuples(settings, settings, settings), max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("ledger") / "paper.json"
    ledger = Ledger(path)
    for about, figures, times in records:
        ledger.add(Cell("task", about), Outcome(figures, times))
    ledger.write()
    again = Ledger(path)
    assert again.has_all([Cell("task", about) for about, _, _ in records])
    for about, _, _ in records:
        assert again[Cell("task", about)] == ledger[Cell("task", about)]


def test_bytes_do_not_depend_on_the_order(tmp_path):
    cells = [Cell("task", {"seed": seed}) for seed in range(5)]
    for name, order in (("a", cells), ("b", cells[::-1])):
        ledger = Ledger(tmp_path / name)
        for cell in order:
            ledger.add(cell, Outcome({"n": cell.settings["seed"]}))
        ledger.write()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_cell_is_known_by_its_settings(tmp_path):
    ledger = Ledger(tmp_path / "paper.json")
    ledger.add(CELL, Outcome({"n": 1}))
    assert Cell("search_inputs", {"seed": 1, "subject": "svm"}) in ledger
    assert Cell("search_inputs", {"seed": 2, "subject": "svm"}) not in ledger
    assert Cell("share", CELL.settings) not in ledger


def test_outcomes_are_on_disk_before_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "WRITE_SECONDS", 0.0)
    Ledger(tmp_path / "paper.json").add(CELL, Outcome({"n": 1}))
    assert CELL in Ledger(tmp_path / "paper.json")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 1, "versions": {}, "cells": [{}]}', "\x00\xff"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "paper.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="must hold measurements of an earlier run"):
        Ledger(path)
    assert path.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(("name", "value"), [("format", 2), ("versions", {"fairprobe": "0.0.1"})])
def test_another_version_is_refused(tmp_path, name, value):
    path = tmp_path / "paper.json"
    ledger = Ledger(path)
    ledger.write()
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(DataError, match="continued by the version that began it"):
        Ledger(path)
