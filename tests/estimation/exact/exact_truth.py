"""The truth to hold the exact counts against: every input asked about, or random ones."""

import itertools
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import bdtr, bdtrc

from chance import SURPRISING
from fairprobe import Category, Integer, Ordinal, Real
from fairprobe.model import Asker, known
from fairprobe.oracle import Oracle
from random_domains import domains

WORDS = ["red", "green", "blue", "black", "white", "grey"]


def every_family(domain):
    """One input of each family, as codes."""
    codes = np.zeros((domain.n_families, len(domain.parameters)), dtype=np.int64)
    free = list(domain.free_columns)
    codes[:, free] = list(itertools.product(*(range(domain.parameters[column].levels) for column in free)))
    return codes


def counted(model, domain):
    """The hits, and the hits by label and combination: by asking about every input."""
    judged = Oracle(Asker(model, domain)).judge(every_family(domain))
    labels, n_members = judged.outputs[:, judged.hits], len(domain.families)
    by_label = {label: ((labels == label).sum(axis=1) * n_members).tolist() for label in final(model).classes_.tolist()}
    return int(judged.hits.sum()) * n_members, by_label


class Sum:
    """A linear classifier that adds up row by row in one order, whatever the batch."""

    def __init__(self, coefficients=(2.0, 1.3, 0, 1), intercept=-4.0):
        self.coef_ = np.array([coefficients], dtype=np.float64)
        self.intercept_ = np.array([intercept])
        self.classes_ = np.array(["no", "yes"])

    def decision_function(self, X):
        total = np.full(len(X), self.intercept_[0])
        for coefficient, column in zip(self.coef_[0], X.T, strict=True):
            total = total + coefficient * column
        return total

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


HALF = settings(max_examples=settings().max_examples // 2)
"""For tests whose examples take long."""


def as_array(frame):
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


@contextmanager
def known_as(**kinds):
    """Let classes of the tests be known, as if they were scikit-learn's: by name, "module:kind"."""
    with pytest.MonkeyPatch.context() as patch:
        for name, place in kinds.items():
            module, kind = place.split(":")
            patch.setitem(known.KINDS, f"{module}:{name}", kind)
            patch.setattr(known, "PACKAGES", known.PACKAGES | {module})
        yield


def final(model):
    return model.steps[-1][1] if hasattr(model, "steps") else model


def assert_counted(solved, model, domain):
    assert hasattr(solved, "hits"), solved
    assert (solved.hits, solved.by_label) == counted(model, domain)


def assert_sampled(solved, model, domain, n=100_000, seed=0):
    """Solved, and the hits among random inputs are no surprise."""
    assert hasattr(solved, "hits"), solved
    codes = domain.sample_codes(n, np.random.default_rng(seed))
    judged = Oracle(Asker(model, domain)).judge(codes)
    hits, share = int(judged.hits.sum()), solved.hits / domain.size
    assert bdtr(hits, n, share) > SURPRISING
    assert hits == 0 or bdtrc(hits - 1, n, share) > SURPRISING
    for combination, labels in enumerate(judged.outputs):
        assert sum(counts[combination] for counts in solved.by_label.values()) == solved.hits
        for label, counts in solved.by_label.items():
            seen = int((labels[judged.hits] == label).sum())
            assert bdtr(seen, n, counts[combination] / domain.size) > SURPRISING / 10
            assert seen == 0 or bdtrc(seen - 1, n, counts[combination] / domain.size) > SURPRISING / 10


@st.composite
def plain_parameters(draw, name, min_levels, max_levels, _, missing=True, with_words=False):
    """Numbers and words as scikit-learn takes them: in the dtypes that are usual."""
    missing = missing and draw(st.booleans())
    n = draw(st.integers(min_levels, max_levels))
    if with_words and draw(st.booleans()):
        return Category(name, tuple(draw(st.permutations(WORDS))[:n]), missing=missing)
    kind = draw(st.sampled_from(["integer", "real", "fractions", "codes"]))
    if kind == "integer":
        low, step = draw(st.integers(-50, 50)), draw(st.integers(1, 3))
        return Integer(name, low, low + (n - 1) * step, step, missing=missing)
    if kind == "real":
        step = draw(st.sampled_from([0.1, 0.25, 1 / 3]))
        return Real(name, -1.0, -1.0 + (n - 1) * step, step, missing=missing)
    values = draw(st.permutations(range(n)))
    if kind == "fractions":
        return Ordinal(name, tuple(value / 7 for value in values), missing=missing)
    return Category(name, tuple(values), missing=missing)


def small_domains(**kinds):
    """Domains of up to six parameters, one or two of them sensitive, that can be enumerated."""
    return domains(partial(plain_parameters, **kinds), max_parameters=4, max_levels=6, simple=True)


def training_rows(domain, seed, n=60, n_classes=2, as_words=False):
    """Random inputs that show every level once at least, and labels that any parameter may decide."""
    rng = np.random.default_rng(seed)
    levels = domain.levels
    codes = np.concatenate([np.arange(levels.max())[:, None] % levels, domain.sample_codes(n, rng)])
    weights = rng.normal(size=len(levels)) / levels
    labels = np.digitize(codes @ weights + rng.normal(0, 0.2, len(codes)), sorted(rng.normal(0, 0.5, n_classes - 1)))
    labels[:n_classes] = np.arange(n_classes)
    y = np.array(["no", "yes", "maybe"])[labels] if as_words else labels
    return domain.decode(codes), y
