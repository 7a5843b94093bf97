"""A first look: numbers with error bars, classes with probabilities, a data frame, and the model as a file."""

import tempfile
from pathlib import Path

import numpy as np

from deepgp import DeepGPClassifier, DeepGPRegressor, load

# A function that jumps, seen with noise.
rng = np.random.default_rng(0)
x = rng.uniform(-3.0, 3.0, size=(300, 1))
y = np.where(x[:, 0] > 0.5, 2.0, -1.0) + 0.2 * rng.normal(size=300)

# Without settings, models are compared and the best are mixed; effort=0.05 keeps this short.
model = DeepGPRegressor(effort=0.05).fit(x, y)
mean, std = model.predict([[-1.0], [2.0]], return_std=True)
print("mean", mean.round(2), "std", std.round(2))

# Whole distributions.
dist = model.predict_dist([[-1.0], [2.0]])
print("95 % intervals", [end.round(2).tolist() for end in dist.interval(0.95)])
print("probability of more than 1.5:", (1.0 - dist.cdf(1.5)).round(3))
print("log density of a new row:", model.log_density([[2.0]], [2.1]).round(2))

# A given network trains in seconds.
deep = DeepGPRegressor(hidden=2, inducing=20, iters=500).fit(x, y)
print("R² of one deep GP:", round(deep.score(x, y), 3))

# Classes have probabilities.
label = np.where(x[:, 0] + 0.5 * rng.normal(size=300) > 0.5, "high", "low")
classifier = DeepGPClassifier(hidden=0, inducing=20, iters=500).fit(x, label)
print(dict(zip(classifier.classes_, classifier.predict_proba([[0.4]])[0].round(2))))

# Model files are those of the command.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.deepgp"
    model.save(path)
    assert np.array_equal(load(path).predict(x), model.predict(x))

assert np.abs(mean - [-1.0, 2.0]).max() < 0.3
