"""Boxes and their texts: a family is inside with all its members, and the text says what the box holds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Link, Ordinal, Real
from fairprobe.explanation.regions import Axes, Span

DOMAIN = Domain(
    [
        Integer("age", 18, 60, missing=True),
        Integer("wide", 0, 5000, 10),
        Real("rate", 0, 1, 0.1),
        Category("home town", ["it's", 'a "b"', "c\\d", "e"], missing=True),
        Category("many", [f"v{i}" for i in range(30)]),
        Category("flag", [False, True]),
        Ordinal("size", ["S", "M", "L"], missing=True),
        Category("kin", ["Husband", "Wife", "Child", "Other"]),
        Integer("height", 140, 210),
        Category("sex", ["Female", "Male"]),
    ],
    ["sex"],
    links=[
        Link("kin", "sex", [{"Male": "Husband", "Female": "Wife"}]),
        Link("height", "sex", shift={"Male": 13, "Female": 0}),
    ],
)
AXES = Axes(DOMAIN)
CODES = DOMAIN.sample_codes(3000, np.random.default_rng(0))


@st.composite
def boxes(draw):
    conditions = {}
    for place, axis in enumerate(AXES.each):
        if not draw(st.booleans()):
            continue
        if axis.is_ordered:
            low, high = sorted(draw(st.tuples(*[st.integers(0, axis.last)] * 2)))
            conditions[place] = Span(low, high, axis.missing is not None and draw(st.booleans()))
        else:
            conditions[place] = frozenset(draw(st.sets(st.integers(0, axis.n - 1), min_size=1)))
    return AXES.box(conditions)


@given(boxes())
def test_the_text_says_what_the_box_holds(box):
    if not box.conditions:
        return
    inside = AXES.inside(box, AXES.coordinates(CODES))
    assert (AXES.rule(box).matches(DOMAIN.decode(CODES)) == inside).all()
    assert (DOMAIN.part(AXES.rules(box)).allows(CODES) == inside).all()


@given(boxes())
def test_all_members_of_a_family_are_inside_or_none(box):
    coordinates = AXES.coordinates(CODES[:300])
    inside = AXES.inside(box, coordinates)
    members = DOMAIN.families.of(CODES[:300])
    for place, rows in enumerate(members.rows.reshape(len(DOMAIN.families), -1, CODES.shape[1])):
        present = members.allowed[place]
        assert (AXES.inside(box, AXES.coordinates(rows))[present] == inside[present]).all()


def test_a_role_is_said_by_all_who_play_it():
    place = [axis.parameter.name for axis in AXES.each].index("kin")
    spouse = AXES.coordinates(CODES[DOMAIN.decode(CODES)["kin"].to_numpy() == "Husband"])[0, place]
    box = AXES.box({place: frozenset([int(spouse)])})
    assert AXES.rule(box).text == "kin in ('Husband', 'Wife')"


def test_a_shift_is_said_by_sensitive_value():
    place = [axis.parameter.name for axis in AXES.each].index("height")
    box = AXES.box({place: Span(20, 40)})
    assert "sex == 'Female'" in AXES.rule(box).text
    assert "sex == 'Male'" in AXES.rule(box).text


def test_what_lets_everything_in_is_left_out():
    assert AXES.box({0: Span(0, AXES.each[0].last, True), 5: frozenset([0, 1])}).conditions == ()
