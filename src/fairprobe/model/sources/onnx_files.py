"""Models in ONNX files, run by onnxruntime. Files that refer to data in other files are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.errors import DataError
from fairprobe.model.adapters import margin
from fairprobe.model.categories import own_name
from fairprobe.model.sources.reading import FileContent, Permission, SavedModel, imported, likeliest, two_columns

_TAGS: Final = frozenset(number << 3 | wire for number in range(2, 27) for wire in (0, 2))
"""First bytes that the second field of an ONNX model may have, after the field with the format's version."""


def knows(content: FileContent) -> bool:
    """Return True if a file begins like an ONNX model: a protobuf message with a small version, then another field."""
    head = content.head
    return head[:1] == b"\x08" and len(head) > 2 and 0 < head[1] < 128 and (head[2] in _TAGS or head[2] >= 128)


def read(content: FileContent, permission: Permission) -> SavedModel:
    """Return the model in an ONNX file.

    onnxruntime gets the bytes that `onnx` has read and written again. A file that can be read in two ways is therefore
    read in one.
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
    operations = {output: node.op_type for node in model.graph.node for output in node.output}
    return _model_of(_Graph(data), operations, _named_classes(model))


def _named_classes(model: Any) -> tuple[Any, ...]:
    """Return the classes named by the last operation of an ONNX graph that names any; an empty tuple if none does."""
    classes: tuple[Any, ...] = ()
    for attribute in (each for node in model.graph.node for each in node.attribute):
        if attribute.name.startswith("classlabels_"):
            classes = tuple(each.decode() for each in attribute.strings) or tuple(attribute.ints) or classes
    return classes


def _tensors(model: Any) -> Iterator[Any]:
    """Yield all tensors in an ONNX model, at any depth."""
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
    """Return the name of the external file that holds a tensor's data; None if they are in the tensor itself."""
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
"""NumPy dtype of an input's values, by onnxruntime's name for the input's type."""

LABELS: Final = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
"""Beginnings of onnxruntime's names for the types of outputs that are labels."""

NUMBERS: Final = ("tensor(float", "tensor(double)", "seq(map(")
"""Beginnings of onnxruntime's names for the types of outputs that are scores, probabilities or values."""

SLACK: Final = 1e-4
"""Largest difference of the sum of probabilities from 1, and of a probability below 0. Chosen: for single precision."""


class _Graph:
    """An ONNX graph that takes one tensor of all columns, or one tensor for each column."""

    def __init__(self, content: bytes) -> None:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]

        options = onnxruntime.SessionOptions()
        # More threads than one wait busily, and we ask in several processes anyway.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self._content = content
        self._session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        self._inputs, self.outputs = self._session.get_inputs(), self._session.get_outputs()
        self.n_columns, self.columns = _columns(self._inputs)

    def __reduce__(self) -> Any:
        return _Graph, (self._content,)

    def first(self, types: tuple[str, ...]) -> Any:
        """Return the description of the first output of one of these types; None if there is none."""
        return next((each for each in self.outputs if each.type.startswith(types)), None)

    def run(self, output: str, batch: Any) -> Any:
        """Run the graph on a batch, and return the values of the graph's output that has the name `output`."""
        return self._session.run([output], self._feed(batch))[0]

    def labels(self, output: str, batch: Any) -> NDArray[Any]:
        """Run the graph on a batch, and return its output `output` as labels: one whole number or text per row."""
        labels = np.asarray(self.run(output, batch)).reshape(-1)
        return labels.astype(str) if labels.dtype.kind == "O" else labels

    def numbers(self, output: str, batch: Any) -> Floats:
        """Run the graph on a batch, and return its output `output` as floats, indexed by row, then column.

        The graph may also give it as a list of dictionaries by class.
        """
        given = self.run(output, batch)
        if isinstance(given, list):
            given = [list(each.values()) for each in given]
        made = np.asarray(given, dtype=np.float64)
        return made.reshape(len(made), -1)

    def number(self, output: str, batch: Any) -> Floats:
        """Run the graph on a batch, and return the first column of its output `output`: one float per row."""
        return self.numbers(output, batch)[:, 0]

    def _feed(self, batch: Any) -> dict[str, NDArray[Any]]:
        if self.columns is None:
            rows = batch.to_numpy() if hasattr(batch, "to_numpy") else np.asarray(batch)
            return {self._inputs[0].name: _as_taken(rows, self._inputs[0])}
        if hasattr(batch, "columns"):
            columns = [batch[own_name(name, batch.columns)].to_numpy() for name in self.columns]
        else:
            columns = list(batch.T)
        return {each.name: _as_taken(values, each) for each, values in zip(self._inputs, columns, strict=True)}


def _columns(inputs: Any) -> tuple[int | None, list[str] | None]:
    """Return the number of columns that an ONNX graph takes, and their names; each is None if it is not stated."""
    for each in inputs:
        if each.type not in DTYPES or len(each.shape) not in (1, 2):
            raise DataError(f"an ONNX model must take tables, got {each.name} {each.type} {each.shape}")
        if isinstance(each.shape[0], int) and each.shape[0] > 0:
            got = f"{each.name} of {each.shape[0]}: export it with a first axis that may change"
            raise DataError(f"an ONNX model must take any number of rows, got {got}")
    widths = [1 if len(each.shape) == 1 else each.shape[1] for each in inputs]
    if all(width == 1 for width in widths):
        return len(widths), [each.name for each in inputs]
    if len(widths) > 1:
        shapes = ", ".join(f"{each.name} {each.shape}" for each in inputs)
        raise DataError(f"an ONNX model must take one tensor of all columns, or one a column, got {shapes}")
    return (widths[0] if isinstance(widths[0], int) and widths[0] > 0 else None), None


def _model_of(graph: _Graph, operations: Mapping[str, str], named: tuple[Any, ...]) -> SavedModel:
    """Return the model of an ONNX graph, whose methods follow from the graph's outputs.

    `operations` are the names of operations by the outputs that they compute, and `named` are the classes that the
    graph names.

    An output of whole numbers or texts holds labels. An output of numbers holds probabilities if a softmax or sigmoid
    computes it or its name says so. Other outputs with several numbers per row are scores, and the highest gives the
    label. An output with one number per row is a value.
    """
    labels, numbers = graph.first(LABELS), graph.first(NUMBERS)
    if labels is None and numbers is None:
        got = ", ".join(each.type for each in graph.outputs)
        raise DataError(f"an ONNX model must give labels or numbers, got {got}")
    width = None if numbers is None else _width(numbers.shape or [])
    classes = _classes(named, labels, width)
    methods: dict[str, Any] = {} if labels is None else {"predict": partial(graph.labels, labels.name)}
    if numbers is not None:
        operation = operations.get(numbers.name)
        is_likely = operation in ("Softmax", "ZipMap") or "prob" in numbers.name
        rows = partial(graph.numbers, numbers.name)
        if is_likely or (operation == "Sigmoid" and width == 1):
            rows = methods["predict_proba"] = partial(_probabilities, rows, numbers.name)
        elif width != 1:
            rows = partial(_scores, rows, numbers.name)
            methods["decision_function"] = partial(_margins, rows)
        elif labels is None:
            return SavedModel(graph.n_columns, graph.columns, predict=partial(graph.number, numbers.name))
        methods.setdefault("predict", partial(likeliest, classes, rows))
    return SavedModel(graph.n_columns, graph.columns, classes=classes, **methods)


def _width(shape: Any) -> int | None:
    """Return the number of columns of an output of an ONNX graph by its shape; None if it is not stated."""
    width = shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else None
    return width if isinstance(width, int) else None


def _classes(named: tuple[Any, ...], labels: Any, width: int | None) -> NDArray[Any] | None:
    """Return the classes that an ONNX graph tells apart; None if they are not known.

    They are the classes that the graph names, if these fit its labels and `width`, the number of columns of its output
    of numbers. A graph without an output of labels has the numbers from 0 as classes, at least two, if its width is
    known and it names no classes that fit.
    """
    if not named or width not in (None, 1, len(named)):
        return np.arange(max(2, width)) if labels is None and width is not None else None
    is_alike = labels is None or (labels.type == "tensor(string)") == isinstance(named[0], str)
    return np.array(named) if is_alike else None


def _probabilities(ask: Callable[[Any], Floats], output: str, batch: Any) -> Floats:
    """Return probabilities with one column per class; raise a ValueError if the rows do not add to 1."""
    made = two_columns(ask, batch)
    if not ((made >= -SLACK).all() and (np.abs(made.sum(axis=1) - 1) <= SLACK).all()):
        raise ValueError(f"the output {output} must hold probabilities, got rows that do not add to 1")
    return made


def _scores(ask: Callable[[Any], Floats], output: str, batch: Any) -> Floats:
    """Return scores with one column per class; raise a ValueError if there is only one column."""
    given = ask(batch)
    if given.shape[1] < 2:
        raise ValueError(f"{output} must hold a score a class, got one number: export it with its shape")
    return given


def _margins(ask: Callable[[Any], Floats], batch: Any) -> Floats:
    """Return scores with one column per class; for two classes, the second score minus the first."""
    made: Floats = margin(ask(batch))
    return made


def _as_taken(values: NDArray[Any], taken: Any) -> NDArray[Any]:
    """Return values in the dtype and shape that a graph's input takes; raise a ValueError if a value would change."""
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
