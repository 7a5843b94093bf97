"""The same deep GP in GPyTorch and here: two hidden units, 50 inducing inputs, batches of 100, Gaussian noise.

It needs `pip install gpytorch` and prints wall time of training and of prediction, RMSE and mean log density of test
rows in the target's unit. Data are Friedman's first function, 1,000 training and 1,000 test rows.
"""

import time

import gpytorch
import numpy as np
import torch
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy

from deepgp import DeepGPRegressor

STEPS, BATCH, INDUCING, HIDDEN = 4000, 100, 50, 2


def friedman(rows, seed):
    """Friedman (1991), equation 61: five inputs that matter, five that do not, noise of variance 1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(rows, 10))
    mean = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, mean + rng.normal(size=rows)


# In GPyTorch.


class Layer(DeepGPLayer):
    """A sparse variational GP for each output."""

    def __init__(self, inputs, outputs, start):
        shape = [] if outputs is None else [outputs]
        inducing = start.expand(*shape, INDUCING, inputs).clone()
        law = CholeskyVariationalDistribution(INDUCING, torch.Size(shape))
        super().__init__(VariationalStrategy(self, inducing, law, learn_inducing_locations=True), inputs, outputs)
        self.mean_module = gpytorch.means.ConstantMean() if outputs is None else gpytorch.means.LinearMean(inputs)
        kernel = gpytorch.kernels.RBFKernel(batch_shape=torch.Size(shape), ard_num_dims=inputs)
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel, batch_shape=torch.Size(shape))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Deep(DeepGP):
    """Two layers and Gaussian noise."""

    def __init__(self, x):
        super().__init__()
        self.first = Layer(x.shape[1], HIDDEN, x[torch.randperm(len(x))[:INDUCING]])
        self.last = Layer(HIDDEN, None, torch.randn(INDUCING, HIDDEN))
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()

    def forward(self, x):
        return self.last(self.first(x))


def by_gpytorch(x, y, x_test, y_test):
    """Trains by Adam on the evidence lower bound of ten samples, and predicts by 100."""
    torch.manual_seed(0)
    shift, scale, mean, std = x.mean(0), x.std(0), y.mean(), y.std()
    inputs, targets = torch.tensor((x - shift) / scale).float(), torch.tensor((y - mean) / std).float()
    began = time.perf_counter()
    model = Deep(inputs)
    bound = gpytorch.mlls.DeepApproximateMLL(gpytorch.mlls.VariationalELBO(model.likelihood, model, len(x)))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(STEPS):
        rows = torch.randint(len(x), (BATCH,))
        adam.zero_grad()
        with gpytorch.settings.num_likelihood_samples(10):
            loss = -bound(model(inputs[rows]), targets[rows])
        loss.backward()
        adam.step()
    trained = time.perf_counter()
    model.eval()
    new, seen = torch.tensor((x_test - shift) / scale).float(), torch.tensor((y_test - mean) / std).float()
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(100):
        law = model.likelihood(model(new))
        predicted = law.mean.mean(0).numpy() * std + mean
        logs = model.likelihood.log_marginal(seen, model(new))
        density = (torch.logsumexp(logs, 0) - np.log(len(logs))).mean().item() - np.log(std)
    return trained - began, time.perf_counter() - trained, predicted, density


# Here.


def by_deepgp(x, y, x_test, y_test):
    """Trains by stochastic EP, and predicts by moments."""
    began = time.perf_counter()
    model = DeepGPRegressor(hidden=HIDDEN, inducing=INDUCING, batch=BATCH, iters=STEPS, valid=0.0, n_jobs=1).fit(x, y)
    trained = time.perf_counter()
    predicted = model.predict(x_test)
    return trained - began, time.perf_counter() - trained, predicted, model.log_density(x_test, y_test).mean()


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = (*friedman(1000, 0), *friedman(1000, 1))
    print(f"{'':10} {'train':>10} {'predict':>10} {'RMSE':>8} {'log density':>12}")
    for name, method in (("GPyTorch", by_gpytorch), ("deepgp", by_deepgp)):
        seconds, predicting, found, log_density = method(*data)
        rmse = np.sqrt(np.mean((found - data[3]) ** 2))
        print(f"{name:10} {seconds:9.2f}s {1e3 * predicting:8.1f}ms {rmse:8.3f} {log_density:12.3f}")
