"""Every result has a line, a dictionary and a picture of itself in a notebook."""

import json
from html.parser import HTMLParser

import pytest
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.blocks import Result

EVIL = "<script>alert(1)</script>"
DOMAIN = Domain([Integer("age", 18, 60), Category(EVIL, ["a", "b & c"])], sensitive=[EVIL])


def model(frame):
    return (frame["age"] > 40) & (frame[EVIL] == "a")


@pytest.fixture(scope="module")
def results():
    share = fairprobe.estimate(model, DOMAIN)
    X = DOMAIN.sample(300, seed=0)
    coded = X.assign(**{EVIL: (X[EVIL] == "a").astype(int)})
    numbers = Domain([Integer("age", 18, 60), Integer(EVIL, 0, 1)], sensitive=[EVIL])
    tree = DecisionTreeClassifier(max_depth=3)
    better = fairprobe.retrain(
        tree, coded, model(X), numbers, augment="flip", max_rounds=1, n_select=200, n_report=200, controls=False
    )
    return {
        "Found": fairprobe.search(model, DOMAIN, max_cases=8),
        "Share": share,
        "Comparison": fairprobe.compare(model, lambda frame: frame["age"] > 40, DOMAIN),
        "Verdict": fairprobe.verdict(share, max_share=0.01),
        "Retrained": better,
    }


class Text(HTMLParser):
    """The tags that are open at the end, and all the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], "", set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")
@pytest.mark.parametrize("name", ["Found", "Share", "Comparison", "Verdict", "Retrained"])
def test_a_line_a_dictionary_and_html(results, name):
    result = results[name]
    line = repr(result)
    assert line.startswith(f"{name}(")
    assert "\n" not in line
    is_in_blocks = isinstance(result, Result)
    assert json.loads(json.dumps(result.jsonable() if is_in_blocks else result.summary(), allow_nan=False))
    page = Text()
    page.feed(result._repr_html_())
    assert not page.open
    assert page.text.startswith(line[len(name) + 1 : 30] if is_in_blocks else f"{name} ")
    assert "script" not in page.tags
    if name in ("Found", "Verdict"):
        assert EVIL in page.text
