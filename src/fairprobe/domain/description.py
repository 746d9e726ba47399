"""A domain as plain values: its parameters in words, its rules and its size."""

from __future__ import annotations

from typing import Any

from fairprobe.domain.constraints import Rule
from fairprobe.domain.derived import Derived
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Category, Ordinal, Parameter


def described(domain: Domain) -> dict[str, Any]:
    """The domain as plain values of JSON. `n_valid` is None where the allowed inputs are too many to count."""
    return {
        "parameters": [
            {
                "name": each.name,
                "kind": each.kind,
                "words": words_of(each),
                "is_sensitive": each.name in domain.sensitive,
            }
            for each in domain.parameters
        ],
        "constraints": list(map(rule_words, domain.constraints)),
        "links": [link.words() for link in domain.links],
        "hidden": list(domain.hidden),
        "n_inputs": domain.size,
        "n_valid": domain.n_valid,
    }


def rule_words(rule: Any) -> str:
    """The text of a constraint, or the name of a function."""
    return rule.text if isinstance(rule, Rule) else getattr(rule, "__name__", "a function")


def words_of(parameter: Parameter) -> str:
    """The values that a parameter may have.

    >>> from fairprobe.domain import Integer
    >>> words_of(Integer("age", 17, 90))
    '17 to 90'
    """
    missing = ", or missing" if parameter.missing else ""
    if isinstance(parameter, (Category, Ordinal)):
        return f"{', '.join(map(str, parameter.values))}{missing}"
    if isinstance(parameter, Derived):
        return f"follows from {parameter.source}"
    low, high, step = (getattr(parameter, name) for name in ("low", "high", "step"))
    return f"{low} to {high}{f' by {step:g}' if step != 1 else ''}{missing}"
