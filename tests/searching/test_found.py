"""What a search gives back: frames that fit together, figures that add up, and what is said of rows it started from."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Derived, Domain, Found, Integer, Link, estimate, search, testing
from fairprobe.errors import HealthWarning
from fairprobe.searching import STRATEGIES
from hard_toys import sparse

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


def settings_of(toy):
    return {"max_inputs": 3000, "n_walkers": 20, "n_global": 300, "n_local": 20, "max_cases": None} | toy.settings


@pytest.mark.parametrize("name", ["box", "loans", "pair", "score", "proba", "odd-one-out"])
def test_frames_fit_together(name):
    toy = dict(testing.all_toys())[name]
    found = search(toy.model, toy.domain, **settings_of(toy))
    domain = toy.domain
    assert isinstance(found, Found)
    assert found.n_cases == len(found.cases) > 0
    for frame in (found.cases, found.twins):
        assert tuple(frame.columns) == domain.names
        assert [str(dtype) for dtype in frame.dtypes] == [str(dtype) for dtype in domain.sample(1).dtypes]
    for part in (found.cases, found.twins, found.gaps, found.outputs):
        assert part.index.equals(pd.RangeIndex(found.n_cases))
    sensitive = list(domain.sensitive)
    assert found.gaps.name == "gap"
    assert list(found.outputs.columns[:2]) == ["case", "twin"]
    frame = found.to_frame()
    assert frame["gap"].equals(found.gaps)
    assert frame[f"twin_{sensitive[0]}"].tolist() == found.twins[sensitive[0]].tolist()
    if name == "loans":
        assert list(frame.columns) == [*domain.names, "twin_sex", "output_case", "output_twin", "gap"]


def test_scores_below_the_threshold_are_no_sign_of_disuse():
    toy = testing.score(threshold=0.99)
    assert search(toy.model, toy.domain, max_inputs=3000, n_global=500, **toy.settings).health == ()


def test_probabilities_name_the_class():
    toy = testing.proba()
    found = search(toy.model, toy.domain, **settings_of(toy))
    assert set(found.outputs["class"]) <= {0, 2}
    case, twin = toy.model(found.cases.to_numpy()), toy.model(found.twins.to_numpy())
    rows = np.arange(found.n_cases)
    np.testing.assert_array_equal(found.outputs["case"], case[rows, found.outputs["class"]])
    np.testing.assert_array_equal(found.outputs["twin"], twin[rows, found.outputs["class"]])
    np.testing.assert_array_equal(np.abs(case - twin).max(axis=1), found.gaps)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("name", ["score", "proba", "sparse", "odd-one-out"])
@pytest.mark.thinned(3)
def test_shards_without_a_case_change_nothing(name, strategy):
    """Many a shard of 40 inputs has no case; the outputs keep their dtype and classes."""
    toy = sparse() if name == "sparse" else dict(testing.all_toys())[name]
    if name in ("score", "proba"):
        make = getattr(testing, name)
        toy = make(levels=64, threshold=0.95 if name == "score" else 0.47)
    options = {"strategy": strategy, "max_cases": None, "n_walkers": 5, "n_global": 20, "n_local": 10, "seed": 3}
    n = 4000 if name == "sparse" else 1200
    cut = search(toy.model, toy.domain, max_inputs=n, shard_inputs=40, **options, **toy.settings)
    whole = search(toy.model, toy.domain, max_inputs=n, **options, **toy.settings)
    assert cut.n_cases > 0
    assert cut.outputs.dtypes.to_dict() == whole.outputs.dtypes.to_dict()
    assert len(cut.to_frame()) == cut.n_cases
    planted = toy.is_case(cut.cases.to_numpy())
    assert planted.all()


def test_a_result_can_be_kept_and_its_figures_are_ready_for_json():
    toy = testing.loans()
    found = search(toy.model, toy.domain, **settings_of(toy), seed=7)
    summary = json.loads(json.dumps(found.jsonable()))
    assert summary["n_cases"] == found.n_cases
    assert summary["settings"]["n_walkers"] == 20
    assert summary["limits"]["max_judged"] == 3000
    assert f"{found.n_cases:,} cases" in repr(found)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_frame().equals(found.to_frame())
    assert again.jsonable() == found.jsonable()


PARAMETERS = [
    Integer("age", 20, 79),
    Category("role", ["Husband", "Single", "Wife"]),
    Derived("code", "role", {"Husband": 1, "Single": 2, "Wife": 3}),
    Category("race", ["A", "B"]),
    Category("sex", ["F", "M"]),
]
LINK = Link("role", "sex", [{"M": "Husband", "F": "Wife"}])
ROWS = pd.DataFrame(
    [[30, "Husband", 1, "A", "M"], [40, "Single", 2, "A", "F"], [50, "Wife", 3, "A", "F"]],
    columns=[parameter.name for parameter in PARAMETERS],
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
    assert list(share.to_frame().columns)[:4] == ["row_", "row", "n_changes", "sex"]


def test_words_begin_with_what_is_sensitive():
    found = search(by_role, Domain(PARAMETERS, ["sex"], links=[LINK]), start=ROWS, max_inputs=3)
    assert found.in_words()[0] == "row x: sex M -> F, role Husband -> Wife, code 1 -> 3 changes True to False"
    how = {"output": "score", "threshold": 0}
    found = search(score, Domain(PARAMETERS, ["sex"], links=[LINK]), start=ROWS, max_inputs=3, **how)
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
