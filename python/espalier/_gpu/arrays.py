"""Arrays in the memory of a GPU: of CuPy, of torch, by __cuda_array_interface__, by DLPack, and our own."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._arguments import CUDA_MEMORY
from . import devices
from .devices import LEGACY_STREAM, name_of, open_device


class Array(NamedTuple):
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


def _read_cupy(source: Any, what: str) -> Array:
    cupy = sys.modules["cupy"]
    _refuse_dimensions(source.ndim, what)
    device = source.device.id
    stream = cupy.cuda.get_current_stream(device).ptr or LEGACY_STREAM
    return Array(source.data.ptr, source.size, source.strides[0], source.dtype, device, stream, "cupy", source)


_torch_types: dict[Any, np.dtype] = {}  # of torch's dtypes, and by the names of NumPy's


def torch_dtypes() -> dict[Any, Any]:
    if not _torch_types:
        torch = sys.modules["torch"]
        names = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64"
        for name in names.split():
            if hasattr(torch, name):  # the unsigned ones beyond uint8 are new
                _torch_types[getattr(torch, name)] = np.dtype(name)
                _torch_types[name] = getattr(torch, name)
    return _torch_types


def _read_torch(source: Any, what: str) -> Array:
    torch = sys.modules["torch"]
    _refuse_dimensions(source.dim(), what)
    dtype = torch_dtypes().get(source.dtype)
    if dtype is None:
        raise TypeError(f"{what} has dtype {source.dtype}: integers, float32, float64 and bool are taken on a GPU.")
    if source.layout != torch.strided:
        raise TypeError(f"{what} has the layout {source.layout}: a dense array is needed.")
    if source.is_neg():
        source = source.resolve_neg()
    device = source.device.index
    stream = torch.cuda.current_stream(device).cuda_stream or LEGACY_STREAM
    stride = source.stride(0) * dtype.itemsize
    return Array(source.data_ptr(), source.numel(), stride, dtype, device, stream, "torch", source)


def _read_interface(source: Any, what: str) -> Array:
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
    if device is not None and device < 0 and not devices.host_is_a_gpu:
        open_device(0)  # says why, if no GPU can be used
        raise ValueError(f"{what} gives an address that is not in the memory of a GPU.")
    stride = dtype.itemsize if strides is None else int(strides[0])
    return Array(pointer, int(shape[0]), stride, dtype, device, stream, "other", (source, interface))


_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # of DLPack
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def _read_dlpack(source: Any, what: str, order: int) -> Array:
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
    return Array(tensor.pointer, shape[0], stride, dtype, device if shape[0] else None, None, "other", tensor)


def read_array(source: Any, what: str, order: int | None) -> Array:
    library = type(source).__module__.partition(".")[0]
    if library == "cupy":
        return _read_cupy(source, what)
    if library == "torch":
        return _read_torch(source, what)
    if isinstance(source, DeviceArray):
        device = source._device if source.size else None
        return Array(source.pointer, source.size, source.dtype.itemsize, source.dtype, device, None, "own", source)
    if getattr(source, "__cuda_array_interface__", None) is not None:
        return _read_interface(source, what)
    return _read_dlpack(source, what, order or LEGACY_STREAM)


class DeviceArray:
    """An answer in the memory of a GPU for a library whose arrays espalier cannot allocate; it has
    __cuda_array_interface__ and DLPack, by which other libraries read it without a copy."""

    __slots__ = ("_memory", "dtype", "size", "_device")

    def __init__(self, size: int, dtype: Any, device: int, stream: int = LEGACY_STREAM) -> None:
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
        return to_host(self._device, self.pointer, self.size, self.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a copy to the host is needed.")
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype, copy=False)


def to_host(device: int, pointer: int, size: int, dtype: np.dtype, order: int = LEGACY_STREAM) -> np.ndarray:
    values = np.empty(size, dtype)
    _core.device_copy(device, values.ctypes.data, pointer, values.nbytes, order, True)
    return values


def to_device(device: int, values: np.ndarray, order: int) -> DeviceArray:
    array = DeviceArray(len(values), values.dtype, device, order)
    _core.device_copy(device, array.pointer, values.ctypes.data, values.nbytes, order, False)
    return array
