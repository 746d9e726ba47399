"""What makes it stop: retraining with what was found."""

from fairprobe.retrain.retrained import Retrained
from fairprobe.retrain.rounds import Round
from fairprobe.retrain.run import retrain

__all__ = ["Retrained", "Round", "retrain"]
