"""Hashes of models, data and settings, which identify a stored run, and the digests that seal a report."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain import toml
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.fingerprint import UNTOLD, fingerprint

if TYPE_CHECKING:
    import pandas as pd

N_CANARIES = 1000
"""Number of canaries: inputs asked again to detect a changed model. Chosen: if 1 in 300 inputs changes, they detect it
with 96% probability."""


def canonical(content: Any) -> bytes:
    """Return plain values (as in JSON) as bytes, in one canonical form: equal values give equal bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", errors="backslashreplace")  # half of a surrogate pair has no bytes


def digest(content: Any) -> str:
    """Return the SHA-256 hash of plain values (as in JSON), as "sha256:..." text."""
    return sha256(canonical(content))


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report's content (sections by name) with a digest of each section and a digest of the whole added."""
    sections = {name: part for name, part in content.items() if name not in ("digests", "digest")}
    whole = {**sections, "digests": {name: digest(part) for name, part in sections.items()}}
    return {**whole, "digest": digest(whole)}


def hash_of_model(
    model: Any, domain: Domain, rows: pd.DataFrame, output: str, batch: str | None, model_id: str | None = None
) -> tuple[str, str, int]:
    """Return the hash of a model, a description in words of what was hashed, and the number of rows sent to it.

    The hash always includes the model's answers to the canaries, because the model itself may be only an address.
    """
    asker = Asker(model, domain, output=output, batch=batch)
    answers, what = canary_answers(asker, rows)
    said = digest([str(answer) for answer in answers.tolist()])
    if model_id is not None:
        return digest([model_id, said]), f"the name {model_id!r} that it was given, and {what}", asker.n_queries
    made_of = fingerprint(model)
    if adapter_for(model).is_elsewhere or made_of.startswith(UNTOLD):
        return said, f"{what}; what it is made of cannot be told", asker.n_queries
    return digest([made_of, said]), f"all that the model is made of, and {what}", asker.n_queries


def canary_answers(asker: Asker, rows: pd.DataFrame | None = None) -> tuple[NDArray[Any], str]:
    """Return a model's answers to the canaries (inputs that identify it), and a description of these inputs in words.

    If the model fails on inputs of the domain, the first of `rows` are used instead.
    """
    with asker.afresh():  # a remembered answer does not show the model as it is now
        try:
            # Constraints do not matter here: a model is the same one, whatever cannot be.
            whole = asker.domain.without_constraints().without_links()
            codes = whole.sample_codes(N_CANARIES, np.random.default_rng(0))
            return asker.ask(codes), f"its answers to {N_CANARIES:,} inputs of the domain"
        except ModelError:  # it need not know all inputs, if nothing but rows is asked about
            if rows is None:
                raise
            some = asker.domain.typed(rows.head(N_CANARIES))
            return asker.ask_frame(some), f"its answers to the first {len(some):,} rows"


def hash_of_data(rows: pd.DataFrame, labels: Any = None) -> str:
    """Return the hash of a DataFrame's columns, dtypes and index, and of the labels if they are given."""
    parts = [str([(name, str(dtype)) for name, dtype in rows.dtypes.items()]), rows.to_csv()]
    if labels is not None:
        parts.append("\n".join(map(str, np.asarray(labels).tolist())))
    return sha256("\0".join(parts).encode("utf-8", errors="backslashreplace"))


def sha256(data: Any) -> str:
    """Return the SHA-256 hash of bytes as "sha256:" and hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# The identity of a run: all that it depends on, as plain values that a file can hold


def of_model(model: Any, model_id: str | None = None) -> dict[str, Any]:
    """Return what identifies a model in a stored run: its class, and its content's hash or the user's `model_id`."""
    told = {"hash": fingerprint(model)} if model_id is None else {"id": model_id}
    return {"kind": type(model).__name__, **told}


def checked_id(model_id: Any, store: Any) -> str | None:
    """Return the user's name for a model after checking it; a SettingError if there is a name but no store."""
    if model_id is None:
        return None
    if not isinstance(model_id, str) or not model_id.strip():
        raise SettingError.about("model_id", f"must be a name for this very model, as 'credit 3.1', got {model_id!r}")
    if store is None:
        raise SettingError.about("model_id", f"goes with store, which nothing is kept without; got {model_id!r} alone")
    return model_id


def of_domain(domain: Domain) -> dict[str, Any]:
    """Return a domain as nested tables, as in its TOML file, and the fingerprints of callable constraints."""
    callables = [fingerprint(each) for each in domain.restrictions.callables]
    return {**tomllib.loads(toml.text_of(domain)), **({"callables": callables} if callables else {})}


def domain_of(content: dict[str, Any]) -> Domain:
    """Return the domain described by the result of `of_domain`; refuse one with constraints that are callables."""
    return Domain._of(toml.parse(content))


def of_density(density: Density | None) -> str | None:
    """Return the hash of a density, the model of how likely rows are; None if there is none."""
    return None if density is None else density.digest
