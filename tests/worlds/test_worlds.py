"""Random small worlds: every number and verdict of the package against a brute-force reference."""

import pytest
from checking import CI_WORLDS, check_seed, check_world
from hypothesis import given, settings
from hypothesis import strategies as st
from world import make_world

SLOW_WORLDS = 10_000


@pytest.mark.parametrize("first", range(0, CI_WORLDS, 20))
def test_every_number_is_the_references(first):
    for seed in range(first, first + 20):
        check_seed(seed)


@pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")
def test_labels_keep_their_type_where_no_linked_twin_is_there_to_be_asked_about():
    check_seed(1235)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SLOW_WORLDS, 250))
def test_every_number_of_many_worlds_is_the_references(first):
    for seed in range(first, first + 250):
        check_seed(seed)


@settings(max_examples=settings.default.max_examples // 3)  # a world takes as long as many an example
@given(st.randoms(use_true_random=False).map(make_world))
def test_worlds_that_hypothesis_can_shrink(world):
    """With HYPOTHESIS_PROFILE=wide it draws other worlds each time; one that differs is made as small as it can be."""
    check_world(world)
