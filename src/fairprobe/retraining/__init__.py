"""Retraining: models fitted anew to rows with discriminatory inputs or twins, until such inputs are rarer."""

from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.retraining import retrain
from fairprobe.retraining.rounds import Round

__all__ = ["Retrained", "Round", "retrain"]
