"""fairprobe finds inputs that a model treats differently only because of a sensitive attribute."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fairprobe._version import __version__

if TYPE_CHECKING:
    from fairprobe import datasets, errors, subjects, testing
    from fairprobe.audit import Audit, audit
    from fairprobe.domain import (
        Category,
        Density,
        Derived,
        Domain,
        Integer,
        Link,
        MinedRule,
        Ordinal,
        Parameter,
        Real,
        Rule,
    )
    from fairprobe.estimate import (
        Share,
        breakdown,
        causal_score,
        causal_search,
        chance_of_finding,
        estimate,
    )
    from fairprobe.estimate.compare import Comparison, compare
    from fairprobe.estimate.proxies import Proxies, proxies
    from fairprobe.estimate.verdict import Verdict, verdict
    from fairprobe.explain import CaseRegion, Explanation, Repaired, Shrunk, explain, repair, shrink
    from fairprobe.model import load_model
    from fairprobe.retrain import Retrained, RetrainSettings, retrain
    from fairprobe.search import Found, search

__all__ = [
    "Audit",
    "CaseRegion",
    "Category",
    "Comparison",
    "Density",
    "Derived",
    "Domain",
    "Explanation",
    "Found",
    "Integer",
    "Link",
    "MinedRule",
    "Ordinal",
    "Parameter",
    "Proxies",
    "Real",
    "Repaired",
    "RetrainSettings",
    "Retrained",
    "Rule",
    "Share",
    "Shrunk",
    "Verdict",
    "__version__",
    "audit",
    "breakdown",
    "causal_score",
    "causal_search",
    "chance_of_finding",
    "compare",
    "datasets",
    "errors",
    "estimate",
    "explain",
    "load_model",
    "proxies",
    "repair",
    "retrain",
    "search",
    "shrink",
    "subjects",
    "testing",
    "verdict",
]

# NumPy alone takes longer to import than `fairprobe --help` may, so each name is imported when it is first asked for.
_HOMES = {
    "fairprobe.audit": ("Audit", "audit"),
    "fairprobe.domain": (
        "Category",
        "Density",
        "Derived",
        "Domain",
        "Integer",
        "Link",
        "MinedRule",
        "Ordinal",
        "Parameter",
        "Real",
        "Rule",
    ),
    "fairprobe.estimate": (
        "Share",
        "breakdown",
        "causal_score",
        "causal_search",
        "chance_of_finding",
        "estimate",
    ),
    "fairprobe.estimate.compare": ("Comparison", "compare"),
    "fairprobe.estimate.proxies": ("Proxies", "proxies"),
    "fairprobe.estimate.verdict": ("Verdict", "verdict"),
    "fairprobe.explain": ("CaseRegion", "Explanation", "Repaired", "Shrunk", "explain", "repair", "shrink"),
    "fairprobe.model": ("load_model",),
    "fairprobe.retrain": ("RetrainSettings", "Retrained", "retrain"),
    "fairprobe.search": ("Found", "search"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("datasets", "errors", "subjects", "testing")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"fairprobe.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__") and name not in __all__)]


class _Face(ModuleType):
    """Importing a package sets it on its parent: `search` and others are functions here, and stay that."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
