"""SortedMap with keys of str and bytes, against sortedcontainers.SortedDict."""

import copy
import pickle
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sortedcontainers import SortedDict

import espalier as es

WORDS = st.one_of(
    st.sampled_from(["", "a", "ab", "abc", "b", "\0", "a\0", "\U0010ffff", "x" * 40, "x" * 40 + "y"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.lists(st.tuples(WORDS, st.integers(-99, 99)), max_size=30)),
        st.tuples(st.just("insert"), st.lists(st.tuples(WORDS, st.integers(-99, 99)), max_size=30)),
        st.tuples(st.just("replace"), st.lists(st.tuples(WORDS, st.integers(-99, 99)), max_size=30)),
        st.tuples(st.just("discard"), st.lists(WORDS, max_size=30)),
        st.tuples(st.just("set"), st.tuples(WORDS, st.integers(-99, 99))),
        st.tuples(st.just("del"), WORDS),
        st.tuples(st.just("clear"), st.none()),
    ),
    max_size=10,
)


def same(ours, theirs):
    assert len(ours) == len(theirs) and list(ours.items()) == list(theirs.items())


@given(STEPS, st.lists(WORDS, min_size=2, max_size=8), st.sampled_from(["str", "bytes"]), st.integers(0, 1))
def test_against_sortedcontainers(steps, asked, kind, width):
    coded = (lambda w: w) if kind == "str" else (lambda w: w.encode())
    ours, theirs = es.SortedMap(kind, ["i8", "i2"][width]), SortedDict()
    for step, arguments in steps:
        if step in ("update", "insert", "replace"):
            pairs = [(coded(k), v) for k, v in arguments]
            done = getattr(ours, step)([k for k, _ in pairs], [v for _, v in pairs])
            if step == "update":
                theirs.update(pairs)
            for i, (k, v) in enumerate(pairs):
                if step == "insert":
                    assert done[i] == (k not in theirs)
                    theirs.setdefault(k, v)
                if step == "replace":
                    assert done[i] == (k in theirs)
                    if k in theirs:
                        theirs[k] = v
        elif step == "discard":
            keys = [coded(k) for k in arguments]
            done = ours.discard(keys)
            assert {k for k, d in zip(keys, done) if d} == {k for k in keys if k in theirs}
            for k in keys:
                theirs.pop(k, None)
        elif step == "set":
            key, value = coded(arguments[0]), arguments[1]
            ours[key] = value
            theirs[key] = value
        elif step == "del":
            key = coded(arguments)
            if key in theirs:
                del theirs[key], ours[key]
            else:
                with pytest.raises(KeyError):
                    del ours[key]
        else:
            ours.clear()
            theirs.clear()
        same(ours, theirs)
        if theirs:  # between writes, when the order of the leaves is not known
            assert ours.peekitem() == theirs.peekitem() and ours.peekitem(0) == theirs.peekitem(0)
    asked = [coded(w) for w in asked]
    keys, values = list(theirs.keys()), list(theirs.values())
    assert list(ours) == keys and list(reversed(ours)) == keys[::-1]
    assert [k in ours for k in asked] == [k in theirs for k in asked] == ours.contains(asked).tolist()
    assert [ours.get(k) for k in asked] == [theirs.get(k) for k in asked]
    assert ours.find(asked, default=-1).tolist() == [theirs.get(k, -1) for k in asked]
    assert ours.searchsorted(asked).tolist() == [theirs.bisect_left(k) for k in asked]
    assert ours.searchsorted(asked, "right").tolist() == [theirs.bisect_right(k) for k in asked]
    for call, at in (
        ("lower_bound", [theirs.bisect_left(k) for k in asked]),
        ("successor", [theirs.bisect_right(k) for k in asked]),
        ("predecessor", [theirs.bisect_left(k) - 1 for k in asked]),
    ):
        found, numbers, ok = getattr(ours, call)(asked)
        expected = [0 <= i < len(keys) for i in at]
        assert ok.tolist() == expected
        assert found.tolist() == [keys[i] if e else None for i, e in zip(at, expected)]
        assert numbers[ok].tolist() == [values[i] for i, e in zip(at, expected) if e]
        assert getattr(ours, call)(asked[0])[2] is expected[0]
    for lo, hi in ((asked[0], asked[1]), (None, asked[0]), (asked[1], None)):
        for inclusive in ((True, True), (True, False), (False, True), (False, False)):
            for reverse in (False, True):
                assert list(ours.irange(lo, hi, inclusive, reverse)) == list(theirs.irange(lo, hi, inclusive, reverse))
    for closed, inclusive in (("both", (True, True)), ("left", (True, False)), ("neither", (False, False))):
        lo, hi = asked[: len(asked) // 2], asked[-(len(asked) // 2) :]
        inside = [list(theirs.irange(a, b, inclusive)) for a, b in zip(lo, hi)]
        offsets, found, numbers = ours.range(lo, hi, closed)
        assert np.diff(offsets).tolist() == ours.count(lo, hi, closed).tolist() == [len(part) for part in inside]
        assert found.tolist() == [k for part in inside for k in part]
        assert numbers.tolist() == [theirs[k] for part in inside for k in part]
        assert ours.sum(lo, hi, closed).tolist() == [sum(theirs[k] for k in part) for part in inside]
        assert ours.min(lo, hi, closed, default=0).tolist() == [
            min((theirs[k] for k in part), default=0) for part in inside
        ]
        means = [np.mean([theirs[k] for k in part]) if part else np.nan for part in inside]
        np.testing.assert_allclose(ours.avg(lo, hi, closed), means)
    begins = [[k for k in keys if k.startswith(p)] for p in asked]
    offsets, found, numbers = ours.prefix(asked)
    assert np.diff(offsets).tolist() == ours.count_prefix(asked).tolist() == [len(part) for part in begins]
    assert found.tolist() == [k for part in begins for k in part]
    assert numbers.tolist() == [theirs[k] for part in begins for k in part]
    assert ours.prefix(asked[0])[0].tolist() == begins[0] and ours.prefix(asked[0], 1)[0].tolist() == begins[0][:1]
    assert ours.sum_prefix(asked).tolist() == [sum(theirs[k] for k in part) for part in begins]
    assert ours.max_prefix(asked, default=0).tolist() == [max((theirs[k] for k in p), default=0) for p in begins]
    assert ours.min_prefix(asked[0], default=0) == min((theirs[k] for k in begins[0]), default=0)
    longest = [max((k for k in keys if q.startswith(k)), key=len, default=None) for q in asked]
    assert ours.longest_prefix(asked)[0].tolist() == longest
    assert ours.longest_prefix(asked)[2].tolist() == [k is not None for k in longest]
    for i in {0, -1, len(theirs) // 2}:
        if theirs:
            assert ours.peekitem(i) == theirs.peekitem(i)
        else:
            with pytest.raises(IndexError):
                ours.peekitem(i)
    snapshot = ours.snapshot(keep="all")
    assert snapshot.count(coded(""), asked[0]) == theirs.bisect_right(asked[0])
    assert snapshot.find(keys).tolist() == values
    for other in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), es.SortedMap(kind, "i8", ours)):
        same(other, theirs)
        assert other == ours == theirs


def test_the_lines_of_the_documentation():
    sites = es.SortedMap("str", "f8")
    sites.update(["b.org", "a.org/y", "a.org/x"], [3.0, 2.0, 1.0])
    s = sites.snapshot(keep="sum")
    sites["a.org/z"] = 4.0
    assert sites.prefix("a.org/")[0].tolist() == ["a.org/x", "a.org/y", "a.org/z"]
    assert sites.sum_prefix("a.org/") == 7.0 and sites.count_prefix(["a", "c"]).tolist() == [3, 0]
    assert sites.longest_prefix("a.org/x/page") == ("a.org/x", 1.0, True)
    assert s.sum("a", "b") == 3.0 and len(s) == 3
    assert list(sites.irange("a.org/y", "b")) == ["a.org/y", "a.org/z"] and sites.peekitem() == ("b.org", 3.0)
    assert sites.pop("b.org") == 3.0 and "b.org" not in sites and sites.popitem() == ("a.org/z", 4.0)
    assert sites.setdefault("a.org/x", 9.0) == 1.0 and repr(sites) == "SortedMap(keys=str, values=float64, len=2)"


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u4", "i8", "u8", "f4", "f8", "?", "M8[s]", "m8[ns]", None])
def test_values_of_all_types_and_sets(dtype):
    keys = [f"{i:03}" for i in range(100)]
    m = es.SortedMap(str, dtype)
    if dtype is None:
        m.update(keys)
        m.update(keys[:3])
        assert m.values() is None and m.peekitem(5) == ("005", None) and m == set(keys)
        assert m.insert(["000", "x"]).tolist() == [False, True] and m.range("0", "1")[2] is None
        with pytest.raises(ValueError, match="no sum"):
            m.sum("0", "1")
        with pytest.raises(TypeError, match="set"):
            m["000"]
        return
    values = (np.arange(100) % 2 if dtype == "?" else np.arange(100)).astype(dtype)
    m.update(keys, values)
    assert m.values().dtype == values.dtype and (m.find(keys[::-1]) == values[::-1]).all()
    assert m["005"] == values[5] and m.min("001", "003") == values[1:4].min()
    if values.dtype.kind not in "M":
        assert m.sum_prefix("00") == values[:10].sum(dtype=None if values.dtype.kind in "fm" else "i8")


def test_kinds_of_arguments():
    m = es.SortedMap("str", "i8")
    m.update(np.array(["b", "a"]), np.array([2, 1], dtype="i4"))
    m.update(np.array(["c", "d"], dtype=object), [3, 4])
    m.update(pl.Series(["e"]), pl.Series([5]))
    m.update({"f": 6})
    m.update(np.array(["g", "h", "i", "j"])[::-2], np.arange(8)[::-4])
    assert dict(m.items()) == {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "j": 7, "h": 3}
    answer = m.find(pl.Series(["a", None, "z"]), default=-1)
    assert isinstance(answer, pl.Series) and answer.to_list() == [1, -1, -1]
    assert m.prefix(pl.Series(["a"]))[1].to_list() == ["a"]
    assert m.count("a", ["b", "c"]).tolist() == [2, 3] and m.count(["a", "b"], "b").tolist() == [2, 1]
    assert m.update([], []) is None and m.find([]).tolist() == [] and m.prefix([])[1].tolist() == []
    assert m["a"] == 1 and m[np.str_("a")] == 1 and m[["b", "a"]].tolist() == [2, 1]
    m["a"] = np.int8(9)
    assert m["a"] == 9


def test_null_matches_nothing():
    m = es.SortedMap("bytes", "i8", {b"": 1, b"a": 2, b"\xff": 3})
    asked = [None, b"a", None]
    assert m.contains(asked).tolist() == [False, True, False] and m.find(asked, default=0).tolist() == [0, 2, 0]
    assert m.searchsorted(asked).tolist() == [3, 1, 3] and m.lower_bound(asked)[0].tolist() == [None, b"a", None]
    assert m.predecessor(asked)[2].tolist() == [False, True, False]
    assert m.longest_prefix(asked)[0].tolist() == [None, b"a", None]
    assert m.count(asked, b"b").tolist() == [0, 1, 0] and m.count(b"", asked).tolist() == [0, 2, 0]
    assert m.range(asked, b"b")[0].tolist() == [0, 0, 1, 1] and m.sum(asked, b"b").tolist() == [0, 2, 0]
    assert m.prefix(asked)[0].tolist() == [0, 0, 1, 1] and m.count_prefix(asked).tolist() == [0, 1, 0]
    assert m.sum_prefix(asked).tolist() == [0, 2, 0]
    assert m.discard(asked).tolist() == [False, True, False] and list(m) == [b"", b"\xff"]
    for call in (m.update, m.insert, m.replace):
        with pytest.raises(ValueError, match="row 1 is NULL"):
            call([b"x", None], [1, 2])
    assert len(m) == 2


def test_errors():
    m = es.SortedMap("str", "i1", {"a": 1})
    for call, error, text in (
        (lambda: m.update([1], [1]), TypeError, "int64, and the keys are str"),
        (lambda: m.update([b"x"], [1]), TypeError, "bytes, and the keys are str"),
        (lambda: m.update(["x", "y"], [1]), ValueError, "same length"),
        (lambda: m.update(["x"], [300]), OverflowError, "does not fit int8"),
        (lambda: m.update(["x"], ["y"]), TypeError, "str"),
        (lambda: m.update(["x"]), TypeError, "values are missing"),
        (lambda: m.__setitem__(5, 1.5), TypeError, "int"),
        (lambda: m.__setitem__(None, 1), TypeError, "None"),
        (lambda: m.__setitem__("x", None), TypeError, "None"),
        (lambda: m["x"], KeyError, "x"),
        (lambda: m.find(["a", "x"]), KeyError, "query 1"),
        (lambda: m[5], TypeError, "scalar of type int"),
        (lambda: m.find(None), TypeError, "None"),
        (lambda: m.count("a", None), TypeError, "None"),
        (lambda: m.count(["a"], ["a", "b"]), ValueError, "same length"),
        (lambda: m.count("a", "b", "open"), ValueError, "closed is"),
        (lambda: m.prefix(None), TypeError, "None"),
        (lambda: m.prefix("a", -1), ValueError, "negative"),
        (lambda: m.min("x", "y"), ValueError, "no minimum"),
        (lambda: m.searchsorted("a", "middle"), ValueError, "side"),
        (lambda: m.update(["\ud800"], [1]), ValueError, "surrogates"),
        (lambda: es.SortedMap("U3"), TypeError, "cut off"),
        (lambda: es.SortedMap("S2"), TypeError, "cut off"),
        (lambda: es.SortedMap("i8", "i8").prefix("a"), TypeError, "only str and bytes have prefixes"),
        (lambda: es.SortedMap("str", "str"), TypeError, "values"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert list(m.items()) == [("a", 1)] and m != {"a": 2} and m != es.SortedMap("bytes", "i1", {b"a": 1})


def test_large_batches_and_long_keys():
    rng = np.random.default_rng(5)
    keys = ["/".join(str(x) * 4 for x in rng.integers(0, 40, rng.integers(1, 9))) for _ in range(30_000)]
    keys[7] = "long" * 20_000
    m, expected = es.SortedMap("str", "u4"), {}
    for part in range(0, 30_000, 10_000):
        m.update(keys[part : part + 10_000], np.arange(part, part + 10_000, dtype="u4"))
        expected.update(zip(keys[part : part + 10_000], range(part, part + 10_000)))
    assert list(m.items()) == sorted(expected.items())
    some = keys[::3]
    assert m.discard(some).sum() == len(set(some))
    assert list(m) == sorted(set(expected) - set(some)) and m.peekitem()[0] == max(m)
    assert [len(list(m.irange(None, k))) for k in ("1", "3", "z")] == [m.count("", k) for k in ("1", "3", "z")]


def test_threads_write_read_and_clear():
    m = es.SortedMap("str", "i8")
    failures = []

    def write(start):
        for step in range(20):
            numbers = range(start + step * 100, start + step * 100 + 100)
            m.update([f"{i:06}" for i in numbers], np.array(numbers) * 2)

    def read():
        for _ in range(100):
            keys = list(m.keys())
            if keys != sorted(set(keys)) or (m.find(keys, default=-1) != np.array(keys, dtype="i8") * 2).any():
                failures.append(len(keys))
            m.stats(), len(m), m.count_prefix("0")

    threads = [threading.Thread(target=write, args=(i * 10_000,)) for i in range(3)] + [threading.Thread(target=read)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and len(m) == 6000
    clearing = threading.Thread(target=lambda: [m.clear() for _ in range(50)])
    clearing.start()
    for i in range(200):
        m[f"x{i}"] = i
        list(m)
    clearing.join()
    m.clear()
    assert len(m) == 0 and list(m) == []
