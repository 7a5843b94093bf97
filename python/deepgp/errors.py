"""Exceptions and warnings: the class tells the kind, the words are those of the library."""

from __future__ import annotations


class DeepGPError(Exception):
    """Anything that the library refuses or fails at."""


class SettingsError(DeepGPError, ValueError):
    """Settings that cannot be, or not together."""


class DataError(DeepGPError, ValueError):
    """A table that cannot be read, with row and column, or numbers that do not fit."""


class TargetError(DataError):
    """A target that cannot be predicted as was asked."""


class NumericsError(DeepGPError, ArithmeticError):
    """Training or prediction that failed for its numbers."""


class ModelFileError(DeepGPError, OSError):
    """A model file that cannot be read or written."""


class DeepGPWarning(UserWarning):
    """What should be known of a model or of data."""


class DataWarning(DeepGPWarning):
    """Rows to predict that hold what training did not."""


class TrainingWarning(DeepGPWarning):
    """A model that may be less good than it looks, and why."""


class InterruptedWarning(DeepGPWarning):
    """A fit that was interrupted and gives the best model so far."""
