"""Threads, the GIL, fork, pickling, files, memory, imports."""

import copy
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import espalier as es


@pytest.fixture(scope="module")
def large():
    keys = np.random.default_rng(0).integers(0, 2**40, 400_000)
    return keys, es.Index(keys, keys.astype("f8"), keep="all")


def test_two_threads_at_once(large):
    keys, ix = large
    expected = ix.get_indexer(keys)
    failures = []

    def ask(part):
        for _ in range(5):
            if (ix.get_indexer(keys[part]) != expected[part]).any() or es.Index(keys[part]).find(keys[part][:1]) != 0:
                failures.append(part)

    threads = [threading.Thread(target=ask, args=(slice(i * 1000, 200_000 + i * 1000),)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def _bulk_calls():
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**40, 1_000_000)
    ix, m = es.Index(keys[:400_000]), es.SortedMap("i8", "i8")
    times = np.sort(keys)
    left, right = {"t": times, "v": times}, es.prepare({"t": times, "w": times}, on="t")
    return {
        "searchsorted": lambda: ix.searchsorted(keys),
        "build": lambda: es.Index(keys, keys, keep="all"),
        "update": lambda: m.update(keys, keys),
        "discard": lambda: m.discard(keys),
        "join_asof": lambda: es.join_asof(left, right, on="t"),
        "join_window": lambda: es.join_window(left, right, on="t", window=(-9, 9), agg={"w": "sum"}),
    }


@pytest.fixture(scope="module")
def bulk_calls():
    return _bulk_calls()


@pytest.mark.parametrize("name", ["searchsorted", "build", "update", "discard", "join_asof", "join_window"])
def test_bulk_calls_release_the_gil(bulk_calls, name):
    """While a bulk call runs, another thread of the interpreter makes steps."""
    call = bulk_calls[name]
    steps, running = [0], threading.Event()
    stop = threading.Event()

    def count():
        running.set()
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)  # gives the GIL away

    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread gives the GIL away by itself only
    try:
        other.start()
        running.wait()
        for _ in range(100):  # a busy machine may not run the other thread during one call
            before = steps[0]
            call()
            during = steps[0] - before
            if during > 0:
                break
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        other.join()
    assert during > 0


def test_fork(large):
    """A child of fork() has no worker threads of its parent: its calls must end all the same."""
    keys, ix = large
    expected = ix.get_indexer(keys)
    numbers, words = es.SortedMap("i8", "i8", (keys, keys)), es.SortedMap("str", "i8", {"a": 1, "b": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a process with threads forks
        child = os.fork()
    if child == 0:
        ok = (ix.get_indexer(keys) == expected).all() and (es.Index(keys).find(keys[:2]) == expected[:2]).all()
        numbers[5], words["c"] = 6, 3
        ok = ok and numbers[5] == 6 and (numbers.find(keys) == keys).all() and list(words) == ["a", "b", "c"]
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (ix.get_indexer(keys) == expected).all() and list(words) == ["a", "b"] and 5 not in numbers


@pytest.mark.parametrize(
    "index",
    [
        es.Index([3, 1, 2, 1]),
        es.Index(np.arange(5)),
        es.Index([3, 1, 2], values=np.array([1, 2, 3]).view("M8[s]"), keep="min,max"),
        es.Index([]),
        es.Index(np.array([1.0, np.nan, -0.0])),
        es.Index(["b", "a", "b", ""], values=[1, 2, 3, 4], keep="sum"),
        es.Index([b"x"]),
    ],
    ids=repr,
)
def test_pickle_copy_and_files(index, tmp_path):
    index.save(tmp_path / "x.espalier")
    index.save(tmp_path / "x.espalier")  # over itself
    opened = es.open(tmp_path / "x.espalier")
    for other in (
        pickle.loads(pickle.dumps(index)),
        copy.deepcopy(index),
        opened,
        es.open(tmp_path / "x.espalier", verify=False),
    ):
        assert repr(other) == repr(index) and len(other) == len(index)
        keys, rows = index.at(range(len(index)))
        np.testing.assert_array_equal(other.at(range(len(index)))[0], keys)
        np.testing.assert_array_equal(other.at(range(len(index)))[1], rows)
        np.testing.assert_array_equal(other.get_indexer(keys), index.get_indexer(keys))
        if index.value_dtype is not None:
            np.testing.assert_array_equal(other.find(keys), index.find(keys))
    assert os.listdir(tmp_path) == ["x.espalier"]


@pytest.mark.parametrize("by", [None, "g"])
def test_pickled_prepared_sides(by, tmp_path):
    quotes = {"t": np.array([1, 5, 3]), "g": ["a", "b", "a"], "p": np.array([0.5, 1.5, 2.5])}
    trades = {"t": np.array([4, 9]), "g": ["a", "b"]}
    prepared = es.prepare(quotes, on="t", by=by)
    prepared.append({"t": np.array([7]), "g": ["b"], "p": np.array([3.5])})
    prepared.save(tmp_path / "quotes")
    expected = es.join_asof(trades, prepared, on="t", by=by)["p"]
    for side in (prepared, es.open_prepared(tmp_path / "quotes")):
        for other in (pickle.loads(pickle.dumps(side)), copy.deepcopy(side), copy.copy(side)):
            np.testing.assert_array_equal(es.join_asof(trades, other, on="t", by=by)["p"], expected)
            other.append({"t": np.array([8]), "g": ["b"], "p": np.array([4.5])})
            assert (len(other), len(side)) == (5, 4)


def test_damaged_files(tmp_path):
    path = tmp_path / "x"
    es.Index(np.arange(1000)[::-1], values=np.arange(1000)).save(path)
    good = path.read_bytes()
    for at in (0, 9, 30, 200, len(good) - 70):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        with pytest.raises(ValueError, match="damaged|not an index"):
            es.open(path)
    for n in (0, 5, 16, 100, len(good) - 1000):
        path.write_bytes(good[:n])
        with pytest.raises(ValueError, match="damaged|not an index|truncated"):
            es.open(path)
    with pytest.raises(FileNotFoundError):
        es.open(tmp_path / "none")
    with pytest.raises(OSError):
        es.Index([1]).save(tmp_path / "no" / "folder")


def test_rows_stay_mapped(tmp_path):
    es.Index(np.arange(100_000)[::-1].copy()).save(tmp_path / "x")
    opened = es.open(tmp_path / "x")
    rows = opened._tree.parts()[2]
    with open("/proc/self/maps") as maps:
        spans = [line.split() for line in maps if line.rstrip().endswith("/x")]
    ends = [tuple(int(end, 16) for end in span[0].split("-")) for span in spans]
    assert any(low <= rows.ctypes.data < high for low, high in ends)


def test_no_growth_of_memory():
    keys = np.arange(1000)
    words = [str(i) for i in range(50)]
    text = es.Index(words)
    ix = es.Index(keys[::-1], values=keys, keep="all")
    m = es.SortedMap("i8", "i8", (keys, keys))
    small = keys[:20].astype("i4")
    sites = es.SortedMap("str", "i8", (words, keys[:50]))

    def calls(i):
        ix.find(keys[:10]), ix.find(3), ix.asof(keys[:10]), m.find(keys[:10]), m.update(keys[:2], keys[:2])
        if i % 10 == 0:
            ix.range(keys[:5], keys[5:10]), ix.sum(small, small), ix.get_indexer([1, None]), text.get_indexer(words)
            text.prefix("1"), m.peekitem(), sites.prefix("1"), sites.sum_prefix(["1", "2"]), sites.peekitem()
            sites.update(words[:3], [1, 2, 3]), sites.discard("7"), sites.insert("7", 7), list(sites.irange("1", "3"))
            m.apply(["find", "update"], [1, 2], [3, 4]), sites.longest_prefix(words), sites.snapshot()
            m.searchsorted(3), es.Index(keys[::-1]), ix._tree.parts(), m.range(0, 50)
            with pytest.raises(KeyError):
                ix.find([-1])

    assert growth_of_memory(calls) < 4 << 20


def test_joins_do_not_grow_memory(tmp_path):
    times = np.arange(20)
    quotes = {"t": times, "g": [str(i % 3) for i in times], "p": times / 2}
    trades = {"t": times + 1, "g": quotes["g"]}
    spans = {"start": times, "finish": times + 3}
    prepared = es.prepare(quotes, on="t", by="g")
    prepared.save(tmp_path / "quotes")

    def calls(i):
        es.join_asof(trades, prepared, on="t", by="g")
        if i % 50 == 0:
            es.join_asof(trades, quotes, on="t", by="g")
            es.join_window(trades, prepared, on="t", by="g", window=(-3, 3), agg={"p": ["mean", "max"]})
            es.join_between(quotes, spans, "t", "start", "finish")
            es.join_overlaps(spans, spans, "start", "finish")
            es.join_asof(trades, es.open_prepared(tmp_path / "quotes"), on="t", by="g")

    assert growth_of_memory(calls) < 4 << 20


def growth_of_memory(calls):
    """Bytes by which 10,000 calls make the process larger."""

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    for i in range(2000):
        calls(i)
    before = resident()
    for i in range(10_000):
        calls(i)
    return resident() - before


def test_import_needs_neither_pandas_nor_pyarrow():
    code = (
        "import sys; import espalier as es; import numpy as np\n"
        "ix = es.Index(np.arange(10)); assert ix.find([3]).tolist() == [3]\n"
        "bad = {'pandas', 'pyarrow', 'polars'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
