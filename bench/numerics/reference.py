"""Writes src/reference.rs: pairs of x and f(x), rounded from 60 digits. Needs mpmath."""

import random
from mpmath import mp, mpf, erfc, exp, log, log1p, pi, sqrt

mp.dps = 60
random.seed(1)


def ndtr(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def phi(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def upper_mills(t):
    """Φ(−t)/φ(t) for large t, by its continued fraction."""
    tail = mpf(0)
    for k in range(4000, 0, -1):
        tail = k / (t + tail)
    return 1 / (t + tail)


def log_ndtr(x):
    if x < -38:
        return -x * x / 2 - log(2 * pi) / 2 + log(upper_mills(-x))
    if x > 0:
        return log1p(-ndtr(-x))
    return log(ndtr(x))


def mills(x):
    return 1 / upper_mills(-x) if x < -38 else phi(x) / ndtr(x)


def quantile(p):
    log_p = log(p)
    x = -sqrt(-2 * log_p) if p < mpf("0.1") else mpf(0)
    for _ in range(60):
        f = ndtr(x)
        step = (log_p - log(f)) * f / phi(x)
        x += step
        if abs(step) < mpf(10) ** -50:
            return x
    raise ValueError(p)


def even(low, high, n=80):
    return [low + (high - low) * random.random() for _ in range(n)]


def logarithmic(low, high, sign=1, n=80):
    from math import log10
    return [sign * 10 ** x for x in even(log10(low), log10(high), n)]


tables = {
    "NDTR_TAIL": (ndtr, even(-37, -5)),
    "NDTR": (ndtr, even(-5, 8)),
    "LOG_NDTR_FAR": (log_ndtr, logarithmic(38, 1e8, -1, 40)),
    "LOG_NDTR_TAIL": (log_ndtr, even(-38, -5)),
    "LOG_NDTR": (log_ndtr, even(-5, 20)),
    "MILLS_FAR": (mills, logarithmic(38, 1e8, -1, 40)),
    "MILLS_TAIL": (mills, even(-38, -5)),
    "MILLS": (mills, even(-5, 20)),
    "QUANTILE_TAIL": (quantile, logarithmic(1e-300, 1e-10)),
    "QUANTILE": (quantile, logarithmic(1e-10, 0.1, 1, 40) + even(0.1, 0.999, 40)),
    "LN_1P_SMALL": (log1p, logarithmic(1e-18, 0.1, 1, 50) + logarithmic(1e-18, 0.1, -1, 50)),
    "LN_1P": (log1p, even(-0.999, 1, 50) + logarithmic(0.1, 1e10, 1, 50)),
}
with open("src/reference.rs", "w") as out:
    out.write("//! Made by reference.py: x and f(x), rounded from 60 digits.\n")
    for name, (f, xs) in tables.items():
        out.write(f"\npub static {name}: &[(f64, f64)] = &[\n")
        pairs = [f"({x!r}, {float(f(mpf(x)))!r})," for x in sorted(xs)]
        for i in range(0, len(pairs), 3):
            out.write("    " + " ".join(pairs[i : i + 3]) + "\n")
        out.write("];\n")
