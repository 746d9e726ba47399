"""`fairprobe domain`."""

from __future__ import annotations

from fairprobe.domain import Domain

COMMAND = ("domain", "--data", "rows.csv", "--label", "income", "--sensitive", "sex")


def test_file_can_be_edited_and_searched(fairprobe, search, folder):
    outcome = fairprobe(*COMMAND, "--out", "mine.toml")
    assert outcome.code == 0
    assert "3 parameters, 740,000 inputs; sensitive: sex; twins of an input: 1." in outcome.out
    text = (folder / "mine.toml").read_text()
    assert "low = 17" in text
    (folder / "mine.toml").write_text(text.replace("low = 17", "low = 45"))
    assert Domain.from_toml(folder / "mine.toml")["age"].levels == 46
    assert search("--max-cases", 3, domain="mine.toml").code == 0


def test_prints_by_default(fairprobe, folder):
    outcome = fairprobe(*COMMAND)
    (folder / "printed.toml").write_text(outcome.out)
    assert Domain.from_toml(folder / "printed.toml").names == ("age", "sex", "pay")
    assert outcome.err == ""


def test_values_to_compare_are_kept(fairprobe, folder):
    fairprobe("domain", "--data", "rows.csv", "--label", "income", "--sensitive", "age=20,40", "--out", "mine.toml")
    domain = Domain.from_toml(folder / "mine.toml")
    assert domain.sensitive == ("age",)
    assert domain["age"].levels == 2
