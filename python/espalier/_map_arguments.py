"""Arguments and elements of a SortedMap: what its calls have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _queries
from ._answers import wrap
from ._index import _RAISE, _one, _refuse_open, name_of, on_stream


class MapCalls:
    """The tree of a SortedMap, and calls of it whose arguments are of any kind."""

    __slots__ = ("_tree", "_dtype", "_value_dtype", "_sorted")

    def _set(self, tree: Any) -> None:
        self._tree = tree
        self._dtype = tree.dtype
        self._value_dtype = tree.value_dtype
        self._sorted: tuple[int, np.ndarray, np.ndarray | None] | None = None

    @property
    def _is_text(self) -> bool:
        return not isinstance(self._dtype, np.dtype)

    def _on(self, stream: Any) -> Any:
        return self._tree if stream is None else on_stream(self._tree, stream)

    def _pairs(self, keys: Any, values: Any) -> tuple[Any, Any]:
        if values is None and isinstance(keys, MapCalls):
            return keys._tree.elements()
        if values is None and isinstance(keys, Mapping):
            return list(keys.keys()), list(keys.values())
        if values is None and self._value_dtype is not None:
            raise TypeError("values are missing: give keys and values, or a mapping.")
        if values is not None and self._value_dtype is None:
            raise TypeError("this SortedMap is a set: it takes keys only.")
        return keys, values

    def _write(self, call: Any, keys: Any, values: Any) -> Any:
        if keys is None:
            _queries.refuse_none("keys")
        done = call(keys, values)
        if done is not None:
            return done
        if self._is_text:
            return call(keys, values_as(values, self._value_dtype))
        queries = _queries.read(keys, self._dtype, "keys")
        inexact = queries.inexact
        if inexact is not None:
            raise ValueError(f"keys: element {int(np.argmax(inexact))} is not a value of dtype {self._dtype}.")
        if self._value_dtype is not None:
            values = values_as(values, self._value_dtype)
        done = call(queries.values, values)
        return done if done is True else wrap(done, queries.kind)  # assign() has no answers

    def _one_key(self, key: Any) -> Any:
        if self._is_text:
            if not isinstance(key, self._dtype):
                raise TypeError(f"key is of type {type(key).__name__}, and the keys are {name_of(self._dtype)}.")
            return key
        queries = _queries.read(key, self._dtype, "key")
        if queries.inexact is not None:
            raise ValueError(f"key {key!r} is not a value of dtype {self._dtype}.")
        return queries.values

    def _seek(self, call: Any, q: Any) -> tuple[Any, Any, Any]:
        if q is None:
            _queries.refuse_none()
        answer = call(q)
        if answer is not None:
            return answer
        queries = _queries.read(q, self._dtype)
        if queries.gap is not None or queries.below is not None:
            raise TypeError(f"queries have dtype {queries.source.dtype} and are not all values of {self._dtype}.")
        keys, values, ok = call(queries.values)
        if queries.null is not None:
            ok[queries.null] = False
        return (
            wrap(keys, queries.kind),
            None if values is None else wrap(values, queries.kind),
            wrap(ok, queries.kind),
        )

    def _ends(
        self, lo: Any, hi: Any, closed: str, whole: tuple[bool, bool] = (False, False)
    ) -> tuple[np.ndarray, np.ndarray, str]:
        low, high = _queries.read(lo, self._dtype, "lo"), _queries.read(hi, self._dtype, "hi")
        if whole[0]:
            low = low._replace(null=None)
        if whole[1]:
            high = high._replace(null=None)
        a, b = _queries.closed_ends(low, high, closed)
        return a, b, high.kind if low.kind == "scalar" else low.kind

    def _missing(self, default: Any) -> np.ndarray | None:
        dtype = self._dtype if self._value_dtype is None else self._value_dtype
        if default is not _RAISE:
            return _one(default, dtype)
        if dtype.kind not in "fmM":
            return None
        return np.array([np.nan if dtype.kind == "f" else "NaT"], dtype=dtype)

    def _aggregate(self, op: str, lo: Any, hi: Any, closed: str, fallback: np.ndarray | None, stream: Any) -> Any:
        if lo is None or hi is None:
            _refuse_open(lo)
        try:
            tree = self._tree if stream is None else on_stream(self._tree, stream)
            answer = tree.aggregate(op, lo, hi, closed, fallback)
            if answer is not None:
                return answer
            a, b, kind = self._ends(lo, hi, closed)
            return wrap(self._tree.aggregate(op, a, b, "both", fallback), kind)
        except OverflowError as error:
            raise _queries.sum_overflow(error) from None

    def _elements(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Keys and values in key order."""
        keys, values = self._tree.elements()
        return array_of(keys), values

    def _arrays(self) -> tuple[np.ndarray, np.ndarray | None]:
        version = self._tree.version
        if self._sorted is None or self._sorted[0] != version:
            self._sorted = (version, *self._elements())
        return self._sorted[1], self._sorted[2]


def ends_of(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest key that there can be."""
    lowest, highest = _queries._limits(dtype)
    return np.array([lowest], dtype=dtype), np.array([np.nan if dtype.kind == "f" else highest], dtype=dtype)


def array_of(keys: Any) -> np.ndarray:
    return np.array(keys, dtype=object) if isinstance(keys, list) else keys


def scalar_of(values: Any, i: int) -> Any:
    if values is None:
        return None
    one = values[i]
    return one.item() if isinstance(one, np.generic) and values.dtype.kind not in "mM" else one


def values_as(values: Any, dtype: np.dtype) -> np.ndarray:
    """Values in this dtype; integers must fit, and floats may be rounded to a narrower float."""
    if np.isscalar(values):
        return _one(values, dtype, "values")
    array, valid, _ = _core.to_numpy(values, "values")
    if valid is not None:
        raise ValueError(f"values: element {int(np.argmin(valid))} is NULL: replace it.")
    if len(array) == 0:
        return np.empty(0, dtype=dtype)
    if dtype.kind in "iu" and array.dtype.kind in "iub":
        converted, gap, below, null = _queries._convert(array, dtype, "values")
        for mask in (gap, below, null):
            if mask is not None and mask.any():
                raise OverflowError(f"values: element {int(np.argmax(mask))} does not fit {dtype}.")
        return np.ascontiguousarray(converted)
    if dtype.kind in "mM" and array.dtype.kind == dtype.kind:
        converted, gap, below, null = _queries._convert(array, dtype, "values")
        for mask in (gap, below):
            if mask is not None and mask.any():
                raise ValueError(f"values: element {int(np.argmax(mask))} is not a value of dtype {dtype}.")
        return np.ascontiguousarray(converted if null is None else np.where(null, dtype.type("NaT"), converted))
    if dtype.kind == "b" and array.dtype.kind != "b":
        raise TypeError(f"values have dtype {array.dtype}, and the map has {dtype}.")
    return np.ascontiguousarray(array.astype(dtype, casting="same_kind"))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Equality of numbers without a common type, which would round; NaN equals NaN, as it does among keys."""
    if a.dtype.kind == "O" or b.dtype.kind == "O":  # str or bytes
        return bool(np.array_equal(a, b))
    if a.dtype == b.dtype:
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM"))
    times = {"m", "M"}
    if a.dtype.kind != b.dtype.kind and times & {a.dtype.kind, b.dtype.kind}:
        return False
    if b.dtype.kind == "b":
        a, b = b, a
    queries = _queries.read(a, b.dtype)
    return queries.inexact is None and bool(np.array_equal(queries.values, b, equal_nan=b.dtype.kind in "fmM"))
