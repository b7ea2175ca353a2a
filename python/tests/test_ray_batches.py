"""What the router does with batches: divide them by shard, and pack the pieces into few arrays."""

from __future__ import annotations

import pickle

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


words = st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1))


@settings(max_examples=100)
@given(st.lists(st.tuples(words, st.booleans()), max_size=50), st.lists(words, max_size=70), st.booleans())
def test_words_are_partitioned_by_bounds(rows, bounds, has_nulls):
    keys = np.array([row[0] for row in rows], np.uint64)
    valid = np.array([row[1] or not has_nulls for row in rows], bool)
    bounds = np.sort(np.array(bounds, np.uint64))
    places, sorted_keys, ends = _core.partition_words(keys, valid if has_nulls else None, bounds)
    groups = np.where(valid, np.searchsorted(bounds, keys, "left"), len(bounds) + 1)
    order = np.argsort(groups, kind="stable")
    assert sorted_keys.tolist() == keys[order].tolist() == keys[np.argsort(places)].tolist()
    assert places[order].tolist() == list(range(len(keys)))
    assert ends.tolist() == np.cumsum(np.bincount(groups, minlength=len(bounds) + 2))[:-1].tolist()
    assert _core.take_flags(valid[order], places).tolist() == valid.tolist()


def test_partitions_of_arrays_that_do_not_fit_are_refused():
    keys = np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match="lengths"):
        _core.partition_words(keys, np.ones(2, bool), keys)
    with pytest.raises(IndexError, match="behind"):
        _core.take_flags(np.ones(2, bool), np.array([2], np.uint32))
