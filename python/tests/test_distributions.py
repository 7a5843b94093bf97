"""Distributions agree with themselves: densities with their sums, quantiles with probabilities, draws with moments."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import QUICK

from deepgp import DataError, DeepGPClassifier, DeepGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::deepgp.TrainingWarning")


@pytest.fixture(scope="module", params=["gaussian", "student-t", "search"])
def model(request, numbers):
    x, y = numbers
    settings = {"effort": 0.02, "n_jobs": 1} if request.param == "search" else {**QUICK, "likelihood": request.param}
    return DeepGPRegressor(**settings).fit(x, y)


def test_distributions_agree_with_themselves(model, numbers):
    x, y = numbers
    dist = model.predict_dist(x)
    assert dist.shape == (160,) and len(dist) == 160 and dist.labels is None and not dist.is_discrete
    mean, std = model.predict(x, return_std=True)
    assert np.array_equal(dist.mean(), mean) and np.array_equal(dist.std(), std)
    for p in (0.01, 0.3, 0.5, 0.9):
        assert np.allclose(dist.cdf(dist.quantile(p)), p, atol=1e-9)
    grid = np.linspace(-40.0, 40.0, 40001)
    one = dist[7]
    density = np.array([one.pdf(v)[0] for v in grid[::10]])
    assert abs(np.trapezoid(density, grid[::10]) - 1.0) < 1e-2 if hasattr(np, "trapezoid") else True
    lower, upper = dist.interval(0.8)
    assert np.array_equal(np.stack([lower, upper], axis=1), model.predict_interval(x, 0.8))
    assert dist.quantile([0.1, 0.5]).shape == (160, 2)
    assert np.array_equal(dist.log_pdf(y), model.log_density(x, y)) or np.allclose(
        dist.log_pdf(y), model.log_density(x, y), rtol=1e-12
    )
    draws = dist.sample(4000, random_state=1)
    assert draws.shape == (4000, 160)
    assert (np.abs(draws.mean(axis=0) - mean) < 6.0 * std / np.sqrt(4000.0)).all()
    assert np.array_equal(draws, dist.sample(4000, random_state=1))
    # CRPS = E|Y − y| − ½ E|Y − Y'|
    crps = np.abs(draws - y).mean(axis=0) - 0.5 * np.abs(draws[:2000] - draws[2000:]).mean(axis=0)
    assert np.abs(dist.crps(y) - crps).max() < 0.15 * std.max()


def test_slices_are_the_rows(model, numbers):
    x, _ = numbers
    dist = model.predict_dist(x)
    mean = dist.mean()
    for rows in (slice(3, 9), [5, 1, 1, 159], np.arange(160) % 3 == 0, -1):
        assert np.array_equal(dist[rows].mean(), np.atleast_1d(mean[rows]))
    with pytest.raises(IndexError):
        dist[160]
    many = model.predict_dist(np.repeat(x, 10, axis=0))
    assert np.array_equal(many[1595:].mean(), np.repeat(mean, 10)[1595:])


def test_latent_functions_are_surer_than_observations(model, numbers):
    x, _ = numbers
    assert (model.predict_dist(x, latent=True).std() < model.predict_dist(x).std()).all()


def test_classes_have_probabilities(numbers):
    x, y = numbers
    label = np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 0.8])]
    model = DeepGPClassifier(**QUICK).fit(x, label)
    dist = model.predict_dist(x)
    assert dist.is_discrete and sorted(dist.labels) == ["high", "low", "middle"]
    probabilities = dist.probabilities()[:, [list(dist.labels).index(c) for c in model.classes_]]
    assert np.array_equal(probabilities, model.predict_proba(x))
    picked = probabilities[np.arange(160), np.searchsorted(model.classes_, label)]
    assert np.allclose(np.exp(dist.log_pdf(label)), picked, rtol=1e-9)
    assert np.allclose(np.exp(model.log_density(x, label)), picked, rtol=1e-9)
    drawn = dist.sample(3000)
    assert set(np.unique(drawn)) <= {"low", "middle", "high"}
    with pytest.raises(DataError, match="no mean"):
        dist.mean()
    with pytest.raises(DataError, match="no label"):
        dist.log_pdf("other")


def test_ordered_levels_and_several_targets(numbers):
    x, y = numbers
    levels = np.digitize(y, [0.0, 0.8, 1.4]) * 2
    model = DeepGPRegressor(task="ordinal", **QUICK).fit(x, levels)
    assert model.predict(x).shape == (160,) and 0.0 < model.predict(x).mean() < 6.0
    assert set(np.unique(model.predict_quantiles(x))) <= {0.0, 2.0, 4.0, 6.0}
    both = np.stack([y, x[:, 1]], axis=1)
    model = DeepGPRegressor(**QUICK).fit(x, both)
    dist = model.predict_dist(x)
    assert model.predict(x).shape == dist.shape == (160, 2)
    assert model.predict_interval(x).shape == (160, 2, 2) and dist.sample(5).shape == (5, 160, 2)
    assert np.allclose(dist.log_pdf(both).sum(axis=1), model.log_density(x, both))
