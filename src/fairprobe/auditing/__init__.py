"""Audits: one call measures shares, searches, explains, finds proxies, may retrain, and gives a verdict.

`auditing` runs the phases, `content` turns their results into plain values of JSON, and `result` has the object that
the caller gets, and the folder that stores it. `state` has the settings and hides masked values.
"""

from fairprobe.auditing.auditing import audit
from fairprobe.auditing.result import Audit

__all__ = ["Audit", "audit"]
