"""`gradient`, with torch and without."""

import importlib
import importlib.util

import pytest
from scored import DOMAIN, WEIGHTS, Linear

from fairprobe import search
from fairprobe.errors import SettingError
from fairprobe.searching.registry import choose_strategy
from fairprobe.testing import strategy_checks

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

SETTINGS = {"n_walkers": 50, "n_global": 500, "n_local": 40, "max_cases": None, "max_inputs": 8_000}


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(
        importlib.import_module("fairprobe.searching.strategies.gradient"), "find_spec", lambda name: None
    )
    with pytest.raises(SettingError, match=r"needs torch, got none: pip install 'fairprobe\[torch\]'"):
        search(Linear(), DOMAIN, strategy="gradient")


def test_other_models_are_refused(monkeypatch):
    monkeypatch.setattr(
        importlib.import_module("fairprobe.searching.strategies.gradient"), "find_spec", lambda name: object()
    )
    with pytest.raises(SettingError, match="strategy='gradient' needs a torch module, got Linear"):
        search(Linear(), DOMAIN, strategy="gradient")


if importlib.util.find_spec("torch"):
    import torch

    def linear(n_outputs=1):
        """The model of the other tests: one output, or one for each of two classes."""
        module = torch.nn.Linear(7, n_outputs)
        with torch.no_grad():
            module.weight[:] = 0
            module.bias[:] = 0
            module.weight[-1] = torch.tensor(WEIGHTS, dtype=torch.float32)
            module.bias[-1] = -60
        return module


needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


@needs_torch
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_gradients_guide(n_outputs):
    found = search(linear(n_outputs), DOMAIN, strategy="gradient", **SETTINGS)
    assert Linear().is_case(found.cases.to_numpy()).all()
    assert found.yield_ > 0.65
    assert choose_strategy(linear()) == "gradient"


@needs_torch
@pytest.mark.parametrize(
    ("name", "check"), strategy_checks()[:2], ids=lambda value: value if isinstance(value, str) else ""
)
def test_asking_and_telling_conforms(name, check):
    """The checks by searching need toys that are no modules."""
    check("fairprobe.searching.strategies.gradient:Gradient")


@needs_torch
def test_a_module_is_asked_in_evaluation_mode_and_given_back_as_it_was():
    """Left in training mode, with dropout and no weight on the sensitive input: noise is no case."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    with torch.no_grad():
        module[0].weight[:, DOMAIN.sensitive_columns[0]] = 0
    module.train()
    module[1].eval()
    modes = [part.training for part in module.modules()]
    for strategy in ("uniform", "anchored", "gradient"):
        found = search(module, DOMAIN, strategy=strategy, **SETTINGS)
        assert found.n_cases == 0
        assert [part.training for part in module.modules()] == modes


@needs_torch
def test_a_module_without_gradients_is_searched_without_and_that_is_said():
    class Rounded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = linear()

        def forward(self, X):
            return self.inner(X).detach()

    found = search(Rounded(), DOMAIN, strategy="gradient", **SETTINGS)
    assert found.n_cases > 0
    assert "the module must have gradients" in dict(found.health)["no-hints"]
