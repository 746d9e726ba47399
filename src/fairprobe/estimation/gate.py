"""Gates: which shares a limit binds, and how the error is split over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairprobe.checks import nearest
from fairprobe.errors import SettingError

if TYPE_CHECKING:
    from fairprobe.estimation.share import Share

GATES = ("rows", "domain", "valid", "density")
"""A limit is about the first of these that was measured, unless a gate names another."""

TWINS = ("linked", "plain")
"""The shares of one population, where the domain has links."""

UNBOUND = "none"
"""The word for a share that no limit binds: its interval has the whole error."""


@dataclass(frozen=True)
class Gate:
    """The shares that a limit binds: those of one population, by linked twins, by plain ones, or both."""

    population: str | None = None
    """None is the first of `GATES` that there is."""
    twins: str | None = None
    """"linked" or "plain"; None is both, where there are both."""
    is_unbound: bool = False
    """True if no limit binds any share."""

    @classmethod
    def of(cls, text: str | None) -> Gate:
        """The gate that a text names.

        >>> Gate.of("rows plain"), Gate.of(None)
        (Gate(population='rows', twins='plain', is_unbound=False), Gate(population=None, twins=None, is_unbound=False))
        """
        words = (text or "").replace(",", " ").split()
        known = (*GATES, *TWINS, UNBOUND)
        named, twins = ([word for word in words if word in some] for some in (GATES, TWINS))
        unknown = [word for word in words if word not in known]
        if unknown or len(named) > 1 or len(twins) > 1:
            raise SettingError.about(
                "gate",
                f"must be one of {', '.join(known)}, or a population and a share as in 'rows plain'; "
                f"got {text!r}{nearest(unknown[0] if unknown else text, known)}",
            )
        return cls(next(iter(named), None), next(iter(twins), None), UNBOUND in words)

    def __str__(self) -> str:
        return " ".join(filter(None, [self.population, self.twins]))

    def n_bound(self, sides: Sequence[Any]) -> int:
        """Number of the sides of a population that are bound; the error is split over them."""
        return 1 if self.twins or self.is_unbound else len(sides)

    def named(self, populations: Sequence[str] | Mapping[str, Any]) -> str:
        """The population that the limit is about, among those measured."""
        name = self.population or next((name for name in GATES if name in populations), None)
        if name is None or name not in populations:
            known = ", ".join(populations) or "none"
            raise SettingError.about("gate", f"must be one of the populations {known}; got {name!r}")
        return name

    def bound(self, share: Share) -> list[Share]:
        """The shares that are bound, of a share and the plain one beside it."""
        if self.twins == "plain":
            return [share.plain or share]
        return [share] if self.twins else share.sides
