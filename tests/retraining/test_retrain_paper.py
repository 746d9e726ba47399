"""With single cases and a vote, `retrain` is the paper's Algorithm 5, row by row; only acceptance is stricter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from reference_retrain import Reference
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, retrain
from random_domains import every_input

SIDE = 40
DOMAIN = Domain([Integer("x", 0, SIDE - 1), Integer("z", 0, SIDE - 1), Integer("sex", 0, 1)], ["sex"])
GROUPS = Domain([*DOMAIN.parameters, Integer("race", 0, 2)], ["race", "sex"])


def rows(n, seed, domain):
    """Men are favoured by 8 points of 80, races by 3."""
    rng = np.random.default_rng(seed)
    frame = domain.sample(n, seed=seed)
    score = frame["x"] + frame["z"] + 8 * frame["sex"] + (3 * frame["race"] if "race" in frame else 0)
    return frame, np.where((score >= SIDE + 4) ^ (rng.random(n) < 0.05), "yes", "no")


def every_case(model, domain, seed):
    """All families that the model treats apart, each by one member, in a random order."""
    everyone = domain.decode(every_input(domain)).assign(label=lambda frame: model.predict(frame))
    shuffled = everyone.sample(frac=1, random_state=seed)
    names = [name for name in domain.names if name not in domain.sensitive]
    apart = shuffled.groupby(names)["label"].transform("nunique") > 1
    return shuffled[apart].drop_duplicates(names)[list(domain.names)].reset_index(drop=True)


def settings(estimator, domain, seed):
    X, y = rows(500, 1, domain)
    model = estimator.fit(X, y)
    alike = X.assign(**dict.fromkeys(domain.sensitive, 0))
    committee = [
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(alike, y),
        LogisticRegression().fit(alike, y),
        GaussianNB().fit(X, y),
        DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y),  # four: ties go to the commoner label
    ]
    cases = every_case(model, domain, seed)
    return {
        "model": model, "X": X, "y": y, "domain": domain, "cases": cases, "committee": committee,
        "held_out": rows(1600, 2, domain), "seed": seed, "n_select": 3000, "max_accuracy_loss": 0.2,
    }  # fmt: skip


def check(estimator, domain, seed, **options):
    """Both on the same draws; gives which rounds were accepted."""
    given = {**settings(estimator, domain, seed), **options}
    reference = Reference(**given)
    expected = reference.run()
    keeping = Keeping(estimator)
    given.pop("n_select")
    result = retrain(
        given.pop("model"), given.pop("X"), given.pop("y"), given.pop("domain"), augment="case", labels="vote",
        trainer=keeping, **given, **{**QUICK, "n_select": 3000, "n_report": 100},
    )  # fmt: skip
    assert [each.recipe.percent for each in result.rounds] == reference.percents
    assert [each.accepted for each in result.rounds] == reference.accepted
    assert len(keeping.calls) == len(reference.fitted)
    for (frame, labels, _), (td_new, y_new) in zip(keeping.calls, reference.fitted, strict=True):
        pd.testing.assert_frame_equal(frame, td_new)
        np.testing.assert_array_equal(labels, y_new)
    everyone = domain.decode(every_input(domain))
    np.testing.assert_array_equal(result.model.predict(everyone), expected.predict(everyone))
    assert result.accepted == any(reference.accepted)
    return reference.accepted


TREE = DecisionTreeClassifier(random_state=0, min_samples_leaf=5)


@pytest.mark.parametrize(
    ("estimator", "domain", "seed", "options", "n_accepted"),
    [
        (TREE, DOMAIN, 10, {}, 0),
        (TREE, DOMAIN, 13, {}, 2),
        (TREE, GROUPS, 6, {}, 1),
        (TREE, DOMAIN, 6, {"accept": "paper", "max_accuracy_loss": 1.0}, 2),
        (TREE, DOMAIN, 6, {"accept": "paper", "max_accuracy_loss": 0.0}, 1),
    ],
)
def test_row_by_row(estimator, domain, seed, options, n_accepted):
    assert sum(check(estimator, domain, seed, **{"confidence": 0.8, **options})) == n_accepted
