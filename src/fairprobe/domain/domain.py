"""The domain: which inputs (rows) a model can get, and which of its parameters (columns) are sensitive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask, block_of_rows
from fairprobe.blocks import Column, Items, Sentence, Table, written
from fairprobe.checks import checked_count, checked_seed, nearest
from fairprobe.domain.constraints import Rule, bind, checked, rule_words
from fairprobe.domain.derived import Derived, Held, all_bound, checked_parameters
from fairprobe.domain.expressions import joined, one_of
from fairprobe.domain.families import BLOCK, ENUMERABLE, Families
from fairprobe.domain.links import Link, Links, plain_values
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.restrictions import PATIENCE, Constraint, Restrictions, check_yield, draw_until
from fairprobe.domain.values import check_once
from fairprobe.errors import DomainError, SettingError
from fairprobe.frames import as_pandas
from fairprobe.wording import magnitude, value

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from fairprobe.domain.mining import MinedRule
    from fairprobe.domain.propose import Proposals
    from fairprobe.domain.rows import Rows
    from fairprobe.domain.toml import Content


Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]
"""Sensitive parameters: their names, or a mapping from each name to the values to compare; None stands for all
values."""

MAX_COMBINATIONS = 1000
"""Largest number of combinations of sensitive values; chosen: each judged input costs one model row per combination."""

MIN_EXPECTED = 30.0
"""Default of `mine_constraints`: a rule is mined only if at least this number of rows would break it by chance. Chosen:
with fewer, rows that keep the rule prove too little."""


class Domain:
    """All inputs that are allowed: the product of the parameters' domains, without what a constraint forbids.

    Args:
        parameters: in the order of the model's columns.
        sensitive: the names of the parameters that must not change the outcome; or a mapping from each name to the
            values to compare, where None stands for all. A `Real` or wide `Integer` needs values. A missing value is
            compared only if None is among the values.
        constraints: texts such as "`capital-gain` == 0 or `capital-loss` == 0", which are true of allowed inputs; or
            callables that take a frame of inputs and return a truth value for each.
        links: what changes along with a sensitive value.
        hidden: sensitive parameters that the model does not take. Only linked columns can change its answer then.

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
        compared = checked_sensitive(sensitive)
        self.parameters = checked_parameters(parameters, compared)
        self.sensitive = tuple(compared)
        self.constraints = checked(constraints, self.parameters)
        self.links = tuple(links)
        self.hidden = checked_part("hidden", hidden, self.sensitive)
        check_combinations(self)
        check_restrictions(self)

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
        """Infer a domain from a frame of inputs: kinds, bounds and dtypes of its parameters.

        Args:
            frame: the inputs, without the label: a frame of pandas or polars, a table of pyarrow, or an array, whose
                columns are called x0, x1 and so on.
            sensitive: the columns that must not change the outcome; as a mapping with the values to compare, or None
                for all of them: ``{"sex": None, "age": [25, 45, 65]}``. A category that no row has, as a filter leaves
                behind, is compared only if it is listed.
            parameters: parameters that replace the inferred ones with the same names.
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
        compared = only_seen(frame, own, checked_sensitive(sensitive))
        domain = cls(inferred, compared, constraints, links, hidden)
        warn_of_health(health_of_data(frame, domain), stacklevel=3)
        return domain

    @classmethod
    def from_toml(cls, path: str | PathLike[str], *, constraints: Iterable[Constraint] = ()) -> Domain:
        """Read a domain from a TOML file. A file holds no callables: give those again as `constraints`."""
        from fairprobe.domain.toml import read

        content = read(path)
        try:
            return cls._of(content, constraints)
        except DomainError as error:
            raise DomainError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, content: Content, constraints: Iterable[Constraint] = ()) -> Domain:
        """Return the domain that a file's content describes, with additional constraints."""
        rules: list[Any] = [*content.constraints, *constraints]
        return cls(content.parameters, content.sensitive, rules, content.links, content.hidden)

    def to_toml(self, path: str | PathLike[str]) -> None:
        """Write the domain to a TOML file. Constraints that are callables are refused."""
        from fairprobe.domain.toml import write

        if self.restrictions.callables:
            raise DomainError(
                f"a domain file cannot hold callables, got {len(self.restrictions.callables)} constraints: say them as "
                "text, or write domain.without_constraints() and give them again to from_toml(path, constraints=...)"
            )
        write(path, self)

    def with_constraints(self, constraints: Iterable[str | Rule | Constraint]) -> Domain:
        """Return a copy of the domain with additional constraints, which forbid more inputs."""
        return self._but(constraints=self.constraints + checked(constraints))

    def without_constraints(self) -> Domain:
        """Return a copy of the domain without constraints: the whole product of the parameters' domains."""
        return self._but(constraints=())

    def with_links(self, links: Iterable[Link]) -> Domain:
        """Return a copy of the domain with additional links.

        A link changes another column along with a sensitive value.
        """
        return self._but(links=self.links + tuple(links))

    def without_links(self) -> Domain:
        """Return a copy of the domain without links: twins then differ in the sensitive parameters alone."""
        return self._but(links=())

    def with_derived(self, derived: Iterable[Derived]) -> Domain:
        """Return a copy of the domain in which derived parameters replace the parameters with their names.

        A derived parameter's value follows from the value of another parameter, its source.
        """
        by_name = {parameter.name: parameter for parameter in derived}
        for name in by_name:
            self[name]  # which refuses a name that is none's
            if name in self.sensitive:
                raise DomainError(f"a sensitive parameter must not be derived, got {name!r}")
        return self._but(parameters=all_bound(by_name.get(p.name, p) for p in self.parameters))

    def hiding(self, names: Iterable[str]) -> Domain:
        """Return a copy of the domain in which more sensitive parameters, given by name, are hidden from the model."""
        return self._but(hidden=tuple(dict.fromkeys((*self.hidden, *checked_part("hidden", names, self.sensitive)))))

    def holding(self, rows: pd.DataFrame) -> Domain:
        """Return the domain with its parameters extended by the values of a frame of rows that they lack.

        Sensitive parameters, derived parameters, their sources, and numbers with a shift are not extended.
        """
        shifted = (link.column for link in self.links if link.roles is None)
        kept = {*self.sensitive, *shifted, *(self.names[place] for pair in self.derived for place in pair)}
        held = (p if p.name in kept else Held.of(p, rows[p.name]).parameter for p in self.parameters)
        return self._but(parameters=tuple(held))

    def without_held(self) -> Domain:
        """Return the domain without the parameter values that `holding` added from rows."""
        return self._but(parameters=tuple(parameter.own for parameter in self.parameters))

    @cached_property
    def own_levels(self) -> list[int]:
        """Return the number of values of each parameter, in domain order, without those that `holding` added."""
        return [parameter.own.levels for parameter in self.parameters]

    def with_sensitive(self, sensitive: Sequence[str]) -> Domain:
        """Return the domain with only some of its sensitive parameters, given by name: twins differ in these alone."""
        kept = tuple(checked_sensitive(sensitive))
        checked_part("sensitive", kept, self.sensitive)
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
        """Return rules that the rows (almost) never break, although independent columns would often break them.

        The rules are proposals to read: `domain.with_constraints(rules)` adds them, and `rule.derived` is a parameter
        that follows from another. Rules that name a sensitive parameter come last: they may leave many rows without a
        twin, so that a link (`propose_links`) must go with them.

        Args:
            rows: real ones; a frame, or an array with its columns in domain order.
            min_expected: the number of rows that would break a rule by chance must be at least this.
            tolerance: the fraction of the rows concerned that may break a rule; and never more than 1% of the expected
                number.
            error: the probability of finding any rule where the columns are independent. It is split over all pairs of
                values.
        """
        from fairprobe.domain.mining import mine

        return mine(self, rows, min_expected=min_expected, tolerance=tolerance, error=error)

    def propose_links(self, rows: pd.DataFrame | NDArray[Any], *, error: float = 0.01) -> Proposals:
        """Return links that the rows suggest, such as Wife among women in the role that Husband has among men.

        A value that (almost) never occurs under some sensitive values is matched with another that occurs there, by
        what else is common in their rows. The links are proposals to read and edit: `domain.with_links(links)` adds
        them, and `links.evidence` has the reason for each.

        Args:
            rows: real ones; a frame, or an array with its columns in domain order.
            error: the probability that any value seems absent under a sensitive value although the two are independent.
                It is split over all values.
        """
        from fairprobe.domain.propose import propose

        return propose(self, rows, error=error)

    def part(self, rules: Iterable[Rule]) -> Domain:
        """Return the part of the domain for which additional rules are true, for counting and drawing; it may be empty.

        Unlike a constraint, a rule here does not decide which twins exist: it may exclude whole roles of a link.
        """
        return self._with_fields(constraints=self.constraints + tuple(rules))

    def _but(self, **changes: Any) -> Domain:
        other = self._with_fields(**changes)
        other.constraints = checked(other.constraints, other.parameters)
        check_restrictions(other)
        return other

    def _with_fields(self, **changes: Any) -> Domain:
        other = object.__new__(Domain)
        kept = ("parameters", "sensitive", "constraints", "links", "hidden")
        other.__dict__.update({name: changes.get(name, getattr(self, name)) for name in kept})
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in domain order (the order of the model's columns)."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def levels(self) -> Codes:
        """The number of values of each parameter, in domain order.

        It is 1 for a derived parameter, because its source decides its value.
        """
        return self.restrictions.levels

    @property
    def size(self) -> int:
        """The number of inputs in the domain, whether or not constraints allow them."""
        return math.prod(self.levels.tolist())

    @cached_property
    def n_valid(self) -> int | None:
        """Return the number of inputs that constraints and links allow; None if there are too many to check."""
        if self.restrictions.n is not None or self.size > ENUMERABLE:
            return self.restrictions.n
        blocks = (block_of_rows(number, BLOCK, self.levels.tolist()) for number in range(-(-self.size // BLOCK)))
        return sum(int(self.allows(self.completed(codes)).sum()) for codes in blocks)

    @cached_property
    def sensitive_columns(self) -> tuple[int, ...]:
        """The positions of the sensitive parameters among all parameters, counted from 0."""
        return tuple(self.names.index(name) for name in self.sensitive)

    @cached_property
    def free_columns(self) -> tuple[int, ...]:
        """The positions of the parameters that a search can move: neither sensitive nor derived."""
        fixed = {*self.sensitive_columns, *(column for column, _ in self.derived)}
        return tuple(column for column in range(len(self.parameters)) if column not in fixed)

    @cached_property
    def derived(self) -> tuple[tuple[int, int], ...]:
        """Return (position of a derived parameter, position of its source) for each derived parameter."""
        return tuple(
            (column, self.names.index(parameter.source))
            for column, parameter in enumerate(self.parameters)
            if isinstance(parameter, Derived)
        )

    @cached_property
    def visible(self) -> tuple[str, ...]:
        """The names of the columns that the model takes (all but the hidden ones), in domain order."""
        return tuple(name for name in self.names if name not in self.hidden)

    @property
    def seen(self) -> list[Parameter]:
        """The parameters that the model takes (all but the hidden ones), in domain order."""
        return [self[name] for name in self.visible]

    @cached_property
    def families(self) -> Families:
        """The families of the domain (each input with its twins), which state who is compared with whom."""
        return Families(self, self._links)

    @cached_property
    def _links(self) -> Links | None:
        return Links(self.links, self.parameters, self.sensitive) if self.links else None

    @cached_property
    def restrictions(self) -> Restrictions:
        """The conditions that allowed inputs satisfy: the constraints, and the rules that the links' tables imply."""
        rules = [bind(each, self.parameters) for each in self.constraints if isinstance(each, Rule)]
        callables = [each for each in self.constraints if not isinstance(each, Rule)]
        return Restrictions(self.parameters, rules + (self._links.rules if self._links else []), callables)

    @property
    def combinations(self) -> Codes:
        """All combinations of the sensitive parameters' codes, one per row, in domain order."""
        return self.families.combinations

    @property
    def n_families(self) -> int | None:
        """The number of families with at least one allowed member; None if there are too many to check each one."""
        return self.families.n

    @property
    def is_restricted(self) -> bool:
        """True if constraints or links may forbid inputs."""
        return bool(self.restrictions)

    # Inputs as codes

    def completed(self, codes: Codes) -> Codes:
        """Fill the derived columns of inputs, given as codes, with the codes of their sources.

        The result is a copy, or the given array itself if the domain has no derived parameters.
        """
        if not self.derived:
            return codes
        completed = codes.copy()
        for column, source in self.derived:
            completed[:, column] = codes[:, source]
        return completed

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw `n` allowed inputs uniformly, as codes: one row per input, one column per parameter."""
        if not self.restrictions.callables:
            return self.completed(self.restrictions.candidates(n, rng))
        return self._sample_by_rejection(n, rng)

    def _sample_by_rejection(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw candidates, as codes, and keep the allowed ones until there are `n`.

        It is needed for callable constraints, which must be called to know which inputs they allow.
        """

        def draw(n_kept: int, n_drawn: int) -> Codes:
            # While there is nothing yet, more at a time.
            more = 0 if n_kept else min(n_drawn, 65_536, PATIENCE - n_drawn)
            return self.completed(self.restrictions.candidates(max(n, 1024, more), rng))

        def check(n_kept: int, n_drawn: int) -> None:
            if not n_kept and n_drawn >= self.size and self.n_families == 0:
                raise DomainError(f"the constraints must allow an input, got none of {self.size:,}: loosen them")
            check_yield(n_kept, n_drawn)

        return draw_until((n, len(self.levels)), draw, self.allows, check)

    def sample(self, n: int, *, seed: int | None = None) -> pd.DataFrame:
        """Draw `n` allowed inputs uniformly, as a frame of values."""
        rng = np.random.default_rng(checked_seed(seed))
        return self.decode(self.sample_codes(checked_count("n", n, at_least=0), rng))

    def allows(self, codes: Codes) -> Mask:
        """Return a boolean mask of the inputs, given as codes, that no constraint or link forbids."""
        return self.restrictions.allows(codes, lambda some: self.decode(self.completed(some)))

    def contains(self, codes: Codes) -> Mask:
        """Return a boolean mask of the rows that are allowed inputs, from the codes that `encode` returns.

        Such a row has a value of its parameter in every column, and neither a constraint nor a link forbids it.
        """
        inside = np.asarray((codes >= 0).all(axis=1))
        inside[inside] = self.allows(codes[inside])
        return inside

    def decode(self, codes: Codes) -> pd.DataFrame:
        """Return a frame of values from codes of any integer dtype; each column has its parameter's dtype."""
        import pandas as pd

        columns = {p.name: p.decode(codes[:, i].astype(np.int64)) for i, p in enumerate(self.parameters)}
        return pd.DataFrame(columns, copy=False)

    def encode(self, rows: Any, *, nearest: bool = False) -> Codes:
        """Return the codes of rows, by row, then parameter; -1 for a value outside the domain.

        The rows are a frame, or an array with its columns in domain order. A number between two steps of its grid is
        outside too; with `nearest` it gets the code of the nearer step.
        """
        from fairprobe.domain.rows import frame_of

        frame = frame_of(self, rows)
        # A derived parameter's code is its source's, whatever stands in its column.
        sources = [p.source if isinstance(p, Derived) else p.name for p in self.parameters]
        return np.column_stack([self[name].encode(frame[name], nearest=nearest) for name in sources])

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the parameters' columns of a frame of rows, each column converted to its parameter's dtype.

        A column that does not fit the dtype stays as it is, because rows may lie outside the domain. A value that is
        not a category of a categorical is refused, because a model would take it for a missing one.
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
        """Check real rows with their labels, weights and groups, and return them as one `Rows` object.

        Args:
            X: the rows: a frame with a column for every parameter, in any order, or an array with its columns in
                domain order.
            y: their labels; some may be missing.
            sample_weight: a finite number for each row, none negative, not all zero.
            groups: the name of the person, household or other unit that each row belongs to.
            called: the caller's own names for these arguments, for messages, where they differ: {"X": "towards"}.
            may_be_empty: accept a frame without rows.
        """
        from fairprobe.domain.rows import rows_of

        return rows_of(self, X, y, sample_weight, groups, called, may_be_empty)

    def as_frame(self, rows: Any) -> pd.DataFrame:
        """Return rows as a pandas frame.

        They may be a frame of pandas or polars, a table of pyarrow, or an array with its columns in domain order.
        """
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

    def described(self) -> dict[str, Any]:
        """Return the domain as values for JSON; `n_valid` is None where the allowed inputs are too many to count."""
        return {
            "parameters": [
                {"name": p.name, "kind": p.kind, "words": p.words(), "is_sensitive": p.name in self.sensitive}
                for p in self.parameters
            ],
            "constraints": list(map(rule_words, self.constraints)),
            "links": [link.words() for link in self.links],
            "hidden": list(self.hidden),
            "n_inputs": self.size,
            "n_valid": self.n_valid,
        }

    def _repr_html_(self) -> str:
        """Return the domain as HTML for a notebook: its parameters, the sensitive ones first, its links and rules."""
        told = self.described()
        parameters = sorted(told["parameters"], key=lambda each: not each["is_sensitive"])
        columns: dict[str, Column] = {"Parameter": "name", "Kind": "kind", "Values": "words"}
        columns["Role"] = lambda each: "sensitive" if each["is_sensitive"] else ""
        rules = Items(tuple(map(value, (*told["links"], *told["constraints"]))))
        return written([Sentence(repr(self)), Table.of_records(parameters, columns), rules], "notebook")

    def __repr__(self) -> str:
        text = (
            f"{len(self.parameters)} parameters, {magnitude(self.size)} inputs, sensitive: {', '.join(self.sensitive)}"
        )
        text += f", {len(self.constraints)} constraints" if self.constraints else ""
        text += f", links: {', '.join(link.column for link in self.links)}" if self.links else ""
        text += f", hidden: {', '.join(self.hidden)}" if self.hidden else ""
        return f"Domain({text})"


def checked_domain(domain: Any) -> Domain:
    """Return the argument if it is a `Domain`; anything else, such as a frame given by mistake, is refused."""
    if not isinstance(domain, Domain):
        raise SettingError.about(
            "domain", f"must be a fairprobe.Domain, got {type(domain).__name__}: see Domain.from_frame"
        )
    return domain


def checked_sensitive(sensitive: Sensitive) -> dict[str, Sequence[Any] | None]:
    """Return a mapping from each sensitive parameter to its values to compare; None stands for all values."""
    if isinstance(sensitive, str) or not isinstance(sensitive, Iterable):
        got = f"the string {sensitive!r}: write [{sensitive!r}]" if isinstance(sensitive, str) else repr(sensitive)
        raise DomainError.about("sensitive", f"must be a list of names, got {got}")
    compared = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive)
    if not compared:
        raise DomainError.about("sensitive", "must name one parameter at least, got none")
    check_once(sensitive)
    return compared


def checked_part(argument: str, part: Iterable[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return the names in `part` as a tuple; a name that is not a sensitive parameter's is refused."""
    if isinstance(part, str) or not isinstance(part, Iterable):
        raise DomainError.about(argument, f"must be a list of names, got {part!r}")
    names = tuple(part)
    for name in names:
        if name not in sensitive:
            known = f"must name sensitive parameters, {', '.join(sensitive)}"
            raise DomainError.about(argument, f"{known}; got {name!r}{nearest(name, sensitive)}")
    return names


def check_combinations(domain: Domain) -> None:
    """Refuse a sensitive parameter with fewer than two values, and more than `MAX_COMBINATIONS` combinations."""
    levels = {name: domain[name].levels for name in domain.sensitive}
    for name, n in levels.items():
        if n < 2:
            raise DomainError(f"a sensitive parameter must have two values at least, got one for {name!r}")
    n = math.prod(levels.values())
    if n > MAX_COMBINATIONS:
        widest = max(levels, key=levels.__getitem__)
        raise DomainError(
            f"the sensitive parameters may have {MAX_COMBINATIONS:,} combinations at most, got {n:,}: "
            f"list the values to compare, as in sensitive={{{widest!r}: [...]}}"
        )


def check_restrictions(domain: Domain) -> None:
    """Refuse constraints and links of a domain that allow no input, alone or together."""
    if domain.restrictions.n == 0:
        size = magnitude(domain.size)
        for rule in [each for each in domain.constraints if isinstance(each, Rule)]:
            if Restrictions(domain.parameters, [bind(rule, domain.parameters)], ()).n == 0:
                raise DomainError(f"constraint {rule.text!r} must allow an input, got none of {size}")
        what = "the constraints and links" if domain.links else "the constraints"
        raise DomainError(f"{what} must allow an input together, got none of {size}: loosen them")
    for link in domain.links if domain.constraints else ():
        compared = plain_values(domain[link.sensitive])
        for _, own, player in link.cells() if link.roles else ():
            pair = joined("and", [one_of(link.sensitive, [own]), one_of(link.column, [player])])
            link.hold_to(
                own not in compared or domain.restrictions.also(pair).n != 0,
                f"must not contradict the constraints: they allow no input with {link.sensitive}={own} and "
                f"{link.column}={player}",
            )
