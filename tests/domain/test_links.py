"""Links: tables of roles and shifts, as codes and for real rows; what is refused."""

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Derived, Domain, Integer, Link, Real, estimate
from fairprobe.errors import DataError, DomainError
from random_domains import every_input

SPOUSE = Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])
PARAMETERS = [
    Category("relationship", ["Husband", "Wife", "Single"]),
    Integer("height", 150, 160, 2),
    Category("race", ["A", "B", "C"]),
    Category("sex", ["Female", "Male"]),
]
DOMAIN = Domain(PARAMETERS, ["sex"])


def test_a_table():
    linked = DOMAIN.with_links([SPOUSE])
    assert linked.n_valid == 6 * 3 * 4  # no female husband, no male wife
    assert linked.without_links() == DOMAIN
    frame = pd.DataFrame(
        {
            "relationship": ["Husband", "Single", "Husband", "Cousin"],
            "height": [150, 151, 152, 153],
            "race": "A",
            "sex": ["Male", "Male", "Female", "Female"],
        }
    )
    members = linked.families.of_frame(frame)
    assert members.present.sum(axis=0).tolist() == [2, 2, 0, 2]
    women = members.frame.iloc[:3]
    assert women["relationship"].tolist() == ["Wife", "Single", "Cousin"]
    assert women["height"].tolist() == [150, 151, 153]


def test_a_rule_may_name_what_follows_from_a_number_off_the_grid():
    """A twin's shifted number is off the grid, so that nothing follows from it: the derived value is missing."""
    tens = Derived("tens", "x", {x: x // 10 for x in range(41)})
    parameters = [Integer("x", 0, 40), Category("sex", ["F", "M"]), tens]
    links = [Link("x", "sex", shift={"F": 0, "M": 12})]
    domain = Domain(parameters, ["sex"], constraints=["tens < 3 or tens is missing"], links=links)
    members = domain.families.of_frame(pd.DataFrame({"x": [10.5, 20.0], "sex": ["F", "F"], "tens": [1.0, 2.0]}))
    assert members.present.tolist() == [[True, True], [True, False]]
    assert members.frame["tens"].tolist()[:2] == [1, 2]


def test_a_model_that_lacks_a_sensitive_column_is_told_of_hidden():
    X = Domain([Integer("a", 0, 3), Integer("sex", 0, 1)], ["sex"]).sample(50, seed=0)
    tree = DecisionTreeClassifier().fit(X[["a"]], X["a"] > 1)
    domain = Domain([Integer("a", 0, 3), Integer("sex", 0, 1)], ["sex"])
    with pytest.raises(DataError, match=r"was not fitted on the sensitive sex: say hidden=\['sex'\]"):
        estimate(tree, domain)
    assert estimate(tree, Domain(domain.parameters, ["sex"], hidden=["sex"])).n == 0
    both = DecisionTreeClassifier().fit(X, X["a"] > 1)
    with pytest.raises(DataError, match=r"a hidden parameter must be none that Decision.* was fitted on, got 'sex'"):
        estimate(both, Domain(domain.parameters, ["sex"], hidden=["sex"]))


GROUP = Derived("a", "race", {"A": 1, "B": 2, "C": 3})


def linked(*links, parameters=PARAMETERS):
    return Domain(parameters, ["sex"], links=links)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linked(Link("relationship", "sex", [{"Male": "Husbnd"}])), "of 'relationship', got 'Husbnd'"),
        (lambda: linked(Link("relationship", "sex", [{"male": "Husband"}])), "got 'male': did you mean 'Male'"),
        (lambda: linked(Link("relation", "sex", [{"Male": "Husband"}])), "parameter: did you mean 'relationship'?"),
        (lambda: linked(Link("height", "race", per=1)), "must name a sensitive parameter, one of sex"),
        (lambda: linked(Link("sex", "sex", [{"Male": "Female"}])), "must change a parameter that is not sensitive"),
        (lambda: linked(SPOUSE, SPOUSE), "a column may have one link, got two for 'relationship'"),
        (lambda: linked(Link("height", "sex", shift={"Male": 1, "Female": 0})), "by whole steps of 2, got 1"),
        (lambda: linked(Link("height", "sex", shift={"Male": 2})), "a shift for each value that is compared, got none"),
        (lambda: linked(Link("race", "sex", shift={"Male": 2, "Female": 0})), "needs a column of numbers on a grid"),
        (lambda: linked(Link("height", "sex", per=2)), "needs a numeric sensitive parameter for per"),
        (lambda: linked("relationship"), "a link must be a fairprobe.Link, got 'relationship'"),
        (lambda: linked(SPOUSE).with_constraints(["relationship != 'Wife'"]), "no input with sex=Female and"),
        (lambda: linked(Link("a", "sex", [{"Male": 1}]), parameters=[*PARAMETERS, GROUP]), "must change 'race', which"),
        (lambda: Link("a", "s", [{"x": "1", "y": "1"}, {"x": "1"}]), "must be one-to-one, got '1' in two roles of 'x'"),
        (lambda: Link("a", "s"), "must have one of roles, shift and per, got none"),
        (lambda: Link("a", "s", [{"x": 1}], per=2), "got roles and per"),
        (lambda: Link("a", "s", [{"x": ["1", "2"]}]), "one value in each cell of a role, got ['1', '2'] for 'x'"),
        (lambda: Link(["a", "b"], "s", per=1), "must have one name as column, got ['a', 'b']: make a link for each"),
        (lambda: Domain(PARAMETERS, {"race": ["A", "BB"]}), "domain of 'race', got ['BB']: did you mean 'B'?"),
        (lambda: Link("a", "s", "Husband"), "must have a mapping of sensitive values to values for each role"),
        (lambda: Link("a", "s", shift={"x": "y"}), "shift must have a number for each sensitive value"),
        (lambda: Link("a", "s", per=0), "per must be a number other than 0, got 0"),
        (lambda: Domain(PARAMETERS, ["sex"], hidden=["race"]), "must name sensitive parameters, sex; got 'race'"),
        (lambda: Derived("a", "a", {1: 1}), "source must name another parameter, got 'a'"),
        (lambda: Derived("a", "b", {}), "mapping must have a value for each of 'b''s"),
        (lambda: linked(parameters=[*PARAMETERS, Derived("a", "race", {"A": 1})]), "'race''s, got none for 'B', 'C'"),
        (lambda: linked(parameters=[*PARAMETERS, Derived("a", "rce", {"A": 1})]), "got 'rce': did you mean 'race'?"),
        (lambda: Domain([*PARAMETERS, GROUP], ["a"]), "must not be derived, got 'a': name 'race'"),
    ],
)
def test_refused(make, message):
    with pytest.raises(DomainError) as caught:
        make()
    assert message in str(caught.value)


def test_a_rule_may_name_what_follows_from_a_value_that_is_not_compared():
    group = Derived("group", "race", {"A": "u", "B": "u", "C": "v"})
    domain = Domain([*PARAMETERS, group], {"race": ["A", "B"]}, constraints=["group != 'v' or height > 152"])
    assert domain.n_valid == domain.size


def test_a_shift_per_unit_is_rounded_the_same_way_whatever_the_last_bits():
    domain = Domain([Integer("s", -3, -2), Real("x", 0, 0.2, 0.1)], sensitive=["s"], links=[Link("x", "s", per=0.05)])
    codes = every_input(domain)
    assert domain.families.of(codes).allowed.all()  # half a step each: both are rounded to the same
