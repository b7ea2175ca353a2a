"""Indexes and maps in the memory of a GPU, and arrays there: of CuPy, of torch, and of every library with
__cuda_array_interface__ or DLPack.

The compiled part (_core.DeviceIndex, _core.DeviceMap) takes addresses and stream handles. This file reads arrays,
allocates answers by the library of the array that asked, and orders streams: a call runs on the stream of the caller
or else of the first array, behind what the streams of its arrays have enqueued, and what these enqueue later runs
behind the call. Handle 1 is CUDA's legacy default stream. No library of arrays is imported before an array of it comes.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from . import _core, _queries
from ._arguments import CUDA_MEMORY, is_on_gpu

_LEGACY = 1  # handle of the legacy default stream
_HINT = "copy it there, such as with cupy.asarray() or tensor.cuda(), or to the host with .get() or .cpu()"


# ---- devices and streams ----------------------------------------


def ordinal_of(device: Any) -> int:
    """The number of a GPU: "cuda", "cuda:1", 1, or an object of CuPy or torch; -1 for "cpu"."""
    if isinstance(device, (int, np.integer)) and not isinstance(device, bool):
        if device < 0:
            raise ValueError(f"device is {device}: GPUs have the numbers 0 and up.")
        return int(device)
    kind = getattr(device, "type", None)  # torch.device
    if isinstance(kind, str):
        device = kind if getattr(device, "index", None) is None else f"{kind}:{device.index}"
    elif isinstance(getattr(device, "id", None), int):  # cupy.cuda.Device
        return int(device.id)
    if device == "cpu":
        return -1
    if isinstance(device, str):
        kind, colon, number = device.partition(":")
        if kind == "cuda" and (number.isdecimal() if colon else True):
            return int(number or 0)
    raise ValueError(f"device is {device!r}: use 'cpu', 'cuda' or 'cuda:0'.")


def name_of(ordinal: int) -> str:
    return f"cuda:{ordinal}"


def open_device(ordinal: int) -> None:
    """Fails with the reason where the GPU cannot be used."""
    try:
        _core.open_device(ordinal)
    except (ValueError, RuntimeError) as error:
        reason = str(error).replace("; use device::cpu().", ".")
        raise type(error)(f"{name_of(ordinal)} cannot be used: {reason}") from None


def handle_of(stream: Any, device: int) -> int:
    """The handle of a stream: an int, or an object with __cuda_stream__, ptr (CuPy) or cuda_stream (torch)."""
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        handle = int(stream)
    elif hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        handle = int((protocol() if callable(protocol) else protocol)[1])
    elif hasattr(stream, "ptr"):
        handle = int(stream.ptr)
    elif hasattr(stream, "cuda_stream"):
        handle = int(stream.cuda_stream)
    else:
        raise TypeError(
            f"stream is of type {type(stream).__name__}: give a stream of CuPy or torch, an object with "
            "__cuda_stream__, or the handle as an int."
        )
    if handle < 0:
        raise ValueError(f"stream is {handle}: a handle is not negative.")
    own = getattr(stream, "device_id", getattr(stream, "device_index", None))
    if isinstance(own, int) and own >= 0 and own != device:
        raise ValueError(f"the stream belongs to {name_of(own)}, and the index is on {name_of(device)}.")
    return handle or _LEGACY


# ---- arrays of libraries ----------------------------------------


class _Array(NamedTuple):
    pointer: int
    size: int
    stride: int  # in bytes
    dtype: np.dtype
    device: int | None  # None: an empty array need not be anywhere
    stream: int | None  # on which the library works with it; None: nothing is left to wait for
    library: str  # "cupy", "torch", "own" (DeviceArray) or "other"
    owner: Any  # keeps the memory


def _refuse_dimensions(dimensions: int, what: str) -> None:
    if dimensions != 1:
        raise ValueError(f"{what} has {dimensions} dimensions: a one-dimensional array is needed.")


def _read_cupy(source: Any, what: str) -> _Array:
    cupy = sys.modules["cupy"]
    _refuse_dimensions(source.ndim, what)
    device = source.device.id
    stream = cupy.cuda.get_current_stream(device).ptr or _LEGACY
    return _Array(source.data.ptr, source.size, source.strides[0], source.dtype, device, stream, "cupy", source)


_torch_types: dict[Any, np.dtype] = {}  # of torch's dtypes, and by the names of NumPy's


def _torch_dtypes() -> dict[Any, Any]:
    if not _torch_types:
        torch = sys.modules["torch"]
        names = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64"
        for name in names.split():
            if hasattr(torch, name):  # the unsigned ones beyond uint8 are new
                _torch_types[getattr(torch, name)] = np.dtype(name)
                _torch_types[name] = getattr(torch, name)
    return _torch_types


def _read_torch(source: Any, what: str) -> _Array:
    torch = sys.modules["torch"]
    _refuse_dimensions(source.dim(), what)
    dtype = _torch_dtypes().get(source.dtype)
    if dtype is None:
        raise TypeError(f"{what} has dtype {source.dtype}: integers, float32, float64 and bool are taken on a GPU.")
    if source.layout != torch.strided:
        raise TypeError(f"{what} has the layout {source.layout}: a dense array is needed.")
    if source.is_neg():
        source = source.resolve_neg()
    device = source.device.index
    stream = torch.cuda.current_stream(device).cuda_stream or _LEGACY
    stride = source.stride(0) * dtype.itemsize
    return _Array(source.data_ptr(), source.numel(), stride, dtype, device, stream, "torch", source)


def _read_interface(source: Any, what: str) -> _Array:
    """__cuda_array_interface__, version 3 and before."""
    interface = source.__cuda_array_interface__
    shape = interface["shape"]
    _refuse_dimensions(len(shape), what)
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask: keys and values on a GPU cannot be missing; fill or remove them.")
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    pointer = int(interface["data"][0])
    stream = interface.get("stream")
    if stream == 0:
        raise ValueError(f"{what} gives the stream 0, which __cuda_array_interface__ does not allow: use 1 or 2.")
    device = _core.gpu_of(pointer) if shape[0] else None
    if device is not None and device < 0 and not host_is_a_gpu:
        open_device(0)  # says why, if no GPU can be used
        raise ValueError(f"{what} gives an address that is not in the memory of a GPU.")
    stride = dtype.itemsize if strides is None else int(strides[0])
    return _Array(pointer, int(shape[0]), stride, dtype, device, stream, "other", (source, interface))


_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # of DLPack
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def _read_dlpack(source: Any, what: str, order: int) -> _Array:
    kind, device = map(int, source.__dlpack_device__())
    if kind not in CUDA_MEMORY:
        raise ValueError(f"{what} is not in the memory of a GPU of CUDA (DLPack's device type is {kind}).")
    try:  # the producer makes our stream wait for its own
        capsule = source.__dlpack__(stream=order, max_version=(1, 0))
    except TypeError:
        capsule = source.__dlpack__(stream=order)
    tensor = _core.DLPackTensor(capsule)
    code, bits, lanes = tensor.type
    if code not in _KINDS or bits % 8 or lanes != 1 or (code == 6 and bits != 8):
        raise TypeError(f"{what} has DLPack's type {code} with {bits} bits and {lanes} lanes, which is not taken.")
    shape, strides = tensor.shape, tensor.strides
    _refuse_dimensions(len(shape), what)
    dtype = np.dtype(f"{_KINDS[code]}{bits // 8}")
    # Modulo 2^64: CuPy divides negative strides as if they were unsigned.
    stride = (strides[0] * dtype.itemsize + 2**63) % 2**64 - 2**63 if strides else dtype.itemsize
    return _Array(tensor.pointer, shape[0], stride, dtype, device if shape[0] else None, None, "other", tensor)


# Tests of everything but the kernels run without a GPU: device -1 is the CPU, and "GPU" arrays are in host memory.
host_is_a_gpu = False


def _read_array(source: Any, what: str, order: int | None) -> _Array:
    library = type(source).__module__.partition(".")[0]
    if library == "cupy":
        return _read_cupy(source, what)
    if library == "torch":
        return _read_torch(source, what)
    if isinstance(source, DeviceArray):
        device = source._device if source.size else None
        return _Array(source.pointer, source.size, source.dtype.itemsize, source.dtype, device, None, "own", source)
    if getattr(source, "__cuda_array_interface__", None) is not None:
        return _read_interface(source, what)
    return _read_dlpack(source, what, order or _LEGACY)


class DeviceArray:
    """An answer in the memory of a GPU for a library whose arrays espalier cannot allocate; it has
    __cuda_array_interface__ and DLPack, by which other libraries read it without a copy."""

    __slots__ = ("_memory", "dtype", "size", "_device")

    def __init__(self, size: int, dtype: Any, device: int, stream: int = _LEGACY) -> None:
        self.dtype = np.dtype(dtype)
        self.size = size
        self._device = device
        self._memory = _core.DeviceMemory(device, size * self.dtype.itemsize, stream)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"DeviceArray(dtype={self.dtype}, len={self.size}, device='{name_of(self._device)}')"

    ndim = 1

    @property
    def shape(self) -> tuple[int]:
        return (self.size,)

    @property
    def device(self) -> str:
        return name_of(self._device)

    @property
    def pointer(self) -> int:
        return self._memory.pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.size,),
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            "strides": None,
            "stream": None,  # the call that made it has waited
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._device) if self._device >= 0 else (1, 0)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        device = self.__dlpack_device__()
        if copy or dl_device is not None and tuple(dl_device) != device:
            raise BufferError("espalier exports its memory on a GPU as it is: copy the array afterwards.")
        if self.dtype.kind not in _CODES:
            raise BufferError(f"DLPack has no type for {self.dtype}.")
        is_new = max_version is not None and max_version[0] >= 1
        code, bits = _CODES[self.dtype.kind], 8 * self.dtype.itemsize
        return _core.dlpack_capsule(self._memory, self.pointer, self.size, code, bits, *device, is_new)

    def to_numpy(self) -> np.ndarray:
        return _to_host(self._device, self.pointer, self.size, self.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a copy to the host is needed.")
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype, copy=False)


def _to_host(device: int, pointer: int, size: int, dtype: np.dtype, order: int = _LEGACY) -> np.ndarray:
    values = np.empty(size, dtype)
    _core.device_copy(device, values.ctypes.data, pointer, values.nbytes, order, True)
    return values


def _to_device(device: int, values: np.ndarray, order: int) -> DeviceArray:
    array = DeviceArray(len(values), values.dtype, device, order)
    _core.device_copy(device, array.pointer, values.ctypes.data, values.nbytes, order, False)
    return array


# ---- calls ----------------------------------------


class _Call:
    """One call: its arguments in the memory of the device, its stream, and memory for answers."""

    __slots__ = ("device", "order", "kind", "arrays", "kept", "pointers", "sizes", "asked")

    def __init__(self, device: int, stream: Any) -> None:
        self.device = device
        self.order: int | None = None if stream is None else handle_of(stream, device)
        self.kind = "host"
        self.arrays: list[_Array] = []
        self.kept: list[Any] = []  # copies
        self.pointers: list[int] = []
        self.sizes: list[int] = []
        self.asked: Any = None

    def read_gpu(self, sources: tuple[tuple[Any, Any, str], ...]) -> None:
        """(array, dtype or None, name) of each."""
        for source, dtype, what in sources:
            array = _read_array(source, what, self.order)
            if self.order is None:
                self.order = array.stream or _LEGACY
            if array.device is not None and array.device != self.device:
                raise ValueError(
                    f"{what} is on {name_of(array.device)}, and the index is on {name_of(self.device)}: {_HINT}."
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
        order: int = self.order or _LEGACY
        for array in self.arrays:
            if array.stream is not None and array.stream != order:
                _core.device_order(self.device, order, array.stream)
        for array, (_, _, what) in zip(self.arrays, sources):
            self._place(array, what, order)

    def _place(self, array: _Array, what: str, order: int) -> None:
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
            self.order = _LEGACY
        for values in arrays:
            copy = _to_device(self.device, values, self.order)
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
            torch_type = _torch_dtypes().get(dtype.name)
            if torch_type is None:
                raise TypeError(f"the answer has dtype {dtype}, which torch does not have: ask with a NumPy array.")
            array = sys.modules["torch"].empty(size, dtype=torch_type, device=self.asked.device)
            return array.data_ptr(), array
        array = DeviceArray(size, dtype, self.device, self.order or _LEGACY)
        return array.pointer, array

    def __enter__(self) -> "_Call":
        return self

    def __exit__(self, *error: Any) -> None:
        """Orders the streams of the arguments behind the call, also behind one that failed after it enqueued work."""
        order: int = self.order or _LEGACY
        waits = self.kind not in ("cupy", "torch", "host")
        for array in self.arrays:
            if array.library == "own":
                self.kept.append(array.owner)
            elif array.library == "other":
                waits = True  # its library does not know of our stream
            elif array.stream is not None and array.stream != order:
                _core.device_order(self.device, array.stream, order)
        if self.kept and order != _LEGACY:
            _core.device_order(self.device, _LEGACY, order)  # which frees the copies
        if waits:
            _core.device_synchronize(self.device, order)

    def answer(self, array: Any) -> Any:
        if self.kind == "host":
            return _to_host(self.device, array.pointer, array.size, array.dtype, self.order or _LEGACY)
        if self.kind == "other":
            namespace = getattr(self.asked, "__array_namespace__", None)
            if namespace is not None:
                return namespace().from_dlpack(array)
        return array


def _is_plain(source: Any, dtype: Any, are_keys: bool) -> bool:
    """A NumPy array that needs no conversion. NaT among queries matches nothing, unlike the number that it is."""
    if type(source) is not np.ndarray or source.ndim != 1 or source.dtype != dtype:
        return False
    if not (source.flags.c_contiguous and source.flags.aligned and source.dtype.isnative):
        return False
    return not are_keys or dtype.kind not in "mM" or not np.isnat(source).any()


def _refuse_mixed(sources: tuple[tuple[Any, Any, str], ...]) -> None:
    there = next(what for source, _, what in sources if is_on_gpu(source))
    here = next(what for source, _, what in sources if not is_on_gpu(source))
    raise TypeError(f"{there} is on a GPU, and {here} is not: {_HINT}.")


class _Base:
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

    def _begin(self, *sources: tuple[Any, Any, str]) -> _Call | None:
        """None for what is neither an array on the GPU nor a plain one in host memory."""
        on_gpu = [is_on_gpu(source) for source, _, _ in sources]
        if all(on_gpu):
            call = _Call(self.device, self._stream)
            call.read_gpu(sources)
        elif any(on_gpu):
            _refuse_mixed(sources)
            return None
        elif all(_is_plain(source, dtype, what != "values") for source, dtype, what in sources):
            call = _Call(self.device, self._stream)
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

    def _ends(self, lo: Any, hi: Any) -> _Call | None:
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
        array = _read_array(other, what, None)
        order = array.stream or _LEGACY
        repeated = _to_device(self.device, np.repeat(read.values, array.size), order)
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


# ---- index ----------------------------------------


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


def _columns_call(keys: Any, values: Any, device: Any, stream: Any) -> tuple[int, _Call, np.dtype, np.dtype | None]:
    """Keys and values of a build in the memory of the device."""
    if not is_on_gpu(keys):
        ordinal = ordinal_of(device)
        if values is not None and is_on_gpu(values):
            raise TypeError(f"values is on a GPU, and keys is not: {_HINT}.")
        arrays = [array for array in _host_columns(((keys, "keys"), (values, "values"))) if array is not None]
        open_device(ordinal)
        call = _Call(ordinal, stream)
        call.read_host(tuple(arrays))
        dtypes = [array.dtype for array in arrays]
    else:
        if values is not None and not is_on_gpu(values):
            raise TypeError(f"keys is on a GPU, and values is not: {_HINT}.")
        place = _read_array(keys, "keys", _LEGACY).device
        asked = place if device is None else ordinal_of(device)
        if device is not None and (asked == -1 or place is not None and asked != place):
            raise ValueError(f"keys is on {name_of(place or 0)}, and device is {device!r}: {_HINT}.")
        ordinal = asked if asked is not None else -1 if host_is_a_gpu else 0  # an empty array may be nowhere
        open_device(ordinal)
        call = _Call(ordinal, stream)
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


def _example(dtype: np.dtype | None) -> np.ndarray | None:
    return None if dtype is None else np.empty(0, dtype)


class GpuIndex(_Base):
    __slots__ = ()

    @classmethod
    def build(cls, keys: Any, values: Any, keep: Any, device: Any, stream: Any) -> "GpuIndex":
        ordinal, call, dtype, value_dtype = _columns_call(keys, values, device, stream)
        pointers = (*call.pointers, 0)
        with call:
            tree = _core.DeviceIndex(
                ordinal, _example(dtype), pointers[0], call.sizes[0], _example(value_dtype), pointers[1], 0, 0, keep,
                call.order,
            )
        return cls()._set(tree, ordinal)

    @classmethod
    def of_parts(cls, keys: Any, values: Any, rows: Any, keep: Any, device: int) -> "GpuIndex":
        """Keys in order, their values and their rows, all in host memory."""
        open_device(device)
        arrays = [None if part is None else np.ascontiguousarray(part) for part in (keys, values, rows)]
        placed = [None if array is None else _to_device(device, array, _LEGACY) for array in arrays]
        pointers = [0 if array is None else array.pointer for array in placed]
        width = 0 if arrays[2] is None else arrays[2].itemsize
        tree = _core.DeviceIndex(
            device, _example(arrays[0].dtype), pointers[0], len(keys),  # type: ignore[union-attr]
            _example(None if arrays[1] is None else arrays[1].dtype), pointers[1], pointers[2], width, keep, _LEGACY,
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
        starts = DeviceArray(n, np.uint64, self.device, c.order or _LEGACY)
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
            self._tree.at(_example(dtype), c.pointers[0], n, to_keys, to_rows, c.order)
        return c.answer(keys), c.answer(rows)


# ---- map ----------------------------------------


class GpuMap(_Base):
    __slots__ = ()

    @classmethod
    def of_parts(cls, keys: Any, values: Any, device: int) -> "GpuMap":
        open_device(device)
        arrays = [np.ascontiguousarray(part) for part in (keys, values) if part is not None]
        placed = [_to_device(device, array, _LEGACY) for array in arrays]
        tree = _core.DeviceMap(
            device, _example(arrays[0].dtype), placed[0].pointer, len(keys),
            _example(None if values is None else arrays[1].dtype), 0 if values is None else placed[1].pointer, _LEGACY,
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
        self._take(found, keys.pointer, 0 if values is None else values.pointer, _LEGACY)
        tree = _core.DeviceIndex(
            self.device, _example(self.dtype), keys.pointer, total, _example(self.value_dtype),
            0 if values is None else values.pointer, 0, 0, keep, _LEGACY,
        )
        return GpuIndex()._set(tree, self.device)

    def _take(self, found: Any, keys: int, values: int, order: Any) -> None:
        width = 0 if self.value_dtype is None else self.value_dtype.itemsize
        found.take(keys, self.dtype.itemsize, values, width, order)

    def _write(self, call: Any, keys: Any, values: Any, answers: bool) -> Any:
        has_values = values is not None and self.value_dtype is not None
        sources = [(keys, self.dtype, "keys")]
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
        sources = [(keys, self.dtype, "keys")]
        if values is not None:
            sources.append((values, self.value_dtype, "values"))
        c = self._begin(*sources)
        if c is None:
            raise TypeError("keys and values must be arrays of the types of the map.")
        n = c.sizes[0]
        if len(codes) != n:
            raise ValueError(f"operations has {len(codes)} elements, and keys has {n}: both must have the same length.")
        order = c.order or _LEGACY
        ops = _to_device(self.device, codes, order)
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
