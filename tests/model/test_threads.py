"""The OpenMP threads of a model are limited for short batches, and answers stay the same."""

import numpy as np
import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingClassifier

from fairprobe import Domain, Integer
from fairprobe.model.asking import Asker
from fairprobe.model.threads import WORTH, Threads


def in_use():
    return max(each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "openmp")


@pytest.fixture(autouse=True)
def two_threads():
    HistGradientBoostingClassifier(max_iter=1).fit(np.arange(20)[:, None], np.arange(20) % 2)  # brings OpenMP along
    with threadpoolctl.threadpool_limits(2, user_api="openmp"):
        yield


def test_a_short_batch_has_one_thread_and_a_long_one_all():
    threads = Threads()
    with threads.limited(1000):
        assert in_use() == 1
    assert in_use() == 2
    threads._seconds_a_row = WORTH / 1000
    with threads.limited(1100):
        assert in_use() == 2
    with threads.limited(900):
        assert in_use() == 1


def test_a_limit_ends_with_an_error():
    with pytest.raises(ValueError, match="no"), Threads().limited(1000):
        raise ValueError("no")
    assert in_use() == 2


def test_a_model_is_asked_within_the_limit():
    seen = []

    def model(X):
        seen.append(in_use())
        return X[:, 0] > 3

    domain = Domain([Integer("x", 0, 9), Integer("sex", 0, 1)], sensitive=["sex"])
    Asker(model, domain).ask(domain.sample_codes(100, np.random.default_rng(0)))
    assert seen[-1] == 1
