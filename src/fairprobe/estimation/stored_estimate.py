"""An estimate on disk: what the model said, and what makes it the same estimate.

How many experiments there are, how narrow the interval is to be and what is made of the counts is not part of that: an
estimate that goes on further asks the same first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimation.share import Share, as_number
from fairprobe.model.asking import Asker
from fairprobe.store import identity
from fairprobe.store.answer_log import AnswerLog
from fairprobe.store.canaries import Canaries
from fairprobe.store.hashes import digest, hash_of_data
from fairprobe.store.run_folder import StoredRun

if TYPE_CHECKING:
    from fairprobe.estimation.populations import Population


class StoredEstimate:
    """Keeps the answers to one call of `estimate` or `breakdown`."""

    def __init__(self, run: StoredRun, canaries: Canaries) -> None:
        self._run = run
        self._canaries = canaries

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: str | PathLike[str],
        targets: Sequence[Population],
        sets: Sequence[tuple[str, ...]],
        seed: int | None,
        method: str,
        model_id: str | None = None,
    ) -> Iterator[StoredEstimate]:
        """Begin a stored estimate or take one up."""
        settings = {"sets": [list(names) for names in sets], "seed": seed, "method": method}
        with StoredRun.opened(path, "estimate", identity_of(targets, settings, model_id)) as run:
            first = targets[0]
            yield cls(run, Canaries(run, _asker(first), first.rows, first.oracle.resolution))

    def answers(self, target: Population) -> AnswerLog:
        """The log of the model's answers about a population; linked and plain twins have one each."""
        return AnswerLog(self._run, "linked-" if target.domain.links else "")

    def ended(self, found: list[list[Share]]) -> list[list[Share]]:
        """The shares, with what is to be said of the run; the model is asked whether it is still the same."""
        self._canaries.check()
        shares = [share for each in found for share in each]
        self._run.note_end(
            shares=[
                {
                    "sensitive": list(share.sensitive),
                    "linked": list(share.linked),
                    **{name: getattr(share, name) for name in ("n", "hits", "method", "confidence", "n_queries")},
                    **{name: as_number(getattr(share, name)) for name in ("value", "low", "high")},
                }
                for share in shares
            ]
        )
        return [[replace(share, health=(*self._run.remarks, *share.health)) for share in each] for each in found]


def identity_of(targets: Sequence[Population], settings: dict[str, Any], model_id: str | None) -> dict[str, Any]:
    """All that the answers are a function of, but for how many there are."""
    first = targets[0]
    asker = first.oracle.asker
    return {
        "model": identity.of_model(first.model, model_id),
        "data": {
            "rows": None if first.rows is None else hash_of_data(first.rows),
            "weights": None if first.weights is None else digest(first.weights.tolist()),
            "groups": None if first.groups is None else digest(first.groups.tolist()),
            "density": identity.of_density(first.density),
        },
        "settings": {
            **settings,
            "population": first.name,
            "compared": ["linked" if target.domain.links else "plain" for target in targets],
            "output": asker.output,
            "threshold": first.oracle.threshold,
            "batch": first.batch,
        },
        "domain": identity.of_domain(first.domain),
    }


def _asker(target: Population) -> Asker:
    assert isinstance(target.oracle.asker, Asker)  # nothing stands in for the model in an estimate
    return target.oracle.asker
