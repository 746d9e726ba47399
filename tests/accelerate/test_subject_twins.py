"""The paper's six classifiers."""

from __future__ import annotations

import numpy as np
import pytest

from fairprobe import Domain, subjects
from fairprobe.accelerate import agrees, compile_twins
from fairprobe.datasets import census_domain, load_census
from fairprobe.model import Asker

INPUTS = {"svm": 60}


@pytest.mark.parametrize("name", subjects.names())
@pytest.mark.parametrize("sensitive", [["sex"], ["race", "sex"]])
def test_a_subject(name, sensitive):
    if name == "svm" and len(sensitive) > 1:
        pytest.skip("libsvm takes too long for ten twins each")
    domain = Domain(census_domain().parameters, sensitive)
    model = subjects.load(name)
    twins, asker = compile_twins(model, domain), Asker(model, domain)
    codes = domain.sample_codes(INPUTS.get(name, 3000), np.random.default_rng(0))
    assert agrees(twins, asker, codes)
    assert name == "svm" or (twins.ask_families(codes)[0] != twins.ask_families(codes)[1]).any()


@pytest.mark.parametrize("name", ["random-forest", "ensemble", "mlp"])
def test_real_rows(name):
    domain = census_domain()
    rows, _ = load_census(encoded=True, split="test")
    codes = domain.encode(rows)
    codes = codes[(codes >= 0).all(axis=1)][:3000]
    model = subjects.load(name)
    assert agrees(compile_twins(model, domain), Asker(model, domain), codes)
