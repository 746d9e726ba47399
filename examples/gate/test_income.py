"""The limit as a test."""

from income import model, people


def test_sex_does_not_change_the_outcome(assert_no_discrimination):
    assert_no_discrimination(model, people, sensitive=["sex"], max_share=0.01)
