"""The command `fairprobe retrain`: retrains a classifier until discriminatory inputs are rarer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from fairprobe.arguments import Flag, ReadFile, WrittenFile
from fairprobe.blocks import Block, Code, Sentence
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.data import check_columns, names
from fairprobe.cli.words import progress, spinner
from fairprobe.domain.rows import check_columns as check_parameters
from fairprobe.errors import DataError, HealthWarning, RunError, SettingError
from fairprobe.estimation.favourable import favourable_label
from fairprobe.estimation.verdict import EXIT_CODES, Outcome
from fairprobe.model.sources.load import SUBJECT
from fairprobe.model.sources.skops_files import SUFFIXES, check_writable, loading_lines, write_model
from fairprobe.retraining import Retrained, retrain
from fairprobe.retraining.judging import USUAL
from fairprobe.retraining.retraining import RetrainSettings, plan

EXAMPLE = "--model subject:decision-tree"


CENSUS = "fairprobe.datasets:census_domain"

SHOWN_ANYWAY = ("round-failed", "not-retrained", "not-reported", "fitted-rows")
"""Names of health checks whose remarks are not shown as warnings, because the result states them."""


def run(
    request: Request,
    *,
    held_out: ReadFile | None = None,
    cases: ReadFile | None = None,
    out: WrittenFile | None = None,
    overwrite: Flag = False,
) -> int:
    """Retrain a classifier until discriminatory inputs are rarer.

    Rounds add discriminatory inputs, or rows with their twins, to the training rows and fit a clone. It is accepted
    if a share is shown to be lower and accuracy is kept. The figures come from rows and inputs that neither fitting
    nor choosing has seen. If no round is accepted, no model is written and the exit code is 4.

    Args:
        request: all options of the call.
        held_out: a table of rows that the model has not seen, to choose and report by; by default 30% of `data`.
        cases: cases to add, as fairprobe search --out writes them; by default they are searched for.
        out: write the new model as .skops, if a round is accepted (else exit code 4); the file must not be there yet.
        overwrite: overwrite the file of `out`, if it is there and a round is accepted.
    """
    return Retrain(request).run()


OPTIONS = [*o.INPUTS, *o.options_of(run), *o.options_of(retrain), *o.PRINTED]


class Retrain(Command):
    """The command that retrains a model and shows shares and accuracy before and after."""

    name = "retraining"
    files: ClassVar = {"out": SUFFIXES}
    result: Retrained | None = None

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.keywords = keywords = request.keywords(retrain)
        if "," in keywords["augment"]:
            keywords["augment"] = names([keywords["augment"]])
        RetrainSettings(**keywords)
        if keywords["labels"] == "given" and request["cases"] is None:
            raise SettingError("--labels given needs --cases with a column of labels, got no --cases")

    # The data

    def load(self) -> None:
        """Load the domain, the rows, the held-out rows, the cases and the model."""
        source = self.request.source
        if self.request["data"] is None:
            self._load_census()
        else:
            self.labels = source.labels()
            self.domain, self.rows = source.load()
            self.keywords["groups"] = source.column("groups")
        if self.request["held_out"] is not None:
            self._load_held_out()
        if self.request["cases"] is not None:
            cases = source.cases(self.request["cases"])
            check_parameters(self.domain, cases, "--cases")
            self.keywords["cases"] = cases
        if self.request["favourable"] is not None:
            classes = sorted(set(self.labels.tolist()), key=str)
            self.keywords["favourable"] = favourable_label(self.request["favourable"], classes, as_text=True)
        self.model = self.load_model()
        if self.request["out"] is not None and hasattr(self.model, "fit"):
            check_writable(self.model)

    def load_model(self) -> Any:
        """Load and return the model that --model names.

        A subject (a model shipped with fairprobe) is fitted on the census. If --data is given, it is not yet fitted.
        """
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
            rule = "--data must name the rows to fit to"
            raise SettingError(f"{rule}, got none: only a subject:NAME has its own, the census")
        if self.request["held_out"] is not None:
            raise SettingError("--held-out goes with --data, got no --data: the census has a test split of its own")
        source = self.request.source
        self.domain, _ = replace(source, domain=source.domain or CENSUS).load()
        self.rows, self.labels = load_census(split="train")
        check_columns(self.rows, self.domain, "the census")
        self.keywords["held_out"] = load_census(split="test")

    def _load_held_out(self) -> None:
        path, source = self.request["held_out"], self.request.source
        other = replace(source, data=path, remembered=("ignore",))  # which may be absent there
        try:
            rows, labels = other.rows(), other.labels()
        except DataError as error:
            raise DataError(f"--held-out {path}: {error}") from None
        check_columns(rows, self.domain, f"--held-out {path}")
        self.keywords["held_out"] = rows, labels
        if source.groups is not None:
            self.keywords["groups"] = self.keywords["groups"], other.column("groups")

    # The work

    def work(self) -> None:
        """Retrain, and write the new model; a failure within the result is reported after it."""
        for check in SHOWN_ANYWAY:
            warnings.filterwarnings("ignore", check, HealthWarning)
        with progress() as show:
            arguments = {**self.keywords, "progress": show}
            result = self.result = retrain(self.model, self.rows, self.labels, self.domain, **arguments)
        self.interrupted = result.stop_reason == "interrupted"
        if result.failure is not None:
            self.failures.append(RunError(result.failure))
        if result.accepted:
            given = self.domain, self.rows, self.keywords["batch"]
            with spinner("writing the model"):
                self.write("out", lambda target: target.write_by(lambda part: write_model(result.model, part, *given)))

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Return the figures of the result and the exit code as a dict for JSON."""
        return {**super().figures(), "exit_code": self.exit_code()}

    def blocks(self) -> Sequence[Block]:
        """Return the blocks of the result, and the code that loads the new model if it was written."""
        result, out = self.result, self.targets.get("out")
        blocks = list(super().blocks())
        if result is not None and out is not None and not result.accepted:
            blocks.append(Sentence(f"Nothing is written to {out.name}, as no round was accepted."))
        if "out" in self.written:
            in_python, as_options = loading_lines(self.written["out"])
            blocks += [Code(in_python, "To load the model"), Code(as_options, "As options of other commands")]
        return blocks

    def again(self) -> Code | None:
        """Return a block with the command line that repeats the result; None after a failure or an interruption.

        Numbers of inputs that differ from the usual ones are stated in the command.
        """
        result = self.result
        if result is None or result.failure or self.interrupted:
            return None
        # A clock that ended the run, or left a round out, may do so elsewhere the next time.
        is_timed = result.stop_reason == "max-seconds" or "left-out" in dict(result.health)
        changes: dict[str, Any] = {f"n_{name}": n for name, n in result.n_inputs.items() if n != USUAL[name]}
        changes |= {"overwrite": True} if "out" in self.written else {}
        title = "Much the same again" if is_timed else "The same again"
        return Code(self.request.again(seed=result.seed, **changes), title)

    def code_of_result(self) -> int:
        """Return the exit code of finished work: 0 if a round was accepted, else 4 (inconclusive)."""
        return 0 if self.result is not None and self.result.accepted else EXIT_CODES[Outcome.INCONCLUSIVE]

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """Return the values of the options for the dry run, with numbers of rows and the ways to add rows."""
        planned = plan(self.model, self.rows, self.labels, self.domain, **self.keywords)
        return {**super().shown_settings(), **planned}

    def bounds(self) -> dict[str, int | None]:
        """Return no bound on queries: fits take most of the time."""
        return {"retraining": None}

    def seconds(self, bounds: Mapping[str, int | None]) -> dict[str, float | None]:
        """Return the limit of --max-seconds; None without one."""
        return dict.fromkeys(bounds, self.keywords["max_seconds"])
