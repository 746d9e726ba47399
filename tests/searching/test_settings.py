"""Settings: every bad one is refused with the rule and the value, before the model is asked."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Domain, Integer, search, testing
from fairprobe.errors import DataError, HealthWarning, InputError, SettingError
from fairprobe.searching import STRATEGIES, register
from fairprobe.testing import CountingModel

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

BOX = testing.box()

COUNTS = ["max_cases", "max_judged", "max_queries", "max_barren", "n_walkers", "n_global", "n_local", "shard_inputs"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "clever"}, "strategy must be one of uniform, random, semi-directed, .*; got 'clever'"),
        ({"strategy": ["random"]}, "strategy must be one of"),
        ({"threshold": True}, "threshold must be"),
        ({"batch": "list"}, "batch must be 'array', 'frame' or None, got 'list'"),
        ({"seed": -1}, "seed must be a whole number of at least 0.*, got -1"),
        ({"max_seconds": float("nan")}, "max_seconds must be a number above 0 or None, got nan"),
        ({"max_seconds": float("inf")}, "max_seconds must be a number above 0 or None, got inf"),
        ({"delta_v": float("nan")}, "delta_v must be a finite number of at least 0, got nan"),
        ({"delta_pr": "x"}, "delta_pr must be a finite number of at least 0, got 'x'"),
        *(({name: 0}, f"{name} must be a whole number of at least 1, got 0") for name in COUNTS),
        *(({"n_walkers": value}, f"at least 1, got {value!r}") for value in (-3, 2.5, "7", True, None)),
    ],
)
def test_bad_setting(settings, message):
    model = CountingModel(BOX.model)
    with pytest.raises(SettingError, match=message.replace("(", r"\(")) as caught:
        search(model, BOX.domain, **settings)
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)
    assert model.n_calls == 0


def box_rows(n, inside):
    rows = BOX.domain.sample(4000, seed=5)
    return rows[BOX.is_case(rows.to_numpy()) == inside].head(n).reset_index(drop=True)


@pytest.mark.parametrize("strategy", list(STRATEGIES)[1:])
@pytest.mark.parametrize("as_array", [False, True])
def test_start(strategy, as_array):
    """The first inputs judged are the rows given, and their cases are the first."""
    rows = box_rows(12, True)
    start = rows.to_numpy() if as_array else rows[rows.columns[::-1]].assign(other=1)
    found = search(BOX.model, BOX.domain, strategy=strategy, start=start, max_inputs=12, n_global=40)
    n = len(rows.drop(columns="group").drop_duplicates())
    assert found.n_cases == n
    expected = rows.drop_duplicates(["x0", "x1", "x2"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(found.cases, expected)
    longer = search(BOX.model, BOX.domain, strategy=strategy, start=start, max_inputs=500, n_global=40)
    assert longer.to_frame().head(n).equals(found.to_frame())
    assert longer.n_cases > n


def test_rows_outside_are_left_out_and_said():
    """A row whose group alone is none of the domain's is not outside: it is judged as each of the groups."""
    rows = pd.concat([box_rows(3, True), pd.DataFrame([[99, 0, 0, 0], [0, 0, 0, 5]], columns=BOX.domain.names)])
    with pytest.warns(HealthWarning, match="start-rows-outside: 1 of 5 rows to start from lie outside") as said:
        found = search(BOX.model, BOX.domain, start=rows, max_inputs=3)
    assert found.n_cases == 3
    assert "start-rows-outside" in dict(found.health)
    assert said[0].filename == __file__, "it points at the caller"


def test_a_row_with_an_unlisted_value_starts_as_a_member_that_is_allowed():
    """What else it has of sensitive values stays, unless all of these members are forbidden."""
    parameters = [Integer("a", 0, 2), Integer("b", 0, 1), Integer("x", 0, 1)]
    domain = Domain(parameters, {"a": [0, 1], "b": None}, [lambda frame: (frame["x"] == 0) | (frame["b"] == 1)])
    rows = pd.DataFrame([[2, 0, 1], [2, 1, 1], [2, 0, 0]], columns=domain.names)

    def model(batch):
        return batch[:, 0]

    found = search(model, domain, start=rows, max_inputs=3, n_global=3)
    assert found.n_judged == 3
    assert found.cases.to_numpy().tolist() == [[0, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("rows", [np.full((2, 4), 99), pd.DataFrame([[0, 0, 9999, 0]], columns=BOX.domain.names)])
def test_no_row_inside(rows):
    with pytest.raises(DataError, match="a row to start from must lie in the domain, got none among"):
        search(BOX.model, BOX.domain, start=rows)


def test_uniform_sampling_has_no_start():
    with pytest.raises(SettingError, match="needs a strategy that walks from the rows given, got strategy='uniform'"):
        search(BOX.model, BOX.domain, strategy="uniform", start=box_rows(3, True))


@pytest.mark.parametrize("path", ["nowhere", "module:Class:more", "", ":Class", "module:", 5])
def test_a_path_is_a_module_and_a_class(path):
    with pytest.raises(SettingError, match=f"module:Class.*got {path!r}"):
        register("lost", path)
    assert "lost" not in STRATEGIES
    with pytest.raises(SettingError, match="a strategy's name must be new, got 'random'"):
        register("random", "somewhere:Else")
