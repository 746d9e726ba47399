"""Names that the user gives to values of columns and to outcomes, for everything that people read of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.checks import nearest
from fairprobe.domain.parameters import Listed, Parameter
from fairprobe.errors import SettingError
from fairprobe.estimation.favourable import favourable_in

if TYPE_CHECKING:
    from fairprobe.auditing.state import AuditState

OUTCOME = "outcome"
"""Name under which the model's outcomes are named. The name of `y` does as well."""


def value_names(run: AuditState, label: str | None) -> dict[str, dict[str, Any]]:
    """Return the names in the settings, each for a value that exists; refuse all other names.

    Under "columns" are the names by column and text of the value, under "outcome" those by text of the outcome. Names
    for values of a masked column are left out. `label` is the name of the labels, if they have one.
    """
    domain, told = run.domain, dict[str, dict[str, Any]](columns={}, outcome={})
    asked = run.settings.labels or {}
    if not isinstance(asked, Mapping):
        raise SettingError.about("labels", f"must be a dict of names by column and value, got {asked!r}")
    for name, given in asked.items():
        if not isinstance(given, Mapping) or not given or not all(isinstance(each, str) for each in given.values()):
            raise SettingError.about("labels", f"must have names by value for {name!r}, got {given!r}")
        if name in domain.names:
            found = {_text_of(domain[name], value): of for value, of in given.items()}
            _check_distinct(name, found, domain[name])
            told["columns"] |= {} if name in run.mask.columns else {name: found}
        elif name in (label, OUTCOME):
            found = {_outcome_text(name, value, run): of for value, of in given.items()}
            _check_distinct(name, found)
            told["outcome"] = found
        else:
            known = [*domain.names, *([] if label is None else [label]), OUTCOME]
            got = f"got {name!r}{nearest(name, known)}"
            raise SettingError.about("labels", f"must be about one of {', '.join(map(str, known))}; {got}")
    return told


def _text_of(parameter: Parameter, value: Any) -> str:
    """Return the text that stands in reports for a value of a parameter, which may be given as text itself."""
    code = _code(parameter, value)
    if code < 0 and isinstance(parameter, Listed):
        code = next((k for k, each in enumerate(parameter.by_code) if str(each).lower() == str(value).lower()), -1)
    if code >= 0:
        return str(parameter.decode(np.array([code]))[0])
    raise SettingError.about("labels", f"must name values of {parameter.name!r} ({parameter.words()}), got {value!r}")


def _outcome_text(name: str, value: Any, run: AuditState) -> str:
    if run.model is None:  # a dry run that must not load the model
        return str(value)
    asked = run.settings.some("output", "threshold", "batch")
    try:
        found = favourable_in(value, run.model, run.domain, run.rows, as_text=isinstance(value, str), **asked)
    except SettingError as error:
        raise error.calling("favourable", f"a value under {name!r} in labels") from None
    return str(None if found is None else found.word)


def _check_distinct(name: str, names: Mapping[str, str], parameter: Parameter | None = None) -> None:
    """Refuse two values with one name, and a name that is another value of the column."""
    for text, of in names.items():
        is_other = parameter is not None and _code(parameter, of) >= 0 and of not in names
        if of != text and (is_other or list(names.values()).count(of) > 1 or of in names):
            raise SettingError.about("labels", f"must give each value of {name!r} a name of its own, got {of!r} twice")


def _code(parameter: Parameter, value: Any) -> int:
    return int(parameter.encode(np.array([value], dtype=object))[0])
