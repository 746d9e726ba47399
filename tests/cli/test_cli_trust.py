"""Configs of strangers: what they may not decide, whether they were found or named, and both ways out."""

import json
import pickle
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
import tomli_w

from fairprobe.cli.config import danger_of
from fairprobe.cli.files import read_frame
from fairprobe.cli.init import KEYS
from fairprobe.files import write_results
from fairprobe.frames import write_csv
from tests.model.serving import Served, serving

HARMLESS = """
answer batch batch_rows cache_rows confidence connections constraint date explain_queries favourable gate hidden
ignore isolate keep label labels link linked mask max_barren max_judged max_queries max_share
method min_comparable min_plausibility min_ratio missing model_id n_experiments n_samples name output populations
protocol rate_limit report_cases retrain
retrain_seconds retries rows_are search_cases seed selfcheck sensitive show_rows threshold timeout title width
"""
"""What a config may always say: it names no file, no program, no address and no secret."""

MARKED = """
import pathlib
pathlib.Path("ran").write_text("")

def model(rows):
    return rows["age"] > 40

def domain():
    from fairprobe import Category, Domain, Integer
    return Domain([Integer("age", 20, 60), Category("sex", ["f", "m"])], sensitive=["sex"])
"""

BASE = {
    "data": "rows.csv",
    "sensitive": ["sex"],
    "populations": ["rows"],
    "rows_are": "held-out",
    "search_cases": 10,
    "max_inputs": 500,
    "explain_queries": 500,
    "selfcheck": False,
    "max_share": 0.001,
}


def older(rows):
    return (rows["age"] > 40).astype(int)


class Marks:
    def __reduce__(self):
        return exec, ("open('ran', 'w').close()",)


@pytest.fixture
def here(folder):
    """A folder that a stranger filled, in another one."""
    inside = folder / "inside"
    inside.mkdir()
    (inside / "marked.py").write_text(MARKED)
    (inside / "command:sh run.sh").write_text("not a model")
    (inside / "run.sh").write_text("touch ran\n")
    (inside / "model.pkl").write_bytes(pickle.dumps(Marks()))
    rows = pd.DataFrame({"age": [*range(20, 60, 2)] * 2, "sex": ["f", "m"] * 20})
    rows.to_csv(inside / "rows.csv", index=False)
    rows.to_csv(folder / "elsewhere.csv", index=False)
    (inside / "away").symlink_to(folder)
    (inside / "loop").symlink_to("loop")
    return inside


@pytest.fixture
def run(here, fairprobe, monkeypatch):
    """Runs an audit in that folder, with a config."""
    monkeypatch.chdir(here)

    def audit(settings, *arguments):
        (here / "fairprobe.toml").write_text(tomli_w.dumps({**BASE, **settings}))
        return fairprobe("audit", *arguments)

    yield audit
    for name in ("marked",):
        sys.modules.pop(name, None)


SERVICE = {"model": "http://127.0.0.1:9/invocations"}
DANGEROUS = {
    "template": ({"model": "model.skops", "json_template": '{"delete": ["ROW"]}'}, "json-template"),
    "module": ({"model": "marked:model"}, "model"),
    "command": ({"model": "command:touch ran"}, "model"),
    "Command": ({"model": "COMMAND:touch ran"}, "model"),
    "command-as-file": ({"model": "command:sh run.sh"}, "model"),
    "address": (SERVICE, "model"),
    "model-elsewhere": ({"model": "../model.skops"}, "model"),
    "model-over-a-link": ({"model": "away/model.skops"}, "model"),
    "unsafe": ({"model": "model.pkl", "allow-unsafe-load": True}, "allow-unsafe-load"),
    "trust": ({"model": "model.pkl", "trust": ["marked.Type"]}, "trust"),
    "header": ({**SERVICE, "header_from_env": ["X-Key=HOME"]}, "header-from-env"),
    "authority": ({**SERVICE, "ca-file": "ca.pem"}, "ca-file"),
    "domain": ({"model": "model.skops", "domain": "marked:domain"}, "domain"),
    "subject-domain": ({"model": "model.skops", "domain": "subject:domain"}, "domain"),
    "out": ({"model": "model.skops", "out": "../out"}, "out"),
    "out-absolute": ({"model": "model.skops", "out": "/tmp/out-of-a-stranger"}, "out"),
    "out-over-a-link": ({"model": "model.skops", "out": "away/out"}, "out"),
    "out-over-a-loop": ({"model": "model.skops", "out": "loop/../../out"}, "out"),
    "out-of-a-long-name": ({"model": "model.skops", "out": "../" + "x" * 5000}, "out"),
    "html": ({"model": "model.skops", "html": "away/page.html"}, "html"),
}


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in str(path))


@pytest.mark.parametrize(("settings", "key"), DANGEROUS.values(), ids=DANGEROUS)
@pytest.mark.parametrize("arguments", [(), ("fairprobe.toml",), ("--dry-run",)], ids=["found", "named", "dry"])
def test_nothing_of_a_stranger_is_run_told_or_written(run, folder, settings, key, arguments):
    (folder / "inside" / "fairprobe.toml").write_text("")
    before = listing(folder)
    outcome = run(settings, *arguments)
    outcome.refuses(
        "fairprobe.toml", f"{key} (", "on the command line", "fairprobe audit fairprobe.toml --trust-config"
    )
    assert listing(folder) == before


def test_a_config_is_trusted_only_if_it_is_named(run, here):
    run({"model": "marked:model"}, "--trust-config").refuses("--trust-config", "fairprobe.toml")
    assert run({"model": "marked:model"}, "fairprobe.toml", "--trust-config").code == 4
    assert (here / "ran").exists()


@pytest.mark.parametrize("name", ["data", "domain", "model_weights"])
def test_what_is_read_elsewhere(run, name):
    """By a config that nobody named, nothing is; a name is enough, as reading runs nothing."""
    value = {"data": "../elsewhere.csv", "domain": "../domain.toml", "model_weights": "/dev/null"}[name]
    run({"model": "model.skops", name: value}).refuses(name.replace("_", "-"), "lies outside of its folder")
    named = run({"model": "model.skops", name: value}, "fairprobe.toml")
    assert "lies outside" not in named.err


def test_what_is_said_on_the_command_line_is_taken(run, here):
    settings = {"model": "command:touch ran", "out": "../out", "header_from_env": ["X=HOME"]}
    said = ("--model", "marked:model", "--out", "out")
    run(settings, "fairprobe.toml", *said).refuses("header-from-env (decides who is told secrets)")
    settings.pop("header_from_env")
    pytest.importorskip("jinja2")
    outcome = run(settings, "fairprobe.toml", *said).says(code=4)
    assert (here / "out" / "audit.json").exists()
    assert "--trust-config" not in outcome.out
    assert not (here.parent / "out").exists()


def test_a_project_is_a_stranger_too(run, here):
    run({}, "--dry-run").refuses("--model must name the model")
    (here / "fairprobe.toml").unlink()
    (here / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"fairprobe": {**BASE, "model": "marked:model"}}}))
    from fairprobe.cli import main

    assert main(["audit"]) == 2
    assert main(["audit", "pyproject.toml"]) == 2
    assert not (here / "ran").exists()


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_folder_called_as_homes_are_is_a_folder(here, tmp_path, monkeypatch, name):
    """The file that is read is the one that was checked, and what is written is beside it."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    for folder, ages in ((here / "~", [1, 2]), (home, [3, 4])):
        folder.mkdir()
        frame = pd.DataFrame({"age": ages})
        frame.to_csv(folder / name, index=False) if name.endswith("csv") else frame.to_parquet(folder / name)
    assert read_frame(f"~/{name}")["age"].tolist() == [1, 2]
    write_results(Path("~/new.csv"), lambda part: write_csv(frame, part))
    assert (here / "~" / "new.csv").exists()
    assert listing(home) == [name]


def test_a_path_that_can_be_none(run):
    run({"model": "model\0.skops"}).refuses("model must be a text")


def test_harmless_settings_are_taken_from_what_is_found(run, here):
    assert danger_of(KEYS["model"], "subject:decision-tree", here / "fairprobe.toml", is_named=False) is None
    absolute = {"model": str(here / "model.pkl"), "data": str(here / "rows.csv"), "out": str(here / "new" / "out")}
    run(absolute).refuses("--allow-unsafe-load must allow it")  # the file itself is read, and refused as ever
    for name, value in (("allow_unsafe_load", False), ("trust", []), ("header_from_env", [])):
        assert danger_of(KEYS[name], value, here / "fairprobe.toml") is None


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"model": "marked:model"}, ()),
        ({"model": "command:touch ran"}, ()),
        ({"model": "model.pkl", "allow_unsafe_load": True}, ()),
        ({"model": "model.pkl"}, ("--allow-unsafe-load",)),
        ({"model": "marked:model", "out": "../out", "favourable": "1"}, ()),
    ],
)
def test_a_dry_run_runs_nothing_of_a_config(run, folder, settings, options):
    (folder / "inside" / "fairprobe.toml").write_text("")
    before = listing(folder)
    outcome = run(settings, "fairprobe.toml", "--trust-config", "--dry-run", *options).says()
    assert re.search(r"  rows +80  not measured", outcome.out)
    assert "not-measured: " in outcome.err
    told = json.loads(run(settings, "fairprobe.toml", "--trust-config", "--dry-run", "--json", *options).out)
    assert set(told["seconds"].values()) == {None}
    assert told["n_queries"]["rows"] == 80
    assert listing(folder) == before


def test_a_dry_run_does_not_make_a_domain(run, here):
    settings = {"model": "marked:model", "domain": "marked:domain"}
    run(settings, "fairprobe.toml", "--trust-config", "--dry-run").refuses("say --domain")
    assert not (here / "ran").exists()


def test_a_dry_run_asks_no_service_of_a_config(run, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k3y-of-mine")
    with serving(Served(older)) as served:
        settings = {"model": f"{served.url}/invocations", "header_from_env": ["X-Key=MY_KEY"]}
        assert run(settings, "fairprobe.toml", "--trust-config", "--dry-run").code == 0
        run(settings, "fairprobe.toml", "--dry-run").refuses("header-from-env")
        run(settings).refuses("header-from-env")
        assert served.n_requests == 0
        assert run(settings, "fairprobe.toml", "--trust-config").code == 4
        assert {headers.get("X-Key") for headers in served.headers} == {"k3y-of-mine"}


def test_every_setting_is_classified():
    """A new key of a config is harmless only if it stands above; one that names a file or a program is not."""
    assert {name for name, argument in KEYS.items() if argument.kind.danger is None} == set(HARMLESS.split())
    for argument in KEYS.values():
        if argument.kind.metavar in ("FILE", "FOLDER", "MODEL", "TYPE", "HEADER=VARIABLE"):
            assert argument.kind.danger is not None
