"""Any one number changed is found out: by the digests of the sections, and most of them by what they are made of."""

from __future__ import annotations

import copy
import re

import pytest
from certificates import certificate, renewed, scored

RECOMPUTED = {
    "about.attempts.seed",
    "about.config.confidence",
    "about.config.max_share",
    "about.config.min_comparable",
    "about.config.n_experiments",
    "about.seed",
    "certificate.linked.position",
    "certificate.plain.position",
    "question.max_share",
    "question.min_comparable",
    "about.data.n_rows",
    "cases.gap",
    "certificate.linked.left_out",
    "certificate.linked.not_comparable",
    "certificate.plain.left_out",
    "certificate.plain.not_comparable",
    "impact.favourable",
    "impact.rate",
    "impact.ratio",
    "question.confidence",
    "question.threshold",
    "rows.flips.answers.*",
    "rows.n_flipped",
    "sensitivity.hits",
    "sensitivity.n",
    "sensitivity.value",
    "shares.evidence.n",
    "shares.high",
    "shares.history",
    "shares.hits",
    "shares.low",
    "shares.lower",
    "shares.n",
    "shares.n_left_out",
    "shares.threshold",
    "shares.upper",
    "shares.value",
    "verdict.exit_code",
}
"""Refused wherever they stand, even with all digests renewed."""

OF_LABELS = {
    *("certificate.linked.outputs", "certificate.plain.outputs", "shares.outcomes.0", "shares.outcomes.1"),
    *("about.config.favourable", "question.favourable", "shares.resolution"),
}
OF_SCORES = {"about.config.threshold", "cases.outputs", "rows.flips.row"}
"""The same, of labels or of scores only: another label leaves a case's gap, a slightly other score a row."""

IN_PLACES = {
    "cases.outputs",
    "certificate.linked.outputs",
    "certificate.linked.row",
    "certificate.plain.outputs",
    "certificate.plain.row",
    "impact.n",
    "rows.flips.row",
    "shares.confidence",
    "shares.n_not_comparable",
}
"""Refused where something else tells them: of rows that flip, of shares that are not exact."""

ONLY_SEALED = {
    "cases.case.age",
    "cases.id",
    "cases.origin.distance",
    "cases.origin.n_changes",
    "cases.origin.row",
    "cases.plausibility",
    "cases.regions",
    "cases.severity",
    "sampling.n_inputs",
    "sampling.n_queries",
    "search.n_cases",
    "search.n_judged",
    "search.seed",
    "search.yield",
    "sensitivity.high",
    "sensitivity.low",
    "shares.n_queries",
    "shares.resolution",
    "shares.seed",
}
"""What nothing else in the file tells, or changes nothing if it changes a little: kept by the section's digest."""


def numbers(content, path=()):
    """The path of every number."""
    if isinstance(content, dict):
        for key, part in content.items():
            yield from numbers(part, (*path, key))
    elif isinstance(content, list):
        for place, part in enumerate(content):
            yield from numbers(part, (*path, place))
    elif isinstance(content, (int, float)) and not isinstance(content, bool):
        yield path


def changed(audit, path, *, by=None):
    """The audit with one number changed."""
    *way, last = path
    audit = copy.copy(audit)
    place = audit
    for key in way:
        place[key] = copy.copy(place[key])
        place = place[key]
    place[last] += by or (1 if isinstance(place[last], int) else 0.01 * (place[last] or 1))
    return audit


def general(path):
    """A path without the places in lists and the names of members."""
    words = [str(key) for key in path if not isinstance(key, int)]
    return re.sub(r"sex=\w+", "*", ".".join(words))


def is_refused(check, audit):
    check.seen.clear()
    try:
        check.check(audit)
    except Exception:
        return True
    return not all(right is None or right for right in check.seen)


@pytest.fixture(params=[certificate, scored], ids=["labels", "scores"])
def audit(request):
    return request.param()


def test_what_is_not_changed_is_right(check, audit):
    assert not is_refused(check, audit)


def test_any_number_changed_is_refused_by_its_section(check, audit):
    passed = [path for path in numbers(audit) if not is_refused(check, renewed(changed(audit, path), sections=False))]
    assert not passed


def test_what_can_be_recomputed_is_refused_with_all_digests_renewed(check, audit):
    refused, passed = set(), set()
    for path in numbers(audit):
        is_found = path == ("format_version",) or is_refused(check, renewed(changed(audit, path)))
        (refused if is_found else passed).add(general(path))
    is_label = audit["question"]["output"] == "label"
    always = refused - passed - {"format_version", "about.config.n_samples"}
    assert always >= RECOMPUTED | (OF_LABELS if is_label else OF_SCORES)
    assert always <= RECOMPUTED | OF_LABELS | OF_SCORES
    assert passed & refused <= IN_PLACES
    assert passed - refused <= ONLY_SEALED


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_no_audit(run, version):
    assert run(renewed(certificate() | {"format_version": version}))[0] == 2
