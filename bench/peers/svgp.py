"""GPflow's sparse variational GP."""

import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gpflow  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_keras  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402

SOFTWARE = ["gpflow", "tensorflow", "tf_keras", "scikit-learn", "numpy"]
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def labels(part, seed):
    """Whitened, ARD squared exponential, k-means inducing inputs that are trained, Adam on everything."""
    x, x_test = part.standardised()
    n, dim = x.shape
    steps, size, m = 5000, 100, 100
    z = KMeans(m, n_init=1, random_state=seed).fit(x).cluster_centers_
    k = part.n_levels
    laws = ["bernoulli probit"] if k == 2 else ["robust max", "softmax"]
    for law in laws:
        tf.random.set_seed(seed)
        if law == "bernoulli probit":
            likelihood, latents = gpflow.likelihoods.Bernoulli(), 1
        elif law == "robust max":
            likelihood, latents = gpflow.likelihoods.MultiClass(k), k
        else:
            likelihood, latents = gpflow.likelihoods.Softmax(k), k
        kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(dim, dim**0.5))
        model = gpflow.models.SVGP(kernel, likelihood, z.copy(), num_latent_gps=latents, whiten=True, num_data=n)
        optimiser = tf_keras.optimizers.legacy.Adam(0.01)
        variables = model.trainable_variables
        xs, ys = tf.constant(x), tf.constant(part.y[:, None].astype(np.int32 if law == "softmax" else float))
        batches = tf.constant(_batches(n, min(size, n), steps, seed))

        @tf.function
        def train():
            for i in tf.range(steps):
                rows = batches[i]
                batch = (tf.gather(xs, rows), tf.gather(ys, rows))
                with tf.GradientTape() as tape:
                    loss = model.training_loss(batch)
                optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        train()
        if law == "softmax":
            model.likelihood.num_monte_carlo_points = 2000
        parts = np.array_split(x_test, 1 + len(x_test) // 500)
        p = np.concatenate([model.predict_y(rows)[0].numpy() for rows in parts])
        p = np.c_[1 - p, p] if k == 2 else p / p.sum(1, keepdims=True)
        settings = {"m": m, "batch": size, "steps": steps, "adam": 0.01, "first_lengthscale": "√D", "law": law}
        name = "svgp" if k == 2 else f"svgp, {law}"
        yield name, settings, np.log(np.maximum(p, 1e-300))


def _batches(n, size, steps, seed):
    """Row numbers (steps × size): shuffled anew in each pass over the data, without the incomplete last batch."""
    random = np.random.RandomState(seed)
    each = n // size
    passes = [random.permutation(n)[: each * size].reshape(each, size) for _ in range(-(-steps // each))]
    return np.concatenate(passes)[:steps].astype(np.int32)
