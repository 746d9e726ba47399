"""Rows of pandas, polars, pyarrow and numpy: the same answers everywhere, and the dtypes that they had."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe import Density, Domain
from fairprobe.errors import DataError
from fairprobe.frames import as_pandas, as_values

pl = pytest.importorskip("polars")

RNG = np.random.default_rng(0)
N = 400
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "hours": RNG.integers(0, 60, N),
        "rank": RNG.integers(0, 5, N),
        "sex": RNG.integers(0, 2, N),
    }
)
Y = pd.Series(np.where(ROWS["age"] + 9 * ROWS["sex"] + RNG.normal(0, 9, N) > 50, "yes", "no"), name="paid")
SENSITIVE = ["sex"]

KINDS = {
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False).replace_schema_metadata(),
    "numpy": lambda frame: frame.to_numpy(),
    "structured": lambda frame: frame.to_records(index=False),
}
LABELS = {
    "polars": lambda labels: pl.Series(labels.to_list()),
    "pyarrow": lambda labels: pa.chunked_array([labels.to_list()]),
    "dictionary": lambda labels: pa.array(labels.to_list()).dictionary_encode(),
    "numpy": lambda labels: labels.to_numpy(),
}


@pytest.fixture(scope="module")
def domain():
    return Domain.from_frame(ROWS, SENSITIVE)


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS.to_numpy(), Y)


def calls(rows, labels, domain, tree):
    """By name, what every call that takes rows makes of them."""
    density = Density.fit(domain, rows)
    found = fairprobe.search(tree, domain, start=rows, max_inputs=3000, density=density)
    why = fairprobe.explain(found, tree, X=rows, y=labels, max_queries=200_000)
    share = fairprobe.estimate(tree, domain, population=rows, sample_weight=labels_as_weights(labels))
    how = {"augment": "flip", "max_rounds": 1, "controls": False, "n_report": 500}
    better = fairprobe.retrain(tree, rows, labels, domain, held_out=(rows, labels), **how)
    return {
        "density": density.plausibility(rows).round(12).tolist(),
        "mined": [rule.text for rule in domain.mine_constraints(rows)],
        "links": len(domain.propose_links(rows)),
        "found": found.cases.to_numpy().tolist(),
        "why": [region.sentence() for region in why.rules],
        "share": (share.value, share.low, share.high, share.n),
        "cases": share.cases.to_numpy().tolist(),
        "accuracy": better.accuracy_after,
    }


def labels_as_weights(labels):
    return np.where(np.asarray(as_values(labels)) == "yes", 2.0, 1.0)


@pytest.fixture(scope="module")
def expected(domain, tree):
    return calls(ROWS, Y, domain, tree)


@pytest.mark.parametrize(
    ("kind", "labels"), [("lazy", "dictionary"), ("pyarrow", "pyarrow"), ("numpy", "polars"), ("structured", "numpy")]
)
def test_every_call_that_takes_rows(kind, labels, domain, tree, expected):
    assert calls(KINDS[kind](ROWS), LABELS[labels](Y), domain, tree) == expected


def test_domains_of_arrays():
    """The same parameters, called x0 and so on."""
    named = Domain.from_frame(ROWS, SENSITIVE)
    plain = Domain.from_frame(ROWS.to_numpy(), ["x3"])
    assert plain.names == ("x0", "x1", "x2", "x3")
    assert [p.levels for p in plain.parameters] == [p.levels for p in named.parameters]
    texts = ROWS.assign(sex=np.where(ROWS["sex"] == 1, "Male", "Female")).to_numpy(dtype=object)
    assert [p.kind for p in Domain.from_frame(texts, ["x3"]).parameters] == ["integer"] * 3 + ["category"]


@pytest.mark.parametrize("kind", KINDS)
def test_conversion(kind):
    frame = as_pandas(KINDS[kind](ROWS), None if kind != "numpy" else list(ROWS.columns))
    pd.testing.assert_frame_equal(frame, ROWS)


def test_a_pandas_frame_is_left_as_it_is():
    assert as_pandas(ROWS) is ROWS


def mixed():
    return {
        "sex": ["Female", "Male", None, "Male"],
        "grade": ["low", "high", "mid", "low"],
        "paid": [True, None, False, True],
        "owns": [True, True, False, True],
        "children": [1, None, 3, 0],
        "rooms": [2, 3, 4, 2],
        "rate": [0.5, None, 1.5, 2.5],
        "city": ["B", None, "A", "B"],
    }


def check_mixed(frame):
    kinds = frame.dtypes
    assert kinds["sex"] == "category"
    assert list(frame["sex"].cat.categories) == ["Female", "Male"]
    assert kinds["grade"] == "category"
    assert list(frame["grade"].cat.categories) == ["low", "mid", "high", "top"]  # one that no row has stays
    assert str(kinds["paid"]) == "boolean"
    assert str(kinds["owns"]) == "bool"
    assert str(kinds["children"]) == "Int64"
    assert str(kinds["rooms"]) == "int8"
    assert str(kinds["rate"]) == "float32"
    assert kinds["city"] == pd.Series(["A", "B"]).dtype
    assert frame["city"].isna().tolist() == [False, True, False, False]
    parameters = {p.name: p for p in Domain.from_frame(frame, ["sex"]).parameters}
    assert parameters["grade"].values == ("low", "mid", "high", "top")
    assert parameters["children"].dtype == "Int64"
    assert parameters["paid"].missing


def test_dtypes_of_polars():
    kinds = {"sex": pl.Categorical, "grade": pl.Enum(["low", "mid", "high", "top"]), "rooms": pl.Int8}
    frame = as_pandas(pl.DataFrame(mixed(), schema_overrides={**kinds, "rate": pl.Float32}))
    check_mixed(frame)
    assert not frame["grade"].cat.ordered  # polars has no other way to name all categories


def test_dtypes_of_pyarrow():
    content = mixed()
    places = [["low", "mid", "high", "top"].index(value) for value in content["grade"]]
    grade = pa.DictionaryArray.from_arrays(pa.array(places), ["low", "mid", "high", "top"], ordered=True)
    sex = pa.array(content["sex"]).dictionary_encode()
    rooms, rate = pa.array(content["rooms"], pa.int8()), pa.array(content["rate"], pa.float32())
    frame = as_pandas(pa.table({**content, "grade": grade, "sex": sex, "rooms": rooms, "rate": rate}))
    check_mixed(frame)
    assert frame["grade"].cat.ordered


def test_the_index_of_a_table_that_was_a_frame_comes_back(domain, tree):
    table = pa.Table.from_pandas(ROWS.set_index(np.arange(1000, 1000 + N)))
    share = fairprobe.estimate(tree, domain, population=table)
    assert share.cases.index.min() >= 1000


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ("domain.csv", ["two axes", "str"]),
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
            ["distinct names", "a more than once"],
        ),
    ],
)
def test_what_are_no_rows(rows, parts):
    with pytest.raises(DataError) as caught:
        Domain.from_frame(rows, ["a"])
    for part in parts:
        assert part in str(caught.value)


def test_polars_and_pyarrow_are_not_imported_for_rows_that_are_none_of_theirs():
    code = (
        "import sys, numpy as np; from fairprobe.frames import as_pandas, as_values; "
        "as_pandas(np.zeros((2, 2))); as_values(np.zeros(2)); assert 'polars' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
