"""Why: where the cases are, through what, who is worse off, and the smallest change that ends one."""

from fairprobe.explanation.case_region import CaseRegion
from fairprobe.explanation.changed_cases import Repaired, Shrunk
from fairprobe.explanation.explaining import explain
from fairprobe.explanation.explanation import Explanation
from fairprobe.explanation.repairing import repair
from fairprobe.explanation.shrinking import shrink

__all__ = ["CaseRegion", "Explanation", "Repaired", "Shrunk", "explain", "repair", "shrink"]
