"""`fairprobe replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import REQUIRED
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.data import Source, labels_of
from fairprobe.cli.destination import Destination
from fairprobe.cli.values import as_options
from fairprobe.cli.words import note, say, say_parts
from fairprobe.domain import Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.model.known import is_repeatable
from fairprobe.oracle import checked_threshold
from fairprobe.replaying import CaseStatus, Replayed, replay
from fairprobe.replaying.runs import ROW, RunCases, of_table, read_run
from fairprobe.replaying.saved import Question

if TYPE_CHECKING:
    import pandas as pd

N_SHOWN = 3

OF_DOMAIN = ("domain", "sensitive", "constraint", "link", "hidden")
"""Options that say what a domain is to be; without them it is the run's own."""

OF_DATA = ("data", "label", "ignore", "missing")

OPTIONS = [
    o.own(
        "run",
        "ReadFile",
        "the folder of an audit or of a search (--store), a file or a folder (.fairprobe) of cases of tests, or "
        f"the cases of a search, {o.TABLE}",
        default=REQUIRED,
        is_positional=True,
    ),
    *o.INPUTS,
    *o.options_of(replay),
    o.out("write what became of each case as .csv or .parquet; an older file is overwritten."),
    *o.PRINTED,
]


def run(request: Request) -> int:
    """Ask a model about cases found before: which still hold, which were fixed, which can no longer be asked.

    The domain and the question are those of the run, where it tells them; for the table of a search say --domain, or
    --data and --sensitive, as for the search.

    Exit code 0 if all cases were fixed, 1 if some still hold, 4 if none is known to hold and some could not be asked,
    or there was none to ask.
    """
    return Replay(request).run()


class Replay(Command):
    """Cases asked about again."""

    name = "the replay"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.out = Destination.of(request["out"], (".csv", ".parquet"), may_be_stdout=False)
        self.keywords = {name: request[name] for name in ("output", "threshold", "batch")}
        self.result: Replayed | None = None

    # What is replayed

    def load(self) -> None:
        """The cases, the domain of each run, the rows, the model."""
        path, source = self.request["run"], self.request.source
        is_table = Path(path).is_file() and not path.lower().endswith(".json")
        self.runs = [of_table(source.table(path, is_ours=True))] if is_table else read_run(path)
        source = self._with_command(source, self.runs[0].command)
        self.rows, self.labels = self._rows(source)
        given = self._given_domain(source)
        self.asked = [self._question(each, given) for each in self.runs]
        self.domain = self.asked[0][1]
        self.keywords |= {"output": self.asked[0][0].output, "threshold": self.asked[0][0].threshold}
        self.model = self.load_model()

    def _with_command(self, source: Source, command: str | None) -> Source:
        """With the data that the run's command names, where none are given and they are still there."""
        if source.data is not None or command is None:
            return source
        from fairprobe.cli.app import options_of

        told = {name: value for name, value in options_of(command).items() if name in OF_DATA and value}
        if "data" not in told or not Path(told["data"]).is_file():
            return source
        note(f"from-run: the run says {as_options(told)}")
        return replace(source, **told)

    def _rows(self, source: Source) -> tuple[pd.DataFrame | None, Any]:
        if source.data is None:
            return None, None
        table = source.table()
        labels = None
        if source.label is not None and source.label in table.columns:
            labels = labels_of(table, source.label, source.data)
        return source.inputs_of(table), labels

    def _given_domain(self, source: Source) -> Domain | None:
        """What the options say; None where they say nothing of it, so that the run's own counts."""
        if any(self.request[name] for name in OF_DOMAIN):
            return source.load()[0]
        if all(each.domain is not None for each in self.runs):
            return None
        if self.runs[0].question is None:
            raise SettingError(
                f"{self.request['run']} tells no domain: say --domain, or --data and --sensitive; got neither"
            )
        raise SettingError(
            f"{self.request['run']} holds no domain (values are masked, or a constraint is a function): say --domain, "
            "got none"
        )

    def _question(self, run: RunCases, given: Domain | None) -> tuple[Question, Domain]:
        """What the run asked, and the domain to ask it in; refused if the options ask something else."""
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
        """Ask, and write."""
        parts = [self._replayed(*each) for each in zip(self.runs, self.asked, strict=True)]
        self.result = Replayed.join(parts)
        self.names = [domain.names for part, (_, domain) in zip(parts, self.asked, strict=True) for _ in part.statuses]
        if self.out is not None:
            self.out.write_frame(self._table(self.result))

    def _replayed(self, run: RunCases, asked: tuple[Question, Domain]) -> Replayed:
        question, domain = asked
        cases, lost, why = run.completed(self.rows, self.labels, domain.names)
        keywords = {"output": question.output, "threshold": question.threshold, "batch": self.request["batch"]}
        return Replayed.join([replay(cases, self.model, domain, **keywords), Replayed.unasked(lost, why)])

    def _table(self, result: Replayed) -> pd.DataFrame:
        """What became of each; real rows by their index alone."""
        known = dict.fromkeys(name for _, domain in self.asked for name in domain.names)
        names = [name for name in known if name in result.cases.columns]
        values = result.cases[names].astype(object)
        values[[str(label).startswith(ROW) for label in values.index]] = None
        table = values.rename_axis("case").reset_index()
        table.insert(1, "status", [str(each) for each in result.statuses])
        table.insert(2, "reason", list(result.reasons))
        return table

    # What came of it

    def figures(self) -> dict[str, Any]:
        """The counts, and what became of each case."""
        result = self.result
        cases = [] if result is None else zip(result.cases.index, result.statuses, result.reasons, strict=True)
        return {
            "model": self.request.model_name,
            "run": self.request["run"],
            **({} if result is None else result.jsonable()),
            "cases": [{"case": str(label), "status": str(status), "reason": why} for label, status, why in cases],
            "out": self.request["out"],
            "interrupted": self.interrupted,
        }

    def show(self) -> None:
        """The counts, some cases that still hold, and how to do it again."""
        if self.result is None:
            return
        say(f"{self.result.sentence()[0].upper()}{self.result.sentence()[1:]}.")
        held = self.result.of(CaseStatus.HOLDS)
        if len(held):
            names = [
                own for own, status in zip(self.names, self.result.statuses, strict=True) if status is CaseStatus.HOLDS
            ]
            told = zip(held.head(N_SHOWN).astype(object).iterrows(), names, strict=False)
            lines = [self._case_words(label, row, own) for (label, row), own in told]
            title = "The first that hold:" if len(held) > N_SHOWN else "Those that hold:"
            say()
            say_parts([[(title, 0), *((f"  {line}", 4) for line in lines)]])
        if not self.result.statuses:
            say("There was no case to ask about, which passes nothing.")
        if self.request["out"]:
            say(f"What became of each is in {self.request['out']}.")

    def _case_words(self, label: Any, row: Any, names: Sequence[str]) -> str:
        names = self.domain.sensitive if str(label).startswith(ROW) else names
        return f"{label}: {', '.join(f'{name}={row[name]}' for name in names)}"

    def kept(self) -> str:
        """Nothing is written unless all were asked."""
        return "nothing" if self.result is None else self.result.sentence()

    def code_of_result(self) -> int:
        """Against the limit of no case."""
        return 0 if self.result is None else self.result.exit_code

    def bounds(self) -> dict[str, int | None]:
        """The queries of all cases; those of a model that may not repeat itself are asked about twice."""
        checked_threshold(self.keywords["threshold"], self.keywords["output"])
        n_cases = sum(run.n_cases for run in self.runs)
        return {"cases": n_cases * len(self.domain.families) * (1 if is_repeatable(self.model) else 2)}
