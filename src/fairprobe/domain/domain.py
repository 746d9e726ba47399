"""The domain: all inputs allowed, and which parameters are sensitive."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import checked_count, checked_seed
from fairprobe.domain import constraints as rules
from fairprobe.domain import radix
from fairprobe.domain.parameters import Category, Codes, Ordinal, Parameter
from fairprobe.domain.rules import check_once
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    Constraint = Callable[[pd.DataFrame], Any]
    Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]

MAX_COMBINATIONS = 1000
"""Each judged input costs the model that many rows: more is a mistake, not a wish."""

ENUMERABLE = 2_000_000
"""Up to that many families a constrained domain is counted by looking at each."""


class Domain:
    """All inputs allowed: the product of the parameters' domains, less what a constraint forbids.

    Args:
        parameters: in the order of the model's columns.
        sensitive: the names of those that must not change the outcome; or a mapping of the name to the values to
            compare (None: all), which a `Real` or wide `Integer` needs.
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
        from fairprobe.domain.infer import infer_parameters

        return cls(infer_parameters(frame, parameters), sensitive, constraints)

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
        return Domain(self.parameters, self.sensitive)

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
    def combinations(self) -> Codes:
        """The sensitive parameters' codes in all combinations, one a row, in domain order."""
        levels = [range(self.parameters[column].levels) for column in self.sensitive_columns]
        return np.array(list(itertools.product(*levels)), dtype=np.int64)

    @cached_property
    def n_families(self) -> int | None:
        """How many inputs are distinct, sensitive parameters aside; None if constraints leave that unknown."""
        n = math.prod(self.parameters[column].levels for column in self.free_columns)
        if not self.constraints:
            return n
        return rules.count_families(self) if n * len(self.combinations) <= ENUMERABLE else None

    # Inputs as codes

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` inputs drawn uniformly, as codes."""
        if self.constraints:
            return rules.sample(self, n, rng)
        return radix.sample(n, self.levels, rng)

    def sample(self, n: int, *, seed: int | None = None) -> pd.DataFrame:
        """`n` inputs drawn uniformly, as a frame."""
        rng = np.random.default_rng(checked_seed(seed))
        return self.decode(self.sample_codes(checked_count("n", n, at_least=0), rng))

    def families(self, codes: Codes) -> Codes:
        """Every input in all combinations of the sensitive values: a block of rows for each combination, in order."""
        members = np.repeat(codes[None], len(self.combinations), axis=0)
        members[:, :, list(self.sensitive_columns)] = self.combinations[:, None, :]
        return members.reshape(-1, codes.shape[1])

    def enumerate_families(self, size: int) -> Iterator[Codes]:
        """One member of every family, before constraints, in blocks of at most `size`."""
        return rules.enumerate_families(self, size)

    def allows(self, codes: Codes) -> NDArray[np.bool_]:
        """Which of a batch of inputs the constraints allow."""
        return rules.allowed(self, codes)

    def contains(self, codes: Codes) -> NDArray[np.bool_]:
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
            raise DomainError(f"a parameter must be one of {', '.join(self.names)}, got {name!r}")
        return self.parameters[self.names.index(name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return (self.parameters, self.sensitive, self.constraints) == (
            other.parameters,
            other.sensitive,
            other.constraints,
        )

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
        raise DomainError(f"sensitive must be a list of names, got the string {sensitive!r}: write [{sensitive!r}]")
    if not isinstance(sensitive, Iterable):
        raise DomainError(f"sensitive must be a list of names, got {sensitive!r}")
    compared = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive)
    if not compared:
        raise DomainError("sensitive must name one parameter at least, got none")
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
        names = ", ".join(p.name for p in checked) or "no parameter"
        raise DomainError(f"a sensitive parameter must be one of {names}; got {', '.join(map(repr, unknown))}")
    return tuple(_restricted(parameter, compared.get(parameter.name)) for parameter in checked)


def _restricted(parameter: Parameter, values: Sequence[Any] | None) -> Parameter:
    """The parameter with only the values to compare, where they are given."""
    if values is None:
        return parameter
    listed = Ordinal(parameter.name, values)
    outside = [value for value, code in zip(listed.values, parameter.encode(listed.values), strict=True) if code < 0]
    if outside:
        raise DomainError(f"the values to compare must lie in the domain of {parameter.name!r}, got {outside}")
    if isinstance(parameter, (Category, Ordinal)):
        all_values = parameter.categories or parameter.values
        return dataclasses.replace(parameter, values=listed.values, categories=all_values, missing=False, moves=(-1, 1))
    return dataclasses.replace(listed, dtype=parameter.dtype)


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
