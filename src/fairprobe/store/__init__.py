"""Storage: run folders on disk, digests that identify runs, and sets of distinct inputs."""

from fairprobe.store.distinct import Coverage, Distinct, Keys, first_seen

__all__ = ["Coverage", "Distinct", "Keys", "first_seen"]
