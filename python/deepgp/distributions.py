"""Predictive distributions of rows: of the law itself, mixtures and classes included."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._deepgp import Distribution
from .errors import DataError


class PredictiveDistribution:
    """The distribution of each row's target, or targets.

    Results have a row for each row; where there are several targets, a column for each. It can be sliced like an array
    of rows: `distribution[0]`, `distribution[:10]`, `distribution[mask]`.

    Examples
    --------
    >>> import numpy as np
    >>> from deepgp import DeepGPRegressor
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> dist = DeepGPRegressor(hidden=0, inducing=10, iters=300).fit(X, np.sin(X[:, 0])).predict_dist(X)
    >>> dist
    <PredictiveDistribution of numbers, shape (60,)>
    >>> bool(np.allclose(dist.cdf(dist.quantile(0.3)), 0.3)), dist[:2].sample(5).shape
    (True, (5, 2))
    """

    def __init__(self, laws: Distribution, labels: np.ndarray | None, is_discrete: bool):
        self._laws = laws
        self._labels = labels
        #: Whether targets take separate values, which have probabilities and no densities.
        self.is_discrete = is_discrete

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and targets if there are several."""
        rows, columns = self._laws.shape()
        return (rows,) if columns == 1 else (rows, columns)

    @property
    def labels(self) -> np.ndarray | None:
        """The labels, in the order of `probabilities`; None for numbers and counts."""
        return self._labels

    def __len__(self) -> int:
        return self._laws.shape()[0]

    def __repr__(self) -> str:
        what = "counts" if self.is_discrete else "numbers"
        if self._labels is not None:
            what = f"{len(self._labels)} labels"
        return f"<PredictiveDistribution of {what}, shape {self.shape}>"

    def __getitem__(self, rows: Any) -> PredictiveDistribution:
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        if chosen.ndim != 1:
            raise IndexError("a distribution has one dimension of rows")
        return PredictiveDistribution(self._laws.of_rows(chosen.tolist()), self._labels, self.is_discrete)

    def __copy__(self) -> PredictiveDistribution:
        return self

    def __deepcopy__(self, memo: Any) -> PredictiveDistribution:
        # It never changes.
        return self

    def __reduce__(self) -> Any:
        raise TypeError("distributions are not pickled; pickle the model and the rows, or what you ask of them")

    def _shaped(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] if self._laws.shape()[1] == 1 else numbers

    def mean(self) -> np.ndarray:
        """Means. Labels that are no numbers have none."""
        return self._shaped(self._laws.mean())

    def std(self) -> np.ndarray:
        """Standard deviations."""
        return self._shaped(self._laws.std())

    def var(self) -> np.ndarray:
        """Variances."""
        variances: np.ndarray = np.square(self.std())
        return variances

    def quantile(self, q: float | Any) -> np.ndarray:
        """What targets stay below with probability `q`; for several, a last axis has one for each."""
        if np.ndim(q) == 0:
            return self._of_codes(self._shaped(self._laws.quantile(float(q))))
        return np.stack([self.quantile(float(each)) for each in np.asarray(q)], axis=-1)

    def _of_codes(self, codes: np.ndarray) -> np.ndarray:
        if self._labels is None:
            return codes
        labels: np.ndarray = self._labels[codes.astype(int)]
        return labels

    def median(self) -> np.ndarray:
        """Medians."""
        return self.quantile(0.5)

    def interval(self, coverage: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of central intervals."""
        if not 0.0 < coverage < 1.0:
            raise DataError(f"coverage must lie between 0 and 1, not {coverage}")
        tail = 0.5 * (1.0 - coverage)
        return self.quantile(tail), self.quantile(1.0 - tail)

    def probabilities(self) -> np.ndarray:
        """The probability of each label, in the order of `labels`."""
        if self._labels is None:
            raise DataError("numbers and counts have no labels; ask for `log_pdf` or `cdf`")
        return self._laws.probabilities()

    def _outcomes(self, y: Any) -> np.ndarray:
        """Outcomes as the library has them, rows × targets."""
        rows, columns = self._laws.shape()
        y = np.asarray(y)
        if self._labels is not None:
            order = np.argsort(self._labels)
            flat = np.broadcast_to(y, (rows,)) if y.ndim < 2 else y.reshape(rows)
            place = np.searchsorted(self._labels[order], flat).clip(max=len(order) - 1)
            codes = order[place]
            if (self._labels[codes] != flat).any():
                odd = flat[self._labels[codes] != flat][0]
                raise DataError(f"no label {odd!r}; there are: {', '.join(map(str, self._labels))}")
            return np.ascontiguousarray(codes[:, None], dtype=np.float64)
        y = y.astype(np.float64)
        if y.ndim == 1 and columns == 1:
            y = y[:, None]
        return np.ascontiguousarray(np.broadcast_to(y, (rows, columns)))

    def cdf(self, y: Any) -> np.ndarray:
        """The probability of at most `y`: one for all rows, or one for each."""
        return self._shaped(self._laws.cdf(self._outcomes(y)))

    def log_pdf(self, y: Any) -> np.ndarray:
        """Log density at `y`; where targets take separate values, log probability of `y`."""
        return self._shaped(self._laws.log_prob(self._outcomes(y)))

    def pdf(self, y: Any) -> np.ndarray:
        """Density at `y`, or probability of `y`."""
        density: np.ndarray = np.exp(self.log_pdf(y))
        return density

    def crps(self, y: Any) -> np.ndarray:
        """Continuous ranked probability score of observations `y`; smaller is better."""
        return self._shaped(self._laws.crps(self._outcomes(y)))

    def sample(self, n: int = 1, random_state: int = 0) -> np.ndarray:
        """Draws: `n` × rows, and targets if there are several, which are drawn together."""
        rows, columns = self._laws.shape()
        draws = self._laws.sample(int(n), int(random_state))
        drawn = draws.reshape(int(n), rows, columns)
        return self._of_codes(drawn[:, :, 0]) if columns == 1 else drawn


__all__ = ["PredictiveDistribution"]
