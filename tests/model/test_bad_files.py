"""Files of strangers: nothing in them is run, what crashes a loader is a message, and so is what is broken."""

import io
import json
import os
import pickle
import re
import sys
import time
import zipfile

import hostile_files
import joblib
import numpy as np
import pytest
import skops.io
from real_files import SAFE, UNSAFE
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe.errors import DataError, FairprobeError, SettingError
from fairprobe.model.sources import reading, skops_files
from fairprobe.model.sources.reading import FileContent, Permission, kind_of

N_BROKEN = 8
QUICK = ("skops-forest", "onnx-network", "lightgbm-numbers", "xgboost-json", "torch", "pickle")
"""Truncated and bit-flipped each, of these kinds, in this process; a slow test tries 500 of all in others."""


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@pytest.fixture
def mark(tmp_path):
    """A file that must not come to be."""
    path = tmp_path / "was-here"
    yield path
    assert not path.exists()


def refused(path, message=None, **keywords):
    with pytest.raises((SettingError, DataError), match=message) as caught:
        fairprobe.load_model(path, **keywords)
    return str(caught.value)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_not_run(tmp_path, mark, protocol):
    path = tmp_path / "model.onnx"  # whatever it calls itself
    path.write_bytes(pickle.dumps([np.arange(3), Evil(mark)], protocol=protocol))
    refused(path, r"allow_unsafe_load must allow it, got .* would import .*posix\.system")


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("xz", 3)])
def test_a_joblib_file_is_not_run(tmp_path, mark, compress):
    """Behind arrays of numbers and of objects, which lie in the middle of the pickle."""
    path = tmp_path / "model.skops"
    content = [np.arange(1000.0), np.array(["a", None, 2.0], dtype=object), np.zeros(0), Evil(mark)]
    joblib.dump(content, path, compress=compress)
    assert kind_of(FileContent(path)) == reading.FILES["pickle or joblib"]
    refused(path, r"(?s)would import (?=.*posix\.system)(?=.*numpy_pickle)")


def test_a_name_that_is_computed_is_said(tmp_path, mark):
    # getattr is called for a module, whose name the next import takes.
    content = b"\x80\x04\x8c\x08builtins\x8c\x03str\x93\x8c\x02os\x85R\x8c\x06system\x93."
    (tmp_path / "model").write_bytes(content)
    refused(tmp_path / "model", r"builtins\.str.*whose name is computed")


def test_a_skops_file_with_a_function_is_not_run(tmp_path, mark):
    path = tmp_path / "model.bin"
    skops.io.dump(FunctionTransformer(func=os.system), path)
    refused(path, r"harmless, got posix\.system.*--trust")
    assert skops_files.read(FileContent(path), Permission(("posix.system",))).func is os.system  # if one wants it so


def node(name, loader, **more):
    module, _, own = name.rpartition(".")
    return {"__class__": own, "__module__": module, "__loader__": loader, **more}


def test_a_skops_file_that_calls_something_else(tmp_path, mark):
    """Every way of its format to name something: a method, an operator, a constructor, a generator of numbers."""
    word = node("builtins.str", "JsonNode", content=json.dumps(f"touch {mark}"))
    words = node("builtins.tuple", "TupleNode", content=[word])
    owner = node("subprocess.Popen", "ConstructorFromReduceNode", content=words)
    schemas = [
        node("os.system", "ConstructorFromReduceNode", content=words),
        node("os.system", "TypeNode"),
        node("subprocess.Popen", "ObjectNode", content=words),
        node("subprocess.Popen", "MethodNode", content={"func": "x", "obj": owner}),
        node("os.system", "OperatorFuncNode", attrs=words),
        node("os.system", "LossNode", __reduce__={"args": words}, content=words),
    ]
    for number, schema in enumerate(schemas):
        with zipfile.ZipFile(tmp_path / f"{number}.skops", "w") as archive:
            archive.writestr("schema.json", json.dumps({**schema, "protocol": 2, "_skops_version": "0.16.0"}))
    errors = [refused(path) for path in sorted(tmp_path.glob("*.skops"))]
    assert sum("must hold only types that are known to be harmless" in error for error in errors) >= 4


def test_a_tree_that_leads_out_of_itself_is_refused(tmp_path):
    """Asked, it would read whatever lies beside it."""
    tree = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    skops.io.dump(tree, tmp_path / "good")
    for field, value in (("left_child", 10**6), ("right_child", 0), ("feature", 7)):
        rewrite_nodes(tmp_path / "good", tmp_path / field, field, value)
        refused(tmp_path / field, "must lead from each node")
    assert fairprobe.load_model(tmp_path / "good").predict([[1.0]]) == [1]


def rewrite_nodes(path, other, field, value):
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and field in array.dtype.names:
                    array[field][0] = value
                    buffer = io.BytesIO()
                    np.save(buffer, array)
                    content = buffer.getvalue()
            target.writestr(name, content)


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "inside/../../secret.bin", "link.bin", "own.bin"])
@pytest.mark.parametrize("where", ["initializer", "attribute", "subgraph", "twice"])
def test_onnx_data_outside_the_file_are_refused(tmp_path, location, where):
    """Also by a field that is written twice, of which protobuf takes the last."""
    write_external(tmp_path / "model", location, where)
    refused(tmp_path / "model", "must hold its own data, got some in")


def write_external(path, location, where):
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    tensor = onnx.TensorProto(name="w", data_type=kinds.FLOAT, dims=[2, 2], data_location=kinds.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    inputs = [helper.make_tensor_value_info("x", kinds.FLOAT, [None, 2])]
    outputs = [helper.make_tensor_value_info("y", kinds.FLOAT, [None, 2])]
    nodes, initializers = [helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor]
    if where != "initializer":
        constant = helper.make_node("Constant", [], ["w"], value=tensor)
        nodes, initializers = [constant, *nodes], []
        if where == "subgraph":
            given = helper.make_tensor_value_info("w", kinds.FLOAT, [2, 2])
            inner = helper.make_graph([constant], "inner", [], [given])
            choice = helper.make_tensor("yes", kinds.BOOL, [], [True])
            nodes = [helper.make_node("If", ["yes"], ["w"], then_branch=inner, else_branch=inner), nodes[-1]]
            initializers = [choice]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    content = model.SerializeToString()
    if where == "twice":  # the last "location" counts; the first names nothing outside
        tensor.external_data[0].value = "x"
        entry = tensor.external_data[0].SerializeToString() + b"\x12" + bytes([len(location)]) + location.encode()
        del tensor.external_data[:]
        raw = tensor.SerializeToString() + b"\x6a" + bytes([len(entry)]) + entry
        outer = onnx.ModelProto.FromString(content)
        del outer.graph.initializer[:]
        graph = outer.graph.SerializeToString() + b"\x2a" + bytes([len(raw)]) + raw
        outer.ClearField("graph")
        content = outer.SerializeToString() + b"\x3a" + varint(len(graph)) + graph
    path.write_bytes(content)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def test_a_pickle_that_grows_without_end_is_only_looked_at(tmp_path):
    """Lists of lists, each holding the one before ten times over."""
    deep = []
    for _ in range(100):
        deep = [deep] * 10
    (tmp_path / "model").write_bytes(pickle.dumps(deep))
    refused(tmp_path / "model", "allow_unsafe_load")


@pytest.mark.parametrize("make", hostile_files.SKOPS)
def test_numbers_that_lead_out_of_a_model_are_refused(make, tmp_path):
    hostile_files.write_skops(make, tmp_path / "model")
    refused(tmp_path / "model", " must ")


@pytest.mark.parametrize("write", [hostile_files.lightgbm_with_linear_leaves, hostile_files.xgboost_of_other_weights])
def test_numbers_that_lead_out_of_a_booster_are_refused(write, tmp_path):
    refused(write(tmp_path / "model"), "does not hold")


def pipeline(**keywords):
    return Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier())], **keywords)


def test_nothing_is_cached_and_no_process_is_started(tmp_path):
    """Wherever in the model it is; a poisoned cache would run when the model is fitted again."""
    inner = GridSearchCV(pipeline(memory="cache"), {"tree__max_depth": [2]}, n_jobs=24)
    outer = VotingClassifier([("a", inner), ("b", BaggingClassifier(pipeline(memory="b"), n_jobs=3))], n_jobs=-1)
    bagging = hostile_files.bagging_of_many_processes()
    for model in (outer, bagging, make_pipeline(FeatureUnion([("a", StandardScaler())], n_jobs=2), bagging)):
        skops.io.dump(model, tmp_path / "model")
        loaded = fairprobe.load_model(tmp_path / "model")
        told = {(name.rpartition("__")[2], str(value)) for name, value in loaded.get_params(deep=True).items()}
        assert {value for name, value in told if name == "memory"} <= {"None"}
        assert {value for name, value in told if name == "n_jobs"} <= {"None", "1"}


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(pipeline(), {"memory": ["cache"]}),
        GridSearchCV(pipeline(), {"tree__max_depth": [1], "n_jobs": [24]}),
        GridSearchCV(pipeline(), [{"scale__path": ["cache"]}]),
        GridSearchCV(TfidfVectorizer(), {"input": ["filename"]}),
        make_pipeline(TfidfVectorizer(input="filename"), DecisionTreeClassifier()),
        FunctionTransformer(list),
        FunctionTransformer(np.log, kw_args={"path": "x"}),
        TfidfVectorizer(analyzer=list),
        SVC(kernel=tuple),
    ],
)
def test_parameters_that_name_files_or_what_is_called_are_refused(model, tmp_path):
    skops.io.dump(model, tmp_path / "model")
    refused(tmp_path / "model", "must hold a fitted model, got one in which no ")


def test_a_method_that_is_replaced_is_refused(tmp_path):
    model = DecisionTreeClassifier().fit(*hostile_files.rows())
    model._validate_X_predict = np.square
    skops.io.dump(model, tmp_path / "model")
    refused(tmp_path / "model", "no method is replaced, as '_validate_X_predict'")


def test_the_bytes_that_are_checked_are_those_that_are_loaded(tmp_path, monkeypatch, mark):
    """Another file takes its place as soon as it was read once."""
    path, other = tmp_path / "model", tmp_path / "other"
    skops.io.dump(DecisionTreeClassifier().fit(*hostile_files.rows()), path)
    skops.io.dump(FunctionTransformer(func=os.system), other)
    known = reading.kind_of

    def kind_of(content):
        kind = known(content)
        assert content.data
        os.replace(other, path)
        return kind

    monkeypatch.setattr(reading, "kind_of", kind_of)
    assert type(fairprobe.load_model(path)).__name__ == "DecisionTreeClassifier"


def refused_at_once(path, message, **keywords):
    begun = time.process_time()
    refused(path, message, **keywords)
    assert time.process_time() - begun < 3  # a second on a machine at rest; without the bounds minutes, or for ever


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_refused(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "model")
    refused_at_once(tmp_path / "model", "no regular file")
    refused_at_once("/dev/zero" if os.path.exists("/dev/zero") else tmp_path / "model", "no regular file")


def test_a_sparse_file_is_refused(tmp_path):
    for size in (6 * 2**30, 3 * 2**30):
        with open(tmp_path / "model", "wb") as file:
            file.truncate(size)
        refused_at_once(tmp_path / "model", "more than 4,294,967,296|none of these")


@pytest.mark.parametrize(
    "content",
    [
        b"(" * 5_000_000,
        b"(" * 5_000_000 + b".",
        b"]" * 5_000_000 + b".",
        b'{"learner":' + b"[" * 5_000_000,
        b'{"version":' + b'{"a":' * 1_000_000,
        b"\x80\x04" + b"(" * 5_000_000 + b".",
        b"\x08\x07\x3a" + b"\xff" * 5_000_000,
        b"tree\nversion=v4\n" + b"(" * 5_000_000,
    ],
    ids=range(8),
)
def test_what_is_nested_without_end_is_refused(tmp_path, content):
    pytest.importorskip("xgboost") if b"{" in content[:1] else None
    (tmp_path / "model").write_bytes(content)
    refused_at_once(tmp_path / "model", "must")


def test_what_unpacks_without_end_is_refused(tmp_path):
    import gzip

    zeros = bytes(2**20)
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("zeros.bin", "w", force_zip64=True) as part:
            for _ in range(300):
                part.write(zeros)
        schema = node("builtins.bytes", "BytesNode", file="zeros.bin", protocol=2, _skops_version="0.16.0")
        archive.writestr("schema.json", json.dumps(schema))
    refused_at_once(tmp_path / "model", "unpacked to [0-9,]+ bytes at most")
    many = node("builtins.list", "ListNode", content=[{**schema, "file": "small.bin"}] * 10_000)
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small.bin", bytes(2**16))
        archive.writestr("schema.json", json.dumps({**many, "protocol": 2, "_skops_version": "0.16.0"}))
    refused_at_once(tmp_path / "model", "unpacked to [0-9,]+ bytes at most")
    with gzip.open(tmp_path / "model", "wb", compresslevel=1) as file:
        file.write(b"\x80\x04B" + (2**31).to_bytes(4, "little"))
        for _ in range(150):
            file.write(zeros)
    refused_at_once(tmp_path / "model", "cannot be read any further")


def broken(content, n, seed):
    """Truncated and bit-flipped: half of the flips in the first bytes, where the structure is."""
    rng = np.random.default_rng(seed)
    made = [content[:size] for size in rng.integers(0, len(content), n)]
    for number in range(n):
        damaged = bytearray(content)
        for place in rng.integers(0, min(len(content), 2000) if number % 2 else len(content), 1 + number % 3):
            damaged[place] ^= 1 << int(rng.integers(8))
        made.append(bytes(damaged))
    return made


def check_broken(name, folder, n):
    """Each loads, or gives a message that says what to do; and the process that looks at them lives."""
    made = {**SAFE, **UNSAFE}[name](folder)
    allowed = {"allow_unsafe_load": True} if name in UNSAFE else {}
    n_said = 0
    for path in written_broken(made, folder, n):
        try:
            load(made, path, name, **allowed)
        except FairprobeError as error:
            n_said += 1
            check_message(error, path)
    assert n_said > n / 2  # most of what is broken is found out


def load(made, path, name, **keywords):
    if name == "torch":
        return fairprobe.load_model("nets:net", weights=path, **keywords)
    return fairprobe.load_model(path, **keywords)


def check_message(error, path):
    assert re.fullmatch(rf"(?!.*: :).* must .*[,;] got .*{re.escape(str(path))}.*", text := str(error)), text
    assert "must be one of the files" in text or "architecture" in text or text.endswith(reading.ADVICE), text
    assert len(text) < 2200


def written_broken(made, folder, n):
    whole = (made.weights or made.path).read_bytes()
    for number, content in enumerate(broken(whole, n, seed=1)):
        path = folder / f"broken-{number}"
        path.write_bytes(content)
        yield path


@pytest.mark.parametrize("name", QUICK)
def test_broken_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    check_broken(name, tmp_path, N_BROKEN)


def test_what_is_no_model(tmp_path):
    for content in (b"", b"age,sex\n1,2\n", b"\x00" * 100, b'{"a": 1}', b"PK\x03\x04" + b"\x00" * 50, b"tree\n"):
        (tmp_path / "file").write_bytes(content)
        refused(tmp_path / "file", "got")
    refused(tmp_path, "must be a file .*name the model's file in it")


def test_a_truncated_lightgbm_file_is_not_taken_for_a_smaller_model(tmp_path):
    made = SAFE["lightgbm-numbers"](tmp_path)
    text = made.path.read_text()
    cut = text[: text.index("\nTree=15")] + "\nend of trees\n"
    (tmp_path / "cut").write_text(cut)
    refused(tmp_path / "cut", "all 20 trees")
