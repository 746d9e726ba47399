"""Where a search may go: the domain, or that part of it which a density says is plausible.

To a strategy it is a domain whose constraints also forbid what is less likely than the floor, so that none of them need
know. Who is compared with whom stays the domain's: twins must be allowed, not plausible.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import Families


class Region(Domain):
    """The inputs of a domain that are at least as plausible as asked."""

    density: Density
    floor: float
    whole: Domain

    @classmethod
    def of(cls, domain: Domain, density: Density, floor: float) -> Region:
        """The part of a domain at or above a floor of the density."""
        region = object.__new__(cls)
        region.__dict__.update(domain.__dict__)
        region.density, region.floor, region.whole = density, floor, domain
        return region

    @property
    def is_restricted(self) -> bool:
        """Whether some inputs are not allowed."""
        return True

    @property
    def families(self) -> Families:
        """Those of the whole domain."""
        return self.whole.families

    def allows(self, codes: Codes) -> Mask:
        """Which inputs the search may go to."""
        return self.whole.allows(codes) & self.reaches(codes)

    def reaches(self, codes: Codes) -> Mask:
        """Which inputs are plausible enough."""
        return np.asarray(self.density.log_chances(codes) >= self.floor)

    def takes(self, before: Floats, after: Floats, codes: Codes, rng: np.random.Generator) -> Mask:
        """Which moves to make, from inputs so likely to others so likely: to what is less so only as often as it is.

        There is more room where people are unlikely, and walkers would end up there; by this rule, Metropolis's, they
        are where people are.
        """
        may = (after >= self.floor) & (after - before >= np.log(rng.random(len(after))))
        may[may] = self.whole.allows(codes[may])
        return may

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` inputs drawn from the density, none less plausible than asked."""
        return self.density.sample_codes(n, rng, self.floor)
