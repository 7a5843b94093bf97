"""Results equal those of the command to the last bit, however the table comes in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, command, mixed_columns, write_csv

from deepgp import DeepGPClassifier, DeepGPRegressor, load

pytestmark = pytest.mark.filterwarnings("ignore::deepgp.TrainingWarning")

#: The same for the command.
OPTIONS = ["--hidden", "2", "--inducing", "8", "--iters", "60", "--batch", "30", "--seed", "3"]


def predicted(model: Path, table: Path, *columns: str) -> list[np.ndarray]:
    """Columns of what the command predicts."""
    rows = list(csv.DictReader(io.StringIO(command("predict", model, table))))
    return [np.array([float(row[name]) for row in rows]) for name in columns]


def fitted_by_command(folder: Path, table: Path, *options: str) -> Path:
    model = folder / "by_command.deepgp"
    command("fit", table, "-o", model, "--quiet", *options)
    return model


def without_clock(model: bytes) -> dict:
    """What a model file holds of the model, without times."""
    from deepgp._deepgp import Model

    described = json.loads(Model.from_bytes(model).described())
    for name in ("date", "seconds"):
        described.pop(name)
    return described


@pytest.mark.parametrize(
    "settings", [(QUICK, OPTIONS), ({"effort": 0.02, "n_jobs": 1}, ["--effort", "0.02", "--threads", "1"])]
)
def test_arrays_give_the_bits_of_the_command(tmp_path, numbers, settings):
    parameters, options = settings
    x, y = numbers
    table = write_csv(tmp_path / "t.csv", ["x0", "x1", "x2", "y"], [*x.T.tolist(), y.tolist()])
    by_command = fitted_by_command(tmp_path, table, *options)
    mean, std, lower = predicted(by_command, table, "y_mean", "y_std", "y_lower")
    for array in (np.ascontiguousarray(x), np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x.tolist()):
        model = DeepGPRegressor(**parameters).fit(array, y)
        found = model.predict(array, return_std=True)
        assert np.array_equal(found[0], mean) and np.array_equal(found[1], std)
        assert np.array_equal(model.predict_interval(array)[:, 0], lower)
    assert without_clock(by_command.read_bytes()) == without_clock(model.model_.to_bytes())
    # What one saves the other opens.
    model.save(tmp_path / "by_python.deepgp")
    assert np.array_equal(predicted(tmp_path / "by_python.deepgp", table, "y_mean")[0], mean)
    assert np.array_equal(load(by_command).predict(x), mean)
    # Each row alone.
    alone = np.concatenate([model.predict(row[None, :]) for row in x])
    assert np.array_equal(alone, mean)


def frames(columns):
    """The same columns in everything that is installed."""
    found = {}
    names, target = [name for name in columns if name != "price"], np.array(columns["price"])
    inputs = {name: columns[name] for name in names}
    try:
        import pandas

        frame = pandas.DataFrame(inputs)
        frame["sold"] = pandas.to_datetime(frame["sold"])
        found["pandas"] = frame, pandas.Series(target, name="price")
        shuffled = frame.copy()
        shuffled.index = np.arange(len(frame))[::-1]
        found["pandas with an index"] = shuffled, target
        categories = frame.copy()
        categories["colour"] = categories["colour"].astype("category")
        found["pandas with categories"] = categories, target
    except ImportError:
        pass
    try:
        import polars

        found["polars"] = polars.DataFrame(inputs), polars.Series("price", target)
    except ImportError:
        pass
    try:
        import pyarrow

        found["pyarrow"] = pyarrow.table(inputs), target
        batches = pyarrow.table(inputs).to_batches(max_chunksize=37)
        found["pyarrow, cut"] = pyarrow.Table.from_batches(batches), pyarrow.array(target)
    except ImportError:
        pass
    return found


def test_data_frames_give_the_bits_of_the_command(tmp_path):
    columns = mixed_columns()
    table = write_csv(tmp_path / "t.csv", list(columns), list(columns.values()))
    by_command = fitted_by_command(tmp_path, table, "--target", "price", *OPTIONS)
    [mean] = predicted(by_command, table, "price_mean")
    kinds = frames(columns)
    if not kinds:
        pytest.skip("no library of data frames")
    for kind, (x, y) in kinds.items():
        model = DeepGPRegressor(**QUICK).fit(x, y)
        assert np.array_equal(model.predict(x), mean), kind
        # The command's model knows columns by name, in any order.
        assert np.array_equal(load(by_command).predict(x), mean), kind
    of_file = DeepGPRegressor(**QUICK).fit(table, "price")
    assert np.array_equal(of_file.predict(table), mean)
    assert np.array_equal(of_file.predict(str(table)), mean)


def test_pandas_without_pyarrow_gives_the_same(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    from deepgp import _tables

    x, y = frames(mixed_columns())["pandas"]
    expected = DeepGPRegressor(**QUICK).fit(x, y).predict(x)
    monkeypatch.setattr(_tables, "_through_arrow", lambda data: None)
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(x, y).predict(x), expected)


def test_results_of_duckdb_are_tables(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    columns = mixed_columns()
    table = write_csv(tmp_path / "t.csv", list(columns), list(columns.values()))
    expected = DeepGPRegressor(**QUICK).fit(table, "price").predict(table)
    relation = duckdb.connect().sql(f"select * from read_csv('{table}')")
    model = DeepGPRegressor(**QUICK).fit(relation, "price")
    assert np.array_equal(model.predict(relation), expected)


@pytest.mark.parametrize(
    "labels", [["low", "high", "middle"], [3, 1, 2], [False, True], ["no", "yes"], ["b", "10"], [1.0, 0.0]]
)
def test_labels_give_the_bits_of_the_command(tmp_path, numbers, labels):
    x, y = numbers
    cuts = np.quantile(y, np.linspace(0.0, 1.0, len(labels) + 1)[1:-1])
    label = np.array(labels)[np.searchsorted(cuts, y)]
    table = write_csv(tmp_path / "t.csv", ["x0", "x1", "x2", "y"], [*x.T.tolist(), label.tolist()])
    by_command = fitted_by_command(tmp_path, table, "--task", "classes", *OPTIONS)
    model = DeepGPClassifier(**QUICK).fit(x, label)
    assert model.classes_.tolist() == np.unique(label).tolist()
    names = [str(name) for name in model.classes_.tolist()]
    expected = np.stack(predicted(by_command, table, *[f"y_p_{name}" for name in names]), axis=1)
    assert np.array_equal(model.predict_proba(x), expected)
    assert model.score(x, label) > 0.6
    assert np.array_equal(load(by_command).predict_proba(x), expected)


def test_columns_of_rows_give_the_bits_of_the_command(tmp_path, numbers):
    x, y = numbers
    rng = np.random.default_rng(2)
    weight, group = rng.integers(0, 4, len(y)).astype(float), rng.integers(0, 30, len(y))
    table = write_csv(
        tmp_path / "t.csv",
        ["x0", "x1", "x2", "y", "w", "g"],
        [*x.T.tolist(), y.tolist(), weight.tolist(), group.tolist()],
    )
    by_command = fitted_by_command(tmp_path, table, "--target", "y", "--weight", "w", "--group", "g", *OPTIONS)
    [mean] = predicted(by_command, table, "y_mean")
    model = DeepGPRegressor(**QUICK).fit(x, y, sample_weight=weight, groups=group)
    assert np.array_equal(model.predict(x), mean)
    # Another table of rows to hold out.
    held_out = write_csv(tmp_path / "v.csv", ["x0", "x1", "x2", "y"], [*x[:40].T.tolist(), y[:40].tolist()])
    short = write_csv(tmp_path / "s.csv", ["x0", "x1", "x2", "y"], [*x.T.tolist(), y.tolist()])
    by_command = fitted_by_command(tmp_path, short, "--valid", str(held_out), *OPTIONS)
    [mean] = predicted(by_command, short, "y_mean")
    model = DeepGPRegressor(**QUICK).fit(x, y, eval_set=(x[:40], y[:40]))
    assert np.array_equal(model.predict(x), mean)


def test_counts_with_exposure_give_the_bits_of_the_command(tmp_path, numbers):
    x, y = numbers
    rng = np.random.default_rng(4)
    exposure = rng.uniform(0.5, 4.0, len(y))
    count = rng.poisson(exposure * np.exp(1.0 + 0.3 * y))
    table = write_csv(
        tmp_path / "t.csv", ["x0", "x1", "x2", "y", "exposure"], [*x.T.tolist(), count.tolist(), exposure.tolist()]
    )
    options = ["--target", "y", "--task", "counts", "--exposure", "exposure", *OPTIONS]
    by_command = fitted_by_command(tmp_path, table, *options)
    mean, upper = predicted(by_command, table, "y_mean", "y_upper")
    model = DeepGPRegressor(task="counts", **QUICK).fit(x, count, exposure=exposure)
    assert np.array_equal(model.predict(x, exposure=exposure), mean)
    assert np.array_equal(model.predict_interval(x, exposure=exposure)[:, 1], upper)
