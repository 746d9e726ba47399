"""Populations: the inputs that a share is about, drawn or real rows, judged by the model in batches of families.

Other modules count them. The oracle decides which are discriminatory, and `domain.families` who is compared with whom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import nearest
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.families import RowMembers
from fairprobe.domain.rows import Rows
from fairprobe.errors import DataError, SettingError
from fairprobe.model.adapters import columns_of
from fairprobe.model.asking import Answering, Asker, spread
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of, unsteadiness
from fairprobe.oracle import ROWS_A_CALL, Oracle

if TYPE_CHECKING:
    import pandas as pd

SAMPLES = 1
"""First part of the spawn keys of an estimate's random streams, so that they differ from those of a search with the
same seed."""

FEW = 256
"""Number of real rows, spread over all, on whose families the rounding of the model's outputs is measured; chosen."""


@dataclass(frozen=True)
class JudgedFamilies:
    """A batch of inputs with the model's outputs for all members of their families (the input and its twins)."""

    outputs: NDArray[Any]
    """Outputs by member, then input (then class)."""
    present: Mask | None
    """Boolean mask by member, then input: True if the member is compared and allowed; None if all are."""
    members: Codes
    """Codes of the sensitive values, by member, then sensitive parameter; -1 where the input's own value stays."""
    own: Codes
    """Codes of the inputs' own sensitive values, by input, then parameter; -1 where the value is not compared."""
    kinds: Codes | None
    """Number by member, then input; members with equal numbers are equal rows to the model; None if all differ."""
    rows: RowMembers | None = None
    """The rows with their members, if the inputs are real rows; None for drawn inputs."""
    counted: Mask | None = None
    """Boolean mask by input: True if it belongs to the population, so that it counts; None if all do."""
    second: NDArray[Any] | None = None
    """Outputs after hits were asked about again, by member, then input; None if there was no second query."""
    n_contradicted: int = 0
    """Number of discriminatory inputs whose outputs differed by more than rounding when asked about again."""
    contradicted: Any = None
    """Rows sent to the model whose second output differed, as codes or as a frame; None if there are none."""


class Answered(NamedTuple):
    """Answers about the linked members of a batch of inputs, of which some are plain members as well."""

    inputs: Codes | None
    """The inputs as codes; None for real rows."""
    outputs: NDArray[Any]
    """Outputs by member, then input."""
    are_plain: Mask
    """Boolean mask by member, then input: True where the member was asked about and is a plain member too."""

    @classmethod
    def of(cls, batch: JudgedFamilies, oracle: Oracle, inputs: Codes | None) -> Answered:
        """Return the answers in a judged batch; `inputs` are its inputs as codes, or None for real rows."""
        if batch.rows is not None:
            are_plain = batch.rows.are_plain
        else:
            assert inputs is not None
            are_plain = oracle.families.of(inputs).are_plain
        return cls(inputs, batch.outputs, are_plain if batch.present is None else are_plain & batch.present)

    def completed(self, present: Mask, ask: Callable[[Mask], NDArray[Any]]) -> NDArray[Any]:
        """Return the outputs of the present members; `ask` gets a mask of those that are not known, and answers."""
        lacking = present & ~self.are_plain
        if not self.are_plain.any():  # these outputs may be empty, and then they have no dtype of answers
            return spread(present, lambda: ask(present))
        if not lacking.any():
            return self.outputs
        known = self.are_plain.reshape(*present.shape, *[1] * (self.outputs.ndim - 2))
        return np.where(known, self.outputs, spread(lacking, lambda: ask(lacking)))


def judged(
    oracle: Oracle,
    inputs: Codes | pd.DataFrame,
    sets: Sequence[Sequence[str]] | None = None,
    *,
    twice: bool = False,
    known: Answered | None = None,
) -> JudgedFamilies:
    """Ask the model about the families of inputs (codes) or real rows (a frame), and return its outputs.

    Real rows have the members that the given sets of sensitive parameters need. With `twice`, the model is asked again
    about each family with any discriminatory pair, because the compared members differ by set and are counted later.
    Members whose answers are `known` are not asked about, unless to ask again.
    """
    families, asker = oracle.families, oracle.asker
    if isinstance(inputs, np.ndarray):
        members, sensitive = families.of(inputs), inputs[:, list(oracle.domain.sensitive_columns)]
        if known is not None and known.inputs is not None and np.array_equal(known.inputs, inputs):
            outputs = known.completed(members.allowed, lambda mask: asker.ask(members.rows[mask.ravel()]))
        else:
            outputs = asker.ask_members(members)
        batch = JudgedFamilies(outputs, members.present, families.combinations, sensitive, members.kinds)
    else:
        rows = families.of_frame(inputs, sets)
        if known is None:
            outputs = _ask_rows(asker, rows)
        else:
            outputs = known.completed(rows.present, lambda mask: asker.ask_frame(rows.joined(mask)))
        batch = JudgedFamilies(outputs, rows.present, rows.members, rows.own, rows.kinds, rows)
    if not twice:
        return batch

    def ask(some: Codes) -> NDArray[Any]:
        return asker.ask_members(members.part(some)) if batch.rows is None else _ask_rows(asker, batch.rows, some)

    hits = np.flatnonzero(oracle.are_discriminatory(batch.outputs, batch.present))
    if not len(hits):
        return batch
    second, other = oracle.second_outputs(batch.outputs, batch.present, hits, ask)
    n = int(other.any(axis=0).sum())
    contradicted = None
    if n:
        contradicted = members.rows[other.ravel()] if batch.rows is None else batch.rows.joined(other)
    return replace(batch, second=second, n_contradicted=n, contradicted=contradicted)


def _ask_rows(asker: Answering, members: RowMembers, rows: Codes | slice = slice(None)) -> NDArray[Any]:
    """Return the model's outputs by member, then row, for the families of `rows`; 0 or empty for absent members."""
    present = np.zeros_like(members.present)
    present[:, rows] = members.present[:, rows]
    return spread(present, lambda: asker.ask_frame(members.joined(present)))[:, rows]


def sides_of(domain: Domain, linked: bool | None) -> list[Domain]:
    """Return one domain for each kind of twins to compare: with links, without links, or both, the linked one first.

    `linked` True or False chooses one kind. None compares both if the domain has links, but only the linked one if all
    sensitive parameters are hidden.
    """
    checked_domain(domain)
    if linked is not None and not isinstance(linked, bool):
        raise SettingError.about("linked", f"must be True, False or None, got {linked!r}")
    if linked and not domain.links:
        raise SettingError.about("linked", "needs a domain with links, got none: see Domain.with_links")
    if not domain.links or linked:
        return [domain]
    if linked is False:
        return [domain.without_links()]
    # What is hidden changes nothing that the model sees, unless it is linked: there is no plain side.
    return [domain] if set(domain.sensitive) == set(domain.hidden) else [domain, domain.without_links()]


def bound(population: Any, domain: Domain) -> Any:
    """Return the argument `population`; a density is bound to the constraints and links of the domain, for drawing."""
    return checked_density(population, domain) if isinstance(population, Density) else population


def known_rows(rows: Rows) -> tuple[pd.DataFrame, Mask]:
    """Return the rows with known sensitive values, as a frame with the domain's dtypes, and a mask over all rows."""
    known = rows.known
    if not known.any():
        names = ", ".join(rows.domain.sensitive)
        raise DataError(f"a row must have a known value of {names}, got none among {len(rows):,} rows")
    return rows.take(known).typed, known


def as_taken(model: Any, domain: Domain) -> Domain:
    """Return the domain with those sensitive columns hidden that the model was not fitted on and so does not take."""
    columns = columns_of(model, domain)
    lacking = [name for name in domain.sensitive if columns is not None and name not in columns]
    return domain.hiding([*domain.hidden, *lacking]) if set(lacking) - set(domain.hidden) else domain


class Population:
    """The inputs that a share is about, drawn at random or real rows, and the oracle that judges them by a model."""

    def __init__(
        self,
        model: Any,
        domain: Domain,
        population: Any,
        threshold: float | None,
        output: str,
        batch: str | None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        may_lack: bool = False,
    ) -> None:
        self.model = model
        self.batch = batch
        self.domain = checked_domain(domain)
        self.density = population if isinstance(population, Density) else None
        self.name = "density" if self.density is not None else population if isinstance(population, str) else "rows"
        self.rows: pd.DataFrame | None = None
        self.places = np.zeros(0, dtype=np.int64)
        """Position in the given frame of each row in `rows`; rows with an unknown sensitive value are left out."""
        self.n_left_out = 0
        """Number of given rows that are left out because a sensitive value is unknown."""
        self.weights: Floats | None = None
        self.total_weight = 0.0
        """Sum of the weights of all given rows, with known or unknown sensitive values."""
        self.groups: Codes | None = None
        """For each row in `rows`, the number of its group (person or unit); None without groups."""
        self._some: pd.DataFrame | None = None
        """Family members of a few of the rows, on which the rounding of the model's outputs is measured."""
        if isinstance(population, str | Density):
            beside = {"sample_weight": sample_weight, "groups": groups}
            for name in (name for name, values in beside.items() if values is not None):
                raise SettingError.about(name, f"are for a population of rows, got population={population!r}")
            if self.density is None and population not in ("domain", "valid"):
                rule = "must be 'domain', 'valid', a frame of rows or a Density"
                near = nearest(population, ("domain", "valid"))
                raise SettingError.about("population", f"{rule}, got {population!r}{near}")
        else:
            called = {"X": "population"}
            self._take(self.domain.rows(population, sample_weight=sample_weight, groups=groups, called=called))
        # The population "domain" is the whole product; "valid" and real rows keep to the constraints.
        if self.name == "domain" and self.domain.constraints:
            self.domain = self.domain.without_constraints()
        asker = Asker(model, as_taken(model, self.domain) if may_lack else self.domain, output=output, batch=batch)
        asker.domain = self.domain
        self.twice = not is_repeatable(model)
        """True if hits must be asked about again: the model is not known to repeat itself."""
        self.oracle = Oracle(asker, threshold, resolution_of(asker, rows=self._some))

    def _take(self, given: Rows) -> None:
        """Set the population to those of the given rows whose sensitive values are known, with weights and groups."""
        self.rows, known = known_rows(given)
        self.places, self.n_left_out = np.flatnonzero(known), len(known) - len(self.rows)
        if given.weights is not None:
            self.weights, self.total_weight = given.weights[known], float(given.weights.sum())
        if given.group_numbers is not None:
            self.groups = given.group_numbers[known]
        some = np.unique(np.linspace(0, len(self.rows) - 1, FEW).round().astype(np.int64))
        self._some = self.domain.families.of_frame(self.rows.iloc[some]).frame

    @property
    def asker(self) -> Asker:
        """Return the asker of the oracle, which counts queries and asks the model itself; it must be no stand-in."""
        assert isinstance(self.oracle.asker, Asker)
        return self.oracle.asker

    @cached_property
    def unsteady(self) -> tuple[Remark, ...]:
        """Remarks on a model whose answers change, found by asking about some inputs or rows again on first use.

        Empty for a model that is known to repeat itself, and for answers by a stand-in.
        """
        asker = self.oracle.asker
        return unsteadiness(asker, rows=self._some) if self.twice and isinstance(asker, Asker) else ()

    def quiet(self) -> AbstractContextManager[Any]:
        """Return a context in which scikit-learn does not check inputs for NaN; it has no effect on real rows.

        Real rows may hold any value, so the model must check them.
        """
        return self.oracle.asker.quiet() if self.rows is None else nullcontext()

    def families(self, n: int, seed: int) -> Iterator[JudgedFamilies]:
        """Yield batches of judged families: of all rows if it consists of rows, else of `n` inputs drawn by `seed`."""
        return (self.judged(part) for part in self.parts(n, seed))

    def parts(self, n: int, seed: int) -> Iterator[Any]:
        """Yield the batches of inputs in order, not yet judged: frames of rows, or codes of `n` drawn inputs."""
        return (self.shard(number, n, seed) for number in range(self.n_shards(n)))

    def n_shards(self, n: int | None) -> int:
        """Return the number of batches that hold all rows, `n` drawn inputs, or, for None, every family."""
        n = n if self.rows is None else len(self.rows)
        if n is None:
            return self.oracle.families.n_blocks(self.oracle.batch_size(ROWS_A_CALL))
        return math.ceil(n / self.oracle.batch_size(n))

    def shard(self, number: int, n: int | None, seed: int) -> Any:
        """Return batch `number` (from 0) of the population: a frame if it consists of real rows, else codes.

        `n` is the number of inputs to draw in all batches together, each batch with its own random numbers; None goes
        through one input of each family of the domain instead.
        """
        if self.rows is not None:
            size = self.oracle.batch_size(len(self.rows))
            return self.rows.iloc[number * size : (number + 1) * size]
        if n is None:
            return self.oracle.families.block(number, self.oracle.batch_size(ROWS_A_CALL))
        size = self.oracle.batch_size(n)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SAMPLES, number)))
        return (self.density or self.domain).sample_codes(min(size, n - number * size), rng)

    def judged(
        self, part: Any, sets: Sequence[Sequence[str]] | None = None, known: Answered | None = None
    ) -> JudgedFamilies:
        """Ask the model about the families of a batch of inputs, but for `known` members, and return its outputs."""
        return judged(self.oracle, part, sets, twice=self.twice, known=known)

    def as_each_member(self, batch: JudgedFamilies) -> Iterator[JudgedFamilies]:
        """Yield a judged batch once for each member of its families, with that member as the input that counts.

        Members that the constraints forbid are not counted.
        """
        for position, combination in enumerate(batch.members):
            counted = None if batch.present is None else batch.present[position]
            yield replace(batch, own=np.broadcast_to(combination, batch.own.shape), counted=counted)
            batch = replace(batch, n_contradicted=0, contradicted=None)  # counted once
