"""What makes two runs the same one, in plain values that a file can hold."""

from __future__ import annotations

import tomllib
from typing import Any

from fairprobe.domain import density_file, toml
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.fingerprint import fingerprint


def of_model(model: Any) -> dict[str, Any]:
    """Its class, and the hash of what it is made of where that can be told; its answers, canaries tell."""
    return {"kind": type(model).__name__, "hash": fingerprint(model)}


def of_domain(domain: Domain) -> dict[str, Any]:
    """As in a domain file; constraints that are callables by their code."""
    callables = [fingerprint(each) or getattr(each, "__name__", "") for each in domain.restrictions.callables]
    return {**tomllib.loads(toml.text_of(domain)), **({"callables": callables} if callables else {})}


def domain_of(content: dict[str, Any]) -> Domain:
    """The way back; a domain with callables has none."""
    if "callables" in content:
        raise SettingError.about(
            "store", "must have a domain whose constraints are texts, got callables, which no file holds"
        )
    return Domain._of(toml.parse(content))


def of_density(density: Density | None) -> str | None:
    """The hash of all that it says."""
    return None if density is None else density_file.digest_of(density)
