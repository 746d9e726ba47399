"""Density: how likely an input is among people like those in the given rows.

The model of the density is simple. Each column is divided into a few bins. Each column has a table of the frequencies
of its bins, given the bins of at most three other columns (`factors.py`). The density can therefore be printed, and is
looked up in tables.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, checked_fraction, checked_seed
from fairprobe.domain import toml
from fairprobe.domain.derived import Extended
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.factors import Bins, Factor, learned
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.restrictions import PATIENCE, THINNEST, draw_until
from fairprobe.errors import DataError, DomainError, SettingError

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = 0.2
"""Fraction of the rows that are held out to define plausibility; chosen."""
MOST_HELD_OUT = 10_000
"""Largest number of rows that are held out to define plausibility; chosen."""

LEAST_ROWS = 20
"""Smallest number of rows, inside the domain, to which a density can be fitted; chosen."""
FEW_HELD_OUT = 100
"""Number of held-out rows below which a remark calls plausibilities coarse; chosen."""

N_MASS = 50_000
"""Number of samples that estimate the probability of the allowed inputs under the density; chosen: known within 1%."""

BATCH = 10_000
"""Largest number of inputs that are drawn from a density at a time; chosen."""


class Density:
    """A probability density of inputs, fitted to rows; made by `Density.fit`.

    >>> import pandas as pd
    >>> from fairprobe import Density, Domain
    >>> rows = pd.DataFrame({"age": [20, 21, 60, 61] * 50, "retired": [0, 0, 1, 1] * 50, "sex": [0] * 100 + [1] * 100})
    >>> domain = Domain.from_frame(rows, sensitive=["sex"])
    >>> density = Density.fit(domain, rows)
    >>> density.plausibility(pd.DataFrame({"age": [21, 21], "retired": [0, 1], "sex": [0, 0]})).round(1).tolist()
    [0.8, 0.0]
    """

    def __init__(
        self,
        domain: Domain,
        bins: Sequence[Bins],
        factors: Sequence[Factor],
        held_out: Floats,
        *,
        n_rows: int,
        n_left_out: int = 0,
    ) -> None:
        self.domain = domain
        self.columns = _modelled(domain)
        """The positions in the domain of the modelled parameters: all but the derived ones."""
        self.bins = tuple(bins)
        self.factors = tuple(factors)
        """The factors (distributions of one column given a few others), sorted so that each column follows its parents.
        Columns are numbered by their place in `columns`."""
        self.held_out = held_out
        """Log probabilities of the held-out rows under the density, sorted."""
        self.n_rows = n_rows
        """Number of rows that the density was fitted to, without the held-out rows."""
        self.n_left_out = n_left_out
        """Number of rows left out because they are outside the domain or forbidden by a constraint."""

    # Making one

    @classmethod
    def fit(cls, domain: Domain, X: pd.DataFrame | NDArray[Any], *, seed: int | None = 0) -> Density:
        """Fit a density to rows. A fifth of the rows, at most 10,000, are held out to define plausibility.

        Args:
            domain: what an input may be; rows outside it, or that its constraints or links forbid, are left out.
            X: the rows, best those that the model was fitted to or is used on.
            seed: seed of the random choice of the rows that are held out.
        """
        codes = checked_domain(domain).rows(X, may_be_empty=True).nearest_codes
        inside = domain.contains(codes)
        n = int(inside.sum())
        if n < LEAST_ROWS:
            raise DataError(
                f"a density needs {LEAST_ROWS} rows at least that are inputs of the domain, got {n:,} of "
                f"{len(codes):,}{_why_outside(domain, codes, inside)}"
            )
        columns = _modelled(domain)
        rows = np.random.default_rng(checked_seed(seed)).permutation(codes[inside])
        n_held = min(MOST_HELD_OUT, max(1, round(HELD_OUT * n)))
        held, fitted = rows[:n_held], rows[n_held:]
        bins = [Bins.of_rows(domain.parameters[column], fitted[:, column]) for column in columns]
        table = np.column_stack([each.bins_of(fitted[:, column]) for column, each in zip(columns, bins, strict=True)])
        factors = learned(table, [len(each) for each in bins])
        made = cls(domain, bins, factors, np.empty(0), n_rows=len(fitted), n_left_out=len(codes) - n)
        made.held_out = np.sort(made.log_chances(held))
        return made

    def within(self, domain: Domain) -> Density:
        """Return the density for another domain with the same parameters.

        The other domain's constraints, links, and sensitive and hidden parameters may differ.
        """
        if domain is self.domain:
            return self
        ours, theirs = ([_identity(each) for each in one.parameters] for one in (self.domain, checked_domain(domain)))
        if ours != theirs:
            names = ", ".join(domain.names)
            differ = [one[0] for one, other in zip(ours, theirs, strict=False) if one != other]
            what = f"the parameters {names}" if domain.names != self.domain.names else f"another {differ[0]!r}"
            raise DomainError(
                "a density must be of the domain that it is used with: it was fitted to "
                f"{', '.join(self.domain.names)}, and this domain has {what}; fit it again, Density.fit(domain, X)"
            )
        counts = {"n_rows": self.n_rows, "n_left_out": self.n_left_out}
        return Density(domain, self.bins, self.factors, self.held_out, **counts)

    @property
    def digest(self) -> str:
        """Return a SHA-256 hash, in hexadecimal, of the domain's text and of all counts of the density."""
        every: Any = (*self.bins, *self.factors)
        parts = [{each.name: getattr(part, each.name) for each in fields(part)} for part in every]
        counts = len(self.domain.restrictions.callables), self.n_rows, self.n_left_out
        content = toml.text_of(self.domain), counts, self.held_out, parts
        return hashlib.sha256(json.dumps(content, default=lambda array: array.tolist()).encode()).hexdigest()

    # What it says of rows

    def sample(self, n: int, *, seed: int | None = None) -> pd.DataFrame:
        """Return a frame of `n` inputs drawn from the density, all of them allowed."""
        rng = np.random.default_rng(checked_seed(seed))
        return self.domain.decode(self.sample_codes(checked_count("n", n, at_least=0), rng))

    def log_density(self, rows: pd.DataFrame | NDArray[Any]) -> pd.Series:
        """Return the log probability of each row among the allowed inputs.

        It is minus infinity for a row outside the domain or forbidden.
        """
        return self._said(rows, self.log_chances, -math.inf, "log_density") - self._log_mass

    def plausibility(self, rows: pd.DataFrame | NDArray[Any]) -> pd.Series:
        """Return, for each row, the fraction of held-out rows that are at most as likely under the density.

        It is 0 for a row outside the domain or forbidden.
        """
        return self._said(rows, self.plausibility_of, 0.0, "plausibility")

    def _said(self, rows: Any, of: Any, otherwise: float, name: str) -> pd.Series:
        import pandas as pd

        given = self.domain.rows(rows, called={"X": "rows"}, may_be_empty=True)
        codes = given.nearest_codes
        inside = self.domain.contains(codes)
        said = np.full(len(codes), otherwise)
        if inside.any():
            said[inside] = of(codes[inside])
        return pd.Series(said, index=given.index, name=name)

    @property
    def health(self) -> tuple[Remark, ...]:
        """Remarks on what limits the use of this density.

        They are on fewer than `FEW_HELD_OUT` held-out rows, and on more than a tenth of the rows left out.
        """
        remarks = []
        n = len(self.held_out)
        if n < FEW_HELD_OUT:
            text = f"{n:,} rows were held out to say what is plausible, so a plausibility is a multiple of {1 / n:.2g}"
            remarks.append(Remark("few-rows", text))
        n_given = self.n_rows + n + self.n_left_out
        if self.n_left_out > n_given / 10:
            text = f"the density leaves out {self.n_left_out:,} of {n_given:,} rows, which the domain does not allow"
            remarks.append(Remark("rows-outside", text))
        return tuple(remarks)

    # Inputs as codes

    def log_chances(self, codes: Codes) -> Floats:
        """Return the log probability of each input, given as codes, as if no rule forbade any input."""
        bins: list[Codes] = []
        total: Floats = np.zeros(len(codes))
        for column, each, known in zip(self.columns, self.bins, self._translations, strict=True):
            values = codes[:, column].astype(np.int64, copy=False)
            if known is not None:
                values = known[values]
                total[values < 0] = -math.inf  # what stands in a row and is none of the domain's values
            bins.append(each.bins_of(values))
            if each.is_mixed:
                total += each.log_parts(values)
        for factor in self.factors:
            total += factor.log_chances(bins)
        return total

    @cached_property
    def _translations(self) -> list[Codes | None]:
        """For each modelled parameter, an array from a code to the domain's own code; None if it has no other codes.

        Codes of values that were added from rows get the nearest own code, or -1 if there is none.
        """
        translations: list[Codes | None] = []
        for parameter in (self.domain.parameters[column] for column in self.columns):
            known = None
            if isinstance(parameter, Extended):
                extras = parameter.base.encode(list(parameter.extras), nearest=True)
                known = np.concatenate([np.arange(parameter.base.levels), extras])
            translations.append(known)
        return translations

    def plausibility_of(self, codes: Codes) -> Floats:
        """Return, for each input, the fraction of held-out rows that are at most as likely; constraints are ignored."""
        return np.searchsorted(self.held_out, self.log_chances(codes), side="right") / len(self.held_out)

    def floor(self, plausibility: float) -> float:
        """Return the smallest log probability with which an input has at least the given plausibility."""
        plausibility = checked_fraction("min_plausibility", plausibility, from_zero=True)
        place = math.ceil(round(plausibility * len(self.held_out), 9))
        return -math.inf if place == 0 else float(self.held_out[place - 1])

    def sample_codes(self, n: int, rng: np.random.Generator, floor: float = -math.inf) -> Codes:
        """Draw `n` allowed inputs, as codes, from the density, with log probabilities of at least `floor`.

        Raise an error if fewer than the part `THINNEST` of at least `PATIENCE` drawn inputs qualify.
        """
        highest = -math.inf

        def may(codes: Codes) -> Mask:
            nonlocal highest
            allowed = np.asarray(self.domain.allows(codes))
            if floor > -math.inf and allowed.any():
                likely = self.log_chances(codes)
                highest = max(highest, float(likely[allowed].max()))
                allowed &= likely >= floor
            return allowed

        def check(n_kept: int, n_drawn: int) -> None:
            if n_drawn >= PATIENCE and n_kept < THINNEST * n_drawn:
                raise self._too_thin(n_kept, n_drawn, highest)

        def draw(n_kept: int, _: int) -> Codes:
            return self._draw(min(BATCH, max(n - n_kept, 1000)), rng)

        return draw_until((n, len(self.domain.levels)), draw, may, check)

    def _draw(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw `n` inputs, as codes, from the density, whether or not constraints allow them."""
        bins: list[Codes] = [np.zeros(n, dtype=np.int64)] * len(self.columns)
        codes = np.zeros((n, len(self.domain.levels)), dtype=np.int64)
        for factor in self.factors:
            place = factor.child
            bins[place] = factor.draw(bins, rng)
            codes[:, self.columns[place]] = self.bins[place].draw(bins[place], rng)
        return self.domain.completed(codes)

    def _too_thin(self, n_kept: int, n_drawn: int, highest: float) -> DomainError | SettingError:
        if highest == -math.inf:
            return DomainError(
                "the constraints and links must allow what the rows are like, got none of "
                f"{n_drawn:,} inputs drawn from the density: loosen them, or fit it to rows that keep them"
            )
        most = np.searchsorted(self.held_out, highest, side="right") / len(self.held_out)
        return SettingError.about(
            "min_plausibility",
            f"must be one that inputs reach, got one that {n_kept:,} of {n_drawn:,} drawn from the density do: the "
            f"highest seen is {most:.4g}",
        )

    @cached_property
    def _log_mass(self) -> float:
        """The log of the fraction of the density's inputs that are allowed, estimated from `N_MASS` drawn inputs."""
        if not self.domain.is_restricted:
            return 0.0
        allowed = self.domain.allows(self._draw(N_MASS, np.random.default_rng(0)))
        return math.log(max(1, int(allowed.sum())) / N_MASS)

    # How it shows

    def describe(self) -> str:
        """Return a text with a line for each column: its number of bins, and its parents.

        The parents are the columns that its distribution depends on, the most informative first.
        """
        names = [self.domain.names[column] for column in self.columns]
        width = max(map(len, names))
        lines = [
            f"  {names[factor.child]:{width}}  {len(self.bins[factor.child]):2} bins"
            + (f" given {', '.join(names[parent] for parent in factor.parents)}" if factor.parents else "")
            for factor in self.factors
        ]
        return "\n".join([f"{self!r}:", *lines])

    def __repr__(self) -> str:
        return (
            f"Density({len(self.columns)} columns, fitted to {self.n_rows:,} rows, held against "
            f"{len(self.held_out):,} others)"
        )


def checked_density(density: Any, domain: Domain) -> Density:
    """Return the density for the given domain; an argument that is not a density is refused."""
    if not isinstance(density, Density):
        raise SettingError.about(
            "density", f"must be a fairprobe.Density, got {type(density).__name__}: see Density.fit(domain, X)"
        )
    return density.within(domain)


def _modelled(domain: Domain) -> list[int]:
    derived = {column for column, _ in domain.derived}
    return [column for column in range(len(domain.parameters)) if column not in derived]


def _identity(parameter: Parameter) -> tuple[Any, ...]:
    """Return the fields of a parameter that must agree for the codes of two parameters to have the same meaning."""
    base = parameter.own
    fields = ("low", "high", "step", "values", "source")
    return (base.name, base.kind, base.missing, *(getattr(base, name, None) for name in fields))


def _why_outside(domain: Domain, codes: Codes, inside: Mask) -> str:
    """Return the end of an error message that names the commonest reason why rows are left out.

    `codes` has the rows' codes, `inside` marks the rows that are inputs of the domain.
    """
    if inside.all():
        return ""
    outside = (codes < 0).sum(axis=0)
    if not outside.any():
        return ": the constraints or links forbid the others"
    name = domain.names[int(outside.argmax())]
    return f": {int(outside.max()):,} have a value of {name!r} that is none of the domain's"
