"""Indexes and maps on a GPU, with arrays of CuPy, torch, DLPack and __cuda_array_interface__.

Skipped, with the reason, where there is no GPU, no GPU code in this build, or not the library; with
ESPALIER_REQUIRE_GPU=1 that is a failure."""

import gc
import os
import pickle
import threading

import numpy as np
import pytest

import espalier as es
from espalier import _core
from gpu_cases import Cupy, CupyDLPack, CupyInterface, Interface, Torch, same
from gpu_properties import OnGpu


def missing(reason):
    if os.environ.get("ESPALIER_REQUIRE_GPU") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def need_gpu():
    try:
        _core.open_device(0)
    except (ValueError, RuntimeError) as error:
        missing(f"no GPU: {error}")


def new_library(make):
    need_gpu()
    try:
        return make()
    except ImportError as error:
        missing(f"no library of arrays: {error}")


@pytest.fixture
def cupy():
    return new_library(Cupy).cupy


@pytest.fixture
def torch():
    library = new_library(Torch)
    if not library.torch.cuda.is_available():
        missing("torch has no CUDA")
    return library.torch


class TestOnGpu(OnGpu):
    @pytest.fixture(params=[Cupy, Torch, CupyInterface, CupyDLPack], ids=["cupy", "torch", "interface", "dlpack"])
    def library(self, request):
        return new_library(request.param)

    @staticmethod
    def new_map(key, value):
        return es.SortedMap(key, value, device="cuda")


# ---- many elements ----


def test_many_elements(cupy):
    """Large enough for every plan of a batch, and several pieces of a copy."""
    n = 1 << 22
    random = np.random.default_rng(3)
    keys = random.integers(0, 1 << 32, n, dtype="u4")
    values = random.integers(0, 1 << 32, n, dtype="u4")
    ix = es.Index(cupy.asarray(keys), values=cupy.asarray(values))
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    queries = np.concatenate([random.choice(keys, n), random.integers(0, 1 << 32, n, dtype="u4")])
    q = cupy.asarray(queries)
    ranks = np.searchsorted(in_order, queries)
    same(cupy.asnumpy(ix.searchsorted(q)), ranks)
    known = in_order[np.minimum(ranks, n - 1)] == queries
    same(cupy.asnumpy(ix.contains(q)), known)
    rows = np.where(known, order[np.minimum(ranks, n - 1)], -1)
    same(cupy.asnumpy(ix.get_indexer(q)), rows)
    same(cupy.asnumpy(ix.find(q, default=9)), np.where(known, values[rows], 9).astype("u4"))
    same(ix.find(queries, default=9), np.where(known, values[rows], 9).astype("u4"))
    same(cupy.asnumpy(ix.find(q[:n])), values[rows[:n]])
    offsets, found = ix.range(cupy.asarray(keys[:1000]), cupy.asarray(keys[:1000] | np.uint32(0xFFFF)))
    assert int(offsets[-1]) == len(found)
    one = np.array([0], "u4"), np.array([2**32 - 1], "u4")  # one range with all elements
    same(cupy.asnumpy(ix.range(*map(cupy.asarray, one))[1]), order)


def test_large_map(cupy):
    n = 1 << 20
    random = np.random.default_rng(4)
    m = es.SortedMap("u8", "u8", device="cuda")
    keys = random.permutation(n).astype("u8") * 7
    m.update(cupy.asarray(keys), cupy.asarray(keys + 1))
    assert len(m) == n
    q = cupy.arange(7 * n, dtype="u8")
    same(cupy.asnumpy(m.contains(q)), np.arange(7 * n) % 7 == 0)
    same(cupy.asnumpy(m.find(cupy.asarray(keys))), keys + 1)
    done = m.discard(cupy.asarray(keys[: n // 2]))
    assert bool(done.all()) and len(m) == n - n // 2
    same(m.keys(), np.sort(keys[n // 2 :]))


# ---- memory and streams ----


def test_input_is_not_copied(cupy):
    """A build and a query of 256 MiB take no copy of them: of CuPy's pool only the answer."""
    keys = cupy.arange(1 << 26, dtype="u4")
    ix = es.Index(keys)
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    found = ix.contains(keys)
    assert pool.used_bytes() - before == found.nbytes
    assert bool(found.all())


def test_calls_do_not_grow_memory(cupy):
    keys = cupy.arange(1 << 16, dtype="f8")
    ix = es.Index(keys, values=keys, keep="all")
    m = es.SortedMap("f8", "f8", device="cuda")
    other = cupy.cuda.Stream(non_blocking=True)

    def calls(n):
        for i in range(n):
            ix.find(keys, default=0.0)
            ix.get_indexer(keys[::2])
            ix.contains(keys, stream=other if i % 3 == 0 else None)
            if i % 10 == 0:
                ix.sum(keys[:100], keys[100:200])
                ix.range(keys[:50], keys[50:100])
                ix.asof(keys[:1000])
                m.update(keys[: i % 1000], keys[: i % 1000])
                m.discard(keys[: i % 1000])
                ix.contains(np.arange(100.0))
                es.Index(keys[:1000])
        cupy.cuda.Device().synchronize()
        gc.collect()

    calls(1100)
    before = cupy.cuda.runtime.memGetInfo()[0]
    calls(10_000)
    after = cupy.cuda.runtime.memGetInfo()[0]
    assert before - after <= 2 << 20, f"{before - after} bytes"


def slow_keys(cupy, n=1 << 24):
    """Keys that take a while to compute, on the current stream."""
    keys = cupy.zeros(n, dtype="u8")
    for _ in range(50):
        keys += 1
    keys[:] = cupy.arange(n, dtype="u8") * 3
    return keys


def test_streams_of_cupy(cupy):
    expected = np.arange(1 << 24, dtype="u8") * 3
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with first:
        ix = es.Index(slow_keys(cupy))
    same(cupy.asnumpy(ix.at(cupy.arange(5))[0]), expected[:5])
    for stream in (None, second, second.ptr, 2, 0):
        with first:
            q = slow_keys(cupy)
            found = ix.contains(q, stream=stream)
            q += 1  # runs behind the call
            all_found = found.all()  # as does this
        first.synchronize()
        assert bool(all_found)
    with second:
        q = slow_keys(cupy)
        ranks = ix.searchsorted(q)
        total = ranks.sum()
    second.synchronize()
    assert int(total) == (1 << 24) * ((1 << 24) - 1) // 2
    # The memory of an index is freed behind calls that still run.
    for _ in range(20):
        with first:
            q = slow_keys(cupy, 1 << 22)
            short = es.Index(q)
            found = short.contains(q)
            del short
            other = es.Index(cupy.zeros(1 << 22, dtype="u8"))
            missing = (~found).sum()
        first.synchronize()
        assert int(missing) == 0
        del other
    del first, second  # before the indexes that they were used with
    assert bool(ix.contains(cupy.asarray(expected[:9])).all())


def test_streams_of_torch(torch):
    stream = torch.cuda.Stream()
    keys = torch.arange(1 << 22, device="cuda") * 3
    torch.cuda.synchronize()
    ix = es.Index(keys)
    with torch.cuda.stream(stream):
        q = keys.clone()
        for _ in range(30):
            q += 1
        q -= 30
        found = ix.contains(q)
        all_found = found.all()
    stream.synchronize()
    assert bool(all_found)
    q = keys.clone()
    found = ix.contains(q, stream=stream)
    q += 1
    assert bool(found.all())


def test_stream_of_the_interface(cupy):
    """Version 3 names the producer's stream, on which the work on the array has been enqueued."""
    stream = cupy.cuda.Stream(non_blocking=True)
    ix = es.Index(cupy.arange(1 << 24, dtype="u8") * 3)
    with stream:
        q = slow_keys(cupy)
    found = ix.contains(Interface(q.data.ptr, q.shape, q.dtype, stream=stream.ptr, read_only=True, owner=q))
    assert isinstance(found, type(ix.contains(Interface(q.data.ptr, q.shape, q.dtype, stream=1, owner=q))))
    assert bool(cupy.asarray(found).all())
    assert bool(cupy.from_dlpack(found).all())


def test_dlpack_of_answers(cupy, torch):
    ix = es.Index(cupy.arange(100))
    q = cupy.asarray([5, 500])
    found = ix.contains(Interface(q.data.ptr, q.shape, q.dtype, stream=1, owner=q))
    ranks = ix.searchsorted(Interface(q.data.ptr, q.shape, q.dtype, stream=1, owner=q))
    cupy.cuda.Device().synchronize()
    assert cupy.from_dlpack(found).get().tolist() == [True, False]
    assert torch.from_dlpack(ranks).cpu().tolist() == [5, 100]
    assert ranks.__dlpack_device__() == (2, 0) and ranks.device == "cuda:0"
    taken = torch.from_dlpack(ranks)
    del ranks, ix
    gc.collect()
    assert taken.cpu().tolist() == [5, 100]


def test_threads(cupy):
    keys = cupy.arange(1 << 20, dtype="u4")
    ix = es.Index(keys, values=keys)
    wrong = []

    def ask(seed):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            for i in range(50):
                q = (keys + cupy.uint32(seed + i)) % cupy.uint32(1 << 20)
                if not bool((ix.find(q) == q).all()):
                    wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(i * 1000,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- kinds of arrays ----


def test_both_libraries_ask_one_index(cupy, torch):
    ix = es.Index(cupy.arange(100), values=cupy.arange(100) * 2)
    assert isinstance(ix.find(cupy.asarray([3])), cupy.ndarray)
    answer = ix.find(torch.tensor([3, 4], device="cuda"))
    assert isinstance(answer, torch.Tensor) and answer.is_cuda and answer.dtype == torch.int64
    assert answer.tolist() == [6, 8]
    assert isinstance(ix.find(np.array([3])), np.ndarray) and ix.find(3) == 6
    offsets, rows = ix.range(torch.tensor([3], device="cuda"), torch.tensor([9], device="cuda"))
    assert (offsets.tolist(), rows.tolist()) == ([0, 7], list(range(3, 10)))
    keys, rows, ok = ix.successor(cupy.asarray([3]))
    assert all(isinstance(a, cupy.ndarray) for a in (keys, rows, ok))


def test_torch_tensors(torch):
    keys = torch.arange(10.0, device="cuda", requires_grad=True)
    ix = es.Index(keys)
    assert ix.contains(keys).all()
    with pytest.raises(TypeError, match="float16|half"):
        es.Index(torch.arange(10, device="cuda").half())
    with pytest.raises(TypeError, match="layout|dimensions"):
        ix.contains(torch.eye(3, device="cuda").to_sparse()[0])
    host = torch.arange(10.0)
    same(ix.contains(host), np.ones(10, bool))
    assert es.Index(host).device == "cpu"


def test_devices(cupy):
    assert es.Index(cupy.arange(3)).device == es.Index(np.arange(3), device="cuda").device == "cuda:0"
    assert es.Index(cupy.arange(3), device="cuda:0").device == "cuda:0"
    assert es.Index(np.arange(3), device=cupy.cuda.Device(0)).device == "cuda:0"
    count = cupy.cuda.runtime.getDeviceCount()
    with pytest.raises(ValueError, match=f"cuda:{count} cannot be used.*There is no GPU {count}"):
        es.Index(np.arange(3), device=count)
    with pytest.raises(ValueError, match="keys is on cuda:0, and device is 'cuda:1'"):
        es.Index(cupy.arange(3), device="cuda:1")
    with pytest.raises(ValueError, match="not in the memory of a GPU"):
        host = np.arange(3)
        es.Index(Interface(host.ctypes.data, (3,), "i8", owner=host))
    if count < 2:
        return
    with cupy.cuda.Device(1):
        q = cupy.arange(3)
    with pytest.raises(ValueError, match="queries is on cuda:1, and the index is on cuda:0"):
        es.Index(cupy.arange(3)).contains(q)


def test_times_and_open(cupy, tmp_path):
    times = np.arange("2026-01-01", "2026-03-01", dtype="M8[D]")
    ix = es.Index(times[::-1], device="cuda")
    assert ix.get_indexer(np.datetime64("2026-01-01T00", "h")) == len(times) - 1
    ix.save(tmp_path / "index")
    same(es.open(tmp_path / "index").get_indexer(times), ix.get_indexer(times))
    opened = es.open(tmp_path / "index", device="cuda")
    assert opened.device == "cuda:0"
    same(opened.get_indexer(times), ix.get_indexer(times))
    same(pickle.loads(pickle.dumps(ix)).get_indexer(times), ix.get_indexer(times))
    with pytest.raises(TypeError, match="datetime64"):
        ix.contains(cupy.arange(3))


def test_out_of_memory(cupy):
    free = cupy.cuda.runtime.memGetInfo()[1]
    with pytest.raises(MemoryError):
        _core.DeviceMemory(0, 2 * free, 1)
    ix = es.Index(cupy.arange(10))
    assert bool(ix.contains(cupy.arange(10)).all())
