"""Audits of the library are right; what their verdict rests on cannot be changed unseen, one field or all that fit."""

import base64
import copy
from functools import cache

import numpy as np
import pytest
from audits import (
    HELD,
    MADE,
    OPEN,
    SMALL,
    by_race,
    by_title,
    concluded,
    intervals,
    linked,
    made,
    model,
    moody,
    plain,
    raced,
    raced_rows,
    renewed,
    rows,
    ruled,
    shares_of,
    whole,
    with_config,
)

from fairprobe.auditing.state import AuditSettings


@pytest.mark.parametrize(("name", "code"), [*((name, 0) for name in MADE), *((name, 3) for name in OPEN)])
def test_audits_of_the_library_are_right(run, name, code):
    given, out = run(made(name))
    assert given == code, out


def test_rows_left_out_may_hold_what_would_change_the_verdict(run):
    """20 of 120 rows without a value: were all of them hits, 5% would not be kept."""
    frame = rows()
    frame.loc[frame.index[:20], "sex"] = None
    how = {"populations": ["rows"], "min_comparable": 0.8, **SMALL, **HELD}
    limits = [AuditSettings(max_share=limit, **how) for limit in (0.05, 0.5)]
    said = [shares_of(lambda frame: frame["age"] > 40, plain(), frame, settings) for settings in limits]
    assert [each["verdict"]["outcome"] for each in said] == ["passed", "passed"]
    assert [run(each)[0] for each in said] == [3, 0]


@pytest.mark.parametrize("name", ["shown", "hidden", "scores"])
def test_a_whole_audit_is_right(run, name):
    code, out = run(whole(name))
    assert code == 0, out
    assert out.endswith("right, as far as it can be checked\n")
    assert "hits in 240 (exact)" in out
    assert "WRONG" not in out


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("impact", "favourable", 1),
        ("impact", "n", 29),
        ("ratios", "ratio", 0.99),
        ("ratios", "low", 0.9),
        ("ratios", "confidence", 0.9),
        ("question", "min_ratio", 0.1),
    ],
)
def test_what_a_ratio_of_rates_rests_on_is_not_changed_unseen(run, section, field, value):
    audit = made("impact")
    (audit[section] if section == "question" else audit[section][0])[field] = value
    assert run(renewed(audit))[0] == 1


def test_an_outcome_that_the_interval_of_the_ratio_does_not_allow_is_refused(run):
    audit = made("impact")
    assert audit["verdict"]["outcome"] == "passed"
    assert audit["ratios"][0]["low"] >= 0.3
    code, out = run(renewed(concluded(audit, "violated")))
    assert code == 1, out


FREE = {"sentence", "detail", "details", "n_queries", "seed", "worse_off", "outcomes", "history", "why", "message"}
FREE |= {"rates", "rated", "is_last_class", "own"}
"""What the verdict does not rest on."""


def others(value):
    """Other values that a field might be given."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 0, -1, True, 10**9]
    if isinstance(value, float):
        return [value / 2, 1.5 * value, 0.0, 1.0, 2, True, -0.1]
    if isinstance(value, str):
        return ["", "other", *("plain", "linked", "rows", "domain", "passed", "violated", "inconclusive", "exact")]
    if isinstance(value, list):
        return [[], value[:-1], [*value, "more"]]
    return [0.0, "other", True] if value is None else [{}, None]


def fields(audit):
    """The path of every field that the verdict rests on: of the shares bound, of what was asked and what was said."""
    bound = [place for place, share in enumerate(audit["shares"]) if share["id"] in audit["verdict"]["bound"]]
    if audit["verdict"]["outcome"] == "no-limit":
        bound = []
    yield from _below(audit["question"], ("question",))
    yield from _below(audit["verdict"], ("verdict",))
    for place in bound:
        yield from _below(audit["shares"][place], ("shares", place))
        if audit["shares"][place]["evidence"]["kind"] == "rows":
            part = audit["certificate"][audit["shares"][place]["twins"]]
            for name in ("members", "position", "row", "outputs", "not_comparable", "left_out", "again"):
                if name in part:
                    yield "certificate", audit["shares"][place]["twins"], name
    yield from _below(audit["domain"]["links"], ("domain", "links"))
    yield from (("domain", "hidden"), ("about", "data", "role"), ("about", "interrupted"))
    if audit["verdict"]["population"] == "rows":
        yield "about", "data", "n_rows"
    config = ("max_share", "gate", "min_comparable", "favourable", "rows_are", "output", "threshold", "confidence")
    yield from (("about", "config", name) for name in config)


def _below(part, path):
    yield path
    for key in part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        is_remark = key == "health" and {each["check"] for each in part[key]}.isdisjoint({"stochastic-model"})
        if key not in FREE and not is_remark:
            yield from _below(part[key], (*path, key))


EQUAL = [(("about", "config", "threshold"), 0.0), (("about", "config", "gate"), 0.0), (("about", "config", "gate"), "")]
"""Nothing said in other words: no threshold of labels is 0, and no gate is the first population."""


def forged(audit, path, value):
    """With one field changed and every digest, that of the configuration too, made again."""
    audit = copy.deepcopy(audit)
    *way, last = path
    place = audit
    for key in way:
        place = place[key]
    place[last] = value
    return renewed(with_config(audit) if path[:2] == ("about", "config") else audit)


def value_at(audit, path):
    for key in path:
        audit = audit[key]
    return audit


def code_of(check, audit):
    check.seen.clear()
    try:
        is_shown = check.check(audit)
    except Exception:
        return 1
    return 1 if False in check.seen else 0 if is_shown else 3


QUICK = ("passed", "density")
EACH = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MADE]


@pytest.mark.parametrize("name", EACH)
def test_one_field_that_the_verdict_rests_on_is_not_changed_unseen(check, name):
    audit = made(name)
    assert code_of(check, audit) == 0
    unseen = [
        (path, other)
        for path in fields(audit)
        for other in others(value_at(audit, path))
        if (path, other) not in EQUAL
        if type(other) is not type(value_at(audit, path)) or other != value_at(audit, path)
        if code_of(check, forged(audit, path, other)) == 0
    ]
    assert unseen == []


@cache
def _caught(name):
    builds = {"linked": (by_title, linked()), "plain": (model, plain()), "moody": (moody(), plain())}
    asked = {"max_share": 0.001, "populations": ["rows", "domain", "density"], "method": "sample"}
    return shares_of(*builds[name], rows(), AuditSettings(**asked, **SMALL, **HELD))


def bounded(share, hits, n, **more):
    share |= {"hits": hits, "n": n, "value": hits / n, **intervals(hits, n, share["confidence"]), **more}


def counted(share, n):
    return {"kind": "bits", "n": n, "hits": base64.b64encode(np.packbits(np.zeros(n, dtype=bool)).tobytes()).decode()}


def side_of(audit, twins, population="rows"):
    return next(s for s in audit["shares"] if (s["population"], s["twins"]) == (population, twins))


def without_hits(audit, **more):
    for twins in audit["certificate"]:
        share = side_of(audit, twins)
        bounded(share, 0, share["n"], outcomes=None, **more)
    audit["rows"] = {"n_flipped": 0, "flips": []}


def dropped(audit):
    audit["shares"].remove(side_of(audit, "linked"))
    audit["verdict"]["bound"] = ["rows/plain/sex"]
    share = side_of(audit, "plain")
    share["confidence"] = 0.95
    bounded(share, share["hits"], share["n"])


def without_links(audit):
    dropped(audit)
    audit["domain"]["links"] = []


def linked_is(**changes):
    def change(audit):
        side_of(audit, "linked").update(changes)
        audit["verdict"]["bound"] = ["rows/plain/sex"]

    return change


def resolved(audit):
    for share in audit["shares"]:
        share["resolution"] = 1.0
    without_hits(audit)


def blunted(audit):
    for each in (audit["question"], audit["about"]["config"], *audit["shares"]):
        each["threshold"] = 1.0
    without_hits(audit)
    audit["cases"] = []


def proved(audit):
    figures = dict.fromkeys(("value", "low", "high", "lower", "upper"), 0.0)
    for twins in audit["certificate"]:
        told = {"method": "exact", "evidence": {"kind": "counts"}, "hits": 0, "outcomes": None}
        side_of(audit, twins).update(told | figures)


def sampled(audit):
    without_hits(audit)
    for twins in audit["certificate"]:
        share = side_of(audit, twins)
        share["evidence"] = counted(share, share["n"])


def elsewhere(audit):
    """About inputs of a density, without a hit."""
    audit["question"]["gate"] = audit["verdict"]["population"] = "density"
    audit["verdict"]["bound"] = [each["id"] for each in audit["shares"] if each["population"] == "density"]
    for share in audit["shares"]:
        if share["population"] == "density":
            bounded(share, 0, share["n"], evidence=counted(share, share["n"]), history=[0.0, 0.0], outcomes=None)


def limited(limit):
    return lambda audit: audit["question"].update(max_share=limit)


def left_out(audit):
    """All rows that flip are said to have no known value."""
    for twins, part in audit["certificate"].items():
        kept = [place for place, each in enumerate(part["outputs"]) if len(set(each)) == 1]
        part["left_out"] += len(part["row"]) - len(kept)
        for name in ("row", "position", "outputs"):
            part[name] = [part[name][place] for place in kept]
        bounded(side_of(audit, twins), 0, len(kept), n_left_out=part["left_out"], outcomes=None)
    audit["rows"] = {"n_flipped": 0, "flips": []}


def designed(**more):
    def change(audit):
        for twins in audit["certificate"]:
            side_of(audit, twins).update(low=0.0, high=0.0005, lower=0.0, upper=0.0005, **more)

    return change


def steadied(audit):
    for share in audit["shares"]:
        share["health"] = []
    audit["question"]["max_share"] = audit["about"]["config"]["max_share"] = 0.9


KINDS = {
    "the linked share dropped": ("linked", dropped),
    "renamed": ("linked", linked_is(id="rows/other/sex", twins="other")),
    "not main": ("linked", linked_is(is_main=False)),
    "of another parameter": ("linked", linked_is(sensitive=["title"], id="rows/linked/title", is_main=False)),
    "the links as well": ("linked", without_links),
    "a resolution of 1": ("plain", resolved),
    "a threshold of 1": ("plain", blunted),
    "exact": ("plain", proved),
    "bits instead of rows": ("plain", sampled),
    "another population": ("plain", elsewhere),
    "true": ("plain", limited(True)),
    "2": ("plain", limited(2)),
    "0.9": ("plain", limited(0.9)),
    "rows left out": ("plain", left_out),
    "a design": ("plain", designed(design="in 20 groups")),
    "weights": ("plain", designed(weight_compared=1.0)),
    "a method": ("plain", designed(method="sequential")),
    "stochastic-model": ("moody", steadied),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_pass_is_refused_or_open(check, kind):
    base, forge = KINDS[kind]
    audit = copy.deepcopy(_caught(base))
    outcome = "inconclusive" if base == "moody" else "violated"
    assert (code_of(check, audit), audit["verdict"]["outcome"]) == (0, outcome)
    forge(audit)
    audit["sensitivity"] = []
    assert code_of(check, renewed(with_config(concluded(audit, "passed")))) in (1, 3)


def silenced(audit):
    """Of three members, one whose answer differs is said not to exist."""
    part, share = audit["certificate"]["plain"], side_of(audit, "plain")
    part["outputs"] = [[None if each.count(said) == 1 else said for said in each] for each in part["outputs"]]
    hits = sum(len({*each} - {None}) > 1 for each in part["outputs"])
    bounded(share, hits, share["n"], outcomes=None, rates=None)
    audit |= {"rows": {"n_flipped": 0, "flips": []}, "sensitivity": []}


@pytest.mark.parametrize(("domain", "code"), [(raced, 1), (ruled, 3)])
def test_a_member_is_said_not_to_exist(check, domain, code):
    """Without a rule each member does; with one, a file does not tell which do."""
    asked = {"max_share": 0.031, "populations": ["rows"]}
    frame = raced_rows().assign(title="Mr")  # nothing is ruled out in fact
    audit = shares_of(by_race, domain(), frame, AuditSettings(**asked, **SMALL, **HELD))
    assert code_of(check, audit) == 0
    silenced(audit)
    assert code_of(check, renewed(with_config(concluded(audit, "passed")))) == code


@pytest.mark.parametrize(
    ("name", "forged"), [("violated", "passed: 0% of the rows"), ("unknown", "passed: 3% of them")]
)
def test_the_sentence_says_the_outcome_and_its_condition(check, name, forged):
    audit = made(name)
    audit["verdict"]["sentence"] = forged
    assert code_of(check, renewed(audit)) == 1


def test_other_settings_are_another_question(check):
    """What is changed wherever it is said is right of another question, which the file then says."""
    audit = copy.deepcopy(_caught("plain"))
    audit["question"]["max_share"] = audit["about"]["config"]["max_share"] = 0.9
    assert code_of(check, renewed(with_config(concluded(audit, "passed")))) == 0


def is_passed(check, **changes):
    """A pass of what was violated, with some of its verdict changed, is taken for right."""
    audit = copy.deepcopy(_caught("plain"))
    audit["question"]["max_share"], audit["sensitivity"] = changes.pop("max_share", 0.001), []
    concluded(audit, "passed")["verdict"].update(changes)
    return code_of(check, renewed(audit)) == 0


def test_a_checker_that_believes_the_question_is_caught(check, monkeypatch):
    assert not is_passed(check, max_share=0.9)
    monkeypatch.setattr(check.resting, "check_question", lambda audit, note: True)
    assert is_passed(check, max_share=0.9)


def test_a_checker_that_believes_the_bound_shares_is_caught(check, monkeypatch):
    real = check.resting.check_verdict
    monkeypatch.setattr(
        check.resting, "check_verdict", lambda audit, main, *rest: real(audit, main, *rest) if main else True
    )
    assert not is_passed(check, bound=[], outcomes={})
    monkeypatch.setattr(check.resting, "bound_shares", lambda audit, note: [])
    assert is_passed(check, bound=[], outcomes={})
