"""Replays: stored cases are asked about again; each still holds, was fixed, or can no longer be asked.

`replaying` asks the model. `saved` keeps cases in a file of their own, and reads them from all files that hold cases.
"""

from fairprobe.replaying.replaying import CaseStatus, Replayed, replay

__all__ = ["CaseStatus", "Replayed", "replay"]
