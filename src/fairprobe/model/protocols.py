"""Protocols of model services: how rows become a request, and how its answer is read.

A protocol is a class in `PROTOCOLS`.

An answer that breaks the protocol raises an `InvalidAnswerError`. The fault may be temporary, so the request is
repeated.
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

from fairprobe.checks import checked_choice
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.redaction import shortened, shown_source

DATATYPES: Final = {"i": "INT64", "u": "INT64", "f": "FP64", "b": "BOOL"}
"""Datatype of a column in the Open Inference Protocol, by the kind of the column's NumPy dtype."""

DATATYPES_OF_VALUES: Final = {"integer": "INT64", "floating": "FP64", "mixed-integer-float": "FP64", "boolean": "BOOL"}
"""Datatype of a column of objects in the Open Inference Protocol, by pandas' name for the kind of its values."""


class InvalidAnswerError(ValueError):
    """The error that a service's answer breaks the protocol: it is cut short, of the wrong length, or not finite."""


class EncodedRows:
    """The rows of a batch, each encoded once as JSON. Rows with equal bytes are equal."""

    def __init__(self, rows: Any, *, as_objects: bool) -> None:
        self.names = None if isinstance(rows, np.ndarray) else [str(name) for name in rows.columns]
        """Names of the columns; None if the batch is an array."""
        self._given = rows
        self.plain = list(plain_rows(rows, as_objects=as_objects))
        """Rows as plain Python values: tuples, or dictionaries by column name."""
        self.rows = list(map(encoded, self.plain))
        """Rows as JSON bytes, with numbers at full precision."""

    @cached_property
    def kinds(self) -> list[str]:
        """Datatype of each column in the Open Inference Protocol, such as "FP64"."""
        from pandas.api.types import infer_dtype

        columns = zip(_columns(self._given), zip(*self.plain, strict=True), strict=True)
        return [
            DATATYPES.get(column.dtype.kind) or DATATYPES_OF_VALUES.get(infer_dtype(values, skipna=True), "BYTES")
            for column, values in columns
        ]

    def listed(self, places: Sequence[int]) -> bytes:
        """Return a JSON list, as bytes, of the rows of the batch at given positions."""
        return b"[%b]" % b",".join([self.rows[place] for place in places])


def plain_rows(rows: Any, *, as_objects: bool) -> Iterator[Any]:
    """Yield the rows of an array or DataFrame as tuples of plain Python values.

    With `as_objects`, rows of a DataFrame are dictionaries by column name.
    """
    plain = zip(*map(_plain_values, _columns(rows)), strict=True)
    if isinstance(rows, np.ndarray) or not as_objects:
        return plain
    names = [str(name) for name in rows.columns]
    return (dict(zip(names, row, strict=True)) for row in plain)


def encoded(content: Any) -> bytes:
    """Return plain values as JSON bytes; raise a DataError for values that JSON does not have."""
    import orjson

    try:
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise DataError(f"a row that is sent to a service must be of numbers and text, got {error}") from None


def _columns(rows: Any) -> list[Any]:
    return list(rows.T) if isinstance(rows, np.ndarray) else [rows.iloc[:, place] for place in range(rows.shape[1])]


def _plain_values(column: Any) -> list[Any]:
    """Return a column as a list of plain Python values, None where missing; raise a DataError for infinite numbers."""
    import pandas as pd

    values: list[Any] = column.tolist()
    for place in np.flatnonzero(np.asarray(pd.isna(column))).tolist():
        values[place] = None
    if column.dtype.kind == "f" and np.isinf(pd.Series(column).to_numpy(dtype=np.float64, na_value=np.nan)).any():
        raise DataError("a row that is sent to a service must be of finite numbers, got an infinite one")
    return values


class Instances:
    """Protocol of TensorFlow Serving and similar services: rows are sent as lists or objects under `instances`."""

    name = "instances"
    about: str | None = None
    """Address at which the service describes its inputs and outputs; None if the protocol has none."""
    takes_frames = False
    """True if rows are always sent with column names; otherwise purely numeric rows may be sent without."""
    as_objects = True
    """True if a row with column names is sent as a JSON object."""
    is_single = False
    """True if a request has place for one row only."""

    def __init__(self, url: str) -> None:
        self.url = url
        """Address of the service to which requests with rows are sent."""

    def request(self, batch: EncodedRows, places: Sequence[int], answer: str | None) -> bytes:
        """Return the JSON request about the rows of `batch` with the numbers `places`.

        `answer` is the name of the wanted answer, for services that give several; otherwise None.
        """
        return b'{"instances":%b}' % batch.listed(places)

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """Return the list of answers, one per row, from the decoded JSON of a reply.

        `answer` is the name of the wanted answer, for services that give several; otherwise None.
        """
        values = content.get("predictions") if isinstance(content, dict) else None
        if not isinstance(values, list):
            raise InvalidAnswerError(f"no list named predictions in {in_short(content)}")
        if values and all(isinstance(value, dict) for value in values):
            name = _chosen(list(values[0]), answer)
            if not all(name in value for value in values):
                raise InvalidAnswerError(f"no answer named {name!r}, but {', '.join(values[0])}")
            return [value[name] for value in values]
        if answer is not None:
            raise InvalidAnswerError(f"answers without names, so none named {answer!r}")
        return values

    def described(self, content: Any) -> tuple[str, ...] | None:
        """Return the column names in a service's description of itself; None if it takes one tensor or does not say."""
        return None


class MLflow(Instances):
    """Protocol of MLflow's scoring server: rows are sent as `dataframe_split` to /invocations."""

    name = "mlflow"
    takes_frames = True
    as_objects = False

    def __init__(self, url: str) -> None:
        super().__init__(url if _path(url).endswith("/invocations") else _with_path(url, f"{_path(url)}/invocations"))

    def request(self, batch: EncodedRows, places: Sequence[int], answer: str | None) -> bytes:
        """Return the JSON request about the rows with the numbers `places`, with the names of their columns."""
        return b'{"dataframe_split":{"columns":%b,"data":%b}}' % (encoded(batch.names), batch.listed(places))


class OpenInference(Instances):
    """The Open Inference Protocol, version 2: an array is sent as one tensor, a DataFrame as one tensor per column."""

    name = "oip"
    as_objects = False

    def __init__(self, url: str) -> None:
        path = _path(url).removesuffix("/infer")
        if not re.search(r"/v2/models/[^/]+(/versions/[^/]+)?$", path):
            raise SettingError(f"an address of this protocol must end with /v2/models/NAME, got {shown_source(url)}")
        super().__init__(_with_path(url, f"{path}/infer"))
        self.about = _with_path(url, path)
        self._tensor = "input-0"
        """Name of the tensor in which an array is sent."""

    def request(self, batch: EncodedRows, places: Sequence[int], answer: str | None) -> bytes:
        """Return the JSON request about the rows with the numbers `places`, which are sent as tensors."""
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
        """Return the output tensor named `answer`, or the only one, as a list with one entry per row."""
        outputs = content.get("outputs") if isinstance(content, dict) else None
        if not isinstance(outputs, list) or not outputs or not all(isinstance(each, dict) for each in outputs):
            raise InvalidAnswerError(f"no list named outputs in {in_short(content)}")
        named = {str(each.get("name")): each for each in outputs}
        name = _chosen(list(named), answer)
        if name not in named:
            raise InvalidAnswerError(f"no output named {answer!r}, but {shortened(', '.join(named))}")
        return _of_tensor(named[name], n_rows)

    def described(self, content: Any) -> tuple[str, ...] | None:
        """Return the column names in a service's description of itself; None if it takes one tensor or does not say."""
        inputs = content.get("inputs") if isinstance(content, dict) else None
        names = [each["name"] for each in inputs or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if len(names) == 1:
            self._tensor = names[0]
        return tuple(names) if len(names) > 1 else None


PROTOCOLS: Final[Mapping[str, type[Instances]]] = {"mlflow": MLflow, "oip": OpenInference, "instances": Instances}


def service_at(url: str, protocol: str | None) -> Instances:
    """Return the protocol object for a service at an address.

    Without a protocol's name, the address must end as only one protocol's addresses do.
    """
    if protocol is None:
        path = _path(url)
        protocol = "mlflow" if path.endswith("/invocations") else "oip" if "/v2/models/" in path else None
    return PROTOCOLS[checked_choice("protocol", protocol, PROTOCOLS)](url)


def decoded(data: bytes) -> Any:
    """Return the decoded JSON of a reply; raise an InvalidAnswerError if it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        shown = shortened(data[:2000].decode(errors="replace"), 120)
        raise InvalidAnswerError(f"no JSON, or JSON cut short: {shown!r}") from None


def checked_answers(values: Any, n_rows: int) -> list[Any]:
    """Return the answers of a request after checking them: one per row, all text, all numbers, or equally long lists.

    A list of one number becomes that number. Anything else raises an InvalidAnswerError.
    """
    if not isinstance(values, list):
        raise InvalidAnswerError(f"no list of answers, but {in_short(values)}")
    if len(values) != n_rows:
        raise InvalidAnswerError(f"{len(values):,} answers for {n_rows:,} rows")
    if values and all(isinstance(value, list) and len(value) == 1 for value in values):
        values = [value[0] for value in values]
    _as_array(values)
    return values


def joined(answers: list[Any]) -> NDArray[Any]:
    """Return the answers of several requests as one array; of dtype object if text and numbers are mixed."""
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
        raise InvalidAnswerError(f"answers that are neither all text nor all numbers, as {in_short(odd)}")
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
    """Return the name of the answer to read: `answer`, or the only one in `names`."""
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
        raise InvalidAnswerError(f"no tensor with shape and data, but {in_short(tensor)}")
    try:
        rows = np.array(data, dtype=object).reshape(shape)
    except (TypeError, ValueError):
        raise InvalidAnswerError(f"{len(data):,} numbers in a tensor of the shape {shape}") from None
    if len(rows) != n_rows:
        raise InvalidAnswerError(f"a tensor of the shape {shape} for {n_rows:,} rows")
    return rows.tolist()


def in_short(content: Any) -> str:
    """Return the JSON of an answer, cut short and without secrets, for messages."""
    return repr(shortened(json.dumps(content, default=str), 120))


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=path))
