"""`fairprobe init` on tables like those that people have: what it guesses, and what it says it could not guess."""

import tomllib

import numpy as np
import pandas as pd
import pytest

N = 60
RNG = np.random.default_rng(0)

CREDIT = pd.DataFrame(
    {
        "checking": RNG.choice(["<0", "0-200", "none"], N),
        "amount": RNG.integers(250, 18_000, N),
        "sex": RNG.choice(["male", "female"], N),
        "foreign_worker": RNG.choice(["yes", "no"], N),
        "risk": RNG.choice(["good", "bad"], N),
    }
)
RECIDIVISM = pd.DataFrame(
    {
        "sex": RNG.choice(["Male", "Female"], N),
        "race": RNG.choice(["African-American", "Caucasian", "Other"], N),
        "score_text": RNG.choice(["Low", "Medium", "High"], N),
        "two_year_recid": RNG.integers(0, 2, N),
        "days_b_screening": RNG.integers(0, 50, N),
    }
)


@pytest.mark.parametrize(
    ("table", "label", "why"),
    [
        (CREDIT, "risk", "label: risk, by its name and its 2 values"),
        (RECIDIVISM, "two_year_recid", "label: two_year_recid, by its name and its 2 values"),
        (
            CREDIT.rename(columns={"risk": "repaid"}),
            "repaid",
            "label: repaid, as it is the last column and has 2 values",
        ),
        (CREDIT[["amount", "risk", "sex"]], "risk", "by its name"),
        (CREDIT[["amount", "sex"]], None, "  - label: the column to predict, if the table has one"),
        (CREDIT.assign(income=range(N))[["sex", "income"]], None, "  - label: "),  # a number, not a class
        (CREDIT[["amount", "risk"]], "risk", "  - sensitive: the columns that must not change the outcome; no column"),
    ],
)
def test_what_is_guessed_and_what_is_not(fairprobe, folder, table, label, why):
    table.to_csv(folder / "people.csv", index=False)
    outcome = fairprobe("init", "people.csv").says(why, "  - model: a file of it", "  - rows_are: held-out if")
    assert ("- label: " in outcome.out) == (label is None)
    said = tomllib.loads((folder / "fairprobe.toml").read_text())
    assert said.get("label") == label
    assert said.get("sensitive", []) == [name for name in ("sex", "race") if name in table]


def test_a_label_that_is_no_column(fairprobe, folder):
    CREDIT.to_csv(folder / "people.csv", index=False)
    fairprobe("init", "people.csv", "--label", "rsk").refuses(
        "--label must be one of", "got 'rsk': did you mean 'risk'?"
    )
    fairprobe("init", "people.csv", "--label", "checking", "--model", "a:b").says("label: checking, as you said")
