"""Checks an audit by its own evidence: python checker/check.py audit.json [--model module:attribute].

Exit code 0: all that can be checked is right; 1: refused; 2: not an audit. A line a check, and for what cannot be.
"""

import argparse, base64, hashlib, importlib, json, math, pathlib, sys  # noqa: E401, I001 - one line, to be short

import numpy as np

EXIT_CODES, seen = {"passed": 0, "inconclusive": 4, "violated": 1}, []  # the mildest first; what came of the checks


def same(one, other):
    """Whether two answers or figures are the same, but for the last digits of fractions."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if float in (type(one), type(other)) and {type(one), type(other)} <= {int, float}:
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-15)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


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


def gap(outputs, kind):
    """The largest difference between answers: of labels 0 or 1, of probabilities by class."""
    known = [output for output in outputs if output is not None]
    if kind == "label":
        return float(any(not same(output, known[0]) for output in known))
    return float(max(max(each) - min(each) for each in (zip(*known) if isinstance(known[0], list) else [known])))


def note(what, right, detail=""):
    """A line for a check; `right` is None for what cannot be checked."""
    seen.append(right)
    print(f"{'cannot check' if right is None else 'ok' if right else 'WRONG':13}{what}", "" if right else detail)


def outcome(share, question):
    """What can be said of one share and the limit."""
    limit, total = question["max_share"], share["n"] + share["n_not_comparable"] + share["n_left_out"]
    is_count = share["low"] is None  # training rows: a count without an interval can break a limit, and never keeps it
    low, high = (share["value"], math.inf) if is_count else (share["low"], share["high"])
    few = share["n"] / max(1, total) < question["min_comparable"] and not low > limit
    if not share["n"] or few or {"stochastic-model", "batch-dependent-model"} & {h["check"] for h in share["health"]}:
        return "inconclusive"
    is_violated = low > limit or (limit == 0 and share["hits"])
    return "violated" if is_violated else "passed" if high <= limit else "inconclusive"


def check(audit):
    """All that can be checked, from the digests to the rates."""
    question, verdict, shares, data = audit["question"], audit["verdict"], audit["shares"], audit["about"]["data"]
    sections = {name: part for name, part in audit.items() if name not in ("digest", "digests")}
    for name, part in {**sections, "all": {**sections, "digests": audit["digests"]}}.items():
        text = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        found = hashlib.sha256(text.encode("utf-8", errors="backslashreplace")).hexdigest()
        note(f"digest of {name}", ({"all": audit["digest"]} | audit["digests"]).get(name) == f"sha256:{found}")
    flips, size = {}, audit["about"]["config"]["n_samples"]  # flips: by twins and label, the answers of rows
    for share in shares:
        name, n, hits, method, evidence = (share[key] for key in ("id", "n", "hits", "method", "evidence"))
        found, is_main = None, {*share["sensitive"]} == {*question["sensitive"]}
        right = [is_main, question["threshold"]] == [share["is_main"], share["threshold"]]
        if evidence["kind"] == "bits":
            bits = np.unpackbits(np.frombuffer(base64.b64decode(evidence["hits"]), dtype=np.uint8))
            found = bits[:n] if evidence["n"] == n and not bits[n:].any() else bits[:0]
        elif evidence["kind"] == "rows" and is_main:
            rows, limit = audit["certificate"][share["twins"]], question["threshold"] + share["resolution"]
            found = np.array([gap(outputs, question["output"]) > limit for outputs in rows["outputs"]], dtype=bool)
            for place, outputs in rows.get("again", []):  # asked twice, answered otherwise: a hit is one each time
                found[place] &= gap(outputs, question["output"]) > limit
            told = []
            for row in np.flatnonzero(found):
                told.append({who: said for who, said in zip(rows["members"], rows["outputs"][row]) if said is not None})
                flips.setdefault((share["twins"], rows["row"][row]), []).append(told[-1])
            counts = [len(rows["row"]), rows["not_comparable"], rows["left_out"]]
            right &= [*counts, sum(counts)] == [n, share["n_not_comparable"], share["n_left_out"], data["n_rows"]]
            for row in (share["outcomes"] or []) if question["output"] == "label" else []:
                got = [str(each.get(row["combination"])) for each in told]
                right &= all(got.count(label) == count for label, count in row.items() if label != "combination")
        if found is not None:
            ends = size * (1 + np.unique(np.linspace(0, n // size - 1, 200).round().astype(int)))  # of experiments
            means = (np.cumsum(found)[ends - 1] / ends).tolist() if share["history"] else None
            right = right and [len(found), found.sum()] == [n, hits] and same(means, share["history"])
        right = right if found is not None or not right else None if method == "exact" else False  # a proof counts none
        note(f"{name}: {hits:,} hits in {n:,} ({method})", right)
        value, error = hits / n if n else None, 1 - share["confidence"]
        errors = (error / 2, error) if method != "exact" else ()  # two-sided, then one-sided
        bounds = [bound(hits, n, each, upper) for each in errors for upper in (False, True)] or [value] * 4
        if share["population"] == "rows" and data["role"] == "training":
            bounds = [None] * 4
        right = same([value, *bounds], [share[key] for key in ("value", "low", "high", "lower", "upper")])
        can = method in ("rows", "sample", "exact") and not share["design"]
        note(f"{name}: share and interval {share['design']}", right if can else None, bounds if can else method)
    main = [each for each in shares if each["is_main"] and each["population"] == verdict["population"]]
    main = [each for each in main if each["twins"] in question["gate"].split()] or main
    error = sum(1 - each["confidence"] for each in main if each["method"] != "exact")
    right = {each["id"] for each in main} == {*verdict["bound"]} and error <= 1 - question["confidence"] + 1e-9
    note("the limit binds what it is about, at the confidence", right, f"an error of {error}")
    can = question["max_share"] is not None and not question["directions"] and main
    worst = max([outcome(each, question) for each in main] if can else EXIT_CODES, key=[*EXIT_CODES].index)
    right = [verdict["outcome"], verdict["exit_code"]] == [worst, EXIT_CODES[worst]]
    note(f"verdict: {verdict['outcome']}", right if can else None, f"it is {worst}" if can else "")
    rows, impact = audit["rows"], audit["impact"]
    right = all(each["answers"] in flips.get((each["population"], each["row"]), []) for each in rows["flips"])
    note(f"{rows['n_flipped']:,} rows flip", right and rows["n_flipped"] == len({row for _, row in flips}))
    gaps = [(gap(case["outputs"], question["output"]), case["gap"]) for case in audit["cases"]]
    note(f"gaps of {len(gaps):,} cases", all(same(*each) and each[0] > question["threshold"] for each in gaps))
    for each in impact:
        best = max(other["favourable"] / other["n"] for other in impact if other["sensitive"] == each["sensitive"])
        rate = each["favourable"] / each["n"]
        note(f"impact: {each['value']}", same([rate, rate / best if best else None], [each["rate"], each["ratio"]]))
    for each in audit["sensitivity"]:
        right = same(each["value"] or 0.0, each["hits"] / max(1, each["n"]))
        right &= each["outcome"] != "passed" or not can or (each["value"] or 0.0) <= question["max_share"]
        note(f"{each['what']}: share", None if main and main[0]["design"] else right)
    note("inputs of samples, proofs, severity, plausibility, search, why, proxies, retraining, queries", None)


def main():
    """Read, check, say how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audit", type=pathlib.Path)
    parser.add_argument("--model", help="module:attribute, to be asked again")
    given, is_audit = parser.parse_args(), False
    try:
        audit = json.loads(given.audit.read_bytes())
        is_audit = (audit["format"], audit["format_version"]) == ("fairprobe-audit", 1)
        check(audit)
        if given.model:
            importlib.import_module("ask").ask(audit, given.model, note, same)  # beside this file
    except Exception as error:  # something is missing, or is not of its kind
        note("the form", False, repr(error))
    code = int(not all(right is None or right for right in seen)) if is_audit else 2
    print(("right, as far as it can be checked", "refused", "not an audit")[code])
    return code


if __name__ == "__main__":
    sys.exit(main())
