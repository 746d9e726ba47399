"""What EU AI Act Annex IV 2(g), NIST AI RMF MEASURE 2.11 and SR 11-7 with ECOA ask for, and which section answers.

`docs/report-fields.md` says it at length, and what is not covered.
"""

from __future__ import annotations

TAGS = {
    "ai-act": (
        "AI Act",
        "EU AI Act, Annex IV 2(g): validation and testing, metrics, discriminatory impacts, signed logs",
    ),
    "nist": ("NIST 2.11", "NIST AI RMF, MEASURE 2.11: fairness and bias are evaluated and results are documented"),
    "sr-11-7": ("SR 11-7", "SR 11-7: model validation, outcomes analysis, limitations, documentation"),
    "ecoa": ("ECOA", "ECOA and Regulation B: no different treatment on a prohibited basis"),
}
"""The short name beside a section's title, and what it stands for."""

ASKED = {
    "verdict": ("ai-act", "nist", "ecoa"),
    "rows": ("ai-act", "nist", "ecoa"),
    "shares": ("ai-act", "nist", "sr-11-7", "ecoa"),
    "regions": ("nist", "sr-11-7"),
    "cases": ("ai-act", "ecoa"),
    "influence": ("nist", "sr-11-7"),
    "directions": ("nist", "ecoa"),
    "proxies": ("nist", "ecoa"),
    "remedies": ("nist",),
    "retraining": ("nist", "sr-11-7"),
    "sensitivity": ("sr-11-7",),
    "question": ("ai-act", "sr-11-7"),
    "sampling": ("ai-act", "sr-11-7"),
    "convergence": ("sr-11-7",),
    "impact": ("nist", "ecoa"),
    "health": ("sr-11-7",),
    "limitations": ("ai-act", "sr-11-7"),
    "record": ("ai-act", "sr-11-7"),
    "sign-off": ("ai-act", "sr-11-7"),
}
"""By section, who asks for it."""
