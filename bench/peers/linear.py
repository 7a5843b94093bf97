"""Linear models: ridge logistic regression, cumulative logit and probit, and negative binomial regression."""

import warnings

import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from statsmodels.miscmodels.ordinal_model import OrderedModel

import scores

SOFTWARE = ["scikit-learn", "statsmodels", "numpy"]
CATEGORIES = ["season", "mnth", "hr", "weekday", "weathersit"]


def logistic(part, seed):
    """Multinomial logistic regression with a ridge penalty chosen by five-fold log loss."""
    x, x_test = part.standardised()
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = LogisticRegressionCV(
        Cs=13, l1_ratios=(0,), cv=folds, scoring="neg_log_loss", max_iter=1000, use_legacy_attributes=False
    )
    model.fit(x, part.y)
    settings = {"penalty": "ridge", "folds": 5, "c": float(np.ravel(model.C_)[0])}
    yield "logistic", settings, model.predict_log_proba(x_test)


def cumulative(part, seed):
    """Cumulative logit and probit, without a penalty. A level that the training part lacks gets no probability."""
    x, x_test = part.standardised()
    present = np.unique(part.y)
    for link in ["logit", "probit"]:
        model = OrderedModel(np.searchsorted(present, part.y), x, distr=link)
        fit = model.fit(method="bfgs", maxiter=1000, disp=False)
        p = np.zeros((len(x_test), part.n_levels))
        p[:, present] = model.predict(fit.params, x_test)
        settings = {"penalty": None, "converged": bool(fit.mle_retvals["converged"])}
        yield f"ordinal {link}", settings, np.log(np.maximum(p, 1e-300))


def _count_inputs(part, kind):
    """Standardised columns as they are; or with indicators of the categories; or these also by hour and working day."""
    x, x_test = part.standardised()
    if kind == "columns as numbers":
        return x, x_test
    keep = [i for i, name in enumerate(part.columns) if name not in CATEGORIES]
    both = []
    for raw, scaled in [(part.x, x), (part.x_test, x_test)]:
        made = [scaled[:, keep]]
        for name in CATEGORIES:
            i = part.columns.index(name)
            for value in np.unique(part.x[:, i])[1:]:
                made.append((raw[:, i] == value)[:, None])
        if kind == "categories, hour by working day":
            hour, working = (raw[:, part.columns.index(name)] for name in ["hr", "workingday"])
            made += [((hour == value) & (working == 1))[:, None] for value in range(1, 24)]
        both.append(np.hstack(made).astype(float))
    return both


def negative_binomial(part, seed):
    """Variance μ + a μ², log link, no penalty; three ways of giving it the columns."""
    for kind in ["columns as numbers", "categories", "categories, hour by working day"]:
        x, x_test = (sm.add_constant(v, has_constant="add") for v in _count_inputs(part, kind))
        keep = independent(x)
        x, x_test = x[:, keep], x_test[:, keep]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            poisson = sm.GLM(part.y, x, family=sm.families.Poisson()).fit()
            start = np.append(poisson.params, 0.3)
            fit = sm.NegativeBinomial(part.y, x).fit(start, method="bfgs", maxiter=2000, disp=False)
        dispersion, mean = float(fit.params[-1]), np.exp(x_test @ fit.params[:-1])
        settings = {"dispersion": dispersion, "inputs": x.shape[1], "converged": bool(fit.mle_retvals["converged"])}
        each = scores.log_negative_binomial(part.y_test, mean, dispersion)
        yield f"negative binomial regression, {kind}", settings, each, mean


def independent(x):
    """Columns that are no linear combination of those before them."""
    diagonal = np.abs(np.diag(np.linalg.qr(x / np.linalg.norm(x, axis=0))[1]))
    return np.flatnonzero(diagonal > 1e-8)
