"""Ask about cases found before again: which still hold, which were fixed, which can no longer be asked.

`replaying` asks, `saved` keeps cases in a file of their own and reads them out of whatever holds cases.
"""

from fairprobe.replaying.replaying import CaseStatus, Replayed, replay

__all__ = ["CaseStatus", "Replayed", "replay"]
