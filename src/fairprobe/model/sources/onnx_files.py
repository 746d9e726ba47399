"""ONNX files, asked by onnxruntime, which is given no data but those in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fairprobe.errors import DataError
from fairprobe.model.onnx import MadeBy, OnnxModel, onnx_model, open_session
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
        made.update(dict.fromkeys(node.output, (node.op_type, classes or None)))
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
