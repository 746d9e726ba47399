"""Learning regions: a few readable boxes that contain as many cases and as few other inputs as possible.

Boxes come from slices through cases and from shallow trees fitted to judged inputs. Each box is improved one side after
the other. Then a few boxes are chosen together. The worth of a box is the mass of cases in it, less `price` times the
mass of the other inputs. At the price that F1 itself implies, the choice of the highest worth has the highest F1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.regions import Axes, Box, Condition, Span
from fairprobe.explanation.sides import best_condition, boxes_through, n_inputs_of
from fairprobe.oracle import Judgement

MAX_REGIONS = 10
"""Largest number of learned regions by default; chosen: people do not read more."""

MAX_CONDITIONS = 5
"""Largest number of conditions of a region by default; chosen: people do not read more."""

N_SLICED = 24
"""Number of cases per turn through which slices go, taken from the cases that no box contains yet; chosen."""

TURNS_OF_SLICES = 3
"""Largest number of turns in which slices go through further cases; chosen."""
N_LOOKED_INTO = 8
"""Number of boxes from slices in and around which inputs are judged; chosen."""

N_EACH = 200
"""Number of inputs judged in each box that is looked into, and in each box that is larger by one side; chosen."""

TURNS = 2
"""Largest number of times that boxes are looked into and chosen anew; chosen."""
MIN_COVERAGE = 0.85
"""Smallest fraction of the population's cases that regions should contain; below it, the price of other inputs is
lowered. Chosen."""

LEAST_PRICE = 0.01
"""Price of an input that is no case, relative to the worth of a case, at or below which it is not lowered further;
chosen."""
PRICE_STEP = 0.6
"""Factor by which the price of inputs that are no cases is lowered each time regions are chosen; chosen."""
TREE_PRICES = (1.0, 0.2, 0.05)
"""Prices of inputs that are no cases, relative to the worth of a case, at which trees are fitted; chosen."""
LEAST_GAIN = 0.01
"""Smallest gain of another region, as a fraction of the worth of all regions together; chosen."""

LEAST_SIDE = 0.008
"""Smallest gain of one side (a condition) of a region, as a fraction of the worth; chosen."""

N_LEAVES = 24
"""Largest number of leaves of the trees that are fitted to get candidate boxes; chosen."""
LEAST_IN_LEAF = 5
"""Smallest number of inputs in a leaf of the trees that are fitted to get candidate boxes; chosen."""
N_CANDIDATES = 120
"""Largest number of candidate boxes that are compared with each other; chosen."""

PASSES = 3
"""Largest number of times that all sides of a box are moved in turn; chosen."""

N_UNJUDGED = 100_000
"""Number of inputs drawn from the population to measure the mass of boxes; chosen. They cost no query."""

LEAST_DRAWN = 10
"""Smallest number of unjudged inputs in a box for inputs to be drawn from it; chosen. A thinner box is left out."""


def learn(pool: Pool, max_regions: int = MAX_REGIONS, max_conditions: int = MAX_CONDITIONS) -> list[Box]:
    """Return at most `max_regions` boxes (regions) that cover the cases of the population, in no order.

    A box has at most `max_conditions` conditions; others that were learned are its `left_out`.

    The pool has a sample of the population. Up to `N_EACH` inputs are added to it from each of `N_LOOKED_INTO` boxes
    from slices through cases, and from around them. The list is empty if no input of the pool is a case.
    """
    evidence, axes = pool.evidence, pool.axes
    candidates = _sliced(evidence, axes)
    price, chosen = 1.0, _covering(axes, candidates, evidence.coordinates)[:N_LOOKED_INTO]
    for _ in range(TURNS):
        around = [each for box in chosen for each in (box, *(box.without(place) for place, _ in box.conditions))]
        pool.add(list(dict.fromkeys(around)), N_EACH, part=0.5)
        if not pool.hits.any():
            return []
        before, (chosen, price) = chosen, _choose(pool, [*chosen, *candidates], max_regions)
        if chosen == before:
            break
    worth = _Worth(pool, price)
    return list(dict.fromkeys(worth.shorter(box, max_conditions) for box in chosen))


def _sliced(evidence: Evidence, axes: Axes) -> list[Box]:
    """Return boxes (candidate regions) made from slices through cases, at most `N_SLICED` in each turn.

    Each of up to `TURNS_OF_SLICES` turns takes cases that no box contains yet. Fewer are taken if the budget is small.
    """
    rng, cost = evidence.rng("slices"), max(1, n_inputs_of(axes))
    boxes: list[Box] = []
    left = np.arange(evidence.n_cases)
    for _ in range(TURNS_OF_SLICES):
        n = min(len(left), evidence.budget.inputs(N_SLICED * cost, part=0.3) // cost)
        if not n:
            break
        boxes += boxes_through(evidence, axes, evidence.cases.codes[rng.permutation(left)[:n]].astype(np.int64))
        left = left[~axes.inside_any(boxes, evidence.coordinates[left])]
    return list(dict.fromkeys(boxes))


def _covering(axes: Axes, boxes: Sequence[Box], coordinates: Codes) -> list[Box]:
    """Return the boxes sorted so that each covers the most cases that no previous one covers.

    `coordinates` are those of the cases. Boxes that add no case are left out.
    """
    inside = {box: axes.inside(box, coordinates) for box in boxes}
    order: list[Box] = []
    left = np.ones(len(coordinates), dtype=bool)
    while inside and left.any():
        box = max(inside, key=lambda each: int((inside[each] & left).sum()))
        gained = inside.pop(box) & left
        if not gained.any():
            break
        order.append(box)
        left &= ~gained
    return order


def _choose(pool: Pool, candidates: Sequence[Box], max_regions: int) -> tuple[list[Box], float]:
    """Return at most `max_regions` boxes with the highest F1 score among those that cover `MIN_COVERAGE` of the cases.

    The second result is the price at which they were chosen.

    If no boxes do, it returns those that cover most. They are chosen at several prices of an input that is no case:
    from 1 down to `LEAST_PRICE`, or until the price is lower than the reached F1 implies.
    """
    of_trees = [box for price in TREE_PRICES for box in _Worth(pool, price).of_trees()]
    boxes = list(dict.fromkeys([*candidates, *of_trees]))
    hits = pool.weights * pool.hits
    best, best_f1, best_coverage, best_price, price = list[Box](), 0.0, 0.0, 1.0, 1.0
    while price > LEAST_PRICE:
        chosen = _Worth(pool, price).best_of([*best, *boxes], max_regions)
        inside = pool.inside_any(chosen)
        found, mass = float(hits[inside].sum()), float(pool.weights[inside].sum())
        coverage, precision = float(hits[inside].sum() / hits.sum()), found / mass if mass else 0.0
        f1 = 2 * coverage * precision / (coverage + precision) if coverage else 0.0
        if coverage > best_coverage and (best_coverage < MIN_COVERAGE or f1 > best_f1):
            best, best_f1, best_coverage, best_price = chosen, f1, coverage, price
        if best_coverage >= MIN_COVERAGE and price < (best_f1 / 2) / (1 - best_f1 / 2):
            break
        price *= PRICE_STEP
    return best, best_price


class _Worth:
    """Score of candidate regions, the worth, by which they are compared.

    The worth is the total weight of a region's cases, less the price times the total weight of its other inputs.
    """

    def __init__(self, pool: Pool, price: float) -> None:
        self._pool, self._axes, self._price = pool, pool.axes, price
        self._gains: Floats = pool.weights * np.where(pool.hits, 1.0, -price)

    # Candidates from trees

    def of_trees(self) -> list[Box]:
        """Return boxes for the nodes of a shallow tree fitted to the pool that have a positive worth, highest first.

        The boxes are at most `N_CANDIDATES`. Smaller trees give no others: a tree grows by the best split first.
        """
        from sklearn.tree import DecisionTreeClassifier

        features, orders = self._features()
        weights = self._pool.weights * np.where(self._pool.hits, 1.0, self._price)
        tree = DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, min_samples_leaf=LEAST_IN_LEAF, random_state=0)
        tree.fit(features, self._pool.hits, weights / weights.mean())
        found = dict(self._nodes(tree.tree_, orders))
        return sorted(found, key=lambda box: -found[box])[:N_CANDIDATES]

    def _features(self) -> tuple[Floats, dict[int, Codes]]:
        """Return the pool's coordinates as numbers for a tree, and the sorted values of each axis without an order.

        Such an axis is sorted by the fraction of each value's inputs that are cases; the numbers are positions in it.
        """
        features, orders = self._pool.coordinates.astype(np.float64), {}
        weights = (self._pool.weights, self._pool.weights * self._pool.hits)
        for place, axis in enumerate(self._axes.each):
            if not axis.is_ordered:
                values = self._pool.coordinates[:, place]
                every, cases = (np.bincount(values, each, axis.n) for each in weights)
                rates = np.divide(cases, every, out=np.zeros(axis.n), where=every > 0)
                orders[place] = np.argsort(rates, kind="stable")
                features[:, place] = np.argsort(orders[place], kind="stable")[values]
        return features, orders

    def _nodes(self, tree: Any, orders: Mapping[int, Codes]) -> Iterator[tuple[Box, float]]:
        """Yield, for each node of positive worth in a fitted tree, the region of inputs that reach it and its worth."""
        stack: list[tuple[int, dict[int, tuple[int, int]]]] = [(0, {})]
        while stack:
            node, bounds = stack.pop()
            parts = tree.value[node, 0] / tree.value[node, 0].sum()
            gain = float((parts[-1] - parts[0]) * tree.weighted_n_node_samples[node])  # weights hold the price already
            if bounds and gain > 0:
                yield self._axes.box({at: self._between(at, *ends, orders) for at, ends in bounds.items()}), gain
            if tree.children_left[node] >= 0:
                place, cut = int(tree.feature[node]), int(np.floor(tree.threshold[node]))
                low, high = bounds.get(place, (0, self._axes.each[place].n - 1))
                stack.append((tree.children_left[node], {**bounds, place: (low, cut)}))
                stack.append((tree.children_right[node], {**bounds, place: (cut + 1, high)}))

    def _between(self, place: int, low: int, high: int, orders: Mapping[int, Codes]) -> Condition:
        axis = self._axes.each[place]
        if place in orders:
            return frozenset(orders[place][low : high + 1].tolist())
        return Span(low, min(high, axis.last), axis.missing is not None and high > axis.last)

    # Choosing

    def best_of(self, candidates: Sequence[Box], most: int) -> list[Box]:
        """Return at most `most` boxes with the highest worth together that a greedy search finds.

        Boxes that add at most the part `LEAST_GAIN` of the worth, and sides that add at most `LEAST_SIDE`, are left
        out.
        """
        chosen = self._greedy(candidates, most)
        for place, box in enumerate(chosen):
            others = [*chosen[:place], *chosen[place + 1 :]]
            chosen[place] = self._improved(box, self._left(others))
        return self._simplified(self._needed(list(dict.fromkeys(chosen))))

    def _greedy(self, candidates: Sequence[Box], most: int) -> list[Box]:
        """Return the box of the highest worth, then the box that adds most to it, and so on, up to `most` boxes.

        It ends when a box adds at most the part `LEAST_GAIN` of the worth so far. Each box is improved before the next
        one is chosen.
        """
        worth = {box: float(self._gains[self._pool.inside(box)].sum()) for box in dict.fromkeys(candidates)}
        boxes = sorted((box for box in worth if worth[box] > 0), key=lambda box: -worth[box])[:N_CANDIDATES]
        if not boxes:
            return []
        # One product is quicker than a loop.
        inside = np.stack([self._pool.inside(box) for box in boxes]).astype(np.float32)
        chosen: list[Box] = []
        total = 0.0
        for _ in range(most):
            gains = self._left(chosen)
            box = self._improved(boxes[int((inside @ gains.astype(np.float32)).argmax())], gains)
            gained = self._together([*chosen, box]) - total
            if gained <= LEAST_GAIN * total:
                break
            chosen.append(box)
            total += gained
        return chosen

    def _left(self, chosen: Iterable[Box]) -> Floats:
        """Return what each input of the pool can add to the chosen regions' worth: 0 for an input in one of them."""
        return np.where(self._pool.inside_any(chosen), 0.0, self._gains)

    def _together(self, boxes: Iterable[Box]) -> float:
        return float(self._gains[self._pool.inside_any(boxes)].sum())

    def _improved(self, box: Box, gains: Floats) -> Box:
        """Return a box with each side moved in turn to where the box has its highest worth, up to `PASSES` times.

        A condition that adds at most the part `LEAST_SIDE` of the worth is left out. If no condition on an axis has a
        worth, the old one stays.
        """
        pool, conditions = self._pool, dict(box.conditions)
        fails = {place: ~pool.holds(place, condition) for place, condition in box.conditions}
        n_fails = np.sum([np.zeros(len(gains), dtype=np.int8), *fails.values()], axis=0, dtype=np.int8)
        for _ in range(PASSES):
            before = dict(conditions)
            for place, axis in enumerate(self._axes.each):
                inside = np.flatnonzero(n_fails == fails.get(place, 0))  # inputs that fail no other condition
                worth = gains[inside]
                found = best_condition(axis, pool.coordinates[inside, place], worth, conditions.get(place))
                if found is None or found[0] == conditions.get(place):
                    continue
                n_fails -= fails.pop(place, 0)
                conditions.pop(place, None)
                condition, gain = found
                if gain - float(worth.sum()) > LEAST_SIDE * max(gain, 0.0) and not axis.is_everything(condition):
                    conditions[place], fails[place] = condition, ~pool.holds(place, condition)
                    n_fails += fails[place]
            if conditions == before:
                break
        return self._axes.box(conditions)

    def _needed(self, boxes: list[Box]) -> list[Box]:
        """Return the boxes without those that add at most the part `LEAST_GAIN` to the worth of all boxes together.

        The box that adds least is left out first. At least one box remains.
        """
        while len(boxes) > 1:
            total = self._together(boxes)
            without = [boxes[:place] + boxes[place + 1 :] for place in range(len(boxes))]
            others = max(without, key=self._together)
            if total - self._together(others) > LEAST_GAIN * total:
                break
            boxes = others
        return boxes

    def shorter(self, box: Box, most: int) -> Box:
        """Return a region cut down to at most `most` conditions.

        The conditions whose removal lowers the worth least are removed first, and kept in the attribute `left_out`.
        """
        kept = box
        while len(kept.conditions) > most:
            kept = max((kept.without(place) for place, _ in kept.conditions), key=lambda each: self._together([each]))
        return Box(kept.conditions, tuple(each for each in box.conditions if each not in kept.conditions))

    def _simplified(self, boxes: list[Box]) -> list[Box]:
        """Return the boxes without the sides that add at most the part `LEAST_SIDE` to the worth of all boxes together.

        Each box keeps at least one side.
        """
        for i in range(len(boxes)):
            for place, _ in boxes[i].conditions:
                total = self._together(boxes)
                shorter = [*boxes[:i], boxes[i].without(place), *boxes[i + 1 :]]
                if len(boxes[i].conditions) > 1 and total - self._together(shorter) <= LEAST_SIDE * total:
                    boxes = shorter
        return list(dict.fromkeys(boxes))


# Judged inputs


class Pool:
    """Judged inputs from which regions are learned, dense where cases are, with weights that represent the population.

    A uniform sample has next to no inputs in a region of one in ten thousand. Some inputs are therefore drawn from the
    population and others from boxes of known mass. The weight of an input is the inverse of the expected number of
    times that it is drawn (the balance heuristic of multiple importance sampling). Sums of weights estimate the
    population, whichever boxes inputs were drawn from.
    """

    def __init__(self, evidence: Evidence, axes: Axes, sampled: Judgement) -> None:
        self.evidence = evidence
        self.axes = axes
        self._rng = evidence.rng("learning")
        self._parts: list[tuple[Box, float, int]] = []
        """Triples of a box, its mass (its fraction of the population) and the number of inputs drawn from it."""
        small = np.int32 if max((axis.n for axis in axes.each), default=0) < 2**31 else np.int64
        self.coordinates: Codes = np.empty((0, len(axes)), dtype=small)
        self.hits: Mask = np.empty(0, dtype=bool)
        self.weights: Floats = np.empty(0)
        self._masks: dict[Box, Mask] = {}
        self._include(sampled, [(Box(()), 1.0, len(sampled.codes))])

    def inside(self, box: Box) -> Mask:
        """Return a boolean mask over the pool's inputs: True for inputs in the region `box`. The mask is cached."""
        if box not in self._masks:
            masks = [self.holds(*condition) for condition in box.conditions]
            self._masks[box] = np.logical_and.reduce([np.ones(len(self.coordinates), dtype=bool), *masks])
        return self._masks[box]

    def holds(self, place: int, condition: Condition) -> Mask:
        """Return a mask over the pool's inputs: True where the parameter at position `place` meets a condition."""
        return self.axes.each[place].holds(condition, self.coordinates[:, place])

    def inside_any(self, boxes: Iterable[Box]) -> Mask:
        """Return a boolean mask over the pool's inputs: True for inputs in one or more of the regions."""
        return np.logical_or.reduce([np.zeros(len(self.coordinates), dtype=bool), *map(self.inside, boxes)])

    def add(self, boxes: Sequence[Box], n: int, part: float = 1.0) -> None:
        """Draw `n` inputs of the population from each region, judge them by the model, and add them to the pool.

        There are fewer if the fraction `part` of the remaining queries does not pay for `n`.
        """
        n = self.evidence.budget.inputs(n * len(boxes), part) // max(1, len(boxes))
        drawn = [(box, *self._draw(box, n)) for box in boxes if n]
        parts = [(box, mass, len(codes)) for box, codes, mass in drawn if len(codes)]
        if parts:
            self._include(self.evidence.judge(np.concatenate([codes for _, codes, _ in drawn])), parts)

    def _include(self, judged: Judgement, parts: Sequence[tuple[Box, float, int]]) -> None:
        """Add judged inputs to the pool, and compute the weights of all its inputs anew.

        `parts` has, for each region that they were drawn from, its fraction of the population and the number of inputs.
        """
        known = judged.comparable
        # By column and in few bytes: all that follows looks at one column after the other.
        more = self.axes.coordinates(judged.codes[known]).astype(self.coordinates.dtype)
        self.coordinates = np.asfortranarray(np.concatenate([self.coordinates, more]))
        self.hits = np.concatenate([self.hits, judged.hits[known]])
        self._masks = {}
        self._parts += parts
        chances = sum((self.inside(box) * (n / mass) for box, mass, n in self._parts), np.zeros(len(self.hits)))
        self.weights = 1 / chances

    def _draw(self, box: Box, n: int) -> tuple[Codes, float]:
        """Draw up to `n` inputs, as codes, from a box; return them and the box's mass (its fraction of the population).

        There are no inputs, and the mass is 0, if no input of the box is allowed, or if its mass must be estimated and
        fewer than `LEAST_DRAWN` of the `N_UNJUDGED` inputs lie in it.
        """
        population = self.evidence.population
        if not box.conditions:
            return population.sample(n, self._rng), 1.0
        whole, part = population.domain, population.domain.part(self.axes.rules(box))
        if population.density is not None or whole.n_valid is None or part.n_valid is None:
            # Inputs with a density, and those that callables allow, cannot be counted.
            codes, coordinates = self._unjudged
            inside = np.flatnonzero(self.axes.inside(box, coordinates))
            if len(inside) < LEAST_DRAWN:
                return codes[:0], 0.0
            return codes[self._rng.choice(inside, min(n, len(inside)), replace=False)], len(inside) / len(codes)
        if not part.n_valid:
            return np.empty((0, len(whole.levels)), dtype=np.int64), 0.0
        return part.sample_codes(n, self._rng), part.n_valid / whole.n_valid

    @cached_property
    def _unjudged(self) -> tuple[Codes, Codes]:
        """Draw `N_UNJUDGED` inputs from the whole population, once and without asking the model.

        Return their codes and their coordinates on the region axes.
        """
        codes = self.evidence.population.sample(N_UNJUDGED, self._rng)
        return codes, self.axes.coordinates(codes)
