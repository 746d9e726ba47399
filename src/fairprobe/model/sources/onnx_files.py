"""ONNX files, asked by onnxruntime. What lies in another file may do so in the same folder only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import DataError
from fairprobe.model.onnx import OnnxModel, onnx_model, open_session
from fairprobe.model.sources import protobuf
from fairprobe.model.sources.reading import Permission, imported, shortened

# Numbers of fields, as onnx.proto has them.
_GRAPH, _OPSETS, _FUNCTIONS = 7, 8, 25
_MODEL: Final = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26})
_NODES, _INITIALIZERS, _SPARSE_INITIALIZERS, _FUNCTION_NODES = 1, 5, 15, 7
_NODE_OUTPUTS, _NODE_OPERATION, _NODE_ATTRIBUTES = 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_INTS, _ATTRIBUTE_TEXTS = 1, 8, 9
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
_SPARSE_TENSORS = (1, 2)
_EXTERNAL, _KEY, _VALUE = 13, 1, 2

DEEPEST: Final = 50
"""Graphs inside graphs."""


def knows(path: Path, head: bytes) -> bool:
    """Whether it is a protobuf message with the fields of a model, a graph among them."""
    if not head or head[0] & 7 not in (0, 2) or head[0] >> 3 not in _MODEL:
        return False
    numbers = set()
    try:
        for number, _ in protobuf.fields(memoryview(path.read_bytes())):
            numbers.add(number)
    except ValueError:
        pass  # cut off, or changed: said when it is read
    return numbers <= _MODEL and bool(numbers & {_GRAPH, _OPSETS} or (head[0] == 8 and numbers))


def preload() -> None:
    """Import what reads it."""
    imported("onnxruntime", "onnx", "an ONNX file")


def read(path: Path, permission: Permission) -> OnnxModel:
    """The model, with what its graph tells of classes and of its last step."""
    content = path.read_bytes()
    try:
        names = set(_external(memoryview(content)))
        outputs = _made_by(memoryview(content))
    except (ValueError, RecursionError) as error:
        raise DataError(f"an ONNX file must be whole, got {shortened(error)}: {path}") from None
    folder = path.resolve().parent
    for name in sorted(names):
        if not (folder / name).resolve().is_relative_to(folder):
            raise DataError(f"the data of an ONNX file must lie in its own folder, got {name!r}: {path}")
    try:
        session = open_session(content, path if names else None)
    except Exception as error:
        raise DataError(f"an ONNX file must be one that onnxruntime can read, got {shortened(error)}: {path}") from None
    return onnx_model(session, content, path.resolve() if names else None, outputs)


def check(model: OnnxModel, path: Path) -> None:
    """Nothing more: it is asked in the other process, and that is all that can be done."""


def _made_by(content: memoryview) -> dict[str, tuple[str, tuple[Any, ...] | None]]:
    """By output of a node: its operation, and its classes where it has some."""
    made: dict[str, tuple[str, tuple[Any, ...] | None]] = {}
    for node in protobuf.inside(content, _GRAPH, _NODES):
        operation, classes = protobuf.text(node, _NODE_OPERATION), tuple[Any, ...]()
        for attribute in protobuf.inside(node, _NODE_ATTRIBUTES):
            name = protobuf.text(attribute, _ATTRIBUTE_NAME)
            if name.startswith("classlabels_"):
                texts = protobuf.inside(attribute, _ATTRIBUTE_TEXTS)
                classes = tuple(bytes(each).decode() for each in texts) or _whole_numbers(attribute) or classes
        for output in protobuf.inside(node, _NODE_OUTPUTS):
            made[bytes(output).decode("utf-8", "replace")] = operation, classes or None
    return made


def _whole_numbers(attribute: memoryview) -> tuple[int, ...]:
    numbers = []
    for number, value in protobuf.fields(attribute):
        if number == _ATTRIBUTE_INTS:
            numbers += [value] if isinstance(value, int) else list(protobuf.varints(value))
    return tuple(each - 2**64 if each >= 2**63 else each for each in numbers)


def _external(content: memoryview) -> Iterator[str]:
    """The files that tensors anywhere in it lie in."""
    for graph in protobuf.inside(content, _GRAPH):
        yield from _of_graph(graph, DEEPEST)
    for function in protobuf.inside(content, _FUNCTIONS):
        for node in protobuf.inside(function, _FUNCTION_NODES):
            yield from _of_node(node, DEEPEST)


def _of_graph(graph: memoryview, depth: int) -> Iterator[str]:
    if not depth:
        raise ValueError(f"graphs inside graphs, more than {DEEPEST}")
    for number, value in protobuf.fields(graph):
        if not isinstance(value, memoryview):
            continue
        if number == _NODES:
            yield from _of_node(value, depth)
        elif number == _INITIALIZERS:
            yield from _of_tensor(value)
        elif number == _SPARSE_INITIALIZERS:
            yield from _of_sparse(value)


def _of_node(node: memoryview, depth: int) -> Iterator[str]:
    for attribute in protobuf.inside(node, _NODE_ATTRIBUTES):
        for number, value in protobuf.fields(attribute):
            if not isinstance(value, memoryview):
                continue
            if number in _ATTRIBUTE_TENSORS:
                yield from _of_tensor(value)
            elif number in _ATTRIBUTE_GRAPHS:
                yield from _of_graph(value, depth - 1)
            elif number in _ATTRIBUTE_SPARSE:
                yield from _of_sparse(value)


def _of_sparse(tensor: memoryview) -> Iterator[str]:
    for part in _SPARSE_TENSORS:
        for inner in protobuf.inside(tensor, part):
            yield from _of_tensor(inner)


def _of_tensor(tensor: memoryview) -> Iterator[str]:
    for entry in protobuf.inside(tensor, _EXTERNAL):
        if protobuf.text(entry, _KEY) == "location":
            yield protobuf.text(entry, _VALUE)
