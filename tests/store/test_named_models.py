"""Runs are of one model: told by what it is made of, or by the name that it is given."""

import tomllib

import pytest

import fairprobe
from fairprobe import Domain, Integer, breakdown, estimate, search
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.store.digests import hash_of_model
from fairprobe.store.run_folder import RunReader

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 1, 9999), Integer("sex", 0, 1)], sensitive=["sex"])


def above(cut, hour=-1):
    """Of so few inputs another answer that canaries do not see it."""
    return lambda X: ((X[:, 0] > 50) & (X[:, 2] == 1)) ^ ((X[:, 1] == hour) & (X[:, 0] > cut))


def found(model, store, **more):
    return search(model, DOMAIN, store=store, max_inputs=2000, shard_inputs=1000, **more)


def share(model, store, **more):
    return estimate(model, DOMAIN, store=store, n_experiments=1, method="sample", **more)


def by_parameter(model, store, **more):
    shares = breakdown(model, DOMAIN, store=store, n_experiments=1, method="sample", **more)
    return shares["sex"]


CALLS = [found, share, by_parameter]


def holding_a_file(folder):
    """A model that nothing but its answers tell from another."""
    file = (folder / "log").open("w")
    model = above(0)
    return lambda X: model(X) if file else None, file


@pytest.mark.parametrize("call", CALLS)
def test_a_model_that_cannot_be_told_is_named(call, tmp_path):
    model, file = holding_a_file(tmp_path)
    with file:
        with (
            pytest.warns(HealthWarning, match=r"untold-model: .*TextIOWrapper.*model_id")
            if call is found
            else (pytest.MonkeyPatch.context())
        ):
            result = call(model, tmp_path / "one")
        assert "untold-model" in dict(result.health)
        with pytest.raises(SettingError, match=r"must be a new folder.*TextIOWrapper.*name the model with model_id"):
            call(model, tmp_path / "one")
        named = [call(model, tmp_path / "two", model_id="logging 1") for _ in range(2)]
        assert "untold-model" not in dict(named[0].health)
        with pytest.raises(SettingError, match=r"model\.id is 'logging 1', not 'logging 2'"):
            call(model, tmp_path / "two", model_id="logging 2")
    with (tmp_path / "two" / "run.toml").open("rb") as about:
        assert tomllib.load(about)["model"]["id"] == "logging 1"


def test_a_constraint_that_cannot_be_told(tmp_path):
    with (tmp_path / "log").open("w") as file:
        ruled = DOMAIN.with_constraints([lambda frame: (frame["age"] > 20) & bool(file)])
        options = {"store": tmp_path / "run", "max_inputs": 1000}
        search(above(0), ruled, **options)
        with pytest.raises(SettingError, match=r"nothing tells a constraint from another.*give it as text"):
            search(above(0), ruled, **options)


@pytest.mark.parametrize(("model_id", "store"), [("mine", None), ("", "run"), (" ", "run"), (3, "run")])
def test_names_that_are_none(model_id, store, tmp_path):
    for call in CALLS:
        with pytest.raises(SettingError, match="model_id"):
            call(above(0), store and tmp_path / store, model_id=model_id)


def test_an_audit_is_of_the_model_named(tmp_path):
    rows = DOMAIN.sample(30, seed=0)

    def hashed(cut, **more):
        return hash_of_model(above(cut, 7), DOMAIN, rows, "label", None, **more)

    assert hashed(20) == hashed(20)
    assert hashed(20) != hashed(30)
    assert hashed(20, model_id="mine") == hashed(30, model_id="mine")
    settings = {"domain": DOMAIN, "n_experiments": 1, "n_samples": 100, "search_cases": 5, "populations": ["rows"]}
    audit = fairprobe.audit(
        above(20, 7), rows, **settings, selfcheck=False, store=tmp_path / "runs", model_id="mine", max_inputs=200
    )
    about = audit.content["about"]["model"]
    assert about["hash"] == hashed(30, model_id="mine")[0]
    assert "the name 'mine'" in about["hash_of"]
    for run in (tmp_path / "runs").iterdir():
        assert RunReader(run).about["model"]["id"] == "mine"
