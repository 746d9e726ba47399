"""Fit, select and report: no row is two of these, and each is like the whole."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer
from fairprobe.retraining.parts import checked_rows, split

DOMAIN = Domain(
    [Integer("number", 0, 10**6), Category("sex", ["F", "M"]), Integer("race", 0, 4)], sensitive=["race", "sex"]
)
SHARES = {"fit": 0.7, "select": 0.15, "report": 0.15}
FEW = 3.5
"""Rows by which a part may differ from its share of a stratum, with up to 2,000 rows; a random draw errs by 20."""


def make(n, seed, classes=("no", "yes")):
    """Rows that can be told apart by number; some sexes are unknown, some races are none of the domain's."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.permutation(10**5)[:n],
            "sex": rng.choice(["F", "M", None], n, p=[0.3, 0.65, 0.05]),
            "race": rng.choice(7, n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]),
        },
        index=rng.permutation(n) + 1000,
    )
    return frame, rng.choice(list(classes), n, p=rng.dirichlet(np.full(len(classes), 5.0)))


def split_of(frame, labels, seed, held_out=None, weights=None):
    given = checked_rows(DOMAIN, frame, labels, weights)
    unseen = None if held_out is None else checked_rows(DOMAIN, *held_out)
    return split(given, unseen, np.random.default_rng(seed))


def stratum_sizes(table):
    races = table["race"].where(table["race"] < 5, -1)
    return table.assign(race=races, sex=table["sex"].fillna("unknown")).groupby(["label", "sex", "race"]).size()


def numbers(rows):
    return rows.frame["number"].tolist()


@settings(max_examples=12)
@given(st.integers(150, 2000), st.integers(0, 2**32), st.sampled_from([("no", "yes"), (0, 1, 2)]))
def test_parts_are_disjoint_complete_and_in_proportion(n, seed, classes):
    frame, labels = make(n, seed, classes)
    parts = split_of(frame, labels, seed, weights=frame["number"] + 1)
    every = numbers(parts.fit) + numbers(parts.select) + numbers(parts.report)
    assert sorted(every) == sorted(frame["number"])
    whole = frame.assign(label=labels).set_index("number")
    strata = stratum_sizes(whole)
    for name, share in SHARES.items():
        part = getattr(parts, name)
        own = whole.loc[numbers(part)]
        assert part.frame.index.equals(pd.RangeIndex(len(part)))
        assert numbers(part) == frame["number"][frame["number"].isin(own.index)].tolist(), "in their order"
        np.testing.assert_array_equal(part.labels, own["label"])
        np.testing.assert_array_equal(part.weights, part.frame["number"] + 1)
        assert part.frame["sex"].fillna("unknown").tolist() == own["sex"].fillna("unknown").tolist()
        counts = stratum_sizes(own).reindex(strata.index, fill_value=0)
        assert (counts - share * strata).abs().max() <= FEW


@settings(max_examples=12)
@given(st.integers(40, 800), st.integers(0, 2**32))
def test_what_is_held_out_is_halved(n, seed):
    frame, labels = make(40, seed)
    unseen = make(n, seed + 1)
    parts = split_of(frame, labels, seed, held_out=unseen)
    assert numbers(parts.fit) == frame["number"].tolist()
    assert sorted(numbers(parts.select) + numbers(parts.report)) == sorted(unseen[0]["number"])
    assert abs(len(parts.select) - len(parts.report)) <= 2 * FEW
