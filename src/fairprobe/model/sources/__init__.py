"""Sources from which models are loaded: Python modules, files, services and programs."""

from fairprobe.model.sources.load import load_model

__all__ = ["load_model"]
