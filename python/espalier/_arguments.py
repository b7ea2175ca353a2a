"""Arguments that the compiled part does not read by itself, made simple: called by import_column() of columns.cpp."""

from __future__ import annotations

import numbers
import sys
from typing import Any

import numpy as np

from ._lists import of_list


CUDA_MEMORY = (2, 13)  # kDLCUDA and kDLCUDAManaged of DLPack
_IN_HOST_MEMORY = (np.ndarray, np.generic, list, tuple, str, bytes, int, float, range)


def is_on_gpu(source: Any) -> bool:
    if isinstance(source, _IN_HOST_MEMORY):
        return False
    module = type(source).__module__.partition(".")[0]
    if module == "cupy":
        return hasattr(source, "__cuda_array_interface__")
    if module == "torch":  # whose interface refuses tensors with gradients
        return bool(getattr(source, "is_cuda", False))
    if module in ("pandas", "polars", "pyarrow", "datetime"):
        return False
    if getattr(source, "__cuda_array_interface__", None) is not None:
        return True
    place = getattr(source, "__dlpack_device__", None)
    return place is not None and int(place()[0]) in CUDA_MEMORY


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
        return of_list(source, what)
    if is_on_gpu(source):
        raise TypeError(
            f"{what} is in the memory of a GPU ({module}), and this call works in host memory: copy it to the host "
            "(CuPy: .get(), torch: .cpu()); es.Index and es.SortedMap with device='cuda' work on a GPU."
        )
    if isinstance(source, (numbers.Number, np.generic)):
        raise TypeError(
            f"{what} is a scalar of type {type(source).__name__}: give a one-dimensional array, or one str or bytes "
            "where the keys are text."
        )
    if module == "torch" and hasattr(source, "detach"):  # tensors with gradients
        source = source.detach()
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
    array = getattr(source, "array", source if hasattr(source, "dtype") and hasattr(source, "take") else None)
    if array is None:
        raise TypeError(f"{what} is a {type(source).__name__}: pass one column, not a table.")
    dtype = array.dtype
    if isinstance(dtype, np.dtype):
        return source.to_numpy(), None
    if getattr(dtype, "tz", None) is not None:  # a moment is compared as UTC
        return array.asi8.view(f"datetime64[{dtype.unit}]"), None
    if hasattr(array, "_data") and hasattr(array, "_mask"):  # nullable integers, floats and booleans
        mask = np.asarray(array._mask)
        return np.asarray(array._data), (mask if mask.any() else None)
    pandas = sys.modules["pandas"]
    is_text = isinstance(dtype, pandas.StringDtype)
    if isinstance(dtype, pandas.ArrowDtype) or (is_text and dtype.storage == "pyarrow"):
        return _arrow_stream_of(array), None
    if is_text:
        texts, mask = np.asarray(array, dtype=object).tolist(), np.asarray(array.isna())
        return [None if m else t for t, m in zip(texts, mask.tolist())] if mask.any() else texts, None
    return (source.to_numpy() if hasattr(source, "to_numpy") else np.asarray(source)), None  # the latter: Categorical


def _arrow_stream_of(array: Any) -> Any:
    """An array of pandas over pyarrow's memory, which is not copied."""
    arrow = array.__arrow_array__()
    return arrow if hasattr(arrow, "__arrow_c_stream__") else sys.modules["pyarrow"].chunked_array([arrow])


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
