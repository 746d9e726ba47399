"""Explanations of cases: their regions and causes, who is worse off, and the smallest changes that end a case."""

from fairprobe.explanation.changed_cases import Repaired, Shrunk, repair, shrink
from fairprobe.explanation.explaining import Explanation, explain
from fairprobe.explanation.regions import CaseRegion

__all__ = ["CaseRegion", "Explanation", "Repaired", "Shrunk", "explain", "repair", "shrink"]
