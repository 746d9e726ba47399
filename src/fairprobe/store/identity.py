"""The identity of a run: what it depends on, as plain values that a file can hold."""

from __future__ import annotations

import tomllib
from typing import Any

from fairprobe.domain import density_file, toml
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.fingerprint import fingerprint


def of_model(model: Any, model_id: str | None = None) -> dict[str, Any]:
    """A model's class, with the hash of what it is made of or the name that the user gives it."""
    told = {"hash": fingerprint(model)} if model_id is None else {"id": model_id}
    return {"kind": type(model).__name__, **told}


def checked_id(model_id: Any, store: Any) -> str | None:
    """The name that the user gives a model, which only a stored run needs."""
    if model_id is None:
        return None
    if not isinstance(model_id, str) or not model_id.strip():
        raise SettingError.about("model_id", f"must be a name for this very model, as 'credit 3.1', got {model_id!r}")
    if store is None:
        raise SettingError.about("model_id", f"goes with store, which nothing is kept without; got {model_id!r} alone")
    return model_id


def of_domain(domain: Domain) -> dict[str, Any]:
    """A domain as in its file, with the fingerprints of constraints that are callables."""
    callables = [fingerprint(each) for each in domain.restrictions.callables]
    return {**tomllib.loads(toml.text_of(domain)), **({"callables": callables} if callables else {})}


def domain_of(content: dict[str, Any]) -> Domain:
    """A domain from its identity; refused if it has constraints that are callables."""
    if "callables" in content:
        raise SettingError.about(
            "store", "must have a domain whose constraints are texts, got callables, which no file holds"
        )
    return Domain._of(toml.parse(content))


def of_density(density: Density | None) -> str | None:
    """The hash of a density."""
    return None if density is None else density_file.digest_of(density)
