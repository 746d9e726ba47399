"""Random parameters, domains and inputs for Hypothesis."""

import itertools

import numpy as np
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Ordinal, Real

WORDS = st.text(max_size=6)


@st.composite
def moves(draw):
    """Some moves up and some down, in any order, as few or as wide as you like."""
    down = draw(st.lists(st.integers(-12, -1), min_size=1, max_size=3, unique=True))
    up = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True))
    return tuple(draw(st.permutations(down + up)))


def _optional_moves(draw, simple):
    return (-1, 1) if simple or draw(st.booleans()) else draw(moves())


@st.composite
def integers(draw, name="x", min_levels=1, max_levels=40, simple=False):
    missing = draw(st.booleans())
    step = draw(st.integers(1, 5))
    n = draw(st.integers(min_levels, max_levels))
    kinds = ["float64", "Int64", "Float64"] if missing else ["int64", "Int64", "float64", "int32", "uint8", "int8"]
    dtype = draw(st.sampled_from(kinds))
    span = (n - 1) * step
    bounds = {"int8": (-128, 127), "uint8": (0, 255)}.get(dtype, (-(10**6), 10**6))
    if span > bounds[1] - bounds[0]:
        dtype, bounds = "int64" if not missing else "float64", (-(10**6), 10**6)
    low = draw(st.integers(bounds[0], bounds[1] - span))
    extra = draw(st.integers(0, min(step - 1, bounds[1] - low - span)))
    return Integer(
        name, low, low + span + extra, step, missing=missing, dtype=dtype, moves=_optional_moves(draw, simple)
    )


@st.composite
def reals(draw, name="x", min_levels=1, max_levels=40, simple=False):
    missing = draw(st.booleans())
    step = draw(st.sampled_from([0.1, 0.25, 0.01, 0.5, 1 / 3, 1e-3, 2.5, 10.0, 1e-6]))
    low = draw(st.integers(-1000, 1000)) * draw(st.sampled_from([step, 0.1, 1.0]))
    n = draw(st.integers(min_levels, max_levels))
    dtype = draw(st.sampled_from(["float64", "Float64"]))
    high = low + (n - 1) * step + step / 100  # rounding must not lose the last step: test_real_grid.py looks at that
    return Real(name, low, high, step, missing=missing, dtype=dtype, moves=_optional_moves(draw, simple))


FINITE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x + 0.0)  # no negative zero

VALUES = {
    "words": (WORDS, ["str", "object", "category"], ["str", "object", "category"]),
    "whole": (st.integers(-(10**9), 10**9), ["int64", "Int64", "category", "object"], ["float64", "Int64", "category"]),
    "small": (st.integers(-128, 127), ["int8", "int16"], ["Int8"]),
    "fractions": (FINITE, ["float64", "Float64", "category"], ["float64", "Float64", "category"]),
    "truth": (st.booleans(), ["bool", "boolean", "category", "object"], ["boolean", "object", "category"]),
    "mixed": (st.one_of(WORDS, st.integers(2, 99), FINITE.filter(lambda x: x != int(x))), ["object"], ["object"]),
}


@st.composite
def listed(draw, name="x", min_levels=1, max_levels=12, simple=False):
    values, dtypes, dtypes_missing = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    missing = draw(st.booleans())
    most = 2 if values is VALUES["truth"][0] else max_levels
    chosen = draw(st.lists(values, min_size=min(min_levels, most), max_size=most, unique=True))
    dtype = draw(st.sampled_from(dtypes_missing if missing else dtypes))
    kind = draw(st.sampled_from([Category, Ordinal]))
    n_levels = len(chosen) + missing
    step = _optional_moves(draw, simple)
    if kind is Category and any(move % n_levels == 0 for move in step):
        step = (-1, 1)
    return kind(name, tuple(chosen), missing=missing, dtype=dtype, moves=step)


def parameters(name="x", min_levels=1, max_levels=40, simple=False):
    few = min(max_levels, 12)
    return st.one_of(
        integers(name, min_levels, max_levels, simple),
        reals(name, min_levels, max_levels, simple),
        listed(name, min_levels, few, simple),
    )


def numeric_parameters(name="x", min_levels=1, max_levels=40, simple=False):
    return parameters(name, min_levels, max_levels, simple).filter(lambda p: p.is_numeric)


@st.composite
def domains(draw, kinds=parameters, max_parameters=5, max_levels=40, n_sensitive=(1, 2), simple=False):
    """Domains of any kinds of parameters, the sensitive ones with a few values each."""
    n_sensitive = draw(st.integers(*n_sensitive))
    n_free = draw(st.integers(0 if simple else 1, max_parameters))
    sensitive = [draw(kinds(f"s{i}", 2, 4, True)) for i in range(n_sensitive)]
    free = [draw(kinds(f"x{i}", 1, max_levels, simple)) for i in range(n_free)]
    order = draw(st.permutations(sensitive + free))
    names = [p.name for p in draw(st.permutations(sensitive))]
    return Domain(order, sensitive=names)


@st.composite
def inputs(draw, domain, min_size=1, max_size=30):
    n = draw(st.integers(min_size, max_size))
    return domain.sample_codes(n, np.random.default_rng(draw(st.integers(0, 2**32))))


def every_input(domain):
    """All inputs of a small domain as codes, in domain order."""
    return np.array(list(itertools.product(*(range(p.levels) for p in domain.parameters))), dtype=np.int64)
