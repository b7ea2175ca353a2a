"""SortedMap against sortedcontainers.SortedDict."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sortedcontainers import SortedDict

import espalier as es

KEYS = st.integers(0, 60)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("update"), st.lists(st.tuples(KEYS, st.integers(-99, 99)), max_size=40)),
            st.tuples(st.just("insert"), st.lists(st.tuples(KEYS, st.integers(-99, 99)), max_size=40)),
            st.tuples(st.just("discard"), st.lists(KEYS, max_size=30)),
            st.tuples(st.just("set"), st.tuples(KEYS, st.integers(-99, 99))),
            st.tuples(st.just("del"), KEYS),
            st.tuples(st.just("clear"), st.none()),
        ),
        max_size=12,
    ),
    st.sampled_from(["u1", "i4", "u8", "f8"]),
)
def test_against_sortedcontainers(steps, dtype):
    ours, theirs = es.SortedMap(dtype, "i8"), SortedDict()
    for step, arguments in steps:
        if step == "update":
            ours.update([k for k, _ in arguments], [v for _, v in arguments])
            theirs.update(arguments)
        elif step == "insert":
            new = ours.insert([k for k, _ in arguments], [v for _, v in arguments])
            for (k, v), is_new in zip(arguments, new):
                assert is_new == (k not in theirs)
                theirs.setdefault(k, v)
        elif step == "discard":
            done = ours.discard(arguments)
            assert {k for k, d in zip(arguments, done) if d} == {k for k in arguments if k in theirs}
            for k in arguments:
                theirs.pop(k, None)
        elif step == "set":
            ours[arguments[0]] = arguments[1]
            theirs[arguments[0]] = arguments[1]
        elif step == "del":
            if arguments in theirs:
                del theirs[arguments], ours[arguments]
            else:
                with pytest.raises(KeyError):
                    del ours[arguments]
        else:
            ours.clear()
            theirs.clear()
        assert len(ours) == len(theirs) and list(ours.items()) == list(theirs.items())
    assert list(ours) == list(theirs) and list(reversed(ours)) == list(reversed(theirs))
    for key in range(62):
        assert (key in ours) == (key in theirs) and ours.get(key) == theirs.get(key)
    for lo, hi, inclusive in (
        (5, 40, (True, True)),
        (None, 7, (True, False)),
        (9, None, (False, True)),
        (50, 3, (True, True)),
    ):
        for reverse in (False, True):
            assert list(ours.irange(lo, hi, inclusive, reverse)) == list(theirs.irange(lo, hi, inclusive, reverse))
    for i in {0, -1, len(theirs) // 2}:
        if theirs:
            assert ours.peekitem(i) == theirs.peekitem(i)
        else:
            with pytest.raises(IndexError):
                ours.peekitem(i)
    inside = [v for k, v in theirs.items() if 10 <= k <= 30]
    assert ours.count(10, 30) == len(inside) and ours.sum(10, 30) == sum(inside)
    assert ours.min(10, 30, default=0) == min(inside, default=0) and ours.max(10, 30, default=0) == max(
        inside, default=0
    )
    snapshot = ours.snapshot(keep="all")
    assert snapshot.sum(10, 30) == sum(inside) and len(snapshot) == len(theirs)
    assert list(pickle.loads(pickle.dumps(ours)).items()) == list(theirs.items())


def test_the_lines_of_the_documentation():
    m = es.SortedMap("u8", "f8")
    m.update(np.array([42, 7, 15], dtype="u8"), np.array([4.2, 0.7, 1.5]))
    m.discard([7, 8])
    assert m[42] == 4.2 and 42 in m and len(m) == 2 and list(m.irange(10, 20)) == [15]
    assert m.peekitem(-1) == (42, 4.2)
    s = m.snapshot()
    m[1] = 0.1
    assert len(s) == 2 and len(m) == 3 and s.find([15]).tolist() == [1.5]


def test_bulk():
    rng = np.random.default_rng(1)
    keys, values = rng.integers(0, 50_000, 60_000), rng.normal(size=60_000)
    m = es.SortedMap("i8", "f8")
    m.update(keys[:30_000], values[:30_000])
    m.update(keys[30_000:], values[30_000:])
    expected = dict(zip(keys.tolist(), values.tolist()))
    assert m.keys().tolist() == sorted(expected)
    assert m.find(keys).tolist() == [expected[k] for k in keys.tolist()]
    assert m.values().tolist() == [expected[k] for k in sorted(expected)]
    offsets, found, _ = m.range([100, 200], [150, 90])
    assert found.tolist() == [k for k in sorted(expected) if 100 <= k <= 150] and offsets[1] == offsets[2]
    assert [len(list(m.irange(0, hi))) for hi in (1023, 1024, 4000)] == [m.count(0, hi) for hi in (1023, 1024, 4000)]


def test_times_sets_and_copies():
    days = es.SortedMap("M8[D]")
    days.update(np.array(["2024-01-02", "2024-01-01"], dtype="M8[s]"))
    assert np.datetime64("2024-01-01") in days and days.keys().dtype == "M8[D]" and days.values() is None
    assert days.peekitem()[0] == np.datetime64("2024-01-02")
    floats = es.SortedMap("f8", items=None)
    floats.update([np.inf, -np.inf, 0.0, np.nan])
    floats.update([-0.0])
    assert len(floats) == 4 and 0.0 in floats and np.isnan(floats.peekitem()[0]) and len(list(floats)) == 4
    a = es.SortedMap("i4", "i4", {1: 10, 2: 20})
    b = a.copy()
    b[3] = 30
    assert len(a) == 2 and len(b) == 3 and a.pop(1) == 10 and a.pop(1, None) is None and b.popitem() == (3, 30)
    assert a.setdefault(2, 99) == 20 and a.setdefault(5, 50) == 50 and a[5] == 50
    assert a.successor(2) == (5, 50, True) and a.predecessor(2)[2] is False and a.lower_bound(3) == (5, 50, True)


def test_errors():
    m = es.SortedMap("u8", "f8")
    for call, error, text in (
        (lambda: m.update([-1], [1.0]), ValueError, "not a value of dtype uint64"),
        (lambda: m.update([1.5], [1.0]), ValueError, "not a value"),
        (lambda: m.update([1, 2], [1.0]), ValueError, "same length"),
        (lambda: m.update([1]), TypeError, "values are missing"),
        (lambda: m.update([1], ["a"]), TypeError, "str"),
        (lambda: m.update([1], [None]), ValueError, "NULL"),
        (lambda: m.__setitem__("a", 1.0), TypeError, "type str"),
        (lambda: m.__setitem__(1, "a"), TypeError, "value is of type str"),
        (lambda: m[5], KeyError, "5"),
        (lambda: es.SortedMap("U3"), TypeError, "cut off"),
        (lambda: es.SortedMap("O"), TypeError, "object"),
        (lambda: es.SortedMap(">i8"), TypeError, "big-endian"),
        (lambda: es.SortedMap("i8", "i1").update([1], [300]), OverflowError, "does not fit int8"),
        (lambda: es.SortedMap("i8")[1], TypeError, "set"),
        (lambda: es.SortedMap("i8", "i8").update([1], [1.5]), TypeError, "same_kind"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert len(m) == 0


def test_threads_write_and_read():
    m = es.SortedMap("i8", "i8")
    failures = []

    def write(start):
        for step in range(20):
            keys = np.arange(start + step * 100, start + step * 100 + 100)
            m.update(keys, keys * 2)

    def read():
        for _ in range(100):
            keys = m.keys()
            if (np.diff(keys) <= 0).any() or (m.find(keys, default=-1) != keys * 2).any():
                failures.append(len(keys))

    threads = [threading.Thread(target=write, args=(i * 10_000,)) for i in range(3)] + [threading.Thread(target=read)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and len(m) == 6000
