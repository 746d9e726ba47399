"""The thread that asks services and programs: interrupted, copied by fork, and gone at the end of the process."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from fairprobe.model.background import PerProcess, run
from tests.model.serving import Served, serving


class Held:
    """Something that says in which process it was made, and that it was closed."""

    closed: list[int] = []  # noqa: RUF012

    def __init__(self):
        self.pid = os.getpid()

    async def close(self):
        Held.closed.append(id(self))


def in_a_fork(check):
    """Whether a check holds in a copy of this process."""
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


def test_an_interrupt_cancels_what_is_waited_for():
    ends = []

    async def waits():
        try:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            await asyncio.sleep(60)
        finally:
            ends.append(True)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(waits())
    run(asyncio.sleep(0))
    assert ends == [True]
    assert time.monotonic() - begun < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_each_process_makes_its_own():
    held = PerProcess(Held)
    mine = held.get()
    assert held.get() is mine
    assert in_a_fork(lambda: held.get() is not mine and held.get().pid == os.getpid() and run(asyncio.sleep(0, True)))
    assert pickle.loads(pickle.dumps(held)).get() is not mine
    assert id(mine) not in Held.closed
    held.close()
    assert id(mine) in Held.closed
    assert held.get() is not mine


def test_a_process_ends_without_a_word_and_leaves_no_program(tmp_path):
    """A service that is still asked, a program that runs: nothing is said on the standard error, with all warnings."""
    score = """
        import os, sys
        sys.stdin.readline()  # the names
        for line in iter(sys.stdin.readline, ""):
            print(os.getpid(), flush=True)
    """
    (tmp_path / "score.py").write_text(textwrap.dedent(score))
    code = """
        import sys, numpy as np, pandas as pd
        from fairprobe.model.program import start
        from fairprobe.model.remote import connect
        service, program = connect(sys.argv[1], protocol="instances"), start([sys.executable, sys.argv[2]])
        rows = pd.DataFrame({"age": np.arange(200)})
        assert len(service.predict(rows)) == 200
        print(program.predict(rows[1:])[0])
    """
    with serving(Served(lambda rows: rows["age"] > 5)) as served:
        command = [sys.executable, "-W", "default", "-c", textwrap.dedent(code), f"{served.url}/predict"]
        done = subprocess.run([*command, str(tmp_path / "score.py")], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
