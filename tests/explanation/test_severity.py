from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.label_worlds import made_evidence as evidence_of
from fairprobe import Density, Domain, Integer
from fairprobe.explanation.influence import severity_of
from fairprobe.testing import CountingModel, loans, never, pair, proba, score


@pytest.fixture(scope="module")
def fitted():
    domain = Domain([Integer("x", 0, 99), Integer("y", 0, 9), Integer("group", 0, 1)], sensitive=["group"])
    rows = domain.sample(3000, seed=0)
    labels = (rows["x"] + 20 * rows["group"] + 2 * rows["y"] > 60).astype(int)
    return domain, rows, labels


def test_labels_are_told_apart_by_probabilities(fitted):
    domain, rows, labels = fitted
    model = CountingModel(LogisticRegression(max_iter=1000).fit(rows, labels))
    evidence = evidence_of(model, domain, n=3000)
    before = model.n_rows
    severity = severity_of(evidence)
    assert severity.measure == "proba"
    assert severity.n_queries == model.n_rows - before == 2 * evidence.n_cases
    assert evidence.n_queries == severity.n_queries
    frame = domain.decode(evidence.cases.codes)
    expected = [model.model.predict_proba(frame.assign(group=group))[:, 1] for group in (0, 1)]
    assert np.allclose(severity.gaps, np.abs(expected[1] - expected[0]))
    assert severity.quantiles[0.5] == np.median(severity.gaps)
    assert severity.ranking["severity"].is_monotonic_decreasing
    assert (severity.ranking["plausibility"] == 1).all()
    assert np.array_equal(severity.gaps[severity.ranking["place"]], severity.ranking["severity"])
    json.dumps(severity.jsonable(), allow_nan=False)
    assert "apart in the median case" in repr(severity)


def test_or_by_scores_and_a_density_weighs_them(fitted):
    domain, rows, labels = fitted
    model = LinearSVC(dual=False).fit(rows, labels)
    density = Density.fit(domain, rows[rows["y"] < 3])
    evidence = evidence_of(model, domain, codes=domain.sample_codes(2000, np.random.default_rng(0)), density=density)
    severity = severity_of(evidence)
    assert severity.measure == "score"
    assert np.allclose(severity.gaps, abs(model.coef_[0, -1]))
    assert np.allclose(severity.ranking["product"], severity.ranking["severity"] * severity.ranking["plausibility"])
    assert severity.ranking["product"].is_monotonic_decreasing
    first = evidence.cases.codes[severity.ranking["place"].iloc[:50]]
    assert (first[:, 1] < 3).all()


@pytest.mark.parametrize("toy", [score(), proba(), pair()], ids=["score", "proba", "pair"])
def test_where_the_output_is_a_number_its_gap_is_the_severity(toy):
    evidence = evidence_of(toy.model, toy.domain, **toy.settings)
    severity = severity_of(evidence)
    assert severity.measure == toy.settings["output"]
    assert severity.n_queries == 0
    assert np.array_equal(severity.gaps, evidence.cases.gaps)
    same = severity.ranking.groupby("product", sort=False)["place"]
    assert same.apply(lambda places: places.is_monotonic_increasing).all()  # those found first


def test_labels_only_and_no_case():
    toy = loans()
    severity = severity_of(evidence_of(toy.model, toy.domain))
    assert severity.measure == "label"
    assert (severity.gaps == 1).all()
    assert severity.ranking["place"].tolist() == list(range(len(severity.gaps)))
    assert "labels only" in severity.sentences()[0]
    severity = severity_of(evidence_of(never().model, never().domain))
    assert len(severity.ranking) == len(severity.gaps) == len(severity.quantiles) == 0
    assert "no case" in repr(severity)


@pytest.mark.parametrize("max_queries", [0, 1, 9, 100])
def test_a_budget_is_kept(fitted, max_queries):
    domain, rows, labels = fitted
    model = LogisticRegression(max_iter=1000).fit(rows, labels)
    severity = severity_of(evidence_of(model, domain, max_queries=max_queries))
    assert severity.n_queries == max_queries // 2 * 2
    assert np.isfinite(severity.gaps).sum() == len(severity.ranking) == max_queries // 2
    assert severity.health[0][0] == "fewer-scores"
    json.dumps(severity.jsonable(), allow_nan=False)
