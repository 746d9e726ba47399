"""`fairprobe retrain`."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from fairprobe.arguments import filled
from fairprobe.checks import checked_seed
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Cost, Request
from fairprobe.cli.data import check_columns, labels_of
from fairprobe.cli.destination import Destination
from fairprobe.cli.flags import in_flags
from fairprobe.cli.values import names
from fairprobe.cli.words import progress, say, spinner, to_copy
from fairprobe.domain.rows import check_columns as check_parameters
from fairprobe.errors import DataError, HealthWarning, RunError, SettingError
from fairprobe.estimation.favourable import favourable_label
from fairprobe.estimation.verdict import EXIT_CODES, Outcome
from fairprobe.model.files import SUFFIXES, check_writable, loading_line, write_model
from fairprobe.model.sources.load import SUBJECT
from fairprobe.retraining import Retrained, retrain
from fairprobe.retraining.cases import checked_cases
from fairprobe.retraining.labels import NAMES
from fairprobe.retraining.parts import checked_rows, classes_of
from fairprobe.retraining.retraining import plan
from fairprobe.retraining.task import Settings
from fairprobe.retraining.time_budget import USUAL
from fairprobe.wording import counted, listed

LIMITS = "Limits (none for no limit of time)"
MEASURE = "How it is measured"

EXAMPLE = "--model subject:decision-tree"

PANELS = {
    MEASURE: ("max_accuracy_loss", "accept", "prove_accuracy", "n_select", "n_report", "confidence", "controls"),
    LIMITS: ("max_rounds", "max_seconds", "search_seconds"),
    o.RESULTS: ("favourable",),
}

OPTIONS = [
    *o.INPUTS,
    o.own(
        "held_out",
        "ReadFile | None",
        "a table of rows that the model has not seen, to choose and report by; by default 30% of `data`.",
        o.WHAT,
    ),
    o.own(
        "cases",
        "ReadFile | None",
        "cases to add, as fairprobe search --out writes them; else they are searched for.",
        o.HOW,
    ),
    *o.options_of(retrain, PANELS),
    o.out("write the new model as .skops, if a round is accepted (else exit code 4); the file must not be there yet."),
    o.own("overwrite", "Flag", "overwrite the file of `out`, if it is there and a round is accepted."),
    o.own(
        "plot",
        "WrittenFile | None",
        "draw share against accuracy of all rounds, as .svg; an older file is overwritten.",
    ),
    *o.PRINTED,
]

CENSUS = "fairprobe.datasets:census_domain"

NOT_ACCEPTED = EXIT_CODES[Outcome.INCONCLUSIVE]
"""No round was shown to be better: neither done nor failed."""

SHOWN_ANYWAY = ("round-failed", "not-retrained", "not-reported", "fitted-rows")
"""Remarks that the result itself tells."""


def run(request: Request) -> int:
    """Retrain a classifier until discriminatory inputs are rarer.

    Rounds add discriminatory inputs, or rows with their twins, to the training rows and fit a clone. It is accepted
    if a share is shown to be lower and accuracy is kept. The figures come from rows and inputs that neither fitting
    nor choosing has seen. If no round is accepted, no model is written and the exit code is 4.
    """
    return Retrain(request).run()


class Retrain(Command):
    """A retraining, the model that came of it, and the evidence."""

    name = "retraining"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.out = Destination.of(request["out"], SUFFIXES, may_be_stdout=False, overwrite=bool(request["overwrite"]))
        self.plot = Destination.of(request["plot"], (".svg",), "--plot", may_be_stdout=False)
        keywords = request.keywords(retrain)
        if "," in keywords["augment"]:
            keywords["augment"] = names([keywords["augment"]])
        if keywords["labels"] not in NAMES:
            raise SettingError(f"--labels must be one of {', '.join(NAMES)}; got {keywords['labels']!r}")
        if keywords["labels"] == "given" and request["cases"] is None:
            raise SettingError("--labels given needs --cases with a column of labels, got no --cases")
        # Refuse before anything is loaded what the library would refuse later.
        Settings(**filled(retrain, keywords))
        self.keywords = {**keywords, "seed": checked_seed(keywords["seed"])}
        self.result: Retrained | None = None
        self.written: dict[str, str | None] = {"out": None, "older_out": None, "plot": None}
        """The files there are now; an older one of --out, if nothing took its place."""

    # The data

    def load(self) -> None:
        """The domain, the rows, those held out, the cases, the model; what does not fit together is refused."""
        if self.request["data"] is None:
            self._load_census()
        else:
            self.domain, self.rows, self.labels = self.request.source.load_labelled()
            self.keywords["groups"] = self.request.source.column("groups")
        classes = classes_of(checked_rows(self.domain, self.rows, self.labels)).tolist()
        if self.request["held_out"] is not None:
            self._load_held_out(classes)
        if self.request["cases"] is not None:
            self._load_cases()
        if self.request["favourable"] is not None:
            self.keywords["favourable"] = favourable_label(self.request["favourable"], classes, as_text=True)
        self.model = self.load_model()
        if self.out is not None and hasattr(self.model, "fit"):
            check_writable(self.model)

    def load_model(self) -> Any:
        """The model. A subject is fitted on the census; for other rows it is the kind of classifier, not fitted yet."""
        prefix, _, name = self.request["model"].partition(":")
        if prefix != SUBJECT or self.request["data"] is None:
            return super().load_model()
        from fairprobe import subjects

        model = subjects.make(name)
        # The fair SVM alone needs to know the column.
        return model.set_params(sensitive=self.domain.sensitive[0]) if "sensitive" in model.get_params() else model

    def _load_census(self) -> None:
        from fairprobe.datasets import load_census

        if not self.request["model"].startswith(f"{SUBJECT}:"):
            raise SettingError(
                "--data must name the rows to fit to, got none: only a subject:NAME has some of its own, the census"
            )
        if self.request["held_out"] is not None:
            raise SettingError("--held-out goes with --data, got no --data: the census has a test split of its own")
        source = self.request.source
        self.domain, _ = dataclasses.replace(source, domain=source.domain or CENSUS).load()
        self.rows, self.labels = load_census(split="train")
        check_columns(self.rows, self.domain, "the census")
        self.keywords["held_out"] = load_census(split="test")

    def _load_held_out(self, classes: list[Any]) -> None:
        path, source = self.request["held_out"], self.request.source
        table, label = source.table(path), str(source.label)
        if label not in table.columns:
            raise DataError(f"--held-out must have the column {label!r} of --label, got {listed(table.columns)}")
        if source.groups is not None and source.groups not in table.columns:
            raise DataError(
                f"--held-out must have the column {source.groups!r} of --groups, got {listed(table.columns)}"
            )
        there = [name for name in names(source.ignore or ()) if name in table.columns]
        rows = dataclasses.replace(source, ignore=there).inputs_of(table)
        check_columns(rows, self.domain, f"--held-out {path}")
        labels = labels_of(table, label, path)
        unknown = [name for name in labels.unique().tolist() if name not in classes]
        if unknown:
            known, got = listed(map(repr, classes)), listed(map(repr, unknown))
            raise DataError(f"--held-out must have the labels of --data, {known}; got {got}")
        self.keywords["held_out"] = rows, labels
        if source.groups is not None:
            self.keywords["groups"] = self.keywords["groups"], table[source.groups].to_numpy()

    def _load_cases(self) -> None:
        path, label = self.request["cases"], str(self.labels.name)
        table = self.request.source.table(path, is_ours=True)
        check_parameters(self.domain, table, "--cases")
        checked_cases(self.domain, table)
        cases = table[list(self.domain.names)]
        if self.keywords["labels"] == "given":
            if label not in table.columns:
                known = listed(table.columns)
                raise DataError(f"--cases with --labels given must have the labels in a column {label!r}, got {known}")
            cases = cases.assign(**{label: labels_of(table, label, path).to_numpy()})
        self.keywords["cases"] = cases

    # The work

    def work(self) -> None:
        """Retrain, and write what there is; what fails is told after the result, so that nothing is lost."""
        for check in SHOWN_ANYWAY:
            warnings.filterwarnings("ignore", check, HealthWarning)
        with progress() as show:
            arguments = {**self.keywords, "progress": show}
            self.result = retrain(self.model, self.rows, self.labels, self.domain, **arguments)
        result, out = self.result, self.out
        self.interrupted = result.stop_reason == "interrupted"
        if result.failure is not None:
            self.failures.append(RunError(result.failure))
        if out is not None and out.path.exists():
            self.written["older_out"] = out.name
        if self.plot is not None and result.rounds:
            self.plot.write_by(result.plot)
            self.written["plot"] = self.plot.name
        if out is not None and result.accepted:
            model, batch = result.model, self.keywords["batch"]
            with spinner(f"writing {out.name}"):
                out.write_by(lambda part: write_model(model, part, self.domain, self.rows, batch))
            self.written |= {"out": out.name, "older_out": None}

    # What came of it

    def figures(self) -> dict[str, Any]:
        """All of it."""
        return {
            "model": self.request.model_name,
            **({} if self.result is None else self.result.jsonable()),
            "exit_code": self.exit_code(),
            **self.written,
            "interrupted": self.interrupted,
        }

    def show(self) -> None:
        """Tables, files, and how to load the model."""
        result, written = self.result, self.written
        if result is None:
            return
        say(f"Retraining {self.request.model_name}:")
        say(in_flags(result.text()), 4)
        if self.out is not None and not result.accepted:
            say(f"Nothing is written to {self.out.name}, as no round was accepted.")
        if written["older_out"] is not None:
            say(self._older_line())
        if self.plot is not None and not result.rounds:
            say(f"Nothing is drawn to {self.plot.name}, as there was no round.")
        if written["out"] is not None and result.chosen is not None:
            say(f"The model of round {result.chosen.number} is in {written['out']}.")
        if written["plot"] is not None:
            say(f"Share against accuracy of the rounds is drawn in {written['plot']}.")
        if written["out"] is not None:
            to_copy("To load the model", loading_line(written["out"]))

    def again(self) -> tuple[str, str] | None:
        """The same numbers of inputs, where the time allowed made them fewer; over the file that is there now."""
        result = self.result
        if result is None or result.failure or self.interrupted:
            return None
        # A clock that ended the run, or left a round out, may do so elsewhere the next time.
        is_timed = result.stop_reason == "max-seconds" or "left-out" in dict(result.health)
        changes: dict[str, Any] = {f"n_{name}": n for name, n in result.n_inputs.items() if n != USUAL[name]}
        changes |= {"overwrite": True} if self.written["out"] else {}
        return "Much the same again" if is_timed else "The same again", self.request.again(seed=result.seed, **changes)

    def _older_line(self) -> str:
        return f"{self.written['older_out']} is older and untouched: it holds no model of this run."

    def kept(self) -> str:
        """The rounds done, and the model of the best."""
        if self.result is None or not self.result.rounds:
            return "nothing, as no round was over"
        done, out = counted(len(self.result.rounds), "round"), self.written["out"]
        if self.result.chosen is None:
            return f"{done}, none accepted"
        if self.out is not None and out is None:
            return f"{done}, but the model of round {self.result.chosen.number} is not written"
        return f"{done}, the model of round {self.result.chosen.number}{f', written to {out}' if out else ''}"

    def code_of_result(self) -> int:
        """Whether a round was accepted."""
        return 0 if self.result is not None and self.result.accepted else NOT_ACCEPTED

    def finish(self) -> None:
        """Say how it ended; an older file is not to be taken for a new one."""
        super().finish()
        if self.exit_code() == NOT_ACCEPTED:
            say(f"no round was accepted: no model is written (exit code {NOT_ACCEPTED})", err=True)
        if self.written["older_out"] is not None:
            say(self._older_line(), err=True)

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """The options, with the rows of each part and the ways to add that are tried."""
        planned = {name: each for name, each in self.planned.items() if name != "seconds"}
        return {**super().shown_settings(), **planned, "augment": ", ".join(planned["augmentations"])}

    def bounds(self) -> dict[str, int | None]:
        """Fits take the time, not queries."""
        return {}

    def costs(self) -> list[Cost]:
        """The time of each step, by a fit to some rows."""
        self.planned = plan(self.model, self.rows, self.labels, self.domain, **self.keywords)
        return [Cost(step, None, each) for step, each in self.planned["seconds"].items()]
