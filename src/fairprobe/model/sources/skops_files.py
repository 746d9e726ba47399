"""Files of skops, which hold scikit-learn's estimators: reading and writing.

A file is read if it consists of types that are known to be harmless, or that the user trusts. A file is written only if
the model in it gives the same answers as the original.
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
from fairprobe.model.sources.reading import FileContent, Permission, shortened

if TYPE_CHECKING:
    import pandas as pd

_HARMLESS: Final = """
numpy dtype
builtins slice
collections OrderedDict
functools partial
fairprobe.subjects.fair_svm FairSVM
sklearn._loss.link HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit
sklearn._loss.loss AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss
sklearn._loss.loss HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss
sklearn._loss.loss PinballLoss
sklearn._loss._loss CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHuberLoss
sklearn._loss._loss CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss
sklearn._loss._loss CyHalfTweedieLossIdentity CyPinballLoss
sklearn.calibration _CalibratedClassifier _SigmoidCalibration
sklearn.compose._column_transformer _RemainderColsList
sklearn.ensemble._hist_gradient_boosting.binning _BinMapper
sklearn.ensemble._hist_gradient_boosting.predictor TreePredictor
sklearn.feature_selection._univariate_selection chi2 f_classif f_regression r_regression
sklearn.feature_selection._mutual_info mutual_info_classif mutual_info_regression
sklearn.gaussian_process._gpc _BinaryGaussianProcessClassifierLaplace
sklearn.gaussian_process.kernels CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared
sklearn.gaussian_process.kernels Matern Product RationalQuadratic RBF Sum WhiteKernel
sklearn.neural_network._stochastic_optimizers AdamOptimizer SGDOptimizer
sklearn.tree._tree Tree
sklearn.utils._bunch Bunch
sklearn.utils.validation check_array
"""
HARMLESS: Final = frozenset(
    f"{module}.{name}" for module, *names in map(str.split, _HARMLESS.strip().splitlines()) for name in names
)
"""Names of types that are allowed in addition to those that skops trusts. Creating one runs no code that a file could
choose.

A partial function is as harmless as the function in it, which is checked too. Two types hold trees, whose compiled code
follows numbers from the file without checking them; skops does not trust them. They are allowed here because their
numbers are checked. Trees of neighbours (`KDTree`) have the same fault and are not listed.
"""

SHOWN: Final = 10
"""Largest number of refused types that a message names. Chosen."""

UNPACKED: Final = 2**28
"""Bytes that an archive may unpack to, besides those for its size. Chosen."""

UNPACKED_A_BYTE: Final = 20
"""Additional bytes that an archive may unpack to, for each of its own bytes. Chosen: forests were measured at 5 to
8."""

SUFFIXES: Final = (".skops",)

_TRIED: Final = 1000
"""Largest number of rows on which a model and its copy read from the file are compared. Chosen."""

_RULE: Final = "a model that is written must be one that skops can write and read again"

_SETTINGS: Final = re.compile("param|grid|args|keywords")
"""Pattern of the names of attributes whose dictionaries have parameter names as keys."""

_PATH: Final = re.compile(r"(?:^|_)(?:path|file|filename|dir|directory|folder|home|cache|location)(?:_|$)")
"""Pattern of the names of parameters whose text may name a file or folder."""


def knows(content: FileContent) -> bool:
    """Return True if a file's content is a zip archive, unless torch wrote it."""
    return content.head.startswith(b"PK\x03\x04") and b".pkl" not in content.head


def read(content: FileContent, permission: Permission) -> Any:
    """Return the estimator in a skops file if all its types are harmless or trusted; otherwise raise a SettingError.

    Its parameters are set so that it starts no process and reads no file.
    """
    import skops.io

    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        _check_sizes(archive, len(content.data))
    allowed = sorted(HARMLESS.union(permission.trust))
    strange = [name for name in strange_types(content.data) if name not in allowed]
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


def strange_types(data: bytes) -> list[str]:
    """Return the names of the types in a skops file that are not known to be harmless; none is made or imported."""
    import skops.io

    return [name for name in skops.io.get_untrusted_types(data=data) if name not in HARMLESS]


def _check_sizes(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Raise a DataError if an archive would unpack to too many bytes.

    A part counts as often as the archive refers to it.
    """
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
    """Raise a DataError if an estimator, or one in it, has parameters that name files or types, or replaced methods.

    Functions in it need no check here, because only harmless or trusted types were allowed in the file.
    """
    for name, part in parts(model):
        _refuse(name, part, trusted)
        # Values of no bytes make an array as long as a file likes.
        must(not isinstance(part, np.ndarray) or part.size <= part.nbytes, "each value of an array takes a byte")
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
    """Raise a SettingError if skops cannot write and read an unfitted model.

    Attributes that fitting adds are checked only when the fitted model is written.
    """
    _dumped(model, SettingError, "; put functions of a module in the place of lambdas, or leave --out out")


def write_model(model: Any, path: Path, domain: Domain, rows: pd.DataFrame, batch: str | None = None) -> None:
    """Write a model to a skops file, after checking that a copy read back gives the same answers about rows.

    skops writes some objects that it cannot read. In this case, a RunError is raised and nothing is written.
    """
    data, saved = _dumped(model, RunError, ". Nothing is written")
    said, again = (Asker(each, domain, batch=batch).ask_frame(rows.head(_TRIED)) for each in (model, saved))
    if not np.array_equal(said, again):
        raise RunError(f"{_RULE}, got a copy that answers otherwise. Nothing is written")
    path.write_bytes(data)


def _dumped(model: Any, kind: type[FairprobeError], advice: str) -> tuple[bytes, Any]:
    """Return the bytes of a skops file of a model, and the model read back from them; raise `kind` if that fails."""
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
    """Return a copy of a model with lists in place of pandas indexes, which skops cannot write."""
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


def loading_lines(path: str) -> tuple[str, str]:
    """Return how to load a skops file: a shell command that prints the model in it, and options of a command.

    Both name the types in the file that are not known to be harmless, which must be trusted.
    """
    types = strange_types(Path(path).read_bytes())
    trust = f", trust={types}" if types else ""
    code = f"import fairprobe; print(fairprobe.load_model({json.dumps(path)}{trust}))"
    return f"python -c {shlex.quote(code)}", shlex.join(["--model", path, *(f"--trust={name}" for name in types)])
