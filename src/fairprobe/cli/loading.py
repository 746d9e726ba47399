"""Domains named on the command line."""

from __future__ import annotations

from fairprobe.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.sources.named import load_object, what_happened


def load_domain(reference: str) -> Domain:
    """The domain behind `module:attribute`; a function is called for it."""
    found = load_object(reference, "--domain")
    if callable(found) and not isinstance(found, type):
        try:
            found = found()
        except Exception as error:
            raise SettingError(f"{reference} must give a Domain, got {what_happened(error)}") from error
    if not isinstance(found, Domain):
        raise SettingError(
            f"--domain {reference} must be a fairprobe.Domain, got {type(found).__name__}: {found!r:.80}"
        )
    return found
