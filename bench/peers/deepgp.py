"""The command `deepgp` of this project, whose program the environment variable DEEPGP names."""

import csv
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOFTWARE = []


def _write(path, columns, x, target):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "target"])
        writer.writerows([*map(repr, map(float, row)), label] for row, label in zip(x, target))


def _run(part, seed, names, task):
    """Fits on the training part without any setting but task and seed; the predictions of the test part."""
    program = os.environ["DEEPGP"]
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, out = (Path(folder) / name for name in ["train.csv", "test.csv", "m.deepgp", "out.csv"])
        _write(train, part.columns, part.x, [names[k] for k in part.y])
        _write(test, part.columns, part.x_test, [names[k] for k in part.y_test])
        fit = [program, "fit", train, "--target", "target", "-o", model, "--seed", str(seed), "--threads", "1"]
        subprocess.run([*fit, *task, "--quiet", "--checkpoint", "0"], check=True, stdout=subprocess.DEVNULL)
        predict = [program, "predict", model, test, "-o", out, "--log-density", "--quiet"]
        subprocess.run(predict, check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run([program, "show", model, "--json"], check=True, capture_output=True, text=True)
        with open(out, newline="") as file:
            return list(csv.DictReader(file)), json.loads(shown.stdout)["network"]


def labels(part, seed):
    """Probabilities of labels by the bare command, of ordered ones as such."""
    names = [f"l{k:02}" for k in range(part.n_levels)]
    task = ["--task", "ordinal", "--levels", ",".join(names)] if part.task == "levels" else []
    rows, network = _run(part, seed, names, task)
    p = np.array([[float(row[f"target_p_{name}"]) for name in names] for row in rows])
    yield "deepgp", {"model": network}, np.log(np.maximum(p, 1e-300))


def counts(part, seed):
    """Log probabilities of counts by the bare command."""
    names = [str(k) for k in range(int(max(part.y.max(), part.y_test.max())) + 1)]
    rows, network = _run(part, seed, names, ["--task", "counts"])
    each = np.array([float(row["log_probability"]) for row in rows])
    yield "deepgp", {"model": network}, each, np.array([float(row["target_mean"]) for row in rows])
