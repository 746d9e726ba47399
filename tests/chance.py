"""How likely is that by chance? Seeds are fixed, so a test that passes today passes always, until the code changes."""

import numpy as np
from scipy.special import chdtrc

SURPRISING = 1e-6
"""A right sampler would fail a test against this once in a million seeds."""


def p_if_uniform(values, n_values):
    """The chance of counts at least as uneven as these (chi-square), if every value 0 ... n - 1 were as likely."""
    counts = np.bincount(np.asarray(values), minlength=n_values)
    assert len(counts) == n_values
    expected = len(values) / n_values
    assert expected >= 5, "too few for a chi-square test"
    return chdtrc(n_values - 1, ((counts - expected) ** 2 / expected).sum())
