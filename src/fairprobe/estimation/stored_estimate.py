"""An estimate stored in a folder: the model's answers, and the settings by which the folder is recognised.

The number of experiments and the requested width are not among these settings, because an estimate that continues
further asks the same questions first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairprobe.checks import checked_seed
from fairprobe.engine.base import checked_engine, checked_jobs
from fairprobe.engine.interrupts import terminable
from fairprobe.estimation.estimate_run import EstimateRun
from fairprobe.estimation.favourable import favourable_of
from fairprobe.estimation.populations import Population
from fairprobe.estimation.settings import Settings
from fairprobe.estimation.share import Share
from fairprobe.store import digests
from fairprobe.store.answers import AnswerLog, Canaries
from fairprobe.store.digests import digest, hash_of_data
from fairprobe.store.run_folder import StoredRun, recorded_settings

FIGURES = ("sensitive", "linked", "n", "hits", "method", "confidence", "n_queries", "value", "low", "high")
"""Names of the figures of a share that are stored at the end of a run."""


def stored_shares(
    targets: Sequence[Population], sets: Sequence[tuple[str, ...]], settings: Settings
) -> list[list[Share]]:
    """Return a list for each target (population), with a share for each set of sensitive parameters.

    With `settings.store`, a folder, stored answers are not asked for again.
    """
    settings = settings.but(favourable=favourable_of(settings.favourable, targets))
    store, model_id, first = settings.store, digests.checked_id(settings.model_id, settings.store), targets[0]
    checked_engine(settings.engine, checked_jobs(settings.n_jobs))
    if store is None:
        return [EstimateRun(target, sets, settings).shares() for target in targets]
    seed = checked_seed(recorded_settings(store).get("seed") if settings.seed is None else settings.seed)
    settings = settings.but(seed=seed)
    asked = {"sets": [list(names) for names in sets], "seed": seed, "method": settings.method}
    with terminable(), StoredRun.opened(store, "estimate", identity_of(targets, asked, model_id)) as run:
        canaries = Canaries(run, first.asker, first.rows, first.oracle.resolution)
        logs = [AnswerLog(run, "linked-" if target.domain.links else "") for target in targets]
        runs = [EstimateRun(target, sets, settings, log) for target, log in zip(targets, logs, strict=True)]
        found = [each.shares() for each in runs]
        canaries.check()
        figures = [share.jsonable() for shares in found for share in shares]
        run.note(end={"shares": [{name: each[name] for name in FIGURES} for each in figures]})
    return [[replace(share, health=(*run.remarks, *share.health)) for share in shares] for shares in found]


def identity_of(targets: Sequence[Population], settings: dict[str, Any], model_id: str | None) -> dict[str, Any]:
    """Return the values by which a stored estimate is recognised: all that the model's answers depend on.

    Their number is left out, so that the estimate may continue.
    """
    first = targets[0]
    return {
        "model": digests.of_model(first.model, model_id),
        "data": {
            "rows": None if first.rows is None else hash_of_data(first.rows),
            "weights": None if first.weights is None else digest(first.weights.tolist()),
            "groups": None if first.groups is None else digest(first.groups.tolist()),
            "density": digests.of_density(first.density),
        },
        "settings": {
            **settings,
            "population": first.name,
            "compared": ["linked" if target.domain.links else "plain" for target in targets],
            "output": first.asker.output,
            "threshold": first.oracle.threshold,
            "batch": first.batch,
        },
        "domain": digests.of_domain(first.domain),
    }
