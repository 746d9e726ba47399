"""Names of values: people read them everywhere; figures, rules and what the model is asked keep the values."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from audited import SMALL

from fairprobe import audit
from fairprobe.errors import SettingError
from fairprobe.report import render
from fairprobe.report.value_names import Names

LABELS = {"sex": {0: "women", 1: "men"}, "town": {"A91": "Bree"}, "risk": {0: "repaid", 1: "defaulted"}}


def made(labels=None, **asked):
    rows = pd.DataFrame({"age": np.arange(20.0, 60), "sex": [0, 1] * 20, "town": ["A91", "A92"] * 20})
    risk = pd.Series([0, 1] * 20, name="risk")
    return audit(
        lambda frame: ((frame["age"] > 50) | ((frame["sex"] == 1) & (frame["age"] > 40))).astype(int).to_numpy(),
        rows,
        risk,
        **{"sensitive": ["sex"], "max_share": 0.01, "favourable": 0, "selfcheck": False, "show_rows": True} | asked,
        **SMALL,
        labels=labels,
    )


@pytest.fixture(scope="module")
def both():
    return made(), made(LABELS)


def test_figures_stay_what_they_are(both):
    plain, named = (json.loads(json.dumps(each.content)) for each in both)
    assert named["question"].pop("labels") == {
        "columns": {"sex": {"0": "women", "1": "men"}, "town": {"A91": "Bree"}},
        "outcome": {"0": "repaid", "1": "defaulted"},
    }
    del plain["digest"], named["digest"], plain["digests"], named["digests"]
    assert named == plain


@pytest.mark.parametrize("form", ["html", "markdown", "model-card"])
def test_people_read_names(both, form):
    page = render(both[1].content, form).replace("\u2068", "").replace("<bdi>", "").replace("</bdi>", "")
    assert "orse off most often as sex=men, in " in page
    assert "Rate of repaid" in page
    assert "sex=1" not in page
    if form == "markdown":
        assert "| sex women → men | sex=women: repaid, sex=men: defaulted |" in page
        assert "Names of sex: 0 is women, 1 is men" in page
        assert ", town Bree |" in page
        assert "sex=men is worse off than sex=women" in page
        assert " age 41, " in page  # as in the data, though the column holds floats
    assert "sex=men" in both[1].text()
    assert "sex=men" not in render(both[1].content, "junit")


def test_outcomes_of_a_masked_column_stay_hidden():
    content = made(LABELS, mask=["town"]).content
    assert "Bree" not in json.dumps(content)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"sx": {0: "women"}}, "one of age, sex, town, risk, outcome; got 'sx': did you mean 'sex'"),
        ({"sex": {2: "other"}}, r"labels must name values of 'sex' \(0 to 1\), got 2"),
        ({"town": {"A93": "Shire"}}, "must name values of 'town'"),
        (
            {"outcome": {3: "lost"}},
            "a value under 'outcome' in labels must be an outcome that was seen, one of 0, 1; got 3",
        ),
        ({"sex": {0: "people", 1: "people"}}, "must give each value of 'sex' a name of its own, got 'people' twice"),
        ({"sex": {0: "1"}}, "got '1' twice"),
        ({"sex": "women"}, "must have names by value for 'sex', got 'women'"),
        ({"sex": {0: 1}}, "must have names by value for 'sex'"),
        ([], None),
        (["sex"], "must be a dict of names by column and value"),
    ],
)
def test_names_of_what_is_not_there_are_refused(labels, message):
    if message is None:
        assert "labels" not in made(labels).content["question"]
        return
    with pytest.raises(SettingError, match=message):
        made(labels)


def test_in_a_sentence_only_a_value_of_its_column_and_an_outcome_get_names():
    names = Names({"sex": {"1": "men"}}, {"0": "repaid"})
    said = "sex=1, sex=10, sex=1.5 and age=1: x gets '0' where y gets 0 in 0 of 1 (30% 0, to 9%), sex=1."
    assert names.text(said) == (
        "sex=men, sex=10, sex=1.5 and age=1: x gets repaid where y gets repaid in 0 of 1 (30% repaid, to 9%), sex=men."
    )


def test_lists_of_values_in_the_words_of_a_region_get_names():
    names = Names({"town": {"A1": "Bree", "A10": "Shire"}, "sex": {"1": "men"}}, {})
    words = {"words": "age 1 to 9, town A10, A1 or A2, sex 1", "decision": "sex held constant at 1", "text": "sex == 1"}
    told = {"words": "age 1 to 9, town Shire, Bree or A2, sex men", "decision": "sex held constant at men"}
    assert names.walked(words) == {**told, "text": "sex == 1"}
    assert names.walked("sex 1 to 2", "words") == "sex 1 to 2"


def test_progress_has_names():
    said = []
    made(LABELS, progress=lambda status: said.append(status.text))
    assert any(text.startswith("rates of repaid: ") and "sex=men" in text for text in said)
