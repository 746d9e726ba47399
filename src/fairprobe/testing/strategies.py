"""Conformance suite for search strategies: checks that every strategy must pass.

from fairprobe.testing import strategy_checks

@pytest.mark.parametrize(("name", "check"), strategy_checks())
def test_my_strategy(name, check):
    check("my_package.my_module:MyStrategy")
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain import Category, Domain, Integer, Real
from fairprobe.errors import HealthWarning
from fairprobe.model import Asker
from fairprobe.oracle import Oracle
from fairprobe.searching import STRATEGIES, Found, Strategy, Walk, search
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.registry import load_strategy, strategy_path
from fairprobe.testing.models import checks_among
from fairprobe.testing.toys import CountingModel, Toy, all_toys, box, loans

N_WALKERS = 16
N_ASKS = 15
N_INPUTS = 600

StrategyCheck = Callable[[str], None]


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
    return checks_among(globals())


def _check_asks_for_what_it_may(strategy: str) -> None:
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


def _check_same_draws_same_asks(strategy: str) -> None:
    one, other = _drive(strategy, loans()), _drive(strategy, loans())
    same = all(map(np.array_equal, one, other))
    _require(same, strategy, "ask for the same inputs again when it is given the same draws and answers", "others")


def _check_same_seed_same_result(strategy: str) -> None:
    one, other = (_search(strategy, loans(), seed=3, max_judged=N_INPUTS) for _ in range(2))
    same = one.to_frame().equals(other.to_frame()) and one.n_distinct == other.n_distinct
    _require(same, strategy, "give the same result for the same seed", f"{one} and {other}")


def _check_finds_cases_in_odd_domains(strategy: str) -> None:
    for name, toy in _odd_toys():
        found = _search(strategy, toy, max_judged=N_INPUTS, n_global=10)
        enough = found.n_cases > 0 and str(found.stop_reason) in ("exhausted", "max-inputs")
        _require(enough, strategy, f"find cases in a domain with {name}", found)


def _check_reports_what_is_so(strategy: str) -> None:
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
    oracle = Oracle(
        Asker(toy.model, toy.domain, output=toy.settings.get("output", "label")), toy.settings.get("threshold")
    )
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
    with registered, warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # toys that never discriminate are meant to
        return search(
            toy.model if model is None else model,
            toy.domain,
            strategy=strategy,
            n_walkers=N_WALKERS,
            n_global=n_global,
            n_local=30,
            max_cases=None,
            **settings,
            **toy.settings,
        )


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
