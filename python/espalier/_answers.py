"""Answers in the kind of object that asked: polars for polars, Arrow for pyarrow, a Python scalar for a scalar, and
NumPy for NumPy, pandas, lists and everything else."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def kind_of(source: Any) -> str:
    module = type(source).__module__
    if module.startswith("polars"):
        return "polars"
    if module.startswith("pyarrow"):
        return "arrow"
    return "numpy"


def wrap(values: Any, kind: str) -> Any:
    """An array, or a list of str or bytes, in this kind."""
    if kind == "scalar":
        first = values[0]
        if isinstance(first, (np.datetime64, np.timedelta64)) or not isinstance(first, np.generic):
            return first
        return first.item()
    if kind == "polars":
        return sys.modules["polars"].Series(values=_without_day_units(values))
    if kind == "arrow":
        return sys.modules["pyarrow"].array(values)
    if isinstance(values, list):
        return np.array(values, dtype=object)
    return values


def _without_day_units(values: Any) -> Any:
    """polars reads times in ms, us, ns, and datetime64 in days."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        unit, multiple = np.datetime_data(values.dtype)
        days = values.dtype.kind == "M" and unit == "D"
        if multiple != 1 or (unit not in ("ms", "us", "ns") and not days):
            return values.astype(f"{values.dtype.kind}8[us]")
    return values
