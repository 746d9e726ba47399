"""Files of skops: scikit-learn's estimators, made of types that are known to be harmless, or that the user trusts."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.node_checks import check_trees
from fairprobe.model.sources.reading import Permission, shortened

_HARMLESS: Final = (
    ("numpy", "dtype"),
    ("builtins", "slice"),
    ("collections", "OrderedDict"),
    ("functools", "partial"),
    ("fairprobe.subjects.fair_svm", "FairSVM"),
    ("sklearn._loss.link", "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit"),
    ("sklearn._loss.loss", "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss"),
    ("sklearn._loss.loss", "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss"),
    ("sklearn._loss.loss", "PinballLoss"),
    ("sklearn._loss._loss", "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHuberLoss"),
    ("sklearn._loss._loss", "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss"),
    ("sklearn._loss._loss", "CyHalfTweedieLossIdentity CyPinballLoss"),
    ("sklearn.calibration", "_CalibratedClassifier _SigmoidCalibration"),
    ("sklearn.compose._column_transformer", "_RemainderColsList"),
    ("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper"),
    ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
    ("sklearn.feature_selection._univariate_selection", "chi2 f_classif f_regression r_regression"),
    ("sklearn.feature_selection._mutual_info", "mutual_info_classif mutual_info_regression"),
    ("sklearn.gaussian_process._gpc", "_BinaryGaussianProcessClassifierLaplace"),
    ("sklearn.gaussian_process.kernels", "CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared"),
    ("sklearn.gaussian_process.kernels", "Matern Product RationalQuadratic RBF Sum WhiteKernel"),
    ("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.utils._bunch", "Bunch"),
    ("sklearn.utils.validation", "check_array"),
)
HARMLESS: Final = frozenset(f"{module}.{name}" for module, names in _HARMLESS for name in names.split())
"""Types beyond those that skops trusts: making one of them runs nothing that a file could choose.

A partial function is as harmless as the function in it, which is looked at, too. Two types, which hold trees, follow
numbers in a file without looking whether these lead out of the tree, for which skops trusts no tree: here their numbers
are looked at. Trees of neighbours (`KDTree`) do so too, and are not listed.
"""

SHOWN: Final = 10
"""Types that a message names."""


def knows(path: Path, head: bytes) -> bool:
    """Whether it is an archive with a schema in it; one that is cut off has lost its table of contents."""
    if not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return path.suffix == ".skops" or b"schema.json" in head or b".npy" in head[:256]


def preload() -> None:
    """Import what reads it."""
    import skops.io  # noqa: F401


def read(path: Path, permission: Permission) -> Any:
    """The estimator, if all its types may be made."""
    import skops.io

    strange = [name for name in _types(path) if name not in HARMLESS and name not in permission.trust]
    if strange:
        shown = ", ".join(strange[:SHOWN]) + (f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else "")
        raise SettingError(
            f"a skops file must hold only types that are known to be harmless, got {shown}: if you trust whoever made "
            f"it, and only then, name them by trust (--trust TYPE, once for each): {path}"
        )
    try:
        return skops.io.load(path, trusted=_types(path))
    except Exception as error:
        raise _broken(path, error) from None


def check(model: Any, path: Path) -> None:
    """Refuse trees that lead out of themselves."""
    check_trees(model, path)


def _types(path: Path) -> list[str]:
    """The types in it that skops itself does not trust; nothing is imported or made to know them."""
    import skops.io

    try:
        return skops.io.get_untrusted_types(file=path)
    except Exception as error:
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> DataError:
    return DataError(f"a skops file must be whole, got {shortened(error)}: {path}")
