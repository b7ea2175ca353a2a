"""What is taken as a column, what is shared, and what is refused by name."""

import array

import numpy as np
import pytest

import espalier as es
from espalier import _core

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "bool", "M8[ns]", "M8[D]", "m8[us]"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_is_shared(dtype):
    keys = np.arange(10).astype("i8").astype(dtype)
    read = _core.describe(keys)
    assert read["address"] == keys.ctypes.data and read["shared"] and read["dtype"] == keys.dtype.name
    part = _core.describe(keys[3:7])
    assert part["address"] == keys[3:].ctypes.data and part["size"] == 4
    keys.flags.writeable = False
    assert _core.describe(keys)["shared"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_other_layouts_are_copied(dtype):
    keys = np.arange(10).astype("i8").astype(dtype)
    for view in (keys[::2], keys[::-1], np.broadcast_to(keys[1], 5), keys[:0]):
        read = _core.describe(view)
        expected = view.view("i8") if view.dtype.kind in "mM" and view.flags.c_contiguous else view.astype("i8")
        assert read["values"].astype("i8").tolist() == expected.tolist()
    unaligned = np.frombuffer(b"\0" + keys.tobytes(), dtype=np.uint8)[1:].view(keys.dtype)
    read = _core.describe(unaligned)
    assert read["values"].astype("i8").tolist() == keys.astype("i8").tolist()
    assert es.Index(unaligned).get_indexer(keys).tolist() == es.Index(keys).get_indexer(keys).tolist()


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int16, pl.Int32, pl.UInt64, pl.Float32, pl.Float64])
def test_polars_numbers_are_shared(dtype):
    s = pl.Series(range(100), dtype=dtype)
    assert _core.describe(s)["address"] == s.to_numpy(allow_copy=False).ctypes.data
    part = s.slice(10, 20)
    assert _core.describe(part)["address"] == part.to_numpy(allow_copy=False).ctypes.data
    ix = es.Index(s)
    for answer in (
        ix.searchsorted(s),
        ix.get_indexer(s),
        ix.contains(s),
        ix.count(s, s),
        *ix.asof(s),
        *ix.range(s, s),
    ):
        assert isinstance(answer, pl.Series)
    assert ix.get_indexer(s).to_list() == list(range(100))


def test_polars_other_types():
    texts = pl.Series(["b", None, "a" * 30, "c"])
    assert _core.describe(texts)["values"] == ["b", None, "a" * 30, "c"]
    assert _core.describe(texts.slice(1, 2))["values"] == [None, "a" * 30]
    assert _core.describe(texts.cast(pl.Categorical))["values"] == ["b", None, "a" * 30, "c"]
    assert _core.describe(pl.Series([b"x", b"\0"]))["values"] == [b"x", b"\0"]
    flags = _core.describe(pl.Series([True, False, None] * 5))
    assert flags["dtype"] == "bool" and flags["nulls"] == 5 and flags["values"][:2].tolist() == [True, False]
    dates = _core.describe(pl.Series(["2024-02-03"]).str.to_date())
    assert dates["dtype"] == "datetime64[D]"
    moments = pl.Series(["2024-02-03 04:05:06"]).str.to_datetime(time_zone="UTC")
    assert _core.describe(moments)["timezone"] == "UTC"
    chunked = pl.concat([pl.Series([1, None]), pl.Series([3])], rechunk=False)
    assert _core.describe(chunked)["valid"].tolist() == [True, False, True]
    ix = es.Index(pl.Series(["b", "a"]))
    assert ix.get_indexer(pl.Series(["a", None, "z"])).to_list() == [1, -1, -1]
    days = es.Index(pl.Series(["2024-02-03", "2024-02-01"]).str.to_date())
    assert days.get_indexer(pl.Series(["2024-02-01"]).str.to_datetime()).to_list() == [1]
    assert isinstance(days.successor(pl.Series(["2024-02-01"]).str.to_date())[0], pl.Series)


def test_pandas():
    s = pd.Series([3.0, 1.0, 2.0])
    assert _core.describe(s)["address"] == s.to_numpy().ctypes.data
    ix = es.Index(s)
    assert isinstance(ix.get_indexer(s), np.ndarray) and ix.get_indexer(s).tolist() == [0, 1, 2]
    assert _core.describe(pd.Index([3, 1]))["shared"]
    nullable = _core.describe(pd.Series([1, None, 3], dtype="Int32"))
    assert nullable["dtype"] == "int32" and nullable["nulls"] == 1
    assert _core.describe(pd.Series(["x", None]))["values"] == ["x", None]
    assert _core.describe(pd.Series(["x", "y"], dtype="category"))["values"] == ["x", "y"]
    zoned = pd.Series(pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin"))
    ix = es.Index(zoned)
    assert ix.get_indexer(zoned).tolist() == [0, 1, 2] and zoned[1] in ix
    assert pd.Timestamp("2023-12-31 23:00") in ix
    with pytest.raises(TypeError, match="DataFrame"):
        es.Index(pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize("dtype", ["str", "string[pyarrow]", "large_string[pyarrow]"])
def test_strings_of_pandas_are_shared(dtype):
    pa = pytest.importorskip("pyarrow")
    dtype = pd.ArrowDtype(pa.large_string()) if dtype.startswith("large") else dtype
    texts = pd.Series(["b", "a" * 30, None, "", "b"], dtype=dtype)
    buffers = texts.array.__arrow_array__().chunk(0).buffers()
    read = _core.describe(texts)
    assert read["address"] == buffers[2].address and read["offsets"] == buffers[1].address
    assert read["values"] == ["b", "a" * 30, None, "", "b"] and read["origin"] == "pandas"
    part = _core.describe(texts[1:3])
    assert part["address"] == buffers[2].address and part["values"] == ["a" * 30, None]
    chunked = _core.describe(pd.concat([texts, texts]))
    assert chunked["values"] == read["values"] * 2 and not chunked["shared"]
    ix = es.Index(texts.dropna())
    assert ix.get_indexer(texts).tolist() == [0, 1, -1, 2, 0]
    assert es.Index(pd.Index(["x", "y"], dtype=dtype)).get_indexer("y") == 1


def test_arrow_types_of_pandas():
    pa = pytest.importorskip("pyarrow")
    numbers = pd.Series([1, None, 3], dtype="int32[pyarrow]")
    read = _core.describe(numbers)
    assert read["dtype"] == "int32" and read["nulls"] == 1
    assert read["address"] == numbers.array.__arrow_array__().chunk(0).buffers()[1].address
    moments = pd.Series([0, 1]).astype(pd.ArrowDtype(pa.timestamp("ms", "Europe/Berlin")))
    read = _core.describe(moments)
    assert read["dtype"] == "datetime64[ms]" and read["timezone"] == "Europe/Berlin"
    assert isinstance(es.Index(numbers.dropna()).get_indexer(numbers), np.ndarray)


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    numbers = pa.array([1, 2, 3, None])
    assert _core.describe(numbers)["address"] == numbers.buffers()[1].address
    assert _core.describe(numbers.slice(1))["address"] == numbers.buffers()[1].address + 8
    assert _core.describe(numbers.slice(1))["valid"].tolist() == [True, True, False]
    for kind in (pa.string(), pa.large_string()):
        texts = pa.array(["a", "bc", None, ""], type=kind)
        read = _core.describe(texts)
        assert read["values"] == ["a", "bc", None, ""] and read["address"] == texts.buffers()[2].address
        assert read["offsets"] == texts.buffers()[1].address
        assert _core.describe(texts.slice(1, 2))["values"] == ["bc", None]
    views = pa.array(["a", "b" * 40, None], type=pa.string_view())
    assert _core.describe(views)["values"] == ["a", "b" * 40, None]
    coded = pa.array(["x", None, "y", "x"]).dictionary_encode()
    assert _core.describe(coded)["values"] == ["x", None, "y", "x"]
    assert _core.describe(pa.chunked_array([coded, pa.array(["z"]).dictionary_encode()]))["values"][-1] == "z"
    assert _core.describe(pa.array([], type=pa.string()))["values"] == []
    assert _core.describe(pa.chunked_array([], type=pa.int64()))["size"] == 0
    assert _core.describe(pa.array([1, 2], type=pa.time32("s")))["dtype"] == "timedelta64[s]"
    assert isinstance(es.Index([1]).get_indexer(pa.array([1])), pa.Array)
    for refused in (
        pa.array([[1]]),
        pa.array([1], type=pa.decimal128(9)),
        pa.array([{"a": 1}]),
        pa.table({"a": [1]}),
    ):
        with pytest.raises(TypeError, match="Arrow format|table or a struct"):
            es.Index(refused)


def test_buffers_lists_and_dlpack():
    assert es.Index(array.array("d", [2.0, 1.0])).dtype == np.float64
    assert es.Index(memoryview(np.array([2, 1], dtype=np.uint16))).dtype == np.uint16
    assert es.Index(range(10, 0, -1)).get_indexer([1, 10]).tolist() == [9, 0]
    assert es.Index((True, False)).dtype == bool

    class Tensor:  # what torch and JAX offer
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **arguments):
            return self.data.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    data = np.array([1.5, 2.5])
    assert _core.describe(Tensor(data))["address"] == data.ctypes.data


@pytest.mark.parametrize(
    "bad, error, text",
    [
        (np.array([1, 2], dtype=">i4"), TypeError, "big-endian.*>i4"),
        (np.array([object()]), TypeError, "object"),
        (np.array(3), ValueError, "0 dimensions"),
        (np.zeros((2, 2)), ValueError, "2 dimensions"),
        (np.zeros(2, dtype="f2"), TypeError, "float16"),
        (np.zeros(2, dtype="c8"), TypeError, "complex64"),
        (np.zeros(2, dtype="M8"), TypeError, "without a unit"),
        (np.zeros(2, dtype=[("a", "i4")]), TypeError, "dtype"),
        (np.zeros(2, dtype="V3"), TypeError, "V3"),
        (5, TypeError, "scalar of type int"),
        (None, TypeError, "NoneType"),
        ({1: 2}, TypeError, "dict"),
        ([1, "a"], TypeError, "int, str"),
        (["a", 1], TypeError, "int"),
        (["a", b"b"], TypeError, "bytes"),
        ([[1], [2]], ValueError, "dimensions"),
        ([{}], TypeError, "dict"),
        (np.array(["NaT", "2024-01-01"], dtype="M8[s]"), ValueError, "row 0 is NaT"),
        ([1, None], ValueError, "row 1 is NULL"),
        (np.ma.MaskedArray([1, 2], mask=[False, True]), ValueError, "row 1 is NULL"),
        (pl.Series([1, None]), ValueError, "row 1 is NULL"),
    ],
)
def test_refused_keys(bad, error, text):
    with pytest.raises(error, match=text):
        es.Index(bad)


def test_refused_arguments():
    with pytest.raises(ValueError, match="values has 1 elements, and keys has 2"):
        es.Index([1, 2], values=[1.0])
    with pytest.raises(TypeError, match="values have the type str"):
        es.Index([1], values=["a"])
    with pytest.raises(ValueError, match="values contain NULL"):
        es.Index([1, 2], values=[1, None])
    with pytest.raises(ValueError, match="keep: 'median'"):
        es.Index([1], keep="median")
    ix = es.Index([1, 2])
    for call, text in (
        (lambda: ix.searchsorted([1], side="middle"), "side"),
        (lambda: ix.asof([1], direction="up"), "direction"),
        (lambda: ix.asof([1], tolerance=-1), "negative"),
        (lambda: ix.count([1], [2], closed="open"), "closed"),
        (lambda: ix.count([1, 2], [2, 3, 4]), "same length"),
        (lambda: ix.count(np.array([1, 2]), np.array([2, 3, 4])), "same length"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    for queries in (
        ["a"],
        np.array([object()]),
        np.array([1], dtype=">i8"),
        np.array(["2024"], dtype="M8[s]"),
        {},
        [1j],
    ):
        with pytest.raises(TypeError):
            ix.searchsorted(queries)
    with pytest.raises(TypeError):
        ix.asof([1], tolerance="5s")


def test_used_arrow_capsules_are_refused():
    """A capsule gives its data once."""

    class Again:
        def __init__(self, capsules, name):
            self.capsules = capsules
            setattr(type(self), name, lambda self, *_: self.capsules)

    for make, name in (
        (lambda: pl.Series([1, 2]).__arrow_c_stream__(), "__arrow_c_stream__"),
        (lambda: pytest.importorskip("pyarrow").array([1, 2]).__arrow_c_array__(), "__arrow_c_array__"),
    ):
        again = type("Again", (Again,), {})(make(), name)
        assert len(es.Index(again)) == 2
        for call in (lambda: es.Index(again), lambda: es.Index([1, 2], again), lambda: es.Index([1]).find(again)):
            with pytest.raises(ValueError, match="Arrow capsule that was already used"):
                call()


@pytest.mark.parametrize("bad", [[2**63 + 1, -1], (2**64,), [-(2**63) - 1], [None, 2**63, -5], [np.uint64(2**63), -1]])
def test_lists_of_integers_that_no_type_holds(bad):
    holding = es.Index([1, 2], [3, 4])
    for call in (
        lambda: es.Index(bad),
        lambda: es.Index([1] * len(bad), bad),
        lambda: es.SortedMap("i8", "i8").update([1] * len(bad), bad),
    ):
        with pytest.raises(OverflowError, match="neither int64 nor uint64"):
            call()
    with pytest.raises(ValueError, match="not a value of dtype int64"):
        es.SortedMap("i8", "i8").update(bad, [1] * len(bad))
    # Queries are compared element by element.
    assert holding.contains(bad).tolist() == es.Index([1.5]).contains(bad).tolist() == [False] * len(bad)
    assert holding.find(bad, default=0).tolist() == [0] * len(bad)
    ranks = [0 if q is not None and q < 0 else 2 for q in bad]
    assert holding.searchsorted(bad).tolist() == ranks
    assert holding.count(bad, bad).tolist() == [0] * len(bad)


def test_lists_of_large_integers():
    assert es.Index([2**63 + 1, 0]).dtype == np.uint64 and 2**63 + 1 in es.Index([2**63 + 1, 0])
    assert es.Index([np.uint64(7), np.int64(-1)]).dtype == np.int64
    assert es.Index([2**63, 0.5]).dtype == np.float64
    assert es.Index([True, 2]).dtype == np.int64


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "string[python]", "str", "object", "category"])
def test_null_strings_of_pandas(dtype):
    texts = pd.Series(["b", None, "a"], dtype=dtype)
    with pytest.raises(ValueError, match="row 1 is NULL"):
        es.Index(texts)
    assert es.Index(texts.dropna()).get_indexer("a") == 1
    if dtype not in ("object", "category"):  # without a string, objects have no type
        assert len(es.Index(texts[:0])) == 0
        with pytest.raises(ValueError, match="row 0 is NULL"):
            es.Index(texts[1:2])
    with pytest.raises(ValueError, match="row 1 is NULL"):
        es.Index(pd.Series(["b", pd.NA, "a"], dtype="object"))


@pytest.mark.parametrize("kind", ["numbers", "map", "text"])
def test_limits_of_ranges(kind):
    tree = {
        "numbers": lambda: es.Index([1, 2]),
        "map": lambda: es.SortedMap("i8", "i8", {1: 3}),
        "text": lambda: es.Index(["a", "b"]),
    }[kind]()
    ends = ("a", "b") if kind == "text" else (1, 2)
    for call in [tree.range] + ([lambda *_, limit: tree.prefix("a", limit)] if ends[0] == "a" else []):
        with pytest.raises(ValueError, match="limit is -1: it must not be negative"):
            call(*ends, limit=-1)
        with pytest.raises(ValueError, match="negative"):
            call(*ends, limit=-(2**70))
        with pytest.raises(TypeError, match="limit is of type float"):
            call(*ends, limit=1.5)
        call(*ends, limit=2**70)
        call(*ends, limit=np.int64(1))
        call(*ends, limit=0)


def test_device_memory_is_refused():
    class OnDevice:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (0, False), "version": 3}

    with pytest.raises(ValueError, match="GPU"):  # none, no GPU code in this build, or not an address there
        es.Index(OnDevice())
    with pytest.raises(TypeError, match="memory of a GPU"):
        es.Index([1.0]).contains(OnDevice())
