"""Every dtype in every layout, as keys, values and queries of an Index and a SortedMap."""

import numpy as np
import pytest

import espalier as es

DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?", "M8[ns]", "M8[D]", "m8[us]"]
TEXT = ["U3", "S3"]


def column(dtype):
    """Values of the type with an equal pair, in no order."""
    numbers = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    if dtype == "?":
        return numbers % 2 == 1
    return numbers.astype("U1").astype(dtype) if dtype in TEXT else numbers.astype("i8").astype(dtype)


def strided(a):
    wide = np.empty(2 * len(a), dtype=a.dtype)
    wide[::2], wide[1::2] = a, a[::-1]
    return wide[::2]


def read_only(a):
    copy = a.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = {
    "contiguous": lambda a: a,
    "strided": strided,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "column of a matrix": lambda a: np.stack([a, a[::-1]], axis=1)[:, 0],
    "read-only": read_only,
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), dtype=np.uint8)[1:].view(a.dtype),
    "empty": lambda a: strided(a)[:0],
    "masked without a mask": np.ma.asarray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES + TEXT)
def test_answers_do_not_depend_on_the_layout(dtype, layout):
    plain = column(dtype)
    given = LAYOUTS[layout](plain)
    plain = plain[: len(given)]
    assert layout in ("contiguous", "read-only", "masked without a mask") or not given.flags.c_contiguous or (
        layout in ("empty", "unaligned", "reversed", "column of a matrix")
    )
    rows = np.arange(len(plain))
    order = np.argsort(plain, kind="stable")
    for keys, queries in ((given, plain), (plain, given), (given, given)):
        if len(plain) == 0 and dtype in TEXT and keys is not given:
            continue
        ix = es.Index(keys, values=rows, keep="all")
        assert len(ix) == len(plain)
        np.testing.assert_array_equal(ix.searchsorted(queries), np.searchsorted(plain[order], plain))
        np.testing.assert_array_equal(ix.contains(queries), np.ones(len(plain), bool))
        first = [int(np.flatnonzero(plain == q)[0]) for q in plain]
        assert ix.get_indexer(queries).tolist() == first and ix.find(queries).tolist() == first
        assert ix.count(queries, queries).tolist() == [int((plain == q).sum()) for q in plain]
        assert ix.range(queries, queries)[0][-1] == sum(int((plain == q).sum()) for q in plain)
        np.testing.assert_array_equal(ix.asof(queries)[1], np.ones(len(plain), bool))
        m = es.SortedMap({"U3": "str", "S3": "bytes"}.get(dtype, dtype), "i8")
        m.update(keys, rows)
        expected = dict(zip(plain.tolist(), rows.tolist()))
        assert len(m) == len(expected) and m.find(queries).tolist() == [expected[q] for q in plain.tolist()]
        assert m.insert(queries, rows).tolist() == [False] * len(plain)
        if dtype not in TEXT:
            ops = np.full(len(plain), "find")
            assert m.apply(ops, queries)[0].tolist() == m.find(plain).tolist()
        assert m.discard(queries).sum() == len(expected) and len(m) == 0
    if dtype not in TEXT:
        values = es.Index(rows, values=given, keep="min,max")
        np.testing.assert_array_equal(values.find(rows), plain)
        m = es.SortedMap("i8", dtype)
        m.update(rows, given)
        np.testing.assert_array_equal(m.values(), plain)
        assert m.replace(rows, given).all()


@pytest.mark.parametrize("dtype", DTYPES + TEXT)
def test_maps_refuse_arrays_without_a_dimension(dtype):
    one, row = np.array(column(dtype)[0]), np.array(0)
    m = es.SortedMap({"U3": "str", "S3": "bytes"}.get(dtype, dtype), "i8")
    for call in (
        lambda: m.update(one, row),
        lambda: m.update(column(dtype), row),
        lambda: m.insert(one, row),
        lambda: m.discard(one),
        lambda: m.find(one, default=0),
        lambda: m.contains(one),
        lambda: m.count(one, one),
    ):
        with pytest.raises(ValueError, match="0 dimensions"):
            call()
    assert len(m) == 0


@pytest.mark.parametrize("dtype", DTYPES + TEXT)
def test_layouts_that_are_refused(dtype):
    plain = column(dtype)
    kind = {"U3": "str", "S3": "bytes"}.get(dtype, dtype)
    ix, m = es.Index(plain), es.SortedMap(kind, "i8")
    bad = {"0 dimensions|scalar": np.array(plain[0]), "2 dimensions": plain.reshape(2, 4)}
    if dtype not in ("u1", "i1", "?", "S3"):
        bad["big-endian"] = plain.astype(plain.dtype.newbyteorder(">"))
    if dtype not in TEXT:
        bad["object"] = plain.astype(object)
    for text, keys in bad.items():
        calls = [lambda: es.Index(keys), lambda: ix.searchsorted(keys), lambda: m.update(keys, np.zeros(8, dtype="i8"))]
        for call in calls if "0 dim" not in text else calls[:1]:
            with pytest.raises((TypeError, ValueError), match=text):
                call()
    with pytest.raises(ValueError, match="masked|NULL"):
        es.Index(np.ma.MaskedArray(plain, mask=plain == plain[1]))
    with pytest.raises(ValueError, match="same length"):
        es.Index(plain, values=np.zeros(3))
    with pytest.raises(ValueError, match="same length"):
        m.update(plain, np.zeros(3, dtype="i8"))
    assert len(m) == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan(dtype):
    keys = np.array([2, np.nan, 1, np.nan], dtype=dtype)
    ix, m = es.Index(keys[::-1]), es.SortedMap(dtype, dtype)
    m.update(keys[::-1], keys[::-1])
    assert ix.searchsorted(keys).tolist() == [1, 2, 0, 2] and ix.count(np.nan, np.nan) == 2 and len(m) == 3
    np.testing.assert_array_equal(m.find(keys), keys)
    assert np.isnan(m.peekitem()[1]) and m.searchsorted(keys, "right").tolist() == [2, 3, 1, 3]


@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[D]", "m8[us]"])
def test_nat(dtype):
    keys = np.array([2, -(2**63), 1]).view(dtype)
    m = es.SortedMap(dtype, dtype)
    for call in (lambda: es.Index(keys), lambda: m.update(keys, keys), lambda: m.insert(keys[::-1], keys)):
        with pytest.raises(ValueError, match="NaT|not a value"):
            call()
    m.update(keys[::2], keys[1:])
    assert np.isnat(m[keys[0]]) == np.isnat(keys[1]) and m.contains(keys).tolist() == [True, False, True]
    ix = es.Index(keys[::2])
    five = np.full(3, 5).view(dtype)
    assert ix.get_indexer(keys).tolist() == [0, -1, 1]
    assert m.find(keys, default=np.array("NaT", dtype)[()]).tolist()[0] is None
    for tree in (ix, m):
        assert tree.searchsorted(keys).tolist() == [1, 2, 0] and tree.searchsorted(keys[1:2], "right").tolist() == [2]
        assert tree.count(keys, five).tolist() == [1, 0, 2] and tree.count(np.zeros(3, "i8").view(dtype), keys)[1] == 0
        assert tree.range(keys, five)[0].tolist() == [0, 1, 1, 3]
        assert tree.successor(keys)[2].tolist() == [False, False, True]
        assert tree.predecessor(keys)[2].tolist() == [True, False, False]
    assert m.lower_bound(keys)[2].tolist() == [True, False, True] and m.discard(keys[1:2]).tolist() == [False]
    for direction in ("backward", "forward", "nearest"):
        assert ix.asof(keys, direction)[1].tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_queries_match_nothing(dtype):
    plain = column(dtype)
    asked = np.ma.MaskedArray(plain, mask=[True] + [False] * (len(plain) - 1))
    ix, m = es.Index(plain), es.SortedMap(dtype, "i8", (plain, np.arange(len(plain))))
    for tree in (ix, m):
        assert tree.contains(asked).tolist() == [False] + [True] * (len(plain) - 1)
        assert tree.count(asked, asked)[0] == 0 and tree.find(asked, default=-1)[0] == -1
    with pytest.raises(ValueError, match="not a value|NULL"):
        m.update(asked, np.arange(len(plain)))
