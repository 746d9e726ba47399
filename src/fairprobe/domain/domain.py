"""The domain: all inputs allowed, and which parameters are sensitive."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count, checked_seed, nearest
from fairprobe.domain import radix
from fairprobe.domain.constraints import PATIENCE, THINNEST, Constraint, Restrictions, Rule, bind, checked, too_thin
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import Compare, Constant, Join, Name
from fairprobe.domain.extended import Extended, Held
from fairprobe.domain.families import BLOCK, ENUMERABLE, Families
from fairprobe.domain.links import Link, Links, plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.values import check_once, is_missing
from fairprobe.errors import DomainError, SettingError
from fairprobe.frames import as_pandas
from fairprobe.wording import magnitude

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from fairprobe.domain.mining import MinedRule
    from fairprobe.domain.propose import Proposals
    from fairprobe.domain.rows import Rows
    from fairprobe.domain.toml import Content

    Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]

MAX_COMBINATIONS = 1000
"""Each judged input costs the model that many rows: more is a mistake, not a wish."""

MIN_EXPECTED = 30.0
"""A rule is mined from rows if as many at least would break it by chance."""


class Domain:
    """All inputs allowed: the product of the parameters' domains, less what a constraint forbids.

    Args:
        parameters: in the order of the model's columns.
        sensitive: the names of those that must not change the outcome; or a mapping of the name to the values to
            compare (None: all), which a `Real` or wide `Integer` needs. A missing value is compared only if None is
            listed among the values.
        constraints: texts such as "`capital-gain` == 0 or `capital-loss` == 0", true of what is allowed; or callables
            that take a frame of inputs and return a truth value for each.
        links: what changes along with a sensitive value.
        hidden: sensitive parameters that the model does not take: only what is linked to them can carry them.

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
        self,
        parameters: Iterable[Parameter],
        sensitive: Sensitive,
        constraints: Iterable[str | Rule | Constraint] = (),
        links: Iterable[Link] = (),
        hidden: Iterable[str] = (),
    ) -> None:
        compared = _checked_sensitive(sensitive)
        self.parameters = _checked_parameters(parameters, compared)
        self.sensitive = tuple(compared)
        self.constraints = checked(constraints, self.parameters)
        self.links = tuple(links)
        self.hidden = _checked_part("hidden", hidden, self.sensitive)
        _check_combinations(self)
        _check_restrictions(self)

    # What it is

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        sensitive: Sensitive,
        *,
        parameters: Iterable[Parameter] = (),
        constraints: Iterable[str | Rule | Constraint] = (),
        links: Iterable[Link] = (),
        hidden: Iterable[str] = (),
    ) -> Domain:
        """Infer kinds, bounds and dtypes from a frame of inputs.

        Args:
            frame: the inputs, without the label: a frame of pandas or polars, a table of pyarrow, or an array, whose
                columns are called x0, x1 and so on.
            sensitive: the columns that must not change the outcome; as a mapping with the values to compare, or None
                for all of them: ``{"sex": None, "age": [25, 45, 65]}``. A category that no row has, as a filter leaves
                behind, is compared only if it is listed.
            parameters: those that are not as they would be inferred; they replace the inferred by name.
            constraints: what must hold of an input: texts, rules, or callables of a frame.
            links: what changes along with a sensitive value.
            hidden: the sensitive columns that the model does not take.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [17, 90, 30], "sex": ["Female", "Male", "Male"]})
        >>> Domain.from_frame(frame, sensitive=["sex"])
        Domain(2 parameters, 148 inputs, sensitive: sex)
        """
        from fairprobe.domain.health import health_of_data, warn_of_health
        from fairprobe.domain.infer import infer_parameters, only_seen

        frame, given = as_pandas(frame), tuple(parameters)
        inferred = infer_parameters(frame, given)
        own = (each for each in inferred if each not in given)
        compared = only_seen(frame, own, _checked_sensitive(sensitive))
        domain = cls(inferred, compared, constraints, links, hidden)
        warn_of_health(health_of_data(frame, domain), stacklevel=3)
        return domain

    @classmethod
    def from_toml(cls, path: str | PathLike[str], *, constraints: Iterable[Constraint] = ()) -> Domain:
        """Read a domain that `to_toml` wrote, or that you did; callables, which no file holds, are given again."""
        from fairprobe.domain.toml import read

        content = read(path)
        try:
            return cls._of(content, constraints)
        except DomainError as error:
            raise DomainError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, content: Content, constraints: Iterable[Constraint] = ()) -> Domain:
        """What a file holds, and constraints that no file can."""
        rules: list[Any] = [*content.constraints, *constraints]
        return cls(content.parameters, content.sensitive, rules, content.links, content.hidden)

    def to_toml(self, path: str | PathLike[str]) -> None:
        """Write the domain to a file; constraints that are callables cannot be."""
        from fairprobe.domain.toml import write

        if self.restrictions.callables:
            raise DomainError(
                f"a domain file cannot hold callables, got {len(self.restrictions.callables)} constraints: say them as "
                "text, or write domain.without_constraints() and give them again to from_toml(path, constraints=...)"
            )
        write(path, self)

    def with_constraints(self, constraints: Iterable[str | Rule | Constraint]) -> Domain:
        """The same, less what these forbid too."""
        return self._but(constraints=self.constraints + checked(constraints))

    def without_constraints(self) -> Domain:
        """The whole product of the parameters' domains."""
        return self._but(constraints=())

    def with_links(self, links: Iterable[Link]) -> Domain:
        """The same inputs, but twins also differ in what these change along with their sensitive values."""
        return self._but(links=self.links + tuple(links))

    def without_links(self) -> Domain:
        """Twins that differ in the sensitive parameters alone, and nothing that links forbid."""
        return self._but(links=())

    def with_derived(self, derived: Iterable[Derived]) -> Domain:
        """The same, with parameters that follow from another in the place of those of their names."""
        by_name = {parameter.name: parameter for parameter in derived}
        for name in by_name:
            self[name]  # which refuses a name that is none's
            if name in self.sensitive:
                raise DomainError(f"a sensitive parameter must not be derived, got {name!r}")
        return self._but(parameters=_all_bound(by_name.get(p.name, p) for p in self.parameters))

    def hiding(self, names: Iterable[str]) -> Domain:
        """The same, with sensitive parameters that the model does not take."""
        return self._but(hidden=tuple(dict.fromkeys((*self.hidden, *_checked_part("hidden", names, self.sensitive)))))

    def holding(self, rows: pd.DataFrame) -> Domain:
        """The same domain, whose inputs may also hold what stands in these rows and is none of its values.

        Not in sensitive parameters, nor where others follow from a value: those of derived ones, and numbers that a
        link shifts.
        """
        sources = {self.names[source] for _, source in self.derived}
        shifted = {link.column for link in self.links if link.roles is None}
        kept = {*self.sensitive, *sources, *shifted}
        kept |= {p.name for p in self.parameters if isinstance(p, Derived)}
        held = (p if p.name in kept else Held.of(p, rows[p.name]).parameter for p in self.parameters)
        return self._but(parameters=tuple(held))

    @cached_property
    def own_levels(self) -> list[int]:
        """How many values each parameter has that are its own, not those of rows."""
        return [p.base.levels if isinstance(p, Extended) else p.levels for p in self.parameters]

    def with_sensitive(self, sensitive: Sequence[str]) -> Domain:
        """The same inputs, with only some of the sensitive parameters changing over twins."""
        kept = tuple(_checked_sensitive(sensitive))
        _checked_part("sensitive", kept, self.sensitive)
        return self._but(
            sensitive=kept,
            links=tuple(link for link in self.links if link.sensitive in kept),
            hidden=tuple(name for name in self.hidden if name in kept),
        )

    # What data tell of it

    def mine_constraints(
        self,
        rows: pd.DataFrame | NDArray[Any],
        *,
        min_expected: float = MIN_EXPECTED,
        tolerance: float = 0.002,
        error: float = 0.01,
    ) -> list[MinedRule]:
        """Rules that rows never, or almost never, break, though they would break them often by chance.

        They are proposals to read: `domain.with_constraints(rules)` makes use of them, and `rule.derived` is a
        parameter that follows from another. Those that name a sensitive parameter come last: they may leave many rows
        without a twin, and belong with a link (`propose_links`).

        Args:
            rows: real ones; a frame, or an array with its columns in domain order.
            min_expected: as many rows at least would have to break a rule by chance.
            tolerance: the part of the rows that a rule speaks about which may break it; never more than 1% of the count
                expected.
            error: the chance that a rule is found where columns have nothing to do with each other, split over all
                pairs of values.
        """
        from fairprobe.domain.mining import mine

        return mine(self, rows, min_expected=min_expected, tolerance=tolerance, error=error)

    def propose_links(self, rows: pd.DataFrame | NDArray[Any], *, error: float = 0.01) -> Proposals:
        """Links that rows suggest: which value plays, among women, the part that `Husband` plays among men.

        Values that occur under some sensitive values and (almost) never under others are matched by what else goes
        along with them. A proposal to read and edit: `domain.with_links(links)` makes use of it; `links.evidence` says
        what each rests on.

        Args:
            rows: real ones; a frame, or an array with its columns in domain order.
            error: the chance that a value is taken for one that does not occur under a sensitive value, where the two
                have nothing to do with each other, split over all that are looked at.
        """
        from fairprobe.domain.propose import propose

        return propose(self, rows, error=error)

    def part(self, rules: Iterable[Rule]) -> Domain:
        """The inputs that rules are true of, to count them and to draw from: a region, which may be empty.

        Other than with constraints, nothing is said of who may exist: a region may leave out whole roles of a link.
        """
        return self._with_fields(constraints=self.constraints + tuple(rules))

    def _but(self, **changes: Any) -> Domain:
        other = self._with_fields(**changes)
        other.constraints = checked(other.constraints, other.parameters)
        _check_restrictions(other)
        return other

    def _with_fields(self, **changes: Any) -> Domain:
        other = object.__new__(Domain)
        kept = ("parameters", "sensitive", "constraints", "links", "hidden")
        other.__dict__.update({name: changes.get(name, getattr(self, name)) for name in kept})
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def levels(self) -> Codes:
        """How many values each parameter may take; one that is derived has no choice."""
        return self.restrictions.levels

    @property
    def size(self) -> int:
        """How many inputs there are, before constraints."""
        return math.prod(self.levels.tolist())

    @cached_property
    def n_valid(self) -> int | None:
        """How many inputs are allowed; None where that is too many to be looked at one by one."""
        if self.restrictions.n is not None or self.size > ENUMERABLE:
            return self.restrictions.n
        blocks = (np.arange(first, min(first + BLOCK, self.size)) for first in range(0, self.size, BLOCK))
        inputs = (np.column_stack(np.unravel_index(index, self.levels.tolist())) for index in blocks)
        return sum(int(self.allows(self.completed(codes)).sum()) for codes in inputs)

    @cached_property
    def sensitive_columns(self) -> tuple[int, ...]:
        """The positions of the sensitive parameters."""
        return tuple(self.names.index(name) for name in self.sensitive)

    @cached_property
    def free_columns(self) -> tuple[int, ...]:
        """The positions of the parameters that can be moved: neither sensitive nor derived."""
        fixed = {*self.sensitive_columns, *(column for column, _ in self.derived)}
        return tuple(column for column in range(len(self.parameters)) if column not in fixed)

    @cached_property
    def derived(self) -> tuple[tuple[int, int], ...]:
        """The positions of the derived parameters, each with that of its source."""
        return tuple(
            (column, self.names.index(parameter.source))
            for column, parameter in enumerate(self.parameters)
            if isinstance(parameter, Derived)
        )

    @cached_property
    def visible(self) -> tuple[str, ...]:
        """The names of the columns that the model takes, in order."""
        return tuple(name for name in self.names if name not in self.hidden)

    @property
    def seen(self) -> list[Parameter]:
        """The parameters that the model takes, in order."""
        return [self[name] for name in self.visible]

    @cached_property
    def hidden_places(self) -> list[int]:
        """Which of the sensitive parameters are hidden, by their place among these."""
        return [place for place, name in enumerate(self.sensitive) if name in self.hidden]

    @cached_property
    def families(self) -> Families:
        """Who is compared with whom."""
        return Families(self, self._links)

    @cached_property
    def _links(self) -> Links | None:
        return Links(self.links, self.parameters, self.sensitive) if self.links else None

    @cached_property
    def restrictions(self) -> Restrictions:
        """All that forbids an input: constraints, and what the links' tables say."""
        rules = [bind(each, self.parameters) for each in self.constraints if isinstance(each, Rule)]
        callables = [each for each in self.constraints if not isinstance(each, Rule)]
        return Restrictions(self.parameters, rules + (self._links.rules if self._links else []), callables)

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
        return bool(self.restrictions)

    # Inputs as codes

    def completed(self, codes: Codes) -> Codes:
        """The same inputs with their derived columns filled in; the array itself where there are none."""
        if not self.derived:
            return codes
        completed = codes.copy()
        for column, source in self.derived:
            completed[:, column] = codes[:, source]
        return completed

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` inputs drawn uniformly, as codes."""
        if not self.restrictions:
            return self.completed(radix.sample(n, self.levels, rng))
        if not self.restrictions.callables:
            return self.completed(self.restrictions.candidates(n, rng))
        return self._sample_by_rejection(n, rng)

    def _sample_by_rejection(self, n: int, rng: np.random.Generator) -> Codes:
        """Of callables nothing is known but what they say of inputs."""
        kept = [np.empty((0, len(self.levels)), dtype=np.int64)]
        n_kept = n_drawn = 0
        while n_kept < n:
            if not n_kept and n_drawn >= self.size and self.n_families == 0:
                raise DomainError(f"the constraints must allow an input, got none of {self.size:,}: loosen them")
            if n_drawn >= PATIENCE and n_kept < THINNEST * n_drawn:
                raise too_thin(n_kept, n_drawn)
            # While there is nothing yet, more at a time.
            more = 0 if n_kept else min(n_drawn, 65_536, PATIENCE - n_drawn)
            candidates = self.completed(self.restrictions.candidates(max(n, 1024, more), rng))
            kept.append(candidates[self.allows(candidates)])
            n_kept += len(kept[-1])
            n_drawn += len(candidates)
        return np.concatenate(kept)[:n]

    def sample(self, n: int, *, seed: int | None = None) -> pd.DataFrame:
        """`n` inputs drawn uniformly, as a frame."""
        rng = np.random.default_rng(checked_seed(seed))
        return self.decode(self.sample_codes(checked_count("n", n, at_least=0), rng))

    def allows(self, codes: Codes) -> Mask:
        """Which of a batch of inputs no constraint forbids."""
        return self.restrictions.allows(codes, lambda some: self.decode(self.completed(some)))

    def allows_frame(self, frame: pd.DataFrame) -> Mask:
        """Which rows no constraint forbids; their values may lie off the grid."""
        return self.restrictions.allows_rows(frame)

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

    def encode(self, rows: Any, *, nearest: bool = False) -> Codes:
        """A frame, or an array with its columns in domain order, as codes; -1 where a value is outside the domain.

        A number between two steps of its grid is outside too; with `nearest` it is the nearer step.
        """
        from fairprobe.domain.rows import frame_of

        frame = frame_of(self, rows)
        # A derived parameter's code is its source's, whatever stands in its column.
        sources = [p.source if isinstance(p, Derived) else p.name for p in self.parameters]
        return np.column_stack([self[name].encode(frame[name], nearest=nearest) for name in sources])

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with the parameters' columns alone, each in the dtype that the domain has for it.

        A column that does not fit its dtype stays as it is, as rows may lie outside the domain; but what is none of a
        categorical's categories is refused, as a model would take it for missing.
        """
        columns = {p.name: p.typed(frame[p.name]) for p in self.parameters}
        return frame[list(self.names)].assign(**columns)

    def rows(
        self,
        X: Any,
        *,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        called: Mapping[str, str] | None = None,
        may_be_empty: bool = False,
    ) -> Rows:
        """Check real rows and all that belongs to them, once.

        Args:
            X: the rows: a frame with a column for every parameter, in any order, or an array with its columns in
                domain order.
            y: their labels; some may be missing.
            sample_weight: a finite number for each, none negative, not all zero.
            groups: whose each row is, by a name.
            called: the caller's own names for these arguments, for messages, where they differ: {"X": "towards"}.
            may_be_empty: accept a frame without rows.
        """
        from fairprobe.domain.rows import rows_of

        return rows_of(
            self, X, y=y, sample_weight=sample_weight, groups=groups, called=called, may_be_empty=may_be_empty
        )

    def as_frame(self, rows: Any) -> pd.DataFrame:
        """A frame as it is; one of polars, a table of pyarrow, or an array with its columns in domain order, as one."""
        return as_pandas(rows, self.names)

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
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.parameters, self.sensitive, self.constraints, self.links, self.hidden

    def __repr__(self) -> str:
        parts = [
            f"{len(self.parameters)} parameters, {magnitude(self.size)} inputs, sensitive: {', '.join(self.sensitive)}"
        ]
        parts += [f"{len(self.constraints)} constraints"] if self.constraints else []
        parts += [f"links: {', '.join(link.column for link in self.links)}"] if self.links else []
        parts += [f"hidden: {', '.join(self.hidden)}"] if self.hidden else []
        return f"Domain({', '.join(parts)})"


def checked_domain(domain: Any) -> Domain:
    """The domain, if it is one: a frame is often given in its place."""
    if not isinstance(domain, Domain):
        raise SettingError.about(
            "domain", f"must be a fairprobe.Domain, got {type(domain).__name__}: see Domain.from_frame"
        )
    return domain


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
    given = tuple(parameters)
    for parameter in given:
        if not isinstance(parameter, Parameter):
            raise DomainError(f"a parameter must be an Integer, Real, Category or Ordinal, got {parameter!r}")
    repeated = [name for name, count in Counter(p.name for p in given).items() if count > 1]
    if repeated:
        raise DomainError(f"parameters must have distinct names, got {', '.join(repeated)} more than once")
    unknown = [name for name in compared if name not in {p.name for p in given}]
    if unknown:
        names = [p.name for p in given]
        raise DomainError(
            f"a sensitive parameter must be one of {', '.join(names) or 'no parameter'}; "
            f"got {', '.join(map(repr, unknown))}{nearest(unknown[0], names)}"
        )
    return _all_bound(_restricted(p, p.name in compared, compared.get(p.name)) for p in given)


def _all_bound(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Parameters, of which the derived ones know their source's values."""
    by_name = {parameter.name: parameter for parameter in parameters}
    return tuple(_bound(p, by_name) if isinstance(p, Derived) else p for p in by_name.values())


def _bound(derived: Derived, parameters: Mapping[str, Parameter]) -> Derived:
    """A derived parameter that knows its source's values."""
    source = parameters.get(derived.source)
    if source is None or isinstance(source, Derived):
        near = nearest(derived.source, [name for name in parameters if name != derived.name])
        raise DomainError(
            f"parameter {derived.name!r}: source must name a parameter that is not derived, "
            f"got {derived.source!r}{near}"
        )
    return derived.bound(source)


def _checked_part(argument: str, part: Iterable[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Some of the sensitive parameters."""
    if isinstance(part, str) or not isinstance(part, Iterable):
        raise DomainError.about(argument, f"must be a list of names, got {part!r}")
    names = tuple(part)
    for name in names:
        if name not in sensitive:
            raise DomainError.about(
                argument,
                f"must name sensitive parameters, {', '.join(sensitive)}; got {name!r}{nearest(name, sensitive)}",
            )
    return names


def _check_restrictions(domain: Domain) -> None:
    """Rules and links must make sense together: each alone allows something, and so do all of them."""
    if not domain.constraints and not domain.links:
        return
    together = domain.restrictions
    if together.n == 0:
        for rule in [each for each in domain.constraints if isinstance(each, Rule)]:
            if Restrictions(domain.parameters, [bind(rule, domain.parameters)], ()).n == 0:
                raise DomainError(f"constraint {rule.text!r} must allow an input, got none of {magnitude(domain.size)}")
        raise DomainError(
            f"the constraints{' and links' if domain.links else ''} must allow an input together, got none of "
            f"{magnitude(domain.size)}: loosen them"
        )
    for link in domain.links if domain.constraints else ():
        _check_agrees(domain, link)


def _check_agrees(domain: Domain, link: Link) -> None:
    """No constraint may forbid what a link's table says is played."""
    compared = plain_values(domain[link.sensitive])
    for role in (link.roles or {}).values():
        for value, player in role.items():
            if value not in compared:
                continue
            pair = Join(
                "and",
                (
                    Compare("==", Name(link.sensitive), Constant(value)),
                    Compare("==", Name(link.column), Constant(player)),
                ),
            )
            if domain.restrictions.also(pair).n == 0:
                raise DomainError(
                    f"the link of {link.column!r} to {link.sensitive!r} must not contradict the constraints: they "
                    f"allow no input with {link.sensitive}={value} and {link.column}={player}"
                )


def _restricted(parameter: Parameter, name_is_sensitive: bool, values: Sequence[Any] | None) -> Parameter:
    """A sensitive parameter with only the values to compare: all that are given, else all but the missing one."""
    if not name_is_sensitive:
        return parameter
    if isinstance(parameter, Derived):
        raise DomainError(
            f"a sensitive parameter must not be derived, got {parameter.name!r}: name {parameter.source!r}"
        )
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
    # With a missing value it is read from a file as one of those listed, whose categories are said.
    every = listed.values if missing else ()
    return dataclasses.replace(listed, dtype=parameter.dtype, missing=missing, categories=every)


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
