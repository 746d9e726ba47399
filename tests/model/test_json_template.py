"""A service with a JSON of its own: its template, its paths, and a real one on loopback."""

import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.json_template import TemplatedJson
from fairprobe.model.protocols import EncodedRows
from tests.model.serving import Served, serving

DOMAIN = Domain([Integer("age", 17, 90), Category("sex", ["F", "M"])], sensitive=["sex"])
BATCH = EncodedRows(pd.DataFrame({"age": [20, 30], "sex": ["F", "M"]}), as_objects=True)
TEMPLATE = '{"version": 2, "applicants": [{"features": "ROW", "of": "web"}]}'
PATHS = {"label": "decisions[*].label", "score": "decisions[*].points[0]"}


def decide(rows):
    return np.where(rows["age"] + 10 * (rows["sex"] == "M") > 50, "granted", "refused")


@contextmanager
def lending():
    """The address of a server that takes `applicants` and gives `decisions`, and the list of what it was sent."""
    bodies = []

    def lend(handler):
        body = json.loads(handler.body)
        bodies.append(body)
        if "applicants" not in body:
            return ({"decision": decide(pd.DataFrame([body["values"]], columns=["age", "sex"]))[0]},)
        rows = pd.DataFrame([each["features"] for each in body["applicants"]])
        points = (rows["age"] + 10 * (rows["sex"] == "M")).tolist()
        given = zip(decide(rows).tolist(), points, strict=True)
        return ({"decisions": [{"label": label, "points": [each]} for label, each in given]},)

    with serving(Served(decide, override=lend)) as served:
        yield f"{served.url}/decide", bodies


def test_what_a_real_service_says_is_what_the_model_says():
    with lending() as (address, bodies):
        model = fairprobe.load_model(address, json_template=TEMPLATE, answers=PATHS)
        share, own = (fairprobe.estimate(each, DOMAIN, n_experiments=2, n_samples=200) for each in (model, decide))
        assert (share.hits, share.n) == (own.hits, own.n)
        scores = fairprobe.estimate(model, DOMAIN, n_experiments=2, n_samples=100, output="score", threshold=9.5)
        assert scores.value == 1
        assert bodies[-1]["version"] == 2
        assert set(bodies[-1]["applicants"][0]) == {"features", "of"}
        with pytest.raises(SettingError, match="answers must have the path of the output that is asked for"):
            fairprobe.estimate(model, DOMAIN, output="proba", threshold=0.1)


def test_a_service_of_one_row_a_request():
    with lending() as (address, bodies):
        model = fairprobe.load_model(address, json_template='{"values": "VALUES"}', answers={"label": "decision"})
        frame = DOMAIN.sample(20, seed=0)
        assert (model.predict(frame) == decide(frame)).all()
        assert [each["values"] for each in bodies[-20:]] != []
        assert all(len(each["values"]) == 2 for each in bodies)


def test_a_path_that_leads_nowhere_is_said_with_what_was_answered():
    with lending() as (address, _):
        wrong = {"label": "decisions[*].lable"}
        model = fairprobe.load_model(address, json_template=TEMPLATE, answers=wrong, retries=0)
        with pytest.raises(ModelError) as raised:
            model.predict(DOMAIN.sample(2, seed=0))
    said = str(raised.value)
    assert "nothing at 'lable' of the path 'decisions[*].lable' in '{\"label\": " in said
    assert "did you mean 'label'?" in said


@pytest.mark.parametrize(
    ("template", "request_of_two"),
    [
        (TEMPLATE, {"version": 2, "applicants": [{"features": each, "of": "web"} for each in BATCH.plain]}),
        ('{"rows": ["ROW"]}', {"rows": BATCH.plain}),
        ('["ROW"]', BATCH.plain),
        ('{"jobs": [{"rows": ["ROW"]}]}', {"jobs": [{"rows": BATCH.plain}]}),
    ],
)
def test_the_list_around_the_row_gets_an_element_for_each(template, request_of_two):
    service = TemplatedJson("http://h", template, {"label": "[*]"})
    assert not service.is_single
    assert json.loads(service.request(BATCH, [0, 1], None)) == request_of_two


def test_a_template_without_a_list_has_one_row():
    service = TemplatedJson("http://h", '{"row": "ROW", "tags": ["a", "b"]}', {"label": "label"})
    assert service.is_single
    assert json.loads(service.request(BATCH, [1], None)) == {"row": BATCH.plain[1], "tags": ["a", "b"]}
    assert service.values({"label": "yes"}, 1, "label") == ["yes"]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"json_template": "{applicants: [ROW]}"}, "json_template must be JSON, got '{applicants: "),
        ({"json_template": '{"rows": []}'}, '"ROW" (an object) or "VALUES" (a list) once, where a row stands'),
        ({"json_template": '["ROW", "ROW"]'}, 'must hold "ROW" (an object) or "VALUES" (a list) once'),
        ({"json_template": '["ROW"]'}, "answers must have the path of each output in the JSON of an answer"),
        ({"json_template": '["ROW"]', "answers": {"label": "label"}}, "got 'label' for 'label': as decisions[*].label"),
        ({"json_template": '["ROW"]', "answers": {"label": "a[*].b[*]"}}, "with [*] once if a request has many rows"),
        ({"json_template": '["ROW"]', "answers": {"label": "a[x]"}}, "got 'a[x]' for 'label'"),
        ({"json_template": '["ROW"]', "answers": {"label": "a" * 50 + "["}}, "[' for 'label'"),
        ({"json_template": '"ROW"', "answers": {"label": "[*]"}}, "got '[*]' for 'label'"),
        ({"json_template": '["ROW"]', "answers": {"label": "[*]"}, "protocol": "oip"}, "protocol must be left out"),
        ({"json_template": '"ROW"', "answers": {"label": "a"}, "batch_rows": 5}, "batch_rows must be 1 for"),
    ],
)
def test_refused(options, rule):
    with pytest.raises(SettingError) as caught:
        fairprobe.load_model("http://127.0.0.1:9/decide", **options)
    assert rule in str(caught.value)
