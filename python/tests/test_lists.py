"""Lists, mappings and single values are read element by element and exactly, or refused."""

import datetime
import warnings

import numpy as np
import pytest

import espalier as es

pd = pytest.importorskip("pandas")

UTC = datetime.timezone.utc
A, B = pd.Timestamp(1_767_225_600_000_000_001, unit="ns"), pd.Timestamp(1_767_225_600_000_000_002, unit="ns")


def test_integers_are_not_rounded_to_floats():
    m = es.SortedMap("u8")
    m.update([5, 2**63 + 1])
    assert list(m) == [5, 2**63 + 1]
    m = es.SortedMap("u8", "u8", {5: 1, 2**63 + 1: 2**64 - 1})
    assert list(m.items()) == [(5, 1), (2**63 + 1, 2**64 - 1)]
    assert m.insert([0, 2**63 + 1, 2**63], [7, 7, 7]).tolist() == [True, False, True]
    assert m.find([2**63 + 1, 2**63]).tolist() == [2**64 - 1, 7]
    assert m.contains([2**63 + 2, 5]).tolist() == [False, True]
    s = es.SortedMap("i8", None, [2**53, 1])
    assert s.discard([2**53 + 1, 0.5]).tolist() == [False, False] and list(s) == [1, 2**53]
    assert s.discard([2**53, 1.0]).tolist() == [True, True] and len(s) == 0
    for wrong in ([-1, 2**63], [2**53 + 1, 0.5], [2**64, 1]):
        with pytest.raises(ValueError, match="not a value of dtype int64"):
            s.update(wrong)
    assert len(s) == 0


def test_queries_of_lists_are_compared_exactly():
    ix = es.Index(np.array([0, 2**63 + 1, 2**63], dtype="u8"))
    assert ix.get_indexer([0, 2**63 + 1]).tolist() == [0, 1]
    assert ix.get_indexer([-1, 2**63, 0.0, None, 2**70]).tolist() == [-1, 2, 0, -1, -1]
    assert ix.searchsorted([-1, 2**63 + 1, 0.5, 2**64, -(2**70)]).tolist() == [0, 2, 1, 3, 0]
    assert ix.count([-1, 0.5], [2**63, 2**70]).tolist() == [2, 2]
    rows, ok = ix.asof([2**63 + 2, 0.5, -1])
    assert rows.tolist() == [1, 0, -1] and ok.tolist() == [True, True, False]
    ix = es.Index([2**53, 5])
    assert ix.contains([2**53 + 1, 0.5]).tolist() == [False, False]
    assert ix.contains((2**53, 5.0)).tolist() == [True, True]
    ix = es.Index([2.0**70, -1e300, 1e300])
    assert ix.searchsorted([2**70 + 1, 2**70, -(2**70), 10**400, -(10**400), 0.5]).tolist() == [2, 1, 1, 3, 0, 1]
    assert [ix.searchsorted(q) for q in (2**70 + 1, 2**70, -(2**70), 10**400, -(10**400))] == [2, 1, 1, 3, 0]
    assert 2**70 in ix and 2**70 + 1 not in ix and ix.contains([2**70, 2**70 + 1]).tolist() == [True, False]
    floats = es.Index(np.array([2.0**53, 0.5]))
    assert floats.contains([2**53 + 1, 0.5]).tolist() == [False, True]


@pytest.mark.parametrize("keys", [[-1, 2**63], [2**53 + 1, 0.5], [2**64], [10**400, 0.5], [-(2**63) - 1]])
def test_lists_that_no_type_holds_are_refused(keys):
    with pytest.raises((OverflowError, ValueError), match="keys is a list"):
        es.Index(keys)
    with pytest.raises((OverflowError, ValueError), match="values is a list"):
        es.Index(list(range(len(keys))), values=keys)
    with pytest.raises((OverflowError, ValueError), match="'t'"):
        es.join_asof({"t": keys}, {"t": [1]}, on="t")


def test_types_of_lists():
    for items, dtype in (
        ([1, 2], "i8"),
        ([1, 2**63], "u8"),
        ([np.uint64(1), np.int64(2)], "i8"),
        ([np.int8(1), np.int8(2)], "i1"),
        ([1, 2.5], "f8"),
        ([2**53, -0.5], "f8"),
        ([True, False], "?"),
        ([True, 2], "i8"),
        ([np.float32(1), np.float32(2)], "f4"),
        ([datetime.date(2026, 1, 1)], "M8[us]"),
        ([datetime.date(9999, 1, 1), datetime.datetime(1, 1, 1)], "M8[us]"),
        ([np.datetime64("2026-01-01")], "M8[D]"),
        ([np.datetime64("2026-01-01"), np.datetime64(1, "ns")], "M8[ns]"),
        ([np.datetime64("2026"), np.datetime64("2026-02"), np.datetime64(1, "W")], "M8[us]"),
        ([datetime.timedelta(1), np.timedelta64(1, "s")], "m8[us]"),
        ([A, B], "M8[ns]"),
        ([pd.Timedelta(1, unit="ns"), datetime.timedelta(1)], "m8[ns]"),
    ):
        assert es.Index(items).dtype == np.dtype(dtype), items


def test_nanoseconds_of_pandas_are_kept():
    m = es.SortedMap("M8[ns]", "i8", {A: 1, B: 2})
    assert len(m) == 2 and m[A] == 1 and m[B] == 2 and m.find([B, A]).tolist() == [2, 1]
    ix = es.Index(pd.DatetimeIndex([A, B]))
    assert ix.get_indexer([A, B]).tolist() == [0, 1] and ix.get_indexer([B, None, pd.NaT]).tolist() == [1, -1, -1]
    assert ix.count([A], [A]).tolist() == [1] and ix.asof([B])[0].tolist() == [1]
    assert es.Index([B, A]).get_indexer([A, B]).tolist() == [1, 0]
    spans = [pd.Timedelta(3, unit="ns"), pd.Timedelta(4, unit="ns")]
    assert es.Index(spans).get_indexer(spans[::-1]).tolist() == [1, 0]
    values = es.SortedMap("i8", "M8[ns]", {1: A})
    values[2] = B
    assert values[1] == A.to_datetime64() and values[2] == B.to_datetime64()
    coarse = es.SortedMap("i8", "M8[us]")
    with pytest.raises(ValueError, match="not a value"):
        coarse.update([1], [A])
    with pytest.raises(TypeError, match="not a value"):
        coarse[1] = A
    with pytest.raises(ValueError, match="does not fit"):
        es.Index([A, datetime.datetime(9999, 1, 1)])
    with pytest.raises(ValueError, match="row 1 is NaT"):
        es.Index([A, pd.NaT])


def test_time_zones():
    naive, aware = datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, 2, tzinfo=datetime.timezone.max)
    ix = es.Index([naive, datetime.datetime(2026, 1, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("2026-01-01T00:00:00Z", "2026-01-01T02:30+02:30", "2025-12-31 23:00:00.000-0100", "2026-01-01"):
            assert ix.get_indexer(text) == 0
        assert ix.get_indexer(naive.replace(tzinfo=UTC)) == 0
        assert ix.get_indexer([naive.replace(tzinfo=UTC), aware]).tolist() == [0, -1]
        assert ix.get_indexer([pd.Timestamp(naive, tz="UTC").tz_convert("Asia/Tokyo")]).tolist() == [0]
        m = es.SortedMap("M8[us]", "M8[us]", {naive.replace(tzinfo=UTC): aware})
        m[naive] = aware
        assert len(m) == 1 and m[naive] == np.datetime64("2025-12-31T02:01")
    for mixed in ([naive, aware], [aware, datetime.date(2026, 1, 1)], [A, A.tz_localize("UTC")]):
        with pytest.raises(TypeError, match="aware and naive"):
            es.Index(mixed)
        with pytest.raises(TypeError, match="aware and naive"):
            ix.contains(mixed)
    for mixed in ([naive, datetime.timedelta(1)], [naive, 1], [1, naive]):
        with pytest.raises(TypeError, match="do not go together"):
            es.Index(mixed)


def test_single_values():
    ix, text, m = es.Index([1, 5]), es.Index(["a", "b"]), es.SortedMap("i8", "i8", {1: 2})
    for call in (
        lambda: ix.find(None),
        lambda: None in ix,
        lambda: None in m,
        lambda: ix.count(0, None),
        lambda: m.sum(None, 3),
        lambda: ix.range(None, None),
        lambda: ix.asof(None),
        lambda: ix.successor(None),
        lambda: text.prefix(None),
        lambda: text.find(None),
        lambda: text.count("a", None),
        lambda: m.find(None),
        lambda: m.discard(None),
        lambda: m.successor(None),
        lambda: m.__setitem__(None, 1),
        lambda: m.__setitem__(1, None),
        lambda: m.__delitem__(None),
    ):
        with pytest.raises(TypeError, match="is None: give a value"):
            call()
    with pytest.raises(TypeError, match="str or bytes where the keys are text"):
        text.get_indexer(5)
    for missing, key in (
        (lambda: m[9], "^9$"),
        (lambda: m.find([1, 9]), "key 9 .query 1"),
        (lambda: ix.find(7), "key 7;"),
    ):
        with pytest.raises(KeyError, match=key):
            missing()
    with pytest.raises(KeyError, match="query 0"):
        m[np.array([9, 1])]
    with pytest.raises(KeyError, match="empty"):
        es.SortedMap("i8").popitem()
    for wrong in ({1: 2}, [1, 2], np.arange(2)):
        with pytest.raises(TypeError, match="dtypes of keys"):
            es.SortedMap(wrong)
    with pytest.raises(OverflowError, match="does not fit 64 bits; ask for smaller ranges or avg"):
        es.SortedMap("i8", "i8", {1: 2**62, 2: 2**62}).sum(0, 9)


def test_arrays_of_pandas():
    ix = es.Index(pd.array([5, 1], dtype="Int64"))
    assert ix.get_indexer(pd.array([1, None], dtype="Int64")).tolist() == [1, -1]
    assert es.Index(pd.Categorical(["b", "a"])).get_indexer(pd.array(["a", None])).tolist() == [1, -1]
    zoned = pd.array(pd.DatetimeIndex([A, B], tz="UTC").tz_convert("Europe/Berlin"))
    assert es.Index(zoned).get_indexer([A, B]).tolist() == [0, 1]
    with pytest.raises(TypeError, match="one column, not a table"):
        es.Index(pd.DataFrame({"a": [1]}))


def test_equality_of_maps():
    a, b = es.SortedMap("u8", "i8", {1: 2, 2**63 + 1: 3}), es.SortedMap("f8", "i4")
    assert a == a.copy() and a == {2**63 + 1: 3, 1: 2} and a != {1: 2} and a != 5
    b.update([1.0, 2.0**63], [2, 3])
    assert a != b and b != a
    b = es.SortedMap("u8", "f8", {2**63 + 1: 3.0, 1: 2.0})
    assert a == b and b == a and dict(a.items()) == dict(b.items())
    b[1] = 2.5
    assert a != b
    days, moments = es.SortedMap("M8[D]"), es.SortedMap("M8[ns]")
    days.update([datetime.date(2026, 1, 1)])
    moments.update([pd.Timestamp("2026-01-01")])
    assert days == moments and days != es.SortedMap("m8[D]") and es.SortedMap("i8") == set()
    assert es.SortedMap("f8", None, [np.nan, 1]) == es.SortedMap("f8", None, [1, np.nan])
    assert es.SortedMap("?", "i8", {True: 1}) == es.SortedMap("i8", "i8", {1: 1})
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
