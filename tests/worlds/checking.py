"""A world put to the package: every number and verdict held against the reference."""

import dataclasses
import itertools
import math
import random
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from reference import Count, Reference, clopper_pearson, mcnemar, mean_interval, rates, verdict, weighted
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from world import Column, Model, Row, Rule, World, WorldLink, answer, holds, make_world, rule_text, shown

import fairprobe
from fairprobe import Category, Derived, Domain, Integer, Link, Ordinal, Real
from fairprobe.errors import DataError, DomainError
from fairprobe.model import measuring

CI_WORLDS = 200
N_EXPERIMENTS, N_SAMPLES = 3, 8


class DifferenceError(AssertionError):
    """The package and the reference do not agree."""


def check_seed(seed: int) -> None:
    """Check the world of a seed; a difference says how to see it again."""
    world = make_world(random.Random(seed))
    try:
        check_world(world)
    except Exception as error:
        error.add_note(f"seed {seed}: check_seed({seed}) in tests/worlds/checking.py shows it again\n{shown(world)}")
        raise


@mock.patch.object(measuring, "SIZES", (64, 7, 1))
def check_world(world: World) -> None:
    """Check what the package says of a world. Some is checked in every other world only, to save time.

    Of a model that answers with numbers the resolution is measured by fewer rows than usual: a world has no more.
    """
    try:
        check = Check(world)
    except DomainError:
        if may_refuse(world):
            return
        raise
    check.estimates()
    check.breakdowns()
    check.solved()
    check.solved_tree()
    if world.seed % 2:
        check.samples()
        check.comparison(check.part)
        check.search_from_rows()
    else:
        check.comparison("rows")
        check.search()


def may_refuse(world: World) -> bool:
    """Whether nothing is allowed, or constraints forbid what a link says is played: such a domain is refused."""
    reference = Reference(world)
    pairs = {
        (link.sensitive, key, link.column, player)
        for link in world.links
        for role in link.roles
        for key, player in role
        if key in reference.compared[world.names[link.sensitive]]
    }
    valid = reference.valid
    return not valid or any(not any(row[s] == key and row[c] == player for row in valid) for s, key, c, player in pairs)


def same(what: str, got: Any, expected: Any) -> None:
    """Refuse a difference."""
    if got != expected:
        raise DifferenceError(f"{what}: got {got!r}, expected {expected!r}")


def close(what: str, got: float, expected: float) -> None:
    """Refuse a difference of numbers, but for rounding; two that are not numbers are alike."""
    if not (math.isclose(got, expected, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(got) and math.isnan(expected))):
        raise DifferenceError(f"{what}: got {got!r}, expected {expected!r}")


def near(what: str, got: float, expected: float) -> None:
    """Refuse a difference from what was found by drawing."""
    if not abs(got - expected) < 0.03:
        raise DifferenceError(f"{what}: got {got!r}, expected about {expected!r}")


def rows_of(batch: Any) -> list[Row]:
    columns = (column.tolist() for _, column in batch.items()) if isinstance(batch, pd.DataFrame) else batch.T.tolist()
    return list(zip(*map(_plain, columns), strict=True))


def _plain(values: list[Any]) -> list[Any]:
    return [None if value is None or value is pd.NA or value != value else value for value in values]


class Constraint:
    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __call__(self, frame: pd.DataFrame) -> Any:
        return np.array([holds(self.rule, row) for row in rows_of(frame)], dtype=bool)


class Asked:
    """A model that keeps every row it was asked about."""

    def __init__(self, model: Model, hidden: list[int]) -> None:
        self.model = model
        self.hidden = hidden
        self.batches: list[list[Row]] = []

    @property
    def n_rows(self) -> int:
        return sum(map(len, self.batches))

    def answers(self, batch: Any) -> Any:
        rows = rows_of(batch)
        if not rows:
            raise DifferenceError("a model must not be asked about nothing")
        for place in self.hidden:
            rows = [(*row[:place], None, *row[place:]) for row in rows]
        self.batches.append(rows)
        return np.array([answer(self.model, row) for row in rows])


class AskedFunction(Asked):
    def __call__(self, batch: Any) -> Any:
        return self.answers(batch)


class AskedEstimator(Asked):
    def predict(self, batch: Any) -> Any:
        return self.answers(batch)

    decision_function = predict_proba = predict


class ChangedLogistic(LogisticRegression):
    def predict(self, X: Any) -> Any:
        return np.array([answer(self.model_, row) for row in rows_of(np.asarray(X))])


class ChangedTree(DecisionTreeClassifier):
    def predict(self, X: Any, check_input: bool = True) -> Any:
        return np.array([answer(self.model_, row) for row in rows_of(np.asarray(X))])


def fitted_model(world: World, model: Model) -> Any:
    """A model of scikit-learn that answers as described."""
    if model.kind == "logistic":
        logistic = LogisticRegression() if model.changed is None else ChangedLogistic()
        logistic.coef_ = np.array([model.weights[1:]])
        logistic.intercept_ = np.array([model.weights[0]])
        logistic.classes_ = np.array(model.classes)
        logistic.n_features_in_, logistic.n_iter_ = len(world.columns), np.array([1])
        logistic.model_ = model
        return logistic
    tree = DecisionTreeClassifier(random_state=0) if model.changed is None else ChangedTree(random_state=0)
    rows = list(itertools.product(*(column.values for column in world.columns)))
    tree.fit(np.array(rows, dtype=float), [answer(model, row) for row in rows])
    tree.model_ = model
    return tree


def make_model(world: World, model: Model) -> Any:
    if world.is_fitted:
        return fitted_model(world, model)
    hidden = sorted(world.names.index(name) for name in world.hidden)
    return (AskedFunction if world.form == "function" else AskedEstimator)(model, hidden)


def make_parameter(column: Column) -> Any:
    common = {"missing": column.missing, "dtype": column.dtype}
    if column.kind == "integer":
        return Integer(column.name, *column.bounds, **common)
    if column.kind == "derived":
        return None
    if column.kind == "real":
        return Real(column.name, *column.bounds, **common)
    return (Category if column.kind == "category" else Ordinal)(column.name, column.values, **common)


def make_domain(world: World) -> Domain:
    sensitive: Any = dict(world.sensitive)
    if all(listed is None for listed in sensitive.values()):
        sensitive = list(sensitive)
    parameters = [make_parameter(column) for column in world.columns]
    for place, source, pairs in world.derived:
        parameters[place] = Derived(world.names[place], world.names[source], dict(pairs))
    return Domain(
        parameters,
        sensitive,
        [make_rule(world, rule) for rule in world.rules],
        [make_link(world, link) for link in world.links],
        world.hidden,
    )


def make_rule(world: World, rule: Rule) -> Any:
    """A constraint, as text where the world has it so."""
    text = rule_text(rule, world.columns) if world.are_texts else None
    return Constraint(rule) if text is None else text


def make_link(world: World, link: WorldLink) -> Link:
    names = world.names[link.column], world.names[link.sensitive]
    if link.roles:
        return Link(*names, [dict(role) for role in link.roles])
    return Link(*names, per=link.per) if link.per is not None else Link(*names, shift=dict(link.shift))


def make_rows(world: World) -> Any:
    """The world's real rows as a user might have them: an array, or a frame with more columns, in another order."""
    columns = zip(*world.rows, strict=True)
    frame = pd.DataFrame({c.name: _series(c, values) for c, values in zip(world.columns, columns, strict=True)})
    if all(column.is_number and not column.dtype for column in world.columns) and world.seed % 3 == 1:
        return frame.to_numpy(dtype=float)
    if world.seed % 3 == 2:
        return frame
    return frame[frame.columns[::-1]].assign(label=1).set_axis(range(7, 7 + len(frame)))


def _series(column: Column, values: Row) -> pd.Series:
    return pd.Series(list(values), dtype=column.dtype or None)


class Check:
    def __init__(self, world: World) -> None:
        self.world = world
        self.reference = Reference(world)
        self.domain = make_domain(world)
        self.rows = make_rows(world)
        self.settings: dict[str, Any] = {"output": world.model.output, "batch": world.batch}
        if world.model.output != "label":
            self.settings["threshold"] = world.threshold
        if world.links:
            self.settings["linked"] = True
        self.options = {"confidence": world.confidence, "seed": world.seed}
        self.part = "valid" if world.rules and self.reference.valid and world.seed % 3 else "domain"
        """The part of the domain that all but `estimate` is checked for, to save time."""
        self.shard_inputs = 1_000_000 if world.seed % 3 else 60
        self.sets = [
            names
            for size in range(1, len(self.reference.sensitive) + 1)
            for names in itertools.combinations(self.reference.sensitive, size)
        ]

    def share(self, what: str, share: Any, count: Count, confidence: float) -> None:
        """Hold a share against a count."""
        same(f"{what} n", share.n, count.n)
        same(f"{what} hits", share.hits, count.hits)
        same(f"{what} n_not_comparable", share.n_not_comparable, count.n_not_comparable)
        same(f"{what} n_left_out", share.n_left_out, count.n_left_out)
        same(f"{what} threshold", share.threshold, self.world.threshold)
        close(f"{what} value", share.value, count.hits / count.n if count.n else math.nan)
        two_sided, one_sided = self.bounds(share.method, count, confidence)
        for name, got, expected in zip(("low", "high"), (share.low, share.high), two_sided, strict=True):
            close(f"{what} {name}", got, expected)
        for name, got, expected in zip(("lower", "upper"), (share.lower, share.upper), one_sided, strict=True):
            close(f"{what} {name}", got, expected)
        self.outcomes(what, share, count)
        self.verdict(what, share, count, two_sided)

    def bounds(self, method: str, count: Count, confidence: float) -> tuple[Any, Any]:
        if method == "exact" and count.n:
            return ((count.hits / count.n,) * 2,) * 2
        error = 1 - confidence
        return clopper_pearson(count.hits, count.n, error / 2), clopper_pearson(count.hits, count.n, error)

    def outcomes(self, what: str, share: Any, count: Count) -> None:
        """Hold the table of outcomes against those counted: a row a combination, in domain order."""
        if not count.hits:
            same(f"{what} outcomes", share.outcomes, None)
            return
        combinations = self.reference.combinations(share.sensitive)
        same(f"{what} rows of outcomes", len(share.outcomes), len(combinations))
        for outcome in {outcome for _, outcome in count.outcomes}.union(share.outcomes.columns):
            expected = [count.outcomes[values, outcome] for values in combinations]
            same(f"{what} outcome {outcome!r}", share.outcomes[outcome].tolist(), expected)

    def verdict(self, what: str, share: Any, count: Count, bounds: tuple[float, float]) -> None:
        for limit in {self.world.limit, 0.0, min(count.hits / count.n if count.n else 0.0, 0.99)}:
            got = fairprobe.verdict(share, limit)
            expected = verdict(count, bounds, limit)
            # A bound that is the limit but for its last bits falls on either side.
            if not any(math.isclose(bound, limit, rel_tol=1e-9) and bound != limit for bound in bounds):
                same(f"{what} verdict at {limit}", str(got.outcome), expected)
            self.unused(what, got, [count])

    def unused(self, what: str, got: Any, counts: list[Count]) -> None:
        """That the model may not use the sensitive parameters is said only where no share has a hit."""
        said = " ".join([got.sentence, *got.details])
        if "not use" in said and any(count.hits for count in counts):
            raise DifferenceError(f"{what} verdict: says that the model may not use what it uses: {said}")
        if "does not use" in said and got.share.method != "exact":
            raise DifferenceError(f"{what} verdict: {said} without proof")

    def estimates(self) -> None:
        shares, counts = {}, {}
        for population in ("domain", "valid", "rows") if self.world.rules else ("domain", "rows"):
            count = self.reference.count(self.world.model, population)
            share = self.estimate(population, count)
            if share is not None:
                shares[population], counts[population] = share, count
                self.share(population, share, count, self.world.confidence)
                if population == "rows":
                    self.which(share, count)
                    self.rates(share, count)
                    self.weighted(count)
        self.both_sides()
        default = next(name for name in ("rows", "domain", "valid") if name in shares)
        for gate in (None, *shares):
            got = fairprobe.verdict(shares, self.world.limit, gate=gate)
            same("gate", got.population, gate or default)
            self.unused("all shares", got, list(counts.values()))

    def which(self, share: Any, count: Count) -> None:
        """Which rows are hits, by the index of the frame given, and what the model says of their members."""
        hits = [place for place, hit in count.hit_rows if hit]
        if not hits:
            same("rows: cases", share.cases, None)
            return
        index = self.rows.index if isinstance(self.rows, pd.DataFrame) else range(len(self.world.rows))
        same("rows: index of the cases", list(share.cases.index), [index[place] for place in hits])
        same("rows: index of the twins", list(share.twins.index), list(share.cases.index))
        places = [self.domain.names.index(name) for name in self.domain.names]
        for number, place in enumerate(hits):
            row = self.world.rows[place]
            members = dict(self.reference.members(row, self.reference.sensitive, "rows"))
            twin = rows_of(share.twins.iloc[[number]])[0]
            if twin not in members.values() or [twin[i] for i in places] == list(row):
                raise DifferenceError(f"rows: {twin} is no twin of {row}")
            expected = [
                answer(self.world.model, members[values]) if values in members else None
                for values in self.reference.combinations(self.reference.sensitive)
            ]
            same(f"rows: answers for {row}", list(share.answers.iloc[number]), expected)

    def rates(self, share: Any, count: Count) -> None:
        """The rates by combination, and their differences on the rows that can have both."""
        if self.world.model.output not in ("label", "proba") or not count.n:
            same("rows: rates", share.rates, None)
            return
        reference, got = self.reference, []
        for place, _ in count.hit_rows:
            members = reference.members(self.world.rows[place], reference.sensitive, "rows")
            outputs = {values: answer(self.world.model, member) for values, member in members}
            got.append({values: reference.has_outcome(each, share.rated) for values, each in outputs.items()})
        combinations = reference.combinations(reference.sensitive)
        of = [[each[values] for each in got if values in each] for values in combinations]
        rates = [sum(each) / len(each) if each else math.nan for each in of]
        best = combinations[max(range(len(rates)), key=lambda place: (rates[place] == rates[place], rates[place]))]
        for place, values in enumerate(combinations):
            both = [each[values] - each[best] for each in got if values in each and best in each]
            told = share.rates.iloc[place]
            close(f"rate of {values}", told["rate"], rates[place])
            close(f"difference of {values}", told["difference"], sum(both) / len(both) if both else math.nan)
            same(f"rows of {values}", told["n"], len(both))

    def weighted(self, count: Count) -> None:
        """Rows that do not count alike: weights, some of them zero, and groups of rows."""
        n = len(self.world.rows)
        weights = [float((place * 7 + self.world.seed) % 4) for place in range(n)]
        groups = [(place + self.world.seed) // 2 for place in range(n)]
        if not any(weights):
            return
        chosen = {"sample_weight": np.array(weights)} if self.world.seed % 3 else {}
        chosen |= {"groups": groups} if self.world.seed % 2 or not chosen else {}
        model = make_model(self.world, self.world.model)
        share = fairprobe.estimate(model, self.domain, self.rows, **self.options, **self.settings, **chosen)
        places = [place for place, _ in count.hit_rows]
        hits = [hit for _, hit in count.hit_rows]
        own_weights = [weights[place] if "sample_weight" in chosen else 1.0 for place in places]
        own_groups = [groups[place] if "groups" in chosen else place for place in places]
        same("weighted n", (share.n, share.hits), (count.n, count.hits))
        for name, error in (("two-sided", (1 - self.world.confidence) / 2), ("one-sided", 1 - self.world.confidence)):
            value, expected = weighted(hits, own_weights, own_groups, error)
            got = (share.low, share.high) if name == "two-sided" else (share.lower, share.upper)
            close("weighted value", share.value, value)
            near(f"weighted {name} low", got[0], expected[0])
            near(f"weighted {name} high", got[1], expected[1])

    def both_sides(self) -> None:
        """A linked share has the plain one beside it, the error split."""
        if not self.world.links or set(self.world.hidden) == set(self.reference.sensitive):
            return
        plain = Reference(dataclasses.replace(self.world, links=()))
        count = plain.count(self.world.model, "rows")
        if not count.n + count.n_not_comparable:
            return
        settings = {name: value for name, value in self.settings.items() if name != "linked"}
        model = make_model(self.world, self.world.model)
        share = fairprobe.estimate(model, self.domain, self.rows, **self.options, **settings)
        each = 1 - (1 - self.world.confidence) / 2
        linked = self.reference.count(self.world.model, "rows")
        self.share("beside: linked", dataclasses.replace(share, plain=None), linked, each)
        reference, self.reference = self.reference, plain
        self.share("beside: plain", share.plain, count, each)
        self.reference = reference

    def estimate(self, population: str, count: Count, **options: Any) -> Any:
        """A share; None where there is none, and the package must say so."""
        model = make_model(self.world, self.world.model)
        asked = self.rows if population == "rows" else population
        whole = count.n + count.n_not_comparable
        if not whole:
            settings = {**self.options, **options, "linked": self.settings.get("linked")}
            self.refuses(population, lambda: fairprobe.estimate(model, self.domain, asked, **settings))
            return None
        share = fairprobe.estimate(model, self.domain, asked, **self.options, **self.settings, **options)
        same(f"{population} population", share.population, population)
        same(f"{population} sensitive", share.sensitive, self.reference.sensitive)
        if not options:
            same(f"{population} method", share.method, "rows" if population == "rows" else "exact")
        self.queries(population, share.n_queries, model)
        return share

    def refuses(self, what: str, call: Any) -> None:
        try:
            call()
        except (DataError, DomainError):
            return
        raise DifferenceError(f"{what}: nothing is left, and it was not said")

    def queries(self, what: str, n_queries: int, *models: Any) -> None:
        if all(isinstance(model, Asked) for model in models):
            same(f"{what} n_queries", n_queries, sum(model.n_rows for model in models))

    def breakdowns(self) -> None:
        for population in (self.part, "rows"):
            counts = {names: self.reference.count(self.world.model, population, names) for names in self.sets}
            whole = counts[self.sets[-1]]
            if len(self.sets) == 1 or not whole.n + whole.n_not_comparable:
                continue
            model = make_model(self.world, self.world.model)
            asked = self.rows if population == "rows" else population
            shares = fairprobe.breakdown(model, self.domain, asked, **self.options, **self.settings)
            same(f"{population} sets", list(shares), [" x ".join(names) for names in self.sets])
            for names, share in zip(self.sets, shares.values(), strict=True):
                self.share(f"{population} {' x '.join(names)}", share, counts[names], self.world.confidence)

    def drawn(self, population: str) -> list[Row]:
        """The inputs that a sample of the population must be: one shard, as there are so few."""
        domain = self.domain if population == "valid" else self.domain.without_constraints()
        rng = np.random.default_rng(np.random.SeedSequence(self.world.seed, spawn_key=(1, 0)))
        return rows_of(domain.decode(domain.sample_codes(N_EXPERIMENTS * N_SAMPLES, rng)))

    def samples(self) -> None:
        """`estimate` by sampling: its numbers from the rows that the model was asked."""
        population, inputs = self.part, self.drawn(self.part)
        if not set(inputs) <= set(self.reference.population(population)):
            raise DifferenceError(f"sampled {population}: inputs that are none of the population")
        count = self.reference.count(self.world.model, population, inputs=inputs)
        model = make_model(self.world, self.world.model)
        how = {"method": "sample", "n_experiments": N_EXPERIMENTS, "n_samples": N_SAMPLES, **self.options}
        share = fairprobe.estimate(model, self.domain, population, **how, **self.settings)
        same(f"sampled {population} method", share.method, "sample")
        self.share(f"sampled {population}", share, count, self.world.confidence)
        self.experiments(f"sampled {population}", share, count)
        self.queries(population, share.n_queries, model)
        if isinstance(model, Asked):
            members = [self.reference.members(row, self.reference.sensitive, population) for row in inputs]
            self.asked(population, model, [self.reference.seen(row) for family in members for _, row in family])

    def experiments(self, what: str, share: Any, count: Count) -> None:
        """The running mean over the experiments, and the paper's interval."""
        each = rates(count.verdicts, N_SAMPLES)
        same(f"{what} experiments", len(share.history), len(each))
        for place, mean in enumerate(share.history):
            close(f"{what} history", mean, sum(each[: place + 1]) / (place + 1))
        if len(each) > 1:
            for got, expected in zip(
                (share.mean_low, share.mean_high), mean_interval(each, share.confidence), strict=True
            ):
                close(f"{what} interval of the mean", got, expected)

    def asked(self, what: str, model: Asked, expected: list[Row]) -> None:
        """In one of its batches the model was asked about just the inputs drawn and their twins."""
        if expected and Counter(expected) not in map(Counter, model.batches):
            raise DifferenceError(f"sampled {what}: rows asked: {model.batches!r}, expected {expected!r}")

    def comparison(self, population: str) -> None:
        inputs = list(self.world.rows) if population == "rows" else self.drawn(population)
        if population == "rows" and all(map(self.reference.is_left_out, inputs)):
            return
        described = (self.world.model, self.world.other)
        counts = [self.reference.count(model, population, inputs=inputs) for model in described]
        models = [make_model(self.world, model) for model in described]
        sizes = {} if population == "rows" else {"n_experiments": N_EXPERIMENTS, "n_samples": N_SAMPLES}
        asked = self.rows if population == "rows" else population
        got = fairprobe.compare(*models, self.domain, asked, **sizes, **self.options, **self.settings)
        for name, share, count in zip("ab", (got.a, got.b), counts, strict=True):
            self.share(f"compare {population} {name}", share, count, self.world.confidence)
        pairs = list(zip(counts[0].verdicts, counts[1].verdicts, strict=True))
        only_a, only_b = pairs.count((True, False)), pairs.count((False, True))
        same(f"compare {population} n", got.n, len(pairs))
        same(f"compare {population} only_a", got.only_a, only_a)
        same(f"compare {population} only_b", got.only_b, only_b)
        close(f"compare {population} difference", got.difference, (only_a - only_b) / len(pairs) if pairs else math.nan)
        close(f"compare {population} p_value", got.p_value, mcnemar(only_a, only_b))

    def solved(self) -> None:
        """Models of scikit-learn, not enumerated: exact, and then right, or sampled; never exact of a subclass."""
        if not self.world.is_fitted:
            return
        options = {"method": "exact", "exact_limit": 0, "n_experiments": N_EXPERIMENTS, "n_samples": N_SAMPLES}
        count = self.reference.count(self.world.model, "domain")
        share = self.estimate("domain", count, **options)
        if self.world.model.changed is not None:
            if share.method == "exact":
                raise DifferenceError("exact said of a subclass")
            return
        if self.world.model.kind == "tree" and not self.domain.links:
            same("solved domain method", share.method, "exact")
        if share.method == "exact":
            self.share("solved domain", share, count, self.world.confidence)

    def solved_tree(self) -> None:
        """A tree of scikit-learn in the world without its rules and links, whatever its own model."""
        world = self.world
        are_numbers = all(column.is_plain_number and not column.missing for column in world.columns)
        if not are_numbers or world.hidden or world.derived:
            return
        tree = dataclasses.replace(world.model, kind="tree", output="label", changed=None, known={})
        plain = {"links": (), "rules": (), "threshold": 0.0, "batch": None, "form": "predict"}
        Check(dataclasses.replace(world, model=tree, other=tree, **plain)).solved()

    def search(self) -> None:
        """`search`: every case is one, and all are found where the domain was exhausted."""
        if not self.reference.families:
            return
        model = make_model(self.world, self.world.model)
        found = self.searched(model)
        self.cases(found)
        if found.stop_reason == "exhausted":
            same("search: families", set(map(self.reference.key, rows_of(found.cases))), set(self.reference.cases))
            if found.n_judged <= self.shard_inputs:
                same("search: n_inputs", found.n_inputs, len(self.reference.families))
        self.queries("search", found.n_queries, model)

    def searched(self, model: Any, **options: Any) -> Any:
        effort = {"max_cases": None, "max_inputs": 3000, "n_global": 200, "n_local": 10, "n_walkers": 8}
        given = {"strategy": self.world.strategy, "shard_inputs": self.shard_inputs, "seed": self.world.seed}
        settings = {**effort, **given, **self.settings, **options}
        settings.pop("linked", None)
        return fairprobe.search(model, self.domain, **settings)

    def cases(self, found: Any) -> None:
        """Each case is one, shown by the ends of its largest gap, and no family is there twice."""
        cases, twins = rows_of(found.cases), rows_of(found.twins)
        keys = list(map(self.reference.key, cases))
        same("search: distinct cases", len(keys), len(set(keys)))
        same("search: n_cases", found.n_cases, len(keys))
        close("search: yield", found.yield_, len(keys) / found.n_inputs if found.n_inputs else 0.0)
        for index, (case, twin, key) in enumerate(zip(cases, twins, keys, strict=True)):
            self.case(case, twin, key, found.gaps[index], found.outputs.loc[index])

    def case(self, case: Row, twin: Row, key: Row, gap: float, outputs: Any) -> None:
        members = self.reference.cases.get(key)
        if members is None:
            raise DifferenceError(f"search: {case} with {twin} is no case")
        try:
            expected, position = self.reference.twin(case, members)
        except ValueError as error:
            raise DifferenceError(f"search: case {error}") from None
        same(f"search: twin of {case}", twin, expected)
        answers = [answer(self.world.model, member) for member in members]
        same(f"search: gap of {case}", gap, self.reference.gap(answers))
        for name, row in (("case", case), ("twin", twin)):
            output = answer(self.world.model, row)
            same(f"search: output of {name} {row}", outputs[name], output if position is None else output[position])

    def search_from_rows(self) -> None:
        """`start=`: just the rows given are judged, those with unlisted sensitive values too."""
        if self.world.strategy == "uniform":
            return
        starts = [start for start in map(self.reference.started, self.world.rows) if start is not None]
        model = make_model(self.world, self.world.model)
        if not starts:
            self.refuses("start", lambda: self.searched(model, start=self.rows))
            return
        found = self.searched(model, start=self.rows, max_inputs=len(starts))
        self.cases(found)
        left_out = "start-rows-outside" in dict(found.health)
        same("start: rows left out are said", left_out, len(starts) < len(self.world.rows))
        starts = self.until_covered(starts)
        families = {self.reference.key(start) for start in starts}
        same("start: n_judged", found.n_judged, len(starts))
        same("start: n_inputs", found.n_inputs, len(families))
        keys = set(map(self.reference.key, rows_of(found.cases)))
        same("start: families", keys, families & set(self.reference.cases))
        families_of = [self.reference.families[self.reference.key(start)] for start in starts]
        lonely = [family for family in families_of if not self.reference.is_comparable(family)]
        same("start: n_not_comparable", found.n_not_comparable, len(lonely))
        if self.world.model.output == "label" and not set(rows_of(found.cases)) <= set(starts):
            raise DifferenceError("start: a case that is no row")

    def until_covered(self, inputs: list[Row]) -> list[Row]:
        """Inputs up to the one with which all families were judged: a search is exhausted there."""
        left = set(self.reference.families)
        for place, row in enumerate(inputs):
            left.discard(self.reference.key(row))
            if not left:
                return inputs[: place + 1]
        return inputs
