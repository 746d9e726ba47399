"""What every function says of the same mistake, in the same words."""

import pickle

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.errors import InputError, SettingError
from fairprobe.estimation import causal_score, causal_search
from fairprobe.oracle import checked_threshold

X = pd.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]})
DOMAIN = Domain([Integer("age", 20, 40), Category("sex", ["f", "m"])], sensitive=["sex"])


def model(frame):
    return np.zeros(len(frame), dtype=int)


@pytest.mark.parametrize(
    "call",
    [
        lambda domain: fairprobe.search(model, domain),
        lambda domain: fairprobe.estimate(model, domain),
        lambda domain: fairprobe.breakdown(model, domain),
        lambda domain: fairprobe.compare(model, model, domain),
        lambda domain: causal_score(model, domain),
        lambda domain: causal_search(model, domain, min_share=0.1),
        lambda domain: fairprobe.retrain(model, X, [0, 1, 0], domain),
    ],
)
@pytest.mark.parametrize(("given", "kind"), [(X, "DataFrame"), (["sex"], "list"), (None, "NoneType")])
def test_a_frame_where_the_domain_belongs(call, given, kind):
    with pytest.raises(SettingError, match=f"domain must be a fairprobe.Domain, got {kind}: see Domain.from_frame"):
        call(given)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: Domain(DOMAIN.parameters, sensitive=["Sex"]), "sex"),
        (lambda: Domain.from_frame(X, sensitive=["sexe"]), "sex"),
        (lambda: Domain.from_frame(X, sensitive=["sex"], parameters=[Integer("Age", 1, 2)]), "age"),
        (lambda: DOMAIN["AGE"], "age"),
        (lambda: fairprobe.search(model, DOMAIN, strategy="anchor"), "anchored"),
        (lambda: fairprobe.search(model, DOMAIN, output="labels"), "label"),
        (lambda: fairprobe.estimate(model, DOMAIN, output="Label"), "label"),
        (lambda: fairprobe.subjects.load("decision_tree"), "decision-tree"),
    ],
)
def test_the_nearest_name_is_offered(call, meant):
    with pytest.raises(InputError, match=rf": did you mean '{meant}'\?$"):
        call()


def test_a_gap_of_probabilities_is_never_above_one():
    assert checked_threshold(0.99, "proba") == 0.99
    for threshold in (1, 1.0, 10):
        with pytest.raises(SettingError, match=f"below 1 for probabilities, whose gap is 1 at most, got {threshold}"):
            checked_threshold(threshold, "proba")
    assert checked_threshold(10, "score") == 10


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fairprobe.search(model, DOMAIN, max_cases=0), "max_cases"),
        (lambda: fairprobe.search(model, DOMAIN, strategy="luck"), "strategy"),
        (lambda: fairprobe.search(model, DOMAIN, threshold=-1), "threshold"),
        (lambda: fairprobe.search(model, DOMAIN, n_jobs=0), "n_jobs"),
        (lambda: fairprobe.estimate(model, DOMAIN, width=2), "width"),
        (lambda: fairprobe.estimate(model, DOMAIN, "people"), "population"),
        (lambda: fairprobe.retrain(model, X, [0, 1, 0], DOMAIN, accept="always"), "accept"),
        (lambda: Domain([Integer("age", 20, 40)], sensitive=[]), "sensitive"),
    ],
)
def test_an_error_of_an_argument_carries_its_name_and_begins_with_it(call, argument):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    assert str(caught.value).startswith(f"{argument} must ")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.argument, str(again)) == (argument, str(caught.value))
