"""What makes it stop: retraining with what was found."""

from fairprobe.retraining.retrain_settings import RetrainSettings
from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.retraining import retrain
from fairprobe.retraining.rounds import Round

__all__ = ["RetrainSettings", "Retrained", "Round", "retrain"]
