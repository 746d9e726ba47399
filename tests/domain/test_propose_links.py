"""Links proposed from rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairprobe
from benchmarks.mining_worlds import proposed, roles_are_found, without_roles
from fairprobe import Category, Domain, Link
from fairprobe.domain.health import health_of_data
from fairprobe.errors import DataError, SettingError

N = 2000
RNG = np.random.default_rng(1)
SEX = RNG.choice(["f", "m"], N, p=[0.4, 0.6])
JOB = RNG.choice(["baker", "cook", "nurse"], N)
TITLE = np.where(SEX == "m", "Mr", "Ms")


def roles(frame, sensitive="sex"):
    domain = Domain.from_frame(frame, sensitive=[sensitive])
    links = domain.propose_links(frame)
    assert len(links) == len(links.evidence) == len(links.words())
    domain.with_links(links)
    return {link.column: list(link.roles.values()) for link in links}


@pytest.fixture
def rng():
    return np.random.default_rng(14)


@pytest.fixture(scope="module")
def census():
    return fairprobe.datasets.load_census(encoded=False, split="train")[0]


@pytest.mark.parametrize("sensitive", [["sex"], ["race"], ["race", "sex"]])
def test_the_census_needs_husband_and_wife_and_nothing_else(census, sensitive):
    links = Domain.from_frame(census, sensitive=sensitive).propose_links(census)
    spouses = [Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])]
    assert links == (spouses if "sex" in sensitive else [])
    if links:
        assert links.evidence[0].startswith(
            "13,192 of 13,193 rows with Husband are Male; 1,566 of 1,568 rows with Wife are Female; "
        )


@pytest.mark.parametrize("seed", range(8))
def test_planted_roles_are_found(seed):
    assert roles_are_found(seed)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_proposed_where_nothing_is_needed(seed):
    assert proposed(*without_roles(seed)) == []


@pytest.mark.slow
def test_planted_roles_are_found_in_95_of_100_data_sets_and_none_in_95_without():
    assert sum(roles_are_found(seed) for seed in range(100)) >= 95
    assert sum(bool(proposed(*without_roles(seed))) for seed in range(100)) <= 5


def test_of_several_roles_each_is_matched():
    frame = pd.DataFrame({"sex": SEX, "job": JOB, "title": pd.Series(SEX).str.upper() + JOB})
    expected = [{"m": f"M{job}", "f": f"F{job}"} for job in sorted(set(JOB))]
    assert roles(frame) == {"title": expected}


def test_a_value_may_play_under_several_sensitive_values(rng):
    faith = rng.choice(["a", "b", "c"], N)
    goes = rng.random(N) < 0.5
    house = np.where(goes, np.where(faith == "c", "temple", "church"), "none")
    frame = pd.DataFrame({"faith": faith, "house": house, "weekly": np.where(goes, "yes", "no")})
    [[role]] = roles(frame, "faith").values()
    assert role == {"a": "church", "b": "church", "c": "temple"}


def test_what_is_linked_already_is_not_proposed_again():
    frame = pd.DataFrame({"sex": SEX, "title": TITLE})
    domain = Domain.from_frame(frame, sensitive=["sex"], links=[Link("title", "sex", [{"m": "Mr", "f": "Ms"}])])
    assert domain.propose_links(frame) == []


def test_missing_values_play_no_role():
    sex, title = SEX.astype(object), TITLE.astype(object)
    sex[::7], title[::5] = None, None
    frame = pd.DataFrame({"sex": sex, "title": title, "job": JOB})
    assert roles(frame) == {"title": [{"m": "Mr", "f": "Ms"}]}
    domain = Domain.from_frame(frame, sensitive={"sex": ["f", "m", None]})
    assert [list(link.roles.values()) for link in domain.propose_links(frame)] == [[{"m": "Mr", "f": "Ms"}]]


@pytest.mark.parametrize("n_rows", [0, 1, 30])
def test_few_rows_tell_nothing(n_rows):
    frame = pd.DataFrame({"sex": SEX, "title": TITLE})
    assert Domain.from_frame(frame, sensitive=["sex"]).propose_links(frame.head(n_rows)) == []


def test_columns_that_say_nothing():
    frame = pd.DataFrame({"sex": SEX, "constant": "k", "id": [f"id{i}" for i in range(N)]})
    assert roles(frame) == {}
    assert roles(frame[["sex"]]) == {}
    domain = Domain([Category("sex", ["f", "m"]), Category("a", ["x", "y"], missing=True)], ["sex"])
    assert domain.propose_links(frame.assign(a=None)) == []


def test_bad_input_is_refused():
    frame = pd.DataFrame({"sex": SEX, "title": TITLE})
    domain = Domain.from_frame(frame, sensitive=["sex"])
    with pytest.raises(DataError, match="must have a column for every parameter, got none for title"):
        domain.propose_links(frame[["sex"]])
    with pytest.raises(SettingError, match="error must lie between 0 and 1, got 2"):
        domain.propose_links(frame, error=2)


@pytest.mark.parametrize(
    ("title", "proposal"),
    [
        (TITLE, "title with sex (m Mr, f Ms)"),
        (pd.Series(SEX) + JOB, "title with sex (m mbaker, f fbaker; m mcook, f fcook; m mnurse, f fnurse)"),
    ],
)
def test_a_sensitive_parameter_that_is_determined_gets_a_link_proposed(title, proposal):
    frame = pd.DataFrame({"sex": SEX, "job": JOB, "title": title})
    remarks = [text for name, text in health_of_data(frame, Domain.from_frame(frame, sensitive=["sex"]))]
    assert [
        text for text in remarks if text.endswith(f"a link to read and edit, as propose_links gives it: {proposal}")
    ]
