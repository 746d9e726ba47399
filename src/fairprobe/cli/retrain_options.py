"""The options that only `fairprobe retrain` has."""

from __future__ import annotations

from typing import Annotated, Any

from fairprobe.cli import values
from fairprobe.cli.options import HOW, RESULTS, WHAT, about, defaults_of, setting
from fairprobe.retrain.judging import N_REPORT, N_SELECT
from fairprobe.retrain.run import retrain
from fairprobe.search import STRATEGIES

LIMITS = "Limits (none for no limit of time)"
MEASURE = "How it is measured"

_DEFAULTS = defaults_of(retrain)


def _setting(keyword: str, parser: Any, text: str, panel: str = HOW) -> Any:
    return setting(keyword, parser, text, panel, defaults=_DEFAULTS)


Model = Annotated[
    str,
    about(
        WHAT,
        "OBJECT",
        "The classifier, as module:attribute: a scikit-learn estimator, fitted or not; it is cloned, never changed. "
        "Modules of the current folder are found. subject:NAME is one that comes with fairprobe, as "
        "subject:decision-tree.",
    ),
]
Data = Annotated[
    str | None,
    about(
        WHAT,
        "FILE",
        "Rows to fit to, with their --label; the domain is inferred from them unless --domain is given: .csv, .csv.gz "
        "(UTF-8, commas, a header) or .parquet. A subject needs none: it has the census.",
    ),
]
HeldOut = Annotated[
    str | None,
    about(
        WHAT,
        "FILE",
        "Rows with labels that the model has not seen, half to choose by and half to report on. Without them 15% of "
        "--data each are kept for that.",
        "--held-out",
    ),
]
Label = Annotated[str | None, about(WHAT, "COLUMN", "The column of --data that is predicted.")]

# How

Augment = Annotated[
    Any,
    _setting(
        "augment",
        str,
        "What a round adds: case (as the paper), twins (a case with all its twins, one label), flip (rows with their "
        "twins), or several joined by +. Then amounts grow until a round is rejected. Several with commas between "
        "them, or auto, are searched over, and so are the amounts.",
    ),
]
Labels = Annotated[
    Any,
    _setting(
        "labels",
        str,
        "How what is added is labelled: vote (of five other kinds of classifier), mean (the model's own output "
        "averaged over the twins), or given (in --cases).",
    ),
]
Cases = Annotated[
    str | None,
    about(
        HOW,
        "FILE",
        "Discriminatory inputs to add, as fairprobe search --out writes them. Without them they are searched for.",
    ),
]
Strategy = Annotated[Any, _setting("strategy", str, f"How cases are searched for: {', '.join(STRATEGIES)}.")]

# When to accept

Accept = Annotated[
    Any,
    _setting(
        "accept",
        str,
        "shown: a share must be shown to be lower and none higher, within --max-accuracy-loss; paper: the estimated "
        "share of the domain must be lower, whatever else changes.",
        MEASURE,
    ),
]
MaxAccuracyLoss = Annotated[
    Any,
    _setting("max_accuracy_loss", values.number, "The accuracy that may be lost, as 0.01 for one point.", MEASURE),
]
ProveAccuracy = Annotated[
    bool,
    about(MEASURE, None, "The interval of the loss must lie within that, not the estimate alone.", "--prove-accuracy"),
]
Select = Annotated[
    Any,
    _setting(
        "n_select",
        values.whole,
        f"Inputs of the domain to choose by. Default: {N_SELECT:,}; fewer if the model is slow.",
        MEASURE,
    ),
]
Report = Annotated[
    Any,
    _setting(
        "n_report",
        values.whole,
        f"Fresh ones that the figures come from. Default: {N_REPORT:,}; fewer if the model is slow.",
        MEASURE,
    ),
]
Confidence = Annotated[Any, _setting("confidence", values.number, "Of the intervals, between 0 and 1.", MEASURE)]
NoControls = Annotated[
    bool,
    about(
        MEASURE,
        None,
        "Leave out the other ways to train that stand beside the result: they take three more fits.",
        "--no-controls",
    ),
]

# Limits

MaxRounds = Annotated[
    Any, _setting("max_rounds", values.whole, "Rounds; the more are allowed, the more each must show.", LIMITS)
]
MaxSeconds = Annotated[
    Any,
    _setting("max_seconds", values.number_or_none, "No round is begun that would make it all take longer.", LIMITS),
]
SearchSeconds = Annotated[
    Any, _setting("search_seconds", values.number_or_none, "Seconds to search for cases, in all.", LIMITS)
]

# Results

Favourable = Annotated[
    str | None,
    about(RESULTS, "LABEL", "The label whose rate is told by sensitive value. Default: the last in order."),
]
Out = Annotated[
    str | None,
    about(RESULTS, "FILE", "Write the new model as .skops, over a file that is there; nothing if none is accepted."),
]
Plot = Annotated[
    str | None,
    about(RESULTS, "FILE", "Draw share against accuracy of all rounds, as .svg, over a file that is there."),
]
