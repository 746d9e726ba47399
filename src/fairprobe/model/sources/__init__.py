"""Sources of models: Python objects, files, services, programs."""

from fairprobe.model.sources.load import load_model

__all__ = ["load_model"]
