"""The domain of a model's inputs: parameters, constraints, links, families (inputs with their twins) and density."""

from fairprobe.domain.constraints import Rule
from fairprobe.domain.density import Density
from fairprobe.domain.derived import Derived
from fairprobe.domain.domain import Domain
from fairprobe.domain.links import Link
from fairprobe.domain.mining import MinedRule
from fairprobe.domain.parameters import Category, Integer, Ordinal, Parameter, Real

__all__ = [
    "Category",
    "Density",
    "Derived",
    "Domain",
    "Integer",
    "Link",
    "MinedRule",
    "Ordinal",
    "Parameter",
    "Real",
    "Rule",
]
