"""The ledger: nothing measured is lost, and nothing else is taken for a measurement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairprobe
from evaluation import ledger as ledgers
from evaluation.ledger import Cell, Ledger
from fairprobe.errors import DataError

CELL = Cell("search_inputs", {"subject": "svm", "seed": 1})

lists = st.lists(st.integers(), max_size=2)
plain = st.one_of(st.integers(-9, 9), st.text(max_size=3), st.floats(allow_nan=False), lists)
settings = st.dictionaries(st.text(max_size=3), plain, max_size=3)


@given(st.lists(st.tuples(settings, st.none() | st.integers(0, 3), settings), max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("ledger") / "measurements.json"
    ledger = Ledger(path)
    cells = [Cell("task", about if seed is None else {**about, "seed": seed}) for about, seed, _ in records]
    for cell, (_, _, figures) in zip(cells, records, strict=True):
        ledger.add(cell, figures)
    ledger.write()
    again = Ledger(path)
    assert again.has_all(cells)
    for cell in cells:
        assert again[cell] == ledger[cell]
    assert again.versions(cells) == ledger.versions(cells)


def test_outcomes_are_on_disk_before_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "WRITE_SECONDS", 0.0)
    Ledger(tmp_path / "measurements.json").add(CELL, {"n": 1})
    assert CELL in Ledger(tmp_path / "measurements.json")


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "{}", '{"format": 2, "versions": [], "tasks": {"share": [{}]}}', '{"format": 2}', "\x00\xff"),
        '{"format": 3, "versions": [], "tasks": {}}',
    ],
)
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "measurements.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"must hold measurements of an earlier run|must be of the format 2, got 3"):
        Ledger(path)
    assert path.read_text(encoding="utf-8") == content


def test_another_version_of_the_package_reads_it_and_says_who_measured(tmp_path, monkeypatch):
    path = tmp_path / "measurements.json"
    ledger = Ledger(path)
    ledger.add(CELL, {"n": 1})
    ledger.write()
    monkeypatch.setattr(ledgers, "__version__", "9.9")
    again, later = Ledger(path), Cell("search_inputs", {"subject": "svm", "seed": 2})
    again.add(later, {"n": 2})
    again.write()
    third = Ledger(path)
    assert [third[cell]["n"] for cell in (CELL, later)] == [1, 2]
    assert [each["fairprobe"] for each in third.versions([CELL])] == [fairprobe.__version__]
    assert [each["fairprobe"] for each in third.versions([later])] == ["9.9"]
    assert len(third.versions([CELL, later])) == 2
