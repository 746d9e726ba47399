"""Why: where the cases are, through what, who is worse off, and the smallest change that ends one."""

from fairprobe.explain.case_region import CaseRegion
from fairprobe.explain.explaining import explain
from fairprobe.explain.explanation import Explanation
from fairprobe.explain.repairing import Repaired, repair
from fairprobe.explain.shrinking import Shrunk, shrink

__all__ = ["CaseRegion", "Explanation", "Repaired", "Shrunk", "explain", "repair", "shrink"]
