"""Models from files answer as the objects that they were written from, for every output, and keep the contract."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from real_files import N_ASKED, SAFE, UNSAFE

import fairprobe
from fairprobe import Domain
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.model import Asker
from fairprobe.model.adapters import adapter_for
from fairprobe.testing import model_contract


@pytest.fixture(scope="module", params=[*SAFE, *UNSAFE])
def loaded(request, tmp_path_factory):
    """The name of the kind, what was written and what was loaded from it."""
    folder = tmp_path_factory.mktemp(request.param)
    made = {**SAFE, **UNSAFE}[request.param](folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delitem(sys.modules, "nets", raising=False)
        if request.param in UNSAFE:
            with pytest.warns(HealthWarning, match=r"unsafe-load: .*sklearn.tree._tree.Tree"):
                model = fairprobe.load_model(made.path, allow_unsafe_load=True)
        else:
            model = fairprobe.load_model(made.source or made.path, weights=made.weights)
        yield request.param, made, model


def test_it_answers_as_the_original(loaded):
    name, made, model = loaded
    rows = made.rows[:N_ASKED]
    domain = Domain.from_frame(made.rows, ["sex"])
    labels = Asker(model, domain).ask_frame(domain.typed(rows))
    if name == "torch":
        import torch

        with torch.no_grad():
            said = made.original(torch.tensor(rows.to_numpy(), dtype=torch.float32)).numpy()
        assert (labels == said.argmax(axis=1)).all()
        scores = Asker(model, domain, output="score").ask_frame(domain.typed(rows))
        np.testing.assert_allclose(scores, said[:, 1] - said[:, 0], atol=1e-5)
        return
    given = rows if hasattr(made.original, "feature_names_in_") else rows.to_numpy()
    likely = made.original.predict_proba(given)
    clear = np.abs(likely[:, 1] - 0.5) > 1e-6  # nearer than that, single precision may decide otherwise
    assert (labels == made.original.predict(given))[clear].all()
    assert clear.mean() > 0.9
    for output, expected in (("proba", likely), ("score", likely[:, 1])):
        if output == "score" and hasattr(model, "decision_function"):
            expected = made.original.decision_function(given)
        said = Asker(model, domain, output=output).ask_frame(domain.typed(rows))
        np.testing.assert_allclose(said, expected, atol=1e-5)


@pytest.mark.thinned(3)
def test_it_keeps_the_contract(loaded):
    _, made, model = loaded
    model_contract(model, Domain.from_frame(made.rows[:2000], ["sex"]))


def test_a_domain_with_other_columns_is_refused(loaded):
    name, made, model = loaded
    domain = Domain.from_frame(made.rows[:2000].drop(columns="age"), ["sex"])
    if name == "torch":
        with pytest.raises(fairprobe.errors.ModelError, match="12"):
            Asker(model, domain).ask(domain.sample_codes(5, np.random.default_rng(0)))
        return
    with pytest.raises(DataError, match=r"age|13 columns.*got 12"):
        Asker(model, domain)


def graph_loaded(path, nodes, inputs, outputs, tensors):
    """The model in a file with a graph of some nodes, each with its inputs and its output."""
    helper = pytest.importorskip("onnx").helper
    made = [helper.make_node(operation, taken, [given]) for operation, taken, given in nodes]
    graph = helper.make_graph(made, "net", inputs, outputs, tensors)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    return fairprobe.load_model(path)


def test_whole_numbers_above_what_single_precision_holds(tmp_path):
    """A graph in double precision tells 2**24 from 2**24 + 1, and so must what asks it."""
    onnx = pytest.importorskip("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    limit = helper.make_tensor("limit", double, [1], [2**24 + 0.5])
    inputs = [helper.make_tensor_value_info("x", double, [None, 2])]
    outputs = [helper.make_tensor_value_info("label", onnx.TensorProto.BOOL, [None, 2])]
    model = graph_loaded(tmp_path / "model", [("Greater", ["x", "limit"], "label")], inputs, outputs, [limit])
    domain = Domain([fairprobe.Integer("money", 2**24, 2**24 + 3), fairprobe.Integer("sex", 0, 1)], ["sex"])
    batch = Asker(model, domain).form.rows(np.array([[0, 0], [1, 0]]))
    assert model.predict(batch).reshape(-1, 2)[:, 0].tolist() == [False, True]


def test_other_boosters(tmp_path):
    """Regressors give numbers, of more classes each has its probability."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (500, 3)).astype(float)
    for number, (estimator, y) in enumerate(
        [(lightgbm.LGBMRegressor, X[:, 0] + X[:, 2]), (lightgbm.LGBMClassifier, X[:, 0] // 17)]
    ):
        original = estimator(n_estimators=5, verbose=-1).fit(X, y)
        original.booster_.save_model(tmp_path / f"model-{number}")
        model = fairprobe.load_model(tmp_path / f"model-{number}")
        np.testing.assert_allclose(model.predict(X), original.predict(X))
    assert model.predict_proba(X).shape == (500, 3)
    domain = Domain([fairprobe.Integer(name, 0, 50) for name in "abc"], ["c"])
    regressor = fairprobe.load_model(tmp_path / "model-0")
    model_contract(regressor, domain, outputs=["value"])
    with pytest.raises(fairprobe.errors.ModelError, match="output='value'"):
        Asker(regressor, domain).ask(domain.sample_codes(3000, rng))


def test_graphs_of_other_outputs(tmp_path):
    """A softmax gives probabilities, a sigmoid that of the second class, other numbers are scores, or one number."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto

    def made(operation, width):
        weights = np.random.default_rng(0).normal(size=(2, width)).astype(np.float32)
        tensor = helper.make_tensor("w", kinds.FLOAT, [2, width], weights.ravel().tolist())
        nodes = [("MatMul", ["x", "w"], "z"), *([(operation, ["z"], "y")] if operation else [])]
        inputs = [helper.make_tensor_value_info("x", kinds.FLOAT, ["n", 2])]
        outputs = [helper.make_tensor_value_info("y" if operation else "z", kinds.FLOAT, ["n", width])]
        return graph_loaded(tmp_path / f"{operation}{width}", nodes, inputs, outputs, [tensor]), weights

    domain = Domain([fairprobe.Integer("a", -9, 9), fairprobe.Integer("s", 0, 1)], ["s"])
    X = domain.sample(50, seed=0).to_numpy()
    for operation, width, output in [
        ("Softmax", 3, "proba"),
        ("Sigmoid", 1, "proba"),
        (None, 2, "score"),
        (None, 1, "value"),
    ]:
        model, weights = made(operation, width)
        can = adapter_for(model)
        assert (can.probabilities, can.scores) == (output == "proba", output == "score")
        model_contract(model, domain, outputs=["value"] if output == "value" else None)
        z = X @ weights
        expected = z.argmax(axis=1) if width > 1 else z[:, 0] > 0 if operation else z[:, 0]
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


def test_weights_of_another_architecture(tmp_path, monkeypatch):
    made = SAFE["torch"](tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    with pytest.raises(DataError, match=r"weights must be those of nets:other.*2\.weight"):
        fairprobe.load_model("nets:other", weights=made.weights)
    with pytest.raises(DataError, match="a whole safetensors file"):
        fairprobe.load_model("nets:net", weights=made.path)
    with pytest.raises(DataError, match="weights must be a file"):
        fairprobe.load_model("nets:net", weights="absent.safetensors")
    with pytest.raises(DataError, match="but weights: name the torch module"):
        fairprobe.load_model(made.weights)


def test_a_missing_package_names_the_command(tmp_path, monkeypatch):
    made = SAFE["lightgbm-numbers"](tmp_path)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(SettingError, match=r"LightGBM needs lightgbm.*pip install 'fairprobe\[lightgbm\]'"):
        fairprobe.load_model(made.path)


def test_extras_that_messages_name_exist():
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set()
    for file in (root / "src/fairprobe/model").rglob("*.py"):
        named |= set(re.findall(r'imported\(\s*"[\w.]+", "(\w+)"', file.read_text()))
    assert named == {"lightgbm", "onnx", "torch", "xgboost"}
    assert named <= set(extras)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"source": "subject:decision-tree", "trust": ["a.b"]}, ["trust is for skops files"]),
        ({"source": "subject:decision-tree", "weights": "w"}, ["weights is for a torch module"]),
        ({"source": "math:sin", "allow_unsafe_load": True}, ["allow_unsafe_load is for pickles"]),
        ({"source": "math:sin", "protocol": "oip"}, ["protocol is for services"]),
        ({"source": "math:sin", "weights": "w"}, ["weights", "math:sin"]),
        ({"source": "absent.onnx"}, ["module:attribute", "'absent.onnx'", "no such file"]),
        ({"source": "subject:decision-tree", "allow_unsafe_load": 1}, ["must be True or False, got 1"]),
        ({"source": "subject:decision-tree", "trust": 5}, ["must be names of types", "got 5"]),
    ],
)
def test_what_would_do_nothing_is_refused(arguments, parts):
    with pytest.raises(SettingError) as caught:
        fairprobe.load_model(**arguments)
    for part in parts:
        assert part in str(caught.value)
