"""Cases of the encoded census as sentences in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.datasets import CENSUS_WORDS, describe_census
from fairprobe.search import Found

if TYPE_CHECKING:
    import pandas as pd

PERSONS = {"Female": "woman", "Male": "man"}
OUTCOMES = {-1: "<=50K", 1: ">50K"}


def pick(found: Found, n: int) -> list[int]:
    """The rows of a few cases that are easy to imagine, each of another occupation."""
    oddness = _oddness(found.cases)
    occupations = found.cases["occupation"].to_numpy()
    picked: list[int] = []
    for row in np.argsort(oddness, kind="stable")[:1000]:
        if occupations[row] not in occupations[picked]:
            picked.append(int(row))
        if len(picked) == n:
            break
    return picked


def _oddness(cases: pd.DataFrame) -> NDArray[np.int64]:
    """How many things about each person are hard to imagine: a search tries all combinations, likely or not."""

    def among(column: str, *words: str) -> Any:
        return cases[column].isin([CENSUS_WORDS[column].index(word) for word in words])

    checks = [
        ~among("workclass", "Without-pay", "Never-worked"),
        among("relationship", "Not-in-family", "Unmarried"),  # not Husband or Wife, which say the sex as well
        ~among("marital-status", "Married-civ-spouse", "Married-AF-spouse"),
        ~among("education", "Preschool", "1st-4th", "5th-6th"),
        ~among("occupation", "Armed-Forces", "Priv-house-serv"),
        cases["age"].between(2, 6),
        cases["hours-per-week"].between(20, 60),
        cases["capital-loss"] == 0,
        cases["capital-gain"] <= 20,
    ]
    return np.sum([~check.to_numpy() for check in checks], axis=0)


def sentences(found: Found, row: int) -> tuple[str, str]:
    """A case before and after: the person with the model's output, then the same person with another sex."""
    case, twin = found.cases.iloc[row], found.twins.iloc[row]
    before, after = (OUTCOMES.get(output, str(output)) for output in found.outputs[["case", "twin"]].iloc[row])
    words, other = describe_census(case.to_dict()), describe_census(twin.to_dict())
    first = f"{_person(words)}: predicted to earn {before}."
    return first, f"The same person as a {PERSONS[other['sex']]}: {after}."


def _person(words: Mapping[str, str]) -> str:
    return (
        f"A {PERSONS[words['sex']]}, {words['age'].replace('age ', '')} years old, race {words['race']}, "
        f"from {words['native-country']}, {words['marital-status']}, {words['relationship']}, "
        f"education {words['education']}, works {words['hours-per-week'].replace('hours per week ', '')} hours a week "
        f"in {words['occupation']} ({words['workclass']}), {words['capital-gain']}, {words['capital-loss']}"
    )
