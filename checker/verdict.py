"""What the verdict rests on: the question, the shares that the limit binds, and the outcome that follows from them."""

import hashlib
import importlib
import json

counting = importlib.import_module("counting")  # beside this file
same, outcome, PLAIN = counting.same, counting.outcome, counting.PLAIN

GATES = ("rows", "domain", "valid", "density")  # what a limit is about by default: the first that there is
EXIT_CODES = {"passed": 0, "inconclusive": 4, "violated": 1}  # the mildest first
CONDITION = "if the model was not trained on these rows"


def digest(part):
    """Of plain values, in their canonical form."""
    text = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', errors='backslashreplace')).hexdigest()}"


def check_question(audit, note):
    """The question must be that of the configuration, and so must all else that is said twice. Gives whether it is."""
    about, question, domain = audit["about"], audit["question"], audit["domain"]
    config, population = about["config"], population_of(audit)
    limits = config["max_share"] if isinstance(config["max_share"], dict) else {"": config["max_share"]}
    expected = {name: config[name] for name in ("output", "favourable", "confidence", "min_comparable")}
    expected |= {"max_share": limits.get(""), "directions": {name: limits[name] for name in limits if name}}
    expected |= {
        "gate": config["gate"] or population,
        "min_ratio": config["min_ratio"],
        "threshold": float(config["threshold"] or 0),
    }
    others = {name for name, value in expected.items() if not same(question[name], value)}
    told = {each["name"]: each for each in domain["parameters"] if each["is_sensitive"]}
    others |= {name for name in {*told} | {*question["sensitive"]} if not are_told(question["sensitive"], told, name)}
    is_masked = about["masked"] and others <= {"favourable", "directions", *told}  # a masked value hides it in settings
    note("the question is that of the configuration", (None if is_masked else False) if others else True, f"{others}")
    numbers = {"limit": [limit for limit in limits.values() if limit is not None], "threshold": [question["threshold"]]}
    numbers |= {"confidence": [question["confidence"]], "comparable": [question["min_comparable"]]}
    right = all(type(number) in (int, float) and number >= 0 for each in numbers.values() for number in each)
    right = right and all(limit < 1 for limit in numbers["limit"]) and 0 < question["confidence"] < 1
    right = right and (question["threshold"] < 1 or question["output"] not in ("label", "proba"))
    note("limits, threshold and confidence are numbers in their range", right, f"{numbers}")
    said = "interrupted" if about["interrupted"] else audit["verdict"]["outcome"]
    attempts = [[each["config_hash"], each["seed"], each["outcome"]] for each in about["attempts"] if each["is_this"]]
    right = attempts == [[about["config_hash"], about["seed"], said]] and about["config_hash"] == digest(config)
    right = right and [domain, about["data"]["role"]] == [config["domain"], config["rows_are"]]
    right = right and about["masked"] == config["mask"] and type(about["interrupted"]) in (str, type(None))
    note("settings, domain, role of the rows, this attempt", right)
    return not others


def are_told(values, parameters, name):
    """Whether the values compared of a sensitive parameter are those of the domain."""
    if name not in values or name not in parameters:
        return False
    kind, words = parameters[name]["kind"], parameters[name]["words"].removesuffix(", or missing")
    known = [value for value in values[name] if value is not None]
    if kind in ("category", "ordinal"):
        return words == ", ".join(map(str, known))
    return kind != "integer" or f"{words} ".startswith(f"{known[0]} to {known[-1]} ")


def population_of(audit):
    """What the limit is about: the gate's population, or the first of those there are."""
    config = audit["about"]["config"]
    named = [word for word in (config["gate"] or "").split() if word in GATES]
    return [*named, *(name for name in GATES if name in (config["populations"] or GATES))][0]


def bound_shares(audit, note):
    """The shares that the limit must bind; each of them must be there, at the confidence split over them."""
    question, verdict, domain = audit["question"], audit["verdict"], audit["domain"]
    config, population = audit["about"]["config"], population_of(audit)
    if counting.other_gate(audit):
        bound = [f"matched/{each['attribute']}" for each in audit["matched"]]
        bound = [f"impact/{name}" for name in question["sensitive"]] if question["min_ratio"] is not None else bound
        note("the limit binds what the gate names", [bound, "rows"] == [verdict["bound"], verdict["population"]])
        return []
    sides = ["linked", "plain"] if domain["links"] else ["plain"]
    if domain["links"] and (config["linked"] is not None or {*question["sensitive"]} <= {*domain["hidden"]}):
        sides = ["plain" if config["linked"] is False else "linked"]
    named = [word for word in (config["gate"] or "").split() if word in PLAIN][:1]
    sides = [side for side in named if side in sides] or (sides[:1] if named else sides)
    every = [each for each in audit["shares"] if each["population"] == population and each["is_main"]]
    main = [each for side in sides for each in every if each["twins"] == side]
    right = [each["twins"] for each in main] == sides and [each["id"] for each in main] == verdict["bound"]
    right = right and population == verdict["population"]
    if audit["about"]["interrupted"] and not audit["shares"]:  # before anything was measured
        right = verdict["bound"] == []
    confidence = 1 - (1 - question["confidence"]) / len(sides)
    right = right and all(same(confidence, each["confidence"]) for each in main)
    note("the limit binds what it is about, at the confidence", right, f"{sides} of {population} at {confidence}")
    return main


def check_directions(audit, main, founds, note):
    """Recompute each limit by who is worse off. Gives the outcomes; None of what cannot be told."""
    question, told, outcomes = audit["question"], audit["verdict"]["directions"], []
    if question["output"] == "proba" or any(founds[share["id"]] is None for share in main):
        return [None]  # the file does not say which class the favourable one is
    right = len(told) == len(main) * len(question["directions"])
    for share in main:
        rows, error = audit["certificate"][share["twins"]], (1 - share["confidence"]) / len(question["directions"])
        for side, (who, limit) in zip(told[len(outcomes) :], question["directions"].items(), strict=False):
            above, place = share["threshold"] + share["resolution"], rows["members"].index(who)
            worse = [counting.is_denied(each, place, question, above) for each in rows["outputs"]]
            hits, asked = int((founds[share["id"]] & worse).sum()), {**question, "max_share": limit}
            own = {"hits": hits, "n": share["n"], "confidence": 1 - error}
            own |= counting.figures(hits, share["n"], 1 - error, share["low"] is None)
            own["outcome"] = outcome({**share, **own}, asked)
            own |= {"combination": who, "twins": share["twins"], "limit": limit}
            right &= all(same(value, side[name]) for name, value in own.items())
            outcomes.append(None if counting.is_open({**share, **own}, asked) else own["outcome"])
    note(f"{len(told)} limits by who is worse off", right)
    return outcomes


def check_verdict(audit, main, founds, can, note):
    """The verdict, from the shares that the limit binds; whether nothing that it rests on is out of sight."""
    question, verdict = audit["question"], audit["verdict"]
    alone, condition = {}, None
    if not audit["shares"]:
        outcomes = ["inconclusive"]
    elif counting.other_gate(audit) and (question["max_share"], question["min_ratio"]) != (None, None):
        alone, outcomes = verdict["outcomes"], [None]
        for name, at_best in importlib.import_module("rates").at_best(audit).items():
            note(f"{name}: {alone[name]}", alone[name] in ("inconclusive", at_best), at_best)
    elif question["directions"]:
        outcomes = check_directions(audit, main, founds, note)
    elif question["max_share"] is None:
        outcomes = ["no-limit"]
    else:
        alone = {each["id"]: outcome(each, question) for each in main}
        outcomes = [None if counting.is_open(each, question) else alone[each["id"]] for each in main]
    known = [*alone.values()] or [each for each in outcomes if each]
    worst = max(known, key=["no-limit", *EXIT_CODES].index) if known else verdict["outcome"]
    if worst == "passed" and verdict["population"] == "rows" and audit["about"]["data"]["role"] == "unknown":
        condition = CONDITION
    expected = [worst, EXIT_CODES.get(worst, 0), alone, condition]
    right = same(expected, [verdict[name] for name in ("outcome", "exit_code", "outcomes", "condition")])
    right = right and bool(verdict["directions"]) == bool(question["directions"] and audit["shares"])
    words = "no limit was given:" if worst == "no-limit" else f"{', '.join(filter(None, [worst, condition]))}:"
    right = right and verdict["sentence"].startswith(words)
    can = bool(outcomes == ["no-limit"] or (can and None not in outcomes))
    note(f"verdict: {verdict['outcome']}", False if not right else True if can else None, f"it is {worst}")
    return can
