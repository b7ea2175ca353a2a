"""Index over str and bytes, against sorted lists."""

import bisect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def reference(keys):
    return sorted(range(len(keys)), key=lambda row: (keys[row], row))


@given(st.lists(st.one_of(TEXT, st.sampled_from(["", "a", "ab", "b"])), max_size=60), st.lists(TEXT, max_size=20))
def test_str_against_sorted_list(keys, queries):
    if not keys:
        keys = ["x"]
    encoded = [k.encode() for k in keys]  # the order of UTF-8 is that of code points
    order = reference(encoded)
    ordered = [encoded[row] for row in order]
    values = np.arange(len(keys)) * 10
    ix = es.Index(keys, values, keep="all")
    asked = queries + keys
    low = [bisect.bisect_left(ordered, q.encode()) for q in asked]
    high = [bisect.bisect_right(ordered, q.encode()) for q in asked]
    assert ix.searchsorted(asked).tolist() == low and ix.searchsorted(asked, "right").tolist() == high
    rows = [order[a] if a < b else -1 for a, b in zip(low, high)]
    assert ix.get_indexer(asked).tolist() == rows
    assert ix.contains(asked).tolist() == [r >= 0 for r in rows]
    assert ix.find(asked, default=-1).tolist() == [r * 10 if r >= 0 else -1 for r in rows]
    for p in asked[:10]:
        assert ix.prefix(p).tolist() == [row for row in order if keys[row].startswith(p)]
    for lo, hi in zip(asked, asked[::-1]):
        inside = [row for row in order if lo.encode() <= encoded[row] <= hi.encode()]
        assert ix.range(lo, hi)[1].tolist() == inside and ix.count(lo, hi) == len(inside)
        assert ix.sum(lo, hi) == sum(10 * row for row in inside)
        assert ix.count(lo, hi, "neither") == sum(lo.encode() < encoded[row] < hi.encode() for row in order)
    assert ix.at(range(len(keys)))[0].tolist() == [keys[row] for row in order]
    assert ix.at(range(len(keys)))[1].tolist() == order


def test_bytes_and_neighbours():
    ix = es.Index([b"b", b"a\0", b"a", b"", b"a"])
    assert ix.dtype is bytes and ix.searchsorted([b"", b"a", b"\xff"]).tolist() == [0, 1, 5]
    keys, rows, ok = ix.successor([b"", b"a", b"b"])
    assert (
        keys.tolist() == [b"a", b"a\0", None] and rows.tolist() == [2, 1, -1] and ok.tolist() == [True, True, False]
    )
    assert ix.predecessor(b"a") == (b"", 3, True)
    assert ix.asof(b"aa") == (1, True) and ix.asof(b"", allow_exact_matches=False) == (-1, False)
    assert ix.asof(b"a", "forward") == (2, True)


def test_the_lines_of_the_documentation():
    urls = es.Index(["a.org/x", "b.org", "a.org/y"])
    assert urls.prefix("a.org/").tolist() == [0, 2]
    offsets, rows = urls.prefix(["a.org/", "c", ""])
    assert offsets.tolist() == [0, 2, 2, 5] and rows.tolist() == [0, 2, 0, 2, 1]
    assert "b.org" in urls and urls.find("b.org") == 1


def test_null_queries_and_errors():
    ix = es.Index(["a", "b"])
    assert ix.get_indexer(["a", None]).tolist() == [0, -1] and ix.get_indexer([None]).tolist() == [-1]
    assert ix.searchsorted([None, "b"]).tolist() == [2, 1] and ix.get_indexer([]).tolist() == []
    for call in (lambda: ix.get_indexer([b"a"]), lambda: ix.get_indexer([1]), lambda: ix.find(3)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="prefix"):
        es.Index([1]).prefix("a")
    with pytest.raises(TypeError, match="distance"):
        ix.asof("a", tolerance=1)
    with pytest.raises(ValueError, match="with values"):
        ix.sum("a", "b")
    with pytest.raises(ValueError, match="NULL"):
        es.Index(["a", None])
    with pytest.raises(ValueError, match="same length"):
        es.Index(["a", "b"], values=[1])
    with pytest.raises(ValueError, match="same length"):
        ix.count(["a", "b"], ["a", "b", "c"])


@pytest.mark.parametrize("kind", ["U", "S", "list"])
def test_numpy_text(kind):
    words = ["beta", "alpha", "", "gämma" if kind != "S" else "gamma"]
    keys = words if kind == "list" else np.array(words, dtype=kind)
    ix = es.Index(keys)
    assert ix.dtype is (bytes if kind == "S" else str)
    assert ix.get_indexer(keys).tolist() == [0, 1, 2, 3]
    if kind != "list":
        assert es.Index(keys[::-1]).get_indexer(keys).tolist() == [3, 2, 1, 0]


def test_many_long_keys():
    rng = np.random.default_rng(2)
    keys = ["/".join(str(x) * 3 for x in rng.integers(0, 50, 6)) for _ in range(20_000)]
    ix = es.Index(keys, np.arange(20_000))
    first = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    assert ix.find(keys).tolist() == [first[key] for key in keys]
