"""Conformance suites for models and search strategies, and toy models whose share of discriminatory inputs is known."""

from fairprobe.testing.conformance import check_strategy, contract_checks, model_contract, strategy_checks
from fairprobe.testing.toys import CountingModel, Toy, all_toys, box, loans, never, odd_one_out, pair, proba, score

__all__ = ["CountingModel", "Toy", "all_toys", "box", "check_strategy", "contract_checks", "loans"]
__all__ += ["model_contract", "never", "odd_one_out", "pair", "proba", "score", "strategy_checks"]
