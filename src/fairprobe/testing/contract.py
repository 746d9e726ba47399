"""The contract of models: everything that this package assumes of a model and of the adapter that asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain import Domain
from fairprobe.errors import DataError
from fairprobe.model import Asker
from fairprobe.model.adapters import Adapter, adapter_for, columns_of
from fairprobe.testing.models import checks_among, inputs_of, model_checks, require_same


@dataclass(frozen=True)
class Contracted:
    """A model under contract, the domain that it is checked on, and how it is asked."""

    model: Any
    domain: Domain
    batch: str | None = None
    told: tuple[str, ...] | None = None
    """The outputs named by the caller."""

    @cached_property
    def adapter(self) -> Adapter:
        """How it is asked, and what it can do."""
        return adapter_for(self.model)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The outputs named, or all that the adapter declares. A plain function is assumed to give labels."""
        if self.told is not None:
            return self.told
        if Asker(self.model, self.domain, output="value", batch=self.batch).adapter.is_function:
            return ("label",)
        try:
            Asker(self.model, self.domain, batch=self.batch).ask(self.codes)
        except Exception:
            return ("value",)  # which check_model then says more of, if it is none either
        scores = ("score",) if self.adapter.scores or self.adapter.probabilities else ()
        return ("label", *scores, *(("proba",) if self.adapter.probabilities else ()))

    @cached_property
    def codes(self) -> Codes:
        """Codes of the inputs to ask about."""
        return inputs_of(self.domain)

    def asker(self, output: str, model: Any = None) -> Asker:
        """An asker of the model, or of a copy of it, for one output."""
        return Asker(self.model if model is None else model, self.domain, output=output, batch=self.batch)


def model_contract(
    model: Any, domain: Domain, *, outputs: Sequence[str] | None = None, batch: str | None = None
) -> None:
    """Check that a model, and the adapter that asks it, keep to the contract. An AssertionError names a broken rule.

    A model that keeps to it can be searched, estimated, audited and explained, for every output that its adapter
    declares, in several processes.

    Args:
        model: anything with `predict`, a callable, or what an adapter of your own accepts.
        domain: what an input may be, at best with all kinds of parameters that the model takes.
        outputs: the outputs to check, of "label", "score", "proba" and "value"; by default all that its adapter
            declares, and labels for a plain function.
        batch: "array" or "frame" to say what the model takes.

    >>> from fairprobe.testing import box
    >>> toy = box()
    >>> model_contract(toy.model, toy.domain)
    """
    contracted = Contracted(model, domain, batch, None if outputs is None else tuple(outputs))
    for _, check in contract_checks():
        check(contracted)


def contract_checks() -> list[tuple[str, Any]]:
    """The rules by name, for a test of each. A rule takes a `Contracted`, and raises if it is broken."""
    return checks_among(globals())


def _check_every_output(it: Contracted) -> None:
    for output in it.outputs:
        for _, check in model_checks():
            check(it.asker(output))


def _check_inputs_and_rows_are_answered_alike(it: Contracted) -> None:
    for output in it.outputs:
        asker = it.asker(output)
        rows = it.domain.typed(it.domain.decode(it.codes))
        _require_same(it, asker, asker.ask(it.codes), asker.ask_frame(rows), "rows as to the inputs that they are")


def _check_columns_go_by_name(it: Contracted) -> None:
    for output in it.outputs:
        asker = it.asker(output)
        rows = it.domain.typed(it.domain.decode(it.codes))
        turned = asker.ask_frame(rows[list(reversed(rows.columns))])
        _require_same(it, asker, asker.ask_frame(rows), turned, "rows whose columns stand in another order")


def _check_families_are_their_members(it: Contracted) -> None:
    families = it.domain.families
    for output in it.outputs:
        asker = it.asker(output)
        alone = asker.ask(families.members(it.codes))
        whole = asker.ask_families(it.codes)
        _require_same(it, asker, whole.reshape(alone.shape), alone, "whole families as to their members", several=True)


def _check_every_row_is_counted(it: Contracted) -> None:
    asker = it.asker(it.outputs[0])
    asker.ask(it.codes)
    asker.ask_frame(it.domain.typed(it.domain.decode(it.codes)))
    _require(asker.n_queries == 2 * len(it.codes), it, "have every row counted that it is asked about")


def _check_labels_are_classes(it: Contracted) -> None:
    if "label" in it.outputs and it.adapter.classes is not None:
        labels = it.asker("label").ask(it.codes)
        known = np.asarray(it.adapter.classes).tolist()
        _require(all(label in known for label in labels.tolist()), it, f"give labels that are its classes, {known}")


def _check_probabilities_add_to_one(it: Contracted) -> None:
    if "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    _require(bool((given >= -1e-6).all() and (given <= 1 + 1e-6).all()), it, "give probabilities between 0 and 1")
    _require(bool(np.allclose(given.sum(axis=1), 1, atol=1e-4)), it, "give probabilities that add to 1")
    classes = it.adapter.classes
    _require(classes is None or len(classes) == given.shape[1], it, "give a probability for each of its classes")


def _check_labels_follow(it: Contracted) -> None:
    """The declaration by which labels are derived from probabilities instead of being asked for."""
    if it.adapter.labels_follow != "proba" or it.adapter.classes is None or "proba" not in it.outputs:
        return
    given = it.asker("proba").ask(it.codes)
    ranked = np.sort(given, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-6  # where rounding cannot decide
    likeliest = np.asarray(it.adapter.classes)[given.argmax(axis=1)]
    same = (likeliest == it.asker("label").ask(it.codes))[clear]
    _require(bool(same.all()), it, "give the label of the highest probability, as its adapter declares")


def _check_gradients_are_those_of_scores(it: Contracted) -> None:
    if not it.adapter.gradients:
        return
    asker = it.asker("score")
    told = asker.ask_gradients(it.codes)
    if told is not None:
        _require(told[1].shape == it.codes.shape, it, "give a gradient for each column")
        _require(bool(np.isfinite(told[1]).all()), it, "give finite gradients")
        _require_same(it, asker, asker.ask(it.codes), told[0], "rows whose gradients are asked for")


def _check_a_copy_answers_alike(it: Contracted) -> None:
    """Other processes get a copy."""
    import cloudpickle

    try:
        copy = cloudpickle.loads(cloudpickle.dumps(it.model))
    except Exception as error:
        raise AssertionError(f"the model {it.adapter.name} must be one that can be copied, got {error}") from error
    for output in it.outputs:
        asker = it.asker(output)
        _require_same(it, asker, asker.ask(it.codes), it.asker(output, copy).ask(it.codes), "a copy of itself")


def _check_other_columns_are_refused(it: Contracted) -> None:
    """A domain that lacks a column of the model is an error, never an answer."""
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
        _require(missing in str(error), it, f"name the column that a domain lacks, {missing}, got {error}")
        return
    raise AssertionError(f"the model {it.adapter.name} must refuse a domain without its column {missing!r}")


def _require(holds: bool, it: Contracted, rule: str) -> None:
    if not holds:
        raise AssertionError(f"the model {it.adapter.name} must {rule}")


def _require_same(
    it: Contracted, asker: Asker, one: NDArray[Any], other: NDArray[Any], what: str, *, several: bool = False
) -> None:
    codes = it.domain.families.members(it.codes) if several else it.codes
    require_same(asker, codes, one, other, f"the same answer to {what}")
