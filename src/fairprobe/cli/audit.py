"""The command `fairprobe audit`: audits a model by options and a config file, and writes a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from fairprobe.arguments import Flag, ReadFile, WrittenFile
from fairprobe.auditing import Audit, audit
from fairprobe.auditing.auditing import begin
from fairprobe.auditing.result import RunFolder
from fairprobe.auditing.state import AuditSettings
from fairprobe.blocks import Block, Code, Sentence
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.config import OUTSIDE, Config
from fairprobe.cli.data import names, number_or_text
from fairprobe.cli.options import Option
from fairprobe.cli.words import note, progress
from fairprobe.errors import InputError, RunError, SettingError
from fairprobe.estimation.estimation import plan
from fairprobe.report.pdf import found_browser
from fairprobe.wording import counted

EXAMPLE = "--model subject:random-forest --domain fairprobe.datasets:census_domain --data census.csv"


def run(
    request: Request,
    *,
    config: ReadFile | None = None,
    trust_config: Flag = False,
    html: WrittenFile | None = None,
    pdf: WrittenFile | None = None,
) -> int:
    """Audit a model, held against a limit: shares, cases, why, proxies, a verdict and a report.

    Shares of the rows, of the density fitted to them and of the whole domain are shown side by side. The search for
    cases starts from the rows. The rows of --data are needed; --rows-are says if they are training rows or held out.

    Args:
        request: all options of the call.
        config: a file of settings: fairprobe.toml, or [tool.fairprobe] in pyproject.toml (see fairprobe init). Options
            override it; by default that of the current folder, if there is one.
        trust_config: also accept settings of the named config that run code, tell secrets or lead out of its folder.
        html: write the report as .html; an older file is overwritten.
        pdf: write the printed report as .pdf, by a Chromium on this machine; an older file is overwritten.
    """
    settings = Config(request.given, [option.argument for option in OPTIONS])
    try:
        return AuditCommand(request, settings).run()
    except InputError as error:
        raise settings.in_keys(error) from None


OPTIONS = [
    *o.options_of(run, positional=("config",)),
    Option(replace(o.INPUTS[0].argument, default=None)),  # the model, which a config may name
    *o.INPUTS[1:],
    *o.options_of(audit, but=("sensitive", "data_name", "command"), names={"folder": "out"}),
    *o.PRINTED,
]


class AuditCommand(Command):
    """The command that runs an audit; in a dry run it also avoids code that only the config names."""

    name = "the audit"
    files: ClassVar = {"html": (".html",), "pdf": (".pdf",)}
    result: Audit | None = None

    def __init__(self, request: Request, config: Config) -> None:
        given = request.given
        super().__init__(Request(request.context, given | config.settings, OPTIONS))
        self.is_run = not given["dry_run"] or self._is_harmless(given, config.dangers)
        for name, what in (("model", "the model"), ("data", "the rows")):
            if self.request[name] is None:
                raise SettingError(f"--{name} must name {what}, or a config must (see fairprobe init); got neither")
        if self.request["out"] is not None and not given["dry_run"]:
            RunFolder(self.request["out"])
        if self.request["pdf"] is not None:
            found_browser()
        self.keywords = self._keywords()
        self.settings = AuditSettings(**self.keywords)

    def _is_harmless(self, given: dict[str, Any], taken: dict[str, str]) -> bool:
        """Return True if a dry run may load the model, because no code that the config names would run.

        `taken` has the possible harms of the config's settings. A domain that runs code raises a SettingError.
        """
        if "domain" in taken and taken["domain"] != OUTSIDE:
            got = "got one whose domain is an object in Python"
            advice = "say --domain, or write the domain to a file (see fairprobe domain)"
            raise SettingError(f"--dry-run runs nothing of a config, {got}: {advice}")
        is_unsafe = given["model"] is None and (self.request["allow_unsafe_load"] or self.request["trust"])
        return not is_unsafe and all(danger == OUTSIDE for danger in taken.values())

    def _keywords(self) -> dict[str, Any]:
        request = self.request
        keywords = request.keywords(audit)
        for name in ("y", "sensitive", "domain", "progress", "command"):
            del keywords[name]
        return keywords | {
            "mask": names(request["mask"] or ()),
            "populations": names(request["populations"] or ()) or None,
            "max_share": limits_of(request["max_share"] or ()),
            "labels": labels_of(request["labels"] or ()),
            "name": request["name"] or request.model_name,
            "folder": request["out"],
            "data_name": Path(str(request["data"])).name,
        }

    def load(self) -> None:
        """Load the domain, the rows with their labels, and the model unless a dry run must not load it."""
        source = self.request.source
        self.labels = None if source.label is None else source.labels()
        self.load_inputs()
        self.model: Any = None
        if self.is_run:
            self.model = self.load_model()
            good = self.good_outcome(self.domain, self.rows)
            self.keywords["favourable"] = None if good is None else good.word
            self.settings = self.settings.but(favourable=self.keywords["favourable"])
        if self.keywords["rows_are"] is None and not self.request["dry_run"]:
            note("rows-unknown: nobody said whether the rows are training rows: --rows-are training or held-out")

    def work(self) -> None:
        """Run the audit and write the page; after a failure or an interruption, the finished phases are kept."""
        # The report's command leaves out what only says where the results go.
        aside = dict.fromkeys((*o.NOT_SETTINGS, "out", "html", "pdf"))
        command = self.request.again(seed=self.keywords["seed"], **aside)
        told: dict[str, Any] = {"domain": self.domain, "command": command, **self.keywords}
        with progress() as show:
            try:
                self.result = audit(self.model, self.rows, self.labels, progress=show, **told)
            except RunError as failure:
                self.failures.append(failure)
                self.result = failure.found if isinstance(failure.found, Audit) else None
        result = self.result
        if result is not None:
            self.interrupted = result.interrupted is not None and not self.failures
            self.write("html", lambda target: target.write_by(result.to_html))
            self.write("pdf", lambda target: target.write_by(result.to_pdf))
            self.written |= {} if self.request["out"] is None else {"out": self.request["out"]}

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Return all figures as a dict for JSON, except the certificate, the cases and the plots.

        The audit.json in the folder of --out has those as well.
        """
        return {**super().figures(), "out": self.request["out"]}

    def blocks(self) -> Sequence[Block]:
        """Return blocks with the verdict, the shares, the worst regions, and the number of other attempts."""
        blocks = list(super().blocks())
        others = 0 if self.result is None else len(self.result.content["about"]["attempts"]) - 1
        if others:
            said = f"{counted(others, 'other attempt')} on the same model and data: the report lists all of them."
            blocks.append(Sentence(said))
        if blocks and not any(self.request[name] for name in ("out", "html", "pdf")):
            blocks.append(Sentence("No report was written: --out FOLDER keeps everything, --html FILE the page alone."))
        return blocks

    def kept(self) -> str:
        """Return the names of the finished phases."""
        return "nothing" if self.result is None else ", ".join(self.result.shares) or "no share"

    def again(self) -> Code | None:
        """Return a block with the command line that the report shows; None after a failure or an interruption."""
        if self.result is None or self.interrupted or self.failures:
            return None
        return Code(str(self.result.content["about"]["command"]), "The same again")

    # The dry run

    def bounds(self) -> dict[str, int | None]:
        """Return the largest number of rows sent to the model for each population, the search and the explanation."""
        settings = self.settings
        if not self.is_run:
            note("not-measured: the model of the config is not run by a dry run, so no time was measured")
            settings = settings.but(favourable=None, max_share=None)
        run = begin(self.model, self.domain, self.rows, self.labels, settings)  # which refuses what does not fit
        names = ("n_experiments", "n_samples", "confidence", "method", "threshold", "output", "batch", "linked", "seed")
        asked = {name: self.keywords[name] for name in names}
        shares = {
            name: plan(self.domain, each, **asked).n_queries
            for name in run.populations
            if (each := run.population(name)) is not None
        }
        searched = settings.max_judged * len(self.domain.families)
        return {**shares, "search": searched, "why": settings.explain_queries}


def labels_of(texts: Sequence[str]) -> dict[str, dict[Any, str]] | None:
    """Return the names in texts of --labels, by column and value; None if there are none.

    >>> labels_of(["sex:0=women", "sex:1=men"])
    {'sex': {'0': 'women', '1': 'men'}}
    """
    names: dict[str, dict[Any, str]] = {}
    for text in texts:
        column, _, rest = text.partition(":")
        of, _, name = rest.partition("=")
        if not (column and of and name):
            raise SettingError(f'--labels must be as in "sex:0=women", got {text!r}')
        names.setdefault(column.strip(), {})[of.strip()] = name.strip()
    return names or None


def limits_of(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Return the limit in texts of --max-share, or a dict of limits by the group that may be worse off.

    >>> limits_of(["0.01"]), limits_of(["sex=Female: 0.01"])
    (0.01, {'sex=Female': 0.01})
    """
    limits: dict[str, float] = {}
    for text in texts:
        who, _, limit = str(text).rpartition(":")
        value = number_or_text(limit.strip())
        if isinstance(value, str):
            raise SettingError(f'--max-share must be a number, or as in "sex=Female: 0.01"; got {text!r}')
        limits[who.strip()] = value
    if "" in limits and len(limits) > 1:
        raise SettingError("--max-share must be one limit, or limits by who is worse off; got both")
    return limits.get("", limits or None)
