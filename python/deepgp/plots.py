"""Plots of what a model predicts and has learnt, with matplotlib where it is installed.

Each takes `ax`, the axes to draw on, and returns them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .distributions import PredictiveDistribution
from .errors import DataError


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt.subplots()[1]


def bands(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    feature: int = 0,
    coverage: tuple[float, ...] = (0.5, 0.95),
    ax: Any = None,
) -> Any:
    """Mean and central intervals along one feature, all others at their medians; `y` is drawn as dots."""
    x = np.asarray(X, dtype=np.float64)
    line = np.linspace(x[:, feature].min(), x[:, feature].max(), 200)
    rows = np.repeat(np.nanmedian(x, axis=0)[None, :], len(line), axis=0)
    rows[:, feature] = line
    ax = _axes(ax)
    dist = estimator.predict_dist(rows)
    for share in sorted(coverage, reverse=True):
        lower, upper = dist.interval(share)
        ax.fill_between(line, lower, upper, alpha=0.25, color="C0", linewidth=0, label=f"{100 * share:g} %")
    ax.plot(line, dist.mean(), color="C0", label="mean")
    if y is not None:
        ax.plot(x[:, feature], np.asarray(y), ".", color="0.3", markersize=3)
    ax.set_xlabel(_name(estimator, feature))
    ax.legend()
    return ax


def _name(estimator: Any, feature: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"x{feature}" if names is None else str(names[feature])


def calibration(dist: PredictiveDistribution, y: Any, *, ax: Any = None) -> Any:
    """Share of observations below each quantile; on the diagonal if the distributions are right."""
    if dist.is_discrete:
        raise DataError("calibration of labels and counts: see sklearn.calibration.CalibrationDisplay")
    level = np.sort(np.ravel(dist.cdf(y)))
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    ax.plot(level, (np.arange(len(level)) + 0.5) / len(level), color="C0")
    ax.set_xlabel("predicted probability of at most y")
    ax.set_ylabel("share of rows")
    return ax


def relevance(estimator: Any, *, most: int = 20, ax: Any = None) -> Any:
    """The share that each column has in the slopes of the model's first layer."""
    shares = estimator.description_["relevance"][:most][::-1]
    ax = _axes(ax)
    ax.barh([entry["column"] for entry in shares], [entry["share"] for entry in shares], color="C0")
    ax.set_xlabel("relevance")
    return ax


def layers(estimator: Any, *, ax: Any = None) -> Any:
    """Width and noise of each layer."""
    found = estimator.description_["layers"]
    names = [f"{layer['inputs']} → {layer['outputs']}" for layer in found]
    ax = _axes(ax)
    ax.bar(range(len(found)), [layer["noise_std"] for layer in found], color="C0")
    ax.set_xticks(range(len(found)), names)
    ax.set_ylabel("noise of the layer (standard deviation)")
    return ax


def learning_curve(estimator: Any, *, ax: Any = None) -> Any:
    """The log density of held-out rows in the course of training; searches have none."""
    import json

    points = [p for p in json.loads(estimator._fitted().curve()) if p.get("mean_log_density") is not None]
    if not points:
        raise DataError("the model has no learning curve: no rows were held out, or it was searched for")
    ax = _axes(ax)
    ax.plot([p["step"] for p in points], [p["mean_log_density"] for p in points], color="C0")
    ax.set_xlabel("step")
    ax.set_ylabel("mean log density of held-out rows")
    return ax


__all__ = ["bands", "calibration", "layers", "learning_curve", "relevance"]
