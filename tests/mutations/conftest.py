import pytest


@pytest.fixture
def is_caught(monkeypatch):
    """A check that holds, and no longer does with a defect put back at a seam or by a function."""

    def is_caught(check, *seam, errors=AssertionError):
        check()
        if len(seam) == 1:
            seam[0](monkeypatch)
        else:
            monkeypatch.setattr(*seam)
        with pytest.raises(errors):
            check()

    return is_caught
