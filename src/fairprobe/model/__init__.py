"""How to ask a model."""

from fairprobe.model.adapters import Model
from fairprobe.model.answers import OUTPUTS, Output
from fairprobe.model.asking import Asker, describe

__all__ = ["OUTPUTS", "Asker", "Model", "Output", "describe"]
