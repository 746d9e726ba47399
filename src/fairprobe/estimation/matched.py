"""Matched twins: how many people would get another outcome at the same place in another group's distribution.

They answer the question for an attribute that the model does not take. `matching` says how people are moved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import check_names, checked_count, checked_seed
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.rows import Rows
from fairprobe.domain.values import plain_or_none
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.estimation.bounds.intervals import checked_confidence, split_confidence
from fairprobe.estimation.favourable import classes_of, in_order, read_favourable
from fairprobe.estimation.group_rates import FEWEST, group_rates
from fairprobe.estimation.independence import boosted
from fairprobe.estimation.matched_result import Matched, Pair
from fairprobe.estimation.matching import Binned, GroupMove
from fairprobe.estimation.populations import FEW, as_taken
from fairprobe.estimation.proxies import auc_of, wilson
from fairprobe.estimation.share import checked_role
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of, unsteadiness
from fairprobe.oracle import ROWS_A_CALL, Oracle
from fairprobe.wording import listed, percent, shown

if TYPE_CHECKING:
    import pandas as pd

N_DRAWS = 20
"""Default number of twins that are drawn for each person; from the design."""

N_PLACEBOS = 3
"""Number of placebos, pairs of groups formed at random, whose mean flip probability is the floor; chosen."""

LISTED_FROM = 0.9
"""Smallest flip probability with which a person is listed; from the design."""

MOST_GROUPS = 10
"""Largest number of groups of which all pairs are compared; chosen, as each pair takes its own queries."""

PEOPLE = 2_000
"""Number of people whose twins are asked about together; chosen to bound the memory."""

NAMES = "age birth birthdate birthday born citizenship country dob ethnic ethnicity foreign gender nationality race sex"
"""Words in the name of a column that stays unchanged unless the user says what stays; from the design."""

MATCHED = 3
"""First part of the spawn keys of the random streams, so that they differ from those of estimates and searches with the
same seed; chosen."""

TOLD_APART = 0.1
"""Largest difference between two areas under the curve (of all columns, and of kept columns alone) of a classifier of
the groups, up to which the groups count as not told apart; chosen."""

REPRODUCED = 0.8
"""Smallest part of the observed difference that twins must reproduce to be left without a remark; from the design."""

MOST_TRIED = 4_000
"""Largest number of rows of each group from which a classifier learns to tell groups apart; chosen."""

RARELY = 0.01
"""Part of the people above which a remark says that values they keep do not occur in the other group; chosen."""

NOISE = 0.25
"""Part of the share that a placebo may flip without a remark; chosen."""

LEFT_OUT = 0.1
"""Part of the rows that may be left out without a remark; chosen."""

NOTICED = 0.1
"""Difference of a frequency between groups that the tests must be able to show, else a remark says so; chosen."""


def matched_share(
    model: Any,
    domain: Domain,
    X: Any,
    *,
    keep: Sequence[str] | None = None,
    attribute: str | None = None,
    favourable: Any = None,
    confidence: float = 0.95,
    seed: int | None = 0,
    output: str = "label",
    threshold: float | None = None,
    batch: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    rows_are: str | None = None,
    n_draws: int = N_DRAWS,
) -> Matched:
    """Estimate how many people get another outcome as a matched twin: at the same place in the other group.

    The twins are learned from the rows, without their weights. The interval is for the people that the rows were drawn
    from. It takes as given which columns were found to depend on which. Small numbers of rows add flips: the part that
    a placebo (two groups formed at random) flips is taken off the lower end.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be. Its sensitive parameters that the model does not take are `hidden`.
        X: real rows, with the sensitive columns.
        keep: columns that stay unchanged. By default the other sensitive ones and those named like age or race.
        attribute: the sensitive column to compare; by default the only hidden one.
        favourable: the favourable outcome, as for `estimate`, to say who is worse off.
        confidence: confidence of all intervals of shares together, and of all observed rates together.
        seed: the same seed and settings give the same result. None draws one, which the result records.
        output: the outputs that are compared: "label", "score", "proba" or "value".
        threshold: two outputs differ if their gap is above it. Labels have 0 by default.
        batch: "array" or "frame", the form of the model's batches.
        sample_weight: the weight of each row.
        groups: the person that each row belongs to.
        rows_are: "held-out", "training" or "unknown", as for `estimate`.
        n_draws: number of twins drawn for each person.
    """
    import pandas as pd

    domain, attribute = _attribute_of(model, checked_domain(domain), attribute)
    confidence, seed, role = checked_confidence(confidence), checked_seed(seed), checked_role(rows_are)
    kept = _kept(domain, attribute, keep)
    rows = domain.rows(X, sample_weight=sample_weight, groups=groups)
    people = _People(rows, attribute, kept)
    asked = _Asked(Asker(model, domain, output=output, batch=batch), people, threshold, favourable)
    n_draws = checked_count("n_draws", n_draws, at_least=2)
    chosen = list(combinations(people.compared, 2))
    each = split_confidence(confidence, len(chosen))
    pairs = [
        _GroupComparison(people, asked, codes, len(chosen), n_draws, (seed, place)).pair(each, role)
        for place, codes in enumerate(chosen)
    ]
    first, *others = sorted(pairs, key=lambda pair: math.inf if math.isnan(pair.value) else -pair.value)
    observed = None
    if asked.outcome is not None:
        observed = group_rates(
            attribute,
            people.own,
            people.names,
            asked.outputs == asked.outcome,
            asked.outcome,
            confidence,
            weights=people.given_weights,
            units=people.units,
            is_count=role == "training",
        )
    health = [*_doubts_of_rows(people, asked, keep), *(remark for pair in pairs for remark in pair.health)]
    return Matched(
        attribute=attribute,
        value=first.value,
        low=max(pair.low for pair in pairs),
        high=max(pair.high for pair in pairs),
        n=first.n,
        worse_off=first.worse_off,
        pairs=(first, *others),
        keep=tuple(kept),
        keep_given=keep is not None,
        observed=observed,
        people=rows.frame[first.flips >= LISTED_FROM],
        flips=pd.Series(first.flips, index=rows.index, name="flip_probability"),
        confidence=confidence,
        threshold=asked.oracle.threshold,
        n_draws=n_draws,
        n_queries=asked.asker.n_queries,
        n_left_out=int((people.own < 0).sum()),
        rows_are=role,
        seed=seed,
        health=tuple(dict.fromkeys(health)),
    )


class _People:
    """The rows of people, their groups (values of the attribute), and their columns as numbers."""

    def __init__(self, rows: Rows, attribute: str, kept: Sequence[str]) -> None:
        self.frame, self.domain, self.attribute, self.kept = rows.typed, rows.domain, attribute, kept
        self.given_weights, self.units = rows.weights, rows.group_numbers
        self.weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        parameter = self.domain[attribute]
        self.own = np.where(self.weights > 0, parameter.encode(self.frame[attribute]), -1)
        """Code of each row's group; -1 if it is unknown or not compared, or the row has no weight."""
        self.counts = np.bincount(self.own[self.own >= 0], minlength=parameter.levels)
        self.names = [shown(plain_or_none(each)) for each in parameter.decode(np.arange(parameter.levels))]
        self.compared: list[int] = np.flatnonzero(self.counts >= FEWEST).tolist()
        if len(self.compared) < 2:
            got = listed(f"{n:,} of {name}" for name, n in zip(self.names, self.counts, strict=True))
            raise DataError(f"matched twins need two values of {attribute!r} with {FEWEST} rows each, got {got}")
        if len(self.compared) > MOST_GROUPS:
            rule = f"must list at most {MOST_GROUPS} values of {attribute!r} to compare, got {len(self.compared)}"
            raise SettingError.about("sensitive", f"{rule}: say sensitive={{{attribute!r}: [...]}}")


class _Asked:
    """The model's outputs for the people as they are, and how outputs are compared."""

    def __init__(self, asker: Asker, people: _People, threshold: float | None, favourable: Any) -> None:
        self.asker = asker
        n = len(people.frame)
        self.some = people.frame.iloc[np.unique(np.linspace(0, n - 1, FEW).round().astype(np.int64))]
        self.oracle = Oracle(asker, threshold, resolution_of(asker, rows=self.some))
        self.outputs = self.ask(people.frame)
        self.good = read_favourable(favourable, asker.model, asker.output, [self.outputs])
        self.outcome = None if self.good is None or not self.oracle.is_label else self.good.label
        if self.good is None and self.oracle.is_label:
            self.outcome = (classes_of(asker.model) or in_order(self.outputs.tolist()))[-1]

    def ask(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the model's outputs for rows, asked in batches."""
        starts = range(0, len(frame), ROWS_A_CALL)
        return np.concatenate([self.asker.ask_frame(frame.iloc[start : start + ROWS_A_CALL]) for start in starts])


class _GroupComparison:
    """The comparison of two groups: their people, the twins drawn for them, and the model's outputs for the twins.

    Each draw has a transport (a learned move to the other group) of its own, learned from rows drawn with replacement.
    """

    def __init__(
        self,
        people: _People,
        asked: _Asked,
        codes: tuple[int, int],
        n_pairs: int,
        n_draws: int,
        stream: tuple[int, int],
    ) -> None:
        self._people, self._asked = people, asked
        self.which = np.flatnonzero(np.isin(people.own, codes))
        self.group = (people.own[self.which] == codes[1]).astype(np.int64)
        self.weights = people.weights[self.which]
        self.names = (people.names[codes[0]], people.names[codes[1]])
        self.units = np.unique(self.which if people.units is None else people.units[self.which], return_inverse=True)[1]
        self.frame, self.own_outputs = people.frame.iloc[self.which], asked.outputs[self.which]
        others = [each for each in people.domain.parameters if each.name != people.attribute]
        self.columns = [Binned.of(each, self.frame[each.name]) for each in others]
        self.own = np.stack([column.codes for column in self.columns], axis=1)
        alone = np.unique(self.units, return_index=True)[1]
        self.transport = GroupMove.learn(self.columns, self.group, people.kept, tested=alone, n_pairs=n_pairs)
        self.rng = np.random.default_rng(np.random.SeedSequence(stream[0], spawn_key=(MATCHED, stream[1])))
        learned = (self.transport.resampled(self.rng, self.units) for _ in range(n_draws))
        self.blocks = [np.arange(i, min(i + PEOPLE, len(self.which))) for i in range(0, len(self.which), PEOPLE)]
        self.draws, self.outputs, self.allowed = self._twins(learned)

    def _twins(self, transports: Iterable[GroupMove]) -> tuple[NDArray[Any], NDArray[Any], Mask]:
        """Draw a twin of each person by each transport (a learned move to the other group), and ask the model about it.

        Return three arrays by transport, then person: the numbers of its column values, the model's output, and True if
        the constraints allow it.
        """
        moved = [np.concatenate([each.draw(block, self.rng) for block in self.blocks]) for each in transports]
        draws = np.stack(moved).astype(np.int32)
        outputs, allowed = zip(*(self._outputs(draws[:, block], block) for block in self.blocks), strict=True)
        return draws, np.concatenate(outputs, axis=1), np.concatenate(allowed, axis=1)

    def _outputs(self, draws: NDArray[Any], block: Codes) -> tuple[NDArray[Any], Mask]:
        """Return the model's outputs for the twins of a block of people, and a mask of the allowed twins.

        Each is by draw, then person. The model is asked once about equal twins.
        """
        import pandas as pd

        shape = draws.shape[:2]
        values = draws.reshape(-1, draws.shape[2]).astype(np.int64)
        group = np.tile(self.group[block], shape[0])
        key = group
        for column in values.T:
            key = pd.factorize(key * (int(column.max()) + 1) + column)[0].astype(np.int64)
        firsts = np.unique(key, return_index=True)[1]
        columns = {
            column.name: self.frame[column.name].array.take(column.firsts[numbers])
            for column, numbers in zip(self.columns, values[firsts].T, strict=True)
        }
        other = np.array([self.group.argmax(), self.group.argmin()])[group[firsts]]
        columns[self._people.attribute] = self.frame[self._people.attribute].array.take(other)
        frame = pd.DataFrame(columns)[list(self.frame.columns)]
        outputs, allowed = self._asked.ask(frame)[key], _allowed(self._people.domain, frame)[key]
        return outputs.reshape(*shape, *outputs.shape[1:]), allowed.reshape(shape)

    def pair(self, confidence: float, role: str) -> Pair:
        """Return the figures of the comparison, with the interval at `confidence`; the share is NaN if it is refused.

        For rows the model was trained on (`role`), the ends of the interval are NaN.
        """
        both, hits = self._hits(self.outputs, self.allowed)
        _, *placebo = self._twins(self.transport.shuffled(self.rng) for _ in range(N_PLACEBOS))
        floor = float(np.average(self._hits(*placebo)[1].mean(axis=0), weights=self.weights))
        n_allowed, told, reproduced = self.allowed.sum(axis=0), self._told_apart(), self._reproduced()
        refusal = list(self._refusal(told, n_allowed))
        share, low, high = (math.nan, 0.0, 1.0) if refusal else self._share(hits, confidence)
        low = max(0.0, low - floor)  # noise adds flips, at most as many as where groups do not differ
        flips = np.full(len(self._people.own), np.nan)
        if not refusal:
            flips[self.which] = np.where(n_allowed > 0, hits.sum(axis=0) / np.maximum(n_allowed, 1), np.nan)
        worse_off, worse = self._direction(both, hits)
        return Pair(
            groups=self.names,
            value=share,
            low=math.nan if role == "training" else low,
            high=math.nan if role == "training" else high,
            n=int((n_allowed > 0).sum()),
            comparable=float(np.average(n_allowed > 0, weights=self.weights)),
            floor=floor,
            flips=flips,
            columns=self._described(),
            worse_off=worse_off,
            worse=worse,
            reproduced=reproduced,
            told=told,
            health=(*refusal, *self._doubts(told, share, floor, reproduced), *self._doubts_of_rows()),
        )

    def _hits(self, outputs: NDArray[Any], allowed: Mask) -> tuple[NDArray[Any], Mask]:
        """Return the outputs of people and of their twins, and a mask of the flips, by draw, then person.

        The outputs are in two rows, people first, each with a place for every draw and person.
        """
        own = np.broadcast_to(self.own_outputs, outputs.shape)
        both = np.stack([own, outputs]).reshape(2, -1, *outputs.shape[2:])
        return both, self._asked.oracle.are_discriminatory(both).reshape(allowed.shape) & allowed

    def _share(self, hits: Mask, confidence: float) -> tuple[float, float, float]:
        """Return the mean flip probability and its interval; `hits` are by draw, then person.

        Two sources of error add up as squares. One is which people were drawn: a person's draws are one group, and so
        are a unit's people. The other is that the distributions are learned: the spread of the draws' shares shows it.
        """
        from scipy.special import stdtrit

        each = self.allowed * self.weights
        spread, is_counted = each / np.maximum(self.allowed.sum(axis=0), 1), self.allowed.ravel()
        units = np.tile(self.units, len(hits))[is_counted]
        found = clustered(hits.ravel()[is_counted], spread.ravel()[is_counted], units, confidence)
        by_draw = (hits * each).sum(axis=1) / np.maximum(each.sum(axis=1), 1e-300)
        learned = -float(stdtrit(len(hits) - 1, (1 - confidence) / 2)) * float(by_draw.std(ddof=1))
        low, high = (math.hypot(end - found.share, learned) for end in found.two_sided)
        return found.share, found.share - low, min(1.0, found.share + high)

    def _direction(self, both: NDArray[Any], hits: Mask) -> tuple[str | None, float]:
        """Return the group that is worse off in most flips, and the fraction of flips in which it is.

        (None, NaN) if no favourable outcome is known, nobody flips, or both groups are worse off equally often.
        """
        good, oracle = self._asked.good, self._asked.oracle
        if good is None or not hits.any():
            return None, math.nan
        above, present = oracle.threshold + oracle.resolution, np.ones(both.shape[:2], dtype=bool)
        denied = [good.denied(both, present, place, above).reshape(hits.shape) & hits for place in (0, 1)]
        by_group = [float((np.where(self.group == g, *denied) * self.weights).sum()) for g in (0, 1)]
        if by_group[0] == by_group[1]:
            return None, math.nan
        worst = int(by_group[1] > by_group[0])
        return self.names[worst], by_group[worst] / float((hits * self.weights).sum())

    def _reproduced(self) -> float:
        """Return the part of the difference between the groups' rates that moving people makes: the mean of both ways.

        NaN if no rates are known, or if the observed difference is at most 3 standard errors.
        """
        if self._asked.outcome is None:
            return math.nan
        gets, as_twin = self.own_outputs == self._asked.outcome, (self.outputs == self._asked.outcome).mean(axis=0)
        parts = [self.group == 0, self.group == 1]
        (a, b), (a_moved, b_moved) = (
            [float(np.average(of[part], weights=self.weights[part])) for part in parts] for of in (gets, as_twin)
        )
        error = math.sqrt(a * (1 - a) / parts[0].sum() + b * (1 - b) / parts[1].sum())
        return ((a_moved - a) + (b - b_moved)) / (2 * (b - a)) if abs(b - a) > 3 * error else math.nan

    def _described(self) -> pd.DataFrame:
        """Return a table of the columns: if it stays, what it depends on, and in which part of the twins it differs."""
        import pandas as pd

        changed = (self.draws != self.own).mean(axis=(0, 1))
        depends = dict.fromkeys(range(len(self.columns)), "")
        for edges in self.transport.edges:
            names = [self._people.attribute] * edges.is_open + [self.columns[each].name for each in edges.parents]
            depends[edges.column] = ", ".join(names)
        rows = [
            (column.name, column.name in self._people.kept, depends[place], float(changed[place]))
            for place, column in enumerate(self.columns)
        ]
        return pd.DataFrame(rows, columns=["column", "kept", "depends on", "changed"])

    # What could be wrong although it looks right

    def _told_apart(self) -> tuple[float, float, float]:
        """Return how well a classifier tells the groups apart, as three areas under the curve.

        They are by the columns that stay, by all columns, and by all columns of twins beside real people (mean of both
        groups). Each is the lower end of an interval, at least 0.5.
        """
        is_kept = np.array([column.name in self._people.kept for column in self.columns])
        by_kept = self._auc(self.own[:, is_kept], self.group) if is_kept.any() else 0.5
        after = []
        for target in (0, 1):
            parts = self.own[self.group == target], self.draws[0][self.group != target]
            after.append(self._auc(np.concatenate(parts), np.repeat([0, 1], [len(part) for part in parts])))
        return by_kept, self._auc(self.own, self.group), sum(after) / 2

    def _auc(self, values: Codes, labels: Codes) -> float:
        """Return the lower end of the interval of the area under the curve of a classifier, at least 0.5.

        It learns from half of up to `MOST_TRIED` random rows of each label, and is measured on the other half.
        """
        rows = np.concatenate([self.rng.permutation(np.flatnonzero(labels == each))[:MOST_TRIED] for each in (0, 1)])
        learned, tried = rows[::2], rows[1::2]
        _, probabilities = boosted(values[learned], labels[learned], values[tried], max_iter=40)
        auc, n = auc_of(probabilities[:, 1], labels[tried] == 1)
        return max(0.5, wilson(auc, n, 2.0)[0])

    def _refusal(self, told: tuple[float, float, float], n_allowed: Codes) -> Iterator[Remark]:
        """Yield a remark if the twins cannot answer the question.

        Either the constraints forbid all twins, or a classifier tells the groups apart although no column depends on
        the group.
        """
        both = " and ".join(self.names)
        if not n_allowed.any():
            yield Remark("no-edge", f"the constraints forbid all twins of {both}")
        elif told[1] > told[0] + TOLD_APART and not any(edges.is_open for edges in self.transport.edges):
            text = f"a classifier tells {both} apart (area under the curve {told[1]:.2f} or more). No column is shown "
            yield Remark("no-edge", f"{text}to depend on the group, so a share of 0% would say nothing")

    def _doubts(
        self, told: tuple[float, float, float], share: float, floor: float, reproduced: float
    ) -> Iterator[Remark]:
        """Yield remarks on figures that make the share of two groups doubtful.

        They are flips of a placebo, twins that a classifier tells from real people, and a difference not reproduced.
        """
        both = " and ".join(self.names)
        if floor > NOISE * share:
            text = f"a placebo, two groups formed at random, flips {percent(floor)} of {both}: so much of the "
            yield Remark("noisy-twins", f"{text}{percent(share)} may be due to the small number of rows")
        if told[2] > told[0] + TOLD_APART:
            text = f"a classifier tells twins of {both} from real people (area under the curve {told[2]:.2f} or more)"
            yield Remark("twins-told-apart", f"{text}: they lack dependences between columns")
        if reproduced < REPRODUCED:
            text = f"twins reproduce {percent(max(0.0, reproduced))} of the difference between the rates of {both}"
            why = "columns that stay, or dependences that were not found, make the rest"
            yield Remark("difference-not-reproduced", f"{text}: {why}")

    def _doubts_of_rows(self) -> Iterator[Remark]:
        """Yield remarks on the rows of the two groups.

        They are about differences that the tests cannot show, and about kept values that only one group has.
        """
        from scipy.special import ndtri

        both, n = " and ".join(self.names), np.bincount(self.group)
        # The difference of two frequencies near 1/2 that a test shows with a chance of 80%.
        reach = float(ndtri(0.8) - ndtri(self.transport.error / 2))
        smallest = reach * math.sqrt(0.25 * float((1 / n).sum()))
        if smallest > NOTICED:
            text = f"{both} have {n.min():,} and {n.max():,} rows: a column whose frequencies differ by less than "
            yield Remark("weak-tests", f"{text}{percent(smallest)} may wrongly stay unchanged")
        for column in (each for each in self.columns if each.name in self._people.kept):
            counts = np.bincount(2 * column.codes + self.group, minlength=2 * len(column.firsts)).reshape(-1, 2)
            is_strange = (counts.min(axis=1) == 0) & (counts.max(axis=1) >= FEWEST)
            part = float(counts[is_strange].sum()) / len(self.group)
            if part > RARELY:
                text = f"{percent(part)} of {both} have a value of {column.name} that the other group never has, and "
                yield Remark("kept-not-shared", f"{text}their twins keep it: such people do not occur in the rows")


def _doubts_of_rows(people: _People, asked: _Asked, keep: Sequence[str] | None) -> Iterator[Remark]:
    """Yield remarks on columns that stay by default, small groups, rows left out, weights and a model that varies."""
    if keep is None and not people.kept:
        text = "no column stays unchanged, because none is named like age, race or country"
        yield Remark("keep-not-said", f"{text}: which columns stay decides the answer, so name them in `keep`")
    small = [f"{people.names[code]} ({n:,} rows)" for code, n in enumerate(people.counts) if 0 < n < FEWEST]
    if small:
        yield Remark("small-group", f"a group with fewer than {FEWEST} rows is not compared: {listed(small)}")
    n_left_out, n = int((people.own < 0).sum()), len(people.own)
    if n_left_out > LEFT_OUT * n:
        text = f"{n_left_out:,} of {n:,} rows are left out: {people.attribute} unknown or not compared, or no weight"
        yield Remark("rows-left-out", text)
    if people.given_weights is not None:
        yield Remark("learned-unweighted", "the twins are learned from the rows as they are, without their weights")
    if not is_repeatable(asked.asker.model):
        yield from unsteadiness(asked.asker, rows=asked.some)


def _attribute_of(model: Any, domain: Domain, attribute: str | None) -> tuple[Domain, str]:
    """Return the domain with all sensitive columns hidden that the model does not take, and the one to compare."""
    domain = as_taken(model, domain)
    hidden = [name for name in domain.sensitive if name in domain.hidden]
    if attribute is None and len(hidden) != 1:
        rule = "must name one of the sensitive columns that the model does not take"
        raise SettingError.about("attribute", f"{rule}, which are {', '.join(hidden) or 'none'}; got None")
    name = hidden[0] if attribute is None else attribute
    check_names("attribute", [name], hidden, "must be a sensitive column that the model does not take, one")
    return domain, name


def _kept(domain: Domain, attribute: str, keep: Sequence[str] | None) -> list[str]:
    """Return the names of the columns that stay unchanged, in domain order.

    By default they are the other sensitive columns and those whose name has a word in `NAMES`.
    """
    names = [name for name in domain.names if name != attribute]
    if keep is None:
        return [name for name in names if name in domain.sensitive or _words(name) & set(NAMES.split())]
    if isinstance(keep, str) or not isinstance(keep, Sequence):
        raise SettingError.about("keep", f"must be a list of columns, got {keep!r}")
    check_names("keep", keep, names, "must name columns that may stay, some")
    if set(names) <= set(keep):
        raise SettingError.about("keep", "must leave a column that may move, got all columns")
    return [name for name in names if name in keep]


def _words(name: str) -> set[str]:
    """Return the words in a column's name, in small letters.

    >>> sorted(_words("native-country")), sorted(_words("ageAtClaim"))
    (['country', 'native'], ['age', 'at', 'claim'])
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _allowed(domain: Domain, frame: pd.DataFrame) -> Mask:
    """Return a mask of the twins that the constraints allow; one with a value outside the domain counts as allowed."""
    allowed = np.ones(len(frame), dtype=bool)
    if domain.is_restricted:
        codes = domain.encode(frame, nearest=True)
        inside = (codes >= 0).all(axis=1)
        allowed[inside] = domain.allows(codes[inside])
    return allowed
