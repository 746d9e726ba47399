"""Protocols of services: how rows become a request, and how its answer is read. A protocol is a class in `PROTOCOLS`.

An answer that breaks a rule here is an `InvalidAnswerError`. That may be by chance, so the request is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import nearest
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.encoding import Batch, encoded
from fairprobe.model.redaction import shortened, shown_source


class InvalidAnswerError(ValueError):
    """An answer that breaks the protocol: cut short, of the wrong length, not finite."""


class Service(Protocol):
    """A protocol, at one address."""

    name: str
    url: str
    """Where rows are sent."""
    about: str | None
    """Where the service says what it takes and gives, if it does."""
    takes_frames: bool
    """True if rows always come as a frame; otherwise numbers may come as an array."""
    as_objects: bool
    """True if rows with names are sent as objects."""

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """The JSON that asks about the rows at some places, for an answer by its name."""

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The list of answers, one for each row, out of the JSON that came back."""


class Instances:
    """TensorFlow Serving and others like it: `instances`, a list or an object for each row."""

    name = "instances"
    about = None
    takes_frames = False
    as_objects = True

    def __init__(self, url: str) -> None:
        self.url = url

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """Some rows."""
        return b'{"instances":%b}' % batch.listed(places)

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """A list named predictions; where it gives several answers for each row, the one that counts."""
        values = content.get("predictions") if isinstance(content, dict) else None
        if not isinstance(values, list):
            raise InvalidAnswerError(f"no list named predictions in {_in_short(content)}")
        if values and all(isinstance(value, dict) for value in values):
            return _named(values, answer)
        if answer is not None:
            raise InvalidAnswerError(f"answers without names, so none named {answer!r}")
        return values


class MLflow(Instances):
    """The scoring server of MLflow: `dataframe_split` to /invocations."""

    name = "mlflow"
    takes_frames = True
    as_objects = False

    def __init__(self, url: str) -> None:
        super().__init__(url if _path(url).endswith("/invocations") else _with_path(url, f"{_path(url)}/invocations"))

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """Some rows, with the names of their columns."""
        return b'{"dataframe_split":{"columns":%b,"data":%b}}' % (encoded(batch.names), batch.listed(places))


class OpenInference:
    """The Open Inference Protocol, version 2: an array is one tensor, a frame one tensor for each column."""

    name = "oip"
    takes_frames = False
    as_objects = False

    def __init__(self, url: str) -> None:
        path = _path(url).removesuffix("/infer")
        if not re.search(r"/v2/models/[^/]+(/versions/[^/]+)?$", path):
            raise SettingError(
                f"the address of an Open Inference Protocol service must end with /v2/models/NAME, got "
                f"{shown_source(url)}"
            )
        self.about = _with_path(url, path)
        self.url = _with_path(url, f"{path}/infer")
        self.tensor = "input-0"
        """The name of the one tensor of an array."""

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """The tensors of some rows, and which output is wanted."""
        some = [[values[place] for place in places] for values in batch.values]
        content: dict[str, Any] = {}
        if batch.names is None:
            flat = [value for row in zip(*some, strict=True) for value in row]
            shape = [len(places), len(some)]
            content["inputs"] = [{"name": self.tensor, "datatype": batch.kinds[0], "shape": shape, "data": flat}]
        else:
            content["parameters"] = {"content_type": "pd"}
            content["inputs"] = list(map(_tensor, batch.names, batch.kinds, some))
        return encoded(content if answer is None else {**content, "outputs": [{"name": answer}]})

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The tensor of that name, or the only one."""
        outputs = content.get("outputs") if isinstance(content, dict) else None
        if not isinstance(outputs, list) or not outputs or not all(isinstance(each, dict) for each in outputs):
            raise InvalidAnswerError(f"no list named outputs in {_in_short(content)}")
        named = {each.get("name"): each for each in outputs}
        if answer is None and len(outputs) > 1:
            raise SettingError(
                f"a service that gives several outputs needs the name of the one that counts, got "
                f"{shortened(', '.join(map(str, named)))}: say answers={{'label': NAME}} (--answer label=NAME)"
            )
        tensor = outputs[0] if answer is None else named.get(answer)
        if tensor is None:
            raise InvalidAnswerError(f"no output named {answer!r}, but {shortened(', '.join(map(str, named)))}")
        return _of_tensor(tensor, n_rows)

    def described(self, content: Any) -> tuple[str, ...] | None:
        """The columns that the service says it takes; None if it takes one tensor, or does not say."""
        inputs = content.get("inputs") if isinstance(content, dict) else None
        names = [each["name"] for each in inputs or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if len(names) == 1:
            self.tensor = names[0]
        return tuple(names) if len(names) > 1 else None


PROTOCOLS: Final[Mapping[str, Any]] = {"mlflow": MLflow, "oip": OpenInference, "instances": Instances}


def service_at(url: str, protocol: str | None) -> Service:
    """The service at an address; without a protocol, the address must be one that can be no other's."""
    if protocol is None:
        path = _path(url)
        protocol = "mlflow" if path.endswith("/invocations") else "oip" if "/v2/models/" in path else None
    if protocol is None or protocol not in PROTOCOLS:
        got = "none" if protocol is None else repr(protocol)
        raise SettingError.about(
            "protocol", f"of a service must be one of {', '.join(PROTOCOLS)}; got {got}{nearest(protocol, PROTOCOLS)}"
        )
    return PROTOCOLS[protocol](url)


def decoded(data: bytes) -> Any:
    """The JSON of an answer."""
    try:
        return json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        what = f"{error} in " if isinstance(error, InvalidAnswerError) else "no JSON, or JSON cut short: "
        raise InvalidAnswerError(f"{what}{shortened(data[:2000].decode(errors='replace'), 120)!r}") from None


def checked_answers(values: Any, n_rows: int) -> list[Any]:
    """One answer for each row, in a list: text, numbers, or as many numbers for each row."""
    if not isinstance(values, list):
        raise InvalidAnswerError(f"no list of answers, but {_in_short(values)}")
    if len(values) != n_rows:
        raise InvalidAnswerError(f"{len(values):,} answers for {n_rows:,} rows")
    if values and all(isinstance(value, list) and len(value) == 1 for value in values):
        values = [value[0] for value in values]
    _as_array(values)
    return values


def joined(answers: list[Any]) -> NDArray[Any]:
    """The answers of several requests; text and numbers go together only as objects."""
    try:
        return _as_array(answers)
    except InvalidAnswerError:
        if list in map(type, answers):
            raise ModelError("a service must give all rows an answer of the same form, got several") from None
        made = np.empty(len(answers), dtype=object)
        made[:] = answers
        return made


def _as_array(answers: list[Any]) -> NDArray[Any]:
    kinds = set(map(type, answers))
    if kinds == {str}:
        return np.array(answers, dtype=object)
    if kinds <= {bool, int, float} and (kinds == {bool} or bool not in kinds):
        return _finite(answers, None)
    if kinds == {list}:
        return _finite(answers, np.float64)
    odd = next((value for value in answers if not isinstance(value, (str, int, float))), answers[0])
    raise InvalidAnswerError(f"answers that are neither all text nor all numbers, as {_in_short(odd)}")


def _finite(answers: list[Any], dtype: Any) -> NDArray[Any]:
    try:
        made = np.array(answers, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidAnswerError("lists of unequal length, or of what is no number") from None
    if made.dtype.kind not in "iufb" or made.ndim > 2:
        raise InvalidAnswerError("answers that are no lists of numbers")
    if made.dtype.kind == "f" and not np.isfinite(made).all():
        raise InvalidAnswerError("an answer that is not finite")
    return made


def _named(values: Sequence[dict[str, Any]], answer: str | None) -> list[Any]:
    """The answer that counts, out of several for each row."""
    names = list(values[0])
    if answer is None and len(names) != 1:
        raise SettingError(
            f"a service that gives several answers a row needs the name of the one that counts, got "
            f"{', '.join(names)}: say answers={{'label': NAME}} (--answer label=NAME)"
        )
    name = names[0] if answer is None else answer
    if not all(name in value for value in values):
        raise InvalidAnswerError(f"no answer named {name!r}, but {', '.join(names)}")
    return [value[name] for value in values]


def _tensor(name: str, kind: str, values: list[Any]) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "datatype": kind, "shape": [len(values), 1], "data": values}
    return {**about, "parameters": {"content_type": "str"}} if kind == "BYTES" else about


def _of_tensor(tensor: dict[str, Any], n_rows: int) -> Any:
    data, shape = tensor.get("data"), tensor.get("shape")
    if not isinstance(data, list) or not isinstance(shape, list) or not shape:
        raise InvalidAnswerError(f"no tensor with shape and data, but {_in_short(tensor)}")
    if shape[0] != n_rows or len(data) == 0:
        raise InvalidAnswerError(f"a tensor of the shape {shape} for {n_rows:,} rows")
    if len(shape) == 1 or isinstance(data[0], list):
        return data
    width = len(data) // n_rows
    if len(data) != width * n_rows or width != int(np.prod(shape[1:])):
        raise InvalidAnswerError(f"{len(data):,} numbers in a tensor of the shape {shape}")
    return data if width == 1 else [data[place : place + width] for place in range(0, len(data), width)]


def _refused(constant: str) -> Any:
    raise InvalidAnswerError(f"{constant}, which is not finite,")


def _in_short(content: Any) -> str:
    return repr(shortened(json.dumps(content, default=str), 120))


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=path))
