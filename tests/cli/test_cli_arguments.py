"""One declaration of every argument: options, keys of a config, help, defaults and settings agree with it."""

import tomllib
import warnings
from dataclasses import is_dataclass
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe.arguments import KINDS, REQUIRED, arguments_of, done_by, filled
from fairprobe.auditing.state import AuditSettings
from fairprobe.cli.app import COMMANDS, _made
from fairprobe.cli.config import RULES
from fairprobe.cli.data import Source
from fairprobe.cli.init import KEYS, config_text
from fairprobe.cli.options import NOT_SETTINGS, Printed, declared_name
from fairprobe.cli.search import Start
from fairprobe.cli.words import flag, help_of
from fairprobe.errors import SettingError
from fairprobe.estimation.share import ROLES
from fairprobe.model.outputs import OUTPUTS
from fairprobe.model.remote import connect

ASKED = ("output", "threshold", "seed", "batch")

FUNCTIONS = {
    "audit": (fairprobe.audit, {"data_name", "command"}),
    "search": (fairprobe.search, set()),
    "estimate": (fairprobe.estimate, set()),
    "explain": (fairprobe.explain, {*ASKED}),
    "retrain": (fairprobe.retrain, set()),
    "replay": (fairprobe.replay, set()),
}
"""By command, the function that it calls, and the arguments that the command decides on or has from another one."""

OWN = {"demo", "domain", "init", "runs", "selfcheck"}
"""Commands that call no public function with arguments: their own `run` declares what they take."""

LOADING = (fairprobe.load_model, connect, Source)

OF_THE_COMMAND_LINE = {"min_plausibility", "population"}
"""Arguments that the command line gives another meaning: it fits the density itself, and takes several populations."""


def test_every_command_is_held_to_its_declaration():
    assert set(COMMANDS) == FUNCTIONS.keys() | OWN


def options_of(command):
    return {option.name: option for option in import_module(f"fairprobe.cli.{command}").OPTIONS}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_argument_that_a_text_can_give_is_an_option(command):
    function, decided = FUNCTIONS[command]
    called = {declared_name(option) for option in options_of(command).values()} | set(options_of(command))
    for name, argument in arguments_of(function).items():
        if argument.kind is not None and name not in decided:
            assert name in called, name


def declarations(command):
    """The arguments of everything that a command's options may be read from, each with its home."""
    module = import_module(f"fairprobe.cli.{command}")
    own = [each for each in vars(module).values() if is_dataclass(each) and isinstance(each, type)]
    functions = [FUNCTIONS[command][0]] if command in FUNCTIONS else []
    functions += [fairprobe.search, Start] if command == "explain" else []
    homes = {Printed, module.run, *own, *functions, *LOADING}
    return {(name, argument.help): argument for home in homes for name, argument in arguments_of(home).items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_as_their_arguments(command):
    declared = declarations(command)
    parameters = {parameter.name: parameter for parameter in _made(command).params}
    assert parameters.keys() == options_of(command).keys()
    for name, option in options_of(command).items():
        assert parameters[name].help == help_of(option.argument)
        names = (declared_name(option), name)
        argument = next(
            declared[each, option.argument.help] for each in names if (each, option.argument.help) in declared
        )
        assert option.argument.kind == argument.kind is not None
        # A command may need what a function can do without.
        assert option.argument.default in (argument.default, REQUIRED) or argument.default is REQUIRED
        is_told = argument.default is True or type(argument.default) in (int, float, str)
        assert ("Default: " in parameters[name].help) == is_told


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_help_and_a_kind(command):
    for option in options_of(command).values():
        assert option.argument.help, option.name
        assert option.argument.kind in KINDS.values()


def test_settings_of_an_audit_are_its_arguments():
    """What audit.json lists as the configuration."""
    settings, arguments = AuditSettings(), arguments_of(fairprobe.audit)
    for name in vars(settings):
        assert getattr(settings, name) == arguments[name].default or name == "rows_are"


def test_words_in_quotes_are_the_choices():
    arguments = arguments_of(fairprobe.estimate)
    assert arguments["output"].choices == list(OUTPUTS)
    assert sorted(arguments["rows_are"].choices) == sorted(ROLES)


def test_a_config_may_say_all_that_the_command_line_may():
    assert set(KEYS) == set(options_of("audit")) - NOT_SETTINGS
    assert all(argument.kind.rule in RULES for argument in KEYS.values())
    rows = pd.DataFrame({"age": [30, 40], "sex": ["f", "m"], "income": ["yes", "no"]})
    text = config_text({"label": "income", "sensitive": ["sex"]}, rows, "fairprobe audit")
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    for name, argument in KEYS.items():
        line = next(line for line in lines if line.startswith(f"{name} ="))
        if isinstance(argument.default, int | str) and argument.default is not REQUIRED:
            assert tomllib.loads(line) == {name: argument.default}
        elif not line.endswith("="):
            value = tomllib.loads(line)[name]
            assert RULES[argument.kind.rule](value), line


def described(model, *, max_cases: int | None = 10, mask: str = ""):
    """Do it.

    Args:
        model: anything with
            `predict`. Or else
            a callable.
        max_cases (10): at most this many.
    """


def test_arguments():
    model, cases, mask = arguments_of(described).values()
    assert (model.help, model.sentence) == ("anything with `predict`. Or else a callable.", "Anything with `predict`.")
    assert (model.kind, model.default, mask.help) == (None, REQUIRED, "")
    assert (cases.help, cases.default, cases.may_be_none) == ("at most this many.", 10, True)


def test_filled():
    assert filled(described, {"mask": "x"}) == {"max_cases": 10, "mask": "x"}
    with pytest.raises(TypeError, match="did you mean 'max_cases'"):
        filled(described, {"max_case": 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'mask'"):
        filled(described, {"mask": 1}, but=["mask"])


def test_work_gets_all_arguments_of_its_declaration():
    declared = done_by(lambda **arguments: arguments)(described)
    assert declared("tree", mask="x") == {"model": "tree", "max_cases": 10, "mask": "x"}
    assert declared.__doc__ == described.__doc__
    for wrong, rule in (
        ({"model": 0, "max_case": 1}, "unexpected keyword argument 'max_case': did you mean 'max_cases'"),
        ({}, "missing .* 'model'"),
    ):
        with pytest.raises(TypeError, match=rf"described\(\) .*{rule}"):
            declared(**wrong)


@pytest.mark.parametrize("call", [fairprobe.estimate, fairprobe.breakdown, fairprobe.search])
def test_remarks_name_the_line_of_the_call(call):
    domain = fairprobe.Domain([fairprobe.Integer("sex", 0, 1), fairprobe.Integer("age", 0, 99)], ["sex"])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(lambda X: rng.integers(0, 2, len(X)), domain)
    assert caught
    assert {each.filename for each in caught} == {__file__}


def test_old_names_are_accepted_by_functions_options_and_configs(monkeypatch):
    new = done_by(lambda **arguments: arguments, most="max_cases")(described)
    assert list(arguments_of(new)) == list(arguments_of(described))
    assert arguments_of(new)["max_cases"].old_names == ("most",)
    assert filled(new, {"most": 3})["max_cases"] == 3
    assert new(None, most=3) == {"model": None, "max_cases": 3, "mask": ""}
    with pytest.raises(SettingError, match="max_cases is the new name of most, got both"):
        new(None, most=3, max_cases=4)


def test_old_flags(search):
    command = _made("search")
    assert command.old_flags["--weights"] == "--model-weights"
    assert search("--weights", "none.safetensors").code == 2
    assert flag("model_weights") not in command.old_flags
