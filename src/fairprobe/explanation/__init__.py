"""Explanations of cases: their regions and causes, who is worse off, and the smallest changes that end a case."""

from fairprobe.explanation.case_region import CaseRegion
from fairprobe.explanation.explaining import Explanation, explain
from fairprobe.explanation.repairing import Repaired, repair
from fairprobe.explanation.shrinking import Shrunk, shrink

__all__ = ["CaseRegion", "Explanation", "Repaired", "Shrunk", "explain", "repair", "shrink"]
