"""The plot of how a sampled share converges."""

import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import pytest

import fairprobe
from fairprobe.errors import SettingError
from fairprobe.estimation.drawing import convergence
from fairprobe.testing import box, never

LIKE_A_FORMULA = SimpleNamespace(
    model=lambda X: X[:, 1],
    domain=fairprobe.Domain([fairprobe.Integer("x", 0, 9), fairprobe.Integer("$a_b$ <&>", 0, 1)], ["$a_b$ <&>"]),
)


def texts_of(path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    return [element.text for element in root.iter() if element.tag.endswith("text") and element.text]


@pytest.mark.parametrize(
    ("toy", "settings"),
    [
        (LIKE_A_FORMULA, {"n_experiments": 3}),
        (never(), {"n_experiments": 30}),
        (box(), {"n_experiments": 1}),
        (box(), {"n_experiments": 2, "n_samples": 1}),
        (box(), {"width": 0.05}),
    ],
)
def test_odd_histories(tmp_path, toy, settings):
    share = fairprobe.estimate(toy.model, toy.domain, method="sample", **settings)
    convergence(share, tmp_path / "plot.svg")
    assert any(" and ".join(toy.domain.sensitive) in text for text in texts_of(tmp_path / "plot.svg"))


@pytest.mark.parametrize("shares", ["exact", "none"])
def test_what_cannot_be_drawn_is_refused(tmp_path, shares):
    given = fairprobe.estimate(box().model, box().domain) if shares == "exact" else []
    with pytest.raises(SettingError, match="a convergence plot needs a share"):
        convergence(given, tmp_path / "plot.svg")
