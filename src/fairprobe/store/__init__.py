"""Runs on disk, and the keys that distinguish inputs."""

from fairprobe.store.distinct import Coverage, Distinct, Keys, first_seen

__all__ = ["Coverage", "Distinct", "Keys", "first_seen"]
