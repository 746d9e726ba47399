"""fairprobe finds inputs that a model treats differently only because of a sensitive attribute."""

# pandas, scikit-learn and the like load on first use, so that the command line starts quickly. The names are imported
# here and now, not on demand: `fairprobe.search` is a package too, and importing that later would hide the function.
from fairprobe import datasets, errors, subjects, testing
from fairprobe._version import __version__
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
    Comparison,
    Proxies,
    Share,
    Verdict,
    breakdown,
    causal_score,
    causal_search,
    chance_of_finding,
    compare,
    estimate,
    estimate_strata,
    propose_strata,
    proxies,
    verdict,
)
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
    "estimate_strata",
    "explain",
    "load_model",
    "propose_strata",
    "proxies",
    "repair",
    "retrain",
    "search",
    "shrink",
    "subjects",
    "testing",
    "verdict",
]
