"""The examples: that they parse, that what they call is there, and that their steps end as the exit codes say."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fairprobe
from fairprobe.cli.app import COMMANDS

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
GATE = ROOT / "examples" / "gate"

TOY = """
import pandas as pd

rows = pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["Female", "Male"] * 200})

def model(frame):
    good = (frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40))
    return good.map({True: "yes", False: "no"})

if __name__ == "__main__":
    rows.assign(income=model(rows)).to_csv("people.csv", index=False)
"""
"""A quarter of these rows change their outcome."""

QUICK = "search-cases = 20\nmax-inputs = 2000\nexplain-queries = 2000\nselfcheck = false\n"


def steps():
    workflow = yaml.safe_load((GATE / "github-actions.yml").read_text(encoding="utf-8"))
    assert workflow[True] == ["push", "pull_request"]  # YAML takes "on" for a truth value
    return {step["name"]: step for step in workflow["jobs"]["gate"]["steps"] if "name" in step}


def hooks():
    config = yaml.safe_load((GATE / "pre-commit-config.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"]}


@pytest.fixture
def gate(tmp_path):
    """A copy of the example, whose audit is quick."""
    folder = tmp_path / "gate"
    shutil.copytree(GATE, folder)
    config = (folder / "fairprobe.toml").read_text(encoding="utf-8")
    (folder / "fairprobe.toml").write_text(config + QUICK, encoding="utf-8")
    return folder


def run(command, folder):
    """As a runner does: by bash, with the programs of this environment."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_commands_and_files_are_there():
    called = [step["run"] for step in steps().values() if "run" in step] + [hook["entry"] for hook in hooks().values()]
    commands = [name for text in called for name in re.findall(r"fairprobe ([a-z]+)", text)]
    assert set(commands) - {"pytest"} <= set(COMMANDS)
    assert commands.count("audit") == 2
    for text in called:
        for file in re.findall(r"\S+\.(?:py|toml)\b", text):
            assert (GATE / file).is_file()
    for hook in hooks().values():
        assert {"name", "entry", "language", "pass_filenames", "files", "stages"} <= set(hook)
        assert re.compile(hook["files"]).search("income.py")


@pytest.mark.slow  # scripts/build runs it
def test_the_workflow_ends_as_the_verdict_says(gate):
    audit, config = steps()["As an audit, with a report"]["run"], gate / "fairprobe.toml"
    (gate / "income.py").write_text(TOY)
    assert run(steps()["The rows"]["run"], gate).returncode == 0
    text = config.read_text(encoding="utf-8")
    for setting, code, says in (
        ("0.31", 0, "::notice::the limit is kept"),
        ("0.01", 1, "::error::the limit is violated"),
        ("0.25", 4, "::error::these rows cannot tell"),
        ("1.5", 2, "::error::the audit did not end: exit code 2"),
    ):
        config.write_text(text.replace("max-share = 0.01", f"max-share = {setting}"), encoding="utf-8")
        ended = run(audit, gate)
        assert (ended.returncode, says in ended.stdout) == (code, True), ended.stdout + ended.stderr
    assert (gate / "audit" / "report.html").exists()


@pytest.mark.slow  # scripts/build runs it
def test_the_hooks_and_the_test_pass(gate):
    assert run("python income.py", gate).returncode == 0
    for hook in hooks().values():
        ended = run(hook["entry"], gate)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_what_is_said_of_the_release():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == fairprobe.__version__
    assert citation["license"] == project["license"]
    paper = citation["references"][0]
    assert [author["family-names"] for author in paper["authors"]] == ["Udeshi", "Arora", "Chattopadhyay"]
    assert (paper["title"], paper["year"]) == ("Automated Directed Fairness Testing", 2018)
    assert project["entry-points"]["pytest11"] == {"fairprobe": "fairprobe_pytest"}


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_issue_templates_are_forms(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    assert all(part["attributes"].get("label") or part["attributes"].get("value") for part in form["body"])


def test_the_map_of_the_code_names_files_that_exist():
    """CONTRIBUTING.md names files and folders of src/fairprobe, or their last parts."""
    files = [str(path.relative_to(ROOT)) for top in ROOT.glob("[a-z]*") for path in (top, *top.rglob("*"))]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {name.rstrip("/") for name in re.findall(r"`([\w/.]+(?:\.py|/))`", text) if "NAME" not in name}
    assert len(named) > 60
    assert not {name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)}
