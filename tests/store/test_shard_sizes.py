"""Shards that unpack to more than a shard may hold are refused before they fill the memory."""

from __future__ import annotations

import numpy as np
import pytest

from fairprobe.errors import RunError
from fairprobe.store import shard_file
from fairprobe.store.shard_file import ShardContent, from_bytes, to_bytes


@pytest.mark.parametrize(
    "content",
    [
        ShardContent({"a": np.zeros(10_000, dtype=np.int8)}),
        ShardContent({"a": np.zeros(1)}, {"b": np.zeros(10_000, int)}),
    ],
    ids=["table", "array"],
)
def test_what_unpacks_to_too_much_is_refused(content, monkeypatch):
    data = to_bytes(content)
    assert len(from_bytes(data).columns["a"])
    monkeypatch.setattr(shard_file, "MOST_BYTES", 5_000)
    with pytest.raises(RunError, match="a shard must unpack to"):
        from_bytes(data)
