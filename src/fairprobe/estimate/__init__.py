"""How common. Nothing here may import the search: a search's yield is not a share."""

from fairprobe.estimate.bounds.intervals import chance_of_finding
from fairprobe.estimate.compare import Comparison, compare
from fairprobe.estimate.estimation import estimate
from fairprobe.estimate.parameter_sets import breakdown, causal_score, causal_search
from fairprobe.estimate.proxies import Proxies, proxies
from fairprobe.estimate.share import Share
from fairprobe.estimate.verdict import Outcome, Verdict, verdict

__all__ = [
    "Comparison",
    "Outcome",
    "Proxies",
    "Share",
    "Verdict",
    "breakdown",
    "causal_score",
    "causal_search",
    "chance_of_finding",
    "compare",
    "estimate",
    "proxies",
    "verdict",
]
