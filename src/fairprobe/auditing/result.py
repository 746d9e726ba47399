"""The result of an audit: the verdict, the results that support it, and the report in all its forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fairprobe.auditing.content import content_of
from fairprobe.auditing.gating import Judged
from fairprobe.auditing.state import AuditState
from fairprobe.blocks import Block, Items, Remark, Result, Sentence
from fairprobe.domain import Density, Domain
from fairprobe.estimation import Proxies, Share
from fairprobe.explanation import Explanation
from fairprobe.report import render
from fairprobe.report.content import flips_words, health_of
from fairprobe.report.sections import shares_table
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.wording import counted, percent

if TYPE_CHECKING:
    import pandas as pd

INTERRUPTED = 130
"""Exit code of an audit that was interrupted: 128 + SIGINT, as shells report it."""

MOST_REGIONS = 3
"""Largest number of regions of cases in the text of a result; chosen. The report has all of them."""


@dataclass(frozen=True, repr=False, eq=False)
class Audit(Result):
    """The result of an audit: the verdict, the shares, the cases and their explanation, and the report."""

    verdict: Judged
    """Outcome of comparing the shares with the limit."""
    shares: dict[str, Share]
    """Share of all sensitive parameters together, by population."""
    shares_by_set: dict[str, dict[str, Share]]
    """Shares by population, then by set of sensitive parameters."""
    found: Found | None
    """Result of the search; None if it did not run."""
    why: Explanation | None
    """Explanation of the cases; None without cases."""
    proxies: Proxies | None
    """Columns that reveal the sensitive ones; None if they were not measured."""
    retrained: Retrained | None
    """Result of retraining; None if it was not requested or did not run."""
    domain: Domain
    """The audited domain. Sensitive columns that the model does not take are hidden."""
    density: Density | None
    """The density fitted to the rows; None if it was not needed or the rows are too few."""
    interrupted: str | None
    """Name of the phase that was interrupted or that ended the audit by failing; None if all phases ran."""
    content: dict[str, Any]
    """The whole audit as plain values of JSON; every form of the report is made of it."""

    @classmethod
    def of(cls, run: AuditState) -> Self:
        """Return the result of an audit from its state after the last phase."""
        sets = {name: {" x ".join(share.sensitive): share for share in shares} for name, shares in run.sets.items()}
        parts = (run.found, run.why, run.proxies, run.retrained, run.domain, run.density, run.interrupted)
        return cls(run.judged, run.main, sets, *parts, content_of(run))

    @property
    def exit_code(self) -> int:
        """The exit code of `fairprobe audit`: 130 if interrupted, else that of the verdict."""
        return INTERRUPTED if self.interrupted else self.verdict.exit_code

    def sentence(self) -> str:
        """Return the verdict as a sentence, after the phase of the interruption if there was one."""
        before = f"interrupted in the phase {self.interrupted}; so far " if self.interrupted else ""
        return f"{before}{self.verdict.sentence}"

    def blocks(self) -> list[Block]:
        """Return blocks with the verdict, the shares, the worst regions, the rows that flip, and the remarks."""
        return [Sentence(self.sentence()), *self._blocks()]

    def _blocks(self) -> Iterator[Block]:
        content = self.content
        yield from shares_table(content, content["shares"])
        regions = (content["why"] or {}).get("regions") or []
        if regions:
            yield Sentence("The regions with most cases:")
            yield Items(tuple(map(_region_words, regions[:MOST_REGIONS])))
        if content["rows"]["n_flipped"]:
            yield Sentence(f"{flips_words(content)} if {' or '.join(self.domain.sensitive)} were another.")
        yield from (Remark(each["check"], each["message"]) for each in health_of(content))

    def jsonable(self) -> dict[str, Any]:
        """Return `content` without the certificate, the cases, the plots and the digests."""
        left_out = ("certificate", "cases", "plots", "digests")
        return {name: part for name, part in self.content.items() if name not in left_out}

    # Forms

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write `content` as a file of JSON, which `checker/check.py` checks; equal runs give equal bytes."""
        text = json.dumps(self.content, indent=None, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
        _write(path, f"{text}\n")

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the report as one HTML file that needs no other."""
        _write(path, render(self.content, "html"))

    def to_markdown(self, path: str | PathLike[str]) -> None:
        """Write the report as Markdown."""
        _write(path, render(self.content, "markdown"))

    def to_junit(self, path: str | PathLike[str]) -> None:
        """Write the verdict and shares as JUnit XML, which test runners show."""
        _write(path, render(self.content, "junit"))

    def to_model_card(self, path: str | PathLike[str]) -> None:
        """Write a section for a model card, as Markdown."""
        _write(path, render(self.content, "model-card"))

    def cases_table(self) -> pd.DataFrame:
        """Return a frame with one row per case of the report: the case, its twin, outputs, gap and severity.

        Masked values are replaced. Real rows have all their values only if the audit may show rows.
        """
        import pandas as pd

        names = [each["name"] for each in self.content["domain"]["parameters"]]
        ends = ("case", "twin")
        records = []
        for each in self.content["cases"]:
            row = {f"{end} {name}": value for end in ends for name, value in each[end].items()}
            row |= {f"output of the {end}": output for end, output in zip(ends, each["outputs"], strict=True)}
            row |= {name: each[name] for name in ("id", "gap", "severity", "parameters")}
            pair = each["plausibility"] or [None, None]
            row |= {f"plausibility of the {end}": value for end, value in zip(ends, pair, strict=True)}
            records.append({**row, "row": each["origin"] and each["origin"]["row"]})
        table = pd.DataFrame(records, dtype=object)
        order = dict.fromkeys(["id", *(f"{end} {name}" for end in ends for name in names), *table.columns])
        return table[[name for name in order if name in table.columns]]


def _region_words(region: dict[str, Any]) -> str:
    precision = "" if region["precision"] is None else f": {percent(region['precision'])} of its inputs are cases"
    rows = "" if region["n_rows"] is None else f", {counted(region['n_rows'], 'real row')}"
    return f"{region['text']}{precision}{rows}"


def _write(path: str | PathLike[str], text: str) -> None:
    Path(path).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
