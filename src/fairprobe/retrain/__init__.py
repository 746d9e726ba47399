"""What makes it stop: retraining with what was found."""

from fairprobe.retrain.retrain_settings import RetrainSettings
from fairprobe.retrain.retrained import Retrained
from fairprobe.retrain.retraining import retrain
from fairprobe.retrain.rounds import Round

__all__ = ["RetrainSettings", "Retrained", "Round", "retrain"]
