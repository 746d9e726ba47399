"""fairprobe finds inputs that a model treats differently only because of a sensitive attribute."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairprobe._version import __version__

if TYPE_CHECKING:
    from fairprobe import datasets, errors, subjects, testing
    from fairprobe.asserting import assert_no_discrimination
    from fairprobe.auditing import Audit, audit
    from fairprobe.domain import Density, Derived, Domain, Link, MinedRule, Rule
    from fairprobe.domain.parameters import Category, Integer, Ordinal, Parameter, Real
    from fairprobe.estimation import Share, breakdown, causal_score, causal_search, estimate
    from fairprobe.estimation.compare import Comparison, compare
    from fairprobe.estimation.matched_result import Matched
    from fairprobe.estimation.proxies import Proxies, proxies
    from fairprobe.estimation.verdict import Verdict, verdict
    from fairprobe.explanation import CaseRegion, Explanation, Repaired, Shrunk, explain, repair, shrink
    from fairprobe.model import load_model
    from fairprobe.replaying import Replayed, replay
    from fairprobe.retraining import Retrained, retrain
    from fairprobe.searching import Found, search

__all__ = ["Audit", "CaseRegion", "Category", "Comparison", "Density", "Derived", "Domain", "Explanation"]
__all__ += ["Found", "Integer", "Link", "Matched", "MinedRule", "Ordinal", "Parameter", "Proxies", "Real", "Repaired"]
__all__ += ["Replayed", "Retrained", "Rule", "Share", "Shrunk", "Verdict", "__version__"]
__all__ += ["assert_no_discrimination", "audit", "breakdown", "causal_score", "causal_search", "compare"]
__all__ += ["datasets", "errors", "estimate", "explain", "load_model", "proxies", "repair", "replay"]
__all__ += ["retrain", "search", "shrink", "subjects", "testing", "verdict"]

# NumPy alone takes longer to import than `fairprobe --help` may, so each name is imported when it is first asked for.
_HOMES = {
    "fairprobe.asserting": "assert_no_discrimination",
    "fairprobe.auditing": "Audit audit",
    "fairprobe.domain": "Density Derived Domain Link MinedRule Rule",
    "fairprobe.domain.parameters": "Category Integer Ordinal Parameter Real",
    "fairprobe.estimation": "Share breakdown causal_score causal_search estimate",
    "fairprobe.estimation.compare": "Comparison compare",
    "fairprobe.estimation.matched_result": "Matched",
    "fairprobe.estimation.proxies": "Proxies proxies",
    "fairprobe.estimation.verdict": "Verdict verdict",
    "fairprobe.explanation": "CaseRegion Explanation Repaired Shrunk explain repair shrink",
    "fairprobe.model": "load_model",
    "fairprobe.replaying": "Replayed replay",
    "fairprobe.retraining": "Retrained retrain",
    "fairprobe.searching": "Found search",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
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
