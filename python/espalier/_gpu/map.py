"""espalier.SortedMap in the memory of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .arrays import DeviceArray, to_device
from .calls import TreeOnGpu, example_of
from .devices import LEGACY_STREAM, open_device
from .index import GpuIndex


class GpuMap(TreeOnGpu):
    __slots__ = ()

    @classmethod
    def of_parts(cls, keys: Any, values: Any, device: int) -> "GpuMap":
        open_device(device)
        arrays = [np.ascontiguousarray(part) for part in (keys, values) if part is not None]
        placed = [to_device(device, array, LEGACY_STREAM) for array in arrays]
        tree = _core.DeviceMap(
            device, example_of(arrays[0].dtype), placed[0].pointer, len(keys),
            example_of(None if values is None else arrays[1].dtype), 0 if values is None else placed[1].pointer,
            LEGACY_STREAM,
        )
        return cls()._set(tree, device)

    @property
    def version(self) -> int:
        return self._tree.version

    def elements(self) -> tuple[Any, ...]:
        return self._tree.parts()

    def clear(self) -> None:
        self._tree.clear()

    def snapshot(self, keep: Any) -> GpuIndex:
        found = _core.FoundRange(self.device)
        total = self._tree.all(found)
        keys = DeviceArray(total, self.dtype, self.device)
        values = None if self.value_dtype is None else DeviceArray(total, self.value_dtype, self.device)
        self._take(found, keys.pointer, 0 if values is None else values.pointer, LEGACY_STREAM)
        tree = _core.DeviceIndex(
            self.device, example_of(self.dtype), keys.pointer, total, example_of(self.value_dtype),
            0 if values is None else values.pointer, 0, 0, keep, LEGACY_STREAM,
        )
        return GpuIndex()._set(tree, self.device)

    def _take(self, found: Any, keys: int, values: int, order: Any) -> None:
        width = 0 if self.value_dtype is None else self.value_dtype.itemsize
        found.take(keys, self.dtype.itemsize, values, width, order)

    def _write(self, call: Any, keys: Any, values: Any, answers: bool) -> Any:
        has_values = values is not None and self.value_dtype is not None
        sources: list[tuple[Any, Any, str]] = [(keys, self.dtype, "keys")]
        if has_values:
            sources.append((values, self.value_dtype, "values"))
        c = self._begin(*sources)
        if c is None:
            return None
        pointer, done = c.empty(c.sizes[0], np.bool_) if answers else (0, None)
        with c:
            call(c.pointers[0], c.pointers[1] if has_values else 0, c.sizes[0], pointer, c.order)
        return c.answer(done) if answers else True

    def assign(self, keys: Any, values: Any) -> Any:
        return self._write(self._tree.assign, keys, values, False)

    def insert(self, keys: Any, values: Any) -> Any:
        return self._write(self._tree.insert, keys, values, True)

    def replace(self, keys: Any, values: Any) -> Any:
        return self._write(self._tree.replace, keys, values, True)

    def erase(self, keys: Any) -> Any:
        return self._write(self._tree.erase, keys, None, True)

    def apply(self, codes: np.ndarray, keys: Any, values: Any) -> Any:
        sources: list[tuple[Any, Any, str]] = [(keys, self.dtype, "keys")]
        if values is not None:
            sources.append((values, self.value_dtype, "values"))
        c = self._begin(*sources)
        if c is None:
            raise TypeError("keys and values must be arrays of the types of the map.")
        n = c.sizes[0]
        if len(codes) != n:
            raise ValueError(f"operations has {len(codes)} elements, and keys has {n}: both must have the same length.")
        order = c.order or LEGACY_STREAM
        ops = to_device(self.device, codes, order)
        c.kept.append(ops)
        to_done, done = c.empty(n, np.bool_)
        to_found, found = (0, None) if self.value_dtype is None else c.empty(n, self.value_dtype)
        to_write = 0 if values is None else c.pointers[1]
        with c:
            self._tree.apply(ops.pointer, c.pointers[0], to_write, n, to_found, to_done, order)
        return None if found is None else c.answer(found), c.answer(done)

    def _seek(self, call: Any, q: Any) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        n = c.sizes[0]
        (to_keys, keys), (to_found, found) = c.empty(n, self.dtype), c.empty(n, np.bool_)
        to_values, values = (0, None) if self.value_dtype is None else c.empty(n, self.value_dtype)
        with c:
            call(c.pointers[0], n, to_keys, to_values, to_found, c.order)
        return c.answer(keys), None if values is None else c.answer(values), c.answer(found)

    def lower_bound(self, q: Any) -> Any:
        return self._seek(self._tree.lower_bound, q)

    def successor(self, q: Any) -> Any:
        return self._seek(self._tree.successor, q)

    def predecessor(self, q: Any) -> Any:
        return self._seek(self._tree.predecessor, q)

    def range(self, lo: Any, hi: Any, closed: str, limit: Any) -> Any:
        c = self._ends(lo, hi)
        if c is None:
            return None
        n = c.sizes[0]
        to_offsets, offsets = c.empty(n + 1, np.int64)
        found = _core.FoundRange(self.device)
        with c:
            total = self._tree.range(*c.pointers, n, closed, limit, to_offsets, found, c.order)
            to_keys, keys = c.empty(total, self.dtype)
            to_values, values = (0, None) if self.value_dtype is None else c.empty(total, self.value_dtype)
            self._take(found, to_keys, to_values, c.order)
        return c.answer(offsets), c.answer(keys), None if values is None else c.answer(values)
