"""The kinds of parameters: what values one column may take."""

from __future__ import annotations

from fairprobe.domain.categorical import Category, Ordinal
from fairprobe.domain.numeric import Integer, Real
from fairprobe.domain.parameter import Parameter

KINDS: dict[str, type[Integer | Real | Category | Ordinal]] = {
    kind.kind: kind for kind in (Integer, Real, Category, Ordinal)
}

__all__ = ["KINDS", "Category", "Integer", "Ordinal", "Parameter", "Real"]
