import functools
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fairprobe import subjects
from fairprobe.datasets import load_census
from fairprobe.errors import HealthWarning
from fairprobe.subjects import fitted

NAME = "decision-tree"
N_ROWS = 2000
"""Enough to tell trees apart, and fitted at once."""

ROWS, LABELS = (part.to_numpy()[:N_ROWS] for part in load_census())


class Trap:
    """Leaves a file behind if anyone makes one from a file."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __getstate__(self) -> dict[str, str]:
        return {"mark": self.mark}

    def __setstate__(self, state: dict[str, str]) -> None:
        Path(state["mark"]).touch()


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(fitted, "load_census", lambda **_: [part[:N_ROWS] for part in load_census()])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "subjects"


@pytest.fixture
def path(folder):
    subjects.load(NAME)
    (only,) = folder.iterdir()
    return only


@pytest.fixture
def fits(monkeypatch):
    done = []
    fit = fitted._fit

    def counted(name, *rest):
        done.append(name)
        return fit(name, *rest)

    monkeypatch.setattr(fitted, "_fit", counted)
    return done


def fitted_tree(**params):
    return subjects.make(NAME).set_params(**params).fit(ROWS, LABELS)


@functools.cache
def right_labels():
    return fitted_tree().predict(ROWS)


def assert_sound(model):
    assert type(model) is DecisionTreeClassifier
    np.testing.assert_array_equal(model.predict(ROWS), right_labels())


def tree_with(field, value):
    """Give a tree as the subject would be, but for what its first node says."""
    model = fitted_tree()
    getattr(model.tree_, field)[0] = value
    return model


def test_a_second_load_reads_the_file(path, fits):
    assert_sound(subjects.load(NAME))
    assert fits == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a zip file",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:5000] + bytes([data[5000] ^ 255]) + data[5001:],
    ],
    ids=["empty", "foreign", "half", "last byte", "one byte flipped"],
)
def test_a_damaged_file_is_fitted_and_written_anew(path, fits, damage):
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert_sound(subjects.load(NAME))
    assert_sound(subjects.load(NAME))
    assert fits == [NAME]


FOREIGN = {
    "no model": lambda mark: {"a": [1, 2]},
    "untrusted type": Trap,
    "untrusted type within": lambda mark: fitted_tree().set_params(class_weight=Trap(mark)),
    "other class": lambda mark: ExtraTreeClassifier(random_state=4).fit(ROWS, LABELS),
    "other parameters": lambda mark: fitted_tree(max_depth=2),
    "other number of columns": lambda mark: subjects.make(NAME).fit(ROWS[:, :5], LABELS),
    "other classes": lambda mark: subjects.make(NAME).fit(ROWS, LABELS > 0),
    "not fitted": lambda mark: subjects.make(NAME),
    "node that leads out of the tree": lambda mark: tree_with("children_left", 10**6),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_neither_believed_nor_run(path, fits, kind, tmp_path):
    mark = tmp_path / "ran"
    path.write_bytes(skops.io.dumps(FOREIGN[kind](str(mark))))
    assert_sound(subjects.load(NAME))
    assert_sound(subjects.load(NAME))
    assert fits == [NAME]
    assert not mark.exists()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_a_file_of_another_scikit_learn_is_not_believed(path, fits, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.base.__version__", "0.1")
        path.write_bytes(skops.io.dumps(subjects.make(NAME).fit(ROWS, LABELS)))
    assert_sound(subjects.load(NAME))
    assert fits == [NAME]


def test_a_folder_that_cannot_be_made_costs_a_warning(tmp_path, monkeypatch, fits):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRPROBE_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        with pytest.warns(HealthWarning, match="^subject-cache: .* FAIRPROBE_CACHE"):
            assert_sound(subjects.load(NAME))
    assert fits == [NAME, NAME]


def test_another_definition_or_other_data_have_another_file(folder):
    made = subjects.make("ensemble")
    paths = {
        fitted.path_for("ensemble", made, ROWS, LABELS),
        fitted.path_for("ensemble", subjects.make("ensemble").set_params(tree__max_depth=3), ROWS, LABELS),
        fitted.path_for("ensemble", subjects.make("ensemble").set_params(voting="soft"), ROWS, LABELS),
        fitted.path_for("ensemble", made, ROWS + 1, LABELS),
        fitted.path_for("ensemble", made, ROWS, -LABELS),
    }
    assert len(paths) == 5
    assert fitted.path_for("ensemble", subjects.make("ensemble"), ROWS.copy(), LABELS) in paths
    assert {path.parent for path in paths} == {folder}
