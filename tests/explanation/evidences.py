"""Evidence made by hand: a model, a domain, and its cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairprobe.explanation.budget import Budget
from fairprobe.explanation.evidence import DrawnFrom, Evidence, favourable_among
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle


def evidence_of(
    model,
    domain,
    *,
    codes=None,
    n=3000,
    output="label",
    threshold=None,
    density=None,
    min_plausibility=0.0,
    rows=None,
    favourable=None,
    max_queries=None,
    most=None,
    seed=0,
    batch=None,
):
    """What stands on the cases among some inputs; by default on those among `n` drawn from the population."""
    oracle = Oracle(Asker(model, domain, output=output, batch=batch), threshold)
    name = "density" if density is not None else "valid" if domain.is_restricted else "domain"
    population = DrawnFrom(name, domain, density, min_plausibility)
    if codes is None:
        codes = population.sample(n, np.random.default_rng(seed + 1000))
    judged = oracle.judge_anew(codes)
    cases = judged.take(np.flatnonzero(judged.hits), codes.dtype)
    if most is not None:
        cases = cases.take(np.arange(min(most, len(cases.codes))), cases.codes.dtype)
    limit = None if max_queries is None else oracle.asker.n_queries + max_queries
    evidence = Evidence(
        model=model,
        domain=domain,
        oracle=oracle,
        budget=Budget(oracle, limit),
        cases=cases,
        numbers=np.arange(len(cases.codes)),
        n_given=len(cases.codes),
        population=population,
        density=density,
        rows=rows,
        labels=None,
        seed=seed,
    )
    return replace(evidence, favourable=favourable_among(favourable, evidence, cases))


def sampled_of(evidence, n, seed=0):
    """A judgement of fresh inputs."""
    return evidence.judge(evidence.population.sample(n, np.random.default_rng([seed, 77])))
