"""Files of skops: scikit-learn's estimators.

A file is read if it is made of types that are known to be harmless, or that the user trusts. A file is written only if
what it holds answers as the model does.
"""

from __future__ import annotations

import copy
import io
import json
import re
import shlex
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.model.sources.node_checks import QUIET, attributes, check_model, must, parts, quieten
from fairprobe.model.sources.reading import Content, Permission, shortened

if TYPE_CHECKING:
    import pandas as pd

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
"""Largest number of types that a message names. Chosen."""

UNPACKED: Final = 2**28
UNPACKED_A_BYTE: Final = 20
"""Bytes that an archive may unpack to, and additional bytes for each byte of it: forests were measured at 5 to 8."""

SUFFIXES: Final = (".skops",)

_TRIED: Final = 1000
"""Number of rows that both the model and its copy are asked about. Chosen."""

_RULE: Final = "a model that is written must be one that skops can write and read again"

_SETTINGS: Final = re.compile("param|grid|args|keywords")
"""Names of dictionaries whose keys are names of parameters."""

_PATH: Final = re.compile(r"(?:^|_)(?:path|file|filename|dir|directory|folder|home|cache|location)(?:_|$)")
"""Names of parameters that name a file or a folder if they are text."""


def knows(content: Content) -> bool:
    """Return True for a zip archive other than one that torch writes."""
    return content.head.startswith(b"PK\x03\x04") and b".pkl" not in content.head


def read(content: Content, permission: Permission) -> Any:
    """The estimator, if all its types may be made; it is set to start no process and to read no file."""
    import skops.io

    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        _check_sizes(archive, len(content.data))
    types = skops.io.get_untrusted_types(data=content.data)  # no type is made or imported to be known
    allowed = sorted(HARMLESS.union(permission.trust))
    strange = [name for name in types if name not in allowed]
    if strange:
        shown = ", ".join(strange[:SHOWN]) + (f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else "")
        advice = "if you trust whoever made it, and only then, name them by trust (--trust TYPE, once for each)"
        rule = "a skops file must hold only types that are known to be harmless"
        raise SettingError(f"{rule}, got {shown}: {advice}: {content.path}")
    model = skops.io.loads(content.data, trusted=allowed)
    check_parameters(model, frozenset(permission.trust))
    quieten(model)
    check_model(model)
    return model


def _check_sizes(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Refuse an archive that would fill the memory; a part counts as often as it is named."""
    most = UNPACKED + UNPACKED_A_BYTE * n_bytes
    sizes = {each.filename: each.file_size for each in archive.infolist()}
    must(sum(sizes.values()) <= most, f"its parts are unpacked to {most:,} bytes at most")
    named = Counter(
        part["file"]
        for _, part in parts(json.loads(archive.read("schema.json")))
        if isinstance(part, dict) and isinstance(part.get("file"), str)
    )
    total = 0
    for name, times in named.items():
        total += times * sizes[name]
        with archive.open(name) as file:
            if file.read(4) == b"PK\x03\x04":
                with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
                    total += times * sum(each.file_size for each in inner.infolist())
    must(total <= most, f"its parts are unpacked to {most:,} bytes at most")


def check_parameters(model: Any, trusted: frozenset[str] = frozenset()) -> None:
    """Refuse an estimator that names files or types, or has other methods than its class, anywhere in it.

    Functions are those that are known to be harmless, as all types are: ufuncs of NumPy and SciPy among them.
    """
    for name, part in parts(model):
        _refuse(name, part, trusted)
        for key in attributes(part):
            must(not callable(getattr(type(part), key, None)), f"no method is replaced, as {key!r}")


def _refuse(name: str, part: Any, trusted: frozenset[str]) -> None:
    first, last = name.partition("__")[0], name.rpartition("__")[2]
    if isinstance(part, type):
        is_harmless = last.endswith("dtype") or f"{part.__module__}.{part.__qualname__}" in trusted
        must(is_harmless, f"no parameter names a type to be called, as {name!r}")
    elif name == first or _SETTINGS.search(first):
        must(name == first or last not in QUIET or part in (None, 1), f"no setting to be tried says {last!r}")
        must(not isinstance(part, str) or not _PATH.search(last), f"no parameter names a file, as {name!r}")
        must(last != "input" or part not in ("file", "filename"), "no parameter has files read, as 'input'")


def check_writable(model: Any) -> None:
    """Refuse a model that could not be written, before it is fitted; what fitting adds is checked only later."""
    _dumped(model, SettingError, "; put functions of a module in the place of lambdas, or leave --out out")


def write_model(model: Any, path: Path, domain: Domain, rows: pd.DataFrame, batch: str | None = None) -> None:
    """Write a model, and check that the file gives it back: skops writes some things that it cannot read."""
    data, saved = _dumped(model, RunError, ". Nothing is written")
    said, again = (Asker(each, domain, batch=batch).ask_frame(rows.head(_TRIED)) for each in (model, saved))
    if not np.array_equal(said, again):
        raise RunError(f"{_RULE}, got a copy that answers otherwise. Nothing is written")
    path.write_bytes(data)


def _dumped(model: Any, kind: type[FairprobeError], advice: str) -> tuple[bytes, Any]:
    """The content of a file, and the model that it gives back."""
    import skops.io

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = skops.io.dumps(_with_lists(model, {}), compression=zipfile.ZIP_DEFLATED)
            # All types come from the model that this process holds anyway.
            return data, skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    except Exception as error:
        raise kind(f"{_RULE}, got {shortened(error)}{advice}") from error


def _with_lists(value: Any, done: dict[int, Any]) -> Any:
    """A copy with lists in the place of pandas' indexes, which skops cannot write."""
    import pandas as pd

    if isinstance(value, pd.Index):
        return value.tolist()
    if id(value) in done:
        return done[id(value)]
    done[id(value)] = value
    if type(value) in (list, tuple):
        done[id(value)] = type(value)(_with_lists(each, done) for each in value)
    elif type(value) is dict or (hasattr(value, "get_params") and not isinstance(value, type)):
        done[id(value)] = copied = copy.copy(value)
        held = copied if type(value) is dict else vars(copied)
        held.update({name: _with_lists(each, done) for name, each in held.items()})
    return done[id(value)]


def loading_line(name: str) -> str:
    """A command that loads a model and shows it."""
    code = f"import skops.io as s; f = {json.dumps(name)}; print(s.load(f, trusted=s.get_untrusted_types(file=f)))"
    return f"python -c {shlex.quote(code)}"
