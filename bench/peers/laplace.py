"""scikit-learn's Gaussian process classifier."""

import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

SOFTWARE = ["scikit-learn", "scipy", "numpy"]
ROWS = 1000


def labels(part, seed):
    """Laplace approximation, logistic link, at most ROWS training rows by seed, one kernel against the rest each."""
    x, x_test = part.standardised()
    rows = np.sort(np.random.RandomState(seed).permutation(len(x))[:ROWS])
    dim = x.shape[1]
    for name, lengthscale in [("ard", np.full(dim, dim**0.5)), ("isotropic", dim**0.5)]:
        kernel = ConstantKernel(1.0) * RBF(lengthscale)
        model = GaussianProcessClassifier(kernel, n_restarts_optimizer=0, random_state=seed, n_jobs=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(x[rows], part.y[rows])
        settings = {"rows": len(rows), "restarts": 0, "first_lengthscale": "√D", "warnings": len(caught)}
        settings["log_evidence"] = float(model.log_marginal_likelihood_value_)
        yield f"gp classifier, {name}", settings, np.log(np.maximum(model.predict_proba(x_test), 1e-300))
