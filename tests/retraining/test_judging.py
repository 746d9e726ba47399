"""Judging: the same figures as `estimate` and `compare` give."""

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, Planted, cells, settings_of

from fairprobe import Category, Domain, Integer, compare, estimate, testing
from fairprobe.retraining.judging import Assessment, assessed, by_group
from fairprobe.retraining.parts import LabelledRows

FIGURES = ("value", "low", "high", "lower", "upper", "n", "hits", "method", "population", "confidence", "seed")


def part(domain, n=150, seed=5, classes=(0, 1)):
    frame = domain.sample(n, seed=seed)
    return LabelledRows(domain, frame, np.random.default_rng(seed).choice(list(classes), n))


def limited(domain):
    """The same with a constraint, by the first parameter."""
    name = domain.names[0]
    values = domain[name].decode(np.arange(domain[name].levels))
    allowed = list(values[: len(values) // 2])
    return Domain(domain.parameters, domain.sensitive, [lambda rows: rows[name].isin(allowed)])


class Answering:
    """A toy that has labels beside its scores or probabilities."""

    def __init__(self, toy):
        self.decision_function = self.predict_proba = toy.model

    def predict(self, batch):
        return np.zeros(len(batch))


@pytest.mark.parametrize("with_constraint", [False, True])
@pytest.mark.parametrize(("name", "toy"), testing.all_toys(), ids=[name for name, _ in testing.all_toys()])
def test_shares_are_those_of_estimate(name, toy, with_constraint):
    domain = limited(toy.domain) if with_constraint else toy.domain
    own = part(domain)
    model = Answering(toy) if toy.settings else toy.model
    how = settings_of(
        threshold=toy.settings.get("threshold"), output=toy.settings.get("output", "label"), confidence=0.9
    )
    judged = assessed(model, domain, own, 3000, 11, how)
    assert list(judged.shares) == (["domain", "valid", "rows"] if with_constraint else ["domain", "rows"])
    for population, share in judged.shares.items():
        alone = estimate(
            model, domain, own.frame if population == "rows" else population, method="sample", n_experiments=3,
            seed=11, confidence=0.9, **toy.settings,
        )  # fmt: skip
        for figure in FIGURES:
            assert getattr(share, figure) == getattr(alone, figure), (population, figure)
        assert judged.hits[population].sum() == share.hits
        assert len(judged.hits[population]) == share.n


@pytest.mark.parametrize(("confidence", "with_constraint"), [(0.95, False), (0.999, True)])
def test_changes_are_those_of_compare(confidence, with_constraint):
    domain = limited(DOMAIN) if with_constraint else DOMAIN
    own = part(domain, 400)
    models = Planted(cells(0, 60)), Planted(cells(30, 70))
    before, after = (assessed(model, domain, own, 2500, 4, settings_of()) for model in models)
    for population, change in before.against(after, confidence).items():
        asked = own.frame if population == "rows" else population
        alone = compare(*models, domain, asked, n_experiments=1, n_samples=2500, seed=4, confidence=confidence)
        for figure in ("difference", "low", "high", "p_value", "only_a", "only_b", "n"):
            assert getattr(change, figure) == getattr(alone, figure), (population, figure)
        assert (change.a.hits, change.b.hits) == (alone.a.hits, alone.b.hits)


def test_groups_against_a_plain_computation():
    domain = Domain([Integer("x", 0, 9), Category("sex", ["F", "M"]), Integer("race", 0, 4)], ["race", "sex"])
    rng = np.random.default_rng(2)
    frame = domain.sample(200, seed=2)
    frame.loc[:5, "race"] = 77  # no group of the domain's
    frame.loc[frame["race"] == 3, "race"] = 2  # nobody of race 3
    labels = rng.choice(["no", "yes"], 200)
    answers = {when: rng.choice(["no", "yes"], 200) for when in ("before", "after")}
    judged = {when: Assessment({}, {}, answer, labels) for when, answer in answers.items()}
    table = by_group(LabelledRows(domain, frame, labels), judged, "yes")
    plain = frame.assign(label=labels, **answers)
    plain = plain[plain["race"] < 5]
    expected = {}
    for (race, sex), group in plain.groupby(["race", "sex"]):
        expected[f"race={race}, sex={sex}"] = {
            "n": len(group),
            "accuracy_before": (group["before"] == group["label"]).mean(),
            "selected_before": (group["before"] == "yes").mean(),
            "accuracy_after": (group["after"] == group["label"]).mean(),
            "selected_after": (group["after"] == "yes").mean(),
        }
    pd.testing.assert_frame_equal(
        table, pd.DataFrame(expected).T.astype({"n": int}).rename_axis("group"), check_column_type=False
    )
    assert len(table) == 8
