"""Observed rates by group: recomputed from the counts of rows and of favourable answers, which the file states."""

import importlib
import math

counting = importlib.import_module("counting")  # beside this file
same = counting.same


def check_rates(audit, note):
    """The rates of the groups, the ratio of the lowest to the highest, and the ends of its interval."""
    question = audit["question"]
    for each in audit["impact"]:
        rates = [o["favourable"] / o["n"] for o in audit["impact"] if o["sensitive"] == each["sensitive"]]
        rate = each["favourable"] / each["n"]
        right = same([rate, rate / max(rates) if max(rates) else None], [each["rate"], each["ratio"]])
        note(f"impact: {each['value']}", right)
    for each in audit["ratios"]:
        right = same(ratio_of(each, audit), [each["ratio"], each["low"], each["high"]])
        n_bound = len(question["sensitive"]) if question["min_ratio"] is not None else 1
        right = right and same(each["confidence"], 1 - (1 - question["confidence"]) / n_bound)
        note(f"{each['id']}: ratio and interval", right)


def ratio_of(told, audit):
    """The lowest rate of the compared groups as a part of the highest, and its interval, from the counts."""
    every = [each for each in audit["impact"] if each["sensitive"] == told["sensitive"]]
    groups, is_count = [each for each in every if each["n"] >= 30], audit["about"]["data"]["role"] == "training"
    confidence = 1 - (1 - told["confidence"]) / max(1, len(groups))
    for each in every:
        expected = counting.figures(each["favourable"], each["n"], confidence, is_count)
        if not same(
            [expected["low"], expected["high"], each["n"] >= 30], [each[x] for x in ("low", "high", "compared")]
        ):
            return ["wrong"]
    if len(groups) < 2:
        return [None] * 3
    low, high = ([each[end] for each in groups] for end in ("low", "high"))
    rates = [each["favourable"] / each["n"] for each in groups]
    ends = [None] * 2 if is_count else [min(low) / max(high), min(1.0, min(high) / max(low)) if max(low) else 1.0]
    return [min(rates) / max(rates) if max(rates) else None, *ends]


def by_ratio(told, audit):
    """The mildest outcome that the ratio of observed rates allows, by its interval."""
    limit, role = audit["question"]["min_ratio"], audit["about"]["data"]["role"]
    ratio, low, high = told["ratio"], told["low"], told["high"]
    if ratio is None:
        return "inconclusive"
    low, high = (-1, ratio) if role == "training" else (low, high)
    return "violated" if high < limit else "passed" if low >= limit else "inconclusive"


def by_matched(told, question, role):
    """The mildest outcome that a share by matched twins allows, by its interval."""
    limit, low, high = question["max_share"], told["low"], told["high"]
    low, high = (told["value"], math.inf) if role == "training" else (low, high)
    return "violated" if None not in (low, limit) and low > limit else "passed" if high <= limit else "inconclusive"


def at_best(audit):
    """By name, the mildest outcome of each figure that the gate binds: ratios of rates, or shares by matched twins."""
    question, role = audit["question"], audit["about"]["data"]["role"]
    if question["min_ratio"] is not None:
        return {each["id"]: by_ratio(each, audit) for each in audit["ratios"]}
    return {f"matched/{each['attribute']}": by_matched(each, question, role) for each in audit["matched"]}
