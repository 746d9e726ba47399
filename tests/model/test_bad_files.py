"""Files of strangers: nothing in them is run, what crashes a loader is a message, and so is what is broken."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from real_files import SAFE, UNSAFE
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe.errors import DataError, FairprobeError, SettingError
from fairprobe.model.sources import guard, lightgbm_files, mlflow_folders, pickles, reading, skops_files
from fairprobe.model.sources.guard import tried
from fairprobe.model.sources.reading import Permission, kind_of

N_BROKEN = 8
QUICK = ("skops-forest", "onnx-network", "lightgbm-numbers", "xgboost-json", "torch", "pickle")
"""Truncated and bit-flipped each, of these kinds; the slow suite tries 500, of all."""

RUNS_CODE = (reading.FILES["pickle or joblib"], reading.FILES["MLflow (a folder)"])
"""What is read also with all that it asks for allowed, as a broken file of one's own would be."""


class Evil:
    """Writes a file as it is loaded."""

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


def refused(path, *parts, kind=SettingError, **keywords):
    with pytest.raises(kind) as caught:
        fairprobe.load_model(path, **keywords)
    for part in parts:
        assert part in str(caught.value), caught.value


# Malicious


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_not_run(tmp_path, mark, protocol):
    path = tmp_path / "model.onnx"  # whatever it calls itself
    path.write_bytes(pickle.dumps([np.arange(3), Evil(mark)], protocol=protocol))
    refused(path, "would import", "posix.system", "allow_unsafe_load")


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("xz", 3)])
def test_a_joblib_file_is_not_run(tmp_path, mark, compress):
    """Behind arrays of numbers and of objects, which lie in the middle of the pickle."""
    path = tmp_path / "model.skops"
    content = [np.arange(1000.0), np.array(["a", None, 2.0], dtype=object), np.zeros(0), Evil(mark)]
    joblib.dump(content, path, compress=compress)
    assert kind_of(path) == reading.FILES["pickle or joblib"]
    with pytest.raises(SettingError, match=r"would import posix\.system.*numpy_pickle"):
        pickles.read(path, Permission())


def test_a_name_that_is_computed_is_said(tmp_path, mark):
    # getattr is called for a module, whose name the next import takes.
    content = b"\x80\x04\x8c\x08builtins\x8c\x03str\x93\x8c\x02os\x85R\x8c\x06system\x93."
    (tmp_path / "model").write_bytes(content)
    refused(tmp_path / "model", "builtins.str", "whose name is computed")


def test_a_folder_of_mlflow_is_not_run(tmp_path, mark):
    folder = tmp_path / "mlflow"
    folder.mkdir()
    (folder / "model.pkl").write_bytes(pickle.dumps(Evil(mark)))
    (folder / "MLmodel").write_text("flavors:\n  sklearn:\n    pickled_model: model.pkl\n")
    refused(folder, "system", "allow_unsafe_load")
    (folder / "MLmodel").write_text(f"flavors:\n  sklearn:\n    pickled_model: {tmp_path}/model.pkl\n")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Evil(mark)))
    not_read(folder, "must be in the folder")
    (folder / "MLmodel").write_text(f"flavors: !!python/object/apply:os.system ['touch {mark}']\n")
    not_read(folder, "must list the model's flavors")
    (folder / "MLmodel").write_text("flavors:\n  python_function:\n    loader_module: evil\n")
    not_read(folder, "one of the flavors sklearn.*got python_function")


def not_read(folder, message):
    with pytest.raises(DataError, match=message):
        mlflow_folders.read(folder, Permission(unsafe=True))


def test_a_folder_of_mlflow_with_a_safe_file_names_it(tmp_path):
    made = SAFE["lightgbm-numbers"](tmp_path)
    (tmp_path / "MLmodel").write_text("flavors:\n  lightgbm:\n    data: model.bin\n")
    refused(tmp_path, str(made.path), "allow_unsafe_load")
    assert type(fairprobe.load_model(tmp_path, allow_unsafe_load=True)).__name__ == "SavedClassifier"


def test_a_skops_file_with_a_function_is_not_run(tmp_path, mark):
    path = tmp_path / "model.bin"
    skops.io.dump(FunctionTransformer(func=os.system), path)
    refused(path, "posix.system", "--trust", "harmless")
    assert skops_files.read(path, Permission(("posix.system",))).func is os.system  # if one wants it so


def test_a_skops_file_that_calls_something_else(tmp_path, mark):
    """Every way of its format to name something: a method, an operator, a constructor, a generator of numbers."""
    word = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(f"touch {mark}"),
    }
    words = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [word]}
    owner = {
        "__class__": "Popen",
        "__module__": "subprocess",
        "__loader__": "ConstructorFromReduceNode",
        "content": words,
    }
    for number, schema in enumerate(
        [
            {"__class__": "system", "__module__": "os", "__loader__": "ConstructorFromReduceNode", "content": words},
            {"__class__": "system", "__module__": "os", "__loader__": "TypeNode"},
            {"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode", "content": words},
            {
                "__class__": "Popen",
                "__module__": "subprocess",
                "__loader__": "MethodNode",
                "content": {"func": "x", "obj": owner},
            },
            {"__class__": "system", "__module__": "os", "__loader__": "OperatorFuncNode", "attrs": words},
            {
                "__class__": "system",
                "__module__": "os",
                "__loader__": "LossNode",
                "__reduce__": {"args": words},
                "content": words,
            },
        ]
    ):
        with zipfile.ZipFile(tmp_path / f"{number}.skops", "w") as archive:
            archive.writestr("schema.json", json.dumps({**schema, "protocol": 2, "_skops_version": "0.16.0"}))
    paths = sorted(tmp_path.glob("*.skops"))
    errors = tried(kind_of(paths[0]), paths, Permission())
    assert [type(error) in (SettingError, DataError) for error in errors] == [True] * 6
    assert sum("must hold only types that are known to be harmless" in str(error) for error in errors) >= 4


def test_a_tree_that_leads_out_of_itself_is_refused(tmp_path):
    """Asked, it would read whatever lies beside it."""
    tree = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    skops.io.dump(tree, tmp_path / "good")
    for field, value in (("left_child", 10**6), ("right_child", 0), ("feature", 7)):
        rewrite_nodes(tmp_path / "good", tmp_path / field, field, value)
    paths = [tmp_path / name for name in ("good", "left_child", "right_child", "feature")]
    good, *errors = tried(kind_of(paths[0]), paths, Permission())
    assert good is None
    assert all("must lead from each node" in str(error) for error in errors)


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


def test_onnx_data_outside_its_folder_are_refused(tmp_path):
    folder = tmp_path / "model"
    (folder / "inside").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    paths = []
    for location in ("../secret.bin", "/etc/passwd", "inside/../../secret.bin", "link.bin"):
        for where in ("initializer", "attribute", "subgraph"):
            paths.append(folder / f"model-{len(paths)}")
            write_external(paths[-1], location, where)
    for error in tried(kind_of(paths[0]), paths, Permission()):
        assert "must lie in its own folder, got" in str(error)


def test_onnx_data_inside_its_folder_are_read(tmp_path):
    (tmp_path / "data.bin").write_bytes(np.array([1.0, 0.0, 0.0, 1.0], dtype=np.float32).tobytes())
    write_external(tmp_path / "model", "data.bin", "initializer")
    model = fairprobe.load_model(tmp_path / "model")
    assert model.predict(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist() == [1, 0]
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict(np.array([[1.0, 2.0]])).tolist() == [1]


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
            inner = helper.make_graph(
                [constant], "inner", [], [helper.make_tensor_value_info("w", kinds.FLOAT, [2, 2])]
            )
            choice = helper.make_tensor("yes", kinds.BOOL, [], [True])
            nodes = [helper.make_node("If", ["yes"], ["w"], then_branch=inner, else_branch=inner), nodes[-1]]
            initializers = [choice]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())


# Loaders that crash, never end or take all memory


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("while True: pass", "seconds, got no end"),
        ("x = [bytearray(2**28) for _ in range(10**6)]", "GiB of memory"),
        ("import os; os._exit(7)", "ended with exit code 7"),
    ],
)
def test_a_loader_that_does_not_come_back(tmp_path, monkeypatch, code, message):
    """What is allowed to run code is the worst loader there is."""

    class Bomb:
        def __reduce__(self):
            return exec, (code,)

    if "while" in code:
        monkeypatch.setattr(guard, "SECONDS", 2.0)
    monkeypatch.setattr(guard, "BYTES", 2**30)
    path = tmp_path / "model"
    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, message, kind=DataError, allow_unsafe_load=True)


def test_a_pickle_that_grows_without_end_is_only_looked_at(tmp_path):
    """Lists of lists, each holding the one before ten times over."""
    deep = []
    for _ in range(100):
        deep = [deep] * 10
    (tmp_path / "model").write_bytes(pickle.dumps(deep))
    refused(tmp_path / "model", "allow_unsafe_load")


# Broken


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
    kinds: dict[str, list[Path]] = {}
    messages = []
    for path in written_broken(name, made, folder, n):
        try:
            kind = "fairprobe.model.sources.weights" if made.weights else kind_of(path)
        except FairprobeError as error:
            messages.append((path, error))
        else:
            kinds.setdefault(kind, []).append(path)
    for kind, paths in kinds.items():
        errors = tried(kind, paths, Permission())
        messages += zip(paths, errors, strict=True)
        if kind in RUNS_CODE:
            messages += zip(paths, tried("warm_reading", paths, Permission(unsafe=True)), strict=True)
    said = [(path, error) for path, error in messages if error is not None]
    assert len(said) > n / 2  # most of what is broken is found out
    for path, error in said:
        assert isinstance(error, FairprobeError)
        assert re.fullmatch(rf"(?!.*: :).* must .*[,;] got .*{re.escape(str(path))}.*", text := str(error)), text
        assert "allow_unsafe_load" in text or "must be one of the files" in text or text.endswith(guard.ADVICE)
        assert len(text) < 2000


def written_broken(name, made, folder, n):
    """Files, or folders of MLflow in which one of both files is broken."""
    if name != "mlflow":
        whole = (made.weights or made.path).read_bytes()
        for number, content in enumerate(broken(whole, n, seed=1)):
            path = folder / f"broken-{number}"
            path.write_bytes(content)
            yield path
        return
    for file in made.path.iterdir():
        for number, content in enumerate(broken(file.read_bytes(), n, seed=1)):
            path = folder / f"{file.name}-{number}"
            shutil.copytree(made.path, path)
            (path / file.name).write_bytes(content)
            yield path


@pytest.mark.parametrize("name", QUICK)
def test_broken_files(name, tmp_path):
    check_broken(name, tmp_path, N_BROKEN)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAFE, *UNSAFE])
def test_many_broken_files(name, tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 10.0)  # some have no end
    check_broken(name, tmp_path, 500)


def test_what_is_no_model(tmp_path):
    for content in (b"", b"age,sex\n1,2\n", b"\x00" * 100, b'{"a": 1}', b"PK\x03\x04" + b"\x00" * 50, b"tree\n"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DataError, match="got"):
            reading.read_file(tmp_path / "file", Permission())
    with pytest.raises(DataError, match="must be one of the files"):
        kind_of(tmp_path)


def test_a_truncated_lightgbm_file_is_not_taken_for_a_smaller_model(tmp_path):
    made = SAFE["lightgbm-numbers"](tmp_path)
    text = made.path.read_text()
    cut = text[: text.index("\nTree=15")] + "\nend of trees\n"
    (tmp_path / "cut").write_text(cut)
    with pytest.raises(DataError, match="15 of 20 trees"):
        lightgbm_files.read(tmp_path / "cut", Permission())
