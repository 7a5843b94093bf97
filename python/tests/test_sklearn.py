"""The conventions of scikit-learn, by its own checks, and its tools around the estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import QUICK

from deepgp import DeepGPClassifier, DeepGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::deepgp.TrainingWarning")

pytest.importorskip("sklearn")

import sklearn.utils
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

#: What cannot hold, and why.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "minibatches of weighted rows are not those of repeated rows: the "
    "same model is approached, on another way",
}

SMALL = {"hidden": 0, "inducing": 20, "iters": 300, "lr": 0.02}


# Releases before 1.6 ask the estimators what is expected to fail.
EXPECTING = {"expected_failed_checks": lambda estimator: EXPECTED} if hasattr(sklearn.utils, "get_tags") else {}


@parametrize_with_checks([DeepGPRegressor(**SMALL), DeepGPClassifier(**SMALL)], **EXPECTING)
@pytest.mark.filterwarnings("ignore")
def test_conventions(estimator, check):
    check(estimator)


def test_pickles_and_clones(numbers, tmp_path):
    joblib = pytest.importorskip("joblib")
    x, y = numbers
    model = DeepGPRegressor(**QUICK).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(x), model.predict(x))
    joblib.dump(model, tmp_path / "m.joblib")
    assert np.array_equal(joblib.load(tmp_path / "m.joblib").predict(x), model.predict(x))
    assert clone(model).get_params() == model.get_params()
    assert np.array_equal(clone(model).fit(x, y).predict(x), model.predict(x))


def test_stands_in_pipelines_and_searches(numbers):
    from sklearn.compose import ColumnTransformer
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = numbers
    pipeline = make_pipeline(ColumnTransformer([("scale", StandardScaler(), [0, 1, 2])]), DeepGPRegressor(**QUICK))
    pipeline.fit(x, y)
    mean, std = pipeline.predict(x, return_std=True)
    assert mean.shape == std.shape == y.shape
    search = GridSearchCV(DeepGPRegressor(**QUICK), {"hidden": [0, 2], "alpha": [0.5, 1.0]}, cv=2).fit(x, y)
    assert search.best_estimator_.predict(x).shape == y.shape
    groups = np.arange(len(y)) // 10
    scores = cross_val_score(DeepGPRegressor(**QUICK), x, y, cv=GroupKFold(3), groups=groups, n_jobs=2)
    assert len(scores) == 3 and np.isfinite(scores).all()
    assert cross_val_predict(DeepGPClassifier(**QUICK), x, y > 0.5, cv=3, method="predict_proba").shape == (len(y), 2)
    importance = permutation_importance(pipeline, x, y, n_repeats=2, random_state=0).importances_mean
    assert importance[0] > importance[2]


def test_names_of_columns_are_known(numbers):
    pandas = pytest.importorskip("pandas")
    x, y = numbers
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    model = DeepGPRegressor(**QUICK).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    assert np.array_equal(model.predict(frame), model.predict(frame))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(x), model.predict(frame))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["b", "a", "c"]])
