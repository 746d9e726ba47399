"""Defects of files and addresses, put back one at a time: each must be caught."""

from __future__ import annotations

import pytest
import tomli_w

from fairprobe import Category, Domain
from fairprobe.domain import Derived


def _without(content, keys):
    if isinstance(content, dict):
        return {key: _without(value, keys) for key, value in content.items() if key not in keys}
    return [_without(each, keys) for each in content] if isinstance(content, list) else content


def test_a_file_that_loses_what_none_stands_for_is_caught(monkeypatch, tmp_path):
    def check():
        follows = Derived("y", "x", {"p": 1, "q": 2, None: 5})
        domain = Domain([Category("s", ["a", "b"]), Category("x", ["p", "q"], missing=True), follows], sensitive=["s"])
        domain.to_toml(tmp_path / "d.toml")
        assert Domain.from_toml(tmp_path / "d.toml")["y"].of(["p", "q", None]) == [1, 2, 5]

    check()
    dumps = tomli_w.dumps
    monkeypatch.setattr(tomli_w, "dumps", lambda content: dumps(_without(content, {"if_missing", "missing_for"})))
    with pytest.raises(AssertionError):
        check()
