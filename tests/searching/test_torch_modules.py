"""Searches of torch modules: skipped without torch, run by scripts/test-models."""

import pytest
from scored import DOMAIN, WEIGHTS, Linear

from fairprobe import search

torch = pytest.importorskip("torch")

SETTINGS = {"n_walkers": 50, "n_global": 500, "n_local": 40, "max_cases": None, "max_inputs": 8_000}


@pytest.mark.parametrize("strategy", ["guided", "gradient"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_scores_guide(n_outputs, strategy):
    """`gradient` is an old name of `guided`."""
    module = torch.nn.Linear(7, n_outputs)
    with torch.no_grad():
        module.weight[:], module.bias[:] = 0, 0
        module.weight[-1], module.bias[-1] = torch.tensor(WEIGHTS, dtype=torch.float32), -60
    found = search(module, DOMAIN, strategy=strategy, **SETTINGS)
    assert Linear().is_case(found.cases.to_numpy()).all()
    assert found.yield_ > 0.4


def test_a_module_is_asked_in_evaluation_mode_and_given_back_as_it_was():
    """Left in training mode, with dropout and no weight on the sensitive input: noise is no case."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    with torch.no_grad():
        module[0].weight[:, DOMAIN.sensitive_columns[0]] = 0
    module.train()
    module[1].eval()
    modes = [part.training for part in module.modules()]
    for strategy in ("uniform", "anchored", "guided"):
        found = search(module, DOMAIN, strategy=strategy, **SETTINGS)
        assert found.n_cases == 0
        assert [part.training for part in module.modules()] == modes
