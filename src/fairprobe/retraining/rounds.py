"""Rounds: the record of one try, the rule that accepts it, and the best of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.judging import JUDGED, Assessment, Loss
from fairprobe.retraining.recipes import Recipe
from fairprobe.wording import percent

if TYPE_CHECKING:
    from fairprobe.retraining.settings import Settings


@dataclass(frozen=True)
class Round:
    """One recipe that was tried, judged on the select part."""

    number: int
    recipe: Recipe
    n_added: int
    """Rows added to the training rows."""
    shares: dict[str, Share]
    changes: dict[str, Comparison]
    """By population, the model to beat compared with the new one, on the same inputs."""
    accuracy: float
    loss: Loss
    """The loss against the model before the first round."""
    left: float
    """The share as a fraction of the share before the first round, averaged over the populations."""
    accepted: bool
    why: str
    seconds: float

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        return {
            "round": self.number,
            "augment": self.recipe.augment,
            "percent": self.recipe.percent,
            "flipped": self.recipe.flipped if self.recipe.uses_rows else 0.0,
            "copies": self.recipe.copies,
            "n_added": self.n_added,
            **{f"share_{name}": share.value for name, share in self.shares.items()},
            **{f"low_{name}": share.low for name, share in self.shares.items()},
            **{f"high_{name}": share.high for name, share in self.shares.items()},
            "left": self.left,
            "accuracy": self.accuracy,
            "loss": self.loss.value,
            "loss_low": self.loss.low,
            "loss_high": self.loss.high,
            "accepted": self.accepted,
            "why": self.why,
            "seconds": self.seconds,
        }

    def sentence(self) -> str:
        """The round in a line."""
        shares = ", ".join(f"{name} {percent(share.value)}" for name, share in self.shares.items())
        verdict = "accepted" if self.accepted else "rejected"
        return (
            f"round {self.number}: {self.recipe.words()} (+{self.n_added:,} rows): {shares}, "
            f"accuracy {percent(self.accuracy)}; {verdict}: {self.why}"
        )


def decide(
    settings: Settings, changes: dict[str, Comparison], loss: Loss, accuracy: float, least_accuracy: float
) -> tuple[bool, str]:
    """Whether a new model is accepted, and the reason.

    By either rule, the loss of accuracy must lie within the limit, and the accuracy must reach the least allowed.
    """
    if settings.accept == "paper":
        is_lower = changes["domain"].difference > 0
        why = f"the estimated share of the domain is {'' if is_lower else 'not '}lower"
    else:
        is_lower, why = _shown_lower(changes)
    if not is_lower:
        return False, why
    limit = f"the limit of {100 * settings.max_accuracy_loss:.3g}"
    if loss.value > settings.max_accuracy_loss:
        return False, f"{100 * loss.value:.2f} points of accuracy are lost, above {limit}"
    if settings.prove_accuracy and loss.high > settings.max_accuracy_loss:
        return False, f"up to {100 * loss.high:.2f} points of accuracy may be lost, above {limit}"
    if accuracy < least_accuracy:
        return False, f"the accuracy of {percent(accuracy)} is more than {limit} below that of the model given"
    within = f"{'shown' if loss.high <= settings.max_accuracy_loss else 'not shown'} to be within the limit"
    return True, f"{why}; the accuracy lost is {within}"


def _shown_lower(changes: dict[str, Comparison]) -> tuple[bool, str]:
    """Whether a share is shown to be lower and none higher, and the reason."""
    worse = [name for name, change in changes.items() if change.high < 0]
    better = [name for name, change in changes.items() if change.low > 0]
    if worse:
        return False, f"the share of {_named(worse)} is shown to be higher"
    return bool(better), f"{f'the share of {_named(better)}' if better else 'no share'} is shown to be lower"


def left_of(first: Assessment, new: Assessment) -> float:
    """The new share as a fraction of the first, averaged over the populations that had discriminatory inputs."""
    kept = [new.shares[name].value / share.value for name, share in first.shares.items() if share.hits]
    return float(np.mean(kept)) if kept else 1.0


STEP = 0.02
"""Width of the steps by which `left` is compared: of rounds on one step, the more accurate is the better; chosen."""


def best_of(rounds: list[Round]) -> Round | None:
    """The best accepted round: the least left by steps, then the most accurate, then the least left."""
    accepted = [each for each in rounds if each.accepted]
    return min(accepted, key=lambda each: (int(each.left / STEP), -each.accuracy, each.left), default=None)


def front_of(rounds: list[Round]) -> list[Round]:
    """The rounds that no other beats in both `left` and accuracy, the least left first."""
    ordered = sorted(rounds, key=lambda each: (each.left, -each.accuracy))
    front: list[Round] = []
    for each in ordered:
        if not front or each.accuracy > front[-1].accuracy:
            front.append(each)
    return front


def _named(names: list[str]) -> str:
    return " and ".join(JUDGED[name] for name in names)
