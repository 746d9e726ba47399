"""Models behind an http(s) address, asked over several connections; answers are cached, so no row is paid for twice."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arguments import JsonText, SecretHeaders, TrustedFile
from fairprobe.checks import check_above_0, checked_choice, checked_count
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning, ModelError, SettingError
from fairprobe.model.adapters import Elsewhere
from fairprobe.model.forms import ArrayForm, Form, FrameForm, checked_columns, natural_dtype
from fairprobe.model.json_template import TemplatedJson
from fairprobe.model.outputs import OUTPUTS
from fairprobe.model.protocols import EncodedRows, Instances, InvalidAnswerError, decoded, joined, service_at
from fairprobe.model.redaction import hiding, shown_source

ADDRESS = r"https?://([^/?#@\\\s]*@)?([\w.%-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?([/?#]\S*)?"
"""Pattern of a service's address: http or https, an optional user, a host, an optional port, and any path."""


def connect(
    url: str,
    *,
    protocol: str | None = None,
    answers: Mapping[str, str] | None = None,
    json_template: JsonText | None = None,
    header_from_env: SecretHeaders | None = None,
    connections: int = 4,
    batch_rows: int | None = None,
    rate_limit: float | None = None,
    timeout: float = 60.0,
    retries: int = 8,
    cache_rows: int = 500_000,
    ca_file: TrustedFile | None = None,
) -> RemoteModel:
    """Return a model behind an http(s) address, after checking that something answers there.

    Args:
        url: address of the service, http:// or https://; the certificate of an https address must verify.
        protocol: "mlflow" (/invocations), "oip" (Open Inference Protocol, /v2/models/NAME) or "instances"
            (TensorFlow Serving and others like it). By default, it is recognised by the address.
        answers: names of the service's answers by output, if it gives several for each row: {"label": "predict",
            "proba": "predict_proba"}. The model can then be asked for each of these outputs.
        json_template: the JSON of a request to a service with a form of its own. In it the text ROW stands for a row as
            an object, or the text VALUES for the list of its values. A list of one element that holds it gets such an
            element for each row; without one, each request has one row. `answers` then has the path of each output in
            the JSON of the answer, such as decisions[*].label.
        header_from_env: by header, the environment variable that holds its value. FAIRPROBE_HEADER_X_API_KEY
            is sent as X-API-KEY without being named. No header is ever shown, logged or kept with the model.
        connections: largest number of requests at a time.
        batch_rows: largest number of rows of a request; by default 64, doubled while requests take less than half a
            second.
        rate_limit: largest number of requests per second; by default without limit.
        timeout: seconds that a request may take in total.
        retries: number of times that a request is repeated after a failure that may be temporary: no connection, no
            answer in time, 408, 429, 5xx, or an answer that breaks the protocol. The delay grows each time, or is as
            long as Retry-After says.
        cache_rows: number of answered rows to remember. A remembered row is sent again only to find out whether the
            model repeats itself.
        ca_file: file of certificates to trust in place of the usual ones.
    """
    from fairprobe.model.client import Persistence, ServiceClient

    if not re.fullmatch(ADDRESS, url, re.IGNORECASE):
        raise SettingError(f"the address of a model must be http://... or https://..., got {shown_source(url)!r}")
    for name in answers or {}:
        checked_choice("answers", name, OUTPUTS)
    for setting, number in (("timeout", timeout), ("rate_limit", rate_limit)):
        check_above_0(setting, number)
    for setting, count in (("retries", retries), ("cache_rows", cache_rows)):
        checked_count(setting, count, at_least=0)
    for setting, count in (("connections", connections), ("batch_rows", 1 if batch_rows is None else batch_rows)):
        checked_count(setting, count)
    service = service_at(url, protocol) if json_template is None else TemplatedJson(url, json_template, answers or {})
    if json_template is not None and protocol is not None:
        raise SettingError.about("protocol", f"must be left out where json_template is given, got {protocol!r}")
    if service.is_single and batch_rows not in (None, 1):
        raise SettingError.about("batch_rows", f"must be 1 for a json_template of one row, got {batch_rows}")
    batch_rows = 1 if service.is_single else batch_rows
    headers = tuple((header_from_env or {}).items())
    patience = Persistence(connections, timeout, retries, rate_limit, ca_file, batch_rows, cache_rows, headers)
    model = RemoteModel(service, answers or {}, partial(ServiceClient, service, patience))
    model.look()
    return model


class RemoteModel(Elsewhere):
    """A model behind an http(s) address. In another process, headers are read from the environment again."""

    connections = True

    def __init__(self, service: Instances, answers: Mapping[str, str], make: Any) -> None:
        super().__init__(f"{shown_source(service.url)} ({service.name})", make, answers)
        self.service, self.answers = service, dict(answers)
        self._looked_for: set[str] = set()

    @property
    def n_sent(self) -> int:
        """Number of rows sent so far by this process; a repeated request counts each time."""
        n: int = self._here.get().n_sent
        return n

    def look(self) -> None:
        """Check that a service answers at the address, and read its column names if it describes itself."""
        here, about = self._here.get(), self.service.about
        with hiding(here.secrets):
            reply = here.look(about or self.service.url)
            if about is None:
                return  # any answer shows that it is there
            if reply.status != 200:
                raise ModelError(f"the service must describe its model at {shown_source(about)}, got {reply.words}")
            try:
                self.columns = self.service.described(decoded(reply.data))
            except InvalidAnswerError as error:
                raise ModelError(f"{shown_source(about)} must describe a model, got {error}") from None

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return the form of batches: a DataFrame, or an array for services that take numbers without column names."""
        checked_columns(self.columns, self.name, domain)
        takes_frame = self.service.takes_frames or self.columns is not None
        if takes_frame and batch == "array":
            raise SettingError.about("batch", f"must be 'frame' for {self.name}, got 'array'")
        if not takes_frame and batch != "frame" and all(parameter.is_numeric for parameter in domain.seen):
            return ArrayForm(domain, natural_dtype(domain))
        form = FrameForm(domain, self.columns or domain.visible)
        if self.columns is None:
            self._check_needs(form, domain)
        return form

    def _check_needs(self, form: FrameForm, domain: Domain) -> None:
        """Warn if the service also answers rows without a sensitive column, because it may ignore unknown columns."""
        row = form.rows(domain.without_constraints().sample_codes(1, np.random.default_rng(0)))
        here = self._here.get()
        for name in (each for each in domain.sensitive if each in row.columns and each not in self._looked_for):
            self._looked_for.add(name)
            few = EncodedRows(row.drop(columns=name), as_objects=self.service.as_objects)
            # It is asked once, so that it takes no row without the column may be by chance.
            if row.shape[1] > 1 and here.takes(few):
                warnings.warn(
                    f"column-not-needed: {self.name} answers rows without {name} as well. If it passes over that "
                    f"column, no case can be found: say hidden=[{name!r}], and by links what changes along with it",
                    HealthWarning,
                    stacklevel=2,
                )

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """Within the context, rows are sent to the service even if their answers are cached."""
        here = self._here.get()
        before, here.is_afresh = here.is_afresh, True
        try:
            yield
        finally:
            here.is_afresh = before

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """Return the answers to a batch, one per row, for `output`; rows answered before come from the cache."""
        if not len(rows):
            return np.empty(0)
        encoded = EncodedRows(rows, as_objects=self.service.as_objects)
        return joined(self._here.get().ask(encoded, self.answers.get(output)))
