"""The share of discriminatory inputs in a population. Nothing here imports the search: a yield is not a share."""

from fairprobe.estimation.compare import Comparison, compare
from fairprobe.estimation.estimation import breakdown, causal_score, causal_search, estimate
from fairprobe.estimation.matched_result import Matched
from fairprobe.estimation.proxies import Proxies, proxies
from fairprobe.estimation.share import Share
from fairprobe.estimation.verdict import Outcome, Verdict, verdict

__all__ = [
    "Comparison",
    "Matched",
    "Outcome",
    "Proxies",
    "Share",
    "Verdict",
    "breakdown",
    "causal_score",
    "causal_search",
    "compare",
    "estimate",
    "proxies",
    "verdict",
]
