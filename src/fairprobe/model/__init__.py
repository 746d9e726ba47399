"""Models: loading them from their sources, asking them by adapters, and recognising known classes of models."""

from fairprobe.model.adapters import Model
from fairprobe.model.asking import Asker, describe
from fairprobe.model.outputs import OUTPUTS, Output
from fairprobe.model.sources import load_model

__all__ = ["OUTPUTS", "Asker", "Model", "Output", "describe", "load_model"]
