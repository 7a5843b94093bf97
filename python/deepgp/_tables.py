"""Tables of the library out of what users have: arrays, data frames, streams of Arrow, and names of files.

Numbers of NumPy are read where they are. Data frames and whatever has the Arrow PyCapsule interface go through it;
pandas without pyarrow goes column by column. In all cases the library sees the cells that it would see in a file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._deepgp import Table
from .errors import DataError

# Kinds of NumPy's types that are numbers, and those that the library reads where they are.
_NUMBERS = "fiu"
_WIDTHS = {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}


class Frame:
    """A table with what scikit-learn's conventions ask of it."""

    def __init__(self, table: Table, n_columns: int, names: list[str] | None, is_file: bool = False):
        self.table = table
        self.n_columns = n_columns
        #: Names that the user gave, if all are strings.
        self.names = names
        self.is_file = is_file


def is_file(data: Any) -> bool:
    """Whether data are the name of a file."""
    return isinstance(data, (str, os.PathLike))


@lru_cache(maxsize=64)
def positional(n: int) -> list[str]:
    """Names of columns that have none: x0, x1, …"""
    return [f"x{i}" for i in range(n)]


def frame_of(data: Any, owner: str, names: Sequence[str] | None = None, options: dict[str, Any] | None = None) -> Frame:
    """The table of `data`; `names` are those of an array's columns."""
    if type(data) is np.ndarray:
        return _of_array(data, owner, names)
    if is_file(data):
        table = Table.of_file(data, json.dumps(options or {}))
        return Frame(table, 0, None, is_file=True)
    if _is_pandas(data):
        return _of_pandas(data, owner)
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__"):
        return _of_stream(data.__arrow_c_stream__())
    if hasattr(data, "__arrow_c_stream__") and _is_frame(data):
        return _of_stream(data.__arrow_c_stream__())
    if hasattr(data, "tocsr") or hasattr(data, "tocoo"):
        raise TypeError(
            "Sparse data was passed, but dense data is required; convert it with X.toarray() if it fits into memory"
        )
    return _of_array(np.asarray(data), owner, names)


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _is_frame(data: Any) -> bool:
    """Whether data have several columns."""
    shape = getattr(data, "shape", None)
    return shape is None or not isinstance(shape, tuple) or len(shape) == 2


def _of_stream(capsule: Any) -> Frame:
    table = Table("the table")
    table.add_stream(capsule)
    names = table.names()
    return Frame(table, len(names), names)


def check_two_dimensional(array: np.ndarray, owner: str) -> None:
    """Refuses what is no matrix with rows and columns, in scikit-learn's words."""
    if array.ndim != 2:
        found = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        raise DataError(
            f"Expected 2D array, got {found} array instead. Reshape your data either using array.reshape(-1, 1) if it "
            "has a single feature or array.reshape(1, -1) if it is a single row."
        )
    rows, columns = array.shape
    if rows == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required by {owner}."
        )
    if columns == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required by {owner}."
        )


def readable(array: np.ndarray) -> np.ndarray:
    """Numbers as the library reads them; a copy only of other types, other byte orders and what is not aligned."""
    kind, width = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.view(np.uint8)
    if width not in _WIDTHS[kind]:
        return array.astype(np.float64)
    if not (array.dtype.isnative and array.flags.aligned):
        return np.require(array, array.dtype.newbyteorder("="), "A")
    return array


def _of_array(array: np.ndarray, owner: str, names: Sequence[str] | None) -> Frame:
    kind = array.dtype.kind
    if kind == "c":
        raise DataError("Complex data not supported")
    check_two_dimensional(array, owner)
    if names is None:
        names = positional(array.shape[1])
    table = Table("the array")
    if kind in _NUMBERS or kind == "b":
        table.add_numbers(names, readable(array))
    elif kind == "M":
        for name, column in zip(names, array.T):
            add_column(table, name, column)
    elif kind in "OUST":
        _add_mixed(table, names, array)
    else:
        raise TypeError(f"arrays of {array.dtype} are no table")
    return Frame(table, array.shape[1], None)


def _add_mixed(table: Table, names: Sequence[str], array: np.ndarray) -> None:
    """Adds the columns of an array of objects: as numbers where all are, else as texts."""
    if array.dtype.kind == "O":
        try:
            table.add_numbers(names, array.astype(np.float64))
            return
        except (TypeError, ValueError):
            pass
    for name, column in zip(names, array.T):
        add_column(table, name, column)


def add_column(table: Table, name: str, values: np.ndarray) -> None:
    """Adds a column of any type that the library reads."""
    kind = values.dtype.kind
    if kind == "b":
        table.add_booleans(name, values.tolist())
    elif kind in _NUMBERS:
        table.add_numbers([name], readable(values[:, None]))
    elif kind == "M":
        table.add_times(name, *_times(values))
    elif kind == "O":
        _add_objects(table, name, values)
    elif kind in "UST":
        table.add_texts(name, [str(value) for value in values.tolist()])
    else:
        raise TypeError(f"the column {name!r} holds {values.dtype}, which is not read")


def _times(values: np.ndarray) -> tuple[list[int], str]:
    unit = np.datetime_data(values.dtype)[0]
    if unit not in ("D", "s", "ms", "us", "ns"):
        unit = "s"
        values = values.astype("datetime64[s]")
    return values.astype(f"datetime64[{unit}]").view(np.int64).tolist(), unit


def _is_missing(value: Any) -> bool:
    # NaN, NaT and pandas' NA are not equal to themselves, or cannot say.
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _add_objects(table: Table, name: str, values: np.ndarray) -> None:
    """Adds a column of Python objects: numbers, truth values, dates or texts, of which some may be missing."""
    import datetime

    cells = [None if _is_missing(value) else value for value in values.tolist()]
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, (bool, np.bool_)) for cell in present):
        table.add_booleans(name, [None if cell is None else bool(cell) for cell in cells])
    elif all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in present):
        numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
        table.add_numbers([name], numbers[:, None])
    elif all(isinstance(cell, (datetime.date, np.datetime64)) for cell in present):
        is_date = all(isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime) for cell in present)
        unit = "D" if is_date else "us"
        add_column(
            table, name, np.array([np.datetime64("NaT") if c is None else c for c in cells], f"datetime64[{unit}]")
        )
    elif all(isinstance(cell, (str, bytes, bool, int, float, np.generic)) for cell in present):
        table.add_texts(name, [None if cell is None else _text(cell) for cell in cells])
    else:
        odd = next(cell for cell in present if not isinstance(cell, (str, bytes, bool, int, float, np.generic)))
        raise TypeError(f"the column {name!r} holds {odd!r}; argument must be a string or a number")


def _text(cell: Any) -> str:
    return cell.decode() if isinstance(cell, bytes) else str(cell)


def _of_pandas(data: Any, owner: str) -> Frame:
    names = [str(name) for name in data.columns]
    own = names if all(isinstance(name, str) for name in data.columns) else None
    kinds = {getattr(dtype, "kind", "O") if isinstance(dtype, np.dtype) else "O" for dtype in data.dtypes}
    if not len(names) or not len(data) or kinds <= set(_NUMBERS):
        frame = _of_array(data.to_numpy(), owner, names)
        return Frame(frame.table, frame.n_columns, own)
    if "c" in kinds:
        raise DataError("Complex data not supported")
    table = _through_arrow(data) or _by_columns(data, names)
    return Frame(table, len(names), own)


def _through_arrow(data: Any) -> Table | None:
    """The table by pyarrow, if it is installed and knows all columns."""
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        arrow = pyarrow.Table.from_pandas(data, preserve_index=False)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
        return None
    table = Table("the data frame")
    stream = arrow.__arrow_c_stream__() if hasattr(arrow, "__arrow_c_stream__") else None
    if stream is None:
        return None
    table.add_stream(stream)
    return table


def _by_columns(data: Any, names: Sequence[str]) -> Table:
    """The table of a data frame of pandas, column by column."""
    table = Table("the data frame")
    for i, name in enumerate(names):
        column = data.iloc[:, i]
        dtype = column.dtype
        if isinstance(dtype, np.dtype):
            add_column(table, name, column.to_numpy())
        elif type(dtype).__name__ == "DatetimeTZDtype":
            add_column(table, name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        else:
            add_column(table, name, column.astype(object).to_numpy())
    return table


def array_of(values: Any) -> np.ndarray:
    """Targets, weights or groups as an array."""
    if type(values) is np.ndarray:
        return values
    if hasattr(values, "to_numpy"):
        try:
            return np.asarray(values.to_numpy())
        except TypeError:
            pass
    if hasattr(values, "__array__") or not hasattr(values, "to_pylist"):
        return np.asarray(values)
    return np.asarray(values.to_pylist())
