"""What an input may be."""

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Category, Integer, Ordinal, Parameter, Real

__all__ = ["Category", "Domain", "Integer", "Ordinal", "Parameter", "Real"]
