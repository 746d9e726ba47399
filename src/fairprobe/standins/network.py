"""A multi-layer perceptron: its own forward pass, without the checks that take most of the time for few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.standins.protocol import Places
from fairprobe.standins.rows import Batch, Rows


def compiled(model: Any, rows: Rows) -> Network | None:
    """A fitted network of one label a row."""
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    is_plain = np.ndim(model.classes_) == 1 and n_classes > 1 and model.n_outputs_ == n_outputs
    one_label = model.out_activation_ == ("logistic" if n_outputs == 1 else "softmax")
    return Network(model) if is_plain and one_label else None


class Network:
    """Layers of weights."""

    def __init__(self, model: Any) -> None:
        self.name = f"network of {len(model.coefs_):,} layers"
        self._model = model

    def places(self, batch: Batch) -> Places:
        """The class that is likelier than not, or the likeliest."""
        # Private in scikit-learn, but its own arithmetic to the last bit; were it another one day, screens would see.
        likely = self._model._forward_pass_fast(batch.doubles, check_input=False)
        return np.asarray(likely[:, 0] > 0.5 if likely.shape[1] == 1 else likely.argmax(axis=1))
