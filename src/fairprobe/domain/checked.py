"""The check of a domain that a caller gave."""

from __future__ import annotations

from typing import Any

from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError


def checked_domain(domain: Any) -> Domain:
    """The domain, if it is one: a frame is often given in its place."""
    if not isinstance(domain, Domain):
        raise SettingError.about(
            "domain", f"must be a fairprobe.Domain, got {type(domain).__name__}: see Domain.from_frame"
        )
    return domain
