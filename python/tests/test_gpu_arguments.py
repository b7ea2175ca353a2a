"""Arguments and answers of indexes on a GPU, on machines without one: device -1 is the CPU, and objects with
__cuda_array_interface__ or DLPack are in host memory. test_gpu.py runs the same tests on a GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

import espalier as es
from espalier import _core, _gpu
from espalier._gpu import arrays, devices
from gpu_cases import DLPack, HostInterface, Interface, same
from gpu_properties import OnGpu


@pytest.fixture
def host_is_a_gpu(monkeypatch):
    monkeypatch.setattr(devices, "host_is_a_gpu", True)
    ordinal_of = devices.ordinal_of
    monkeypatch.setattr(devices, "ordinal_of", lambda device: -1 if device == "cuda" else ordinal_of(device))


@pytest.mark.usefixtures("host_is_a_gpu")
class TestInHostMemory(OnGpu):
    @pytest.fixture
    def library(self):
        return HostInterface()

    @staticmethod
    def new_map(key, value):
        return es.SortedMap(key, value, device="cuda")

    def test_build_from_the_host(self):
        ix = es.Index(np.array([3, 1, 2]), values=[1.0, 2.0, 3.0], device="cuda")
        assert ix.device == "cuda:-1" and ix.find(1) == 2.0
        times = np.array(["2026-01-02", "2026-01-01"], "M8[D]")
        dates = es.Index(times, device="cuda")
        assert dates.get_indexer(np.datetime64("2026-01-01T00", "h")) == 1
        assert dates.searchsorted(np.array(["NaT"], "M8[D]"))[0] == 2
        with pytest.raises(ValueError, match="keys: row 1 is NaT"):
            es.Index(np.array(["2026-01-02", "NaT"], "M8[D]"), device="cuda")
        with pytest.raises(ValueError, match="keys: row 0 is NULL"):
            es.Index([None, 1], device="cuda")
        with pytest.raises(TypeError, match="str"):
            es.Index(["a", "b"], device="cuda")
        with pytest.raises(TypeError, match="text"):
            es.SortedMap("str", device="cuda")

    def test_dlpack_answers(self):
        ix = es.Index(np.arange(10), device="cuda")
        found = ix.contains(HostInterface().put(np.array([3, 30])))
        same(np.from_dlpack(found), np.array([True, False]))
        same(np.asarray(found), np.array([True, False]))
        assert found.shape == (2,) and len(found) == 2 and found.ndim == 1
        with pytest.raises(BufferError):
            found.__dlpack__(copy=True)

    def test_library_by_namespace(self):
        """An array of the Python array API standard is answered by its library."""

        class Namespace:
            from_dlpack = staticmethod(np.from_dlpack)

        array = HostInterface().put(np.array([3, 30]))
        array.__array_namespace__ = lambda: Namespace
        assert type(es.Index(np.arange(10), device="cuda").contains(array)) is np.ndarray

    def test_interface_that_is_not_taken(self):
        keys = np.arange(4)
        ix = es.Index(keys, device="cuda")
        with pytest.raises(ValueError, match="stream 0"):
            ix.contains(Interface(keys.ctypes.data, (4,), "i8", stream=0))
        masked = Interface(keys.ctypes.data, (4,), "i8")
        masked.__cuda_array_interface__["mask"] = masked
        with pytest.raises(TypeError, match="mask"):
            ix.contains(masked)
        for dtype in ("f2", "c8", ">i4", "M8[s]"):
            with pytest.raises(TypeError, match="dtype"):
                ix.contains(Interface(keys.ctypes.data, (2,), dtype))
        for dtype in ("f2", "c8", ">i4"):
            with pytest.raises(TypeError, match="keys has dtype"):
                es.Index(Interface(keys.ctypes.data, (2,), dtype))
        misaligned = Interface(keys.ctypes.data + 1, (3,), "i8")
        ix.contains(misaligned)  # copied
        with pytest.raises(ValueError, match="aligned"):
            ix.contains(Interface(keys.ctypes.data + 1, (2,), "i8", strides=(9,)))
        broadcast = Interface(keys.ctypes.data, (4,), "i8", strides=(0,), read_only=True)
        same(ix.get_indexer(broadcast).to_numpy(), np.zeros(4, "i8"))

    def test_dlpack_asks_for_our_stream(self, monkeypatch):
        monkeypatch.setattr(arrays, "CUDA_MEMORY", (1,))
        import espalier._arguments

        monkeypatch.setattr(espalier._arguments, "CUDA_MEMORY", (1,))
        read = arrays._read_dlpack
        monkeypatch.setattr(arrays, "_read_dlpack", lambda *a: read(*a)._replace(device=-1))
        ix = es.Index(np.arange(10), device="cuda")
        array = DLPack(np.array([3, 30, 4])[::2], device=(1, 0))
        same(ix.contains(array).to_numpy(), np.array([True, True]))
        assert array.streams == [1]
        array = DLPack(np.array([3, 30, 4]), device=(1, 0))
        ix.contains(array, stream=77)
        assert array.streams == [77]
        with pytest.raises(ValueError, match="2 dimensions"):
            ix.contains(DLPack(np.zeros((2, 2)), device=(1, 0)))


def test_streams():
    class Cupy:
        ptr = 0

    class Torch:
        cuda_stream = 1234
        device_index = 1

    class Protocol:
        def __cuda_stream__(self):
            return (0, 99)

    assert [devices.handle_of(s, 1) for s in (Cupy(), Torch(), Protocol(), 0, 2, np.int64(7))] == [1, 1234, 99, 1, 2, 7]
    with pytest.raises(ValueError, match="cuda:1.*cuda:0"):
        devices.handle_of(Torch(), 0)
    for wrong in (-1,):
        with pytest.raises(ValueError):
            devices.handle_of(wrong, 0)
    with pytest.raises(TypeError):
        devices.handle_of(True, 0)


def test_devices():
    class Torch:
        type, index = "cuda", 2

    class Cupy:
        id = 3

    assert [devices.ordinal_of(d) for d in ("cuda", "cuda:1", "cpu", 4, Torch(), Cupy())] == [0, 1, -1, 4, 2, 3]
    for wrong in ("gpu", "cuda:", "cuda:x", -1, None, True):
        with pytest.raises(ValueError, match="device"):
            devices.ordinal_of(wrong)


def no_gpu():
    try:
        _core.open_device(0)
    except (ValueError, RuntimeError):
        return True
    return False


@pytest.mark.skipif(not no_gpu(), reason="there is a GPU")
def test_without_a_gpu():
    keys = HostInterface().put(np.arange(3))
    for build in (
        lambda: es.Index(np.arange(3), device="cuda"),
        lambda: es.Index(keys),
        lambda: es.SortedMap("i8", device="cuda"),
    ):
        with pytest.raises((ValueError, RuntimeError), match="cuda:0 cannot be used: .*(GPU|driver)"):
            build()
    with pytest.raises(TypeError, match="memory of a GPU"):
        es.Index(np.arange(3)).contains(keys)


def test_import_takes_no_library_of_arrays():
    code = (
        "import espalier, sys; espalier.Index([1]); "
        "print([m for m in ('cupy', 'torch', 'espalier._gpu') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "[]", done.stderr
