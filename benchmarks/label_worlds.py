"""Training data whose labels are known to differ in a region or not, and models that were fitted to them.

In each world a region is drawn by the seed, and with it who is worse off there. `verdict` says what `region_in_data`
makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairprobe import Category, Density, Domain, Integer
from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.constraints import Rule
from fairprobe.explanation.evidence import Budget, DrawnFrom, Evidence, favourable_among, given_rows
from fairprobe.explanation.training_data import InData, region_in_data
from fairprobe.model.asking import Asker
from fairprobe.oracle import Judgement, Oracle

N_ROWS = 3000
SIDE = 10
JOBS = ("clerk", "farmer", "nurse", "smith")
DOMAIN = Domain(
    [
        Integer("x", 0, SIDE - 1),
        Integer("z", 0, SIDE - 1),
        Category("job", JOBS),
        Category("sex", ["Female", "Male"]),
    ],
    sensitive=["sex"],
)


@dataclass(frozen=True)
class World:
    """Rows, their labels, and the region that it is about."""

    rows: pd.DataFrame
    labels: Any
    rule: Rule
    model: Any


def biased_labels(seed: int) -> World:
    """Inside the region one sex gets the good label four times in five, the other one in five; elsewhere alike."""
    rng = np.random.default_rng([1, seed])
    rows = _drawn(rng)
    rule, inside = _box(rng, rows)
    better = rng.choice(["Female", "Male"])
    chance = np.where(inside, np.where(rows["sex"] == better, 0.8, 0.2), _alike(rows))
    labels = _labelled(rng, chance)
    return World(rows, labels, rule, _fitted(rows, labels, seed))


def empty_region(seed: int) -> World:
    """Nobody, of one sex or of both, but for a stray row or two, was seen where the model goes on as it did before."""
    rng = np.random.default_rng([2, seed])
    rows = _drawn(rng)
    first = int(rng.integers(6, 9))
    better = rng.choice(["Female", "Male"])
    inside = np.asarray(rows["x"] >= first)
    absent = inside & ((rows["sex"] != better) | (seed % 2 == 0)).to_numpy()
    stray = rng.choice(np.flatnonzero(absent), int(rng.integers(0, 3)), replace=False)
    absent[stray] = False
    rows = rows[~absent].reset_index(drop=True)
    # Beside the region the labels do differ, and nothing tells a model that this ends there.
    beside = np.asarray(rows["x"] >= first - 3)
    chance = np.where(beside, np.where(rows["sex"] == better, 0.9, 0.1), 0.1)
    labels = _labelled(rng, chance)
    return World(rows, labels, Rule(f"x >= {first}"), _fitted(rows, labels, seed))


def model_alone(seed: int) -> World:
    """The labels do not differ anywhere; the model treats one sex apart inside the region all the same."""
    rng = np.random.default_rng([3, seed])
    rows = _drawn(rng)
    rule, _ = _box(rng, rows)
    worse = rng.choice(["Female", "Male"])

    def model(batch: pd.DataFrame) -> Any:
        return np.where(rule.matches(batch) & (batch["sex"] == worse), "no", "yes")

    return World(rows, _labelled(rng, _alike(rows)), rule, model)


WORLDS = {
    InData.IN_THE_DATA: biased_labels,
    InData.EXTRAPOLATED: empty_region,
    InData.NOT_IN_THE_DATA: model_alone,
}
"""By what should be said of it."""


def verdict(world: World, n_regions: int = 5) -> InData | None:
    """The verdict on a world's region, as one of several."""
    evidence = made_evidence(world.model, DOMAIN, world.rows, world.labels, favourable="yes")
    found = region_in_data(world.rule, evidence, n_regions=n_regions)
    assert found is not None
    return found.verdict


def made_evidence(
    model: Any,
    domain: Domain,
    rows: pd.DataFrame | None = None,
    labels: Any = None,
    *,
    codes: Codes | None = None,
    n: int = 4000,
    favourable: Any = None,
    output: str = "label",
    threshold: float | None = None,
    density: Density | None = None,
    max_queries: int = 10**9,
    batch: str | None = None,
    seed: int = 0,
) -> Evidence:
    """The evidence of an explanation; its cases are those among some inputs, or among `n` inputs that are drawn."""
    oracle = Oracle(Asker(model, domain, output=output, batch=batch), threshold)
    name = "density" if density is not None else "valid" if domain.is_restricted else "domain"
    population = DrawnFrom(name, domain, density)
    codes = population.sample(n, np.random.default_rng(seed)) if codes is None else codes
    judgement = oracle.judge_batches(codes)
    cases = judgement.take(np.flatnonzero(judgement.hits))
    oracle.asker.n_queries = 0
    evidence = Evidence(
        model=model,
        domain=domain,
        oracle=oracle,
        budget=Budget(oracle, max_queries),
        cases=cases,
        index=pd.RangeIndex(len(cases.codes)),
        numbers=np.arange(len(cases.codes)),
        population=population,
        density=density,
        rows=given_rows(domain, rows, labels),
        seed=seed,
    )
    return replace(evidence, favourable=favourable_among(favourable, evidence, cases))


def sampled_of(evidence: Evidence, n: int, seed: int = 0) -> Judgement:
    """A judgement of fresh inputs of the evidence's population."""
    return evidence.judge(evidence.population.sample(n, np.random.default_rng([seed, 77])))


def _drawn(rng: np.random.Generator) -> pd.DataFrame:
    return DOMAIN.decode(DOMAIN.sample_codes(N_ROWS, rng))


def _box(rng: np.random.Generator, rows: pd.DataFrame) -> tuple[Rule, Mask]:
    """A tenth of the rows or so."""
    x, z = rng.integers(0, SIDE - 3, 2)
    rule = Rule(f"x >= {x} and x <= {x + 2} and z >= {z} and z <= {z + 3}")
    return rule, rule.matches(rows)


def _alike(rows: pd.DataFrame) -> Floats:
    """A chance of the good label that has nothing to do with sex."""
    return np.where(rows["x"] + rows["z"] >= SIDE, 0.8, 0.2)


def _labelled(rng: np.random.Generator, chance: Floats) -> Any:
    return np.where(rng.random(len(chance)) < chance, "yes", "no")


def _fitted(rows: pd.DataFrame, labels: Any, seed: int) -> Any:
    """By turns a tree, a forest and two kinds of boosting, behind an encoder."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    classifier = (
        DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
        GradientBoostingClassifier(n_estimators=50, random_state=seed),
        RandomForestClassifier(20, min_samples_leaf=5, random_state=seed),
        HistGradientBoostingClassifier(max_iter=50, random_state=seed),
    )[seed // 2 % 4]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["job", "sex"]), remainder="passthrough")
    return make_pipeline(encoder, classifier).fit(rows, labels)
