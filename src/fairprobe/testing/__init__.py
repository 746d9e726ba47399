"""Conformance suites for models and search strategies, and toy models whose share of discriminatory inputs is known."""

from fairprobe.testing.models import contract_checks, model_contract
from fairprobe.testing.strategies import check_strategy, strategy_checks
from fairprobe.testing.toys import (
    CountingModel,
    Toy,
    all_toys,
    always,
    box,
    checkerboard,
    loans,
    never,
    odd_one_out,
    pair,
    proba,
    score,
    sparse,
)

__all__ = ["CountingModel", "Toy", "all_toys", "always", "box", "check_strategy", "checkerboard"]
__all__ += ["contract_checks", "loans", "model_contract", "never", "odd_one_out", "pair", "proba", "score"]
__all__ += ["sparse", "strategy_checks"]
