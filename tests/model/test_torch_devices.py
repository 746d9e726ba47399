"""A torch module's rows, without torch: on the module's device, and of the parameters that it sees alone."""

import sys
import types
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fairprobe import Category, Domain, Integer, Link, search
from fairprobe.errors import SettingError
from fairprobe.model import Asker

DOMAIN = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"])


@dataclass
class Tensor:
    """Numbers on a device: only those of the processor can be looked at."""

    numbers: np.ndarray
    device: str = "cpu"

    ndim = property(lambda self: self.numbers.ndim)
    shape = property(lambda self: self.numbers.shape)

    def to(self, device="cpu"):
        return replace(self, device=device)

    cpu = to

    def double(self):
        assert self.device != "mps", "this device has no double precision"
        return replace(self, numbers=self.numbers.astype(np.float64))

    def numpy(self):
        assert self.device == "cpu", "rows must come back from the device"
        return self.numbers


class Module:
    """x + 10 s above 12, where the weights are; what holds none is on no device."""

    def __init__(self, device="cuda:0", holds="parameters"):
        self._device = device
        self.parameters = lambda: iter([Tensor(np.ones(2), device)] if holds == "parameters" else [])
        self.buffers = lambda: iter([Tensor(np.ones(2), device)] if holds == "buffers" else [])
        self.modules = lambda: iter([])

    def __call__(self, rows):
        assert rows.device == self._device, f"rows on {rows.device}, weights on {self._device}"
        return replace(rows, numbers=rows.numbers @ np.array([1.0, 10.0], dtype=np.float32) - 12)


Module.__module__ = "torch.nn.modules.module"


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    fake = types.ModuleType("torch")
    fake.from_numpy, fake.no_grad = Tensor, nullcontext
    monkeypatch.setitem(sys.modules, "torch", fake)


@pytest.mark.parametrize(
    ("device", "holds"), [("cpu", "parameters"), ("cuda:0", "parameters"), ("mps", "buffers"), ("cpu", "nothing")]
)
def test_rows_are_where_the_module_is(device, holds):
    module = Module(device, holds)
    asker = Asker(module, DOMAIN, output="score")
    codes = np.array([[9, 0], [9, 1]])
    assert asker.ask(codes).tolist() == [-3, 7]
    assert Asker(module, DOMAIN).ask(codes).tolist() == [0, 1]
    assert search(module, DOMAIN, strategy="random", max_cases=3).n_cases == 3


def test_text_that_the_module_does_not_see():
    parameters = [*DOMAIN.parameters, Category("group", ["a", "b"])]
    domain = Domain(parameters, ["group"], hidden=["group"], links=[Link("s", "group", [{"a": 0, "b": 1}])])
    found = search(Module(), domain, strategy="random", max_cases=3)
    assert found.n_cases == 3
    assert (found.cases["s"] != found.twins["s"]).all()
    with pytest.raises(SettingError, match="a torch module needs numbers"):
        Asker(Module(), Domain(parameters, ["group"]))
