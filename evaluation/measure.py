"""The measurements. Each is a function of plain values, so that a worker, or another day, can take it alike.

They give what the pages use and no more, in as many digits as matter, since all of it is kept.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np

from evaluation.coverage import coverage_of, uniform_cases
from evaluation.ledger import Figures
from evaluation.pipelines import PIPELINES, fitted_pipeline
from evaluation.plan import SEX
from fairprobe import datasets, subjects
from fairprobe.arrays import Codes
from fairprobe.domain import Domain, Integer
from fairprobe.estimation import estimate
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.retraining import retrain
from fairprobe.searching import Found, StopReason, search
from fairprobe.searching.limits import Limits
from fairprobe.searching.registry import choose_strategy

N_POINTS = 50
"""Of a curve."""


@lru_cache(maxsize=1)
def _loaded(subject: str) -> Any:
    """A subject by name, a pipeline, or `forest-100`, today's default forest."""
    if subject in PIPELINES:
        return fitted_pipeline(subject)
    if subject != "forest-100":
        return subjects.load(subject)
    from sklearn.ensemble import RandomForestClassifier

    return _fitted(RandomForestClassifier(100, random_state=0))


def _fitted(model: Any) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    rows, labels = datasets.load_census(split="train")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the MLP, which the paper's settings end early
        return model.fit(rows.to_numpy(), labels.to_numpy())


def _domain(subject: str, sensitive: Sequence[str] = SEX) -> Domain:
    """Of the encoded census, or, for a pipeline, of the natural one."""
    return datasets.census_domain(encoded=subject not in PIPELINES, sensitive=sensitive)


def _searched(model: Any, domain: Domain, **settings: Any) -> Found:
    """The result of a search; an interrupted search is no measurement."""
    found = search(model, domain, **settings)
    if found.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def _rounded(value: float | None, digits: int = 5) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")


# Searches


def search_inputs(
    subject: str, sensitive: list[str], strategy: str, n_inputs: int, seed: int, **settings: Any
) -> Figures:
    """Search until so many inputs were judged: the yield in per cent."""
    return {"percent": _rounded(100 * _of_inputs(subject, sensitive, strategy, n_inputs, seed, **settings).yield_)}


def search_curve(
    subject: str, sensitive: list[str], strategy: str, n_inputs: int, seed: int, **settings: Any
) -> Figures:
    """Distinct cases of a search after equal parts of the inputs judged."""
    found = _of_inputs(subject, sensitive, strategy, n_inputs, seed, **settings)
    offsets = np.sort(found._cases.offsets)  # there is one shard, so that they count the inputs of the run
    return {"cases": np.searchsorted(offsets, np.linspace(0, found.n_judged, N_POINTS + 1)).tolist()}


def _of_inputs(subject: str, sensitive: list[str], strategy: str, n_inputs: int, seed: int, **settings: Any) -> Found:
    return _searched(
        _loaded(subject), _domain(subject, sensitive), strategy=strategy, max_cases=None,
        max_judged=n_inputs, max_barren=None, seed=seed, shard_inputs=max(n_inputs, 1000), **settings,
    )  # fmt: skip


def search_spread(subject: str, strategy: str, n_references: int, seed: int, **settings: Any) -> Figures:
    """Search within a budget: how many cases, and how widely spread. Seconds are the processor's.

    Recall is that of `evaluation.coverage`, by references that are drawn once for all runs on a subject.
    """
    model, domain = _loaded(subject), _domain(subject)
    with _processor_seconds():
        found = _searched(model, domain, strategy=strategy, max_cases=None, seed=seed, **settings)
    cells, recall = coverage_of(found, _references(subject, n_references))
    return {
        "n_cases": found.n_cases,
        "percent": _rounded(100 * found.yield_, 4),
        "recall": _rounded(recall, 3),
        "cells": cells,
    }


@contextmanager
def _processor_seconds() -> Iterator[None]:
    """Let searches go by the processor's clock, in one thread: others use the machine too."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), patch.object(time, "monotonic", time.process_time):
        yield


@lru_cache(maxsize=1)
def _references(subject: str, n: int) -> Codes:
    """Cases of independent uniform sampling."""
    model = _loaded(subject)
    return uniform_cases(Oracle(Asker(model, _domain(subject))), model, n, seed=0)


def auto_strategy(subject: str, **limits: Any) -> Figures:
    """The strategy that `auto` is within a budget: its runs are those of that strategy, seed by seed."""
    return {"strategy": choose_strategy(_loaded(subject), limits=Limits(**limits))}


def time_to_cases(
    subject: str, sensitive: list[str], strategy: str, n_cases: int, max_seconds: float, seed: int
) -> Figures:
    """Search until so many cases are found, and take the time."""
    model, domain = _loaded(subject), datasets.census_domain(sensitive=sensitive)
    _searched(model, domain, strategy=strategy, max_cases=10, max_judged=1000, seed=seed)  # imports and first calls
    found = _searched(
        model, domain, strategy=strategy, max_cases=n_cases, max_seconds=max_seconds, max_barren=None, seed=seed
    )
    return {"n_cases": found.n_cases, "seconds": _rounded(found.seconds, 4)}


def row_at_a_time(subject: str, strategy: str, n_cases: int, max_seconds: float, seed: int, **settings: Any) -> Figures:
    """A search by one walker, with one call of the model's `predict` for each input and its twins."""
    model, domain = _loaded(subject), datasets.census_domain()
    n_twins = len(domain.combinations)

    def predict(batch: Any) -> Any:
        # Families come combination by combination: every so many rows are one input and its twins.
        n = len(batch) // n_twins
        if n * n_twins < len(batch):  # rows by themselves, to see whether the answer depends on the batch
            return model.predict(batch)
        return np.stack([model.predict(batch[row::n]) for row in range(n)], axis=1).reshape(-1)

    found = _searched(
        predict, domain, strategy=strategy, max_cases=n_cases, max_seconds=max_seconds, max_barren=None, seed=seed,
        **settings,
    )  # fmt: skip
    return {"n_cases": found.n_cases, "n_judged": found.n_judged, "seconds": _rounded(found.seconds, 4)}


# The subjects


def share(
    subject: str, n_experiments: int, n_samples: int, seed: int, refitted_with: dict[str, Any] | None = None
) -> Figures:
    """The share of the domain by sampling, as the paper estimates it: hits of each experiment.

    Of a subject as it is, or fitted anew with other parameters: then the hits in all.
    """
    model = _loaded(subject) if refitted_with is None else _fitted(subjects.make(subject).set_params(**refitted_with))
    found = estimate(
        model, datasets.census_domain(), method="sample", n_experiments=n_experiments, n_samples=n_samples, seed=seed
    )
    if refitted_with is not None or found.history is None:
        return {"share": [found.hits, found.n]}
    running = np.rint(np.asarray(found.history) * n_samples * np.arange(1, n_experiments + 1))
    return {"hits": np.diff(running, prepend=0).astype(int).tolist()}


def about_subject(subject: str) -> Figures:
    """A subject's accuracy on rows it was not fitted to, and the number of rows it treats differently by sex."""
    model = _loaded(subject)
    rows, labels = datasets.load_census(split="test")
    real = estimate(model, datasets.census_domain(), rows)
    return {"accuracy": _rounded((model.predict(rows.to_numpy()) == labels).mean()), "rows": [real.hits, real.n]}


def neighbours(subject: str, n_cases: int, seed: int) -> Figures:
    """How many of the neighbours of cases, one step of one parameter away, are cases too."""
    model, domain = _loaded(subject), datasets.census_domain()
    found = _searched(model, domain, strategy="uniform", max_cases=n_cases, max_barren=None, seed=seed)
    cases = domain.encode(found.cases)
    oracle = Oracle(Asker(model, domain))
    of_each = np.zeros(len(cases))
    n_neighbours = np.zeros(len(cases))
    with oracle.asker.quiet():
        for column in domain.free_columns:
            for step in (-1, 1):
                moved = cases.copy()
                moved[:, column] += step
                inside = np.flatnonzero((moved[:, column] >= 0) & (moved[:, column] < domain.levels[column]))
                n_neighbours[inside] += 1
                of_each[inside] += oracle.judge(moved[inside]).hits
    parts = of_each / n_neighbours
    return {
        "n_cases": len(cases),
        "mean": _rounded(parts.mean()) if len(parts) else None,
        "error": _rounded(parts.std(ddof=1) / np.sqrt(len(parts))) if len(parts) > 1 else None,
    }


def first_case(percent: int, n_runs: int, seed: int) -> Figures:
    """Inputs until the first case, in runs of uniform sampling from a domain of which so many per cent are cases."""
    domain = Domain([Integer("x", 1, 100), Integer("sex", 0, 1)], sensitive=["sex"])
    oracle = Oracle(Asker(lambda rows: (rows[:, 0] <= percent) & (rows[:, 1] == 1), domain))
    rng = np.random.default_rng(seed)

    def first() -> int:
        before = 0
        while True:
            hits = oracle.judge(domain.sample_codes(1000, rng)).hits
            if hits.any():
                return before + int(hits.argmax()) + 1
            before += len(hits)

    return {"trials": sorted(first() for _ in range(n_runs))}


# Retraining


def retrain_subject(
    subject: str, sensitive: list[str], seed: int, n_report: int, n_rows: int | None = None, **settings: Any
) -> Figures:
    """Retrain on the training rows, or the first of them; half of the test rows are to choose by, half to report on.

    What is right is counted on all test rows, of controls on those to report on.
    """
    rows, labels = (part[:n_rows] for part in datasets.load_census(split="train"))
    test, truth = datasets.load_census(split="test")
    model, domain = _loaded(subject), datasets.census_domain(sensitive=sensitive)
    answers = model.predict(test.to_numpy())
    if settings.get("accept") == "paper":
        settings["max_accuracy_loss"] = 1.0  # the paper has no limit
    new = retrain(
        model, rows, labels, domain, held_out=(test, truth), n_report=n_report // len(domain.combinations),
        max_seconds=None, search_seconds=None, seed=seed, **settings,
    )  # fmt: skip
    if new.stop_reason == "interrupted":
        raise KeyboardInterrupt
    if not np.array_equal(model.predict(test.to_numpy()), answers):
        raise AssertionError(f"the model given was changed: {subject}")
    return {
        "n_rows": len(rows),
        "n_added": new.n_added,
        "before": _counts(new.before),
        "after": _counts(new.after),
        "right_before": [int((answers == truth).sum()), len(truth)],
        "right_after": [int((new.model.predict(test.to_numpy()) == truth).sum()), len(truth)],
        "loss": [_rounded(each) for each in (new.loss.value, new.loss.low, new.loss.high)],
        "what": None
        if new.chosen is None
        else [new.chosen.jsonable()[key] for key in ("augment", "percent", "copies")],
        "controls": {
            name: {
                "words": each.words,
                "why_not": each.why_not,
                "n_added": each.n_added,
                "shares": _counts(each.shares),
                "right": None if each.accuracy is None else [round(each.accuracy * new.loss.n), new.loss.n],
            }
            for name, each in new.controls.items()
        },
    }


def _counts(shares: dict[str, Any]) -> dict[str, list[int]]:
    """Of each population the discriminatory and all: the intervals follow from these."""
    return {name: [each.hits, each.n] for name, each in shares.items()}
