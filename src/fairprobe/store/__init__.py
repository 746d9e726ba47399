"""What was found: cases, and what makes two of them one."""

from fairprobe.store.cases import Cases
from fairprobe.store.distinct import Coverage, Distinct, Keys, first_seen

__all__ = ["Cases", "Coverage", "Distinct", "Keys", "first_seen"]
