"""Protocols of services: how rows become a request, and how its answer is read. A protocol is a class in `PROTOCOLS`.

An answer that breaks a rule here is an `InvalidAnswerError`. That may be by chance, so the request is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import nearest
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.redaction import shortened, shown_source

DATATYPES: Final = {"i": "INT64", "u": "INT64", "f": "FP64", "b": "BOOL"}
DATATYPES_OF_VALUES: Final = {"integer": "INT64", "floating": "FP64", "mixed-integer-float": "FP64", "boolean": "BOOL"}
"""Datatypes of the Open Inference Protocol, by the kind of a dtype, and by pandas' word for what a column holds."""


class InvalidAnswerError(ValueError):
    """An answer that breaks the protocol: cut short, of the wrong length, not finite."""


class Batch:
    """The rows of a batch, each of them encoded once; equal bytes are equal rows."""

    def __init__(self, rows: Any, *, as_objects: bool) -> None:
        self.names = None if isinstance(rows, np.ndarray) else [str(name) for name in rows.columns]
        """The names of the columns; None for an array."""
        self._given = rows
        self.plain = list(plain_rows(rows, as_objects=as_objects))
        """The rows as plain values: tuples, or dictionaries by the columns' names."""
        self.rows = list(map(encoded, self.plain))
        """The rows as JSON, numbers to the last bit."""

    @cached_property
    def kinds(self) -> list[str]:
        """Return the datatype of each column in the Open Inference Protocol."""
        from pandas.api.types import infer_dtype

        columns = zip(_columns(self._given), zip(*self.plain, strict=True), strict=True)
        return [
            DATATYPES.get(column.dtype.kind) or DATATYPES_OF_VALUES.get(infer_dtype(values, skipna=True), "BYTES")
            for column, values in columns
        ]

    def listed(self, places: Sequence[int]) -> bytes:
        """The JSON of a list of some rows."""
        return b"[%b]" % b",".join([self.rows[place] for place in places])


def plain_rows(rows: Any, *, as_objects: bool) -> Iterator[Any]:
    """The rows of an array or a frame as plain values: tuples, or of a frame dictionaries by the columns' names."""
    plain = zip(*map(_plain_values, _columns(rows)), strict=True)
    if isinstance(rows, np.ndarray) or not as_objects:
        return plain
    names = [str(name) for name in rows.columns]
    return (dict(zip(names, row, strict=True)) for row in plain)


def encoded(content: Any) -> bytes:
    """Content as JSON."""
    import orjson

    try:
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise DataError(f"a row that is sent to a service must be of numbers and text, got {error}") from None


def _columns(rows: Any) -> list[Any]:
    return list(rows.T) if isinstance(rows, np.ndarray) else [rows.iloc[:, place] for place in range(rows.shape[1])]


def _plain_values(column: Any) -> list[Any]:
    """The values of a column, None for a missing one; no number may be infinite, as JSON has none."""
    import pandas as pd

    values: list[Any] = column.tolist()
    for place in np.flatnonzero(np.asarray(pd.isna(column))).tolist():
        values[place] = None
    if column.dtype.kind == "f" and np.isinf(pd.Series(column).to_numpy(dtype=np.float64, na_value=np.nan)).any():
        raise DataError("a row that is sent to a service must be of finite numbers, got an infinite one")
    return values


class Instances:
    """TensorFlow Serving and others like it: `instances`, a list or an object for each row."""

    name = "instances"
    about: str | None = None
    """Path where the service describes its inputs and outputs; None if it does not."""
    takes_frames = False
    """True if rows always come as a frame; otherwise numbers may come as an array."""
    as_objects = True
    """True if rows with names are sent as objects."""

    def __init__(self, url: str) -> None:
        self.url = url
        """Address to which rows are sent."""

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """The JSON that asks about the rows at some places, for an answer by its name."""
        return b'{"instances":%b}' % batch.listed(places)

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The list of answers, one for each row, out of the JSON that came back."""
        values = content.get("predictions") if isinstance(content, dict) else None
        if not isinstance(values, list):
            raise InvalidAnswerError(f"no list named predictions in {_in_short(content)}")
        if values and all(isinstance(value, dict) for value in values):
            name = _chosen(list(values[0]), answer)
            if not all(name in value for value in values):
                raise InvalidAnswerError(f"no answer named {name!r}, but {', '.join(values[0])}")
            return [value[name] for value in values]
        if answer is not None:
            raise InvalidAnswerError(f"answers without names, so none named {answer!r}")
        return values

    def described(self, content: Any) -> tuple[str, ...] | None:
        """The columns that the service says it takes; None if it takes one tensor, or does not say."""
        return None


class MLflow(Instances):
    """The scoring server of MLflow: `dataframe_split` to /invocations."""

    name = "mlflow"
    takes_frames = True
    as_objects = False

    def __init__(self, url: str) -> None:
        super().__init__(url if _path(url).endswith("/invocations") else _with_path(url, f"{_path(url)}/invocations"))

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """Return the JSON of some rows, with the names of their columns."""
        return b'{"dataframe_split":{"columns":%b,"data":%b}}' % (encoded(batch.names), batch.listed(places))


class OpenInference(Instances):
    """The Open Inference Protocol, version 2: an array is one tensor, a frame one tensor for each column."""

    name = "oip"
    as_objects = False

    def __init__(self, url: str) -> None:
        path = _path(url).removesuffix("/infer")
        if not re.search(r"/v2/models/[^/]+(/versions/[^/]+)?$", path):
            raise SettingError(f"an address of this protocol must end with /v2/models/NAME, got {shown_source(url)}")
        super().__init__(_with_path(url, f"{path}/infer"))
        self.about = _with_path(url, path)
        self._tensor = "input-0"
        """The name of the one tensor of an array."""

    def request(self, batch: Batch, places: Sequence[int], answer: str | None) -> bytes:
        """The tensors of some rows, and which output is wanted."""
        rows = [batch.plain[place] for place in places]
        content: dict[str, Any] = {}
        if batch.names is None:
            flat = [value for row in rows for value in row]
            about = {"name": self._tensor, "datatype": batch.kinds[0], "shape": [len(rows), len(rows[0])]}
            content["inputs"] = [{**about, "data": flat}]
        else:
            content["parameters"] = {"content_type": "pd"}
            content["inputs"] = list(map(_tensor, batch.names, batch.kinds, zip(*rows, strict=True)))
        return encoded(content if answer is None else {**content, "outputs": [{"name": answer}]})

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """The tensor of that name, or the only one."""
        outputs = content.get("outputs") if isinstance(content, dict) else None
        if not isinstance(outputs, list) or not outputs or not all(isinstance(each, dict) for each in outputs):
            raise InvalidAnswerError(f"no list named outputs in {_in_short(content)}")
        named = {str(each.get("name")): each for each in outputs}
        name = _chosen(list(named), answer)
        if name not in named:
            raise InvalidAnswerError(f"no output named {answer!r}, but {shortened(', '.join(named))}")
        return _of_tensor(named[name], n_rows)

    def described(self, content: Any) -> tuple[str, ...] | None:
        """The columns that the service says it takes; None if it takes one tensor, or does not say."""
        inputs = content.get("inputs") if isinstance(content, dict) else None
        names = [each["name"] for each in inputs or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if len(names) == 1:
            self._tensor = names[0]
        return tuple(names) if len(names) > 1 else None


PROTOCOLS: Final[Mapping[str, type[Instances]]] = {"mlflow": MLflow, "oip": OpenInference, "instances": Instances}


def service_at(url: str, protocol: str | None) -> Instances:
    """The service at an address; without a protocol, the address must be one that can be no other's."""
    if protocol is None:
        path = _path(url)
        protocol = "mlflow" if path.endswith("/invocations") else "oip" if "/v2/models/" in path else None
    if protocol is None or protocol not in PROTOCOLS:
        got = "none" if protocol is None else repr(protocol)
        rule = f"must be one of {', '.join(PROTOCOLS)}; got {got}{nearest(protocol, PROTOCOLS)}"
        raise SettingError.about("protocol", f"of a service {rule}")
    return PROTOCOLS[protocol](url)


def decoded(data: bytes) -> Any:
    """The JSON of an answer."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        shown = shortened(data[:2000].decode(errors="replace"), 120)
        raise InvalidAnswerError(f"no JSON, or JSON cut short: {shown!r}") from None


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
    if not (kinds in ({bool}, {list}) or kinds <= {int, float}):
        odd = next((value for value in answers if not isinstance(value, (str, int, float))), answers[0])
        raise InvalidAnswerError(f"answers that are neither all text nor all numbers, as {_in_short(odd)}")
    try:
        made = np.array(answers, dtype=np.float64 if kinds == {list} else None)
    except (TypeError, ValueError, OverflowError):
        raise InvalidAnswerError("lists of unequal length, or of what is no number") from None
    if made.dtype.kind not in "iufb" or made.ndim > 2:
        raise InvalidAnswerError("answers that are no lists of numbers")
    if made.dtype.kind == "f" and not np.isfinite(made).all():
        raise InvalidAnswerError("an answer that is not finite")
    return made


def _chosen(names: list[str], answer: str | None) -> str:
    """The name of the answer that counts: the one asked for, or the only one."""
    if answer is None and len(names) != 1:
        got = f"{shortened(', '.join(names))}: say answers={{'label': NAME}} (--answer label=NAME)"
        raise SettingError(f"a service that gives several answers a row needs the name of one, got {got}")
    return names[0] if answer is None else answer


def _tensor(name: str, kind: str, values: Sequence[Any]) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "datatype": kind, "shape": [len(values), 1], "data": values}
    return {**about, "parameters": {"content_type": "str"}} if kind == "BYTES" else about


def _of_tensor(tensor: dict[str, Any], n_rows: int) -> Any:
    data, shape = tensor.get("data"), tensor.get("shape")
    if not isinstance(data, list) or not isinstance(shape, list) or not shape:
        raise InvalidAnswerError(f"no tensor with shape and data, but {_in_short(tensor)}")
    try:
        rows = np.array(data, dtype=object).reshape(shape)
    except (TypeError, ValueError):
        raise InvalidAnswerError(f"{len(data):,} numbers in a tensor of the shape {shape}") from None
    if len(rows) != n_rows:
        raise InvalidAnswerError(f"a tensor of the shape {shape} for {n_rows:,} rows")
    return rows.tolist()


def _in_short(content: Any) -> str:
    return repr(shortened(json.dumps(content, default=str), 120))


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=path))
