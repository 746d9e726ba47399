"""`--plot`: the convergence plot."""

from __future__ import annotations

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

SAMPLE = ("--method", "sample", "--experiments", 40, "--samples", 250)


def texts_of(path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    return [element.text for element in root.iter() if element.tag.endswith("text") and element.text]


def test_same_run_gives_the_same_bytes(estimate, folder):
    for name in ("one.svg", "two.svg"):
        outcome = estimate(*SAMPLE, "--plot", name)
        assert f"Written: {name}" in outcome.out
    content = (folder / "one.svg").read_bytes()
    assert content == (folder / "two.svg").read_bytes()
    assert b"<dc:date>" not in content
    assert estimate(*SAMPLE, "--seed", 1, "--plot", "three.svg").code == 0
    assert (folder / "three.svg").read_bytes() != content
    told = ("experiments", "share of the domain", "sensitive: sex; 10,000 inputs in 40 experiments", "95% interval:")
    assert set(told) <= set(texts_of(folder / "one.svg"))


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


def test_nothing_to_plot_is_noted_when_only_the_model_could_tell(estimate, folder):
    (folder / "fitted.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "tree = DecisionTreeClassifier().fit([[20, 0, 0], [80, 0, 0], [20, 1, 0], [80, 1, 0]], [0, 0, 0, 1])\n"
    )
    outcome = estimate("--exact-limit", 5, "--plot", "plot.svg", "--json", model="fitted:tree").says()
    assert "note: nothing-to-plot" in outcome.err
    assert not (folder / "plot.svg").exists()


@pytest.mark.parametrize("shares", ["exact", "none"])
def test_what_cannot_be_drawn_is_refused(tmp_path, shares):
    given = fairprobe.estimate(box().model, box().domain) if shares == "exact" else []
    with pytest.raises(SettingError, match="a convergence plot needs a share"):
        convergence(given, tmp_path / "plot.svg")
