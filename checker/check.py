"""Checks an audit by its own evidence: python checker/check.py audit.json [--model module:attribute].

Exit code 0: all that the verdict rests on is right; 1: refused; 2: not an audit; 3: nothing is wrong, but the verdict
rests on something that the file does not show. A line a check, and for what cannot be checked.
"""

import argparse, base64, importlib, json, math, pathlib, sys  # noqa: E401, I001 - one line, to be short

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # for what is beside this file
counting, resting = importlib.import_module("counting"), importlib.import_module("verdict")
same, bound, gap, outcome, figures = (getattr(counting, n) for n in ("same", "bound", "gap", "outcome", "figures"))

SAMPLED = ("sample", "exact", "sequential", "strata")
METHODS = {"rows": ("rows",), "domain": SAMPLED, "valid": SAMPLED, "density": ("sample", "sequential")}
ENDINGS = ("right, as far as it can be checked", "refused", "not an audit", "nothing is wrong, but the verdict is open")
seen = []  # what came of the checks


def note(what, right, detail=""):
    """A line for a check; `right` is None for what cannot be checked."""
    seen.append(right)
    print(f"{'cannot check' if right is None else 'ok' if right else 'WRONG':13}{what}", "" if right else detail)


def check(audit):
    """All that can be checked, from the digests to the rates. Gives whether nothing below the verdict is hidden."""
    sections = {name: part for name, part in audit.items() if name not in ("digest", "digests")}
    for name, part in {**sections, "all": {**sections, "digests": audit["digests"]}}.items():
        note(f"digest of {name}", resting.digest(part) == ({"all": audit["digest"]} | audit["digests"]).get(name))
    audit = {**audit, "shares": [{**share} for share in audit["shares"]]}  # to be noted on
    is_asked = resting.check_question(audit, note)
    main = resting.bound_shares(audit, note)
    flips, founds, is_seen = {}, {}, {}  # flips: by twins and position, the label and the answers of rows
    for share in audit["shares"]:
        founds[share["id"]], is_seen[share["id"]] = check_share(audit, share, flips)
    note("no two shares are of the same", len(founds) == len(audit["shares"]))
    can = resting.check_verdict(audit, main, founds, is_asked and all(is_seen[each["id"]] for each in main), note)
    rows, question = audit["rows"], audit["question"]
    known = [[twins, *told] for (twins, _), told in flips.items()]
    right = all([each["population"], each["row"], each["answers"]] in known for each in rows["flips"])
    note(f"{rows['n_flipped']:,} rows flip", right and rows["n_flipped"] == len({place for _, place in flips}))
    gaps = [(gap(case["outputs"], question["output"]), case["gap"]) for case in audit["cases"]]
    note(f"gaps of {len(gaps):,} cases", all(same(*each) and each[0] > question["threshold"] for each in gaps))
    importlib.import_module("rates").check_rates(audit, note)
    for each in audit["sensitivity"]:
        right = same(each["value"] or 0.0, each["hits"] / max(1, each["n"]))
        right &= each["outcome"] != "passed" or (each["value"] or 0.0) <= (question["max_share"] or 1.0)
        note(f"{each['what']}: share", None if main and main[0]["design"] else right)
    note("inputs of samples, proofs, severity, plausibility, search, why, proxies, retraining, queries", None)
    return can


def check_share(audit, share, flips):
    """What a share is, its counts and its bounds. Gives which inputs are hits, and whether the file shows all of it."""
    question, data, config = audit["question"], audit["about"]["data"], audit["about"]["config"]
    name, n, hits, method, evidence = (share[key] for key in ("id", "n", "hits", "method", "evidence"))
    found, size, can, share["n_absent"] = None, config["n_samples"], True, 0
    own = [f"{share['population']}/{share['twins']}/{' x '.join(share['sensitive'])}", question["threshold"]]
    right = own == [name, share["threshold"]] and method in METHODS[share["population"]]
    right &= share["is_main"] is ({*share["sensitive"]} == {*question["sensitive"]})
    right &= share["twins"] in counting.PLAIN[: 1 + bool(audit["domain"]["links"])]
    right &= share["resolution"] == 0 or (question["output"] != "label" and share["resolution"] > 0)
    right &= {type(share[key]) for key in ("n", "hits", "n_not_comparable", "n_left_out")} == {int}
    right &= share["population"] == "rows" or share["n_left_out"] == 0
    if evidence["kind"] == "bits":
        bits = np.unpackbits(np.frombuffer(base64.b64decode(evidence["hits"]), dtype=np.uint8))
        found = bits[:n] if evidence["n"] == n and not bits[n:].any() else bits[:0]
        right &= method != "sample" or n + share["n_not_comparable"] == config["n_experiments"] * size
    elif [evidence["kind"], evidence.get("certificate")] == ["rows", share["twins"]] and share["is_main"]:
        found, right_too, can_too = check_rows(audit, share, flips)
        right, can = right & right_too, can and can_too
    if found is not None:
        ends = size * (1 + np.unique(np.linspace(0, n // size - 1, 200).round().astype(int)))  # of experiments
        means = (np.cumsum(found)[ends - 1] / ends).tolist() if share["history"] else None
        right = bool(right and [len(found), found.sum()] == [n, hits] and same(means, share["history"]))
    is_proof = method == "exact"  # which counts none
    right = right if found is not None or not right else None if is_proof else False
    note(f"{name}: {hits:,} hits in {n:,} ({method})", right)
    is_count = share["population"] == "rows" and data["role"] == "training"
    expected = figures(hits, n, share["confidence"], is_count) if 0 <= hits <= n else {}
    if is_proof and n:
        expected = dict.fromkeys(expected, hits / n)
    right = expected and all(same(value, share[key]) for key, value in expected.items())
    is_told = not share["design"] and share.get("weight_compared") is None and method in ("rows", "sample", "exact")
    fits = method != "sequential" or not n or same(share["value"], hits / n)
    right = right if is_told else None if fits else False
    note(f"{name}: share and interval {share['design']}", right, expected if is_told else method)
    return found, can and is_told and not is_proof


def check_rows(audit, share, flips):
    """The answers to all comparable rows: which are hits, whether the counts are right, whether all of it is shown."""
    question, rows, n_rows = audit["question"], audit["certificate"][share["twins"]], audit["about"]["data"]["n_rows"]
    output, threshold, places = question["output"], question["threshold"], rows["position"]
    again = dict(rows.get("again", []))
    pairs = [(outputs, again.get(place, outputs)) for place, outputs in enumerate(rows["outputs"])]
    gaps = np.array([[gap(each, output) for each in pair] for pair in pairs]).reshape(-1, 2)
    found = (gaps > threshold + share["resolution"]).all(axis=1)  # asked twice, answered otherwise: a hit each time
    can = bool((found == (gaps > threshold).all(axis=1)).all())  # no hit hangs on the resolution
    other = [pair for both in pairs for pair in zip(*both, strict=True) if not same(*pair)]
    if output != "label":  # differences beyond rounding
        most = max((np.abs(one).max() for outputs in rows["outputs"] for one in outputs if one is not None), default=0)
        least = max(16 * share["resolution"], 1e-6 * most)
        other = [pair for pair in other if np.abs(np.subtract(*pair)).max() > least]
    remarks = {each["check"] for each in share["health"]}
    right = not other or bool(remarks & {"stochastic-model", "rounding-decides"})
    can &= not other or "stochastic-model" in remarks
    told = [{}] * len(pairs)
    for row, (outputs, _) in enumerate(pairs):
        told[row] = {who: said for who, said in zip(rows["members"], outputs, strict=True) if said is not None}
        if found[row]:
            flips[share["twins"], places[row]] = [rows["row"][row], told[row]]
    counts = [len(rows["row"]), rows["not_comparable"], rows["left_out"]]
    right &= [*counts, sum(counts)] == [share["n"], share["n_not_comparable"], share["n_left_out"], n_rows]
    right &= len({*places}) == len(pairs) == counts[0] and all(0 <= place < n_rows for place in places)
    many = math.prod(map(len, question["sensitive"].values()))
    right &= counting.are_members(share, told, found, many, audit["domain"])
    right &= many == len(rows["members"]) == len({*rows["members"]})
    right &= output != "label" or counting.tables_hold(share, told, found)
    return found, right, can


def main():
    """Read, check, say how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audit", type=pathlib.Path)
    parser.add_argument("--model", help="module:attribute, to be asked again")
    given, is_audit, can = parser.parse_args(), False, True
    try:
        audit = json.loads(given.audit.read_bytes())
        is_audit = (audit["format"], audit["format_version"]) == ("fairprobe-audit", 2)
        can = check(audit)
        if given.model:
            importlib.import_module("ask").ask(audit, given.model, note, same)
    except Exception as error:  # something is missing, or is not of its kind
        note("the form", False, repr(error))
    is_right = all(right is None or right for right in seen)
    code = 2 if not is_audit else 1 if not is_right else 0 if can else 3
    print(ENDINGS[code])
    return code


if __name__ == "__main__":
    sys.exit(main())
