"""Plots, reports, displays of scikit-learn, notebooks, and the package without its friends."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, command

import deepgp
from deepgp import DeepGPClassifier, DeepGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::deepgp.TrainingWarning")


@pytest.fixture(scope="module")
def model(numbers):
    return DeepGPRegressor(**QUICK).fit(*numbers)


def test_plots_are_drawn(model, numbers):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from deepgp import plots

    x, y = numbers
    assert len(plots.bands(model, x, y, feature=1).lines) == 2
    curve = plots.calibration(model.predict_dist(x), y).lines[1]
    assert np.abs(curve.get_xdata() - curve.get_ydata()).max() < 0.25
    assert len(plots.relevance(model).patches) == 3
    assert len(plots.layers(model).patches) == 2
    assert len(plots.learning_curve(model).lines[0].get_xdata()) > 1


def test_displays_of_scikit_learn_work(model, numbers):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pytest.importorskip("sklearn")
    from sklearn.calibration import CalibrationDisplay
    from sklearn.inspection import PartialDependenceDisplay

    x, y = numbers
    PartialDependenceDisplay.from_estimator(model, x, [0, 1])
    classifier = DeepGPClassifier(**QUICK).fit(x, y > 0.5)
    CalibrationDisplay.from_estimator(classifier, x, y > 0.5)


def test_reports_are_pages(model, numbers, tmp_path):
    report = model.report(*numbers, title="Waves")
    assert "Waves" in report.html and "<script" not in report.html and "<iframe" in report._repr_html_()
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 10_000
    assert "deep GP 3" in model.describe() and len(model.description_["layers"]) == 2


def test_the_command_is_installed(model, numbers, tmp_path):
    model.save(tmp_path / "m.deepgp")
    assert command("--version").split()[1] == deepgp.__version__
    assert command("show", tmp_path / "m.deepgp") == model.describe()
    line = [sys.executable, "-m", "deepgp", "show", "no.deepgp"]
    assert subprocess.run(line, capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", ">f8", "int64", "uint8", "bool", "object"])
def test_numbers_of_all_types_are_read(numbers, dtype):
    x, y = numbers
    x = np.round(4.0 * np.abs(x)).clip(0, 1 if dtype == "bool" else 100)
    expected = DeepGPRegressor(**QUICK).fit(x, y).predict(x)
    given = x.astype(dtype)
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(given, y).predict(given), expected)
    packed = np.zeros(len(x), dtype=np.dtype([("pad", "u1"), ("x", "f8", 3)]))
    packed["x"] = x
    assert not packed["x"].flags.aligned
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(packed["x"], y).predict(packed["x"]), expected)


def test_missing_cells_and_texts_in_arrays_are_learnt(numbers):
    x, y = numbers
    cells = x.astype(object)
    cells[::7, 1] = None
    cells[:, 2] = np.where(x[:, 2] > 0.0, "high", "low")
    model = DeepGPRegressor(**QUICK).fit(cells, y)
    assert any("x1" in notice for notice in model.notices_)
    assert {entry["name"] for entry in model.description_["columns"]} == {"x0", "x1", "x2"}
    assert "x2=high" in model.description_["features"]
    with pytest.raises(TypeError, match="string or a number"):
        wrong = cells.copy()
        wrong[3, 1] = {"a": 1}
        DeepGPRegressor(**QUICK).fit(wrong, y)


_WITHOUT = """
import sys
for name in ("sklearn", "pandas", "polars", "pyarrow", "tqdm", "matplotlib"):
    sys.modules[name] = None
import pickle
import numpy as np
from deepgp import DeepGPClassifier, DeepGPRegressor
from deepgp.estimators import NotFittedError
x = np.random.default_rng(0).normal(size=(80, 2)); y = x[:, 0]
model = DeepGPRegressor(hidden=0, inducing=5, iters=100, verbose=1)
try:
    model.predict(x)
except NotFittedError as error:
    assert isinstance(error, ValueError)
model.fit(x, y)
assert model.score(x, y) > 0.5 and "inducing=5" in repr(model)
assert (pickle.loads(pickle.dumps(model)).predict(x) == model.predict(x)).all()
assert model.set_params(alpha=0.5).get_params()["alpha"] == 0.5
assert DeepGPClassifier(hidden=0, inducing=5, iters=100).fit(x, y > 0).score(x, y > 0) > 0.7
"""


def test_nothing_but_numpy_is_needed():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_imports_no_other():
    code = "import sys, deepgp; print([m for m in ('sklearn', 'scipy', 'pandas', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_stubs_name_what_is_there():
    from deepgp import _deepgp

    stub = (Path(deepgp.__file__).parent / "_deepgp.pyi").read_text()
    named = set(re.findall(r"^(?:class|def) (\w+)", stub, re.MULTILINE))
    assert named == {name for name in dir(_deepgp) if not name.startswith("_")}
    for name in ("Table", "Model", "Distribution"):
        body = stub.split(f"class {name}:")[1].split("\nclass ")[0].split("\ndef ")[0]
        named = set(re.findall(r"def (\w+)", body)) - {"__new__"}
        there = {n for n, _ in inspect.getmembers(getattr(_deepgp, name)) if not n.startswith("_")}
        assert named == there, name


def test_an_interrupted_cell_of_a_notebook_keeps_the_best_model():
    pytest.importorskip("ipykernel")
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel()

    def run(code: str, interrupt_after: float | None = None) -> str:
        message, began, found = client.execute(code), time.monotonic(), []
        while time.monotonic() - began < 90.0:
            if interrupt_after is not None and time.monotonic() - began > interrupt_after:
                manager.interrupt_kernel()
                interrupt_after = None
            try:
                told = client.get_iopub_msg(timeout=0.2)
            except Exception:
                continue
            if told["parent_header"].get("msg_id") != message:
                continue
            if told["msg_type"] == "stream":
                found.append(told["content"]["text"])
            elif told["msg_type"] == "status" and told["content"]["execution_state"] == "idle":
                break
        return "".join(found)

    try:
        run("import numpy as np; from deepgp import DeepGPRegressor; x = np.linspace(0, 6, 200)[:, None]")
        code = "m = DeepGPRegressor(hidden=2, iters=9_000_000).fit(x, np.sin(x[:, 0])); print(m.result_['termination'])"
        told = run(code, interrupt_after=2.5)
        assert "interrupted\n" in told and "InterruptedWarning" in told
    finally:
        manager.shutdown_kernel(now=True)
