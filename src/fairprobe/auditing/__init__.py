"""One call: shares, search, why, proxies, maybe retraining, and a verdict; all of it in one plain object of JSON.

`auditing` runs the phases, `content` puts what came of them into plain values, `result` is what people get.
`privacy` says what must not be told, `folder` keeps it.
"""

from fairprobe.auditing.auditing import audit
from fairprobe.auditing.result import Audit

__all__ = ["Audit", "audit"]
