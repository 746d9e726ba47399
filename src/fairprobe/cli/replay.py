"""The command `fairprobe replay`: asks a model again about cases that an earlier run found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.arguments import ReadFile, WrittenFile
from fairprobe.blocks import Block, Items, Sentence
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.data import Source, as_options
from fairprobe.cli.files import TABLES
from fairprobe.cli.words import note
from fairprobe.domain import Domain
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.known import is_repeatable
from fairprobe.replaying import CaseStatus, Replayed, replay
from fairprobe.replaying.saved import ROW, Question, SavedCases, of_table, read_run

if TYPE_CHECKING:
    import pandas as pd

N_SHOWN = 3

OF_DOMAIN = ("domain", "sensitive", "constraint", "link", "hidden")
"""Options that define a domain; without them, the domain that the run stored is used."""

OF_DATA = ("data", "label", "ignore", "missing")


def run(request: Request, *, run: ReadFile, out: WrittenFile | None = None) -> int:
    """Ask a model about cases found before: which still hold, which were fixed, which can no longer be asked.

    The domain and the question are those of the run, if it states them. For the table of a search, give --domain, or
    --data and --sensitive, as for the search.

    Exit code 0 if all cases were fixed, 1 if some still hold. It is 4 if none is known to hold and some could not be
    asked, or if there was none to ask.

    Args:
        request: all options of the call.
        run: the folder of an audit or of a search (--store), a file or a folder (.fairprobe) of cases of tests, or the
            cases of a search, .csv, .csv.gz (UTF-8, commas, a header) or .parquet.
        out: write the status of each case as .csv or .parquet; an older file is overwritten.
    """
    return Replay(request).run()


OPTIONS = [*o.options_of(run, panel=o.RESULTS, positional=("run",)), *o.INPUTS, *o.options_of(replay), *o.PRINTED]


class Replay(Command):
    """The command that asks a model again about stored cases."""

    name = "the replay"
    files: ClassVar = {"out": TABLES}
    result: Replayed | None = None

    # What is replayed

    def load(self) -> None:
        """Load the cases, the domain of each run, the rows and the model."""
        path, source = self.request["run"], self.request.source
        is_table = Path(path).is_file() and not path.lower().endswith(".json")
        self.runs = [of_table(source.cases(path))] if is_table else read_run(path)
        source = self._with_command(source, self.runs[0].command)
        self.rows = self.labels = None
        if source.data is not None:
            self.rows = source.rows()
            self.labels = source.labels() if source.label in source.table.columns else None
        given = self._given_domain(source)
        self.asked = [self._question(each, given) for each in self.runs]
        question, self.domain = self.asked[0]
        self.keywords = {"output": question.output, "threshold": question.threshold, "batch": self.request["batch"]}
        self.model = self.load_model()

    def _with_command(self, source: Source, command: str | None) -> Source:
        """Return the source of data, with --data and its options from the stored command line of the run.

        The source stays unchanged if it has data already, or if the file in the command does not exist.
        """
        if source.data is not None or command is None:
            return source
        from fairprobe.cli.app import options_of

        told = {name: value for name, value in options_of(command).items() if name in OF_DATA and value}
        if "data" not in told or not Path(told["data"]).is_file():
            return source
        note(f"from-run: the run says {as_options(told)}")
        return replace(source, **told)

    def _given_domain(self, source: Source) -> Domain | None:
        """Return the domain that the options define; None if they define none and every run stored its own."""
        if any(self.request[name] for name in OF_DOMAIN):
            return source.load()[0]
        if all(each.domain is not None for each in self.runs):
            return None
        why = "tables hold none, nor do runs with masked values or functions as constraints"
        advice = "say --domain, or --data and --sensitive"
        raise SettingError(f"{self.request['run']} holds no domain ({why}): {advice}")

    def _question(self, run: SavedCases, given: Domain | None) -> tuple[Question, Domain]:
        """Return the question of a run (sensitive parameters, links, output, threshold) and the domain to ask it in.

        Options that contradict the question raise a SettingError.
        """
        domain = given or run.domain
        assert domain is not None
        output, threshold = self.request["output"], self.request["threshold"]
        asked = run.question
        if asked is None:
            plain = domain.without_links()
            if domain.links and run.changing == set(plain.families.varying):
                domain = plain
            if run.changing and run.changing != set(domain.families.varying):
                theirs, ours = (", ".join(sorted(each)) for each in (run.changing, domain.families.varying))
                raise DataError(f"the cases must change with what the domain compares, {ours}; got {theirs}")
            return Question.of(domain, output or "label", threshold), domain
        if domain.links and not asked.links:
            domain = domain.without_links()
        same = Question.of(domain, output or asked.output, asked.threshold if threshold is None else threshold)
        difference = asked.difference(same)
        if difference is not None:
            raise SettingError(f"the cases must be replayed to the question they answer, but {difference}")
        return asked, domain

    # The work

    def work(self) -> None:
        """Ask the model about the cases of each run, and write the status of each case."""
        parts: list[Replayed] = []
        failures: list[ModelError] = []
        for run, (question, domain) in zip(self.runs, self.asked, strict=True):
            cases, lost, why = run.completed(self.rows, self.labels, domain.names)
            asked = {**self.keywords, "output": question.output, "threshold": question.threshold}
            try:
                said = replay(cases, self.model, domain, **asked)
            except ModelError as error:  # the folder may hold cases of another model, with other columns
                failures.append(error)
                said = Replayed.unasked(cases, f"{error}")
            parts += [said, Replayed.unasked(lost, why)]
        if len(failures) == len(self.runs):
            raise failures[0]
        self.result = result = Replayed.join(parts)
        self.write("out", lambda target: target.write_frame(self._table(result)))

    def _table(self, result: Replayed) -> pd.DataFrame:
        """Return a frame with the name, status, reason and values of each case; real rows have no values."""
        values = result.cases[self._names(result)].astype(object)
        values[[str(label).startswith(ROW) for label in values.index]] = None
        table = values.rename_axis("case").reset_index()
        table.insert(1, "status", [str(each) for each in result.statuses])
        table.insert(2, "reason", list(result.reasons))
        return table

    def _names(self, result: Replayed) -> list[str]:
        known = dict.fromkeys(name for _, domain in self.asked for name in domain.names)
        return [name for name in known if name in result.cases.columns]

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Return the numbers of cases by status, and the status of each case, as a dict for JSON."""
        result = self.result
        cases = [] if result is None else zip(result.cases.index, result.statuses, result.reasons, strict=True)
        told = [{"case": str(label), "status": str(status), "reason": why} for label, status, why in cases]
        return {"run": self.request["run"], **super().figures(), "cases": told}

    def blocks(self) -> Sequence[Block]:
        """Return blocks with the numbers of cases by status, and the first cases that still hold.

        Of real rows, only the sensitive values are shown.
        """
        blocks, result = list(super().blocks()), self.result
        if result is None:
            return blocks
        if not result.statuses:
            blocks.append(Sentence("There was no case to ask about, which passes nothing."))
        words = []
        for label, row in result.of(CaseStatus.HOLDS).head(N_SHOWN).astype(object).iterrows():
            names = self.domain.sensitive if str(label).startswith(ROW) else row[self._names(result)].dropna().index
            words.append(f"{label}: {', '.join(f'{name}={row[name]}' for name in names)}")
        if words:
            blocks += [Sentence("The first that hold:"), Items(tuple(words))]
        return blocks

    def bounds(self) -> dict[str, int | None]:
        """Return the number of rows that all cases send to the model, under the name "cases".

        It is doubled if the model may not repeat itself, because each case is then asked about twice.
        """
        n_cases = sum(run.n_cases for run in self.runs)
        return {"cases": n_cases * len(self.domain.families) * (1 if is_repeatable(self.model) else 2)}
