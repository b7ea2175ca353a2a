"""Arguments that the compiled part does not read by itself, made simple: called by import_column() of columns.cpp."""

from __future__ import annotations

import numbers
import sys
from typing import Any

import numpy as np


def simplify(source: Any, what: str) -> tuple[Any, np.ndarray | None]:
    """Return (array, mask): a NumPy array, a list of str or bytes, or an object with __arrow_c_stream__; and which
    rows are NULL, or None."""
    module = type(source).__module__.partition(".")[0]
    if isinstance(source, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(source)
        return source.data, (np.ascontiguousarray(mask) if mask.any() else None)
    if module == "pandas":
        return _of_pandas(source, what)
    if isinstance(source, (list, tuple)):
        return _of_list(source, what)
    if hasattr(source, "__cuda_array_interface__"):
        raise TypeError(
            f"{what} is in the memory of a GPU: this build of espalier works in host memory; copy it to the host."
        )
    if isinstance(source, (numbers.Number, np.generic)):
        raise TypeError(f"{what} is a scalar of type {type(source).__name__}: a one-dimensional array is needed.")
    if hasattr(source, "__array__") or hasattr(source, "__array_interface__"):
        return np.asarray(source), None
    if hasattr(source, "__dlpack__"):
        return np.from_dlpack(source), None
    try:
        view = memoryview(source)
    except TypeError:
        pass
    else:
        return np.asarray(view), None
    if isinstance(source, range):
        return np.arange(source.start, source.stop, source.step, dtype=np.int64), None
    raise TypeError(
        f"{what} is of type {type(source).__name__}: NumPy arrays, lists, buffers, DLPack and Arrow arrays, and "
        "columns of pandas and polars are taken."
    )


def _of_pandas(source: Any, what: str) -> tuple[Any, np.ndarray | None]:
    array = getattr(source, "array", None)
    if array is None:
        raise TypeError(f"{what} is a {type(source).__name__}: pass one column, not a table.")
    dtype = array.dtype
    if isinstance(dtype, np.dtype):
        values = source.to_numpy()
        return values, None
    if getattr(dtype, "tz", None) is not None:  # a moment is compared as UTC
        return source.to_numpy(dtype=f"datetime64[{dtype.unit}]"), None
    if hasattr(array, "_data") and hasattr(array, "_mask"):  # nullable integers, floats and booleans
        mask = np.asarray(array._mask)
        return np.asarray(array._data), (mask if mask.any() else None)
    if isinstance(dtype, sys.modules["pandas"].StringDtype):
        texts, mask = source.to_numpy(dtype=object).tolist(), np.asarray(array.isna())
        return [None if m else t for t, m in zip(texts, mask.tolist())] if mask.any() else texts, None
    values = source.to_numpy()
    return values, None


def text_of_objects(values: np.ndarray) -> list[Any] | None:
    """An array of str (or of bytes) and missing values (None, NaN, pandas.NA) as a list; None if there are other
    objects."""
    items = values.tolist()
    if not any(isinstance(item, (str, bytes)) for item in items):
        return None
    if not all(isinstance(item, (str, bytes)) or _is_missing(item) for item in items):
        return None
    return [item if isinstance(item, (str, bytes)) else None for item in items]


def _is_missing(item: Any) -> bool:
    pandas = sys.modules.get("pandas")
    if item is None or (pandas is not None and item is pandas.NA):  # NA != NA has no truth value
        return True
    return isinstance(item, (float, np.generic)) and bool(item != item)


def array_of(source: Any, what: str) -> np.ndarray:
    """A list as NumPy reads it, except that integers never become floats or objects: OverflowError if no integer type
    holds them all."""
    values = np.asarray(source)
    if values.ndim != 1 or values.dtype.kind not in "fO" or not all(isinstance(i, (int, np.integer)) for i in source):
        return values
    if len(source) == 0:
        return values
    numbers = [int(i) for i in source]
    least, greatest = min(numbers), max(numbers)
    for dtype in (np.int64, np.uint64):  # such as a list of np.uint64 and np.int64, which NumPy reads as float64
        if np.iinfo(dtype).min <= least and greatest <= np.iinfo(dtype).max:
            return np.array(numbers, dtype=dtype)
    raise OverflowError(
        f"{what} is a list of integers from {least} to {greatest}, which neither int64 nor uint64 holds: convert it, "
        "such as to an array of float64."
    )


def _of_list(source: Any, what: str) -> tuple[Any, np.ndarray | None]:
    if len(source) == 0:
        return np.empty(0, dtype=np.float64), None
    if any(item is None for item in source):
        mask = np.fromiter((item is None for item in source), dtype=bool, count=len(source))
        if mask.all():
            return np.zeros(len(source)), mask
        present = next(item for item in source if item is not None)
        values, _ = _of_list([present if item is None else item for item in source], what)
        return values, mask
    values = array_of(source, what)
    if values.dtype.kind in "OUS":
        kinds = sorted({type(item).__name__ for item in source})
        if set(kinds) <= {"datetime", "date", "Timestamp"}:
            return np.asarray(source, dtype="datetime64[us]"), None
        if set(kinds) <= {"timedelta", "Timedelta"}:
            return np.asarray(source, dtype="timedelta64[us]"), None
        raise TypeError(
            f"{what} is a list of {', '.join(kinds)}: numbers, bool, str, bytes, dates or times are taken."
        )
    return values, None
