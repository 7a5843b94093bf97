"""An adapter with the interface of skpro: `DeepGPProba`, whose distributions are those of the library."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from skpro.distributions.base import BaseDistribution
from skpro.regression.base import BaseProbaRegressor

from .distributions import PredictiveDistribution
from .estimators import DeepGPRegressor


class DeepGPDistribution(BaseDistribution):
    """The predictive distributions of rows × targets.

    Parameters
    ----------
    laws : PredictiveDistribution
        Those of all rows and targets.
    targets : list of int
        Which targets are columns of this distribution.
    index, columns : pd.Index, optional
        Names of rows and columns; without them it is the distribution of a number.

    Examples
    --------
    >>> from deepgp.skpro import DeepGPDistribution
    >>> [rows, number] = DeepGPDistribution.get_test_params()
    >>> DeepGPDistribution(**rows).mean().shape
    (3, 1)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["deepgp"],
        "capabilities:approx": ["energy", "pdfnorm"],
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, laws: PredictiveDistribution, targets: Any = None, index: Any = None, columns: Any = None):
        self.laws = laws
        self.targets = targets
        super().__init__(index=index, columns=columns)

    def _chosen(self) -> list[int]:
        return list(range(self.laws._laws.shape()[1])) if self.targets is None else list(self.targets)

    def _of(self, name: str, x: Any = None) -> Any:
        """Answers for the chosen targets, in the shape of this distribution."""
        chosen = self._chosen()
        method = getattr(self.laws._laws, name)
        if x is None:
            found = method()[:, chosen]
        else:
            # Targets that were not chosen are asked for the same.
            full = np.empty(self.laws._laws.shape())
            full[:] = np.asarray(x, dtype=np.float64).reshape(len(full), -1)[:, :1]
            full[:, chosen] = x
            found = method(full)[:, chosen]
        return found[0, 0] if self.ndim == 0 else found

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> DeepGPDistribution:
        if np.ndim(rowidx) == 0 and rowidx is not None and np.ndim(colidx) == 0 and colidx is not None:
            return self._iat(rowidx, colidx)
        rows = np.arange(len(self.index)) if rowidx is None else np.atleast_1d(np.arange(len(self.index))[rowidx])
        cols = np.arange(len(self.columns)) if colidx is None else np.atleast_1d(np.arange(len(self.columns))[colidx])
        targets = [self._chosen()[col] for col in cols]
        return DeepGPDistribution(self.laws[rows], targets, self.index[rows], self.columns[cols])

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> DeepGPDistribution:
        if rowidx is None or colidx is None:
            raise ValueError("iat method requires both row and column index")
        return DeepGPDistribution(self.laws[int(rowidx)], [self._chosen()[int(colidx)]])

    def _mean(self) -> Any:
        return self._of("mean")

    def _var(self) -> Any:
        return self._of("std") ** 2

    def _pdf(self, x: Any) -> Any:
        return np.exp(self._of("log_prob", x))

    def _log_pdf(self, x: Any) -> Any:
        return self._of("log_prob", x)

    def _cdf(self, x: Any) -> Any:
        return self._of("cdf", x)

    def _ppf(self, p: Any) -> Any:
        return self._of("ppf", p)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Distributions for tests, of rows and of a number."""
        x = np.linspace(-1.0, 1.0, 40)[:, None]
        model = DeepGPRegressor(hidden=0, inducing=5, iters=50).fit(x, np.sin(x[:, 0]))
        laws = model.predict_dist(x[:3])
        return [
            {"laws": laws, "targets": [0], "index": pd.RangeIndex(3), "columns": pd.Index(["y"])},
            {"laws": laws[0], "targets": [0]},
        ]


class DeepGPProba(BaseProbaRegressor):
    """A probabilistic regressor with skpro's interface.

    Parameters
    ----------
    settings : dict, optional
        Parameters of `DeepGPRegressor`; a search without them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from deepgp.skpro import DeepGPProba
    >>> X = pd.DataFrame({"a": np.linspace(0.0, 1.0, 40)})
    >>> y = pd.DataFrame({"b": np.linspace(1.0, 3.0, 40)})
    >>> model = DeepGPProba({"hidden": 0, "inducing": 5, "iters": 50}).fit(X, y)
    >>> model.predict_proba(X).shape
    (40, 1)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["deepgp"],
        "capability:multioutput": True,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, settings: dict[str, Any] | None = None):
        self.settings = settings
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame, C: Any = None) -> DeepGPProba:
        self._y_columns = y.columns
        plain = X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)
        self.regressor_ = DeepGPRegressor(task="regression", **(self.settings or {}))
        self.regressor_.fit(plain, y.to_numpy())
        return self

    def _laws(self, X: pd.DataFrame) -> PredictiveDistribution:
        return self.regressor_.predict_dist(X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1))

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(self._laws(X)._laws.mean(), index=X.index, columns=self._y_columns)

    def _predict_proba(self, X: pd.DataFrame) -> DeepGPDistribution:
        targets = list(range(len(self._y_columns)))
        return DeepGPDistribution(self._laws(X), targets, X.index, self._y_columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Quick settings for tests."""
        return [
            {"settings": {"hidden": 0, "inducing": 10, "iters": 100}},
            {"settings": {"hidden": 2, "inducing": 5, "iters": 50, "likelihood": "student-t"}},
        ]


__all__ = ["DeepGPDistribution", "DeepGPProba"]
