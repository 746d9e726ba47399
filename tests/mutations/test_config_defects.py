"""Defects of files and addresses, put back one at a time: each must be caught."""

import pytest
import tomli_w

from fairprobe import Category, Domain
from fairprobe.domain import Derived
from fairprobe.errors import SettingError
from fairprobe.model import redaction
from fairprobe.model.remote import connect


def _without(content, keys):
    if isinstance(content, dict):
        return {key: _without(value, keys) for key, value in content.items() if key not in keys}
    return [_without(each, keys) for each in content] if isinstance(content, list) else content


def test_a_file_that_loses_what_none_stands_for_is_caught(is_caught, tmp_path):
    def check():
        follows = Derived("y", "x", {"p": 1, "q": 2, None: 5})
        domain = Domain([Category("s", ["a", "b"]), Category("x", ["p", "q"], missing=True), follows], sensitive=["s"])
        domain.to_toml(tmp_path / "d.toml")
        assert Domain.from_toml(tmp_path / "d.toml")["y"].of(["p", "q", None]) == [1, 2, 5]

    dumps = tomli_w.dumps
    is_caught(check, tomli_w, "dumps", lambda content: dumps(_without(content, {"if_missing", "missing_for"})))


def test_an_address_that_is_redacted_in_the_whole_process_is_caught(is_caught, monkeypatch):
    def check():
        for _ in range(2):  # the second address is asked while the first is known
            with pytest.raises(SettingError, match="http://host/v2/models/2024/x"):
                connect("http://host/v2/models/2024/x?version=2024", protocol="oip")
        assert redaction.shortened("income in 2024") == "income in 2024"

    # Whatever an address says is a secret, and is hidden from then on in all that is shown.
    known = set()
    shown, redacted = redaction.shown_source, redaction.redacted

    def keeping(source):
        known.update(source.partition("?")[2].split("="))
        return shown(source)

    def everywhere(text):
        for each in sorted(known, key=len, reverse=True):
            text = text.replace(each, "***") if each else text
        return redacted(text)

    monkeypatch.setattr("fairprobe.model.protocols.shown_source", keeping)
    is_caught(check, redaction, "redacted", everywhere)
