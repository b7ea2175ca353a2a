"""Answers in the kind of object that asked: polars for polars, Arrow for pyarrow, torch and JAX (in host memory) for
these, a Python scalar for a scalar, and NumPy for NumPy, pandas, lists, everything else, and for types that the library
that asked does not have."""

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
    package = module.partition(".")[0]
    if package == "torch":
        return "torch"
    if package in ("jax", "jaxlib"):
        return "jax"
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
    if kind == "torch":
        return _tensor(values)
    if kind == "jax":
        return _jax_array(values)
    return values


def _tensor(values: np.ndarray) -> Any:
    """A tensor that shares the memory; the array itself if torch has no such type (times)."""
    try:
        return sys.modules["torch"].from_numpy(values if values.flags.writeable else values.copy())
    except TypeError:
        return values


def _jax_array(values: np.ndarray) -> Any:
    """An array in host memory; the array itself if JAX has no such type (times; 64 bits, unless jax_enable_x64)."""
    jax = sys.modules["jax"]
    if values.dtype.kind not in "biuf" or jax.dtypes.canonicalize_dtype(values.dtype) != values.dtype:
        return values
    return jax.device_put(values, jax.local_devices(backend="cpu")[0])


def _without_day_units(values: Any) -> Any:
    """polars reads times in ms, us, ns, and datetime64 in days."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        unit, multiple = np.datetime_data(values.dtype)
        days = values.dtype.kind == "M" and unit == "D"
        if multiple != 1 or (unit not in ("ms", "us", "ns") and not days):
            return values.astype(f"{values.dtype.kind}8[us]")
    return values
