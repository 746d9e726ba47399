"""The gate "impact", a limit on the ratio of observed rates: from the arguments of an audit to its report."""

from __future__ import annotations

import pandas as pd
import pytest
from audited import model
from audited import rows as few

from fairprobe import Domain, audit
from fairprobe.errors import SettingError

QUICK = {"populations": ["rows"], "max_judged": 100, "explain_queries": 100, "selfcheck": False}


def rows():
    return pd.concat([few()] * 4, ignore_index=True)


def judged(answer=model, **settings):
    asked = {"gate": "impact", "favourable": "yes", "rows_are": "held-out", **QUICK, **settings}
    return audit(answer, rows(), domain=Domain.from_frame(rows(), ["sex"]), **asked)


@pytest.fixture(scope="module")
def by_sex():
    return judged(
        lambda frame: [
            "yes" if sex == "Male" or age > 50 else "no" for sex, age in zip(frame["sex"], frame["age"], strict=True)
        ]
    )


def test_a_ratio_below_the_limit_is_violated_in_every_form(by_sex, tmp_path):
    (told,) = by_sex.content["ratios"]
    assert by_sex.exit_code == 1
    assert by_sex.verdict.outcomes == {"impact/sex": "violated"}
    assert told["high"] < by_sex.content["question"]["min_ratio"] == 0.8
    rates = {each["value"]: each["rate"] for each in by_sex.content["impact"]}
    assert told["ratio"] == rates["Female"] / rates["Male"]
    for name, write in (("html", by_sex.to_html), ("md", by_sex.to_markdown), ("xml", by_sex.to_junit)):
        write(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "the lowest rate by sex is" in text.lower()
    assert 'type="violated"' in text
    assert 'classname="fairprobe.ratio"' in text
    assert "lowest observed rate at least 80% of the highest" in (tmp_path / "md").read_text(encoding="utf-8")


def test_the_ratio_is_told_without_being_bound():
    found = audit(model, rows(), sensitive=["sex"], max_share=0.5, favourable="yes", **QUICK)
    assert found.content["ratios"][0]["confidence"] == 0.95
    assert "impact/sex" not in found.verdict.outcomes
    assert found.content["question"]["min_ratio"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_share": 0.1}, "max_share limits shares, where gate='impact' limits the ratio of rates"),
        ({"favourable": None}, "gate 'impact' is about rows, and needs the good outcome"),
        ({"gate": "impact density"}, "gate 'impact' is about rows, and needs the good outcome"),
        ({"min_ratio": 1.5}, "min_ratio must be a number from 0 to 1, got 1.5"),
        ({"gate": "rows", "min_ratio": 0.8}, "min_ratio goes with gate='impact', got gate='rows'"),
        ({"output": "value", "threshold": 1, "favourable": "highest"}, "favourable must be a label for gate='impact'"),
    ],
)
def test_refused(settings, message):
    answer = (lambda frame: frame["age"] * 1.0) if "output" in settings else model
    with pytest.raises(SettingError) as caught:
        judged(answer, **settings)
    assert message in str(caught.value)
