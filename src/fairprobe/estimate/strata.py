"""Rare shares: strata that hold most of the cases are sampled on their own, so that far fewer inputs tell as much.

A stratum is a box: for some of the free parameters, a range (low, high) or a list of values. Boxes must not overlap;
what lies in none of them is a stratum too. Each has an exactly known part of the domain, is sampled anew, and gets
exact bounds at a part of the error that is fixed before the samples are seen. So the combined interval holds wherever
the boxes came from, a search among other things; only its width depends on how well they were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count, checked_seed, is_number
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.parameters import Category
from fairprobe.errors import SettingError
from fairprobe.estimate.bounds.intervals import checked_confidence
from fairprobe.estimate.bounds.stratified import strata_bounds
from fairprobe.estimate.favourable import favourable_of
from fairprobe.estimate.populations import Population, chunk, judged
from fairprobe.estimate.share import Share
from fairprobe.estimate.survey import Survey
from fairprobe.model import Model

if TYPE_CHECKING:
    import pandas as pd

Box = Mapping[str, Any]
"""Parameters and what they may be: (low, high), both included, or a list of values."""

BOXES_SAMPLES = 0.1
"""The part of the inputs that goes to the boxes: small, as the bound of the rest is what takes most."""

ESTIMATE_STREAM, PROPOSE_STREAM = (1937011297, 0), (1937011297, 1)
"""Keys of streams that nothing else draws from: strata proposed at a seed must not know what they are judged on."""

THINNEST = Fraction(1, 1000)
"""The smallest part of the domain that is sampled by leaving the boxes out."""


def estimate_strata(
    model: Model,
    domain: Domain,
    strata: Sequence[Box],
    *,
    n_samples: int = 400_000,
    confidence: float = 0.95,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
) -> Share:
    """Estimate a rare share of the domain, with strata that were fixed before.

    `strata` are boxes as `propose_strata` gives them; `n_samples` fresh inputs are spread over them and the rest. The
    other arguments are those of `estimate`.
    """
    checked_confidence(confidence)
    boxes, weights = _checked_boxes(checked_domain(domain), strata)
    target = Population(model, domain, "domain", threshold, output, batch)
    survey = Survey(
        target, [domain.sensitive], confidence, checked_seed(seed), favourable=favourable_of(favourable, [target])
    )
    survey.detail = f"{len(boxes)} strata and the rest"
    rng = np.random.default_rng(np.random.SeedSequence(survey.seed, spawn_key=ESTIMATE_STREAM))
    checked_count("n_samples", n_samples, at_least=len(weights))
    sizes = _allocation(list(map(float, weights)), n_samples)
    (pooled,) = survey.counts
    samplers: list[Callable[..., Codes]] = [*(box.sample for box in boxes), partial(_sample_rest, target.domain, boxes)]
    hits = []
    with target.quiet():
        for sample, size in zip(samplers, sizes, strict=True):
            before = pooled.hits
            step = chunk(target.oracle, max(1, size))
            for first in range(0, size, step):
                pooled.add(judged(target.oracle, sample(min(step, size - first), rng)))
            hits.append(pooled.hits - before)
    value, low, high = strata_bounds(weights, hits, sizes, confidence)
    _, lower, upper = strata_bounds(weights, hits, sizes, confidence, one_sided=True)
    return survey.share(pooled, "strata", (low, high), (lower, upper), value)


def propose_strata(
    domain: Domain, cases: pd.DataFrame, *, max_strata: int = 32, margin: float = 0.02, seed: int = 0
) -> list[dict[str, Any]]:
    """Boxes where cases lie close together, such as those that a search found; to be given to `estimate_strata`.

    A small decision tree tells the cases from as many uniform inputs. Each of its leaves that cases dominate becomes
    the box that just holds its cases, each side widened both ways by `margin` of it, in whole steps, but not past the
    leaf: too wide a box costs more than a few cases left to the rest.

    Args:
        domain: what an input may be.
        cases: inputs where there may be more, as `found.cases`.
        max_strata: boxes at most.
        margin: by which part a side is widened.
        seed: of the uniform inputs.
    """
    if not is_number(margin) or margin < 0:
        raise SettingError(f"margin must be a number of at least 0, got {margin!r}")
    codes = checked_domain(domain).encode(cases)
    codes = codes[(codes >= 0).all(axis=1)]
    if not len(codes):
        raise SettingError("strata are proposed from cases that lie in the domain, got none")
    free = list(domain.free_columns)
    rng = np.random.default_rng(np.random.SeedSequence(checked_seed(seed), spawn_key=PROPOSE_STREAM))
    uniform = domain.without_constraints().sample_codes(len(codes), rng)
    boxes = []
    for members, leaf in _leaves_of_cases(codes[:, free], uniform[:, free], domain.levels[free], max_strata):
        low, high = members.min(axis=0), members.max(axis=0) + 1
        more = np.floor(margin * (high - low)).astype(np.int64)
        ends = zip(np.maximum(low - more, leaf[:, 0]), np.minimum(high + more, leaf[:, 1]), strict=True)
        box: dict[str, Any] = {}
        for column, (first, end) in zip(free, ends, strict=True):
            parameter = domain.parameters[column]
            if end - first < parameter.levels:
                values = parameter.decode(np.arange(first, end))
                is_range = parameter.kind in ("integer", "real") and not parameter.missing
                box[parameter.name] = (values[0], values[-1]) if is_range else list(values)
        boxes.append(box)
    return boxes


def _leaves_of_cases(cases: Codes, uniform: Codes, levels: Codes, most: int) -> list[tuple[Codes, Codes]]:
    """The cases of each leaf that they dominate, and the leaf's bounds by column, the upper one excluded."""
    from sklearn.tree import DecisionTreeClassifier

    is_case = np.repeat([1, 0], [len(cases), len(uniform)])
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * checked_count("max_strata", most), random_state=0)
    tree.fit(np.concatenate([cases, uniform]), is_case)
    nodes = tree.tree_
    bounds = {0: np.column_stack([np.zeros_like(levels), levels])}
    for node in np.flatnonzero(nodes.children_left >= 0).tolist():
        # A parent has a lower number than its children, so its own bounds are known by now.
        for child, side in ((nodes.children_left[node], 1), (nodes.children_right[node], 0)):
            bounds[child] = bounds[node].copy()
            bounds[child][nodes.feature[node], side] = math.floor(nodes.threshold[node]) + 1
    leaf_of = tree.apply(cases)
    found = [(cases[leaf_of == leaf], bounds[leaf]) for leaf in np.unique(leaf_of) if nodes.value[leaf][0][1] > 0.5]
    return sorted(found, key=lambda pair: -len(pair[0]))[:most]


@dataclass(frozen=True)
class _Levels:
    """A box as the levels allowed of each parameter."""

    allowed: tuple[Mask, ...]

    @property
    def weight(self) -> Fraction:
        """The part of the domain that it is."""
        parts = [Fraction(int(levels.sum()), len(levels)) for levels in self.allowed]
        return math.prod(parts, start=Fraction(1))

    def sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Inputs of the box, drawn uniformly."""
        columns = [np.flatnonzero(levels) for levels in self.allowed]
        return np.column_stack([choices[rng.integers(0, len(choices), n)] for choices in columns])

    def holds(self, codes: Codes) -> Mask:
        """Which inputs lie in it."""
        inside = np.ones(len(codes), dtype=bool)
        for column, levels in enumerate(self.allowed):
            if not levels.all():
                inside &= levels[codes[:, column]]
        return inside


def _sample_rest(domain: Domain, boxes: Sequence[_Levels], n: int, rng: np.random.Generator) -> Codes:
    """Inputs that lie in none of the boxes, drawn uniformly: those of the domain, less those in a box."""
    kept: list[Codes] = []
    while sum(map(len, kept)) < n:
        codes = domain.sample_codes(n, rng)
        for box in boxes:
            codes = codes[~box.holds(codes)]
        kept.append(codes)
    return np.concatenate(kept)[:n]


def _checked_boxes(domain: Domain, strata: Sequence[Box]) -> tuple[list[_Levels], list[Fraction]]:
    """The boxes, and the part of the domain that each of them is, the rest last."""
    if isinstance(strata, (str, Mapping)) or not isinstance(strata, Sequence):
        raise SettingError(f"strata must be a list of boxes, got {strata!r}")
    boxes: list[_Levels] = []
    for box in strata:
        if not isinstance(box, Mapping):
            raise SettingError(f"a stratum is a mapping of parameters to what they may be, got {box!r}")
        unknown = [repr(name) for name in box if name not in domain.names or name in domain.sensitive]
        if unknown:
            raise SettingError(f"a stratum names parameters that are not sensitive, got {', '.join(unknown)}")
        boxes.append(_Levels(tuple(_allowed(p, box.get(p.name)) for p in domain.parameters)))
    if not boxes:
        raise SettingError("strata must hold one box at least, got none")
    for i, one in enumerate(boxes):
        for j in range(i):
            if all((mine & theirs).any() for mine, theirs in zip(one.allowed, boxes[j].allowed, strict=True)):
                raise SettingError(f"strata must not overlap, got {dict(strata[j])} and {dict(strata[i])}")
    weights = [box.weight for box in boxes]
    rest = 1 - sum(weights, Fraction(0))
    if 0 < rest < THINNEST:
        raise SettingError(
            f"strata must leave nothing of the domain or {float(THINNEST)} of it at least, got {float(rest):.2g}"
        )
    return boxes, [*weights, rest]


def _allowed(parameter: Any, values: Any) -> Mask:
    """Which levels a stratum lets in."""
    if values is None:
        return np.ones(parameter.levels, dtype=bool)
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise SettingError(f"a stratum has (low, high) or a list of values for {parameter.name!r}, got {values!r}")
    codes = parameter.encode(list(values))
    if not len(codes) or (codes < 0).any():
        raise SettingError(f"a stratum's values must lie in the domain of {parameter.name!r}, got {values!r}")
    allowed = np.zeros(parameter.levels, dtype=bool)
    if isinstance(values, tuple) and not isinstance(parameter, Category):
        if len(codes) != 2 or codes[0] > codes[1]:
            raise SettingError(f"a stratum's range is (low, high) for {parameter.name!r}, got {values!r}")
        allowed[codes[0] : codes[1] + 1] = True
    else:
        allowed[codes] = True
    return allowed


def _allocation(weights: list[float], n: int) -> list[int]:
    """How many inputs each stratum gets, the rest last.

    The boxes share a tenth of them, or their part of the domain if that is more, by weight ** (2/3): that makes the sum
    of their widths, each as weight / sqrt(n), the least.
    """
    *boxes, rest = weights
    for_boxes = n * (max(BOXES_SAMPLES, sum(boxes)) if rest else 1.0)
    parts = np.array(boxes) ** (2 / 3)
    sizes = np.maximum(1, (for_boxes * parts / parts.sum()).astype(np.int64)).tolist()
    return [*sizes, max(1, n - sum(sizes)) if rest else 0]
