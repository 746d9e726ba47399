"""The survey of a population: it counts judged families, and makes shares with intervals and remarks of the counts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.domain.families import RowMembers
from fairprobe.errors import HealthWarning, RunError
from fairprobe.estimation.bounds.clustered import clustered, some
from fairprobe.estimation.bounds.intervals import exact_bounds, mean_interval
from fairprobe.estimation.counts import Count, Record, RowAnswers, combination_words
from fairprobe.estimation.favourable import Favourable, classes_of, named_outcomes
from fairprobe.estimation.populations import JudgedFamilies, Population
from fairprobe.estimation.rates import rated_outcome, rates_of
from fairprobe.estimation.share import Share
from fairprobe.model.measuring import SAFETY, are_ties

Interval = tuple[float, float]
Bounds = tuple[float, float, float, float]
"""The ends of the two-sided interval of a share, low and high, then its one-sided bounds, lower and upper."""

MOST_TOLD = 3
"""Largest number of failed shards whose reasons a remark lists; chosen."""


class Survey:
    """Counter of a population's judged families, for some sets of sensitive parameters, that gives a share for each."""

    def __init__(
        self,
        population: Population,
        sets: Sequence[tuple[str, ...]],
        confidence: float,
        seed: int,
        n_samples: int = 1000,
        favourable: Favourable | None = None,
        rows_are: str = "unknown",
    ) -> None:
        self.population = population
        self.confidence = confidence
        self.seed = seed
        self.counts = [Count(population.oracle, names, n_samples) for names in sets]
        self.detail = ""
        self.health: list[Remark] = []
        """Remarks (names and texts) that every share of this population gets."""
        self._favourable = favourable
        self._rows_are = rows_are
        self._clock = Clock()
        self._n_contradicted = self._n_at_threshold = 0
        self._contradicted: Any = None
        self._n_lost = 0
        """Number of inputs without a result: an upper bound counts all of them as cases, a lower bound none."""
        self._lost: list[str] = []
        self._hits: list[tuple[Any, Any, Any]] = []
        """For each batch of real rows with hits, three frames: the hits, their twins, and the outputs by member."""
        self._answers: list[RowAnswers] = []
        self._n_rows = 0
        """Number of real rows that were judged or lost so far."""

    def lose(self, n: int, why: str) -> None:
        """Count `n` inputs as lost because their shard kept failing; refused for rows with weights or groups."""
        if self._is_clustered:
            raise RunError(f"no row may be left out where they do not count alike, got {n:,} without an answer: {why}")
        self._n_lost += n
        self._n_rows += n
        self._lost.append(why)

    @property
    def _is_clustered(self) -> bool:
        return self.population.weights is not None or self.population.groups is not None

    def add(self, batch: JudgedFamilies) -> list[Mask]:
        """Count a judged batch; return for each set a mask over its comparable inputs alone: True for hits."""
        self._n_contradicted += batch.n_contradicted
        if self._contradicted is None:
            self._contradicted = batch.contradicted
        oracle = self.population.oracle
        if oracle.threshold and not oracle.is_label:
            present = self.counts[-1].compared(batch)
            self._n_at_threshold += int(oracle.are_at_threshold(batch.outputs, present).sum())
        hits = [count.add(batch) for count in self.counts]
        if batch.rows is not None:
            self._note_rows(batch, batch.rows)
        return hits

    def _note_rows(self, batch: JudgedFamilies, members: RowMembers) -> None:
        """Record real rows, judged by the last set: outputs of the comparable ones, and the hits with their twins."""
        import pandas as pd

        oracle, count = self.population.oracle, self.counts[-1]
        rows, n = np.flatnonzero(count.counted[-1]), len(oracle.families)  # what is held comes behind the combinations
        present = count.compared(batch)
        assert present is not None
        words = tuple(combination_words(oracle.domain, place) for place in range(n))
        second = None if batch.second is None else batch.second[:n, rows]
        places = self.population.places[self._n_rows + rows]
        index = members.given.index
        answers = RowAnswers(index[rows], places, words, batch.outputs[:n, rows], present[:n, rows], second)
        self._answers.append(answers)
        self._n_rows += len(batch.own)
        places = np.flatnonzero(count.are_hits[-1][rows])
        if not len(places):
            return
        rows = rows[places]
        is_own = (members.members[:, None] == batch.own[rows][None]).all(axis=2)
        own = np.where(is_own.any(axis=0), is_own.argmax(axis=0), present[:, rows].argmax(axis=0))
        ends = oracle.other_end(batch.outputs[:, rows], present[:, rows], own)
        told = [answers.of_row(int(place)) for place in places]
        frame = pd.DataFrame(told, index=index[rows], columns=list(words), dtype=object)
        self._hits.append((members.given.iloc[rows], members.as_members(ends, rows).set_axis(index[rows]), frame))

    def shares(
        self, method: str | None = None, bounds: Sequence[Interval] | None = None, remarks: Iterable[Remark] = ()
    ) -> list[Share]:
        """Return a share for each set of sensitive parameters, when all is counted; `remarks` are added to each share.

        `bounds` gives an interval for each set, which serves as two-sided interval and as one-sided bounds. By default
        they are exact bounds for a number of inputs fixed in advance; with method "exact", both ends are the share
        itself.
        """
        self.health += [*self._remarks(), *remarks]
        method = method or ("sample" if self.population.rows is None else "rows")
        if method == "exact":
            bounds = [(count.value, count.value) if count.n else (0.0, 1.0) for count in self.counts]
        if bounds is not None:
            return [self._share(count, method, (*both, *both)) for count, both in zip(self.counts, bounds, strict=True)]
        if self._is_clustered:
            return [self._clustered(count) for count in self.counts]
        each = ((count, exact_bounds(count.hits, count.n, self.confidence, self._n_lost)) for count in self.counts)
        return [self._share(count, method, found) for count, found in each]

    def _clustered(self, count: Count) -> Share:
        """Return the share of rows with weights or groups, with the bounds that `clustered` gives."""
        counted, hits = np.concatenate(count.counted), np.concatenate(count.are_hits)
        weights, groups = some(self.population.weights, counted), some(self.population.groups, counted)
        said = clustered(hits[counted], weights, groups, self.confidence)
        design = ["weighted"] if weights is not None else []
        design += [f"in {len(np.unique(groups)):,} groups"] if groups is not None else []
        return self._share(
            count,
            "rows",
            (*said.two_sided, *said.one_sided),
            value=said.share,
            design=" ".join(design),
            weight_compared=None if weights is None else float(weights.sum()) / self.population.total_weight,
            health=(*self.health, *said.remarks()),
        )

    def _share(self, count: Count, method: str, bounds: Bounds, **fields: Any) -> Share:
        """Return a count as a `Share`; `bounds` are its low, high, lower and upper.

        `fields` are further fields of the share, by name, which replace those taken from the count.
        """
        population, oracle, rates, outcomes = self.population, self.population.oracle, count.rates, count.outcomes()
        if method in ("sample", "sequential"):
            fields["history"] = np.cumsum(rates) / np.arange(1, len(rates) + 1)
        if method == "sample" and len(rates) > 1 and not self._n_lost:
            fields["mean_low"], fields["mean_high"] = mean_interval(rates, self.confidence)
        if method != "exact":
            fields["record"] = Record(tuple(count.bits))
        if count is self.counts[-1] and self._answers:
            fields |= self._rows(count)
        if population.rows is not None and self._rows_are == "training":
            bounds = (math.nan,) * 4  # these rows represent nobody else
        if not oracle.is_label:
            outcomes = named_outcomes(outcomes, classes_of(population.model))
        share = Share(
            count.value,
            *bounds,
            n=count.n,
            hits=count.hits,
            method=method,
            population=population.name,
            confidence=self.confidence,
            sensitive=count.sensitive,
            threshold=oracle.threshold,
            seconds=self._clock.seconds,
            seed=self.seed,
            detail=self.detail,
            n_left_out=population.n_left_out,
            n_not_comparable=count.n_not_comparable,
            n_lost=self._n_lost,
            resolution=oracle.resolution,
            outcomes=outcomes,
            worse_off=None if self._favourable is None else self._favourable.worse_off(outcomes),
            linked=tuple(link.column for link in population.domain.links if link.sensitive in count.sensitive),
            hidden=population.domain.hidden,
            rows_are=self._rows_are,
            sent=getattr(oracle.asker, "sent", None),
            n_queries=oracle.asker.n_queries,
            health=tuple(self.health),
        )
        return replace(share, **fields)

    def _rows(self, count: Count) -> dict[str, Any]:
        """Return the discriminatory rows and the record as fields of a `Share`: cases, twins, answers, record."""
        import pandas as pd

        parts = zip(*self._hits, strict=True)
        hits = {name: pd.concat(part) for name, part in zip(("cases", "twins", "answers"), parts, strict=False)}
        answers = RowAnswers.joined(self._answers)
        return {**hits, "record": Record(tuple(count.bits), answers), **self._rates(count, answers)}

    def _rates(self, count: Count, answers: RowAnswers) -> dict[str, Any]:
        """Return the fields of a `Share` on rates by combination; empty for numbers that are no probabilities."""
        population = self.population
        rated = rated_outcome(self._favourable, population.model, answers, population.oracle.is_label)
        if rated is None:
            return {}
        counted = np.concatenate(count.counted)
        weights, groups = some(population.weights, counted), some(population.groups, counted)
        good, is_count = rated.got(answers.outputs), self._rows_are == "training"
        rates = rates_of(answers, good, self.confidence, weights=weights, groups=groups, is_count=is_count)
        return {"rates": rates, "rated": str(rated.word), "is_last_class": self._favourable is None}

    def _remarks(self) -> Iterator[Remark]:
        """Yield remarks on the shares: on lost inputs, on rounding, and on hits that the model contradicted."""
        oracle = self.population.oracle
        yield from oracle.remarks
        if self._lost:
            text = f"{self._n_lost:,} inputs were left out, as their shards kept failing: all of them count as cases "
            why = "; ".join(self._lost[:MOST_TOLD])
            yield Remark("incomplete", f"{text}for the upper bounds and none for the lower; {why}")
        if oracle.resolution > oracle.threshold / 1000:
            text = f"the model's outputs for one row differ by up to {oracle.resolution / SAFETY:.2g} with the size of "
            above = f"{oracle.threshold + oracle.resolution:.3g}"
            yield Remark("rounding", f"{text}the batch, so a gap counts above {above}")
        if self._n_at_threshold:
            text = f"{self._n_at_threshold:,} gaps are the threshold {oracle.threshold:g} but for rounding"
            why = "as 1.1 - 1.0 is above 0.1 and 0.3 - 0.2 is not: choose a threshold between the gaps that occur"
            yield Remark("at-threshold", f"{text}, {why}")
        unsteady = dict(self.population.unsteady)
        if self._n_contradicted:
            hits = (
                f"{self._n_contradicted:,} hits got another output when asked about again, and do not count unless "
                "they were hits both times"
            )
            model, batch = self.population.model, self.population.batch
            if oracle.is_label and are_ties(model, oracle.domain, batch, self._contradicted):
                unsteady["rounding-decides"] = f"{hits}: they lie so near to the boundary that rounding decides"
            else:
                unsteady["stochastic-model"] = f"the model answers the same row differently: {hits}"
        yield from map(Remark, unsteady, unsteady.values())


def warn_of(shares: Iterable[Share], *, stacklevel: int = 3) -> None:
    """Warn of each remark of some shares once, as a HealthWarning at the line `stacklevel` calls up."""
    every = (side for share in shares for side in share.sides)
    for name, message in dict.fromkeys(remark for share in every for remark in share.health):
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=stacklevel)
