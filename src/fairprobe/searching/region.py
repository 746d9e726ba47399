"""The region of a search: the part of the domain that is plausible by a density.

To a strategy it is a domain with one more constraint, so strategies need not know of densities. Families are those of
the whole domain: twins must be allowed, not plausible.
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
        """The part of a domain whose inputs are at least this likely."""
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
        """Which moves to make, given the log chances of the inputs before and after, by the rule of Metropolis.

        A move to a less likely input is made only in proportion to how likely it is. Otherwise walkers would end up
        where people are unlikely, as there is more room.
        """
        may = (after >= self.floor) & (after - before >= np.log(rng.random(len(after))))
        may[may] = self.whole.allows(codes[may])
        return may

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` inputs drawn from the density, none less plausible than asked."""
        return self.density.sample_codes(n, rng, self.floor)
