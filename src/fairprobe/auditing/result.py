"""The result of an audit, the forms of its report, and the run folder: its files and a list of all attempts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fairprobe.auditing.content import content_of, told
from fairprobe.auditing.gating import Judged
from fairprobe.auditing.state import AuditState
from fairprobe.blocks import Block, Items, Remark, Result, Sentence
from fairprobe.domain import Density, Domain
from fairprobe.errors import SettingError
from fairprobe.estimation import Proxies, Share
from fairprobe.explanation import Explanation
from fairprobe.files import check_folder, not_written, write_results
from fairprobe.frames import write_csv
from fairprobe.report import render
from fairprobe.report.content import flips_words, health_of
from fairprobe.report.pdf import pdf
from fairprobe.report.sections import shares_table
from fairprobe.report.value_names import named
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.store.run_folder import own
from fairprobe.wording import counted, percent

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = "attempts.jsonl"
AUDIT = "audit.json"
DOMAIN = "domain.toml"
IDENTITY = ("model", "data", "config_hash", "seed")
"""Names of the fields that identify an attempt: attempts with equal values count as one."""

UNFINISHED = "not finished"
"""Outcome of an attempt (a run of an audit) that has begun and not ended."""

Attempt = dict[str, Any]

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
        return f"{before}{named(self.content)['verdict']['sentence']}"

    def blocks(self) -> list[Block]:
        """Return blocks with the verdict, the shares, the worst regions, the rows that flip, and the remarks."""
        return [Sentence(self.sentence()), *self._blocks()]

    def _blocks(self) -> Iterator[Block]:
        content = named(self.content)
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
        """Write the report as one HTML file, which loads no other file."""
        _write(path, render(self.content, "html"))

    def to_pdf(self, path: str | PathLike[str]) -> None:
        """Write the printed page as PDF. This needs a browser of the Chromium family on this machine."""
        Path(path).write_bytes(pdf(render(self.content, "html")))

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


# The folder that keeps an audit


class RunFolder:
    """The folder of an audit's results and attempts, which is created, and checked to be writable, before the work."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            check_folder(self.path)
        except OSError as error:
            rule = "must be a folder that can be written to"
            raise SettingError.about("folder", f"{rule}, got {error.strerror or error}: {self.path}") from None

    # Attempts

    def note(self, attempt: Attempt) -> list[Attempt]:
        """Append an attempt to the list in the folder, and return all attempts on its model and data for the report.

        An attempt is recorded before its outcome is known and again with the outcome, so that an interrupted attempt
        counts too.
        """
        known = self._read()
        is_new = attempt["outcome"] != UNFINISHED or _identity(attempt) not in map(_identity, known)
        if is_new and attempt not in known:
            self._append(attempt)
        ours = [each for each in self._read() if (each["model"], each["data"]) == (attempt["model"], attempt["data"])]
        return [told(each, is_this=_identity(each) == _identity(attempt)) for each in ours]

    def _append(self, attempt: Attempt) -> None:
        """Append one audit attempt as a line of JSON to the folder's list of attempts.

        An unfinished last line is ended first. It is a single write, so that two simultaneous audits do not mix their
        lines.
        """
        path = self.path / ATTEMPTS
        try:
            with open(path, "ab+", buffering=0, opener=_own) as file:
                is_torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
                line = b"\n" * is_torn + json.dumps(attempt, sort_keys=True).encode() + b"\n"
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise not_written(error, path) from None

    def _read(self) -> list[Attempt]:
        """Return the attempts in the list, each with its last recorded outcome, in the order of their beginnings."""
        path, attempts = self.path / ATTEMPTS, {}
        if not path.exists():
            return []
        try:
            with open(path, encoding="utf-8", opener=_own) as file:
                lines = file.read().splitlines()
            for line in lines:
                if line.startswith("{") and not line.endswith("}"):
                    continue  # torn, by a crash while it was written
                if line.strip():
                    attempt = json.loads(line)
                    attempts[_identity(attempt)] = {**dict.fromkeys((*IDENTITY, "date", "outcome")), **attempt}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            rule = f"must hold the attempts of before in {ATTEMPTS}"
            raise SettingError.about("folder", f"{rule}, got a file that cannot be read: {error}") from None
        return list(attempts.values())

    # Results

    def write(self, audit: Audit) -> None:
        """Write all results of an audit to the folder, each file atomically: data first, then forms of the report."""
        about, domain = audit.content["about"], audit.domain
        config = json.dumps(about["config"], indent=1, ensure_ascii=False, sort_keys=True)
        files: dict[str, Callable[[Path], object]] = {
            AUDIT: audit.to_json,
            "config.json": lambda part: part.write_text(f"{config}\n", encoding="utf-8"),
            "cases.csv": lambda part: write_csv(audit.cases_table(), part),
        }
        # Values would tell what is masked, and no file can hold a function.
        files |= {} if about["masked"] or domain.restrictions.callables else {DOMAIN: domain.to_toml}
        files |= {"report.html": audit.to_html, "report.md": audit.to_markdown}
        files |= {"junit.xml": audit.to_junit, "model-card.md": audit.to_model_card}
        for name, write in files.items():
            write_results(self.path / name, write)


def _identity(attempt: Attempt) -> tuple[Any, ...]:
    return tuple(attempt.get(name) for name in IDENTITY)


def _own(path: str, flags: int) -> int:
    """Return a file descriptor for a path; an opener for `open` that refuses links and all but regular files."""
    try:
        return own(path, flags)
    except SettingError as error:
        raise error.calling("store", "folder") from None
