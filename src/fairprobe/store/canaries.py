"""Canaries: inputs whose answers show whether a model is still the one that a run began with.

They are asked about when a run begins, when it is taken up and when it ends. Nothing but its answers may identify a
model, if it is the name of a function or an address.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.errors import RunError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import differ, tolerance
from fairprobe.store.identity import canary_answers
from fairprobe.store.run_folder import StoredRun
from fairprobe.store.shard_file import answers_of, from_bytes, of_answers

if TYPE_CHECKING:
    import pandas as pd

NAME = "canaries"
"""The name of their file among the shards."""


class Canaries:
    """The answers that a run began with."""

    def __init__(self, run: StoredRun, asker: Asker, rows: pd.DataFrame | None = None, resolution: float = 0.0) -> None:
        self._run = run
        self._asker = copy(asker)  # it counts its own queries
        self._rows = rows
        self._resolution = resolution
        before = run.read(NAME)
        if before is not None:
            content = from_bytes(before)
            self._answers, self._repeats = answers_of(content), content.arrays["repeats"]
            n = self._n_other()
            if n:
                raise SettingError.about(
                    "store",
                    f"must be a run of the same model, got {run.path}, whose model gave another output for {n:,} of "
                    f"{len(self._repeats):,} canary inputs: name another folder to begin a new run",
                )
            return
        if run.entries:
            raise SettingError.about(
                "store",
                f"must have the canaries that it was begun with, got finished shards without them: {run.path}; nothing "
                "tells whether the model is still the one of these shards: name another folder to begin a new run",
            )
        self._answers, second = self._ask(), self._ask()
        # Where a model does not repeat itself, another answer shows nothing.
        self._repeats = ~self._differ(self._answers, second)
        run.save(NAME, of_answers(self._answers, repeats=self._repeats))

    def check(self) -> None:
        """Make sure that the model is still the one that the run began with."""
        n = self._n_other()
        if n:
            self._run.note_change()
            raise RunError(
                f"a model must stay the same during a run, got another output for {n:,} of {len(self._repeats):,} "
                f"canary inputs than when {self._run.path} was begun: begin a new run in another folder"
            )

    def _ask(self) -> NDArray[Any]:
        with self._asker.quiet():
            return canary_answers(self._asker, self._rows)[0]

    def _n_other(self) -> int:
        answers = self._ask()
        if answers.shape != self._answers.shape:
            return len(self._repeats)
        return int((self._differ(self._answers, answers) & self._repeats).sum())

    def _differ(self, first: NDArray[Any], second: NDArray[Any]) -> Mask:
        return differ(first, second, 0.0 if self._asker.output == "label" else tolerance(first, self._resolution))
