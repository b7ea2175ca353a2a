"""A call on a GPU: its arguments there, its stream, and memory for its answers.

It runs on the stream of the caller or else of the first array, behind what the streams of its arrays have enqueued, and
what these enqueue later runs behind the call.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import _core, _queries
from .._arguments import is_on_gpu
from .arrays import DeviceArray, Array, read_array, to_device, to_host, torch_dtypes
from .devices import COPY_HINT, LEGACY_STREAM, handle_of, name_of


class Call:
    """One call: its arguments in the memory of the device, its stream, and memory for answers."""

    __slots__ = ("device", "order", "kind", "arrays", "kept", "pointers", "sizes", "asked")

    def __init__(self, device: int, stream: Any) -> None:
        self.device = device
        self.order: int | None = None if stream is None else handle_of(stream, device)
        self.kind = "host"
        self.arrays: list[Array] = []
        self.kept: list[Any] = []  # copies
        self.pointers: list[int] = []
        self.sizes: list[int] = []
        self.asked: Any = None

    def read_gpu(self, sources: tuple[tuple[Any, Any, str], ...]) -> None:
        """(array, dtype or None, name) of each."""
        for source, dtype, what in sources:
            array = read_array(source, what, self.order)
            if self.order is None:
                self.order = array.stream or LEGACY_STREAM
            if array.device is not None and array.device != self.device:
                raise ValueError(
                    f"{what} is on {name_of(array.device)}, and the index is on {name_of(self.device)}: {COPY_HINT}."
                )
            if dtype is not None and array.dtype != dtype:
                raise TypeError(
                    f"{what} has dtype {array.dtype}, and the index has {dtype}: on a GPU both must be equal; "
                    "convert the array, or ask with a NumPy array, which is compared exactly."
                )
            self.arrays.append(array)
        asked = next((i for i, array in enumerate(self.arrays) if array.library != "own"), 0)  # not a repeated value
        self.kind = self.arrays[asked].library
        self.asked = sources[asked][0]
        order: int = self.order or LEGACY_STREAM
        for array in self.arrays:
            if array.stream is not None and array.stream != order:
                _core.device_order(self.device, order, array.stream)
        for array, (_, _, what) in zip(self.arrays, sources):
            self._place(array, what, order)

    def _place(self, array: Array, what: str, order: int) -> None:
        width, pointer = array.dtype.itemsize, array.pointer
        is_contiguous, is_aligned = array.stride == width or array.size < 2, pointer % width == 0
        if array.size and not (is_contiguous and is_aligned):
            copy = DeviceArray(array.size, array.dtype, self.device, order)
            if is_contiguous:
                _core.device_copy(self.device, copy.pointer, pointer, width * array.size, order, False)
            elif is_aligned and array.stride % width == 0:
                _core.device_copy_strided(self.device, copy.pointer, pointer, array.stride, width, array.size, order)
            else:
                raise ValueError(f"{what} is not aligned to its elements of {width} bytes: copy it first.")
            self.kept.append(copy)
            pointer = copy.pointer
        self.pointers.append(pointer)
        self.sizes.append(array.size)

    def read_host(self, arrays: tuple[np.ndarray, ...]) -> None:
        if self.order is None:
            self.order = LEGACY_STREAM
        for values in arrays:
            copy = to_device(self.device, values, self.order)
            self.kept.append(copy)
            self.pointers.append(copy.pointer)
            self.sizes.append(copy.size)

    def empty(self, size: int, dtype: Any) -> Any:
        """Memory for an answer, as (address, array)."""
        dtype = np.dtype(dtype)
        if self.kind == "cupy":
            cupy = sys.modules["cupy"]
            if cupy.cuda.runtime.getDevice() == self.device:
                array = cupy.empty(size, dtype)
            else:
                with cupy.cuda.Device(self.device):
                    array = cupy.empty(size, dtype)
            return array.data.ptr, array
        if self.kind == "torch":
            torch_type = torch_dtypes().get(dtype.name)
            if torch_type is None:
                raise TypeError(f"the answer has dtype {dtype}, which torch does not have: ask with a NumPy array.")
            array = sys.modules["torch"].empty(size, dtype=torch_type, device=self.asked.device)
            return array.data_ptr(), array
        array = DeviceArray(size, dtype, self.device, self.order or LEGACY_STREAM)
        return array.pointer, array

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, *error: Any) -> None:
        """Orders the streams of the arguments behind the call, also behind one that failed after it enqueued work."""
        order: int = self.order or LEGACY_STREAM
        waits = self.kind not in ("cupy", "torch", "host")
        for array in self.arrays:
            if array.library == "own":
                self.kept.append(array.owner)
            elif array.library == "other":
                waits = True  # its library does not know of our stream
            elif array.stream is not None and array.stream != order:
                _core.device_order(self.device, array.stream, order)
        if self.kept and order != LEGACY_STREAM:
            _core.device_order(self.device, LEGACY_STREAM, order)  # which frees the copies
        if waits:
            _core.device_synchronize(self.device, order)

    def answer(self, array: Any) -> Any:
        if self.kind == "host":
            return to_host(self.device, array.pointer, array.size, array.dtype, self.order or LEGACY_STREAM)
        if self.kind == "other":
            namespace = getattr(self.asked, "__array_namespace__", None)
            if namespace is not None:
                return namespace().from_dlpack(array)
        return array


def is_plain(source: Any, dtype: Any, are_keys: bool) -> bool:
    """A NumPy array that needs no conversion. NaT among queries matches nothing, unlike the number that it is."""
    if type(source) is not np.ndarray or source.ndim != 1 or source.dtype != dtype:
        return False
    if not (source.flags.c_contiguous and source.flags.aligned and source.dtype.isnative):
        return False
    return not are_keys or dtype.kind not in "mM" or not np.isnat(source).any()


def refuse_mixed(sources: tuple[tuple[Any, Any, str], ...]) -> None:
    there = next(what for source, _, what in sources if is_on_gpu(source))
    here = next(what for source, _, what in sources if not is_on_gpu(source))
    raise TypeError(f"{there} is on a GPU, and {here} is not: {COPY_HINT}.")


class TreeOnGpu:
    """What an index and a map have in common."""

    __slots__ = ("_tree", "device", "_stream", "dtype", "value_dtype")
    _tree: Any

    def _set(self, tree: Any, device: int) -> Any:
        self._tree = tree
        self.device = device
        self._stream: Any = None
        self.dtype: np.dtype = tree.dtype
        self.value_dtype: np.dtype | None = tree.value_dtype
        return self

    def on(self, stream: Any) -> Any:
        """The same tree, for a call on this stream."""
        other = type(self).__new__(type(self))._set(self._tree, self.device)
        other._stream = stream
        return other

    def __len__(self) -> int:
        return len(self._tree)

    def stats(self) -> dict[str, Any]:
        return self._tree.stats()

    def parts(self) -> tuple[Any, ...]:
        return self._tree.parts()

    def _begin(self, *sources: tuple[Any, Any, str]) -> Call | None:
        """None for what is neither an array on the GPU nor a plain one in host memory."""
        on_gpu = [is_on_gpu(source) for source, _, _ in sources]
        if all(on_gpu):
            call = Call(self.device, self._stream)
            call.read_gpu(sources)
        elif any(on_gpu):
            refuse_mixed(sources)
            return None
        elif all(is_plain(source, dtype, what != "values") for source, dtype, what in sources):
            call = Call(self.device, self._stream)
            call.read_host(tuple(source for source, _, _ in sources))
        else:
            return None
        if len(set(call.sizes)) > 1:
            (_, _, first), (_, _, second) = sources[0], sources[-1]
            raise ValueError(
                f"{first} has {call.sizes[0]} elements, and {second} has {call.sizes[-1]}: both must have the same "
                "length."
            )
        return call

    def _ends(self, lo: Any, hi: Any) -> Call | None:
        """Ends of ranges; a single value belongs to all ranges of the other array."""
        if is_on_gpu(lo) and _queries.is_one_value(hi):
            hi = self._repeat(hi, lo, "hi")
        elif is_on_gpu(hi) and _queries.is_one_value(lo):
            lo = self._repeat(lo, hi, "lo")
        return self._begin((lo, self.dtype, "lo"), (hi, self.dtype, "hi"))

    def _repeat(self, value: Any, other: Any, what: str) -> Any:
        read = _queries.read(value, self.dtype, what)
        if read.inexact is not None:
            raise TypeError(f"{what} {value!r} is not a value of dtype {self.dtype}: round it to one.")
        array = read_array(other, what, None)
        order = array.stream or LEGACY_STREAM
        repeated = to_device(self.device, np.repeat(read.values, array.size), order)
        _core.device_synchronize(self.device, order)
        return repeated

    def _find(self, call: Any, q: Any, dtype: Any, fallback: Any) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        pointer, values = c.empty(c.sizes[0], dtype)
        with c:
            call(c.pointers[0], c.sizes[0], pointer, fallback, c.order)
        return c.answer(values)

    def find(self, q: Any, fallback: Any) -> Any:
        return self._find(self._tree.find, q, self.value_dtype, fallback)

    def contains(self, q: Any) -> Any:
        c = self._begin((q, self.dtype, "queries"))
        if c is None:
            return None
        pointer, found = c.empty(c.sizes[0], np.bool_)
        with c:
            self._tree.contains(c.pointers[0], c.sizes[0], pointer, c.order)
        return c.answer(found)

    def count(self, lo: Any, hi: Any, closed: str) -> Any:
        c = self._ends(lo, hi)
        if c is None:
            return None
        pointer, counts = c.empty(c.sizes[0], np.int64)
        with c:
            self._tree.count(*c.pointers, c.sizes[0], closed, pointer, c.order)
        return c.answer(counts)

    def aggregate(self, op: str, lo: Any, hi: Any, closed: str, fallback: Any) -> Any:
        dtype = self._tree.aggregate_dtype(op)
        c = self._ends(lo, hi)
        if c is None:
            return None
        pointer, results = c.empty(c.sizes[0], dtype)
        with c:
            self._tree.aggregate(op, *c.pointers, c.sizes[0], closed, pointer, fallback, c.order)
        return c.answer(results)


def example_of(dtype: np.dtype | None) -> np.ndarray | None:
    """An array without elements, which tells the compiled part the dtype."""
    return None if dtype is None else np.empty(0, dtype)
