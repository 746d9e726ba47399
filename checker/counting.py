"""The arithmetic of the checker: answers, gaps, intervals, and what they say of a limit. It needs NumPy alone."""

import functools
import math

import numpy as np

PLAIN, BOUNDS = ("plain", "linked"), ("low", "high", "lower", "upper")
UNSETTLED = {"stochastic-model", "batch-dependent-model"}  # remarks with which nothing is settled
NO_PASS = {"few-groups"}  # and with which nothing passes


def same(one, other):
    """Whether two answers or figures are the same, but for the last digits of fractions."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if float in (type(one), type(other)) and {type(one), type(other)} <= {int, float}:
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-15)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@functools.cache
def bound(hits, n, error, upper):
    """Clopper and Pearson: the share at which so few hits (upper), or so many, have the probability `error`."""
    few = hits if upper else n - hits  # many hits are few misses
    if few == n:
        return float(upper)
    i = np.arange(1, min(few, n - few) + 1)
    log_ways = np.log((n - len(i) + i) / i).sum()  # of choosing them: n! / (few! (n - few)!)
    fewer = np.arange(few, max(0, few - 40 * math.isqrt(n) - 100), -1)  # beyond these, nothing is left to add
    low, high = (hits / n, 1.0) if upper else (0.0, hits / n)
    while low < (share := (low + high) / 2) < high:  # halve it until floats end
        p, q = (share, 1 - share) if upper else (1 - share, share)
        chance = math.exp(log_ways + few * math.log(p) + (n - few) * math.log(q))  # of just so few
        chance *= 1 + np.cumprod(fewer / (n - fewer + 1) * (q / p)).sum()  # or fewer
        low, high = (share, high) if (chance > error) == upper else (low, share)
    return share


def figures(hits, n, confidence, is_count):
    """The value and the bounds of so many hits; of a count, the value alone."""
    errors = ((1 - confidence) / 2, 1 - confidence)  # two-sided, then one-sided
    bounds = [None if is_count else bound(hits, n, error, upper) for error in errors for upper in (False, True)]
    return {"value": hits / n if n else None, **dict(zip(BOUNDS, bounds, strict=True))}


def gap(outputs, kind):
    """The largest difference between answers: of labels 0 or 1, of probabilities by class."""
    known = [output for output in outputs if output is not None]
    if kind == "label":
        return float(any(not same(output, known[0]) for output in known))
    each = zip(*known, strict=True) if isinstance(known[0], list) else [known]
    return float(max(max(numbers) - min(numbers) for numbers in each))


def are_members(share, told, found, many, domain):
    """Whether families lack members only where some may not exist. Notes how many lack some and are no hits."""
    share["n_absent"] = sum(len(each) < many for each, is_hit in zip(told, found, strict=True) if not is_hit)
    may_lack = domain["constraints"] or domain["hidden"] or (domain["links"] and share["twins"] == "linked")
    return all(len(each) > 1 and (len(each) == many or may_lack) for each in told)


def is_denied(outputs, place, question, above):
    """Whether another member's answer is better than this one's: the favourable label, or better by more than that."""
    if outputs[place] is None:
        return False
    if question["output"] == "label":
        good = [output is not None and same(output, question["favourable"]) for output in outputs]
        return not good[place] and any(good)
    sign = {"highest": 1, "lowest": -1}[question["favourable"]]
    return max(sign * output for output in outputs if output is not None) - sign * outputs[place] > above


def outcome(share, question):
    """What can be said of one share and the limit."""
    limit, total = question["max_share"], share["n"] + share["n_not_comparable"] + share["n_left_out"]
    is_count = share["low"] is None  # training rows: a count without an interval can break a limit, and never keeps it
    low, high = (share["value"], math.inf) if is_count else (share["low"], share["high"])
    remarks = {each["check"] for each in share["health"]}
    too_few = share["n"] / max(1, total) < question["min_comparable"] and not (share["n"] and low > limit)
    if not share["n"] or too_few or remarks & UNSETTLED:
        return "inconclusive"
    is_violated = low > limit or (limit == 0 and share["hits"])
    return "violated" if is_violated else "passed" if high <= limit and not remarks & NO_PASS else "inconclusive"


def is_open(share, question):
    """Whether the outcome would be another if all, or none, of what was set aside were hits: no file tells of it.

    Set aside are rows, and members that are not there of rows that are no hits without them.
    """
    apart, absent = share["n_not_comparable"] + share["n_left_out"], share["n_absent"]
    said, n = outcome(share, question), share["n"] + apart
    if not (apart or absent) or said == "inconclusive":
        return False
    others, whole = set(), {"n": n, "n_not_comparable": 0, "n_left_out": 0}
    for hits in (share["hits"], min(n, share["hits"] + apart + absent)):
        numbers = figures(hits, n, share["confidence"], share["low"] is None)
        others.add(outcome({**share, **numbers, **whole, "hits": hits}, question))
    return others != {said}


def tables_hold(share, told, found):
    """Whether the outcomes of the hits and the rates of all rows follow from the labels `told` by combination."""
    right = True
    for row in share["outcomes"] or []:
        got = [str(each.get(row["combination"])) for each, is_hit in zip(told, found, strict=True) if is_hit]
        right &= all(got.count(label) == count for label, count in row.items() if label != "combination")
    for row in [] if share["design"] else share.get("rates") or []:
        got = [str(each[row["combination"]]) == share["rated"] for each in told if row["combination"] in each]
        right &= same(row["rate"], sum(got) / len(got) if got else None)
    return right


def other_gate(audit):
    """Whether the gate binds matched twins, or the ratio of observed rates; no file shows all that these rest on."""
    return {"matched", "impact"} & {*(audit["about"]["config"]["gate"] or "").split()}
