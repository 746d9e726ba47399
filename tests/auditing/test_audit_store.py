"""An audit that is kept: made again, it asks nothing twice."""

from __future__ import annotations

from audited import model, small

from fairprobe.store.run_folder import RunReader


def test_an_audit_goes_on_from_its_store(tmp_path):
    fresh = small()
    asked = []

    def counted(frame):
        asked.append(len(frame))
        return model(frame)

    kept = {"store": tmp_path / "runs", "model_id": "counted"}  # what it was asked is no part of it
    first = small(counted, **kept)
    n, asked[:] = sum(asked), []
    again = small(counted, **kept)
    assert sum(asked) < n
    assert first.content["shares"] == again.content["shares"] == fresh.content["shares"]
    kinds = {path.name: RunReader(path).kind for path in (tmp_path / "runs").iterdir()}
    assert {"search", "estimate"} == set(kinds.values())
