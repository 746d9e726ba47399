"""How to ask a model."""

from fairprobe.model.answers import OUTPUTS, Output
from fairprobe.model.asking import Asker, describe
from fairprobe.model.protocol import Model

__all__ = ["OUTPUTS", "Asker", "Model", "Output", "describe"]
