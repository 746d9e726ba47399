"""The measurements. Each is a function of plain values, so that a worker, or another day, can take it alike."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

from fairprobe import datasets, subjects
from fairprobe.domain import Domain, Integer
from fairprobe.estimate import estimate
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.reproduce.cells import Outcome
from fairprobe.retrain import Retrained, retrain
from fairprobe.retrain.controls import Control
from fairprobe.search import Found, StopReason, search

N_POINTS = 50
"""Of a curve."""


@lru_cache(maxsize=1)
def _loaded(subject: str) -> Any:
    return subjects.load(subject)


def _searched(model: Any, domain: Domain, **settings: Any) -> Found:
    """What a search found; one that was interrupted gives what it has, which is no measurement."""
    found = search(model, domain, **settings)
    if found.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def search_inputs(
    subject: str, sensitive: list[str], strategy: str, n_inputs: int, seed: int, **settings: Any
) -> Outcome:
    """Search until so many inputs were judged, and count the cases."""
    found = _searched(
        _loaded(subject), datasets.census_domain(sensitive=sensitive), strategy=strategy, max_cases=None,
        max_inputs=n_inputs, max_barren=None, seed=seed, shard_inputs=max(n_inputs, 1000), **settings,
    )  # fmt: skip
    figures = {
        "n_cases": found.n_cases,
        "n_judged": found.n_judged,
        "n_inputs": found.n_inputs,
        "percent": 100 * found.yield_,
        "curve": _curve(found),
    }
    return Outcome(figures, {"search_seconds": found.seconds})


def _curve(found: Found) -> list[int]:
    """Distinct cases after equal parts of the inputs judged."""
    offsets = np.sort(found._cases.offsets)  # there is one shard, so that they count the inputs of the run
    return np.searchsorted(offsets, np.linspace(0, found.n_judged, N_POINTS + 1)).tolist()


def time_to_cases(
    subject: str, sensitive: list[str], strategy: str, n_cases: int, max_seconds: float, seed: int
) -> Outcome:
    """Search until so many cases are found, and take the time."""
    model, domain = _loaded(subject), datasets.census_domain(sensitive=sensitive)
    _searched(model, domain, strategy=strategy, max_cases=10, max_inputs=1000, seed=seed)  # imports and first calls
    found = _searched(
        model, domain, strategy=strategy, max_cases=n_cases, max_seconds=max_seconds, max_barren=None, seed=seed
    )
    return _timed(found)


def _timed(found: Found) -> Outcome:
    """When the time may cut a search off, all it came to depends on it."""
    return Outcome({}, {"n_cases": found.n_cases, "n_judged": found.n_judged, "search_seconds": found.seconds})


def row_at_a_time(subject: str, strategy: str, n_cases: int, max_seconds: float, seed: int, **settings: Any) -> Outcome:
    """The same search by one walker, with one call of the model's `predict` for each input and its twins."""
    model, domain = _loaded(subject), datasets.census_domain()
    n_twins = len(domain.combinations)

    def predict(batch: Any) -> Any:
        # Families come combination by combination: every so many rows are one input and its twins.
        n = len(batch) // n_twins
        return np.stack([model.predict(batch[row::n]) for row in range(n)], axis=1).reshape(-1)

    found = _searched(
        predict, domain, strategy=strategy, max_cases=n_cases, max_seconds=max_seconds, max_barren=None, seed=seed,
        **settings,
    )  # fmt: skip
    return _timed(found)


def share(subject: str, sensitive: list[str], n_experiments: int, n_samples: int, seed: int) -> Outcome:
    """The share of the domain by sampling, as the paper estimates it, with its running mean."""
    found = estimate(
        _loaded(subject), datasets.census_domain(sensitive=sensitive), method="sample", n_experiments=n_experiments,
        n_samples=n_samples, seed=seed,
    )  # fmt: skip
    return Outcome({"hits": found.hits, "n": found.n, **_interval(found), "history": _thin(found.history)})


def _interval(found: Any) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def _thin(history: Any) -> list[float]:
    return [round(float(value), 8) for value in np.asarray(history)]


def about_subject(subject: str) -> Outcome:
    """What a subject is like: its accuracy on rows it was not fitted to, and the rows it treats differently by sex."""
    model, domain = _loaded(subject), datasets.census_domain()
    rows, labels = datasets.load_census(split="test")
    accuracy = float((model.predict(rows.to_numpy()) == labels).mean())
    real = estimate(model, domain, rows)
    return Outcome({"accuracy": accuracy, "n_rows": len(rows), "rows": _interval(real)})


def neighbours(subject: str, sensitive: list[str], n_cases: int, seed: int) -> Outcome:
    """How many of the neighbours of cases, one step of one parameter away, are cases too."""
    model, domain = _loaded(subject), datasets.census_domain(sensitive=sensitive)
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
    return Outcome({
        "n_cases": len(cases),
        "mean": float(parts.mean()) if len(parts) else None,
        "error": float(parts.std(ddof=1) / np.sqrt(len(parts))) if len(parts) > 1 else None,
    })  # fmt: skip


def first_case(percent: int, n_runs: int, seed: int) -> Outcome:
    """Inputs until the first case, in runs of uniform sampling from a domain of which so many per cent are cases."""
    domain = Domain([Integer("x", 1, 100), Integer("sex", 0, 1)], sensitive=["sex"])
    oracle = Oracle(Asker(lambda rows: (rows[:, 0] <= percent) & (rows[:, 1] == 1), domain))
    rng = np.random.default_rng(seed)
    return Outcome({"trials": sorted(_first(oracle, rng) for _ in range(n_runs))})


def _first(oracle: Oracle, rng: np.random.Generator) -> int:
    before = 0
    while True:
        hits = oracle.judge(oracle.domain.sample_codes(1000, rng)).hits
        if hits.any():
            return before + int(hits.argmax()) + 1
        before += len(hits)


def retrain_subject(subject: str, sensitive: list[str], seed: int, n_report: int, **settings: Any) -> Outcome:
    """Retrain on the training rows; half of the test rows are to choose by, the others to report on."""
    rows, labels = datasets.load_census(split="train")
    test, truth = datasets.load_census(split="test")
    model, domain = _loaded(subject), datasets.census_domain(sensitive=sensitive)
    answers = model.predict(test.to_numpy())
    begun = time.perf_counter()
    new = retrain(
        model, rows, labels, domain, held_out=(test, truth), n_report=n_report // len(domain.combinations),
        max_seconds=None, search_seconds=None, seed=seed, **settings,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    if new.stop_reason == "interrupted":
        raise KeyboardInterrupt
    if not np.array_equal(model.predict(test.to_numpy()), answers):
        raise AssertionError(f"the model given was changed: {subject}")
    figures = {
        "n_rows": len(rows),
        "accuracy_before": float((answers == truth).mean()),
        "accuracy_after": float((new.model.predict(test.to_numpy()) == truth).mean()),
        **_retrained(new),
    }
    return Outcome(figures, {"retrain_seconds": seconds})


def _retrained(new: Retrained) -> dict[str, Any]:
    """What the tables show of a retrained model."""
    chosen = new.chosen
    return {
        "before": {name: _interval(each) for name, each in new.before.items()},
        "after": {name: _interval(each) for name, each in new.after.items()},
        "n_added": new.n_added,
        "what": None if chosen is None else {key: chosen.summary()[key] for key in ("augment", "percent", "copies")},
        "n_rounds": len(new.rounds),
        "loss": {"value": new.loss.value, "low": new.loss.low, "high": new.loss.high},
        "controls": {name: _control(control) for name, control in new.controls.items()},
    }


def _control(control: Control) -> dict[str, Any]:
    return {
        "words": control.words,
        "why_not": control.why_not,
        "accuracy": control.accuracy,
        "n_added": control.n_added,
        "shares": {name: each.value for name, each in control.shares.items()},
    }
