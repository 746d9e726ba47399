"""Conformance suite for models: checks that this package can test a model on a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain import Domain
from fairprobe.errors import ModelError
from fairprobe.model import Asker, describe
from fairprobe.model.measuring import COARSE

N_SAMPLES = 200
N_ALONE = 20
SEED = 0

ModelCheck = Callable[[Asker], None]


def check_model(model: Any, domain: Domain, *, output: str = "label", batch: str | None = None) -> None:
    """Check that a model can be tested: raises an AssertionError, or a ModelError, that says what is wrong.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be.
        output: "label", "score", "proba" or "value", as for `search`.
        batch: "array" or "frame" to say what the model takes.

    >>> from fairprobe.testing import box
    >>> toy = box()
    >>> check_model(toy.model, toy.domain)
    """
    asker = Asker(model, domain, output=output, batch=batch)
    for _, check in model_checks():
        check(asker)


def model_checks() -> list[tuple[str, ModelCheck]]:
    """The checks by name; each takes an `Asker` for the model and its domain, and raises if it fails."""
    return [(name, partial(_asking_afresh, check)) for name, check in checks_among(globals())]


def _asking_afresh(check: ModelCheck, asker: Asker) -> None:
    """Run a check without remembered answers, which would hide faults."""
    with asker.afresh():
        check(asker)


def checks_among(names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """All checks among a module's names, in their order, so that no check is left out by mistake."""
    prefix = "_check_"
    return [
        (name.removeprefix(prefix).replace("_", "-"), check) for name, check in names.items() if name.startswith(prefix)
    ]


def _check_answers_the_whole_domain(asker: Asker) -> None:
    """One answer a row, for uniform inputs and for both ends of every parameter."""
    codes = inputs_of(asker.domain)
    answer = asker.ask(codes)
    _require(len(answer) == len(codes), asker, f"one answer a row, got {len(answer)} for {len(codes)} rows")


def _check_same_answer_twice(asker: Asker) -> None:
    codes = inputs_of(asker.domain)
    require_same(asker, codes, asker.ask(codes), asker.ask(codes), "the same answer to the same batch")


def _check_same_answer_in_any_order(asker: Asker) -> None:
    codes = inputs_of(asker.domain)
    answer = asker.ask(codes[::-1].copy())[::-1]
    require_same(asker, codes, asker.ask(codes), answer, "the same answer to a row wherever it stands in a batch")


def _check_same_answer_alone(asker: Asker) -> None:
    codes = inputs_of(asker.domain)
    together = asker.ask(codes)[-N_ALONE:]
    codes = codes[-N_ALONE:]
    alone = np.concatenate([asker.ask(row[None, :]) for row in codes])
    require_same(asker, codes, together, alone, "the same answer to a row alone and in a batch")


def _check_batch_is_left_alone(asker: Asker) -> None:
    form, codes = asker.form, inputs_of(asker.domain)
    batch = form.rows(codes)
    try:
        asker.function(batch)
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise ModelError(f"the model must answer every input of the domain, got {got}") from error
    _require(_is_same_batch(batch, form.rows(codes)), asker, "not change the batch it is given")


def inputs_of(domain: Domain) -> Codes:
    """Uniform inputs with the ends of each parameter and its missing value put in, then uniform inputs."""
    rng = np.random.default_rng(SEED)
    ends = [
        (column, code)
        for column, parameter in enumerate(domain.parameters)
        for code in sorted({0, max(0, parameter.levels - 1 - parameter.missing), parameter.levels - 1})
    ]
    corners = domain.sample_codes(len(ends), rng)
    for row, (column, code) in enumerate(ends):
        corners[row, column] = code
    return np.concatenate([corners[domain.allows(corners)], domain.sample_codes(N_SAMPLES, rng)])


def _require(holds: bool, asker: Asker, rule: str) -> None:
    if not holds:
        raise AssertionError(f"the model {asker.adapter.name} must {rule}")


def require_same(asker: Asker, codes: Codes, one: NDArray[Any], other: NDArray[Any], rule: str) -> None:
    """Refuse different labels, or numbers that differ by more than their last bits, which depend on the batch size."""
    if asker.output == "label":
        differs = one != other
    else:
        least = max(1e-9, COARSE * float(np.abs(one).max(initial=0.0)))  # what single precision may miss
        differs = ~np.isclose(one, other, rtol=1e-6, atol=least).reshape(len(codes), -1).all(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise AssertionError(
            f"the model {asker.adapter.name} must give {rule}, got {one[row]} and {other[row]} "
            f"for {describe(asker.domain, codes[row])}"
        )


def _is_same_batch(one: Any, other: Any) -> bool:
    if hasattr(one, "equals"):
        return bool(one.equals(other))
    if one.dtype == object and one.shape == other.shape:
        cells = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return all(a is b or a == b or (a != a and b != b) for a, b in cells)  # a missing value is not equal to itself
    return np.array_equal(one, other, equal_nan=one.dtype != object)
