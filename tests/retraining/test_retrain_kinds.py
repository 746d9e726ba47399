"""Any columns, any labels, several groups: what people have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, retrain

FEW = {"n_select": 1000, "n_report": 1000}
JOBS, RACES = ["clerk", "farmer", "nurse"], ["a", "b", "c", "d", "e"]


def people(n, seed):
    """Labels by age and job, in which sex and race are as well."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "job": pd.Categorical(rng.choice(JOBS, n), categories=JOBS),
            "sex": pd.Categorical(rng.choice(["F", "M"], n), categories=["F", "M"]),
            "race": rng.choice(RACES, n, p=[0.6, 0.2, 0.1, 0.06, 0.04]),
            "owner": rng.random(n) < 0.5,
        }
    )
    score = (frame["age"] - 40) / 10 + (frame["job"] == "clerk") + rng.normal(0, 0.7, n)
    score += (frame["sex"] == "M") - 0.5 + frame["race"].isin(["d", "e"]) * 1.5
    return frame, np.where(score > 0.25, "yes", "no")


def pipeline():
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job", "sex", "race"]),
        (StandardScaler(), ["age", "owner"]),
    )
    return make_pipeline(encoded, DecisionTreeClassifier(random_state=0, min_samples_leaf=3))


def test_words_and_categories_through_a_pipeline():
    X, y = people(700, 1)
    model, domain = pipeline().fit(X, y), Domain.from_frame(X, ["sex"])
    options = {"labels": "mean", "favourable": "yes", "augment": ["flip"], "max_rounds": 1, "max_accuracy_loss": 0.1}
    result = retrain(model, X, y, domain, held_out=people(1200, 2), **options, **{**QUICK, **FEW})
    assert result.accepted
    for population in ("domain", "rows"):
        assert result.after[population].hits <= 0.1 * result.before[population].hits > 0, population
    assert set(result.model.predict(people(50, 3)[0])) == {"no", "yes"}
    assert result.favourable == "yes"
    assert result.groups.index.tolist() == ["sex=F", "sex=M"]
    assert result.model.named_steps.keys() == model.named_steps.keys()
    # Men were favoured by the labels; flipped rows take that away.
    before, after = (result.groups[f"selected_{when}"] for when in ("before", "after"))
    assert before["sex=M"] - before["sex=F"] > after["sex=M"] - after["sex=F"]


@pytest.mark.parametrize(("seed", "is_fitted_on"), [(0, False), (1, True)])
def test_a_class_so_rare_that_the_rows_fitted_on_may_lack_it(seed, is_fitted_on):
    frame, labels = people(300, 1)
    labels = np.where(np.arange(300) == 5, "rare", labels)
    domain = Domain.from_frame(frame, ["sex"])
    keeping = Keeping(pipeline())
    committee = [pipeline().fit(frame, labels), lambda batch: np.full(len(batch), "rare")]
    options = {"committee": committee, "augment": ["twins"], "max_rounds": 1, "seed": seed, "trainer": keeping}
    assert retrain(pipeline(), frame, labels, domain, **options, **{**QUICK, **FEW}).rounds
    assert ("rare" in keeping.calls[0][1]) is is_fitted_on


@pytest.mark.parametrize(("dtype", "names"), [("category", ["no", "yes"]), ("boolean", [False, True])])
def test_labels_of_any_dtype(dtype, names):
    frame, labels = people(400, 1)
    y = pd.Series(np.where(labels == "yes", names[1], names[0])).astype(dtype)
    domain = Domain.from_frame(frame, ["sex"])
    options = {"labels": "mean", "augment": ["flip"], "max_rounds": 1, "max_accuracy_loss": 0.3}
    result = retrain(pipeline(), frame, y, domain, **options, **{**QUICK, **FEW})
    assert result.accepted
    assert result.accuracy_after > 0.6
    assert set(result.model.predict(frame)) == set(names)
