"""Arrays on a GPU for test_gpu.py, and in host memory that look like it for test_gpu_arguments.py."""

import ctypes

import numpy as np

import espalier as es


class Interface:
    """An array with __cuda_array_interface__ and nothing else, over memory that `owner` keeps."""

    def __init__(self, pointer, shape, dtype, strides=None, stream=None, read_only=False, owner=None):
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "data": (pointer, read_only),
            "version": 3,
            "strides": strides,
            "stream": stream,
        }


class DLPack:
    """An array with DLPack and nothing else."""

    def __init__(self, source, device=None):
        self.source, self.device, self.streams = source, device, []

    def __dlpack_device__(self):
        return self.source.__dlpack_device__() if self.device is None else self.device

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        if self.device is None:
            return self.source.__dlpack__(stream=stream, **options)
        return self.source.__dlpack__(**options)


class Library:
    """How arrays of one library are made and read. `kind` is the class of the answers."""

    name = ""
    dtypes = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?")

    def put(self, array):
        raise NotImplementedError

    def get(self, array):
        assert isinstance(array, self.kind), f"answer of type {type(array)}, not {self.kind}"
        return self.read(array)

    def read(self, array):
        return array.to_numpy()

    @property
    def kind(self):
        from espalier import _gpu

        return _gpu.DeviceArray


class HostInterface(Library):
    name = "interface"

    def put(self, array):
        return Interface(array.ctypes.data, array.shape, array.dtype, array.strides, owner=array)


class Cupy(Library):
    name = "cupy"

    def __init__(self):
        import cupy

        self.cupy = cupy

    @property
    def kind(self):
        return self.cupy.ndarray

    def put(self, array):
        if array.ndim == 1 and array.size > 1 and array.strides[0] != array.itemsize:  # the same layout
            step = array.strides[0] // array.itemsize
            whole = self.cupy.zeros(array.size * abs(step), dtype=array.dtype)
            view = whole[::step][: array.size]
            view[:] = self.cupy.asarray(np.ascontiguousarray(array))
            return view
        return self.cupy.asarray(array)

    def read(self, array):
        return self.cupy.asnumpy(array)


class Torch(Library):
    name = "torch"

    def __init__(self):
        import torch

        self.torch = torch
        self.dtypes = tuple(
            name for name in Library.dtypes if hasattr(torch, np.dtype(name).name) and np.dtype(name).name != "bool_"
        )

    @property
    def kind(self):
        return self.torch.Tensor

    def put(self, array):
        if array.ndim == 1 and array.size > 1 and array.strides[0] != array.itemsize:
            step = max(1, array.strides[0] // array.itemsize)  # torch has no negative strides
            whole = np.zeros(array.size * step, dtype=array.dtype)
            whole[::step] = array
            return self.torch.from_numpy(whole).cuda()[::step]
        return self.torch.from_numpy(np.array(array, order="C")).cuda()

    def read(self, array):
        assert array.is_cuda
        return array.cpu().numpy()


class CupyInterface(Library):
    """CuPy's memory behind the bare interface."""

    name = "interface"

    def __init__(self):
        self.cupy = Cupy()

    def put(self, array):
        a = self.cupy.put(array)
        self.cupy.cupy.cuda.get_current_stream().synchronize()
        return Interface(a.data.ptr, a.shape, a.dtype, a.strides, stream=1, owner=a)


class CupyDLPack(Library):
    name = "dlpack"

    def __init__(self):
        self.cupy = Cupy()

    def put(self, array):
        return DLPack(self.cupy.put(array))


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, f"{a.dtype} and {b.dtype}"
    np.testing.assert_array_equal(a, b)


def keys_of(dtype, n, seed=1, sorted_=False):
    """Keys with duplicates, and the special values of floats."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        keys = random.integers(0, 2, n).astype(bool)
    elif dtype.kind == "f":
        keys = random.integers(-200, 200, n).astype(dtype) / 4
        if n > 10:
            keys[:4] = [np.inf, -np.inf, -0.0, np.nan]
    else:
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -300), min(limits.max, 300)
        keys = random.integers(low, high + 1, n).astype(dtype)
        if n > 10:
            keys[:2] = [limits.min, limits.max]
    return np.sort(keys) if sorted_ else keys


def pair(library, keys, values=None, keep=None, **options):
    """The index on the GPU and the one on the CPU."""
    device = es.Index(library.put(keys), values=None if values is None else library.put(values), keep=keep, **options)
    assert device.device != "cpu"
    return device, es.Index(keys, values=values, keep=keep)


def check_points(library, ix, cpu, queries):
    q = library.put(queries)
    for side in ("left", "right"):
        same(library.get(ix.searchsorted(q, side=side)), cpu.searchsorted(queries, side=side))
    same(library.get(ix.get_indexer(q)), cpu.get_indexer(queries))
    same(library.get(ix.contains(q)), cpu.contains(queries))
    same(library.get(ix.find(q, default=7)), cpu.find(queries, default=7))
    for name in ("successor", "predecessor"):
        keys, rows, ok = map(library.get, getattr(ix, name)(q))
        expected_keys, expected_rows, expected_ok = getattr(cpu, name)(queries)
        same(ok, expected_ok)
        same(rows, expected_rows)
        same(keys[ok], expected_keys[ok])
    for direction in ("backward", "forward", "nearest"):
        for exact in (True, False):
            for tolerance in (None, 3):
                if queries.dtype.kind == "b" and tolerance is not None:
                    continue
                options = dict(direction=direction, tolerance=tolerance, allow_exact_matches=exact)
                rows, ok = map(library.get, ix.asof(q, **options))
                expected_rows, expected_ok = cpu.asof(queries, **options)
                same(ok, expected_ok)
                same(rows, expected_rows)


def check_ranges(library, ix, cpu, lo, hi):
    a, b = library.put(lo), library.put(hi)
    for closed in ("both", "left", "right", "neither"):
        same(library.get(ix.count(a, b, closed)), cpu.count(lo, hi, closed))
        for limit in (None, 3, 0):
            offsets, rows = map(library.get, ix.range(a, b, closed, limit))
            expected_offsets, expected_rows = cpu.range(lo, hi, closed, limit)
            same(offsets, expected_offsets)
            same(rows, expected_rows)
        for name in ("sum", "avg", "min", "max"):
            options = dict(default=1) if name in ("min", "max") else {}
            same(
                library.get(getattr(ix, name)(a, b, closed, **options)),
                getattr(cpu, name)(lo, hi, closed, **options),
            )


def pointer_of(array):
    return ctypes.c_void_p(array.ctypes.data)
