"""Deep Gaussian processes: predictions with honest error bars, learnt from arrays, data frames and files.

>>> import numpy as np
>>> from deepgp import DeepGPRegressor
>>> x = np.linspace(0.0, 6.0, 80)[:, None]
>>> y = np.sin(x[:, 0])
>>> model = DeepGPRegressor(hidden=0, inducing=10, iters=300).fit(x, y)
>>> mean, std = model.predict(x, return_std=True)
>>> bool(np.abs(mean - y).mean() < 0.1), bool((std > 0.0).all())
(True, True)

Without settings of the network, `fit` compares models and mixes the best, as the command `deepgp fit` does.
Estimators are imported when they are first used, and scikit-learn with them if it is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._deepgp import __version__
from .errors import (
    DataError,
    DataWarning,
    DeepGPError,
    DeepGPWarning,
    InterruptedWarning,
    ModelFileError,
    NumericsError,
    SettingsError,
    TargetError,
    TrainingWarning,
)

if TYPE_CHECKING:
    from .distributions import PredictiveDistribution
    from .estimators import DeepGPClassifier, DeepGPRegressor, load

__all__ = [
    "DataError",
    "DataWarning",
    "DeepGPClassifier",
    "DeepGPError",
    "DeepGPRegressor",
    "DeepGPWarning",
    "InterruptedWarning",
    "ModelFileError",
    "NumericsError",
    "PredictiveDistribution",
    "SettingsError",
    "TargetError",
    "TrainingWarning",
    "__version__",
    "load",
]

# Where what is imported on first use stands.
_LATER = {
    "DeepGPClassifier": "estimators",
    "DeepGPRegressor": "estimators",
    "PredictiveDistribution": "distributions",
    "load": "estimators",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'deepgp' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
