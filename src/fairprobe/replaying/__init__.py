"""Replays: a model is asked again about stored cases; each still holds, was fixed, is unsure or cannot be asked.

`replaying` asks the model. `saved` keeps cases in a file of their own, and reads them from all files that hold cases.
"""

from fairprobe.replaying.replaying import CaseStatus, Replayed, replay

__all__ = ["CaseStatus", "Replayed", "replay"]
