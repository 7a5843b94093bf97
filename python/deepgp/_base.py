"""What estimators inherit: scikit-learn's base classes, or small stand-ins where it is not installed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A method that needs a model was called before `fit`."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data that were taken for something else than what they are written as."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name, after scikit-learn's convention: those of `__init__`, kept as they were given."""

        @classmethod
        def _names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """All parameters."""
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params: Any) -> Any:
            """Changes parameters."""
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"no parameter {name!r}; there are: {', '.join(self._names())}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            plain = inspect.signature(type(self).__init__).parameters
            said = {name: value for name, value in self.get_params().items() if value is not plain[name].default}
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"

    class RegressorMixin:  # type: ignore[no-redef]
        """The score of a regressor."""

        _estimator_type = "regressor"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Share of the variance that is explained, averaged over targets."""
            y, found = np.asarray(y, float), np.asarray(self.predict(X))  # type: ignore[attr-defined]
            weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
            errors = np.average((y - found) ** 2, axis=0, weights=weights)
            spread = np.average((y - np.average(y, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
            return float(np.mean(1.0 - errors / spread))

    class ClassifierMixin:  # type: ignore[no-redef]
        """The score of a classifier."""

        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Share of rows with the right label."""
            is_right = np.asarray(y) == self.predict(X)  # type: ignore[attr-defined]
            return float(np.average(is_right, weights=sample_weight))


__all__ = [
    "HAS_SKLEARN",
    "BaseEstimator",
    "ClassifierMixin",
    "DataConversionWarning",
    "NotFittedError",
    "RegressorMixin",
]
