"""What the router does with batches: divide them by shard, and pack the pieces into few arrays."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier import _core
from espalier.ray._keys import Positions
from espalier.ray._packing import pack, unpack


def plain(value):
    """Values that can be compared."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, pa.Array):
        return "arrow", str(value.type), value.to_pylist()
    if isinstance(value, pa.Table):
        return "table", value.schema, value.to_pylist()
    if isinstance(value, Positions):
        return "positions", plain(value.keys), plain(value.after)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [plain(one) for one in value]
    return value


def passed_on(values):
    buffers = []
    data = pickle.dumps(pack(values), protocol=5, buffer_callback=buffers.append)
    return unpack(pickle.loads(data, buffers=buffers)), len(data) + sum(len(one.raw()) for one in buffers)


numbers = st.lists(st.integers(0, 99), max_size=8)


@settings(max_examples=30)
@given(st.lists(st.tuples(numbers, st.booleans(), st.lists(st.binary(max_size=3), max_size=5)), min_size=1, max_size=6))
def test_values_come_back(rows):
    makers = (
        lambda n, flag, text: np.array(n, np.uint64),
        lambda n, flag, text: np.array(n, np.int64 if flag else object),
        lambda n, flag, text: pa.array(text, pa.large_binary() if flag else pa.binary()),
        lambda n, flag, text: pa.array([b"before", *text], pa.large_binary()).slice(1),
        lambda n, flag, text: pa.table({"n": pa.array(n, pa.int32())}),
        lambda n, flag, text: Positions(np.array(n, np.uint64), np.full(len(n), flag)),
        lambda n, flag, text: (np.array(n, np.int8), None, {"v": {"sum": np.array(n), "count": np.array(n)}}, ["sum"]),
        lambda n, flag, text: (np.array(n, bool), pa.table({"n": n}) if flag else None),
        lambda n, flag, text: ({}, n),
    )
    for make in makers:
        values = [make(*row) for row in rows]
        assert plain(passed_on(values)[0]) == plain(values)


def test_adjacent_pieces_of_an_array_are_not_copied():
    whole = np.arange(1000)
    kind, joined, lengths = pack([whole[100:300], whole[300:300], whole[300:999]])
    assert kind == "slices" and np.shares_memory(joined, whole) and lengths == [200, 0, 699]
    assert joined.tolist() == list(range(100, 999))
    for pieces in ([whole[0:10], whole[20:30]], [whole[10:20], whole[0:10]], [whole[0:10:2], whole[10:20:2]]):
        joined = pack(pieces)[1]
        assert joined.tolist() == np.concatenate(pieces).tolist() and not np.shares_memory(joined, whole)


def test_a_slice_is_sent_without_the_rest():
    values = [pa.array([b"x" * 1000] * 1000, pa.large_binary()).slice(5, 2)]
    assert passed_on(values)[1] < 10_000


words = st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1), st.integers(2**50, 2**50 + 5000))
LARGE = 9001  # keys, for which bounds are found through a table, and in several blocks


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(words, st.booleans()), max_size=50), st.lists(words, max_size=70), st.booleans(), st.booleans())
def test_words_are_partitioned_by_bounds(rows, bounds, has_nulls, is_large):
    keys = np.array([row[0] for row in rows], np.uint64)
    valid = np.array([row[1] or not has_nulls for row in rows], bool)
    if is_large and rows:
        keys, valid = np.resize(keys, LARGE), np.resize(valid, LARGE)
    bounds = np.sort(np.array(bounds, np.uint64))
    places, sorted_keys, ends = _core.partition_words(keys, valid if has_nulls else None, bounds)
    groups = np.where(valid, np.searchsorted(bounds, keys, "left"), len(bounds) + 1)
    order = np.argsort(groups, kind="stable")
    assert sorted_keys.tolist() == keys[order].tolist() == keys[np.argsort(places)].tolist()
    assert places[order].tolist() == list(range(len(keys)))
    assert ends.tolist() == np.cumsum(np.bincount(groups, minlength=len(bounds) + 2))[:-1].tolist()
    assert _core.take_flags(valid[order], places).tolist() == valid.tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(words, st.booleans()), max_size=50),
    st.lists(st.tuples(words, st.booleans()), max_size=9),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 1 << 63, 5]),
)
def test_owners_select_their_words(rows, groups, has_nulls, is_large, flip):
    keys = np.array([row[0] for row in rows], np.uint64)
    valid = np.array([row[1] or not has_nulls for row in rows], bool)
    if is_large and rows:
        keys, valid = np.resize(keys, LARGE), np.resize(valid, LARGE)
    bounds = np.sort(np.array([group[0] for group in groups], np.uint64))
    wanted = np.array([group[1] for group in groups], bool)
    asked = keys ^ np.uint64(flip)
    places, sorted_keys, ends = _core.select_words(asked, flip, valid if has_nulls else None, bounds, wanted)
    group = np.searchsorted(bounds, keys, "left")
    mine = [np.flatnonzero(valid & (group == g) & wanted[g]) for g in range(len(groups))]
    assert places.tolist() == np.concatenate([[], *mine]).tolist()
    assert sorted_keys.tolist() == keys[places].tolist()
    assert ends.tolist() == np.cumsum([len(some) for some in mine]).tolist()
    flags = sorted_keys % np.uint64(2) == 1
    bits = np.zeros(len(keys), bool)
    bits[places] = flags
    assert _core.place_bits(flags, places, len(keys)).tolist() == np.packbits(bits).tolist()


def test_partitions_of_arrays_that_do_not_fit_are_refused():
    keys = np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match="lengths"):
        _core.partition_words(keys, np.ones(2, bool), keys)
    with pytest.raises(IndexError, match="behind"):
        _core.take_flags(np.ones(2, bool), np.array([2], np.uint32))
    with pytest.raises(ValueError, match="lengths"):
        _core.select_words(keys, 0, np.ones(2, bool), keys, np.ones(3, bool))
    with pytest.raises(ValueError, match="lengths"):
        _core.select_words(keys, 0, None, keys, np.ones(2, bool))
    with pytest.raises(ValueError, match="lengths"):
        _core.place_bits(np.ones(2, bool), np.array([2], np.uint32), 9)
    with pytest.raises(IndexError, match="behind"):
        _core.place_bits(np.ones(1, bool), np.array([9], np.uint32), 9)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_owner_has_its_own_number_of_threads(threads):
    script = f"""
import os, numpy as np
from espalier import Index, _core
before = len(os.listdir("/proc/self/task"))
assert _core.limit_threads({threads})
keys = np.arange(1 << 20, dtype=np.uint64)
assert Index(keys).contains(keys).all()
assert len(os.listdir("/proc/self/task")) - before == {threads} - 1
assert not _core.limit_threads(2)  # too late
try:
    _core.limit_threads(0)
except ValueError:
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
