"""Health checks of data: each is raised by name where it should be, and not where it should not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain
from fairprobe.domain import health
from fairprobe.domain.health import health_of_data, health_of_label
from fairprobe.errors import HealthWarning

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
    assert said[0].startswith(
        f"determined-column: the sensitive parameter 'sex' {how} 'title': twins that change 'sex' and not 'title'"
    )


def test_of_many_columns_only_what_goes_with_the_sensitive_one_is_looked_for(monkeypatch):
    monkeypatch.setattr(health, "MOST_COLUMNS", 3)
    frame = PEOPLE.assign(job2=PEOPLE["job"], title=PEOPLE["sex"].map({"f": "Ms", "m": "Mr"}))
    assert "'sex' goes one to one with 'title'" in the_remark(frame)


def test_a_check_can_be_silenced_by_its_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "single-valued", HealthWarning)
        Domain.from_frame(PEOPLE.assign(country="US"), sensitive=["sex"])


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
