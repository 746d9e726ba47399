"""The paper's six classifiers, fitted on the encoded census: models to test the search and the estimates on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairprobe.subjects.fitted import load, make, names

if TYPE_CHECKING:
    from fairprobe.subjects.fair_svm import FairSVM

__all__ = ["FairSVM", "load", "make", "names"]


def __getattr__(name: str) -> Any:
    # The class needs scikit-learn, which takes a second to import.
    if name == "FairSVM":
        from fairprobe.subjects.fair_svm import FairSVM

        return FairSVM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
