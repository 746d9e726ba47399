"""The domain: all inputs allowed, and which parameters are sensitive."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count, checked_seed, nearest
from fairprobe.domain import constraints as rules
from fairprobe.domain import radix
from fairprobe.domain.families import Families, Roles
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.rules import check_once, is_missing
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    Constraint = Callable[[pd.DataFrame], Any]
    Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]

MAX_COMBINATIONS = 1000
"""Each judged input costs the model that many rows: more is a mistake, not a wish."""


class Domain:
    """All inputs allowed: the product of the parameters' domains, less what a constraint forbids.

    Args:
        parameters: in the order of the model's columns.
        sensitive: the names of those that must not change the outcome; or a mapping of the name to the values to
            compare (None: all), which a `Real` or wide `Integer` needs. A missing value is compared only if None is
            listed among the values.
        constraints: callables that take a frame of inputs and return a truth value for each: True where allowed.

    >>> from fairprobe import Category, Integer
    >>> domain = Domain([Integer("age", 17, 90), Category("sex", ["Female", "Male"])], sensitive=["sex"])
    >>> domain.size
    148
    >>> domain.sample(2, seed=0)
       age     sex
    0   79    Male
    1   64  Female
    """

    def __init__(
        self, parameters: Iterable[Parameter], sensitive: Sensitive, constraints: Iterable[Constraint] = ()
    ) -> None:
        compared = _checked_sensitive(sensitive)
        self.parameters = _checked_parameters(parameters, compared)
        self.sensitive = tuple(compared)
        self.constraints = rules.checked(constraints)
        self._roles: Roles | None = None
        _check_combinations(self)

    # What it is

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        sensitive: Sensitive,
        *,
        parameters: Iterable[Parameter] = (),
        constraints: Iterable[Constraint] = (),
    ) -> Domain:
        """Infer kinds, bounds and dtypes from a frame of inputs; `parameters` given replace the inferred by name."""
        from fairprobe.domain.health import health_of_data, warn_of_health
        from fairprobe.domain.infer import infer_parameters

        domain = cls(infer_parameters(frame, parameters), sensitive, constraints)
        warn_of_health(health_of_data(frame, domain), stacklevel=3)
        return domain

    @classmethod
    def from_toml(cls, path: str | PathLike[str], *, constraints: Iterable[Constraint] = ()) -> Domain:
        """Read a domain that `to_toml` wrote, or that you did."""
        from fairprobe.domain.toml import read

        parameters, sensitive = read(path)
        try:
            return cls(parameters, sensitive, constraints)
        except DomainError as error:
            raise DomainError(f"{path}: {error}") from None

    def to_toml(self, path: str | PathLike[str]) -> None:
        """Write the domain to a file; a domain with constraints cannot be, as they are callables."""
        from fairprobe.domain.toml import write

        if self.constraints:
            raise DomainError(
                f"a domain file cannot hold callables, got {len(self.constraints)} constraints: write "
                "domain.without_constraints() and give them again to from_toml(path, constraints=...)"
            )
        write(path, self.parameters, self.sensitive)

    def without_constraints(self) -> Domain:
        """The whole product of the parameters' domains."""
        return self._but(constraints=())

    def with_sensitive(self, sensitive: Sequence[str]) -> Domain:
        """The same inputs, with only some of the sensitive parameters changing over twins."""
        return self._but(sensitive=tuple(sensitive))

    def with_roles(self, roles: Roles) -> Domain:
        """The same inputs, but twins also differ in what changes along with their sensitive values."""
        return self._but(_roles=roles)

    def _but(self, **changes: Any) -> Domain:
        other = object.__new__(Domain)
        kept = ("parameters", "sensitive", "constraints", "_roles")
        other.__dict__.update({name: changes.get(name, getattr(self, name)) for name in kept})
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def levels(self) -> Codes:
        """How many values each parameter may take."""
        return np.array([parameter.levels for parameter in self.parameters], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many inputs there are, before constraints."""
        return math.prod(parameter.levels for parameter in self.parameters)

    @cached_property
    def sensitive_columns(self) -> tuple[int, ...]:
        """The positions of the sensitive parameters."""
        return tuple(self.names.index(name) for name in self.sensitive)

    @cached_property
    def free_columns(self) -> tuple[int, ...]:
        """The positions of the other parameters."""
        return tuple(column for column in range(len(self.parameters)) if column not in self.sensitive_columns)

    @cached_property
    def families(self) -> Families:
        """Who is compared with whom."""
        return Families(self, self._roles)

    @property
    def combinations(self) -> Codes:
        """The sensitive parameters' codes in all combinations, one a row, in domain order."""
        return self.families.combinations

    @property
    def n_families(self) -> int | None:
        """How many inputs are distinct, sensitive parameters aside; None if constraints leave that unknown."""
        return self.families.n

    @property
    def is_restricted(self) -> bool:
        """Whether some inputs are not allowed."""
        return bool(self.constraints) or self._roles is not None

    # Inputs as codes

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` inputs drawn uniformly, as codes."""
        if self.is_restricted:
            return rules.sample(self, n, rng)
        return radix.sample(n, self.levels, rng)

    def sample(self, n: int, *, seed: int | None = None) -> pd.DataFrame:
        """`n` inputs drawn uniformly, as a frame."""
        rng = np.random.default_rng(checked_seed(seed))
        return self.decode(self.sample_codes(checked_count("n", n, at_least=0), rng))

    def allows(self, codes: Codes) -> Mask:
        """Which of a batch of inputs no constraint forbids."""
        allowed = self.families.keep_roles(codes)
        if self.constraints and len(codes):
            allowed &= self.allows_frame(self.decode(codes))
        return allowed

    def allows_frame(self, frame: pd.DataFrame) -> Mask:
        """Which rows no constraint forbids; their values may lie off the grid."""
        return rules.allowed(self.constraints, frame)

    def contains(self, codes: Codes) -> Mask:
        """Which rows that `encode` gave are inputs: every value has a code, and no constraint forbids it."""
        inside = np.asarray((codes >= 0).all(axis=1))
        inside[inside] = self.allows(codes[inside])
        return inside

    def decode(self, codes: Codes) -> pd.DataFrame:
        """A batch of codes, of any integer dtype, as a frame, each column with its dtype."""
        import pandas as pd

        columns = {p.name: p.decode(codes[:, i].astype(np.int64)) for i, p in enumerate(self.parameters)}
        return pd.DataFrame(columns, copy=False)

    def encode(self, rows: pd.DataFrame | NDArray[Any], *, nearest: bool = False) -> Codes:
        """A frame, or an array with its columns in domain order, as codes; -1 where a value is outside the domain.

        A number between two steps of its grid is outside too; with `nearest` it is the nearer step.
        """
        frame = self.as_frame(rows)
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise DataError(f"the data must have a column for every parameter, got none for {', '.join(absent)}")
        codes = [parameter.encode(frame[parameter.name], nearest=nearest) for parameter in self.parameters]
        return np.column_stack(codes)

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with the parameters' columns alone, each in the dtype that the domain has for it.

        A column that does not fit its dtype stays as it is, as rows may lie outside the domain; but what is none of a
        categorical's categories is refused, as a model would take it for missing.
        """
        columns = {p.name: p.typed(frame[p.name]) for p in self.parameters}
        return frame[list(self.names)].assign(**columns)

    def as_frame(self, rows: pd.DataFrame | NDArray[Any]) -> pd.DataFrame:
        """A frame as it is; an array, its columns in domain order, as a frame."""
        import pandas as pd

        if isinstance(rows, pd.DataFrame):
            return rows
        array = np.asarray(rows)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            raise DataError(
                f"an array of inputs must have {len(self.names)} columns in domain order, got the shape {array.shape}"
            )
        return pd.DataFrame(array, columns=list(self.names))

    # How it compares and shows

    def __getitem__(self, name: str) -> Parameter:
        if name not in self.names:
            raise DomainError(
                f"a parameter must be one of {', '.join(self.names)}, got {name!r}{nearest(name, self.names)}"
            )
        return self.parameters[self.names.index(name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        mine, theirs = ((d.parameters, d.sensitive, d.constraints, d._roles) for d in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.parameters, self.sensitive, self.constraints))

    def __repr__(self) -> str:
        size = magnitude(self.size)
        limited = f", {len(self.constraints)} constraints" if self.constraints else ""
        return (
            f"Domain({len(self.parameters)} parameters, {size} inputs, sensitive: {', '.join(self.sensitive)}{limited})"
        )


def magnitude(n: int, exact_below: int = 10**9) -> str:
    """A number of any size, exact while it can be read.

    >>> magnitude(2_000_000), magnitude(4335206400000000), magnitude(10**400)
    ('2,000,000', '4.3e+15', '1.0e+400')
    """
    return f"{n:,}" if n < exact_below else f"{Decimal(n):.1e}"


def _checked_sensitive(sensitive: Sensitive) -> dict[str, Sequence[Any] | None]:
    if isinstance(sensitive, str):
        raise DomainError.about(
            "sensitive", f"must be a list of names, got the string {sensitive!r}: write [{sensitive!r}]"
        )
    if not isinstance(sensitive, Iterable):
        raise DomainError.about("sensitive", f"must be a list of names, got {sensitive!r}")
    compared = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive)
    if not compared:
        raise DomainError.about("sensitive", "must name one parameter at least, got none")
    check_once(sensitive)
    return compared


def _checked_parameters(
    parameters: Iterable[Parameter], compared: Mapping[str, Sequence[Any] | None]
) -> tuple[Parameter, ...]:
    checked = tuple(parameters)
    for parameter in checked:
        if not isinstance(parameter, Parameter):
            raise DomainError(f"a parameter must be an Integer, Real, Category or Ordinal, got {parameter!r}")
    repeated = [name for name, count in Counter(p.name for p in checked).items() if count > 1]
    if repeated:
        raise DomainError(f"parameters must have distinct names, got {', '.join(repeated)} more than once")
    unknown = [name for name in compared if name not in {p.name for p in checked}]
    if unknown:
        names = [p.name for p in checked]
        raise DomainError(
            f"a sensitive parameter must be one of {', '.join(names) or 'no parameter'}; "
            f"got {', '.join(map(repr, unknown))}{nearest(unknown[0], names)}"
        )
    return tuple(_restricted(p, p.name in compared, compared.get(p.name)) for p in checked)


def _restricted(parameter: Parameter, name_is_sensitive: bool, values: Sequence[Any] | None) -> Parameter:
    """A sensitive parameter with only the values to compare: all that are given, else all but the missing one."""
    if not name_is_sensitive:
        return parameter
    if values is None:
        return dataclasses.replace(parameter, missing=False) if parameter.missing else parameter
    if isinstance(values, str) or not isinstance(values, Iterable):
        Ordinal(parameter.name, values)  # which says what is wrong
    unknown = [value for value in values if is_missing(value)]
    missing = bool(unknown)
    if missing and not parameter.missing:
        raise DomainError(
            f"a missing value is compared only where there are any: {parameter.name!r} has none, got {unknown[0]!r} "
            "among the values to compare: leave it out, or give the parameter missing=True"
        )
    listed = Ordinal(parameter.name, [value for value in values if not is_missing(value)])
    outside = [value for value, code in zip(listed.values, parameter.encode(listed.values), strict=True) if code < 0]
    if outside:
        raise DomainError(f"the values to compare must lie in the domain of {parameter.name!r}, got {outside}")
    if isinstance(parameter, (Category, Ordinal)):
        every = parameter.categories or parameter.values
        return dataclasses.replace(parameter, values=listed.values, categories=every, missing=missing, moves=(-1, 1))
    return dataclasses.replace(listed, dtype=parameter.dtype, missing=missing)


def _check_combinations(domain: Domain) -> None:
    for name in domain.sensitive:
        if domain[name].levels < 2:
            raise DomainError(f"a sensitive parameter must have two values at least, got one for {name!r}")
    n = math.prod(domain[name].levels for name in domain.sensitive)
    if n > MAX_COMBINATIONS:
        widest = max(domain.sensitive, key=lambda name: domain[name].levels)
        raise DomainError(
            f"the sensitive parameters may have {MAX_COMBINATIONS:,} combinations at most, got {n:,}: "
            f"list the values to compare, as in sensitive={{{widest!r}: [...]}}"
        )
