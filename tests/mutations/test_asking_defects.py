"""Defects of who is asked, and of who is told from whom, put back one at a time: what a user sees shows each."""

import hashlib
import tempfile
import types
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Domain, Integer
from fairprobe.errors import SettingError
from fairprobe.estimation import populations, share
from fairprobe.estimation.verdict import verdict
from fairprobe.model.asking import Asker
from fairprobe.replaying import CaseStatus, replay
from fairprobe.searching import searching
from fairprobe.store import digests

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 1, 9999), Integer("sex", 0, 1)], sensitive=["sex"])


def is_taken_up(first, second):
    """Whether a run that was begun with one model goes on with another."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fairprobe.search(first, DOMAIN, store=f"{folder}/run", max_inputs=500)
        try:
            fairprobe.search(second, DOMAIN, store=f"{folder}/run", max_inputs=500)
        except SettingError:
            return False
        return True


def above(cut):
    """Models of which no canary shows a difference."""
    return lambda X: (X[:, 0] > 50) ^ ((X[:, 1] == 7) & (X[:, 0] > cut))


def models_are_told_apart():
    assert is_taken_up(above(20), above(20))
    assert not is_taken_up(above(20), above(30))


def by_code(model):
    assert isinstance(model, types.FunctionType)
    return hashlib.sha256(model.__code__.co_code + repr(model.__code__.co_names).encode()).hexdigest()


def what_cannot_be_told_matches_nothing():
    with tempfile.TemporaryFile() as file:
        model = lambda X: (X[:, 0] > 50) & bool(file)  # noqa: E731
        assert not is_taken_up(model, model)


@pytest.mark.parametrize(
    ("check", "fingerprint"),
    [(models_are_told_apart, by_code), (what_cannot_be_told_matches_nothing, lambda model: None)],
    ids=["by code alone", "of nothing"],
)
def test_a_fingerprint_that_two_models_share_is_caught(is_caught, check, fingerprint):
    is_caught(check, digests, "fingerprint", fingerprint, errors=(AssertionError, AttributeError))


class Remembering:
    """A coin behind a cache, as a service is: it repeats itself unless it is asked afresh."""

    def __init__(self):
        self.rng, self.known, self.is_afresh = np.random.default_rng(0), {}, False

    def __call__(self, X):
        said = self.rng.integers(0, 2, len(X))
        if self.is_afresh:
            return said
        return np.array([self.known.setdefault(tuple(row), each) for row, each in zip(X.tolist(), said, strict=True)])


def nothing_is_said_of_a_coin(afresh):
    model, cases = Remembering(), DOMAIN.sample(40, seed=0)

    class Afresh:
        def __enter__(self):
            model.is_afresh = True

        def __exit__(self, *_):
            model.is_afresh = False

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(Asker, "afresh", lambda self: Afresh() if afresh else nullcontext())
        replayed = replay(cases, model, DOMAIN)
        why = fairprobe.explain(cases, model, domain=DOMAIN, max_queries=5000)
    assert replayed.n(CaseStatus.HOLDS) == replayed.n(CaseStatus.FIXED) == 0
    assert "stochastic-model" in dict(replayed.health)
    assert "stochastic-model" in dict(why.health)


def test_a_cache_that_is_trusted_is_caught():
    nothing_is_said_of_a_coin(afresh=True)
    with pytest.raises(AssertionError):
        nothing_is_said_of_a_coin(afresh=False)


def ranked(X):
    return pd.Series(X[:, 0]).rank(pct=True).to_numpy() > 0.8


def nothing_passes_that_depends_on_its_batch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = fairprobe.estimate(ranked, DOMAIN, DOMAIN.sample(300, seed=1), rows_are="held-out")
        found = fairprobe.search(ranked, DOMAIN, max_inputs=500)
    assert verdict(told, 0.5).outcome == "inconclusive"
    assert "batch-dependent-model" in dict(found.health)


def nobody_looks_into_batches(patch):
    for module in (populations, searching):
        patch.setattr(module, "unsteadiness", lambda asker, limit=None, rows=None: ())


def no_verdict_heeds_it(patch):
    patch.delitem(share.UNSTEADY, "batch-dependent-model")


@pytest.mark.parametrize("put_back", [nobody_looks_into_batches, no_verdict_heeds_it])
def test_a_model_that_depends_on_its_batch_and_passes_is_caught(is_caught, put_back):
    is_caught(nothing_passes_that_depends_on_its_batch, put_back)
