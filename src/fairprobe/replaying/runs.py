"""Cases out of whatever holds some: the folder of an audit or a search, files of saved cases, a search's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.auditing.content import FORMAT, FORMAT_VERSION, plain
from fairprobe.auditing.folder import AUDIT, DOMAIN
from fairprobe.auditing.privacy import MASKED
from fairprobe.domain import Domain
from fairprobe.errors import DataError
from fairprobe.replaying.saved import Question, SavedCases, read_json
from fairprobe.searching.stored_cases import StoredCases, merged
from fairprobe.store.hashes import hash_of_data
from fairprobe.store.run_folder import ABOUT
from fairprobe.store.whole_files import as_written

if TYPE_CHECKING:
    import pandas as pd

ROW = "row"
"""Before the index of a case that is a real row; others have "case" and their number."""

TWIN = "twin_"
"""Before the names of what changes, in the table that a search writes."""


@dataclass(frozen=True)
class InPart:
    """A case that is not told whole."""

    told: Mapping[str, Any]
    row: Any
    """The index of the real row that it is; None where values are masked."""


@dataclass(frozen=True)
class RunCases:
    """Cases of one run, and what it tells of them."""

    cases: pd.DataFrame
    """Those that are told whole, by a name: "case 1"."""
    question: Question | None = None
    """None where nothing tells it."""
    domain: Domain | None = None
    changing: frozenset[str] = frozenset()
    """What the twins change, where nothing tells the question."""
    command: str | None = None
    """That made the run."""
    in_part: Sequence[InPart] = ()
    data_hash: str | None = None
    """Of the rows audited."""

    def completed(
        self, rows: pd.DataFrame | None, labels: Any, names: Sequence[str]
    ) -> tuple[pd.DataFrame, pd.DataFrame, str]:
        """The cases, with those looked up among the rows that are told by their index; what is left, and why."""
        import pandas as pd

        labels_of_rows = [f"{ROW} {each.row}" for each in self.in_part]
        lost = pd.DataFrame([dict(each.told) for each in self.in_part], index=labels_of_rows)
        if not self.in_part:
            return self.cases, lost, ""
        if any(each.row is None for each in self.in_part):
            return self.cases, lost, "values are masked in the run"
        why = "a real row is told by its index alone"
        if rows is None:
            return self.cases, lost, f"{why}, and no --data were given"
        held = rows[[name for name in names if name in rows.columns]]
        if self.data_hash not in (hash_of_data(held), hash_of_data(held, labels)):
            return self.cases, lost, f"{why}, and --data are other rows than those audited"
        places = {plain(index): place for place, index in enumerate(rows.index.tolist())}
        found = held.iloc[[places[each.row] for each in self.in_part]].astype(object).to_dict("records")
        whole = [{**row, **each.told} for row, each in zip(found, self.in_part, strict=True)]
        frames = [each for each in (self.cases, pd.DataFrame(whole, index=lost.index)) if len(each)]
        return pd.concat(frames), lost.iloc[:0], ""


def read_run(path: str) -> list[RunCases]:
    """The cases of a folder, or of a file of saved ones."""
    place = Path(path)
    if not place.exists():
        raise DataError(f"a run must be a folder or a file that exists, got {path}")
    if place.is_file():
        return [_of_saved(place)]
    if (place / AUDIT).exists():
        return [_of_audit(place)]
    if (place / ABOUT).exists():
        with as_written(place):
            return [_of_search(place)]
    files = sorted(place.glob("*.json"))
    if not files:
        rule = f"a run must be a folder with {AUDIT}, with {ABOUT} or with saved cases (.json)"
        raise DataError(f"{rule}, got none of them in {path}")
    return [_of_saved(each) for each in files]


def of_table(table: pd.DataFrame) -> RunCases:
    """The cases of a search, as its table has them."""
    names = set(map(str, table.columns))
    changing = {name.removeprefix(TWIN) for name in names if name.startswith(TWIN)} & names
    return RunCases(_named(table), changing=frozenset(changing))


def _named(cases: pd.DataFrame, numbers: Sequence[int] | None = None) -> pd.DataFrame:
    return cases.set_axis([f"case {number}" for number in numbers or range(1, len(cases) + 1)])


def _of_saved(file: Path) -> RunCases:
    saved = SavedCases.read(file)
    return RunCases(_named(saved.cases), saved.question, saved.domain)


def _of_search(folder: Path) -> RunCases:
    """The cases of a search's last result; of one that has not ended, those of its finished shards."""
    import pandas as pd

    stored = StoredCases(folder)
    settings, (entries, most) = stored.run.about["settings"], stored.of_result()
    frames = list(merged([(stored, entries)]))
    cases = pd.concat(frames, ignore_index=True).head(most) if frames else pd.DataFrame(columns=stored.domain.names)
    question = Question.of(stored.domain, settings["output"], settings["threshold"])
    return RunCases(_named(cases), question, stored.domain)


def _of_audit(folder: Path) -> RunCases:
    import pandas as pd

    file = folder / AUDIT
    content = read_json(file, FORMAT, FORMAT_VERSION)
    domain = Domain.from_toml(folder / DOMAIN) if (folder / DOMAIN).exists() else None
    try:
        asked, about, command = content["question"], content["about"], content["about"]["command"]
        links = [] if about["config"]["linked"] is False else content["domain"]["links"]
        question = Question(
            tuple(asked["sensitive"]), tuple(map(str, links)), str(asked["output"]), float(asked["threshold"])
        )
        n_parameters = len(content["domain"]["parameters"])
        told = [{name: value for name, value in each["case"].items() if value != MASKED} for each in content["cases"]]
        masked = bool(about["masked"])
        in_part = [
            InPart(case, None if masked else each["origin"]["row"])
            for case, each in zip(told, content["cases"], strict=True)
            if len(case) < n_parameters
        ]
        whole = {each["id"]: case for case, each in zip(told, content["cases"], strict=True)}
        whole = {number: case for number, case in whole.items() if len(case) == n_parameters}
        cases = _named(pd.DataFrame(list(whole.values())), list(whole))
        data_hash = str(about["data"]["hash"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file} must be as an audit writes it, got {type(error).__name__}: {error}") from None
    return RunCases(cases, question, domain, command=None if masked else command, in_part=in_part, data_hash=data_hash)
