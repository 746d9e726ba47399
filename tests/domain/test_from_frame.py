"""Domains inferred from frames: kinds, bounds, dtypes and moves."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, note
from hypothesis import strategies as st

import fairprobe
from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.datasets import load_census
from fairprobe.domain import health
from fairprobe.domain.health import health_of_data, health_of_label
from fairprobe.errors import DataError, HealthWarning
from random_domains import domains, inputs


def infer(column, name="x", **options):
    frame = pd.DataFrame({name: column})
    frame["s"] = [0, 1] * (len(frame) // 2) + [0] * (len(frame) % 2) if len(frame) > 1 else [0]
    return Domain.from_frame(frame, sensitive=["s"], parameters=[Integer("s", 0, 1)], **options)["x"]


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("split", ["train", "test"])
def test_census_frames_survive_encode_and_decode(encoded, split):
    frame, _ = load_census(encoded=encoded, split=split)
    domain = Domain.from_frame(frame, sensitive=["sex"])
    codes = domain.encode(frame)
    assert (codes >= 0).all()
    pd.testing.assert_frame_equal(domain.decode(codes), frame)


STRINGS = str(pd.Series(["a"]).dtype)  # "object" in pandas 2


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1, 7], Integer("x", 1, 7)),
        (np.array([3, 1, 7], dtype=np.int8), Integer("x", 1, 7, dtype="int8")),
        (np.array([0, 200], dtype=np.uint8), Integer("x", 0, 200, dtype="uint8", moves=(-20, -2, 2, 20))),
        (pd.array([3, None, 7], dtype="Int64"), Integer("x", 3, 7, missing=True, dtype="Int64")),
        ([3.0, np.nan, 7.0], Integer("x", 3, 7, missing=True, dtype="float64")),
        ([0.5, 0.1, 0.9], Real("x", 0.1, 0.9, 0.1)),
        ([0.25, np.nan, 0.5], Real("x", 0.25, 0.5, 0.01, missing=True)),
        ([True, False], Category("x", [False, True])),
        ([True, True], Category("x", [False, True])),
        (pd.array([True, None], dtype="boolean"), Category("x", [False, True], missing=True, dtype="boolean")),
        (["b", "a", "b"], Category("x", ["a", "b"], dtype=STRINGS)),
        (["b", None, "a"], Category("x", ["a", "b"], missing=True, dtype=STRINGS)),
        (pd.Categorical(["b", "a"], categories=["b", "a", "c"]), Category("x", ["b", "a", "c"], dtype="category")),
        (
            pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True),
            Ordinal("x", ["lo", "mid", "hi"], dtype="category"),
        ),
        (pd.Categorical([1, None], categories=[1, 2]), Category("x", [1, 2], missing=True, dtype="category")),
    ],
)
def test_kind(column, expected):
    assert infer(column) == expected


@given(st.data(), domains())
def test_what_a_domain_gives_it_can_be_inferred_from(data, domain):
    """The frame of any domain is inferred to one that holds it, with the same dtypes, value by value."""
    frame = domain.decode(data.draw(inputs(domain, min_size=2)))
    floats = frame.select_dtypes("float")
    assume(not frame.isna().all().any())
    assume(((floats - floats.round(6)).abs().max() < 1e-12).all())  # finer ones are put on a grid of their own
    overrides = [domain[name] for name in domain.sensitive]
    again = Domain.from_frame(frame, sensitive=domain.sensitive, parameters=overrides)
    note(f"{frame.to_dict('list')} inferred as {again.parameters}")
    codes = again.encode(frame)
    assert (codes >= 0).all()
    pd.testing.assert_frame_equal(again.decode(codes), frame)


@example([3, 7], 1)
@given(st.lists(st.integers(-999, 999), min_size=2, max_size=30, unique=True), st.integers(1, 4))
def test_fractions_get_their_own_bounds_and_step(numbers, decimals):
    """Bounds are those of the data, and the step is the power of ten that all values are multiples of."""
    values = [float(f"{number}e-{decimals}") for number in numbers]
    if all(value == int(value) for value in values):
        return
    parameter = infer(values)
    assert isinstance(parameter, Real)
    assert parameter.low == min(values)
    assert parameter.high == pytest.approx(max(values), abs=parameter.step / 1e6)
    assert (parameter.encode(values) >= 0).all()
    assert parameter.decode(parameter.encode(values)).tolist() == values


@pytest.mark.parametrize("values", [[0.0, 1e-6], [30.000001, 30.000009], [-0.00002, 0.00001, 5.0]])
def test_small_differences_are_no_rounding(values):
    parameter = infer(values)
    assert (parameter.encode(values) >= 0).all()
    assert len(set(parameter.encode(values))) == len(values)


def test_unruly_fractions_get_a_thousandth_of_the_range():
    values = np.random.default_rng(0).normal(size=500)
    parameter = infer(values)
    assert isinstance(parameter, Real)
    assert parameter.low <= values.min()
    assert parameter.high >= values.max()
    assert 1_000 <= parameter.levels <= 10_100
    assert parameter.moves == (
        -round(parameter.levels / 10),
        -round(parameter.levels / 100),
        round(parameter.levels / 100),
        round(parameter.levels / 10),
    )


@pytest.mark.parametrize(("levels", "wide"), [(99, False), (100, False), (101, True), (1000, True)])
def test_above_100_levels_moves_are_wide(levels, wide):
    moves = infer(list(range(levels))).moves
    far, near = round(levels / 10), round(levels / 100)
    assert moves == ((-far, -near, near, far) if wide else (-1, 1))


def test_values_to_compare_keep_the_dtype_of_the_data():
    """A categorical stays the categorical that the model was fitted on, whichever values are compared."""
    frame = pd.DataFrame({"age": [20, 30], "race": pd.Categorical(["a", "b"], categories=["c", "b", "a"])})
    domain = Domain.from_frame(frame, sensitive={"race": ["a", "b"]})
    assert domain.decode(domain.encode(frame))["race"].dtype == frame["race"].dtype


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([1, 2], r"must have two axes, got the shape \(2,\) of list"),
        (pd.DataFrame({"x": []}), r"one row and one column at least, got the shape \(0, 1\)"),
        (pd.DataFrame({0: [1, 2]}), "columns must be named by strings, got 0"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "columns must have distinct names, got x more than once"),
        (pd.DataFrame({"x": [None, None]}), "column 'x' must hold a value, got only missing ones: leave it out"),
        (pd.DataFrame({"x": [1.0, np.inf]}), "column 'x' must hold finite numbers, got an infinite one"),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])}), "column 'x' must hold numbers, strings or truth values"),
        (pd.DataFrame({"x": [1 + 2j]}), "column 'x' must hold numbers, strings or truth values"),
    ],
)
def test_bad_frame(frame, message):
    with pytest.raises(DataError, match=message):
        Domain.from_frame(frame, sensitive=["x"])


def test_a_frame_is_not_changed():
    frame = pd.DataFrame({"x": [1.5, None], "s": ["a", "b"]}, index=[7, 9])
    before = frame.copy(deep=True)
    Domain.from_frame(frame, sensitive=["s"]).encode(frame)
    pd.testing.assert_frame_equal(frame, before)


N = 400
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(17, 90, N),
        "pay": RNG.permutation(10**6)[:N],
        "rate": RNG.random(N).round(4),
        "job": RNG.choice(["baker", "cook", "nurse"], N),
        "sex": RNG.choice(["f", "m"], N),
    }
)
"""Nothing to remark, though the pay is different in each row."""


def remarks(frame, sensitive=("sex",), **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Domain.from_frame(frame, sensitive=list(sensitive), **options)
    assert all(issubclass(warning.category, HealthWarning) for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def the_remark(frame, **options):
    (remark,) = remarks(frame, **options)
    return remark


@pytest.mark.parametrize("marker", ["?", " ?", "-", "n/a", "NONE", "null"])
@pytest.mark.parametrize("dtype", ["str", "category"])
def test_missing_marker(marker, dtype):
    frame = PEOPLE.assign(job=PEOPLE["job"].where(PEOPLE["age"] > 30, marker).astype(dtype))
    n = (PEOPLE["age"] <= 30).sum()
    said = the_remark(frame)
    assert said.startswith(f"missing-marker: column 'job' holds {marker!r} in {n} of 400 rows")
    assert f"--missing '{marker.strip()}'" in said


def test_a_marker_left_out_of_the_domain_is_not_remarked_on():
    frame = PEOPLE.assign(job=PEOPLE["job"].where(PEOPLE["age"] > 30, "?"))
    assert remarks(frame, parameters=[Category("job", ["baker", "cook", "nurse"])]) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("row", np.arange(N)),
        ("row", np.arange(N)[::-1] + 7000),
        ("row", np.sort(RNG.permutation(10**6)[:N])),
        ("customer_id", RNG.permutation(10**6)[:N]),
        ("customerId", RNG.permutation(10**6)[:N]),
        ("ID", RNG.permutation(10**6)[:N]),
        ("name", [f"person {i}" for i in range(N)]),
        ("name", [f"person {i % (N - 10)}" for i in range(N)]),
    ],
)
def test_id_column(name, values):
    said = the_remark(PEOPLE.assign(**{name: values}))
    assert said.startswith(f"id-column: column {name!r} has {len(set(values))} different values in 400 rows")


@pytest.mark.parametrize("values", [np.arange(N) % 40, RNG.random(N), RNG.permutation(10**6)[:N]])
def test_no_id_column(values):
    assert remarks(PEOPLE.assign(paid=values)) == []


def _days(form):
    return pd.Series(pd.date_range("1950-01-03", periods=N, freq="37D").strftime(form)).to_list()


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S", "%d %b %Y", "%B %d, %Y"])
def test_dates_as_text(form):
    days = _days(form)
    said = the_remark(PEOPLE.assign(born=days))
    assert said.startswith(f"dates-as-text: column 'born' holds dates as text, such as {min(days)!r}")


@pytest.mark.parametrize("values", [["10th", "11th", "1st-4th"], ["18-25", "26-40"], ["1/2", "3/4"], ["1999", "2001"]])
def test_no_dates(values):
    assert remarks(PEOPLE.assign(band=RNG.choice(values, N))) == []


@pytest.mark.parametrize(("name", "n_values"), [("label", 2), ("Target", 3), ("y", 2), ("income", 2), ("approved", 2)])
def test_label_among_inputs_by_its_name(name, n_values):
    said = the_remark(PEOPLE.assign(**{name: RNG.integers(0, n_values, N)}))
    assert said.startswith(f"label-among-inputs: column {name!r} is among the inputs, with {n_values} values")


@pytest.mark.parametrize("name", ["income", "class"])
def test_an_input_may_be_named_as_a_label_is(name):
    assert remarks(PEOPLE.assign(**{name: RNG.integers(0, 50, N)})) == []


def test_label_among_inputs_by_what_it_tells():
    label = pd.Series(RNG.integers(0, 2, N), name="hired")
    ((name, said),) = health_of_label(PEOPLE.assign(code=label.map({0: "N", 1: "Y"})), label)
    assert name == "label-among-inputs"
    assert said.startswith("column 'code' determines the label 'hired' in all 400 rows")
    assert health_of_label(PEOPLE, label) == []


def test_single_valued():
    said = the_remark(PEOPLE.assign(country="US"))
    assert said.startswith("single-valued: column 'country' has one value, US:")


def test_values_that_differ_in_case_or_spaces_alone():
    job = PEOPLE["job"].where(PEOPLE.index % 50 > 0, PEOPLE["job"].str.upper() + " ")
    said = the_remark(PEOPLE.assign(job=job))
    assert said.startswith("same-but-for-spelling: column 'job' holds values that differ in case or spaces alone")
    assert "spaces alone: 'baker'" in said
    assert "(8 of 400 rows have the rarer spelling)" in said
    frame = PEOPLE.assign(sex=PEOPLE["sex"].replace("f", " F"))  # one spelling for each value
    assert remarks(frame) == []


@pytest.mark.parametrize(
    ("values", "sensitive", "rule"),
    [
        ([f"zip {place}" for place in range(200)], "sex", "has 200 values in 400 rows, 200 of them in fewer"),
        ([f"zip {place}" for place in range(200)], "zip", "the sensitive parameter 'zip' has 200 values in 400 rows"),
        (range(1000, 1200), "zip", "each input is compared with 199 twins, and one flip among them makes it a case"),
        (range(1000, 1200), "sex", None),  # a number, which has an order
        ([f"zip {place}" for place in range(100)], "zip", None),
    ],
)
def test_very_many_values(values, sensitive, rule):
    frame = PEOPLE.assign(zip=np.resize(list(values), N))
    said = [each for each in remarks(frame, [sensitive]) if each.startswith("many-values: ")]
    assert len(said) == (rule is not None)
    assert rule is None or rule in said[0]


def test_a_list_of_values_to_compare_is_few():
    frame = PEOPLE.assign(zip=np.arange(N) % 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Domain.from_frame(frame, sensitive={"zip": [3, 7]})


def test_determined_column():
    levels = {"baker": 3, "cook": 3, "nurse": 7}
    said = the_remark(PEOPLE.assign(level=PEOPLE["job"].map(levels)))
    assert said.startswith("determined-column: in all 400 rows looked at 'job' determines 'level': inputs that change")
    said = the_remark(PEOPLE.assign(level=PEOPLE["job"].map({**levels, "cook": 4})))
    assert "'job' goes one to one with 'level'" in said


@pytest.mark.parametrize(
    ("title", "how"),
    [
        (PEOPLE["sex"].map({"f": "Ms", "m": "Mr"}), "goes one to one with"),
        (PEOPLE["sex"] + PEOPLE["job"], "is determined by"),
    ],
)
def test_a_sensitive_parameter_that_another_column_goes_with(title, how):
    said = remarks(PEOPLE.assign(title=title))
    of_sex = f"the sensitive parameter 'sex' {how} 'title': twins that change 'sex' and not 'title'"
    assert said[0].startswith(f"determined-column: {of_sex}")


def test_of_many_columns_only_what_goes_with_the_sensitive_one_is_looked_for(monkeypatch):
    monkeypatch.setattr(health, "MOST_COLUMNS", 3)
    frame = PEOPLE.assign(job2=PEOPLE["job"], title=PEOPLE["sex"].map({"f": "Ms", "m": "Mr"}))
    assert "'sex' goes one to one with 'title'" in the_remark(frame)


@pytest.mark.parametrize("split", ["train", "test"])
def test_of_the_census_only_what_is_true_is_said(split):
    X, y = fairprobe.datasets.load_census(encoded=False, split=split)
    said = the_remark(X)
    assert said.startswith("determined-column")
    assert "'education' goes one to one with 'education-num': " in said
    assert health_of_label(X, y) == []
    encoded, y = fairprobe.datasets.load_census(split=split)
    assert health_of_data(encoded, Domain.from_frame(encoded, sensitive=["sex"])) == []
    assert health_of_label(encoded, y) == []
