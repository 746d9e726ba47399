"""Models in a process of their own: they answer as here, and what they do there reaches nothing here."""

import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import skops.io
from hostile_files import rows, write_pickle
from real_files import N_ASKED, SAFE, UNSAFE
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe import Domain
from fairprobe.errors import DataError, HealthWarning, ModelError
from fairprobe.model import Asker
from fairprobe.model.sources import isolated
from fairprobe.model.sources.isolated import ProcessDiedError, unpacked

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs process groups")

DOMAIN = Domain([fairprobe.Integer(name, 0, 5) for name in "abc"], ["c"])


def group_of(model):
    return model._process._popen.pid


def processes():
    """By process that lives, its group, its id, its state and its arguments."""
    command = ["ps", "-eo", "pgid=,pid=,stat=,args="]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [told for line in found.splitlines() if "Z" not in (told := line.split(maxsplit=3))[2]]


def members(group):
    return [told for told in processes() if int(told[0]) == group]


def gone(group):
    until = time.monotonic() + 1
    while (left := members(group)) and time.monotonic() < until:
        time.sleep(0.02)
    return not left


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    path = tmp_path_factory.mktemp("tree") / "model.skops"
    skops.io.dump(DecisionTreeClassifier(random_state=0).fit(*rows()), path)
    model = fairprobe.load_model(path, isolate=True)
    yield path, fairprobe.load_model(path), model
    model.close()


def test_it_answers_as_here(trees):
    _, here, there = trees
    for output in ("label", "proba", "score"):
        codes = np.indices((6, 6, 6)).reshape(3, -1).T
        one, other = (Asker(model, DOMAIN, output=output).ask(codes) for model in (here, there))
        assert one.dtype == other.dtype
        assert (one == other).all()
    assert not hasattr(there, "decision_function")
    assert "solved" not in fairprobe.estimate(there, DOMAIN, n_experiments=2, n_samples=50).method


def test_a_crash_is_a_message_and_it_is_not_started_again(trees):
    _, _, there = trees
    copy = pickle.loads(pickle.dumps(there))  # as sent to another process: it starts one of its own
    assert copy.predict(np.zeros((1, 3))).shape == (1,)
    group = group_of(copy)
    assert group != group_of(there)
    os.kill(max(int(pid) for own, pid, *_ in processes() if int(own) == group), signal.SIGSEGV)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"answer and live, got a process that ended by SIG\w+.*not started again"):
            copy.predict(np.zeros((1, 3)))
    assert gone(group)
    assert copy._process is None


DOES = """
import os, socket
answer = []
for do in (
    lambda: socket.create_connection(ADDRESS, 1),
    lambda: open(PATH, "w").write("x" * 10),
    lambda: open("here", "w").write("x" * 10),
    lambda: os.remove(__import__("sys").executable + "-absent"),
    lambda: os._exit(0) if os.fork() == 0 else 1 / 0,
    lambda: os.kill(PARENT, 0),
    lambda: os.execv("/bin/true", ["true"]),
):
    try:
        do()
        answer.append("done")
    except Exception as error:
        answer.append(type(error).__name__)
answer.append(",".join(sorted(os.environ)) + " in " + ",".join(os.listdir(".")))
answer = answer[: len(X)] + ["-"] * (len(X) - len(answer))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say that they cannot")
def test_what_it_may_not_do(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    server = socket.create_server(("127.0.0.1", 0))
    names = f"ADDRESS, PATH, PARENT = {server.getsockname()!r}, {str(tmp_path / 'made')!r}, {os.getpid()}"
    path = write_pickle(tmp_path / "model", f"{names}\n{DOES}")
    with pytest.warns(HealthWarning, match="unsafe-load") as said:
        model = fairprobe.load_model(path, allow_unsafe_load=True, isolate=True)
    missing = " ".join(str(each.message) for each in said)
    with server:
        does = list(model.predict(np.zeros((8, 3))))
    model.close()
    assert "done" not in (does[:1] if "network" not in missing else []), does
    assert does[1] != "done"  # whatever the system, nothing is written to files
    assert "done" not in (does[4:7] if "other processes" not in missing else []), does
    assert "SECRET" not in does[7]
    assert does[7].endswith(" in ")
    assert not (tmp_path / "made").exists() or not (tmp_path / "made").read_text()


def test_an_answer_of_objects_comes_back_exactly(tmp_path):
    code = "answer = __import__('numpy').array([True, 1, 1.5, None, 'x', float('nan'), 2**70], dtype=object)"
    model = warned_quietly(write_pickle(tmp_path / "model", code))
    said = model.predict(np.zeros((7, 3)))
    model.close()
    assert [type(each) for each in said] == [bool, int, float, type(None), str, float, int]
    assert list(said[:5]) == [True, 1, 1.5, None, "x"]


def warned_quietly(path, **options):
    with warnings.catch_warnings(action="ignore"):
        return fairprobe.load_model(path, **{"allow_unsafe_load": True, "isolate": True, **options})


def written(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ({}, b""),
        ({}, b"PK\x03\x04" + bytes(100)),
        ({}, written(np.zeros(3))[:-1]),
        ({}, written(np.zeros(1)).replace(b"(1,)", b"(9,)")),
        ({}, written(np.zeros(1)).replace(b"(1,), }        ", b"(-1, 9), }     ")),
        ({}, written(np.zeros(1, dtype="f8,f8"))),
        ({}, written(np.array([{1}], dtype=object))),
        ({}, written(np.array([0xFFFFFFFF], dtype=np.uint32)).replace(b"<u4", b"<U1")),
        ({"labels": ["a"], "is_text": True, "shape": [2]}, b""),
        ({"labels": ["", "a" * 10**4], "is_text": True, "shape": [2]}, b""),
        ({"labels": [{"__reduce__": 1}], "is_text": False, "shape": [1]}, b""),
        ({"labels": ["\ud800"], "is_text": True, "shape": [1]}, b""),
    ],
)
def test_what_is_no_answer_is_refused(said, data):
    with pytest.raises(ProcessDiedError, match="no array"):
        unpacked(said, data)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_process_that_says_what_it_likes(tmp_path, number, monkeypatch):
    """It finds the pipe and writes to it: no JSON, too much, a description of a kind of its own."""
    says = [b"\x05" + bytes(15) + b"{{{{{", b"\xff" * 16, b"\x02" + bytes(15) + b"[]"][number]
    code = f"import os\nfor number in range(3, 20):\n    try: os.write(number, {says!r})\n    except OSError: pass"
    model = warned_quietly(write_pickle(tmp_path / "model", code))
    group = group_of(model)
    with pytest.raises(ModelError, match="must answer and live, got an answer"):
        model.predict(np.zeros((1, 3)))
    assert gone(group)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "loading", "message"),
    [
        ("while True: pass", "", "no answer within"),
        ("x = [bytearray(2**28) for _ in range(100)]", "", "memory"),
        ("import ctypes; ctypes.string_at(0)", "", "SIGSEGV"),
        ("pass", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("pass", "while True: pass", "no answer within"),
    ],
)
def test_a_model_that_does_not_come_back(tmp_path, monkeypatch, code, loading, message):
    for limit, seconds, what in (("PATIENCE", 3.0, code), ("SECONDS", 30.0, loading)):
        if "while" in what:
            monkeypatch.setattr(isolated, limit, seconds)
    before = set(all_groups())
    path = write_pickle(tmp_path / "model", code, loading)
    with pytest.raises((ModelError, DataError, MemoryError, RuntimeError), match=message):
        warned_quietly(path).predict(np.zeros((1, 3)))
    time.sleep(1)
    assert not set(all_groups()) - before


def all_groups():
    return [told[0] for told in processes() if "shut_in" in told[-1]]


def test_its_end_is_the_end_of_its_processes(tmp_path):
    """Also where this process is killed and cannot say so."""
    skops.io.dump(DecisionTreeClassifier().fit(*rows()), tmp_path / "model")
    code = (
        "import fairprobe, sys, time; m = fairprobe.load_model(sys.argv[1], isolate=True);"
        "print(m._process._popen.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        group = int(process.stdout.readline())
        assert members(group)
        process.kill()
        assert gone(group)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAFE, *UNSAFE])
def test_every_kind_answers_as_here(name, tmp_path, monkeypatch):
    made = {**SAFE, **UNSAFE}[name](tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    options = {"weights": made.weights, "allow_unsafe_load": name in UNSAFE}
    here, there = (warned_quietly(made.source or made.path, isolate=each, **options) for each in (False, True))
    domain = Domain.from_frame(made.rows, ["sex"])
    codes = domain.sample_codes(4000, np.random.default_rng(0))
    for output in ("label", "score") if name == "torch" else ("label", "score", "proba"):
        one, other = (Asker(model, domain, output=output) for model in (here, there))
        for asked in ("ask", "ask_frame"):
            given = codes if asked == "ask" else domain.typed(made.rows[:N_ASKED])
            said, again = getattr(one, asked)(given), getattr(other, asked)(given)
            assert said.dtype == again.dtype
            np.testing.assert_array_equal(said, again)
    there.close()
