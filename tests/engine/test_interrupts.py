import signal

import pytest

from fairprobe.engine.interrupts import deferred, interruptible, uninterrupted


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_strikes_again_if_python_ignored_it():
    """As it does in a destructor, or a callback of the garbage collector: the search would have gone on to its end."""

    class Pressing:
        def __del__(self):
            press()

    with deferred() as interrupts:
        reached = False
        with pytest.raises(KeyboardInterrupt), interruptible():  # noqa: PT012  # what is between is the point
            Pressing()
            reached = True
            with uninterrupted():
                pass
            raise AssertionError("it went on")
        assert reached
        assert not interrupts.pending


def test_strikes_when_what_must_not_be_disturbed_is_done():
    with deferred() as interrupts:
        done = False
        with pytest.raises(KeyboardInterrupt), interruptible():  # noqa: PT012  # the line after must not be reached
            with uninterrupted():
                press()
                done = True
            raise AssertionError("it went on")
        assert done
        assert not interrupts.pending


def test_does_not_hide_an_error_that_came_first():
    with deferred() as interrupts:
        with pytest.raises(KeyError), interruptible(), uninterrupted():  # noqa: PT012
            press()
            raise KeyError
        assert interrupts.pending


def test_one_that_came_too_late_is_pending():
    with deferred() as interrupts:
        with interruptible():
            pass
        press()
        assert interrupts.pending
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_came_too_late_does_not_strike_whoever_comes_next():
    with deferred():
        press()
    with interruptible():
        pass
