"""Scores of predicted probabilities of labels, levels and counts."""

import numpy as np
from scipy.special import gammaln, log_ndtr, xlogy
from scipy.stats import binom

LOWEST = 1e-15  # probabilities of labels below this, zero above all, are scored as this; `n_floored` counts them


def of_labels(log_p, y, ordered=False):
    """Scores of log probabilities (n × K) of labels y.

    Brier is the mean of (p₁ − y)² for two classes and of Σ_k (p_k − 1[y = k])² for more. The ranked probability
    score, for ordered levels, is the mean of Σ_k (P(Y ≤ k) − 1[y ≤ k])².
    """
    p = np.exp(log_p)
    assert np.all(np.isfinite(p)) and np.allclose(p.sum(1), 1, atol=1e-6)
    n, k = p.shape
    each = log_p[np.arange(n), y]
    scores = _log_probability(np.maximum(each, np.log(LOWEST)))
    scores["n_floored"] = int(np.sum(each < np.log(LOWEST)))
    scores["error"] = float(np.mean(p.argmax(1) != y))
    hit = np.eye(k)[y]
    squares = ((p - hit) ** 2).sum(1)
    scores["brier"] = float(squares.mean() / (2 if k == 2 else 1))
    if k == 2:
        scores["auc"] = _auc(log_p[:, 1] - log_p[:, 0], y)
    scores["reliability"] = _reliability(p[:, 1], y == 1) if k == 2 else _reliability(p.ravel(), hit.ravel() > 0)
    if ordered:
        scores["rps"] = float(((p.cumsum(1) - hit.cumsum(1)) ** 2).sum(1).mean())
        scores["mean_absolute_error_of_median"] = float(np.mean(np.abs((p.cumsum(1) < 0.5).sum(1) - y)))
    return scores


def _reliability(p, happened):
    """For each tenth of the probabilities that has any: how many there are, their mean, and how often it happened."""
    tenth = np.minimum((10 * p).astype(int), 9)
    chosen = [tenth == b for b in range(10) if np.any(tenth == b)]
    return [[int(rows.sum()), float(p[rows].mean()), int(happened[rows].sum())] for rows in chosen]


def within_chance(reliability):
    """Of the bins of reliability diagrams with ten rows or more: how many there are, and how many lie within the
    central 95 % of the binomial law of their mean probability."""
    bins = [(n, p, seen) for n, p, seen in reliability if n >= 10]
    inside = [binom.ppf(0.025, n, p) <= seen <= binom.ppf(0.975, n, p) for n, p, seen in bins]
    return len(bins), int(np.sum(inside))


def of_counts(each, mean, y):
    """Scores of counts: log probabilities (n) of the counts y, and the predicted means."""
    scores = _log_probability(each)
    scores["rmse"] = float(np.sqrt(np.mean((mean - y) ** 2)))
    scores["mean_absolute_error"] = float(np.mean(np.abs(mean - y)))
    return scores


def _log_probability(each):
    error = each.std(ddof=1) / np.sqrt(len(each))
    return {"log_prob": float(each.mean()), "log_prob_se": float(error)}


def _auc(score, y):
    """Probability that a row of class 1 has the higher score; ties count half."""
    positive, negative = score[y == 1], np.sort(score[y == 0])
    if len(positive) == 0 or len(negative) == 0:
        return None
    below = np.searchsorted(negative, positive, "left")
    not_above = np.searchsorted(negative, positive, "right")
    return float((below + not_above).mean() / 2 / len(negative))


def log_interval(mean, deviation, low, high):
    """log (Φ((high − mean)/deviation) − Φ((low − mean)/deviation)) without cancellation in the tails."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_ndtr(b)
    return top + np.log1p(-np.exp(log_ndtr(a) - top))


def log_levels(mean, deviation, k):
    """Log probabilities (n × K) of levels 0 … K − 1 under normals: unit intervals, the first and last open-ended."""
    edges = np.concatenate([[-np.inf], np.arange(k - 1) + 0.5, [np.inf]])
    return log_interval(np.asarray(mean)[:, None], deviation, edges[None, :-1], edges[None, 1:])


def log_poisson(y, mean):
    """log p(y) = y log μ − μ − log y!"""
    return xlogy(y, mean) - mean - gammaln(y + 1)


def log_negative_binomial(y, mean, dispersion):
    """log p(y) with variance μ + a μ², a the dispersion, r = 1/a."""
    r = 1 / dispersion
    binomial = gammaln(y + r) - gammaln(r) - gammaln(y + 1)
    return binomial - r * np.log1p(mean / r) + xlogy(y, mean) - y * np.log(mean + r)
