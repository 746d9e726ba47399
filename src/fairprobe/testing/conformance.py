"""Conformance suites: checks of all that this package assumes of a model and its adapter, and of a search strategy.

from fairprobe.testing import strategy_checks

@pytest.mark.parametrize(("name", "check"), strategy_checks())
def test_my_strategy(name, check):
    check("my_package.my_module:MyStrategy")
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain import Category, Domain, Integer, Real
from fairprobe.errors import DataError, HealthWarning, ModelError
from fairprobe.model import Asker, describe
from fairprobe.model.adapters import Adapter, adapter_for, columns_of
from fairprobe.model.measuring import COARSE
from fairprobe.oracle import Oracle
from fairprobe.searching import STRATEGIES, Found, Strategy, Walk, search
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.registry import load_strategy, strategy_path
from fairprobe.testing.toys import CountingModel, Toy, all_toys, box, loans

# Models

N_SAMPLES = 200
N_ALONE = 20
SEED = 0

N_WALKERS = 16
N_ASKS = 15
N_INPUTS = 600

StrategyCheck = Callable[[str], None]

Rule = Callable[["Contracted"], None]


@dataclass(frozen=True)
class Contracted:
    """A model to check, the domain of the inputs for its checks, and the form of its batches."""

    model: Any
    domain: Domain
    batch: str | None = None
    told: tuple[str, ...] | None = None
    """Outputs to check, such as ("label", "proba"); None for all that the adapter declares."""

    @cached_property
    def adapter(self) -> Adapter:
        """The adapter of the model, which says how the model is asked and what it can do."""
        return adapter_for(self.model)

    @cached_property
    def codes(self) -> Codes:
        """Codes of the inputs for the checks: inputs at the ends of each parameter, then uniform inputs.

        The first ones are uniform, with one parameter at its first, last or missing level; only allowed ones are kept.
        """
        rng, domain = np.random.default_rng(SEED), self.domain
        ends = [
            (column, code)
            for column, parameter in enumerate(domain.parameters)
            for code in sorted({0, max(0, parameter.levels - 1 - parameter.missing), parameter.levels - 1})
        ]
        corners = domain.sample_codes(len(ends), rng)
        corners[np.arange(len(ends)), [column for column, _ in ends]] = [code for _, code in ends]
        return np.concatenate([corners[domain.allows(corners)], domain.sample_codes(N_SAMPLES, rng)])

    @cached_property
    def rows(self) -> Any:
        """The inputs of `codes` as a DataFrame with the dtypes of the domain."""
        return self.domain.typed(self.domain.decode(self.codes))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Outputs to check: those named, otherwise all that the adapter declares; labels for a plain function."""
        if self.told is not None:
            return self.told
        if Asker(self.model, self.domain, output="value", batch=self.batch).adapter.is_function:
            return ("label",)
        try:
            self.asker("label").ask(self.codes)
        except Exception:
            return ("value",)  # the first check then says more of it, if it gives no values either
        scores = ("score",) if self.adapter.scores or self.adapter.probabilities else ()
        return ("label", *scores, *(("proba",) if self.adapter.probabilities else ()))

    def asker(self, output: str, model: Any = None) -> Asker:
        """Return an asker for one output of the model under contract, or of `model`, a copy of it."""
        return Asker(self.model if model is None else model, self.domain, output=output, batch=self.batch)

    def askers(self) -> Iterator[Asker]:
        """Yield an asker for each output to check, without cached answers, which would hide faults."""
        for output in self.outputs:
            asker = self.asker(output)
            with asker.afresh():
                yield asker

    def require(self, holds: object, rule: str) -> None:
        """Raise an AssertionError that states `rule` unless `holds` is true."""
        if not holds:
            raise AssertionError(f"the model {self.adapter.name} must {rule}")

    def require_same(self, asker: Asker, one: NDArray[Any], other: NDArray[Any], to: str, codes: Any = None) -> None:
        """Raise an AssertionError if two arrays of answers differ: labels at all, numbers by more than rounding.

        `to` names what was asked, for the message, and `codes` are the inputs, by default all inputs of the checks.
        """
        codes = self.codes if codes is None else codes
        if asker.output == "label":
            differs = one != other
        else:
            least = max(1e-9, COARSE * float(np.abs(one).max(initial=0.0)))  # what single precision may miss
            differs = ~np.isclose(one, other, rtol=1e-6, atol=least).reshape(len(codes), -1).all(axis=1)
        if differs.any():
            row = int(np.argmax(differs))
            got = f"{one[row]} and {other[row]} for {describe(self.domain, codes[row])}"
            self.require(False, f"give the same answer to {to}, got {got}")

    def require_alike(self, ask: Callable[[Asker], NDArray[Any]], to: str) -> None:
        """Raise an AssertionError unless, for each output, `ask` gets the answers to all inputs of the checks.

        `to` names what was asked, for the message.
        """
        for asker in self.askers():
            self.require_same(asker, asker.ask(self.codes), ask(asker), to)


def model_contract(
    model: Any, domain: Domain, *, outputs: Sequence[str] | None = None, batch: str | None = None
) -> None:
    """Check that a model and its adapter satisfy the contract. An AssertionError names a broken rule.

    Models that satisfy the contract can be searched, estimated, audited and explained in several processes, for every
    output that their adapter declares. A model that gives no valid answer raises a ModelError.

    Args:
        model: anything with `predict`, a callable, or what an adapter of your own accepts.
        domain: the possible inputs, at best with all kinds of parameters that the model takes.
        outputs: the outputs to check, of "label", "score", "proba" and "value"; by default all that its adapter
            declares, and labels for a plain function.
        batch: "array" or "frame", the form of batches that the model takes; by default as its adapter decides.

    >>> from fairprobe.testing import box
    >>> toy = box()
    >>> model_contract(toy.model, toy.domain)
    """
    contracted = Contracted(model, domain, batch, None if outputs is None else tuple(outputs))
    for _, check in contract_checks():
        check(contracted)


def contract_checks() -> list[tuple[str, Rule]]:
    """Return pairs of a rule's name and its check, a function of a `Contracted` that raises if the rule is broken."""
    return checks_among(globals(), "_model_")


def checks_among(names: Mapping[str, Any], prefix: str = "_check_") -> list[tuple[str, Any]]:
    """Return the functions of a module whose names begin with a prefix, as pairs of a name and a function, in order."""
    found = [(name, check) for name, check in names.items() if name.startswith(prefix)]
    return [(name.removeprefix(prefix).replace("_", "-"), check) for name, check in found]


def _model_same_answer_twice(it: Contracted) -> None:
    it.require_alike(lambda asker: asker.ask(it.codes), "the same batch")


def _model_same_answer_in_any_order(it: Contracted) -> None:
    it.require_alike(lambda asker: asker.ask(it.codes[::-1].copy())[::-1], "a row wherever it stands in a batch")


def _model_same_answer_alone(it: Contracted) -> None:
    for asker in it.askers():
        some = it.codes[-N_ALONE:]
        alone = np.concatenate([asker.ask(row[None, :]) for row in some])
        it.require_same(asker, asker.ask(it.codes)[-N_ALONE:], alone, "a row alone and in a batch", some)


def _model_batch_is_left_alone(it: Contracted) -> None:
    import pandas as pd

    for asker in it.askers():
        batch, before = asker.form.rows(it.codes), asker.form.rows(it.codes)
        try:
            asker.function(batch)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise ModelError(f"the model must answer every input of the domain, got {got}") from error
        it.require(pd.DataFrame(batch).equals(pd.DataFrame(before)), "not change the batch it is given")


def _model_inputs_and_rows_are_answered_alike(it: Contracted) -> None:
    it.require_alike(lambda asker: asker.ask_frame(it.rows), "rows as to the inputs that they are")


def _model_columns_go_by_name(it: Contracted) -> None:
    for asker in it.askers():
        turned = asker.ask_frame(it.rows[list(reversed(it.rows.columns))])
        it.require_same(asker, asker.ask_frame(it.rows), turned, "rows whose columns stand in another order")


def _model_families_are_their_members(it: Contracted) -> None:
    members = it.domain.families.members(it.codes)
    for asker in it.askers():
        alone, whole = asker.ask(members), asker.ask_families(it.codes)
        it.require_same(asker, whole.reshape(alone.shape), alone, "whole families as to their members", members)


def _model_every_row_is_counted(it: Contracted) -> None:
    asker = it.asker(it.outputs[0])
    asker.ask(it.codes)
    asker.ask_frame(it.rows)
    it.require(asker.n_queries == 2 * len(it.codes), "have every row counted that it is asked about")


def _model_labels_are_classes(it: Contracted) -> None:
    if "label" in it.outputs and it.adapter.classes is not None:
        known = np.asarray(it.adapter.classes).tolist()
        labels = it.asker("label").ask(it.codes).tolist()
        it.require(set(labels) <= set(known), f"give labels that are its classes, {known}")


def _model_probabilities_add_to_one(it: Contracted) -> None:
    if "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    it.require((given >= -1e-6).all() and (given <= 1 + 1e-6).all(), "give probabilities between 0 and 1")
    it.require(np.allclose(given.sum(axis=1), 1, atol=1e-4), "give probabilities that add to 1")
    classes = it.adapter.classes
    it.require(classes is None or len(classes) == given.shape[1], "give a probability for each of its classes")


def _model_labels_follow(it: Contracted) -> None:
    """Check that labels are the classes of the highest probabilities, if the adapter declares this."""
    if it.adapter.labels_follow != "proba" or it.adapter.classes is None or "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    ranked = np.sort(given, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-6  # where rounding cannot decide
    likeliest = np.asarray(it.adapter.classes)[given.argmax(axis=1)]
    same = (likeliest == it.asker("label").ask(it.codes))[clear]
    it.require(same.all(), "give the label of the highest probability, as its adapter declares")


def _model_a_copy_answers_alike(it: Contracted) -> None:
    """Check that a pickled copy of the model, as other processes get it, gives the same answers."""
    import cloudpickle

    try:
        copy = cloudpickle.loads(cloudpickle.dumps(it.model))
    except Exception as error:
        raise AssertionError(f"the model {it.adapter.name} must be one that can be copied, got {error}") from error
    it.require_alike(lambda asker: it.asker(asker.output, copy).ask(it.codes), "a copy of itself")


def _model_other_columns_are_refused(it: Contracted) -> None:
    """Check that a domain without one of the model's columns raises a DataError that names the column."""
    columns = columns_of(it.model, it.domain)
    others = [name for name in it.domain.names if name not in it.domain.sensitive]
    if columns is None or len(others) < 2 or it.domain.is_restricted or it.domain.links:
        return
    missing = next((name for name in others if name in columns), None)
    kept = [parameter for parameter in it.domain.parameters if parameter.name != missing]
    if missing is None or any(getattr(parameter, "source", None) == missing for parameter in kept):
        return
    try:
        Asker(it.model, Domain(kept, list(it.domain.sensitive)), batch=it.batch)
    except DataError as error:
        it.require(missing in str(error), f"name the column that a domain lacks, {missing}, got {error}")
    else:
        it.require(False, f"refuse a domain without its column {missing!r}")


# Strategies


def check_strategy(path_or_name: str) -> None:
    """Check that a search strategy keeps the rules of searches; an AssertionError names a broken rule.

    Args:
        path_or_name: the class as "module:Class", or the name under which the strategy is registered.

    >>> check_strategy("uniform")
    """
    for _, check in strategy_checks():
        check(path_or_name)


def strategy_checks() -> list[tuple[str, StrategyCheck]]:
    """Return pairs of a check's name and its function, which takes the path or name of a strategy.

    A function raises an AssertionError if the strategy breaks its rule.
    """
    return checks_among(globals(), "_strategy_")


def _strategy_asks_for_what_it_may(strategy: str) -> None:
    """Check that a strategy asks only about allowed inputs, and that its walkers keep their sensitive values."""
    is_walk = issubclass(_class(strategy), Walk)
    for name, toy in [*all_toys(), *_odd_toys()]:
        domain, seeds = toy.domain, _seeds(toy)
        columns = list(domain.sensitive_columns)
        of_seeds = seeds[:, columns]
        given = seeds.copy()
        asks = _drive(strategy, toy, given)

        def require(holds: bool, rule: str, got: object, name: str = name) -> None:
            _require(holds, strategy, f"{rule}, on the toy {name!r}", got)

        require(np.array_equal(seeds, given), "not change the seeds it is given", given)
        for asked in asks:
            fits = asked.ndim == 2 and asked.shape[1] == len(domain.levels) and asked.dtype == np.int64
            require(fits, "ask for int64 codes, a column a parameter", f"{asked.shape} of {asked.dtype}")
            require(bool(((asked >= 0) & (asked < domain.levels)).all()), "ask only about inputs of the domain", asked)
            require(bool(domain.allows(asked).all()), "ask only about inputs the constraints allow", asked)
            values = asked[:, columns]
            if is_walk and not domain.is_restricted:
                require(len(asked) == N_WALKERS, f"ask for {N_WALKERS} inputs, one a walker", len(asked))
                require(np.array_equal(values, of_seeds), "never move a sensitive parameter", values)
            elif _class(strategy).is_local:
                known = {*map(tuple, values)} <= {*map(tuple, of_seeds)}
                require(known, "never move a sensitive parameter", values)


def _strategy_same_draws_same_asks(strategy: str) -> None:
    one, other = _drive(strategy, loans()), _drive(strategy, loans())
    same = all(map(np.array_equal, one, other))
    _require(same, strategy, "ask for the same inputs again when it is given the same draws and answers", "others")


def _strategy_same_seed_same_result(strategy: str) -> None:
    one, other = (_search(strategy, loans(), seed=3, max_judged=N_INPUTS) for _ in range(2))
    same = one.to_frame().equals(other.to_frame()) and one.n_distinct == other.n_distinct
    _require(same, strategy, "give the same result for the same seed", f"{one} and {other}")


def _strategy_finds_cases_in_odd_domains(strategy: str) -> None:
    for name, toy in _odd_toys():
        found = _search(strategy, toy, max_judged=N_INPUTS, n_global=10)
        enough = found.n_cases > 0 and str(found.stop_reason) in ("exhausted", "max-inputs")
        _require(enough, strategy, f"find cases in a domain with {name}", found)


def _strategy_reports_what_is_so(strategy: str) -> None:
    """Check that a search's reported numbers are those of rows sent, and that every reported case is one.

    This detects a strategy that queries the model in secret.
    """
    for name, toy in all_toys():
        model = CountingModel(toy.model)
        found = _search(strategy, toy, model=model, max_judged=N_INPUTS)
        rule = f"send the model the rows it reports, on the toy {name!r}"
        _require(found.n_queries == model.n_rows, strategy, rule, f"{found.n_queries} reported, {model.n_rows} sent")
        n_twins = len(toy.domain.combinations)
        least, most = found.n_judged * n_twins, (found.n_judged + 1_000) * n_twins
        _require(least <= found.n_queries <= most, strategy, rule, f"{found.n_queries} for {found.n_judged} inputs")
        rule = f"report only cases, on the toy {name!r}"
        cases, twins = toy.batch(found.cases), toy.batch(found.twins)
        planted = toy.is_case(cases)
        _require(bool(planted.all()), strategy, rule, f"{int((~planted).sum())} others")
        if "threshold" not in toy.settings:
            _require(bool((toy.model(cases) != toy.model(twins)).all()), strategy, rule, "the same label for both ends")
        free = [toy.domain.names[column] for column in toy.domain.free_columns]
        _require(found.cases[free].equals(found.twins[free]), strategy, rule, "twins that differ in another parameter")
        _require(not found.cases[free].duplicated().any(), strategy, rule + ", each once", "one more than once")


# How they are run


def _drive(strategy: str, toy: Toy, seeds: Codes | None = None) -> list[Codes]:
    """Return the batches of inputs that a strategy asks about when it is started twice, as in a search."""
    settings = SearchSettings("", N_WALKERS, 100, N_ASKS, 0.05, 0.05, 100_000)
    asker = Asker(toy.model, toy.domain, output=toy.settings.get("output", "label"))
    oracle = Oracle(asker, toy.settings.get("threshold"))
    walker = _class(strategy)(toy.domain, settings, np.random.default_rng(1))
    seeds = _seeds(toy) if seeds is None else seeds
    asked: list[Codes] = []
    for _ in range(2):
        walker.start(seeds)
        for _ in range(N_ASKS):
            codes = walker.ask()
            asked.append(codes.copy())
            walker.tell(oracle.judge(codes))
    return asked


def _seeds(toy: Toy) -> Codes:
    """Return the codes of a random start input for each walker, discriminatory or not."""
    return toy.domain.sample_codes(N_WALKERS, np.random.default_rng(0))


def _search(strategy: str, toy: Toy, *, model: Any = None, n_global: int = 100, **settings: Any) -> Found:
    # A path is registered under itself for as long as this lasts.
    registered = mock.patch.dict(STRATEGIES, {strategy: strategy} if ":" in strategy else {})
    asked = {"n_walkers": N_WALKERS, "n_global": n_global, "n_local": 30, "max_cases": None, **settings, **toy.settings}
    with registered, warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # toys that never discriminate are meant to
        return search(toy.model if model is None else model, toy.domain, strategy=strategy, **asked)


def _class(strategy: str) -> type[Strategy]:
    return load_strategy(strategy if ":" in strategy else strategy_path(strategy))


def _require(holds: bool, strategy: str, rule: str, got: object) -> None:
    if not holds:
        raise AssertionError(f"the strategy {strategy!r} must {rule}, got {got!s:.300}")


def _is_allowed(frame: Any) -> Any:
    return (frame["x0"] + frame["x1"] + 3 * frame["group"]) <= 15


def _odd_toys() -> Iterator[tuple[str, Toy]]:
    group = Integer("group", 0, 1)
    whole = box(n_free=1, levels=50, low=10, high=20)
    model, rule, share = whole.model, whole.is_case, whole.share
    category = Category("x0", tuple(range(50)))
    wide = Integer("x0", 0, 49, moves=(-200, -40, -7, 7, 40, 200))
    yield "one movable parameter", whole
    square = box(n_free=2, levels=12, low=2, high=9)
    cut = Domain(square.domain.parameters, ["group"], [_is_allowed])
    yield "constraints that forbid a corner, and more of it to one group", Toy(square.model, cut, share, square.is_case)
    yield "a Category only", Toy(model, Domain([category, group], ["group"]), share, rule)
    yield "moves wider than the domain", Toy(model, Domain([wide, group], ["group"]), share, rule)
    real = [Real("x0", 0, 49, 0.5), Integer("x1", 7, 7), group]
    yield "a parameter of one value", Toy(model, Domain(real, ["group"]), share, rule)
