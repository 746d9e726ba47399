"""The contract of models: checks of all that this package assumes of a model and its adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain import Domain
from fairprobe.errors import DataError, ModelError
from fairprobe.model import Asker, describe
from fairprobe.model.adapters import Adapter, adapter_for, columns_of
from fairprobe.model.measuring import COARSE

N_SAMPLES = 200
N_ALONE = 20
SEED = 0

Rule = Callable[["Contracted"], None]


@dataclass(frozen=True)
class Contracted:
    """A model to check, the domain of the inputs for its checks, and the form of its batches."""

    model: Any
    domain: Domain
    batch: str | None = None
    told: tuple[str, ...] | None = None
    """Outputs to check, such as ("label", "proba"); None for all that the adapter declares."""

    @cached_property
    def adapter(self) -> Adapter:
        """The adapter of the model, which says how the model is asked and what it can do."""
        return adapter_for(self.model)

    @cached_property
    def codes(self) -> Codes:
        """Codes of the inputs for the checks: inputs at the ends of each parameter, then uniform inputs.

        The first ones are uniform, with one parameter at its first, last or missing level; only allowed ones are kept.
        """
        rng, domain = np.random.default_rng(SEED), self.domain
        ends = [
            (column, code)
            for column, parameter in enumerate(domain.parameters)
            for code in sorted({0, max(0, parameter.levels - 1 - parameter.missing), parameter.levels - 1})
        ]
        corners = domain.sample_codes(len(ends), rng)
        corners[np.arange(len(ends)), [column for column, _ in ends]] = [code for _, code in ends]
        return np.concatenate([corners[domain.allows(corners)], domain.sample_codes(N_SAMPLES, rng)])

    @cached_property
    def rows(self) -> Any:
        """The inputs of `codes` as a DataFrame with the dtypes of the domain."""
        return self.domain.typed(self.domain.decode(self.codes))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Outputs to check: those named, otherwise all that the adapter declares; labels for a plain function."""
        if self.told is not None:
            return self.told
        if Asker(self.model, self.domain, output="value", batch=self.batch).adapter.is_function:
            return ("label",)
        try:
            self.asker("label").ask(self.codes)
        except Exception:
            return ("value",)  # the first check then says more of it, if it gives no values either
        scores = ("score",) if self.adapter.scores or self.adapter.probabilities else ()
        return ("label", *scores, *(("proba",) if self.adapter.probabilities else ()))

    def asker(self, output: str, model: Any = None) -> Asker:
        """Return an asker for one output of the model under contract, or of `model`, a copy of it."""
        return Asker(self.model if model is None else model, self.domain, output=output, batch=self.batch)

    def askers(self) -> Iterator[Asker]:
        """Yield an asker for each output to check, without cached answers, which would hide faults."""
        for output in self.outputs:
            asker = self.asker(output)
            with asker.afresh():
                yield asker

    def require(self, holds: object, rule: str) -> None:
        """Raise an AssertionError that states `rule` unless `holds` is true."""
        if not holds:
            raise AssertionError(f"the model {self.adapter.name} must {rule}")

    def require_same(self, asker: Asker, one: NDArray[Any], other: NDArray[Any], to: str, codes: Any = None) -> None:
        """Raise an AssertionError if two arrays of answers differ: labels at all, numbers by more than rounding.

        `to` names what was asked, for the message, and `codes` are the inputs, by default all inputs of the checks.
        """
        codes = self.codes if codes is None else codes
        if asker.output == "label":
            differs = one != other
        else:
            least = max(1e-9, COARSE * float(np.abs(one).max(initial=0.0)))  # what single precision may miss
            differs = ~np.isclose(one, other, rtol=1e-6, atol=least).reshape(len(codes), -1).all(axis=1)
        if differs.any():
            row = int(np.argmax(differs))
            got = f"{one[row]} and {other[row]} for {describe(self.domain, codes[row])}"
            self.require(False, f"give the same answer to {to}, got {got}")


def model_contract(
    model: Any, domain: Domain, *, outputs: Sequence[str] | None = None, batch: str | None = None
) -> None:
    """Check that a model and its adapter satisfy the contract. An AssertionError names a broken rule.

    Models that satisfy the contract can be searched, estimated, audited and explained in several processes, for every
    output that their adapter declares. A model that gives no valid answer raises a ModelError.

    Args:
        model: anything with `predict`, a callable, or what an adapter of your own accepts.
        domain: the possible inputs, at best with all kinds of parameters that the model takes.
        outputs: the outputs to check, of "label", "score", "proba" and "value"; by default all that its adapter
            declares, and labels for a plain function.
        batch: "array" or "frame", the form of batches that the model takes; by default as its adapter decides.

    >>> from fairprobe.testing import box
    >>> toy = box()
    >>> model_contract(toy.model, toy.domain)
    """
    contracted = Contracted(model, domain, batch, None if outputs is None else tuple(outputs))
    for _, check in contract_checks():
        check(contracted)


def contract_checks() -> list[tuple[str, Rule]]:
    """Return pairs of a rule's name and its check, a function of a `Contracted` that raises if the rule is broken."""
    return checks_among(globals())


def checks_among(names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the functions of a module named `_check_...`, as pairs of a name and a function, in their order."""
    prefix = "_check_"
    return [
        (name.removeprefix(prefix).replace("_", "-"), check) for name, check in names.items() if name.startswith(prefix)
    ]


def _check_same_answer_twice(it: Contracted) -> None:
    for asker in it.askers():
        it.require_same(asker, asker.ask(it.codes), asker.ask(it.codes), "the same batch")


def _check_same_answer_in_any_order(it: Contracted) -> None:
    for asker in it.askers():
        turned = asker.ask(it.codes[::-1].copy())[::-1]
        it.require_same(asker, asker.ask(it.codes), turned, "a row wherever it stands in a batch")


def _check_same_answer_alone(it: Contracted) -> None:
    for asker in it.askers():
        some = it.codes[-N_ALONE:]
        alone = np.concatenate([asker.ask(row[None, :]) for row in some])
        it.require_same(asker, asker.ask(it.codes)[-N_ALONE:], alone, "a row alone and in a batch", some)


def _check_batch_is_left_alone(it: Contracted) -> None:
    import pandas as pd

    for asker in it.askers():
        batch, before = asker.form.rows(it.codes), asker.form.rows(it.codes)
        try:
            asker.function(batch)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise ModelError(f"the model must answer every input of the domain, got {got}") from error
        it.require(pd.DataFrame(batch).equals(pd.DataFrame(before)), "not change the batch it is given")


def _check_inputs_and_rows_are_answered_alike(it: Contracted) -> None:
    for asker in it.askers():
        it.require_same(asker, asker.ask(it.codes), asker.ask_frame(it.rows), "rows as to the inputs that they are")


def _check_columns_go_by_name(it: Contracted) -> None:
    for asker in it.askers():
        turned = asker.ask_frame(it.rows[list(reversed(it.rows.columns))])
        it.require_same(asker, asker.ask_frame(it.rows), turned, "rows whose columns stand in another order")


def _check_families_are_their_members(it: Contracted) -> None:
    members = it.domain.families.members(it.codes)
    for asker in it.askers():
        alone, whole = asker.ask(members), asker.ask_families(it.codes)
        it.require_same(asker, whole.reshape(alone.shape), alone, "whole families as to their members", members)


def _check_every_row_is_counted(it: Contracted) -> None:
    asker = it.asker(it.outputs[0])
    asker.ask(it.codes)
    asker.ask_frame(it.rows)
    it.require(asker.n_queries == 2 * len(it.codes), "have every row counted that it is asked about")


def _check_labels_are_classes(it: Contracted) -> None:
    if "label" in it.outputs and it.adapter.classes is not None:
        known = np.asarray(it.adapter.classes).tolist()
        labels = it.asker("label").ask(it.codes).tolist()
        it.require(set(labels) <= set(known), f"give labels that are its classes, {known}")


def _check_probabilities_add_to_one(it: Contracted) -> None:
    if "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    it.require((given >= -1e-6).all() and (given <= 1 + 1e-6).all(), "give probabilities between 0 and 1")
    it.require(np.allclose(given.sum(axis=1), 1, atol=1e-4), "give probabilities that add to 1")
    classes = it.adapter.classes
    it.require(classes is None or len(classes) == given.shape[1], "give a probability for each of its classes")


def _check_labels_follow(it: Contracted) -> None:
    """Check that labels are the classes of the highest probabilities, if the adapter declares this."""
    if it.adapter.labels_follow != "proba" or it.adapter.classes is None or "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    ranked = np.sort(given, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-6  # where rounding cannot decide
    likeliest = np.asarray(it.adapter.classes)[given.argmax(axis=1)]
    same = (likeliest == it.asker("label").ask(it.codes))[clear]
    it.require(same.all(), "give the label of the highest probability, as its adapter declares")


def _check_gradients_are_those_of_scores(it: Contracted) -> None:
    asker = it.asker("score") if it.adapter.gradients else None
    told = asker and asker.ask_gradients(it.codes)
    if asker and told:
        it.require(told[1].shape == it.codes.shape, "give a gradient for each column")
        it.require(np.isfinite(told[1]).all(), "give finite gradients")
        it.require_same(asker, asker.ask(it.codes), told[0], "rows whose gradients are asked for")


def _check_a_copy_answers_alike(it: Contracted) -> None:
    """Check that a pickled copy of the model, as other processes get it, gives the same answers."""
    import cloudpickle

    try:
        copy = cloudpickle.loads(cloudpickle.dumps(it.model))
    except Exception as error:
        raise AssertionError(f"the model {it.adapter.name} must be one that can be copied, got {error}") from error
    for asker in it.askers():
        it.require_same(asker, asker.ask(it.codes), it.asker(asker.output, copy).ask(it.codes), "a copy of itself")


def _check_other_columns_are_refused(it: Contracted) -> None:
    """Check that a domain without one of the model's columns raises a DataError that names the column."""
    columns = columns_of(it.model, it.domain)
    others = [name for name in it.domain.names if name not in it.domain.sensitive]
    if columns is None or len(others) < 2 or it.domain.is_restricted or it.domain.links:
        return
    missing = next((name for name in others if name in columns), None)
    kept = [parameter for parameter in it.domain.parameters if parameter.name != missing]
    if missing is None or any(getattr(parameter, "source", None) == missing for parameter in kept):
        return
    try:
        Asker(it.model, Domain(kept, list(it.domain.sensitive)), batch=it.batch)
    except DataError as error:
        it.require(missing in str(error), f"name the column that a domain lacks, {missing}, got {error}")
    else:
        it.require(False, f"refuse a domain without its column {missing!r}")
