"""`fairprobe retrain` under way: an interrupt, a terminal."""

from __future__ import annotations

import skops.io


def test_interrupted_retraining_keeps_the_rounds_done(retrain, folder):
    done = retrain("--augment", "flip,twins", "--max-rounds", "3", "--out", "new.skops", model="clf:interrupted")
    assert done.code == 130, done.err
    first, last = done.err.splitlines()
    assert first.startswith("round 1: ")
    assert last.startswith("interrupted; kept: ")
    assert last.endswith("; written: new.skops")
    assert "Shares and accuracy, " in done.out
    assert "Stopped because it was interrupted" in done.out
    assert "The same again" not in done.out
    path = folder / "new.skops"
    assert "clf.Interrupted" in skops.io.get_untrusted_types(file=path)


def test_running_retraining_on_a_terminal(retrain, terminal):
    done = retrain("--max-rounds", "1", model="clf:slow")
    assert done.code == 0
    assert "fitting the model to compare with" in done.err
    assert "round 1: twins of 10% cases + all rows flipped (+" in done.err
    assert "fitting the model" not in done.out
