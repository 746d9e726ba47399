"""Conformance suite for engines: a new one gets its tests with one line.

from tests.engine.conformance import engine_checks

@pytest.mark.parametrize(("name", "check"), engine_checks())
def test_my_engine(name, check):
    check(partial(make_engine, engine="mine", n_jobs=2))
"""

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fairprobe.engine.base import Counts, Engine, Report, Skipped
from fairprobe.errors import ModelError, RunError
from fairprobe.testing.conformance import checks_among

MakeEngine = Callable[..., Engine]
"""Takes what `make_engine` takes: a task, and by name watch, seconds_left, kept, n_shards."""

EngineCheck = Callable[[MakeEngine], None]


def engine_checks() -> list[tuple[str, EngineCheck]]:
    """The checks by name; each takes what makes the engine and raises an AssertionError if it fails."""
    return checks_among(globals())


def _check_gives_results_in_order(make: MakeEngine) -> None:
    with _engine(make, lambda shard, *told: shard**2) as engine:
        _require(_first(engine, 7) == [0, 1, 4, 9, 16, 25, 36], "give the results of shards 0, 1, 2, ... in order")


def _check_does_not_mind_who_is_first(make: MakeEngine) -> None:
    with _engine(make, lambda shard, *told: time.sleep(0.3 * (shard == 0)) or shard) as engine:
        _require(_first(engine, 5) == [0, 1, 2, 3, 4], "give results in order, also if a later shard is over sooner")


def _check_ends_after_the_last_shard(make: MakeEngine) -> None:
    with _engine(make, lambda shard, *told: shard**2, n_shards=3) as engine:
        _require(list(engine.results()) == [0, 1, 4], "end when there are no more shards")


def _check_passes_the_seconds_left_on(make: MakeEngine) -> None:
    left = itertools.count(10, -1)
    with _engine(make, lambda shard, seconds, report: seconds, seconds_left=lambda: next(left)) as engine:
        _require(sorted(_first(engine, 4), reverse=True)[0] == 10, "tell the first shard how many seconds are left")
    with _engine(make, lambda shard, seconds, report: seconds) as engine:
        _require(_first(engine, 1) == [None], "tell a shard of no limit where there is none")


def _check_runs_a_failing_shard_again(make: MakeEngine) -> None:
    with tempfile.TemporaryDirectory() as folder, _engine(make, partial(_fails_at_first, folder)) as engine:
        _require(_first(engine, 4) == [0, 1, 2, 3], "run a shard again that has failed")


def _check_leaves_out_what_keeps_failing(make: MakeEngine) -> None:
    kept = _Memory({})
    with _engine(make, _fails_at_two, kept=kept, n_shards=5) as engine:
        results = list(engine.results())
    _require(sorted(kept.saved) == [0, 1, 3, 4], "keep no shard that was left out")
    skipped = results[2]
    _require(isinstance(skipped, Skipped) and skipped.shard == 2, "give Skipped for a shard that keeps failing")
    _require("two is too many" in skipped.reason, "say why a shard was left out")
    _require([*results[:2], *results[3:]] == [0, 1, 3, 4], "go on with the other shards")


def _check_gives_up_when_nothing_works(make: MakeEngine) -> None:
    with _engine(make, _fails_always) as engine:
        _require_raises(engine, RunError, "fail when shard after shard is left out")


def _check_takes_our_own_errors_at_their_word(make: MakeEngine) -> None:
    with _engine(make, _says_the_model_failed) as engine:
        _require_raises(engine, ModelError, "raise a task's ModelError as it is, at once")


def _check_runs_nothing_that_is_kept(make: MakeEngine) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = _Memory({1: "one", 3: "three"})
        with _engine(make, partial(_leaves_a_trace, folder), kept=kept, n_shards=5) as engine:
            results = list(engine.results())
        ran = sorted(int(path.name) for path in Path(folder).iterdir())
    _require(results == [0, "one", 2, "three", 4], "give what is kept in its place")
    _require(ran == [0, 2, 4], "run no shard that is kept")
    _require(sorted(kept.saved) == [0, 2, 4], "keep every shard that was run, once, and no other")


def _check_tells_how_far_it_is_and_stops_when_told(make: MakeEngine) -> None:
    """Interrupted, it gives what the shards under way have; a local engine has none between two shards."""

    def interrupt(under_way: list[Counts]) -> None:
        if any(counts.n_cases > 0 for counts in under_way):
            raise KeyboardInterrupt

    with _engine(make, _until_told, watch=interrupt) as engine:
        begun = time.monotonic()
        try:
            next(engine.results())
        except KeyboardInterrupt:
            handed_over = engine.finish()
        else:
            raise AssertionError("an engine must tell how far it is, got no word before the first result")
    shards = [shard for shard, _ in handed_over]
    _require(shards == sorted(shards) and all(n > 0 for _, n in handed_over), "hand over what there is, in order")
    _require(time.monotonic() - begun < 60, "stop when told")


def _fails_at_first(folder: str, shard: int, *told: Any) -> int:
    mark = Path(folder) / str(shard)
    if shard == 1 and not mark.exists():
        mark.touch()
        raise ConnectionError("not this time")
    return shard


def _fails_at_two(shard: int, *told: Any) -> int:
    if shard == 2:
        raise ArithmeticError("two is too many")
    return shard


def _fails_always(shard: int, *told: Any) -> int:
    raise ArithmeticError(f"not even {shard}")


def _says_the_model_failed(shard: int, *told: Any) -> int:
    raise ModelError("the model must answer, got silence")


def _leaves_a_trace(folder: str, shard: int, *told: Any) -> int:
    (Path(folder) / str(shard)).touch()
    return shard


def _until_told(shard: int, seconds: float | None, report: Report | None) -> tuple[int, int]:
    """Runs until it is told to stop, and says how often it asked."""
    assert report is not None
    for number in itertools.count(1):
        if report(Counts(number, 0, os.getpid())):
            return shard, number
        time.sleep(0.01)
    raise AssertionError


class _Memory:
    def __init__(self, results: dict[int, Any]) -> None:
        self._results = results
        self.saved: list[int] = []

    def load(self, shard: int) -> Any | None:
        return self._results.get(shard)

    def save(self, shard: int, result: Any) -> None:
        self.saved.append(shard)


@contextmanager
def _engine(make: MakeEngine, task: Any, **options: Any) -> Iterator[Engine]:
    engine = make(task, **options)
    try:
        yield engine
    finally:
        engine.close()


def _first(engine: Engine, n: int) -> list[Any]:
    return list(itertools.islice(engine.results(), n))


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise AssertionError(f"an engine must {rule}")


def _require_raises(engine: Engine, error: type[Exception], rule: str) -> None:
    try:
        _first(engine, 50)
    except error:
        return
    raise AssertionError(f"an engine must {rule}")
