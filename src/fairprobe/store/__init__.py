"""Cases in memory and runs on disk; the keys that tell inputs apart."""

from fairprobe.store.cases import Cases
from fairprobe.store.distinct import Coverage, Distinct, Keys, first_seen

__all__ = ["Cases", "Coverage", "Distinct", "Keys", "first_seen"]
