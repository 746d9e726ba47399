"""The little of protobuf that an ONNX file is looked at by: fields by number, without making anything of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

Fields = list[tuple[int, int | memoryview]]
"""By number: a whole number, or the bytes of a text, of numbers or of a message inside."""

_FIXED: Final = {1: 8, 5: 4}
"""By wire type, how many bytes a number of fixed size takes."""


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message, one after the other; ValueError for what is none."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _varint(message, at)
        elif wire in _FIXED:
            size = _FIXED[wire]
        else:
            raise ValueError(f"no such wire type: {wire}")
        if not number or at + size > len(message):
            raise ValueError("a field that ends after its message")
        yield number, message[at : at + size]
        at += size


def inside(message: memoryview, *path: int) -> Iterator[memoryview]:
    """The messages, or texts, at the end of a way of field numbers."""
    if not path:
        yield message
        return
    for number, value in fields(message):
        if number == path[0] and isinstance(value, memoryview):
            yield from inside(value, *path[1:])


def text(message: memoryview, number: int) -> str:
    """The text in a field; empty if there is none."""
    return next((bytes(value).decode("utf-8", "replace") for value in inside(message, number)), "")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("a number that does not end")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def varints(numbers: memoryview) -> Iterator[int]:
    """Whole numbers packed one after the other."""
    at = 0
    while at < len(numbers):
        value, at = _varint(numbers, at)
        yield value
