"""Screening: a stand-in answers in place of the model, and the model confirms what counts.

In a search, the stand-in proposes hits. An input that it labelled counts as judged, so the yield is not inflated, and
the model confirms every case. In retraining, it helps to choose between models; the model itself gives all reported
figures. Only rows sent to the model count as queries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.families import Members
from fairprobe.model.asking import Answering, ask_members
from fairprobe.model.measuring import tolerance
from fairprobe.standins.compile import StandIn, compile_stand_in

CHECKED: Final = 500
"""Number of inputs, at the beginning of each screen, for which the stand-in's and the model's answers are compared.
Chosen."""


class DisagreementError(Exception):
    """The error that a stand-in failed or its answer differs from the model's, so that it must not be used."""


class Instead:
    """Base class of askers that answer `ask_members` themselves and pass other calls to the asker they hold."""

    def __init__(self, asker: Answering) -> None:
        self._asker = asker
        self.domain, self.output = asker.domain, asker.output
        self.ask, self.ask_families, self.ask_frame = asker.ask, asker.ask_families, asker.ask_frame
        self.quiet, self.afresh = asker.quiet, asker.afresh

    @property
    def n_queries(self) -> int:
        """Number of rows sent to the model, as counted by the asker that it holds."""
        return self._asker.n_queries

    @n_queries.setter
    def n_queries(self, n: int) -> None:
        self._asker.n_queries = n


class Screen(Instead):
    """Asker that answers about inputs and twins by a stand-in, and compares `CHECKED` answers with the model's."""

    def __init__(self, asker: Answering, stand_in: StandIn) -> None:
        super().__init__(asker)
        self._stand_in = stand_in
        self._n_left = CHECKED
        self._unchecked: list[tuple[Codes, NDArray[Any]]] = []
        """Codes of the inputs that the model must still check, with the stand-in's answers."""
        self._n_ahead = 0
        """Number of rows of the unchecked inputs, which were counted as queries in advance."""

    def ask_members(self, members: Members) -> NDArray[Any]:
        """Return the stand-in's answers for inputs and their existing twins.

        They are indexed by combination of sensitive values, then input.

        The first `CHECKED` inputs are also sent to the model, in one batch, because several small batches would take
        too long. This happens when they are complete, or when `finish` is called.
        """
        said = self._said(members)
        if self._n_left:
            first = members.head(self._n_left)
            self._unchecked.append((first.codes, said[:, : len(first)]))
            n_rows = int(first.sizes.sum())  # they will be sent, so they count from now on
            self._asker.n_queries, self._n_ahead = self._asker.n_queries + n_rows, self._n_ahead + n_rows
            self._n_left -= len(first)
            if not self._n_left:
                self.finish()
        return said

    def finish(self) -> None:
        """Compare stand-in and model on the inputs that are not checked yet; DisagreementError if they differ."""
        if not self._unchecked:
            return
        codes, said = (np.concatenate(each, axis=axis) for axis, each in enumerate(zip(*self._unchecked, strict=True)))
        self._asker.n_queries, self._n_ahead = self._asker.n_queries - self._n_ahead, 0
        self.check(said, self._asker.ask_members(self.domain.families.of(codes)))
        self._unchecked.clear()  # not before: what the model failed to answer is not checked

    def _said(self, members: Members) -> NDArray[Any]:
        try:
            return ask_members(self._stand_in, members)
        except Exception as error:
            raise DisagreementError(
                f"the stand-in for the model ({self._stand_in.name}) failed, so it was given up and the model alone "
                f"was asked, got {type(error).__name__}: {error}"
            ) from error

    def check(self, said: NDArray[Any], truth: NDArray[Any]) -> None:
        """Raise a DisagreementError if the model's answers `truth` differ from the stand-in's answers `said`.

        Labels of another type differ too; numbers may differ by rounding.
        """
        if self.output != "label":
            differ = ~(np.abs(said - truth) <= tolerance(truth, 0.0))
        else:
            differ = said != truth if said.dtype == truth.dtype else np.ones(truth.shape, dtype=bool)
        wrong = int(differ.reshape(*truth.shape[:2], -1).any(axis=(0, 2)).sum())
        if wrong:
            raise DisagreementError(
                f"the stand-in for the model ({self._stand_in.name}) gave another {self.output} to {wrong:,} of "
                f"{truth.shape[1]:,} inputs, so it was given up and the model alone was asked"
            )


def quick_asker(model: Any, asker: Answering) -> Answering:
    """Return an asker that answers by a stand-in if the stand-in agrees with the model on `CHECKED` random inputs.

    Otherwise it returns `asker` itself.
    """
    stand_in = compile_stand_in(model, asker.domain, asker.output)
    if stand_in is None:
        return asker
    screen = Screen(asker, stand_in)
    try:
        screen.ask_members(asker.domain.families.of(asker.domain.sample_codes(CHECKED, np.random.default_rng(0))))
    except DisagreementError:
        return asker
    return screen
