"""Index over numbers, bool and times, against NumPy."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
NUMBERS = INTEGERS + ["f4", "f8"]


def random_keys(dtype, n, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        keys = rng.normal(scale=100, size=n).astype(dtype)
        keys[::7] = np.round(keys[::7])
        keys[::11] = -0.0
        keys[::13] = np.inf
        keys[::17] = np.nan
        return keys
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "mM":
        return rng.integers(-50, 50, n).view(dtype)
    limits = np.iinfo(dtype)
    wide = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    near = rng.integers(0, 60, n).astype(dtype)
    return np.where(rng.integers(0, 2, n) == 0, wide, near)


def check(ix, keys, queries):
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    for side in ("left", "right"):
        np.testing.assert_array_equal(ix.searchsorted(queries, side), np.searchsorted(ordered, queries, side))
    low, high = np.searchsorted(ordered, queries), np.searchsorted(ordered, queries, "right")
    rows = np.where(high > low, order[np.minimum(low, max(len(order) - 1, 0))] if len(order) else -1, -1)
    np.testing.assert_array_equal(ix.get_indexer(queries), rows)
    np.testing.assert_array_equal(ix.contains(queries), high > low)
    assert len(ix) == len(keys)


@pytest.mark.parametrize("dtype", NUMBERS + ["bool", "M8[ns]", "M8[s]", "M8[D]", "m8[ms]"])
@pytest.mark.parametrize("shape", ["random", "sorted", "reversed", "equal", "empty", "one"])
def test_every_dtype(dtype, shape):
    keys = random_keys(dtype, 700)
    queries = random_keys(dtype, 300, seed=1)
    if shape == "sorted":
        keys = np.sort(keys)
    elif shape == "reversed":
        keys = np.sort(keys)[::-1]
    elif shape == "equal":
        keys = np.full(500, keys[1])
    elif shape == "empty":
        keys = keys[:0]
    elif shape == "one":
        keys = keys[:1]
    ix = es.Index(keys)
    assert ix.dtype == keys.dtype
    check(ix, keys, np.concatenate([queries, keys]))


@given(
    st.lists(st.integers(-128, 127), max_size=200),
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200)), max_size=50),
)
def test_wider_integer_queries(keys, queries):
    keys, queries = np.array(keys, dtype=np.int8), np.array(queries, dtype=np.int64)
    check(es.Index(keys), keys, queries)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=100), st.lists(st.floats(width=64), max_size=50))
def test_float_queries_of_integer_keys(keys, queries):
    keys, queries = np.array(keys, dtype=np.int32), np.array(queries, dtype=np.float64)
    check(es.Index(keys), keys, np.concatenate([queries, keys.astype(np.float64), keys + 0.5]))


@given(st.lists(st.floats(width=32), max_size=100), st.lists(st.floats(width=64), max_size=50))
def test_wide_float_queries_of_narrow_keys(keys, queries):
    keys, queries = np.array(keys, dtype=np.float32), np.array(queries, dtype=np.float64)
    check(es.Index(keys), keys, queries)


def test_integers_that_floats_cannot_hold():
    keys = np.array([2.0**53, 2.0**53 + 2])
    queries = np.array([2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2])
    ix = es.Index(keys)
    assert ix.get_indexer(queries).tolist() == [-1, 0, -1, 1]
    assert ix.searchsorted(queries).tolist() == [0, 0, 1, 1]
    assert ix.searchsorted(queries, "right").tolist() == [0, 1, 1, 2]


@given(st.data())
def test_ranges_and_aggregates(data):
    n = data.draw(st.integers(0, 120))
    keys = np.array(data.draw(st.lists(st.integers(0, 40), min_size=n, max_size=n)), dtype=np.uint16)
    values = np.array(data.draw(st.lists(st.integers(-1000, 1000), min_size=n, max_size=n)), dtype=np.int32)
    lo = np.array(data.draw(st.lists(st.integers(-3, 45), min_size=1, max_size=20)))
    hi = lo + np.array(data.draw(st.lists(st.integers(-4, 30), min_size=len(lo), max_size=len(lo))))
    closed = data.draw(st.sampled_from(["both", "left", "right", "neither"]))
    ix = es.Index(keys, values, keep="all")
    offsets, rows = ix.range(lo, hi, closed)
    for i in range(len(lo)):
        above = keys >= lo[i] if closed in ("both", "left") else keys > lo[i]
        below = keys <= hi[i] if closed in ("both", "right") else keys < hi[i]
        inside = np.flatnonzero(above & below)
        inside = inside[np.argsort(keys[inside], kind="stable")]
        np.testing.assert_array_equal(rows[offsets[i] : offsets[i + 1]], inside)
        assert ix.count(lo[i], hi[i], closed) == len(inside)
        assert ix.sum(lo[i], hi[i], closed) == values[inside].sum()
        assert ix.min(lo[i], hi[i], closed, default=7) == (values[inside].min() if len(inside) else 7)
        assert ix.max(lo[i], hi[i], closed, default=7) == (values[inside].max() if len(inside) else 7)
        mean = ix.avg(lo[i], hi[i], closed)
        assert np.isnan(mean) if len(inside) == 0 else mean == pytest.approx(values[inside].mean())
    np.testing.assert_array_equal(ix.count(lo, hi, closed), np.diff(offsets))


def test_ranges_of_floats_with_open_ends_and_infinities():
    keys = np.array([-np.inf, -1.5, 0.0, 0.0, 2.5, np.inf, np.nan])
    ix = es.Index(keys.astype(np.float32))
    ends = np.array([-np.inf, -1.5, 0.0, 1e-60, 2.5, 1e300, np.inf])
    for lo in ends:
        for hi in ends:
            expected = [
                ((keys >= lo) & (keys <= hi)).sum(),
                ((keys >= lo) & (keys < hi)).sum(),
                ((keys > lo) & (keys <= hi)).sum(),
                ((keys > lo) & (keys < hi)).sum(),
            ]
            got = [ix.count(np.array([lo]), np.array([hi]), c)[0] for c in ("both", "left", "right", "neither")]
            if lo == np.inf:
                expected[2:], got[2:] = [], []  # the key after infinity is NaN
            assert got == expected, (lo, hi)


def test_limit_of_ranges():
    ix = es.Index(np.arange(100))
    offsets, rows = ix.range([5, 90], [50, 200], limit=3)
    assert offsets.tolist() == [0, 3, 6] and rows.tolist() == [5, 6, 7, 90, 91, 92]


@pytest.mark.parametrize("dtype", ["i4", "u8", "f8", "M8[ns]"])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("tolerance", [None, 3])
def test_asof(dtype, exact, tolerance):
    rng = np.random.default_rng(5)
    raw, asked = rng.integers(0, 300, 150), rng.integers(0, 310, 200)
    keys, queries = raw.astype(dtype), asked.astype(dtype)
    ix = es.Index(keys)
    for direction in ("backward", "forward", "nearest"):
        rows, ok = ix.asof(queries, direction, tolerance=tolerance, allow_exact_matches=exact)
        for i, q in enumerate(asked):
            back = [(q - k, -r) for r, k in enumerate(raw) if (k <= q if exact else k < q)]
            ahead = [(k - q, r) for r, k in enumerate(raw) if (k >= q if exact else k > q)]
            best_back, best_ahead = min(back, default=None), min(ahead, default=None)
            candidates = []
            if best_back is not None and direction != "forward":
                candidates.append((best_back[0], 0, -best_back[1]))
            if best_ahead is not None and direction != "backward":
                candidates.append((best_ahead[0], 1, best_ahead[1]))
            candidates = [c for c in candidates if tolerance is None or c[0] <= tolerance]
            expected = min(candidates)[2] if candidates else -1
            assert (rows[i], ok[i]) == (expected, expected >= 0), (direction, q)


def test_asof_between_keys():
    ix = es.Index(np.array([10, 20, 30]))
    rows, ok = ix.asof(np.array([9.5, 14.9, 15.1, 15.0, 99.0, np.nan]), "nearest", tolerance=5)
    assert rows.tolist() == [0, 0, 1, 0, -1, -1] and ok.tolist() == [True, True, True, True, False, False]
    times = np.array(["2024-01-01", "2024-01-02", "2024-01-04"], dtype="M8[D]")
    queries = np.array(["2024-01-01T23:59:59", "2024-01-03T00:00:01", "NaT"], dtype="M8[s]")
    assert es.Index(times).asof(queries)[0].tolist() == [0, 1, -1]
    assert es.Index(times).asof(queries, tolerance=np.timedelta64(24, "h"))[0].tolist() == [0, -1, -1]
    assert es.Index(times).asof(queries, tolerance="1d1s")[0].tolist() == [0, 1, -1]
    assert es.Index(times).asof(queries, "forward", tolerance=datetime.timedelta(hours=24))[0].tolist() == [1, 2, -1]


def test_asof_ignores_nan_keys():
    ix = es.Index(np.array([1.0, np.nan, 3.0]))
    assert ix.asof(np.array([np.inf, np.nan]))[0].tolist() == [2, -1]
    assert ix.asof(np.array([4.0]), "forward")[1].tolist() == [False]


def test_extreme_distances():
    ix = es.Index(np.array([-(2**63) + 1, 2**63 - 1]))
    assert ix.asof(np.array([-(2**63) + 5]), "nearest", tolerance=4)[0].tolist() == [0]
    assert ix.asof(np.array([0]), tolerance=2**63 - 2)[0].tolist() == [-1]
    assert ix.asof(np.array([0]), tolerance=2**70)[0].tolist() == [0]


def test_neighbours_and_at():
    keys = np.array([5, 1, 3, 3, 9], dtype=np.int16)
    ix = es.Index(keys)
    found = ix.successor(np.array([0, 3, 9, -1000, 2.5]))
    assert found[0].tolist() == [1, 5, 0, 1, 3] and found[1].tolist() == [1, 0, -1, 1, 2]
    assert found[2].tolist() == [True, True, False, True, True]
    found = ix.predecessor(np.array([0, 3, 9], dtype=np.int16))
    assert found[0].tolist() == [0, 1, 5] and found[1].tolist() == [-1, 1, 0]
    assert ix.at([0, -1, 2])[0].tolist() == [1, 9, 3] and ix.at([0, -1, 2])[1].tolist() == [1, 4, 3]
    assert ix.at(1) == (3, 2)
    for rank in (5, -6):
        with pytest.raises(IndexError, match="out of range"):
            ix.at(rank)


def test_find_and_defaults():
    ix = es.Index([30, 10, 20, 10], values=[0.3, 0.1, 0.2, 0.9])
    assert ix.find([10, 20, 25], default=-1.0).tolist() == [0.1, 0.2, -1.0]
    assert ix.find(30) == 0.3 and isinstance(ix.find(30), float)
    with pytest.raises(KeyError, match="query 1"):
        ix.find([10, 11])
    with pytest.raises(KeyError):
        ix.find(10.5)
    assert np.isnan(ix.find(10.5, default=np.nan))
    rows = es.Index([30, 10, 20])
    assert rows.find([20, 30]).tolist() == [2, 0] and rows.find(99, default=-7) == -7
    with pytest.raises(KeyError):
        rows.find([99])
    with pytest.raises(TypeError, match="default"):
        es.Index([1], values=[1]).find([2], default=0.5)
    assert 10 in ix and 11 not in ix and 10.0 in ix and 10.5 not in ix and 2**70 not in ix


@pytest.mark.parametrize("dtype", NUMBERS + ["bool", "m8[s]"])
def test_values_of_every_dtype(dtype):
    values = random_keys(dtype, 300, seed=3)
    if values.dtype.kind == "f":
        values = np.nan_to_num(values, posinf=1.0)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        values = values // 1000
    keys = np.random.default_rng(4).permutation(300).astype(np.uint32)
    ix = es.Index(keys, values, keep="sum,min,max")
    np.testing.assert_array_equal(ix.find(keys), values)
    inside = values[(keys >= 10) & (keys <= 250)]
    assert ix.min(10, 250) == inside.min() and ix.max(10, 250) == inside.max()
    total = inside.sum(dtype=np.float64 if values.dtype.kind == "f" else None)
    assert ix.sum(10, 250) == (pytest.approx(total) if values.dtype.kind == "f" else total)


def test_exact_sums_and_overflow():
    ix = es.Index(np.arange(4), np.array([2**62, 2**62, 2**62, -(2**62)]), keep="sum")
    assert ix.sum(0, 0) == 2**62 and ix.sum(2, 3) == 0
    with pytest.raises(OverflowError):
        ix.sum(0, 2)
    with pytest.raises(ValueError, match="keep='max'"):
        ix.max(0, 1)
    with pytest.raises(TypeError, match="datetime64"):
        es.Index([1], np.array([1]).view("M8[s]"), keep="sum").sum(0, 1)


def test_aggregates_of_keys_without_values():
    ix = es.Index([5, 1, 3], keep="all")
    assert (ix.sum(1, 4), ix.min(2, 9), ix.max(0, 4), ix.avg(0, 9)) == (4, 3, 3, 3.0)


def test_empty_range_of_floats_and_integers():
    ix = es.Index([1, 2], values=[1.0, 2.0], keep="min,max")
    assert np.isnan(ix.min(5, 6)) and np.isnan(ix.max(2, 1))
    with pytest.raises(ValueError, match="no minimum"):
        es.Index([1, 2], keep="min").min(5, 6)


def test_times_of_other_units():
    keys = np.array(["2024-01-01", "2024-01-02"], dtype="M8[us]")
    ix = es.Index(keys)
    assert ix.get_indexer(np.array(["2024-01-02", "2024-01-03"], dtype="M8[D]")).tolist() == [1, -1]
    assert ix.get_indexer(np.array(["2024-01-01T00:00:00.000000001"], dtype="M8[ns]")).tolist() == [-1]
    assert ix.searchsorted(np.array(["2024-01-01T00:00:00.000000001"], dtype="M8[ns]")).tolist() == [1]
    assert ix.searchsorted(np.array(["9999-01-01", "NaT"], dtype="M8[D]")).tolist() == [2, 2]
    assert ix.get_indexer(datetime.datetime(2024, 1, 2)) == 1 and datetime.date(2024, 1, 1) in ix
    assert "2024-01-01" in ix
    utc = datetime.timezone(datetime.timedelta(hours=2))
    assert ix.get_indexer(datetime.datetime(2024, 1, 2, 2, tzinfo=utc)) == 1
    assert ix.count(np.array(["2024-01"], dtype="M8[M]"), np.array(["2024-02"], dtype="M8[M]"), "left").tolist() == [
        2
    ]
    with pytest.raises(TypeError, match="datetime64"):
        ix.searchsorted([1, 2])
    with pytest.raises(TypeError, match="datetime64"):
        ix.searchsorted(np.array([1], dtype="m8[s]"))


def test_null_and_masked_queries():
    ix = es.Index([1, 2, 3], values=[10, 20, 30])
    asked = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    assert ix.get_indexer(asked).tolist() == [0, -1, 2]
    assert ix.find([1, None], default=-1).tolist() == [10, -1]
    assert ix.searchsorted([None, 2]).tolist() == [3, 1]
    assert ix.count([1, None], [3, 3]).tolist() == [3, 0]
    assert ix.asof([None, 9])[0].tolist() == [-1, 2]
    assert ix.contains([None, 2]).tolist() == [False, True]


def test_negative_zero_is_zero():
    ix = es.Index(np.array([-0.0, 0.0, 1.0]))
    assert ix.get_indexer(np.array([0.0, -0.0])).tolist() == [0, 0] and ix.searchsorted(-0.0, "right") == 2


def test_repr_and_sizes():
    ix = es.Index([3, 1], values=[1.0, 2.0], keep="sum")
    assert repr(ix) == "Index(keys=int64, values=float64, len=2, keep='sum')"
    assert ix.nbytes > 0 and ix.stats()["size"] == 2 and ix.keep == "sum"


def test_large_unsorted():
    rng = np.random.default_rng(9)
    keys, queries = rng.integers(0, 2**40, 300_000), rng.integers(0, 2**40, 100_000)
    check(es.Index(keys), keys, np.concatenate([queries, keys[:50_000]]))
