"""espalier.Index in the memory of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._arguments import is_on_gpu
from . import devices
from .arrays import DeviceArray, read_array, to_device
from .calls import TreeOnGpu, Call, example_of
from .devices import COPY_HINT, LEGACY_STREAM, name_of, open_device


def _host_columns(columns: tuple[tuple[Any, str], ...]) -> list[np.ndarray | None]:
    """Columns in host memory as arrays without missing elements."""
    found: list[np.ndarray | None] = []
    for column, what in columns:
        if column is None:
            found.append(None)
            continue
        values, valid, _ = _core.to_numpy(column, what)
        if valid is not None:
            wrong = ~valid
        else:
            wrong = np.isnat(values) if what == "keys" and values.dtype.kind in "mM" else np.zeros(0, bool)
        if wrong.any():
            name = "NaT" if valid is None else "NULL"
            raise ValueError(
                f"{what}: row {int(np.argmax(wrong))} is {name}, which has no place in an order: remove such rows, or "
                "replace them."
            )
        found.append(np.ascontiguousarray(values))
    return found


def _columns_call(keys: Any, values: Any, device: Any, stream: Any) -> tuple[int, Call, np.dtype, np.dtype | None]:
    """Keys and values of a build in the memory of the device."""
    if not is_on_gpu(keys):
        ordinal = devices.ordinal_of(device)
        if values is not None and is_on_gpu(values):
            raise TypeError(f"values is on a GPU, and keys is not: {COPY_HINT}.")
        arrays = [array for array in _host_columns(((keys, "keys"), (values, "values"))) if array is not None]
        open_device(ordinal)
        call = Call(ordinal, stream)
        call.read_host(tuple(arrays))
        dtypes = [array.dtype for array in arrays]
    else:
        if values is not None and not is_on_gpu(values):
            raise TypeError(f"keys is on a GPU, and values is not: {COPY_HINT}.")
        place = read_array(keys, "keys", LEGACY_STREAM).device
        asked = place if device is None else devices.ordinal_of(device)
        if device is not None and (asked == -1 or place is not None and asked != place):
            raise ValueError(f"keys is on {name_of(place or 0)}, and device is {device!r}: {COPY_HINT}.")
        ordinal = asked if asked is not None else -1 if devices.host_is_a_gpu else 0  # an empty array may be nowhere
        open_device(ordinal)
        call = Call(ordinal, stream)
        call.read_gpu(((keys, None, "keys"),) if values is None else ((keys, None, "keys"), (values, None, "values")))
        dtypes = [array.dtype for array in call.arrays]
    for dtype, what in zip(dtypes, ("keys", "values")):
        if dtype.kind not in "biufmM" or dtype.kind == "f" and dtype.itemsize not in (4, 8) or not dtype.isnative:
            raise TypeError(
                f"{what} has dtype {dtype}: integers, float32, float64, bool and times are taken on a GPU."
            )
    if values is not None and call.sizes[0] != call.sizes[1]:
        raise ValueError(
            f"values has {call.sizes[1]} elements, and keys has {call.sizes[0]}: both must have the same length."
        )
    return ordinal, call, dtypes[0], dtypes[1] if values is not None else None


class GpuIndex(TreeOnGpu):
    __slots__ = ()

    @classmethod
    def build(cls, keys: Any, values: Any, keep: Any, device: Any, stream: Any) -> "GpuIndex":
        ordinal, call, dtype, value_dtype = _columns_call(keys, values, device, stream)
        pointers = (*call.pointers, 0)
        with call:
            tree = _core.DeviceIndex(
                ordinal, example_of(dtype), pointers[0], call.sizes[0], example_of(value_dtype), pointers[1], 0, 0,
                keep, call.order or LEGACY_STREAM,
            )
        return cls()._set(tree, ordinal)

    @classmethod
    def of_parts(cls, keys: Any, values: Any, rows: Any, keep: Any, device: int) -> "GpuIndex":
        """Keys in order, their values and their rows, all in host memory."""
        open_device(device)
        arrays = [None if part is None else np.ascontiguousarray(part) for part in (keys, values, rows)]
        placed = [None if array is None else to_device(device, array, LEGACY_STREAM) for array in arrays]
        pointers = [0 if array is None else array.pointer for array in placed]
        width = 0 if arrays[2] is None else arrays[2].itemsize
        tree = _core.DeviceIndex(
            device, example_of(arrays[0].dtype), pointers[0], len(keys),  # type: ignore[union-attr]
            example_of(None if arrays[1] is None else arrays[1].dtype), pointers[1], pointers[2], width, keep,
            LEGACY_STREAM,
        )
        return cls()._set(tree, device)

    @property
    def keep(self) -> str:
        return self._tree.keep

    def searchsorted(self, q: Any, right: bool) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        pointer, ranks = c.empty(c.sizes[0], np.int64)
        with c:
            self._tree.searchsorted(c.pointers[0], c.sizes[0], right, pointer, c.order)
        return c.answer(ranks)

    def get_indexer(self, q: Any) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        pointer, rows = c.empty(c.sizes[0], np.int64)
        with c:
            self._tree.get_indexer(c.pointers[0], c.sizes[0], pointer, c.order)
        return c.answer(rows)

    def find_rows(self, q: Any, fallback: Any) -> Any:
        return self._find(self._tree.find_rows, q, np.int64, fallback)

    def asof(self, q: Any, direction: str, tolerance: Any, exact: bool) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        (to_rows, rows), (to_found, found) = c.empty(c.sizes[0], np.int64), c.empty(c.sizes[0], np.bool_)
        with c:
            self._tree.asof(c.pointers[0], c.sizes[0], direction, tolerance, exact, to_rows, to_found, c.order)
        return c.answer(rows), c.answer(found)

    def neighbour(self, q: Any, is_successor: bool) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        n = c.sizes[0]
        (to_keys, keys), (to_rows, rows), (to_found, found) = (
            c.empty(n, self.dtype), c.empty(n, np.int64), c.empty(n, np.bool_)
        )
        with c:
            self._tree.neighbour(c.pointers[0], n, is_successor, to_keys, to_rows, to_found, c.order)
        return c.answer(keys), c.answer(rows), c.answer(found)

    def range(self, lo: Any, hi: Any, closed: str, limit: Any) -> Any:
        c = self._ends(lo, hi)
        if c is None:
            return None
        n = c.sizes[0]
        to_offsets, offsets = c.empty(n + 1, np.int64)
        starts = DeviceArray(n, np.uint64, self.device, c.order or LEGACY_STREAM)
        c.kept.append(starts)
        with c:
            total = self._tree.range(*c.pointers, n, closed, limit, to_offsets, starts.pointer, c.order)
            to_rows, rows = c.empty(total, np.int64)
            if total:
                self._tree.range_rows(to_offsets, starts.pointer, n, total, to_rows, c.order)
        return c.answer(offsets), c.answer(rows)

    def at(self, ranks: Any) -> Any:
        c = self._begin((ranks, getattr(ranks, "dtype", None) if type(ranks) is np.ndarray else None, "ranks"))
        if c is None:
            raise TypeError("ranks must be an array of integers.")
        dtype = c.arrays[0].dtype if c.arrays else ranks.dtype
        if dtype.kind not in "iu":
            raise TypeError(f"ranks have dtype {dtype}: integers are needed.")
        n = c.sizes[0]
        (to_keys, keys), (to_rows, rows) = c.empty(n, self.dtype), c.empty(n, np.int64)
        with c:
            self._tree.at(example_of(dtype), c.pointers[0], n, to_keys, to_rows, c.order)
        return c.answer(keys), c.answer(rows)
