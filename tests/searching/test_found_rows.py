"""What a search that started from rows says of its cases, and how thin a domain is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Derived, Domain, Integer, Link, estimate, search
from fairprobe.errors import HealthWarning

PARAMETERS = [
    Integer("age", 20, 79),
    Category("role", ["Husband", "Single", "Wife"]),
    Derived("code", "role", {"Husband": 1, "Single": 2, "Wife": 3}),
    Category("race", ["A", "B"]),
    Category("sex", ["F", "M"]),
]
LINK = Link("role", "sex", [{"M": "Husband", "F": "Wife"}])
ROWS = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "role": ["Husband", "Single", "Wife"],
        "code": [1, 2, 3],
        "race": "A",
        "sex": ["M", "F", "F"],
    },
    index=["x", "y", "z"],
)


def by_role(frame):
    return (frame["role"] == "Husband") & (frame["age"] < 60)


def score(frame):
    return (frame["role"] == "Husband") / 3


def test_a_frame_of_cases_from_rows():
    domain = Domain(PARAMETERS, ["sex", "race"], links=[LINK])
    found = search(by_role, domain, start=ROWS, max_changes=1, max_inputs=500)
    frame = found.to_frame()
    expected = ["twin_sex", "twin_race", "twin_role", "twin_code", "output_case", "output_twin", "gap"]
    assert list(frame.columns[5:]) == [*expected, "parameters", "row", "n_changes"]
    assert set(frame["row"]) <= set(ROWS.index)
    assert set(frame["parameters"]) == {"sex"}
    assert found.jsonable()["parameters"] == {"sex": found.n_cases}
    assert found.jsonable()["n_start_rows"] == 3
    assert list(search(by_role, domain, max_inputs=500).to_frame().columns[5:]) == [*expected, "parameters"]


def test_a_name_of_the_frame_that_is_a_parameter_s():
    parameters = [Integer("row", 0, 9), Integer("n_changes", 0, 9), Integer("sex", 0, 1)]
    rows = pd.DataFrame({"row": [1], "n_changes": [2], "sex": [0]})
    frame = search(lambda X: X[:, 2], Domain(parameters, ["sex"]), start=rows, max_inputs=50).to_frame()
    assert list(frame.columns[-3:]) == ["row_", "n_changes_", "distance"]
    share = estimate(lambda X: X[:, 2], Domain(parameters, ["sex"]), rows)
    assert list(share.to_frame().columns) == [
        "row_",
        "row",
        "n_changes",
        "sex",
        "twin_sex",
        "output_sex=0",
        "output_sex=1",
    ]


def test_words_begin_with_what_is_sensitive():
    found = search(by_role, Domain(PARAMETERS, ["sex"], links=[LINK]), start=ROWS, max_inputs=3)
    assert found.in_words()[0] == "row x: sex M -> F, role Husband -> Wife, code 1 -> 3 changes True to False"
    found = search(
        score, Domain(PARAMETERS, ["sex"], links=[LINK]), start=ROWS, max_inputs=3, output="score", threshold=0
    )
    assert found.in_words()[0].endswith("changes 0.3333 to 0")


def test_many_combinations_are_counted_in_words():
    parameters = [Integer("age", 0, 99), Category("race", list("ABCDE"))]
    rows = pd.DataFrame({"age": [7], "race": ["B"]})
    one = estimate(lambda frame: np.where(frame["race"] == "C", "yes", "no"), Domain(parameters, ["race"]), rows)
    assert one.rows_in_words() == ["row 0: race B -> C (of 5 combinations 4 no, 1 yes)"]
    listed = Domain(parameters, {"race": ["B", "C"]})
    two = estimate(lambda frame: np.where(frame["race"] == "C", "yes", "no"), listed, rows)
    assert two.rows_in_words() == ["row 0: race B -> C (race=B: no, race=C: yes)"]
    values = {"output": "value", "threshold": 0.1}
    some = estimate(lambda frame: (frame["race"] == "C") / 3, Domain(parameters, ["race"]), rows, **values)
    assert some.rows_in_words() == ["row 0: race B -> C (over 5 combinations: 0 to 0.3333)"]


def test_what_is_hidden_is_the_reason():
    domain = Domain(PARAMETERS, ["sex"], links=[LINK], hidden=["sex"])
    single = ROWS.assign(role="Single", code=2)
    with pytest.warns(HealthWarning, match="without sex their twins are the same to the model"):
        search(by_role, domain, start=single, max_inputs=3)
