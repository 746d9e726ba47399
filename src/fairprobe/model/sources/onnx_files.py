"""ONNX files, asked by onnxruntime, which is given no data but those in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.errors import DataError
from fairprobe.model.categories import own_name
from fairprobe.model.sources.reading import Content, Permission, imported

_TAGS: Final = frozenset(number << 3 | wire for number in range(2, 27) for wire in (0, 2))
"""First bytes that the second field of a model may have, after its version of the format."""


def knows(content: Content) -> bool:
    """Return True for the first bytes of a model's protobuf message: a small version, then another of its fields."""
    head = content.head
    return head[:1] == b"\x08" and len(head) > 2 and 0 < head[1] < 128 and (head[2] in _TAGS or head[2] >= 128)


def read(content: Content, permission: Permission) -> OnnxModel:
    """The model in an ONNX file.

    onnxruntime is given what `onnx` has read and written again: where a file can be read in two ways, both read one.
    """
    onnx = imported("onnx", "onnx", "an ONNX file")
    imported("onnxruntime", "onnx", "an ONNX file")
    model = onnx.load_model_from_string(content.data)
    size = model.ByteSize()
    model.DiscardUnknownFields()
    outside = [name for tensor in _tensors(model) if (name := _outside(onnx, tensor)) is not None]
    if outside:
        raise DataError(f"an ONNX file must hold its own data, got some in {outside[0]!r}: save it as one file")
    data = model.SerializeToString()
    if len(data) != size:
        raise DataError("an ONNX file must have the fields that onnx knows, got others: install a newer onnx")
    return onnx_model(open_session(data), data, _made_by(model))


def _made_by(model: Any) -> MadeBy:
    """By output of a node, its operation and the classes that it names."""
    made: dict[str, tuple[str, tuple[Any, ...] | None]] = {}
    for node in model.graph.node:
        classes: tuple[Any, ...] = ()
        for attribute in node.attribute:
            if attribute.name.startswith("classlabels_"):
                classes = tuple(each.decode() for each in attribute.strings) or tuple(attribute.ints) or classes
        made |= dict.fromkeys(node.output, (node.op_type, classes or None))
    return made


def _tensors(model: Any) -> Iterator[Any]:
    """All tensors in a model, at any depth."""
    stack = [model]
    while stack:
        part = stack.pop()
        if type(part).__name__ == "TensorProto":
            yield part
            continue
        for field, value in part.ListFields():
            if field.message_type is not None:
                stack += [value] if hasattr(value, "ListFields") else value


def _outside(onnx: Any, tensor: Any) -> str | None:
    """The name of the file that holds the data of a tensor; None if they are in the tensor itself."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL and not tensor.external_data:
        return None
    return next((each.value for each in tensor.external_data if each.key == "location"), "another file")


DTYPES: Final[dict[str, Any]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
"""By onnxruntime's name for the type of an input, the dtype of its values."""

LABELS: Final = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
NUMBERS: Final = ("tensor(float", "tensor(double)", "seq(map(")
"""Beginnings of the types of outputs that are labels, and that are numbers."""

SLACK: Final = 1e-4
"""Largest difference from 1 of the sum of probabilities in single precision. Chosen."""

MadeBy = Mapping[str, tuple[str, tuple[Any, ...] | None]]
"""By output: the operation that makes it, and the classes that this operation names."""


def open_session(content: bytes) -> Any:
    """A session of onnxruntime with one thread: more of them wait busily, and we ask in several processes anyway."""
    import onnxruntime  # type: ignore[import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])


def onnx_model(session: Any, content: bytes, made_by: MadeBy) -> OnnxModel:
    """A model of the kind that the outputs of its graph tell.

    Labels are an output of whole numbers or texts. Probabilities are made by a softmax or a sigmoid, or are called so.
    Several other numbers in a row are scores, whose highest is the label; one number in a row is just a number.
    """
    model = OnnxModel(session, content, made_by)
    if model.numbers is None:
        if model.labels is None:
            got = ", ".join(each.type for each in session.get_outputs())
            raise DataError(f"an ONNX model must give labels or numbers, got {got}")
        return model
    operation = made_by.get(model.numbers, ("", None))[0]
    kind: type[OnnxModel] = OnnxScores
    if operation in ("Softmax", "ZipMap") or "prob" in model.numbers or (operation == "Sigmoid" and model.width == 1):
        kind = OnnxProbabilities
    elif model.width == 1:
        kind = OnnxModel if model.labels is not None else OnnxNumbers
    return kind(session, content, made_by)


class OnnxModel:
    """A graph that takes one tensor, or one tensor for each column, and gives labels."""

    def __init__(self, session: Any, content: bytes, made_by: MadeBy) -> None:
        self._session, self._content, self._made_by = session, content, made_by
        self._inputs, self._outputs = session.get_inputs(), session.get_outputs()
        self.labels, self.numbers = self._output_of(LABELS), self._output_of(NUMBERS)
        self.width = self._width()
        """Numbers in each row, if the graph says so."""
        self._set_columns()
        self._set_classes()

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self._content, "made_by": dict(self._made_by)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OnnxModel.__init__(self, open_session(state["content"]), **state)

    def predict(self, batch: Any) -> NDArray[Any]:
        """The graph's own labels, or for each row the class of the highest number."""
        if self.labels is None:
            return self.classes_[self._by_class(batch).argmax(axis=1)]
        labels = np.asarray(self._run(self.labels, batch)).reshape(-1)
        return labels.astype(str) if labels.dtype.kind == "O" else labels

    def _output_of(self, types: tuple[str, ...]) -> str | None:
        """The first output of one of these types."""
        return next((each.name for each in self._outputs if each.type.startswith(types)), None)

    def _width(self) -> int | None:
        shape = next((each.shape for each in self._outputs if each.name == self.numbers), None) or []
        width = shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else None
        return width if isinstance(width, int) else None

    def _set_columns(self) -> None:
        """Take the columns of the graph's inputs."""
        for each in self._inputs:
            if each.type not in DTYPES or len(each.shape) not in (1, 2):
                raise DataError(f"an ONNX model must take tables, got {each.name} {each.type} {each.shape}")
            if isinstance(each.shape[0], int) and each.shape[0] > 0:
                got = f"{each.name} of {each.shape[0]}: export it with a first axis that may change"
                raise DataError(f"an ONNX model must take any number of rows, got {got}")
        widths = [1 if len(each.shape) == 1 else each.shape[1] for each in self._inputs]
        if all(width == 1 for width in widths):
            self.feature_names_in_ = np.array([each.name for each in self._inputs], dtype=object)
            self.n_features_in_ = len(widths)
        elif len(widths) > 1:
            shapes = ", ".join(f"{each.name} {each.shape}" for each in self._inputs)
            raise DataError(f"an ONNX model must take one tensor of all columns, or one a column, got {shapes}")
        elif isinstance(widths[0], int) and widths[0] > 0:
            self.n_features_in_ = widths[0]

    def _set_classes(self) -> None:
        """Take the classes of the last operation that names some, if they can be those of the labels."""
        told = [classes for _, classes in self._made_by.values() if classes]
        if told and self.width in (None, 1, len(told[-1])):
            kind = next((each.type for each in self._outputs if each.name == self.labels), None)
            if kind is None or (kind == "tensor(string)") == isinstance(told[-1][0], str):
                self.classes_ = np.array(told[-1])
        elif self.labels is None and self.width is not None:
            self.classes_ = np.arange(max(2, self.width))

    def _by_class(self, batch: Any) -> Floats:
        """The numbers of each row, one for each class; they may come as a list of dictionaries by class."""
        given = self._run(str(self.numbers), batch)
        if isinstance(given, list):
            given = [list(each.values()) for each in given]
        made = np.asarray(given, dtype=np.float64)
        return made.reshape(len(made), -1)

    def _run(self, output: str, batch: Any) -> Any:
        return self._session.run([output], self._feed(batch))[0]

    def _feed(self, batch: Any) -> dict[str, NDArray[Any]]:
        if not hasattr(self, "feature_names_in_"):
            rows = batch.to_numpy() if hasattr(batch, "to_numpy") else np.asarray(batch)
            return {self._inputs[0].name: _as_taken(rows, self._inputs[0])}
        if hasattr(batch, "columns"):
            columns = [batch[own_name(each.name, batch.columns)].to_numpy() for each in self._inputs]
        else:
            columns = list(batch.T)
        return {each.name: _as_taken(values, each) for each, values in zip(self._inputs, columns, strict=True)}


class OnnxNumbers(OnnxModel):
    """A graph that gives a number for each row."""

    def predict(self, batch: Any) -> Floats:
        """The numbers."""
        return self._by_class(batch)[:, 0]


class OnnxProbabilities(OnnxModel):
    """A graph that gives the probability of each class, or of the second of two."""

    def predict_proba(self, batch: Any) -> Floats:
        """Probabilities, one column for each class."""
        return self._by_class(batch)

    def _by_class(self, batch: Any) -> Floats:
        given = super()._by_class(batch)
        made = given if given.shape[1] > 1 else np.column_stack([1 - given, given])
        if not ((made >= -SLACK).all() and (np.abs(made.sum(axis=1) - 1) <= SLACK).all()):
            raise ValueError(f"the output {self.numbers} must hold probabilities, got rows that do not add to 1")
        return made


class OnnxScores(OnnxModel):
    """A graph that gives a score for each class, of which the highest wins."""

    def decision_function(self, batch: Any) -> Floats:
        """Scores, one column for each class; of two classes, how much higher the second score is."""
        given = self._by_class(batch)
        return given[:, 1] - given[:, 0] if given.shape[1] == 2 else given

    def _by_class(self, batch: Any) -> Floats:
        given = super()._by_class(batch)
        if given.shape[1] < 2:
            raise ValueError(f"{self.numbers} must hold a score a class, got one number: export it with its shape")
        return given


def _as_taken(values: NDArray[Any], taken: Any) -> NDArray[Any]:
    """Values in the dtype and the shape that an input takes; values that would change are refused."""
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
