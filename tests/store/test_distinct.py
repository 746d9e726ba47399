"""Distinctness: keys tell families apart, whatever the size of the domain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe import Domain, Integer
from fairprobe.store import Coverage, Distinct, Keys, distinct
from random_domains import domains, inputs


def family(domain, row):
    return tuple(int(row[column]) for column in domain.free_columns)


@st.composite
def huge_domains(draw):
    """Up to twelve wide parameters: past 2^63, past 2^126, past 2^400."""
    n = draw(st.integers(1, 12))
    widths = draw(st.lists(st.sampled_from([2, 3, 1000, 2**31, 10**9, 10**12]), min_size=n, max_size=n))
    parameters = [Integer(f"x{i}", 0, width - 1) for i, width in enumerate(widths)]
    sensitive = [Integer("s", 0, 2), Integer("t", 0, 1)]
    return Domain(draw(st.permutations(parameters + sensitive)), sensitive=["t", "s"])


def neighbours(domain, codes, seed):
    """The inputs again, with one cell changed a little or moved to an end: where careless keys collide."""
    rng = np.random.default_rng(seed)
    out = [codes]
    for _ in range(4):
        other = codes.copy()
        column = rng.integers(0, codes.shape[1])
        other[:, column] = rng.choice([0, domain.levels[column] - 1, min(1, domain.levels[column] - 1)])
        out.append(other)
    return np.concatenate(out)


@given(st.data(), st.one_of(domains(), huge_domains()), st.integers(0, 999))
def test_keys_are_equal_for_the_same_family_only(data, domain, seed):
    codes = neighbours(domain, data.draw(inputs(domain, max_size=20)), seed)
    keys = Keys(domain).of(codes)
    assert keys.dtype == np.int64
    by_key, by_family = {}, {}
    for row, key in zip(codes, map(tuple, keys.tolist()), strict=True):
        by_key.setdefault(key, set()).add(family(domain, row))
        by_family.setdefault(family(domain, row), set()).add(key)
    assert all(len(families) == 1 for families in by_key.values())
    assert all(len(keys) == 1 for keys in by_family.values())


@given(st.data(), st.integers(1, 3), st.sampled_from([0, 6, 10_000]))
def test_distinct_is_a_set(data, n_words, small):
    """With blocks from the first key on, with some, and with none."""
    rows = st.tuples(*[st.integers(0, 4)] * n_words)
    batches = data.draw(st.lists(st.lists(rows, max_size=15), max_size=6))
    growing, seen = Distinct(n_words), set()
    for batch in batches:
        copy, n_before = growing.copy(), len(growing)
        expected = []
        for key in batch:
            expected.append(key not in seen)
            seen.add(key)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distinct, "SMALL", small)
            new = growing.add(np.array(batch, dtype=np.int64).reshape(-1, n_words))
        assert np.asarray(new).tolist() == expected
        assert len(growing) == len(seen)
        assert len(copy) == n_before


@given(st.data(), domains(max_parameters=3, max_levels=6))
def test_coverage_is_a_set(data, domain):
    coverage, keys = Coverage.of(domain), Keys(domain)
    seen = set()
    for _ in range(4):
        codes = data.draw(inputs(domain))
        copy = coverage.copy()
        new = []
        for position, row in enumerate(codes):
            if family(domain, row) not in seen:
                new.append(position)
                seen.add(family(domain, row))
        assert np.asarray(coverage.add(keys.of(codes))).tolist() == new
        assert coverage.left == domain.n_families - len(seen)
        assert copy.left == coverage.left + len(new)


@pytest.mark.parametrize("n_mixes", [1, 50, 10**9])
def test_keys_that_share_their_mix_stay_apart(monkeypatch, n_mixes):
    real = distinct.mixed
    monkeypatch.setattr(distinct, "mixed", lambda words: real(words) % n_mixes)
    monkeypatch.setattr(distinct, "SMALL", 20)
    rng, seen, held = np.random.default_rng(0), Distinct(2), set()
    for _ in range(30):
        words = rng.integers(0, 12, size=(40, 2))
        for key, is_new in zip(map(tuple, words.tolist()), seen.add(words).tolist(), strict=True):
            assert is_new == (key not in held)
            held.add(key)
    assert len(seen) == len(held)
