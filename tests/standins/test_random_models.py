"""Stand-ins on random domains: any kind of numeric parameter, any model."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made import OTHERS, TREES, TWO_CLASSES, check, fitted

from random_domains import domains, integers, numeric_parameters, reals


def plain_parameters(*args):
    return numeric_parameters(*args).filter(lambda p: not p.missing)


def modest_parameters(*args):
    """Numbers small enough for gradients."""
    kinds = st.one_of(integers(*args), reals(*args))
    return kinds.filter(lambda p: not p.missing and np.abs(p.numbers(np.array([0, p.levels - 1]))).max() < 1000)


@given(domains(plain_parameters, n_sensitive=(1, 3)), st.sampled_from(sorted(TREES)), st.data())
def test_trees(domain, name, data):
    n_classes = data.draw(st.sampled_from([2, 2, 3]))
    model = fitted(TREES[name](), domain, data.draw(st.booleans()), n_classes=n_classes, n=60, seed=data.draw(SEEDS))
    check(model, domain, n=60, seed=data.draw(SEEDS))


@given(domains(modest_parameters, n_sensitive=(1, 3)), st.sampled_from(sorted({**OTHERS, **TWO_CLASSES})), st.data())
def test_others(domain, name, data):
    n_classes = 2 if name in TWO_CLASSES else data.draw(st.sampled_from([2, 2, 3]))
    make = {**OTHERS, **TWO_CLASSES}[name]
    model = fitted(make(), domain, data.draw(st.booleans()), n_classes=n_classes, n=60, seed=data.draw(SEEDS))
    check(model, domain, n=60, seed=data.draw(SEEDS))


SEEDS = st.integers(0, 2**32 - 1)
