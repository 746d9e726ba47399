"""Wrong conclusions from shares and proxies, put back one at a time: a check must show each of them."""

import importlib

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer, Share, estimate, verdict
from fairprobe.estimation.bounds.intervals import clopper_pearson

DOMAIN = Domain([Integer("age", 20, 59), Category("sex", ["F", "M"])], sensitive=["sex"])


def by_sex_of_the_old(frame):
    return np.where((frame["sex"] == "M") & (frame["age"] >= 50), 1, 0)


def module(name):
    """A module of `estimate`, whose package may have a function of the name."""
    return importlib.import_module(f"fairprobe.estimation.{name}")


def check_that_chance_is_no_proxy():
    """Of columns that have nothing to do with the group, hardly ever one is said to tell it."""
    called = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({f"town {place}": rng.choice(40, 200) for place in range(10)})
        X["group"] = rng.choice(list("abcde"), 200, p=[0.4, 0.2, 0.15, 0.13, 0.12])
        called += bool((proxies_alone(X) > 0.5).any())
    assert called <= 2


def proxies_alone(X):
    table = fairprobe.proxies(X, ["group"]).table
    return table.loc[table["column"] != "all together", "low"]


def what_is_tried_was_learned_from(patch):
    """Rates come from all rows, those that they are tried on among them."""
    proxies = module("proxies")
    alone = proxies._alone

    def of_all(binned, ones, is_tried):
        return alone(np.concatenate([binned, binned]), np.concatenate([ones, ones], axis=1), _twice(is_tried))

    def _twice(is_tried):
        return np.concatenate([np.zeros(len(is_tried), dtype=bool), is_tried])

    patch.setattr(proxies, "_alone", of_all)


def check_that_alike_rows_tell_little():
    """Forty groups of fifty rows, all hits in one of them: the bound allows for what so few groups can hide."""
    hits = np.zeros(2000, dtype=int)
    hits[:20] = 1
    rows = pd.DataFrame({"age": np.where(hits, 55, 30), "sex": "F"})
    share = estimate(by_sex_of_the_old, DOMAIN, rows, groups=np.arange(2000) // 50, rows_are="held-out")
    assert share.high > 0.088  # that of forty groups without a hit
    assert verdict(share, 0.05).outcome == "inconclusive"
    few = estimate(by_sex_of_the_old, DOMAIN, rows.iloc[:1000], groups=np.arange(1000) % 20, rows_are="held-out")
    assert verdict(few, 0.5).outcome == "inconclusive"


def rows_count_as_if_they_were_people(patch):
    survey = module("survey")
    clustered = survey.clustered

    def alike(hits, weights, groups, confidence):
        both = clopper_pearson(int(hits.sum()), len(hits), confidence)
        return clustered(hits, weights, groups, confidence)._replace(two_sided=both, one_sided=both)

    patch.setattr(survey, "clustered", alike)


def few_groups_pass(patch):
    has = Share.has
    patch.setattr(Share, "has", lambda share, check: check != "few-groups" and has(share, check))


def check_that_weight_is_compared():
    rows = pd.DataFrame({"age": 30, "sex": ["F", "M"] * 100})
    rows.loc[0, "sex"] = None
    weights = np.ones(200)
    weights[0] = 1800
    share = estimate(by_sex_of_the_old, DOMAIN, rows, sample_weight=weights, rows_are="held-out")
    assert verdict(share, 0.05).outcome == "inconclusive"


def rows_are_compared_not_weight(patch):
    def by_rows(share):
        return share.n / (share.n + share.n_not_comparable + share.n_left_out)

    patch.setattr(Share, "comparable", property(by_rows))


def check_that_rows_are_counted():
    rows = pd.DataFrame({"age": 55, "sex": ["F", "M"] * 10}, index=[7] * 20)
    done = fairprobe.audit(
        by_sex_of_the_old, rows, domain=DOMAIN, populations=["rows"], selfcheck=False, search_cases=2, max_inputs=50
    )
    assert done.content["rows"]["n_flipped"] == 20
    share = estimate(by_sex_of_the_old, DOMAIN, rows)
    assert len(set(share.record.rows.places[share.record.hits])) == 20


def labels_are_counted(patch):
    survey = module("survey")
    answers = survey.RowAnswers

    def by_label(index, places, *others):
        return answers(index, index.to_numpy(), *others)

    by_label.joined = answers.joined
    patch.setattr(survey, "RowAnswers", by_label)


def check_that_nobody_is_no_group():
    rows = pd.DataFrame({"age": range(20, 60), "group": pd.Categorical(["a", "b"] * 20, categories=["a", "none", "b"])})
    domain = Domain.from_frame(rows, sensitive=["group"])
    assert estimate(lambda frame: (frame["group"].astype(object) == "none").astype(int), domain, rows).hits == 0


def all_categories_are_compared(patch):
    infer = importlib.import_module("fairprobe.domain.infer")
    patch.setattr(infer, "only_seen", lambda frame, parameters, sensitive: dict(sensitive))


MUTATIONS = [
    (what_is_tried_was_learned_from, check_that_chance_is_no_proxy),
    (rows_count_as_if_they_were_people, check_that_alike_rows_tell_little),
    (few_groups_pass, check_that_alike_rows_tell_little),
    (rows_are_compared_not_weight, check_that_weight_is_compared),
    (labels_are_counted, check_that_rows_are_counted),
    (all_categories_are_compared, check_that_nobody_is_no_group),
]


@pytest.mark.parametrize(("put_back", "check"), MUTATIONS, ids=[put_back.__name__ for put_back, _ in MUTATIONS])
def test_statistics_is_caught(put_back, check, is_caught):
    is_caught(check, put_back)
