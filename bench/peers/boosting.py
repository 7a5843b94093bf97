"""Boosted trees: LightGBM and CatBoost, stopped early on a tenth of the training part, then fitted to all of it."""

import catboost
import lightgbm
import numpy as np
from scipy.optimize import minimize_scalar

import scores

SOFTWARE = ["lightgbm", "catboost", "scipy", "numpy"]
ONE_AFTER_THE_OTHER = True  # the second model needs the first, so its seconds count too
PATIENCE = 100
ROUNDS = {"two classes": 2000, "several classes": 2000, "levels": 2000, "counts": 8000}  # counts reach 2000


def _lightgbm(part, seed, objective, **extra):
    """(model on nine tenths, model on all rows with as many rounds, rows held out, rounds)."""
    settings = dict(objective=objective, learning_rate=0.05, num_threads=1, seed=seed, verbosity=-1, **extra)
    settings["deterministic"] = True
    fit, held = part.held_out(seed)
    first = lightgbm.Dataset(part.x[fit], part.y[fit], free_raw_data=False)
    second = lightgbm.Dataset(part.x[held], part.y[held], reference=first)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    early = lightgbm.train(settings, first, ROUNDS[part.task], valid_sets=[second], callbacks=[stop])
    rounds = early.best_iteration
    yield early, held, rounds
    yield lightgbm.train(settings, lightgbm.Dataset(part.x, part.y), rounds), held, rounds


def _settings(part, rounds, refit, **extra):
    shared = {"learning_rate": 0.05, "max_rounds": ROUNDS[part.task], "patience": PATIENCE, "held_out": 0.1}
    return {**shared, "rounds": rounds, "refit_on_all_rows": refit, **extra}


def _names(name):
    """The model before and after the second fit."""
    return [(f"{name}, stopped", False), (name, True)]


def lightgbm_labels(part, seed):
    """Leaves, leaf sizes and penalties as LightGBM sets them."""
    two = part.n_levels == 2
    kind = ("binary", {}) if two else ("multiclass", {"num_class": part.n_levels})
    for (name, refit), (model, _, rounds) in zip(_names("lightgbm"), _lightgbm(part, seed, kind[0], **kind[1])):
        raw = model.predict(part.x_test, num_iteration=rounds, raw_score=True)
        latent = np.c_[np.zeros(len(raw)), raw] if two else raw
        yield name, _settings(part, rounds, refit, objective=kind[0]), _log_softmax(latent)


def _log_softmax(f):
    f = f - f.max(1, keepdims=True)
    return f - np.log(np.exp(f).sum(1, keepdims=True))


def _squared(part, seed):
    """Means of the test rows by squared error, with the deviation of the rows held out."""
    names = _names("lightgbm normal")
    for (name, refit), (model, held, rounds) in zip(names, _lightgbm(part, seed, "regression")):
        if not refit:
            residual = part.y[held] - model.predict(part.x[held], num_iteration=rounds)
            deviation = float(np.sqrt(np.mean(residual**2)))
        settings = _settings(part, rounds, refit, objective="regression", deviation=deviation, deviation_from="held out")
        yield name, settings, model.predict(part.x_test, num_iteration=rounds), deviation


def lightgbm_normal_levels(part, seed):
    """A normal law around a regression, integrated over the unit interval around each level."""
    for name, settings, mean, deviation in _squared(part, seed):
        yield name, settings, scores.log_levels(mean, deviation, part.n_levels)


def lightgbm_normal_counts(part, seed):
    """The same over counts; the interval of 0 is open below."""
    for name, settings, mean, deviation in _squared(part, seed):
        low = np.where(part.y_test == 0, -np.inf, part.y_test - 0.5)
        yield name, settings, scores.log_interval(mean, deviation, low, part.y_test + 0.5), mean


def lightgbm_counts(part, seed):
    """The Poisson objective, scored as Poisson and as negative binomial with one dispersion from the held-out rows."""
    for refit, (model, held, rounds) in zip([False, True], _lightgbm(part, seed, "poisson")):
        stopped = "" if refit else ", stopped"
        if not refit:
            dispersion = _dispersion(part.y[held], model.predict(part.x[held], num_iteration=rounds))
        mean = model.predict(part.x_test, num_iteration=rounds)
        settings = _settings(part, rounds, refit, objective="poisson")
        each = scores.log_poisson(part.y_test, mean)
        yield f"lightgbm poisson{stopped}", settings, each, mean
        settings = {**settings, "dispersion": dispersion, "dispersion_from": "held out"}
        each = scores.log_negative_binomial(part.y_test, mean, dispersion)
        yield f"lightgbm negative binomial{stopped}", settings, each, mean


def _dispersion(y, mean):
    """The dispersion of highest likelihood."""
    loss = lambda log_a: -scores.log_negative_binomial(y, mean, np.exp(log_a)).mean()
    return float(np.exp(minimize_scalar(loss, bounds=(-12, 3), method="bounded").x))


def catboost_labels(part, seed):
    """CatBoost's own settings: 1000 rounds at most, its own learning rate and patience of PATIENCE rounds."""
    fit, held = part.held_out(seed)
    fixed = dict(random_seed=seed, thread_count=1, allow_writing_files=False, verbose=False)
    fixed["loss_function"] = "Logloss" if part.n_levels == 2 else "MultiClass"
    early = catboost.CatBoostClassifier(**fixed)
    early.fit(part.x[fit], part.y[fit], eval_set=(part.x[held], part.y[held]), early_stopping_rounds=PATIENCE)
    rounds, rate = early.tree_count_, early.learning_rate_
    settings = {"learning_rate": rate, "max_rounds": 1000, "patience": PATIENCE, "held_out": 0.1, "rounds": rounds}
    yield "catboost, stopped", {**settings, "refit_on_all_rows": False}, early.predict_log_proba(part.x_test)
    model = catboost.CatBoostClassifier(iterations=rounds, learning_rate=rate, **fixed)
    model.fit(part.x, part.y)
    yield "catboost", {**settings, "refit_on_all_rows": True}, model.predict_log_proba(part.x_test)
