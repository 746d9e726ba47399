"""What services speak: how rows become a request, what its answer must be. One class a protocol, a line in `SPOKEN`.

Whatever an answer breaks of the rules here is an `InvalidAnswerError`, which may be by chance: the request is repeated.
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
from fairprobe.errors import DataError, SettingError
from fairprobe.model.redaction import shortened, shown_source


class InvalidAnswerError(ValueError):
    """An answer that is none: cut short, of the wrong length, not finite."""


class Service(Protocol):
    """A protocol, at one address."""

    name: str
    url: str
    """Where rows are sent."""
    about: str | None
    """Where it says what it takes and gives, if it does."""
    takes_frames: bool
    """Whether rows always come as a frame; else numbers may come as an array."""

    def rows(self, batch: Any) -> Any:
        """A batch as plain values, once, to be cut into requests."""

    def request(self, rows: Any, part: slice, answer: str | None) -> dict[str, Any]:
        """The JSON that asks about some of these rows, and for an answer by its name."""

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The answers out of the JSON that came back, a list or an array of one a row."""


class MLflow:
    """The scoring server of MLflow: `dataframe_split` to /invocations."""

    name = "mlflow"
    about = None
    takes_frames = True

    def __init__(self, url: str) -> None:
        self.url = url if _path(url).endswith("/invocations") else _with_path(url, "/invocations")

    def rows(self, batch: Any) -> Any:
        """The names of the columns, and the rows."""
        return [str(name) for name in batch.columns], _rows(batch)

    def request(self, rows: Any, part: slice, answer: str | None) -> dict[str, Any]:
        """Some rows, with the names of their columns."""
        names, listed = rows
        return {"dataframe_split": {"columns": names, "data": listed[part]}}

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """A list named predictions."""
        return _predictions(content, answer)


class Instances:
    """What TensorFlow Serving and others like it take: `instances`, a list or an object a row."""

    name = "instances"
    about = None
    takes_frames = False

    def __init__(self, url: str) -> None:
        self.url = url

    def rows(self, batch: Any) -> Any:
        """Rows with names as objects, those without as lists."""
        return objects(batch) if hasattr(batch, "columns") else _rows(batch)

    def request(self, rows: Any, part: slice, answer: str | None) -> dict[str, Any]:
        """Some rows."""
        return {"instances": rows[part]}

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """A list named predictions."""
        return _predictions(content, answer)


class OpenInference:
    """The Open Inference Protocol, version 2: an array is one tensor, a frame one tensor a column."""

    name = "oip"
    takes_frames = False

    def __init__(self, url: str) -> None:
        path = _path(url).removesuffix("/infer")
        if not re.search(r"/v2/models/[^/]+(/versions/[^/]+)?$", path):
            raise SettingError(
                f"the address of an Open Inference Protocol service must end with /v2/models/NAME, got "
                f"{shown_source(url)}"
            )
        self.about = _with_path(url, path, replaces=True)
        self.url = _with_path(url, f"{path}/infer", replaces=True)
        self.tensor = "input-0"
        """The name of the one tensor of an array."""

    def rows(self, batch: Any) -> Any:
        """Its tensors, and whether they are columns."""
        if hasattr(batch, "columns"):
            return [_tensor(str(name), batch[name], 1) for name in batch.columns], True
        return [_tensor(self.tensor, batch.reshape(-1), batch.shape[1])], False

    def request(self, rows: Any, part: slice, answer: str | None) -> dict[str, Any]:
        """The same part of each tensor, and which output is wanted."""
        tensors, are_columns = rows
        content: dict[str, Any] = {"parameters": {"content_type": "pd"}} if are_columns else {}
        content["inputs"] = [
            {**tensor, "shape": [part.stop - part.start, width], "data": data[part.start * width : part.stop * width]}
            for tensor, width, data in tensors
        ]
        return content if answer is None else {**content, "outputs": [{"name": answer}]}

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The tensor of that name, or the only one."""
        outputs = content.get("outputs") if isinstance(content, dict) else None
        if not isinstance(outputs, list) or not outputs or not all(isinstance(each, dict) for each in outputs):
            raise InvalidAnswerError(f"no list named outputs in {_told(content)}")
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

    def told(self, content: Any) -> tuple[str, ...] | None:
        """The columns that it says it takes; None if it takes one tensor, or does not say."""
        inputs = content.get("inputs") if isinstance(content, dict) else None
        names = [each["name"] for each in inputs or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if len(names) == 1:
            self.tensor = names[0]
        return tuple(names) if len(names) > 1 else None


SPOKEN: Final[Mapping[str, Any]] = {"mlflow": MLflow, "oip": OpenInference, "instances": Instances}


def service_at(url: str, protocol: str | None) -> Service:
    """Who speaks that protocol; without one, it is told by an address that can be no other's."""
    if protocol is None:
        path = _path(url)
        protocol = "mlflow" if path.endswith("/invocations") else "oip" if "/v2/models/" in path else None
    if protocol is None or protocol not in SPOKEN:
        got = "none" if protocol is None else repr(protocol)
        raise SettingError.about(
            "protocol", f"of a service must be one of {', '.join(SPOKEN)}; got {got}{nearest(protocol, SPOKEN)}"
        )
    return SPOKEN[protocol](url)


def encoded(content: dict[str, Any]) -> bytes:
    """As JSON, numbers to the last bit: arrays as they are, and a missing number as null."""
    import orjson

    try:
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise DataError(f"a row that is sent to a service must be of numbers and text, got {error}") from None


def decoded(data: bytes) -> Any:
    """The JSON of an answer."""
    try:
        return json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        what = f"{error} in " if isinstance(error, InvalidAnswerError) else "no JSON, or JSON cut short: "
        raise InvalidAnswerError(f"{what}{shortened(data[:2000].decode(errors='replace'), 120)!r}") from None


def answers_of(values: Any, n_rows: int) -> NDArray[Any]:
    """One answer a row: text, numbers, or as many numbers for each row."""
    if not isinstance(values, (list, np.ndarray)):
        raise InvalidAnswerError(f"no list of answers, but {_told(values)}")
    if len(values) != n_rows:
        raise InvalidAnswerError(f"{len(values):,} answers for {n_rows:,} rows")
    listed = values if isinstance(values, list) else values.tolist()
    if listed and all(isinstance(value, list) and len(value) == 1 for value in listed):
        listed = [value[0] for value in listed]
    kinds = set(map(type, listed))
    if kinds == {str}:
        return np.array(listed, dtype=object)
    if kinds <= {bool, int, float} and (kinds == {bool} or bool not in kinds):
        return _finite(listed, None)
    if kinds == {list}:
        return _finite(listed, np.float64)
    odd = next((value for value in listed if not isinstance(value, (str, int, float))), listed[0])
    raise InvalidAnswerError(f"answers that are neither all text nor all numbers, as {_told(odd)}")


def objects(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame, each an object of plain values by name."""
    names = [str(name) for name in frame.columns]
    columns = (listed(frame.iloc[:, place]) for place in range(frame.shape[1]))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _finite(listed: list[Any], dtype: Any) -> NDArray[Any]:
    try:
        answers = np.array(listed, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidAnswerError("lists of unequal length, or of what is no number") from None
    if answers.dtype.kind not in "iufb" or answers.ndim > 2:
        raise InvalidAnswerError("answers that are no lists of numbers")
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        raise InvalidAnswerError("an answer that is not finite")
    return answers


def _predictions(content: Any, answer: str | None) -> Any:
    values = content.get("predictions") if isinstance(content, dict) else None
    if not isinstance(values, list):
        raise InvalidAnswerError(f"no list named predictions in {_told(content)}")
    if values and all(isinstance(value, dict) for value in values):
        return _named(values, answer)
    if answer is not None:
        raise InvalidAnswerError(f"answers without names, so none named {answer!r}")
    return values


def _named(values: Sequence[dict[str, Any]], answer: str | None) -> list[Any]:
    """Of several answers a row, the one that counts."""
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


def _of_tensor(tensor: dict[str, Any], n_rows: int) -> Any:
    data, shape = tensor.get("data"), tensor.get("shape")
    if not isinstance(data, list) or not isinstance(shape, list) or not shape:
        raise InvalidAnswerError(f"no tensor with shape and data, but {_told(tensor)}")
    if shape[0] != n_rows or len(data) == 0:
        raise InvalidAnswerError(f"a tensor of the shape {shape} for {n_rows:,} rows")
    if len(shape) == 1 or isinstance(data[0], list):
        return data
    width = len(data) // n_rows
    if len(data) != width * n_rows or width != int(np.prod(shape[1:])):
        raise InvalidAnswerError(f"{len(data):,} numbers in a tensor of the shape {shape}")
    return data if width == 1 else [data[place : place + width] for place in range(0, len(data), width)]


def _tensor(name: str, values: Any, width: int) -> tuple[dict[str, Any], int, Any]:
    """What a tensor is called and holds, how wide a row of it is, and its values."""
    data: Any = _plain(values)
    kind = data.dtype.kind if isinstance(data, np.ndarray) else "O"
    if kind == "O":  # by what it holds, as pandas' own dtypes do not tell
        held = {type(value) for value in data if value is not None}
        kind = "b" if held == {bool} else "i" if held == {int} else "f" if held and held <= {int, float} else "O"
    datatype = {"i": "INT64", "u": "INT64", "f": "FP64", "b": "BOOL"}.get(kind, "BYTES")
    about: dict[str, Any] = {"name": name, "datatype": datatype}
    return (about if datatype != "BYTES" else {**about, "parameters": {"content_type": "str"}}), width, data


def _rows(batch: Any) -> Any:
    """The rows of a batch: an array where all are numbers of one kind, else a list of them."""
    numbers = _plain(batch.to_numpy() if _is_of_one_kind(batch) else batch if isinstance(batch, np.ndarray) else None)
    if isinstance(numbers, np.ndarray):
        return np.ascontiguousarray(numbers)
    columns = batch.T if isinstance(batch, np.ndarray) else (batch.iloc[:, place] for place in range(batch.shape[1]))
    return list(zip(*(listed(column) for column in columns), strict=True))


def _is_of_one_kind(batch: Any) -> bool:
    """Whether a frame is one array of numbers: whole ones that stood beside fractions would become these."""
    dtypes = set(getattr(batch, "dtypes", ()))
    return len(dtypes) == 1 and isinstance(dtype := dtypes.pop(), np.dtype) and dtype.kind in "iuf"


def _plain(values: Any) -> Any:
    """Numbers as an array, which must be finite or missing; anything else as a list."""
    if values is None or not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iufb":
        return None if values is None or values.ndim > 1 else listed(values)
    numbers = np.asarray(values)
    if numbers.dtype.kind == "f" and np.isinf(numbers).any():
        raise DataError("a row that is sent to a service must be of finite numbers, got an infinite one")
    return numbers


def listed(column: Any) -> list[Any]:
    """The values of a column, None for a missing one."""
    import pandas as pd

    values = column.tolist()
    missing = np.asarray(pd.isna(column))
    if missing.any():
        for place in np.flatnonzero(missing).tolist():
            values[place] = None
    return values


def _refused(constant: str) -> Any:
    raise InvalidAnswerError(f"{constant}, which is not finite,")


def _told(content: Any) -> str:
    """An answer in a few words."""
    return repr(shortened(json.dumps(content, default=str), 120))


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _with_path(url: str, path: str, *, replaces: bool = False) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=path if replaces else f"{parts.path.rstrip('/')}{path}"))
