"""Compiling: from a fitted model to its stand-in, where there is a way that was measured to be faster."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.model.known import known_kind
from fairprobe.standins.protocol import Compiled, StandIn
from fairprobe.standins.rows import Batch, Rows

MODULES: Final = {
    "forest": "trees",
    "kernel": "svm",
    "linear": "linear",
    "network": "network",
    "tree": "trees",
    "vote": "vote",
}
"""By kind of known model, the module that compiles it: not imported before there is such a model."""

SCREENING: Final = ("forest", "kernel", "vote")
"""Kinds that are so much slower than their stand-ins that it pays to ask them only to confirm."""

SCREENING_FEW: Final = ("linear", "network")
"""Kinds whose every call costs so much that it pays where few inputs are judged at a time."""

FEW: Final = 100


def compile_stand_in(model: Any, domain: Domain, output: str = "label") -> StandIn | None:
    """Something that gives the model's labels for inputs and all their twins, but faster; None if there is no way.

    >>> from fairprobe.datasets import census_domain
    >>> compile_stand_in(lambda rows: rows[:, 0] > 5, census_domain()) is None
    True
    """
    if output != "label" or known_kind(model) not in MODULES or not domain.families.is_plain:
        return None
    rows = Rows.of(model, domain)
    compiled = None if rows is None else compiled_for(model, rows)
    if rows is None or compiled is None:
        return None
    return _Labelled(rows, compiled, model.classes_)


def compiled_for(model: Any, rows: Rows) -> Compiled | None:
    """A model, or a member of one, made ready for its columns."""
    kind = known_kind(model)
    if kind not in MODULES:
        return None
    compiled: Compiled | None = import_module(f"fairprobe.standins.{MODULES[kind]}").compiled(model, rows)
    return compiled


def may_screen(model: Any, n_inputs: int) -> bool:
    """Whether a search that judges so many inputs at a time is likely to gain by a stand-in that proposes."""
    kind = known_kind(model)
    return kind in SCREENING or (kind in SCREENING_FEW and n_inputs <= FEW)


@dataclass(frozen=True)
class _Labelled:
    """A compiled model's places among the classes, as labels."""

    rows: Rows
    compiled: Compiled
    classes: NDArray[Any]

    @property
    def name(self) -> str:
        return self.compiled.name

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        batch = Batch(self.rows, codes)
        return self.classes.take(self.compiled.places(batch)).reshape(batch.shape)
