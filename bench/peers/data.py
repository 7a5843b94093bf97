"""Data sets and their splits, read from a folder with one sub-folder for each set."""

import csv
import gzip
from pathlib import Path

import numpy as np

TASK = {
    "banana": "two classes",
    "ionosphere": "two classes",
    "pima": "two classes",
    "magic": "two classes",
    "oil": "several classes",
    "wine_red": "levels",
    "wine_white": "levels",
    "wine_red_grouped": "levels",
    "wine_white_grouped": "levels",
    "bike_hour": "counts",
}
N_SPLITS = {"magic": 5, "oil": 1, "wine_red_grouped": 5, "wine_white_grouped": 5, "bike_hour": 3}
GROUPED = "_grouped"
HERE = Path(__file__).resolve().parent


class Table:
    """Inputs x (N × D), targets y (N) as whole numbers from 0, and the column names of the inputs."""

    def __init__(self, x, y, columns, n_levels, task):
        self.x, self.y, self.columns, self.n_levels, self.task = x, y, columns, n_levels, task


class Part:
    """Training and test part of one split; inputs are raw."""

    def __init__(self, table, test, grouped=False):
        held = np.zeros(len(table.y), dtype=bool)
        held[test] = True
        self.x, self.y = table.x[~held], table.y[~held]
        self.x_test, self.y_test = table.x[held], table.y[held]
        self.n_levels, self.columns, self.task, self.grouped = table.n_levels, table.columns, table.task, grouped

    def standardised(self):
        """Inputs of both parts, with mean 0 and deviation 1 over the training part; constant columns become 0."""
        mean, deviation = self.x.mean(0), self.x.std(0)
        deviation[deviation < 1e-12] = 1.0
        return (self.x - mean) / deviation, (self.x_test - mean) / deviation

    def held_out(self, seed):
        """A tenth of the training rows, by seed: (rows to fit, rows held out); of the groups, in grouped sets."""
        group = groups(self.x) if self.grouped else np.arange(len(self.y))
        n = group.max() + 1
        held = np.isin(group, np.random.RandomState(1000 + seed).permutation(n)[: max(1, round(n / 10))])
        return np.flatnonzero(~held), np.flatnonzero(held)


def _open(folder, stem):
    plain = folder / f"{stem}.csv"
    return open(plain, newline="") if plain.exists() else gzip.open(folder / f"{stem}.csv.gz", "rt", newline="")


def load(root, name):
    """The table of a set. Labels and levels are shifted so that the lowest is 0; counts stay as they are."""
    with _open(Path(root) / name.removesuffix(GROUPED), "data") as file:
        reader = csv.reader(file)
        header = next(reader)
        values = np.array([[float(v) for v in row] for row in reader])
    y = values[:, -1].astype(int)
    assert (y == values[:, -1]).all(), name
    if TASK[name] == "counts":
        return Table(values[:, :-1], y, header[:-1], None, TASK[name])
    lowest = int(y.min())
    levels = np.unique(y - lowest)
    assert (levels == np.arange(len(levels))).all(), name
    return Table(values[:, :-1], y - lowest, header[:-1], len(levels), TASK[name])


def splits(root, name):
    """Zero-based test rows of each split that is used, in order."""
    if name.endswith(GROUPED):
        with open(HERE / "splits" / f"{name}.csv") as file:
            lines = file.read().split()
    else:
        with _open(Path(root) / name, "splits") as file:
            lines = file.read().split()
    rows = [np.array([int(v) for v in line.split(",")]) for line in lines]
    return rows[: N_SPLITS.get(name, 20)]


def groups(x):
    """For each row the number of its distinct input row, in order of first appearance."""
    seen = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(x)])


def grouped_splits(x, count):
    """Splits that keep equal input rows together.

    Groups are the distinct input rows in order of their first appearance. The rule of the standard splits is applied
    to the groups: with NumPy's RandomState(1), once for all splits, `choice(G, G, replace=False)`; the first
    round(0.9 G) groups are the training part, the rows of the others the test part.
    """
    group = groups(x)
    n = group.max() + 1
    random = np.random.RandomState(1)
    found = []
    for _ in range(count):
        order = random.choice(n, n, replace=False)
        found.append(np.flatnonzero(np.isin(group, order[int(round(0.9 * n)) :])))
    return found


def write_grouped(root):
    """Writes the split files of the grouped sets."""
    for name in TASK:
        if name.endswith(GROUPED):
            table = load(root, name)
            lines = [",".join(map(str, rows)) for rows in grouped_splits(table.x, N_SPLITS[name])]
            (HERE / "splits").mkdir(exist_ok=True)
            (HERE / "splits" / f"{name}.csv").write_text("\n".join(lines) + "\n")
