"""Cases out of whatever holds some: the folder of an audit or a search, files of saved cases, a search's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.auditing.content import FORMAT, FORMAT_VERSION, plain
from fairprobe.auditing.folder import AUDIT, DOMAIN
from fairprobe.auditing.privacy import MASKED
from fairprobe.domain import Domain
from fairprobe.errors import DataError
from fairprobe.replaying.saved import Question, SavedCases, read_json
from fairprobe.searching.stored_search import StoredCases, merged
from fairprobe.store.identity import hash_of_data
from fairprobe.store.run_folder import ABOUT
from fairprobe.store.whole_files import as_written

if TYPE_CHECKING:
    import pandas as pd

ROW = "row"
"""Before the index of a case that is a real row; others have "case" and their number."""

TWIN = "twin_"
"""Before the names of what changes, in the table that a search writes."""


@dataclass(frozen=True)
class RunCases:
    """Cases of one run, with the question and the domain where the run tells them."""

    cases: pd.DataFrame
    """Those that are told whole, by a name: "case 1"."""
    question: Question | None = None
    domain: Domain | None = None
    changing: frozenset[str] = frozenset()
    """The columns that change in twins, for a run that tells no question."""
    command: str | None = None
    """The command that made the run."""
    in_part: pd.DataFrame | None = None
    """The values told of real rows, by a name: "row 17"."""
    rows: Sequence[Any] | None = None
    """The index of each of these rows; None where values are masked."""
    data_hash: str | None = None
    """The digest of the rows audited."""

    @property
    def n_cases(self) -> int:
        """The number of cases, those that are told in part among them."""
        return len(self.cases) + (0 if self.in_part is None else len(self.in_part))

    def completed(
        self, data: pd.DataFrame | None, labels: Any, names: Sequence[str]
    ) -> tuple[pd.DataFrame, pd.DataFrame, str]:
        """The cases, with those told by their index looked up among rows of data; what is left, and the reason."""
        import pandas as pd

        if self.in_part is None or not len(self.in_part):
            return self.cases, self.cases.iloc[:0], ""
        if self.rows is None:
            return self.cases, self.in_part, "values are masked in the run"
        why = "a real row is told by its index alone"
        if data is None:
            return self.cases, self.in_part, f"{why}, and no --data were given"
        held = data[[name for name in names if name in data.columns]]
        if self.data_hash not in (hash_of_data(held), hash_of_data(held, labels)):
            return self.cases, self.in_part, f"{why}, and --data are other rows than those audited"
        places = {plain(index): place for place, index in enumerate(data.index.tolist())}
        found = held.iloc[[places[row] for row in self.rows]].astype(object).set_axis(self.in_part.index)
        found[self.in_part.columns] = self.in_part
        return pd.concat([self.cases, found] if len(self.cases) else [found]), self.in_part.iloc[:0], ""


def read_run(path: str) -> list[RunCases]:
    """The cases of a folder, or of a file of saved ones."""
    place = Path(path)
    if not place.exists():
        raise DataError(f"a run must be a folder or a file that exists, got {path}")
    if (place / AUDIT).exists():
        return [_of_audit(place)]
    if (place / ABOUT).exists():
        with as_written(place):
            return [_of_search(place)]
    files = [place] if place.is_file() else sorted(place.glob("*.json"))
    if not files:
        rule = f"a run must be a folder with {AUDIT}, with {ABOUT} or with saved cases (.json)"
        raise DataError(f"{rule}, got none of them in {path}")
    saved = [SavedCases.read(each) for each in files]
    return [RunCases(_named(each.cases), each.question, each.domain) for each in saved]


def of_table(table: pd.DataFrame) -> RunCases:
    """The cases of a search, as its table has them."""
    names = set(map(str, table.columns))
    changing = {name.removeprefix(TWIN) for name in names if name.startswith(TWIN)} & names
    return RunCases(_named(table), changing=frozenset(changing))


def _named(cases: pd.DataFrame) -> pd.DataFrame:
    return cases.set_axis([f"case {number}" for number in range(1, len(cases) + 1)])


def _of_search(folder: Path) -> RunCases:
    """The cases of a search's last result; of one that has not ended, those of its finished shards."""
    import pandas as pd

    stored = StoredCases(folder)
    settings, (entries, most) = stored.run.about["settings"], stored.of_result()
    frames = list(merged([(stored, entries)], most))
    cases = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=stored.domain.names)
    question = Question.of(stored.domain, settings["output"], settings["threshold"])
    return RunCases(_named(cases), question, stored.domain)


def _of_audit(folder: Path) -> RunCases:
    import pandas as pd

    file = folder / AUDIT
    content = read_json(file, FORMAT, FORMAT_VERSION)
    domain = Domain.from_toml(folder / DOMAIN) if (folder / DOMAIN).exists() else None
    try:
        about = content["about"]
        question = Question.told(
            content["question"], [] if about["config"]["linked"] is False else content["domain"]["links"]
        )
        n_parameters, is_masked = len(content["domain"]["parameters"]), bool(about["masked"])
        whole, in_part, rows = {}, [], []
        for each in content["cases"]:
            case = {name: value for name, value in each["case"].items() if value != MASKED}
            if len(case) == n_parameters:
                whole[f"case {each['id']}"] = case
            else:
                in_part.append(case)
                rows.append(None if is_masked else each["origin"]["row"])
        return RunCases(
            pd.DataFrame(list(whole.values()), index=list(whole)),
            question,
            domain,
            command=None if is_masked else about["command"],
            in_part=pd.DataFrame(in_part, index=[f"{ROW} {row}" for row in rows], dtype=object),
            rows=None if is_masked else rows,
            data_hash=str(about["data"]["hash"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file} must be as an audit writes it, got {type(error).__name__}: {error}") from None
