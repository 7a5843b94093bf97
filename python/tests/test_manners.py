"""How the package behaves: interrupts, callbacks, threads, processes, memory, time."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import QUICK

import deepgp
from deepgp import DataError, DeepGPRegressor, InterruptedWarning, ModelFileError, SettingsError

pytestmark = pytest.mark.filterwarnings("ignore::deepgp.TrainingWarning")

LONG = {"hidden": 2, "inducing": 20, "iters": 2_000_000}


def test_an_interrupt_gives_the_best_model_so_far(numbers):
    x, y = numbers
    timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.warns(InterruptedWarning):
        model = DeepGPRegressor(**LONG).fit(x, y)
    assert time.monotonic() - began < 60.0
    assert model.result_["termination"] == "interrupted" and np.isfinite(model.predict(x)).all()


def test_callbacks_hear_of_everything_and_can_end_a_fit(numbers):
    x, y = numbers
    events = []

    def enough(event):
        events.append(event["event"])
        return event["event"] == "step" and event["step"] > 500

    model = DeepGPRegressor(**LONG).fit(x, y, callbacks=enough)
    assert {"task_chosen", "schema_learnt", "started", "step"} <= set(events)
    assert model.result_["termination"] == "interrupted"

    def fail(event):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        DeepGPRegressor(**LONG).fit(x, y, callbacks=[fail])


def test_an_interrupted_fit_goes_on_to_the_same_bits(numbers):
    x, y = numbers
    settings = {**QUICK, "iters": 3000}
    expected = DeepGPRegressor(**settings).fit(x, y).predict(x)
    model = DeepGPRegressor(**settings, warm_start=True)
    model.fit(x, y, callbacks=lambda event: event["event"] == "step")
    assert model.result_["termination"] == "interrupted" and model.result_["steps"] < 3000
    resumed = pickle.loads(pickle.dumps(model)).fit(x, y)
    assert resumed.result_["termination"] == "iterations"
    assert np.array_equal(resumed.predict(x), expected)
    with pytest.raises(DataError, match="not the table"):
        model.fit(x[::-1], y)


def test_time_limits_and_progress(numbers, capfd):
    x, y = numbers
    began = time.monotonic()
    model = DeepGPRegressor(hidden=2, inducing=10, time_limit=0.5, verbose=1).fit(x, y)
    assert 0.3 < time.monotonic() - began < 30.0 and model.result_["termination"] == "time"
    assert "training on 144 rows" in capfd.readouterr().err


def test_threads_train_at_once_and_others_go_on(numbers):
    x, y = numbers
    expected = DeepGPRegressor(**QUICK).fit(x, y).predict(x)
    found = {}

    def work(name):
        found[name] = DeepGPRegressor(**{**QUICK, "iters": 60}).fit(x, y).predict(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 3 and all(np.array_equal(each, expected) for each in found.values())
    # The interpreter is free while a model is trained.
    worker = threading.Thread(target=lambda: DeepGPRegressor(hidden=2, time_limit=0.6).fit(x, y))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.01)
    assert turns > 15


def _predict(model, x):
    return model.predict(x)


def _fit(x, y):
    return DeepGPRegressor(**QUICK).fit(x, y).predict(x)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_work(numbers, method):
    x, y = numbers
    model = DeepGPRegressor(**QUICK).fit(x, y)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert np.array_equal(pool.apply(_predict, (model, x)), model.predict(x))
        assert np.array_equal(pool.apply(_fit, (x, y)), model.predict(x))


def test_errors_have_the_library_s_words(numbers, tmp_path):
    x, y = numbers
    with pytest.raises(SettingsError, match="alpha must lie in"):
        DeepGPRegressor(alpha=2.0).fit(x, y)
    with pytest.raises(SettingsError, match="random_state must be at most"):
        DeepGPRegressor(random_state=2**63, hidden=2).fit(x, y)
    with pytest.raises(SettingsError, match="network is given"):
        DeepGPRegressor(hidden=2, effort=0.5).fit(x, y)
    with pytest.raises(SettingsError, match="kernel|variant"):
        DeepGPRegressor(kernel="round").fit(x, y)
    with pytest.raises(DataError, match="row 3"):
        wrong = x.copy()
        wrong[2, 1] = np.inf
        DeepGPRegressor(**QUICK).fit(wrong, y)
    (tmp_path / "no.deepgp").write_bytes(b"nothing")
    with pytest.raises(ModelFileError):
        deepgp.load(tmp_path / "no.deepgp")
    with pytest.raises(OSError, match="no.deepgp"):
        deepgp.load(tmp_path / "no.deepgp")


def test_rows_unlike_those_of_training_are_told(numbers):
    x, y = numbers
    model = DeepGPRegressor(**QUICK).fit(x, y)
    wrong = x.copy()
    wrong[0, 0] = np.nan
    with pytest.warns(deepgp.DataWarning, match="x0"):
        model.predict(wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(x)


def _measured(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


_IMPORT = """
import time, resource
import numpy
def mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
before = mib()
began = time.perf_counter()
import deepgp
print(time.perf_counter() - began, mib() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_imports_are_quick():
    seconds, mebibytes = np.min([_measured(_IMPORT) for _ in range(5)], axis=0)
    assert seconds < 0.1 and mebibytes < 40.0, (seconds, mebibytes)


def test_a_row_is_predicted_in_a_moment():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 13))
    model = DeepGPRegressor(hidden=2, inducing=50, iters=50).fit(x, x[:, 0])
    row, times = x[:1], []
    for _ in range(500):
        began = time.perf_counter()
        model.predict(row)
        times.append(time.perf_counter() - began)
    assert np.median(times) < 200e-6, np.median(times)


_LEAK = """
import resource, numpy as np
from deepgp import DeepGPRegressor
def mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
rng = np.random.default_rng(0)
x = rng.normal(size=(60, 3)); y = x[:, 0]
def turn():
    model = DeepGPRegressor(hidden=0, inducing=5, iters=3).fit(x, y)
    model.predict(x); model.predict_dist(x).sample(3)
for _ in range(200): turn()
before = mib()
for _ in range(1000): turn()
print(mib() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_steady():
    [grown] = _measured(_LEAK)
    assert grown < 8.0, grown
