"""What tests share: a table, as arrays, data frames and files, and quick settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

#: A small network that trains in a moment.
QUICK = {"hidden": 2, "inducing": 8, "iters": 60, "batch": 30, "random_state": 3}


@pytest.fixture(scope="session")
def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Irregular numbers: 160 rows of 3 inputs, and a target."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(160, 3))
    return x, np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] ** 2 + 0.1 * rng.normal(size=160)


def command(*arguments: object) -> str:
    """Runs the command and returns what it prints."""
    line = [sys.executable, "-m", "deepgp", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_csv(path: Path, names: list[str], columns: list[list[object]]) -> Path:
    """Writes a table as text; None is an empty cell, and numbers have all their digits."""

    def cell(value: object) -> str:
        return "" if value is None else repr(value) if isinstance(value, float) else str(value)

    rows = [",".join(map(cell, row)) for row in zip(*columns)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return path


def mixed_columns(n: int = 200) -> dict[str, list[object]]:
    """Columns of all kinds: numbers with gaps, categories, dates, truth values, whole numbers, and a target."""
    import datetime

    rng = np.random.default_rng(5)
    area = rng.uniform(20.0, 200.0, n)
    colour = rng.choice(["red", "green", "blue"], n)
    new = rng.random(n) < 0.4
    day = rng.integers(0, 900, n)
    rooms = rng.integers(1, 7, n)
    price = 3.0 * area + 40.0 * (colour == "red") + 25.0 * new + 0.05 * day + 8.0 * rooms + rng.normal(0.0, 5.0, n)
    start = datetime.date(2021, 3, 1)
    return {
        "area": [None if i % 13 == 0 else float(v) for i, v in enumerate(area)],
        "colour": [None if i % 17 == 0 else str(v) for i, v in enumerate(colour)],
        "new": [bool(v) for v in new],
        "sold": [start + datetime.timedelta(days=int(v)) for v in day],
        "rooms": [int(v) for v in rooms],
        "price": [float(v) for v in price],
    }
