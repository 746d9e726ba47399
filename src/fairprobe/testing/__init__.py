"""Conformance suites for models and strategies, and toy models with known shares."""

from fairprobe.testing.contract import contract_checks, model_contract
from fairprobe.testing.models import check_model, model_checks
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

__all__ = [
    "CountingModel",
    "Toy",
    "all_toys",
    "always",
    "box",
    "check_model",
    "check_strategy",
    "checkerboard",
    "contract_checks",
    "loans",
    "model_checks",
    "model_contract",
    "never",
    "odd_one_out",
    "pair",
    "proba",
    "score",
    "sparse",
    "strategy_checks",
]
