"""Models in ONNX, asked by onnxruntime: what their inputs take and what their outputs mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.errors import DataError
from fairprobe.model.categories import own_name

DTYPES: Final[dict[str, Any]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
"""What an input takes, by onnxruntime's name for it."""

LABELS: Final = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
NUMBERS: Final = ("tensor(float", "tensor(double)", "seq(map(")
"""Types of outputs."""

N_TRIED: Final = 8
SLACK: Final = 1e-4
"""Rows that tell what an output is, and by how much probabilities in single precision may miss 1."""

MadeBy = Mapping[str, tuple[str, tuple[Any, ...] | None]]
"""By output: the operation that makes it, and the classes that it tells."""


def open_session(content: bytes) -> Any:
    """A session of onnxruntime.

    One thread: whoever asks in several processes or threads has these already, and onnxruntime's own wait busily.
    """
    import onnxruntime  # type: ignore[import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])


def onnx_model(session: Any, content: bytes, made_by: MadeBy) -> OnnxModel:
    """The kind of model that the outputs of a graph make it.

    Labels are an output of whole numbers or texts; probabilities one that a softmax or a sigmoid makes, or whose rows
    add to 1. Of other numbers several a row are scores, whose highest is the label, and one a row is just a number.
    """
    model = OnnxModel(session, content, made_by)
    labels, numbers = model.output_of(LABELS), model.output_of(NUMBERS)
    if labels is None and numbers is None:
        raise DataError(
            f"an ONNX model must give labels or numbers, got {', '.join(each.type for each in model.outputs)}"
        )
    if numbers is None:
        kind: type[OnnxModel] = OnnxLabels
    else:
        made, operation = model.tried(numbers), made_by.get(numbers, ("", None))[0]
        width = made.shape[1] if made is not None else model.width_of(numbers)
        if width == 1:
            kind = OnnxProbabilities if operation == "Sigmoid" else OnnxLabels if labels is not None else OnnxNumbers
        elif made is not None:
            kind = OnnxProbabilities if _are_probabilities(made) else OnnxScores
        else:
            kind = OnnxProbabilities if operation in ("Softmax", "ZipMap") or "prob" in numbers else OnnxScores
    return kind(session, content, made_by)


class OnnxModel:
    """A graph into which one tensor goes, or one tensor a column. What comes out, its kinds know."""

    def __init__(self, session: Any, content: bytes, made_by: MadeBy) -> None:
        self._session, self._content, self._made_by = session, content, made_by
        self._inputs, self.outputs = session.get_inputs(), session.get_outputs()
        for each in self._inputs:
            if each.type not in DTYPES or len(each.shape) not in (1, 2):
                raise DataError(f"an ONNX model must take tables, got {each.name} {each.type} {each.shape}")
            if isinstance(each.shape[0], int) and each.shape[0] > 0:
                raise DataError(
                    f"an ONNX model must take any number of rows, got {each.name} of {each.shape[0]}: export it with "
                    "a first axis that may change"
                )
        widths = [1 if len(each.shape) == 1 else each.shape[1] for each in self._inputs]
        if len(widths) == 1 and widths[0] != 1:
            if isinstance(widths[0], int) and widths[0] > 0:
                self.n_features_in_ = widths[0]
        elif all(width == 1 for width in widths):
            self.feature_names_in_ = np.array([each.name for each in self._inputs], dtype=object)
            self.n_features_in_ = len(widths)
        else:
            shapes = ", ".join(f"{each.name} {each.shape}" for each in self._inputs)
            raise DataError(f"an ONNX model must take one tensor of all columns, or one a column, got {shapes}")
        self._labels, self._numbers = self.output_of(LABELS), self.output_of(NUMBERS)
        self._set_classes()

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self._content, "made_by": dict(self._made_by)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OnnxModel.__init__(self, open_session(state["content"]), **state)

    def output_of(self, types: tuple[str, ...]) -> str | None:
        """The first output of one of these types."""
        return next((each.name for each in self.outputs if each.type.startswith(types)), None)

    def width_of(self, output: str) -> int | None:
        """How many numbers a row of an output has, if it says so."""
        shape = next(each.shape for each in self.outputs if each.name == output) or []
        width = shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else None
        return width if isinstance(width, int) else None

    def tried(self, output: str) -> Floats | None:
        """What it says of a few made-up rows; None if it does not like them."""
        rng = np.random.default_rng(0)
        feed = {}
        for each in self._inputs:
            width = (each.shape[1] if isinstance(each.shape[1], int) else 1) if len(each.shape) == 2 else None
            values = rng.integers(0, 50, N_TRIED if width is None else (N_TRIED, width))
            is_text = each.type == "tensor(string)"
            feed[each.name] = values.astype(str).astype(object) if is_text else values.astype(DTYPES[each.type])
        try:
            return _as_rows(self._session.run([output], feed)[0])
        except Exception:
            return None

    def _set_classes(self) -> None:
        """From the last operation that tells some, if they can be those of the labels."""
        told = [classes for _, classes in self._made_by.values() if classes]
        width = self.width_of(self._numbers) if self._numbers else None
        if told and width in (None, 1, len(told[-1])):
            kind = next((each.type for each in self.outputs if each.name == self._labels), None)
            if kind is None or (kind == "tensor(string)") == isinstance(told[-1][0], str):
                self.classes_ = np.array(told[-1])
        elif self._labels is None and width is not None:
            self.classes_ = np.arange(max(2, width))

    def _run(self, output: str, batch: Any) -> Any:
        return self._session.run([output], self._feed(batch))[0]

    def _feed(self, batch: Any) -> dict[str, NDArray[Any]]:
        if len(self._inputs) == 1 and not hasattr(self, "feature_names_in_"):
            rows = batch.to_numpy() if hasattr(batch, "to_numpy") else np.asarray(batch)
            return {self._inputs[0].name: _as_taken(rows, self._inputs[0])}
        if hasattr(batch, "columns"):
            names = [own_name(each.name, batch.columns) for each in self._inputs]
            return {
                each.name: _as_taken(batch[own].to_numpy(), each) for each, own in zip(self._inputs, names, strict=True)
            }
        return {each.name: _as_taken(batch[:, place], each) for place, each in enumerate(self._inputs)}

    def _label(self, batch: Any) -> NDArray[Any]:
        labels = np.asarray(self._run(str(self._labels), batch)).reshape(-1)
        return labels.astype(str) if labels.dtype.kind == "O" else labels


class OnnxLabels(OnnxModel):
    """One that gives labels alone."""

    def predict(self, batch: Any) -> NDArray[Any]:
        """A label for each row."""
        return self._label(batch)


class OnnxNumbers(OnnxModel):
    """One that gives a number for each row."""

    def predict(self, batch: Any) -> Floats:
        """The numbers."""
        return _as_rows(self._run(str(self._numbers), batch))[:, 0]


class OnnxProbabilities(OnnxModel):
    """One that gives the probability of each class, or of the second of two."""

    def predict_proba(self, batch: Any) -> Floats:
        """A column a class."""
        given = _as_rows(self._run(str(self._numbers), batch))
        made = given if given.shape[1] > 1 else np.column_stack([1 - given, given])
        if not _are_probabilities(made):
            raise ValueError(f"the output {self._numbers} must hold probabilities, got rows that do not add to 1")
        return made

    def predict(self, batch: Any) -> NDArray[Any]:
        """The model's own labels, or the likeliest class."""
        if self._labels is not None:
            return self._label(batch)
        return self.classes_[self.predict_proba(batch).argmax(axis=1)]


class OnnxScores(OnnxModel):
    """One that gives a score for each class, of which the highest wins."""

    def decision_function(self, batch: Any) -> Floats:
        """A column a class; of two classes, how much higher the second is."""
        given = _as_rows(self._run(str(self._numbers), batch))
        return given[:, 1] - given[:, 0] if given.shape[1] == 2 else given

    def predict(self, batch: Any) -> NDArray[Any]:
        """The model's own labels, or the class of the highest score."""
        if self._labels is not None:
            return self._label(batch)
        return self.classes_[_as_rows(self._run(str(self._numbers), batch)).argmax(axis=1)]


def _as_rows(given: Any) -> Floats:
    """An output as a table of numbers; a list of dictionaries by class is one, too."""
    if isinstance(given, list):
        given = [list(each.values()) for each in given]
    made = np.asarray(given, dtype=np.float64)
    return made.reshape(len(made), -1)


def _are_probabilities(rows: Floats) -> bool:
    return bool((rows >= -SLACK).all() and (np.abs(rows.sum(axis=1) - 1) <= SLACK).all())


def _as_taken(values: NDArray[Any], taken: Any) -> NDArray[Any]:
    """Values in the dtype and the shape that an input takes; what would change on the way is refused."""
    dtype = np.dtype(DTYPES[taken.type])
    shape = values.shape if values.ndim == len(taken.shape) else (len(values), *([1] * (len(taken.shape) - 1)))
    if dtype.kind == "O":
        import pandas as pd

        if pd.isna(values).any():
            raise ValueError(f"{taken.name} takes texts, got a missing value")
        return values.astype(str).astype(object).reshape(shape)
    made = np.asarray(values, dtype=np.float64 if dtype.kind in "ib" and values.dtype.kind not in "iub" else dtype)
    if dtype.kind in "ib" and made.dtype.kind == "f" and not (made == np.rint(made)).all():
        raise ValueError(f"{taken.name} takes whole numbers, got others")
    return made.astype(dtype, copy=False).reshape(shape)
