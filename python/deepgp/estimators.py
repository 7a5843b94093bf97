"""Estimators with scikit-learn's conventions: a regressor and a classifier.

All work is done by the library; here are conventions: what is a table, what the target's columns are called, which
shape results have.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _tables
from ._base import HAS_SKLEARN, BaseEstimator, ClassifierMixin, DataConversionWarning, NotFittedError, RegressorMixin
from ._deepgp import Model, Table, fit
from ._progress import Progress
from .distributions import PredictiveDistribution
from .errors import DataError, DataWarning, InterruptedWarning, SettingsError, TargetError, TrainingWarning

#: Columns that belong to rows: the argument of `fit`, the setting of the library, and the name in the model's schema.
_ROLES = {
    "sample_weight": ("weight", "weight"),
    "groups": ("group", "group"),
    "times": ("time-column", "time"),
    "exposure": ("exposure", "exposure"),
    "noise_std": ("noise-std", "noise_std"),
    "censored": ("censored", "censored"),
    "lower": ("lower", "lower"),
    "upper": ("upper", "upper"),
}

#: Parameters that are settings of the library under another name.
_RENAMED = {"random_state": "seed", "n_jobs": "threads", "time_limit": "time", "target_transform": "transform"}

#: Parameters that are no settings of a fit.
_OWN = {"verbose", "warm_start", "header", "delimiter", "decimal"}

_PARAMETERS = """
    Parameters
    ----------
    task : str, default="auto"
        {task}
    hidden, inducing, kernel, mean, likelihood, target_transform : int, list of int or str, default=None
        The network, as the options of `deepgp fit`; `hidden` is a width or a list of widths, 0 for a sparse GP. As long
        as nothing is said of the network and its training, models are searched for: sparse, exact and deep GPs are
        compared, and the best are mixed.
    engine, alpha, damping, lr, schedule, iters, batch, epochs : str, float or int, default=None
        Its training, as the options of `deepgp fit`.
    effort : float, default=None
        In a search: multiplies all numbers of steps; 1 if None.
    ensemble : int, default=None
        In a search: most models in the mixture; 5 if None.
    time_limit : float or str, default=None
        Seconds to train for, or a time such as "5m".
    valid : float or str, default=None
        Share of the rows that is held out, or a file with such rows. If None, 0.1 for a given network; a search learns
        from all rows and is cross-validated. See also `eval_set` of `fit`.
    recalibrate : bool, default=False
        Multiply predicted standard deviations by the factor that suits the held-out rows best.
    random_state : int, RandomState or None, default=None
        Seed of everything random; None is 0, so that results can be had again.
    n_jobs : int, default=None
        Threads; -1 for all cores, None for what suits. Results do not depend on it.
    features, exclude, categorical : list of str, default=None
        Columns to predict from, to leave alone, and those whose numbers are names.
    positive : str, default=None
        The second of two classes in model files.
    levels : list of str, default=None
        Labels of the target in their order, from the lowest on.
    out : path, default=None
        A model file to write, with a checkpoint beside it while the fit runs.
    checkpoint : float or str, default=None
        Seconds between checkpoints; 60 if None.
    warm_start : bool, default=False
        An interrupted fit goes on when `fit` is called again with the same rows and settings, to the same bits as if
        nothing had happened.
    header, delimiter, decimal : str, default=None
        How a text file is written.
    verbose : int, default=0
        1 shows progress and what was decided about the data.
"""

_ATTRIBUTES = """
    Attributes
    ----------
    n_features_in_ : int
        Columns of `X`.
    feature_names_in_ : ndarray of str
        Their names, if all are strings.
    model_ : Model
        The fitted model of the library.
    notices_ : list of str
        What was decided about the data.
    result_ : dict
        What `deepgp fit --json` prints: scores of the held-out rows, models tried, settings.
"""


_EXAMPLE_OF_REGRESSOR = """
    Examples
    --------
    >>> import numpy as np
    >>> from deepgp import DeepGPRegressor
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = DeepGPRegressor(hidden=0, inducing=10, iters=300).fit(X, np.sin(X[:, 0]))
    >>> model.predict_interval(X[:3]).shape
    (3, 2)
    >>> model.score(X, np.sin(X[:, 0])) > 0.9
    True
"""

_EXAMPLE_OF_CLASSIFIER = """
    Examples
    --------
    >>> import numpy as np
    >>> from deepgp import DeepGPClassifier
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.where(X[:, 0] > 3.0, "late", "early")
    >>> model = DeepGPClassifier(hidden=0, inducing=10, iters=300).fit(X, y)
    >>> model.classes_.tolist(), model.predict_proba(X[:3]).shape
    (['early', 'late'], (3, 2))
"""


class _Estimator(BaseEstimator):
    """What both estimators share."""

    _wants_numbers = False
    _checkpoint: bytes

    def __init__(
        self,
        *,
        task: str = "auto",
        hidden: int | Sequence[int] | str | None = None,
        inducing: int | None = None,
        kernel: str | None = None,
        mean: str | None = None,
        likelihood: str | None = None,
        engine: str | None = None,
        alpha: float | None = None,
        damping: float | None = None,
        lr: float | None = None,
        schedule: str | None = None,
        iters: int | None = None,
        batch: int | None = None,
        epochs: float | None = None,
        target_transform: str | None = None,
        effort: float | None = None,
        ensemble: int | None = None,
        time_limit: float | str | None = None,
        valid: float | str | os.PathLike[str] | None = None,
        recalibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        positive: str | None = None,
        levels: Sequence[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        checkpoint: float | str | None = None,
        warm_start: bool = False,
        header: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        verbose: int = 0,
    ):
        self.task = task
        self.hidden = hidden
        self.inducing = inducing
        self.kernel = kernel
        self.mean = mean
        self.likelihood = likelihood
        self.engine = engine
        self.alpha = alpha
        self.damping = damping
        self.lr = lr
        self.schedule = schedule
        self.iters = iters
        self.batch = batch
        self.epochs = epochs
        self.target_transform = target_transform
        self.effort = effort
        self.ensemble = ensemble
        self.time_limit = time_limit
        self.valid = valid
        self.recalibrate = recalibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.features = features
        self.exclude = exclude
        self.categorical = categorical
        self.positive = positive
        self.levels = levels
        self.out = out
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.header = header
        self.delimiter = delimiter
        self.decimal = decimal
        self.verbose = verbose

    # Settings

    def _settings(self) -> dict[str, Any]:
        """What is said, by the library's names."""
        said = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in _OWN and value is not None and value is not False
        }
        if said.get("task") == "auto":
            del said["task"]
        if "n_jobs" in said:
            said["n_jobs"] = self._threads()
        if "random_state" in said:
            said["random_state"] = _seed(said["random_state"])
        for name in ("valid", "out"):
            if isinstance(said.get(name), os.PathLike):
                said[name] = os.fspath(said[name])
        settings = {_RENAMED.get(name, name.replace("_", "-")): _plain(value) for name, value in said.items()}
        return {name: value for name, value in settings.items() if value is not None}

    def _threads(self) -> int | None:
        if self.n_jobs is None:
            return None
        cores = os.cpu_count() or 1
        threads = int(self.n_jobs)
        if threads < 0:
            threads = max(1, cores + 1 + threads)
        if threads == 0:
            raise SettingsError("n_jobs must be a number of threads, or -1 for all cores, not 0")
        return threads

    def _file_options(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in ("header", "delimiter", "decimal")}
        return {name: value for name, value in options.items() if value is not None}

    def _frame(self, data: Any, names: Sequence[str] | None = None) -> _tables.Frame:
        return _tables.frame_of(data, type(self).__name__, names, self._file_options())

    # Fitting

    def _fit(
        self,
        X: Any,
        y: Any,
        roles: dict[str, Any],
        eval_set: Any,
        callbacks: Any,
    ) -> None:
        settings = self._settings()
        frame = self._frame(X)
        if y is None and not frame.is_file:
            raise DataError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        self._by_name = frame.is_file or isinstance(y, str)
        if self._by_name:
            targets = [y] if isinstance(y, str) else list(y) if y is not None else []
            if targets:
                settings["target"] = targets
            eval_frame = None if eval_set is None else self._frame(_only(eval_set))
        else:
            y = self._checked_target(y, frame)
            targets = _names_of_targets(y, X, frame)
            settings["target"] = targets
            for name, column in zip(targets, _columns(y)):
                _tables.add_column(frame.table, name, column)
            eval_frame = self._eval_frame(eval_set, frame, targets)
        settings.update(_add_roles(frame, {name: value for name, value in roles.items() if value is not None}))
        names = frame.names
        self._train(frame.table, settings, None if eval_frame is None else eval_frame.table, callbacks)
        self.notices_: list[str] = self.result_["notices"]
        self._learn_schema()
        if self._by_name:
            self._set_names(list(self._schema["inputs"]))
        else:
            self.n_features_in_ = frame.n_columns
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        if self.result_["interrupts"]:
            warnings.warn("the fit was interrupted; this is the best model so far", InterruptedWarning, stacklevel=3)
        for remark in self.result_["warnings"]:
            warnings.warn(remark.replace("--", ""), TrainingWarning, stacklevel=3)

    def _train(self, table: Table, settings: dict[str, Any], held_out: Table | None, callbacks: Any) -> None:
        progress = Progress(self.verbose, callbacks)
        with contextlib.ExitStack() as at_end:
            at_end.callback(progress.close)
            file = None
            if self.warm_start:
                if held_out is not None:
                    raise SettingsError("with warm_start, rows to hold out come from the table or a file, not eval_set")
                if "out" not in settings:
                    folder = at_end.enter_context(tempfile.TemporaryDirectory())
                    settings["out"] = os.path.join(folder, "model.deepgp")
                file = Path(f"{settings['out']}.checkpoint")
                if hasattr(self, "_checkpoint"):
                    file.write_bytes(self._checkpoint)
            checkpoint = file if file is not None and file.exists() else None
            said = json.dumps(settings)
            model, text = fit(table, said, held_out, self._wants_numbers, progress.on_event, checkpoint)
            self.model_: Model = model
            self.result_: dict[str, Any] = json.loads(text)
            if file is not None and file.exists():
                self._checkpoint = file.read_bytes()
            elif hasattr(self, "_checkpoint"):
                del self._checkpoint

    def _set_names(self, names: list[str]) -> None:
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.asarray(names, dtype=object)

    def _learn_schema(self) -> None:
        self._schema: dict[str, Any] = json.loads(self.model_.schema())

    def _checked_target(self, y: Any, frame: _tables.Frame) -> np.ndarray:
        raise NotImplementedError

    def _eval_frame(self, eval_set: Any, frame: _tables.Frame, targets: list[str]) -> _tables.Frame | None:
        """The table of rows to hold out, with the columns of training."""
        if eval_set is None:
            return None
        pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise DataError("eval_set must be a pair (X, y)")
        held_out = self._frame(pair[0])
        if held_out.n_columns != frame.n_columns:
            raise DataError(f"eval_set has {held_out.n_columns} features, and X has {frame.n_columns}")
        for name, column in zip(targets, _columns(_tables.array_of(pair[1]))):
            _tables.add_column(held_out.table, name, column)
        return held_out

    # Predicting

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return self.model_

    def _rows(self, X: Any, roles: dict[str, Any]) -> Table:
        """The table of rows to predict."""
        self._fitted()
        frame = self._frame(X, self._names_of_array(X))
        if not self._by_name:
            self._check_columns(frame)
        if roles:
            self._add_known_roles(frame, roles)
        return frame.table

    def _add_known_roles(self, frame: _tables.Frame, roles: dict[str, Any]) -> None:
        known = {argument: self._schema["roles"].get(name) for argument, (_, name) in _ROLES.items()}
        for argument, values in roles.items():
            if values is None:
                continue
            name = known[argument]
            if name is None:
                raise DataError(f"the model was fitted without {argument}")
            if isinstance(values, str):
                if values != name:
                    raise DataError(f"the column of {argument} is called {name!r}")
            elif name in frame.table.names():
                raise DataError(f"X has a column {name!r} already, and {argument} was given as well")
            else:
                _tables.add_column(frame.table, name, _one_dimensional(values, argument))

    def _names_of_array(self, X: Any) -> Sequence[str] | None:
        """Names for the columns of an array, from those of the model."""
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            return None
        if not self._by_name:
            names = getattr(self, "feature_names_in_", None)
            return list(names) if names is not None and len(names) == X.shape[1] else None
        inputs: list[str] = self._schema["inputs"]
        if set(inputs) <= set(_tables.positional(X.shape[1])):
            return None
        if X.shape[1] != len(inputs):
            raise DataError(f"X has {X.shape[1]} features, and the model has {len(inputs)}: {', '.join(inputs)}")
        return inputs

    def _check_columns(self, frame: _tables.Frame) -> None:
        """Makes sure that columns are those of the fit, in scikit-learn's words."""
        if frame.is_file:
            return
        fitted = getattr(self, "feature_names_in_", None)
        given = frame.names
        if fitted is None and given is not None:
            warnings.warn(
                f"X has feature names, but {type(self).__name__} was fitted without feature names", stacklevel=4
            )
        elif fitted is not None and given is None:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names",
                stacklevel=4,
            )
        elif fitted is not None and given is not None and fitted.tolist() != list(given):
            raise DataError(_names_differ(fitted.tolist(), list(given)))
        if frame.n_columns != self.n_features_in_:
            raise DataError(
                f"X has {frame.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )

    def _answers(self, X: Any, questions: list[tuple[str, float]], roles: dict[str, Any]) -> list[np.ndarray]:
        table = self._rows(X, roles)
        answers, notices = self.model_.answer(table, questions, self._threads())
        for notice in notices:
            warnings.warn(notice, DataWarning, stacklevel=4)
        return answers

    def _shaped(self, answer: np.ndarray) -> np.ndarray:
        """Without the dimension of targets where there is only one."""
        return answer[:, 0] if answer.shape[1] == 1 else answer

    def predict_dist(
        self, X: Any, *, latent: bool = False, exposure: Any = None, noise_std: Any = None
    ) -> PredictiveDistribution:
        """The predictive distribution of each row: of the target, or of the `latent` function without noise."""
        table = self._rows(X, {"exposure": exposure, "noise_std": noise_std})
        laws = self.model_.distribution(table, latent, self._threads())
        levels = None if latent else self._level_labels()
        return PredictiveDistribution(laws, levels, is_discrete=self._schema["is_discrete"] and not latent)

    def log_density(self, X: Any, y: Any, *, exposure: Any = None, noise_std: Any = None) -> np.ndarray:
        """Log density, or log probability of labels and counts, of each row's targets, in nats.

        Targets are taken together; NaN stands where they are missing. `y` may name nothing (None) where `X` is a
        table with the target's column.
        """
        self._fitted()
        roles = {"exposure": exposure, "noise_std": noise_std}
        if y is None:
            return self._answers(X, [("log_density", 0.0)], roles)[0][:, 0]
        frame = self._frame(X, self._names_of_array(X))
        if not self._by_name:
            self._check_columns(frame)
        self._add_known_roles(frame, roles)
        for name, column in zip(self._schema["targets"], _columns(_tables.array_of(y))):
            _tables.add_column(frame.table, name, column)
        return self.model_.answer(frame.table, [("log_density", 0.0)], self._threads())[0][0][:, 0]

    def _level_labels(self) -> np.ndarray | None:
        """Labels in the order of the model, as they are known to the user; None where there are no labels."""
        levels = self._schema["levels"]
        return None if levels is None else _labels_of(levels)

    # Models

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file of the command."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **params: Any) -> Any:
        """An estimator with the model of a file, of this package or the command."""
        return cls(**params)._with(Model.load(path))

    def _with(self, model: Model) -> Any:
        self.model_ = model
        self.result_ = {}
        self.notices_ = []
        self._by_name = True
        self._learn_schema()
        self._set_names(self._schema["inputs"])
        return self

    def describe(self) -> str:
        """What `deepgp show` says of the model."""
        return self._fitted().description()

    @property
    def description_(self) -> dict[str, Any]:
        """What `deepgp show --json` says of the model: layers, kernels, relevance of columns, scores."""
        description: dict[str, Any] = json.loads(self._fitted().described())
        return description

    def report(self, X: Any, y: Any = None, *, title: str = "A deep Gaussian process") -> Any:
        """The page of `deepgp report` on rows with targets; `save` writes it, and notebooks show it."""
        from .reports import Report

        self._fitted()
        frame = self._frame(X, self._names_of_array(X))
        if y is not None and not isinstance(y, str):
            for name, column in zip(self._schema["targets"], _columns(_tables.array_of(y))):
                _tables.add_column(frame.table, name, column)
        return Report(self.model_.report(frame.table, title))

    # Tags of scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # What scikit-learn before 1.6 asks.
        reason = "minibatches of the same rows in another order are others"
        return {"allow_nan": True, "_xfail_checks": {"check_sample_weights_invariance": reason}}


class DeepGPRegressor(RegressorMixin, _Estimator):
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        eval_set: Any = None,
        times: Any = None,
        exposure: Any = None,
        noise_std: Any = None,
        censored: Any = None,
        lower: Any = None,
        upper: Any = None,
        callbacks: Callable[[dict[str, Any]], object] | Iterable[Callable[[dict[str, Any]], object]] | None = None,
    ) -> DeepGPRegressor:
        """Learns from a table.

        Parameters
        ----------
        X : array, data frame, stream of Arrow, or the name of a file
            The inputs; where `y` names a column, the target as well.
        y : array, or the name of the column of `X` to predict
            The target, or several as columns.
        sample_weight, groups, times, exposure, noise_std, censored, lower, upper : array or name of a column
            How many rows a row counts as, rows that stay together where some are held out, when a row was observed,
            what a count is in proportion to, known noise, and what is known of a target within bounds.
        eval_set : (X, y), or a table with the target where `y` names it
            Rows to hold out, in the place of some of `X`.
        callbacks : function of a dict, or several
            Told what happens; a true answer ends the fit with the best model so far.

        Ctrl-C ends the fit with the best model so far; a second one, or one before there is a model, is raised.
        """
        roles = {
            "sample_weight": sample_weight,
            "groups": groups,
            "times": times,
            "exposure": exposure,
            "noise_std": noise_std,
            "censored": censored,
            "lower": lower,
            "upper": upper,
        }
        self._fit(X, y, roles, eval_set, callbacks)
        return self

    _wants_numbers = True

    def _checked_target(self, y: Any, frame: _tables.Frame) -> np.ndarray:
        values = _tables.array_of(y)
        if values.ndim not in (1, 2):
            raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
        if values.dtype.kind == "O":
            values = values.astype(np.float64)
        if values.dtype.kind == "c":
            raise DataError("Complex data not supported")
        if values.dtype.kind == "b":
            values = values.astype(np.float64)
        if values.dtype.kind == "f":
            _check_finite(values)
        elif values.dtype.kind not in "iu":
            raise DataError(f"y should be numbers, not {values.dtype}; labels are for DeepGPClassifier")
        _check_rows(values, frame)
        return values

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        exposure: Any = None,
        noise_std: Any = None,
    ) -> Any:
        """Means of the target, and standard deviations of what will be observed if `return_std`."""
        questions = [("mean", 0.0), ("std", 0.0)] if return_std else [("mean", 0.0)]
        answers = self._answers(X, questions, {"exposure": exposure, "noise_std": noise_std})
        shaped = [self._shaped(answer) for answer in answers]
        return tuple(shaped) if return_std else shaped[0]

    def predict_quantiles(
        self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95), *, exposure: Any = None, noise_std: Any = None
    ) -> np.ndarray:
        """Quantiles of the predictive distribution: rows × quantiles, or rows × targets × quantiles."""
        questions = [("quantile", float(q)) for q in quantiles]
        answers = self._answers(X, questions, {"exposure": exposure, "noise_std": noise_std})
        stacked = np.stack(self._as_levels(answers), axis=-1)
        return stacked[:, 0] if stacked.shape[1] == 1 else stacked

    def _as_levels(self, answers: list[np.ndarray]) -> list[np.ndarray]:
        """Quantiles of levels as the numbers that these are."""
        labels = self._level_labels()
        return answers if labels is None else [labels[answer.astype(int)].astype(float) for answer in answers]

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, exposure: Any = None, noise_std: Any = None
    ) -> np.ndarray:
        """Central intervals: rows × (lower, upper), or rows × targets × (lower, upper)."""
        if not 0.0 < coverage < 1.0:
            raise DataError(f"coverage must lie between 0 and 1, not {coverage}")
        tail = 0.5 * (1.0 - coverage)
        return self.predict_quantiles(X, (tail, 1.0 - tail), exposure=exposure, noise_std=noise_std)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {**super()._more_tags(), "multioutput": True}


DeepGPRegressor.__doc__ = (
    "A regressor: means, error bars and whole distributions of one or several numbers."
    + "\n"
    + _PARAMETERS.format(
        task='What the target is: "regression", "counts", "ordinal" or "censored"; "auto" finds it out, as the command '
        "does, but never takes numbers for classes."
    )
    + _ATTRIBUTES
    + _EXAMPLE_OF_REGRESSOR
)


class DeepGPClassifier(ClassifierMixin, _Estimator):
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        eval_set: Any = None,
        times: Any = None,
        callbacks: Callable[[dict[str, Any]], object] | Iterable[Callable[[dict[str, Any]], object]] | None = None,
    ) -> DeepGPClassifier:
        """Learns from a table; see `DeepGPRegressor.fit`."""
        self._fit(X, y, {"sample_weight": sample_weight, "groups": groups, "times": times}, eval_set, callbacks)
        if self._by_name:
            self._set_classes(np.unique(_labels_of(self._schema["levels"])))
        else:
            self._set_classes(self._seen)
            del self._seen
        return self

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        settings.setdefault("task", "classes" if self.levels is None else "ordinal")
        if settings["task"] not in ("classes", "ordinal"):
            raise SettingsError(f'the task of a classifier is "classes" or "ordinal", not {self.task!r}')
        return settings

    def _checked_target(self, y: Any, frame: _tables.Frame) -> np.ndarray:
        values = _tables.array_of(y)
        if values.ndim == 2 and values.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            values = values[:, 0]
        if values.ndim != 1:
            raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
        if values.dtype.kind == "f":
            _check_finite(values)
            if (values != np.floor(values)).any():
                raise DataError("Unknown label type: continuous. Labels are whole numbers, texts or truth values.")
        elif values.dtype.kind == "O" and any(_tables._is_missing(value) for value in values):
            raise DataError("Input y contains NaN.")
        elif values.dtype.kind == "c":
            raise DataError("Complex data not supported")
        _check_rows(values, frame)
        self._seen = np.unique(values)
        if len(self._seen) < 2:
            raise TargetError(
                f"Classifier can't train when only one class is present: all labels are {self._seen[0]!r}."
            )
        return values

    def _set_classes(self, classes: np.ndarray) -> None:
        """Keeps labels as the user has them, sorted, and where the model has each."""
        levels = self._schema["levels"]
        places = [_place_of(label, levels) for label in classes]
        if None in places:
            lost = classes[places.index(None)]
            raise TargetError(f"the label {lost!r} stands for a missing value in tables; rename it")
        self.classes_ = classes
        self._places = np.array(places)

    def _with(self, model: Model) -> Any:
        super()._with(model)
        if self._schema["levels"] is None:
            raise TargetError("the model of this file predicts numbers; load it with DeepGPRegressor")
        self._set_classes(np.unique(_labels_of(self._schema["levels"])))
        return self

    def _level_labels(self) -> np.ndarray | None:
        if not hasattr(self, "_places"):
            return super()._level_labels()
        labels = np.empty(len(self._schema["levels"]), dtype=self.classes_.dtype)
        labels[self._places] = self.classes_
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of all classes: rows × classes, in the order of `classes_`."""
        probabilities = self._answers(X, [("probabilities", 0.0)], {})[0]
        ordered: np.ndarray = np.take(probabilities, self._places, axis=1)
        return ordered

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: np.ndarray = np.log(self.predict_proba(X))
        return logarithms

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        labels: np.ndarray = self.classes_[np.argmax(probabilities, axis=1)]
        return labels


DeepGPClassifier.__doc__ = (
    "A classifier: probabilities of two to a hundred classes, or of ordered levels."
    + "\n"
    + _PARAMETERS.format(
        task='"classes", or "ordinal" where classes have an order: that of numbers, or of `levels`. "auto" is '
        '"ordinal" if `levels` are given, else "classes".'
    )
    + _ATTRIBUTES.replace(
        "    n_features_in_",
        "    classes_ : ndarray\n        The classes, sorted.\n    n_features_in_",
    )
    + _EXAMPLE_OF_CLASSIFIER
)


def load(path: str | os.PathLike[str], **params: Any) -> DeepGPRegressor | DeepGPClassifier:
    """The estimator of a model file: a classifier if it predicts labels without an order, else a regressor."""
    model = Model.load(path)
    is_classes = json.loads(model.schema())["task"] == "classes"
    estimator: Any = DeepGPClassifier(**params) if is_classes else DeepGPRegressor(**params)
    loaded: DeepGPRegressor | DeepGPClassifier = estimator._with(model)
    return loaded


# What the methods above are made of


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, (np.ndarray, tuple)):
        return [_plain(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return value


def _seed(random_state: Any) -> int:
    """A seed out of what scikit-learn allows as `random_state`."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise SettingsError(f"random_state must be an int, a RandomState or None, not {random_state!r}")


def _only(eval_set: Any) -> Any:
    return eval_set[0] if isinstance(eval_set, (tuple, list)) and len(eval_set) == 1 else eval_set


def _check_finite(values: np.ndarray) -> None:
    if np.isnan(values).any():
        raise DataError("Input y contains NaN.")
    if np.isinf(values).any():
        raise DataError(f"Input y contains infinity or a value too large for {values.dtype!r}.")


def _check_rows(values: np.ndarray, frame: _tables.Frame) -> None:
    rows = frame.table.rows()
    if rows == 1:
        raise DataError("Found array with 1 sample(s) while a minimum of 2 is required.")
    if len(values) != rows:
        raise DataError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(values)}]")


def _columns(y: np.ndarray) -> list[np.ndarray]:
    return [y] if y.ndim == 1 else list(y.T)


def _one_dimensional(values: Any, what: str) -> np.ndarray:
    array = _tables.array_of(values)
    if array.ndim != 1:
        raise DataError(
            f"{what}: expected a 1d array, got shape {array.shape}. Sample weights must be 1D array or scalar"
            if what == "sample_weight"
            else f"{what}: expected a 1d array, got shape {array.shape}"
        )
    return array


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _names_of_targets(y: np.ndarray, X: Any, frame: _tables.Frame) -> list[str]:
    """What target columns are called: y, or y0, y1, …"""
    taken = frame.table.names()
    base = ["y"] if y.ndim == 1 or y.shape[1] == 1 else [f"y{i}" for i in range(y.shape[1])]
    return [_free_name(name, taken) for name in base]


def _add_roles(frame: _tables.Frame, roles: dict[str, Any]) -> dict[str, str]:
    """Adds columns that belong to rows, and returns the settings that name them."""
    settings = {}
    for argument, values in roles.items():
        setting, _ = _ROLES[argument]
        if isinstance(values, str):
            settings[setting] = values
            continue
        if frame.is_file:
            raise DataError(f"{argument}: name a column of the file")
        array = _one_dimensional(values, argument)
        if len(array) != frame.table.rows():
            raise DataError(f"{argument} has {len(array)} entries for {frame.table.rows()} rows")
        if argument == "sample_weight" and array.dtype.kind in "fiu" and not (array > 0).any():
            raise DataError("Sample weights must contain at least one non-zero number.")
        name = _free_name(argument, frame.table.names())
        _tables.add_column(frame.table, name, array)
        settings[setting] = name
    return settings


def _labels_of(levels: list[str]) -> np.ndarray:
    """Labels out of the texts of a model file: whole numbers, numbers or texts."""
    try:
        values = np.array([float(level) for level in levels])
    except ValueError:
        return np.array(levels)
    is_whole = np.isfinite(values).all() and (values == np.floor(values)).all() and (np.abs(values) < 2**53).all()
    return values.astype(np.int64) if is_whole else values


def _place_of(label: Any, levels: list[str]) -> int | None:
    """Where the model has a label."""
    if isinstance(label, (bool, np.bool_)):
        words = ["true" if label else "false"]
    else:
        words = [str(label).strip()]
    for word in words:
        if word in levels:
            return levels.index(word)
    try:
        value = float(label)
        return [float(level) for level in levels].index(value)
    except (TypeError, ValueError):
        return None


def _names_differ(fitted: list[str], given: list[str]) -> str:
    """How names of columns differ from those of the fit, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    most = 5

    def listed(names: list[str]) -> str:
        shown = "".join(f"- {name}\n" for name in names[:most])
        return shown + ("- ...\n" if len(names) > most else "")

    unseen = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    if unseen:
        message += "Feature names unseen at fit time:\n" + listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


__all__ = ["HAS_SKLEARN", "DeepGPClassifier", "DeepGPRegressor", "load"]
