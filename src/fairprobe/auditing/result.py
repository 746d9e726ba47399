"""What an audit gives: the verdict, what it stands on, and the report in all its forms."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.auditing.gating import Judged
from fairprobe.domain import Density, Domain
from fairprobe.estimation import Proxies, Share
from fairprobe.explanation import Explanation
from fairprobe.notebook import as_html
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.auditing.content import AuditParts

INTERRUPTED = 130


class Audit:
    """The result of an audit. `content` is all of it as plain values; every form of the report is made of that."""

    def __init__(self, parts: AuditParts, content: dict[str, Any]) -> None:
        self._parts = parts
        self.content = content

    @property
    def verdict(self) -> Judged:
        """What can be said of the limit."""
        assert self._parts.judged is not None
        return self._parts.judged

    @property
    def shares(self) -> dict[str, Share]:
        """By population, of all sensitive parameters together; with links the plain one beside the linked."""
        return self._parts.main

    @property
    def shares_by_set(self) -> dict[str, dict[str, Share]]:
        """By population, then by set of sensitive parameters."""
        return {
            name: {" x ".join(share.sensitive): share for share in shares} for name, shares in self._parts.sets.items()
        }

    @property
    def found(self) -> Found | None:
        """What the search found."""
        return self._parts.found

    @property
    def why(self) -> Explanation | None:
        """Why; None without cases."""
        return self._parts.why

    @property
    def proxies(self) -> Proxies | None:
        """What gives the sensitive columns away."""
        return self._parts.proxies

    @property
    def retrained(self) -> Retrained | None:
        """What training otherwise came to, where that was asked for."""
        return self._parts.retrained

    @property
    def domain(self) -> Domain:
        """What an input may be; sensitive columns that the model does not take are hidden."""
        return self._parts.domain

    @property
    def density(self) -> Density | None:
        """What was fitted to the rows; None of rows that are too few."""
        return self._parts.density

    @property
    def interrupted(self) -> str | None:
        """The phase that was under way when it was interrupted."""
        return self._parts.interrupted

    @property
    def exit_code(self) -> int:
        """For the command line."""
        return INTERRUPTED if self.interrupted else self.verdict.exit_code

    def sentence(self) -> str:
        """The verdict in a sentence; an audit that was interrupted says so first."""
        before = f"interrupted in the phase {self.interrupted}; so far " if self.interrupted else ""
        return f"{before}{self.verdict.sentence}"

    def summary(self) -> dict[str, Any]:
        """The figures without the certificate, the cases and the plots, ready for JSON."""
        left_out = ("certificate", "cases", "plots", "digests")
        return {name: part for name, part in self.content.items() if name not in left_out}

    # Forms

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write `content`, the certificate that `checker/check.py` reads; the same run gives the same bytes."""
        text = json.dumps(self.content, indent=None, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
        _write(path, f"{text}\n")

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the report as one HTML file that needs no other."""
        self._render("html", path)

    def to_markdown(self, path: str | PathLike[str]) -> None:
        """Write the report as Markdown."""
        self._render("markdown", path)

    def to_junit(self, path: str | PathLike[str]) -> None:
        """Write the verdict and shares as JUnit XML, as test runners show it."""
        self._render("junit", path)

    def to_model_card(self, path: str | PathLike[str]) -> None:
        """Write a section for a model card, as Markdown."""
        self._render("model-card", path)

    def _render(self, form: str, path: str | PathLike[str]) -> None:
        from fairprobe.report import render

        _write(path, render(self.content, form))

    def cases_table(self) -> pd.DataFrame:
        """The cases as the report has them, one a row: masked, and real rows only where they were asked for."""
        import pandas as pd

        rows = []
        for each in self.content["cases"]:
            plausibility = each["plausibility"] or [None, None]
            rows.append(
                {
                    **{f"case {name}": value for name, value in each["case"].items()},
                    **{f"twin {name}": value for name, value in each["twin"].items()},
                    "output of the case": each["outputs"][0],
                    "output of the twin": each["outputs"][1],
                    **{name: each[name] for name in ("id", "gap", "severity", "parameters")},
                    "plausibility of the case": plausibility[0],
                    "plausibility of the twin": plausibility[1],
                    "row": None if each["origin"] is None else each["origin"]["row"],
                }
            )
        names = [each["name"] for each in self.content["domain"]["parameters"]]
        first = ["id", *(f"case {name}" for name in names), *(f"twin {name}" for name in names)]
        table = pd.DataFrame(rows, dtype=object)
        return table[[name for name in first if name in table] + [name for name in table if name not in first]]

    def __repr__(self) -> str:
        return f"Audit({self.sentence()})"

    def _repr_html_(self) -> str:
        figures = {
            f"share of {name}": f"{percent(share.value)} ({percent(share.low)} to {percent(share.high)})"
            for name, share in self.shares.items()
        }
        if self.found is not None:
            figures["cases found"] = f"{self.found.n_cases:,}"
        health = [(each["check"], each["message"]) for each in self.content["health"]]
        table = "" if self.why is None or not self.why.rules else self.why.table.to_html(escape=True, index=False)
        return as_html(
            self.content["title"], self.sentence(), figures, health, "" if self.content["about"]["masked"] else table
        )


def _write(path: str | PathLike[str], text: str) -> None:
    Path(path).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
