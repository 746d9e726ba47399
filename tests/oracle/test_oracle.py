"""The oracle against a slow one in plain Python, written from the words of the design."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer
from fairprobe.errors import SettingError
from fairprobe.model import Asker
from fairprobe.oracle import Oracle
from fairprobe.testing import CountingModel
from random_domains import inputs


def twins_of(domain, row):
    """The input in all combinations of sensitive values, in domain order; those a constraint forbids are no inputs."""
    for values in itertools.product(*(range(domain[name].levels) for name in domain.sensitive)):
        member = list(row)
        for name, value in zip(domain.sensitive, values, strict=True):
            member[domain.names.index(name)] = value
        if domain.allows(np.array([member]))[0]:
            yield tuple(member)


def judge(domain, answers, row, output, threshold):
    """(gap, hit, case, twin, the two outputs, class) of one input, by loops; `answers` maps inputs to outputs."""
    members = list(twins_of(domain, row))
    if output == "label":
        labels = [answers[member] for member in members]
        gap = 0 if all(label == labels[0] for label in labels) else 1
        if gap <= threshold:
            return gap, False
        own = answers[tuple(row)]
        twin = next(member for member in members if answers[member] != own)
        return gap, True, tuple(row), twin, (own, answers[twin]), None
    n_classes = len(answers[members[0]])
    spans = []
    for position in range(n_classes):
        column = [answers[member][position] for member in members]
        spans.append(max(column) - min(column))
    gap = max(spans)
    if not gap > threshold:
        return gap, False
    position = spans.index(gap)
    number = {member: answers[member][position] for member in members}
    low, high = min(number.values()), max(number.values())
    ends = [member for member in members if number[member] in (low, high)]
    case = tuple(row) if tuple(row) in ends else ends[0]
    other = high if number[case] == low else low
    twin = next(member for member in members if number[member] == other)
    return gap, True, case, twin, (number[case], number[twin]), position if n_classes > 1 else None


class Table:
    """A model that looks its answers up; sensitive to nothing but what is in the table."""

    def __init__(self, domain, answers):
        self.domain = domain
        self.answers = answers

    def __call__(self, batch):
        codes = self.domain.encode(batch)
        return np.array([self.answers[tuple(row)] for row in codes.tolist()])


@st.composite
def small_domains(draw):
    n_sensitive = draw(st.integers(1, 3))
    sensitive = [Integer(f"s{i}", 0, draw(st.integers(1, 3 if n_sensitive < 3 else 2))) for i in range(n_sensitive)]
    free = [Integer("x", 0, draw(st.integers(0, 3))), Category("y", [2, 5])]
    order = draw(st.permutations(sensitive + free))
    names = [p.name for p in draw(st.permutations(sensitive))]
    return Domain(order, sensitive=names)


@st.composite
def subjects(draw, outputs, constrained):
    """A small domain and a table of answers for every input of it, with plenty of ties."""
    domain = draw(small_domains())
    if constrained:
        salt = draw(st.integers(0, 10**6))
        weights = np.random.default_rng(salt).integers(1, 50, len(domain.names))

        def is_allowed(frame):
            return (frame.to_numpy() @ weights) % 3 != 0

        if not is_allowed(domain.decode(every_input(domain))).any():
            constrained = False
        else:
            domain = Domain(domain.parameters, domain.sensitive, [is_allowed])
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = [tuple(row) for row in every_input(domain).tolist()]
    return domain, dict(zip(rows, outputs(rng, len(rows)), strict=True))


def every_input(domain):
    return np.array(list(itertools.product(*(range(p.levels) for p in domain.parameters))))


def words(rng, n):
    return rng.choice(["yes", "no", "perhaps"], n, p=[0.8, 0.1, 0.1]).tolist()


def signs(rng, n):
    return rng.choice([-1, 1], n, p=[0.9, 0.1]).tolist()


def scores(rng, n):
    return [(value,) for value in (rng.integers(0, 4, n) / 4).tolist()]


def probabilities(rng, n):
    counts = rng.multinomial(4, [0.5, 0.3, 0.2], size=n)
    return [tuple(row) for row in (counts / 4).tolist()]


def compare(data, domain, answers, output, threshold):
    table = {row: answer[0] for row, answer in answers.items()} if output in ("score", "value") else answers
    model = CountingModel(Table(domain, table))
    oracle = Oracle(Asker(model, domain, output=output), threshold)
    codes = data.draw(inputs(domain, max_size=12))
    judgement = oracle.judge(codes)
    expected = [judge(domain, answers, row, output, oracle.threshold) for row in codes.tolist()]
    assert judgement.gaps.tolist() == [verdict[0] for verdict in expected]
    assert judgement.hits.tolist() == [verdict[1] for verdict in expected]
    n_members = sum(len(list(twins_of(domain, row))) for row in codes.tolist())
    assert oracle.asker.n_queries == model.n_rows == n_members
    assert domain.families.of(codes).sizes.sum() == n_members
    for position, verdict in enumerate(expected):
        if verdict[1]:
            _, _, case, twin, pair, position_of_class = verdict
            ends = oracle.ends(oracle.judge(codes[position : position + 1]))
            assert tuple(ends.case[0].tolist()) == case
            assert tuple(ends.twin[0].tolist()) == twin
            assert tuple(ends.outputs[0].tolist()) == pair
            assert ends.gaps[0] == verdict[0]
            assert (None if ends.classes is None else int(ends.classes[0])) == position_of_class


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("labels", [words, signs])
@given(data=st.data())
def test_labels(labels, constrained, data):
    domain, answers = data.draw(subjects(labels, constrained))
    compare(data, domain, answers, "label", data.draw(st.sampled_from([None, 0, 0.5])))


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("output", ["score", "value"])
@given(data=st.data())
def test_scores_with_ties(output, constrained, data):
    """Gaps are quarters, thresholds too: a gap equal to the threshold is no case."""
    domain, answers = data.draw(subjects(scores, constrained))
    compare(data, domain, answers, output, data.draw(st.sampled_from([0, 0.25, 0.5, 0.6])))


@pytest.mark.parametrize("constrained", [False, True])
@given(data=st.data())
def test_probabilities(constrained, data):
    domain, answers = data.draw(subjects(probabilities, constrained))
    compare(data, domain, answers, "proba", data.draw(st.sampled_from([0, 0.25, 0.5, 0.6])))


@given(data=st.data())
def test_ends_of_a_batch_are_the_ends_of_each(data):
    domain, answers = data.draw(subjects(scores, False))
    table = {row: answer[0] for row, answer in answers.items()}
    oracle = Oracle(Asker(Table(domain, table), domain, output="score"), 0.0)
    codes = domain.sample_codes(200, np.random.default_rng(data.draw(st.integers(0, 999))))
    codes = codes[oracle.judge(codes).hits]
    if not len(codes):
        return
    ends = oracle.ends(oracle.judge(codes))
    for position, row in enumerate(codes.tolist()):
        _, _, case, twin, pair, _ = judge(domain, answers, row, "score", 0.0)
        assert (tuple(ends.case[position].tolist()), tuple(ends.twin[position].tolist())) == (case, twin)
        assert tuple(ends.outputs[position].tolist()) == pair


# Threshold

PAIR = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], sensitive=["s"])


def gap_of_tenths(X):
    return X[:, 0] / 10 * X[:, 1]


@pytest.mark.parametrize("tenths", range(10))
def test_the_threshold_itself_is_no_case(tenths):
    oracle = Oracle(Asker(gap_of_tenths, PAIR, output="score"), tenths / 10)
    judgement = oracle.judge(np.column_stack([np.arange(10), np.zeros(10, int)]))
    assert judgement.hits.tolist() == [x > tenths for x in range(10)]


def test_labels_have_the_threshold_zero():
    assert Oracle(Asker(gap_of_tenths, PAIR)).threshold == 0


@pytest.mark.parametrize("output", ["score", "proba", "value"])
def test_others_need_one(output):
    with pytest.raises(SettingError, match=f"output='{output}' needs a threshold: the gap above which"):
        Oracle(Asker(gap_of_tenths, PAIR, output=output))


@pytest.mark.parametrize("threshold", [-0.1, np.nan, np.inf, "much", [1]])
def test_a_threshold_must_be_a_number_from_zero_on(threshold):
    with pytest.raises(SettingError, match="threshold must be a finite number of at least 0, got"):
        Oracle(Asker(gap_of_tenths, PAIR, output="score"), threshold)


@pytest.mark.parametrize("threshold", [1, 2.0])
def test_a_threshold_that_no_label_can_exceed(threshold):
    with pytest.raises(SettingError, match="threshold must be below 1 for labels, whose gap is 0 or 1, got"):
        Oracle(Asker(gap_of_tenths, PAIR), threshold)


def test_labels_are_names_not_numbers():
    """-1 and +1 are as far apart as 0 and 1: a gap of 1."""
    oracle = Oracle(Asker(lambda X: np.where(X[:, 1] == 1, 100, -100), PAIR))
    assert oracle.judge(np.array([[3, 0]])).gaps.tolist() == [1.0]


def test_tiny_differences_of_numeric_labels_count():
    oracle = Oracle(Asker(lambda X: 1e-300 * X[:, 1], PAIR))
    assert oracle.judge(np.array([[3, 0]])).hits.tolist() == [True]


def test_a_family_of_one_allowed_member_has_no_gap():
    domain = Domain(PAIR.parameters, ["s"], [lambda frame: frame["s"] == 0])
    oracle = Oracle(Asker(gap_of_tenths, domain, output="score"), 0)
    judgement = oracle.judge(np.array([[9, 0], [5, 0]]))
    assert judgement.gaps.tolist() == [0, 0]
    assert not judgement.hits.any()
    assert oracle.asker.n_queries == 2
