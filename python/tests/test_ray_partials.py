"""Aggregates of adjacent shards: what the router answers from the bounds, against a loop over the shards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.ray import _partials


def one_by_one(partial, begin, end, values):
    """Count, sum, min, max, first and last of the ranges begin <= i < end."""
    rows = [i for i in range(begin, end) if partial["count"][i]]
    if not rows:
        return [0, *[values.type(0)] * 5]
    numbers = [partial["sum"][i] for i in rows]
    total = sum(map(int, numbers)) if values.kind != "f" else exact_sum(numbers)
    extremes = np.fmin.reduce(partial["min"][rows]), np.maximum.reduce(partial["max"][rows])
    return [int(partial["count"][rows].sum()), total, *extremes, partial["first"][rows[0]], partial["last"][rows[-1]]]


def exact_sum(numbers):
    special = [number for number in numbers if not math.isfinite(number)]
    return math.fsum(numbers) if not special else float(np.sum(special))


def partial_of(rng, n, dtype, empty, large):
    count = np.where(rng.random(n) < empty, 0, rng.integers(1, 9, n))
    kind = np.dtype(dtype).kind
    if kind == "f":
        pool = [rng.normal(0, 1, n), rng.choice([1e300, -1e300, 1.0, 3.0], n), rng.choice([np.nan, np.inf, 2.0], n)]
        values = [pool[int(i)] for i in rng.integers(0, 2 + large, 5)]
    else:
        limits = np.iinfo(dtype)
        values = [rng.integers(limits.min // 2, limits.max // 2, n).astype(dtype) for _ in range(5)]
    made = {"count": count}
    with np.errstate(over="ignore"):  # 1e300 is infinite as a float32
        for f, array in zip(_partials.FUNCTIONS, values):
            made[f] = array.astype(_partials.sum_type(np.dtype(dtype)) if f == "sum" else dtype)
    if large and kind != "f":  # sums of shards that need more than 64 bits
        made["sum"] = made["sum"].astype(object) * 5
    made["sum"][count == 0] = 0
    return made


@pytest.mark.parametrize("dtype", ("i1", "i8", "u8", "f4", "f8"))
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from((0, 1, 2, 3, 5, 8, 31, 64, 100)),
    empty=st.sampled_from((0, 0.3, 1)),
    large=st.booleans(),
)
def test_aggregates_of_many_ranges(dtype, seed, n, empty, large):
    rng, values = np.random.default_rng(seed), np.dtype(dtype)
    partial = partial_of(rng, n, dtype, empty, large)
    ends = np.sort(rng.integers(0, n + 1, (40, 2)), axis=1)
    ends[0] = 0, n
    found = _partials.Ranges(partial).reduce(ends[:, 0], ends[:, 1], _partials.FUNCTIONS, values)
    assert list(found) == ["count", *_partials.FUNCTIONS]
    for i, (begin, end) in enumerate(ends.tolist()):
        count, total, *others = one_by_one(partial, begin, end, values)
        assert found["count"][i] == count
        np.testing.assert_array_equal([found[f][i] for f in _partials.FUNCTIONS[1:]], others)
        if values.kind != "f":
            assert int(found["sum"][i]) == total
        else:  # one rounding to float64, and those of the tree in more digits, which 1e300 may use up
            some = partial["sum"][begin:end]
            most = np.abs(some[np.isfinite(some)]).sum() * max(np.finfo(np.longdouble).eps * 16, 2.0**-64)
            np.testing.assert_allclose(found["sum"][i], total, rtol=2.0**-52, atol=most)
    if values.kind != "f" and found["sum"].dtype != object:
        assert found["sum"].dtype == _partials.sum_type(values)


def test_sums_that_fit_again_are_numbers():
    """A sum beyond 64 bits is exact, and one that comes back into them is an int64 or uint64 for all of the batch."""
    sums = np.array([2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 5])
    partial = {"count": np.ones(5, np.int64), "sum": sums}
    ranges = _partials.Ranges(partial)
    ends = np.array([0, 0, 1, 4]), np.array([5, 4, 3, 5])
    found = ranges.reduce(*ends, ["sum"], np.dtype("i8"))["sum"]
    assert found.dtype == np.int64 and found.tolist() == [3, -2, -1, 5]
    found = ranges.reduce(np.array([0]), np.array([2]), ["sum"], np.dtype("i8"))["sum"]
    assert found.tolist() == [2**64 - 2]


def test_sums_of_floats_are_not_disturbed_by_other_shards():
    values = np.array([1e300, 1.0, 2.0**-60, np.inf, 3.0, np.nan, -1e300, 4.0])
    ranges = _partials.Ranges({"count": np.ones(8, np.int64), "sum": values})
    begin, end = np.array([1, 4, 7, 2, 4, 1]), np.array([3, 5, 8, 5, 6, 2])
    found = ranges.reduce(begin, end, ["sum"], np.dtype("f8"))["sum"]
    np.testing.assert_array_equal(found, [1.0 + 2.0**-60, 3.0, 4.0, np.inf, np.nan, 1.0])
