"""Frames in and out: types, units, zones, chunks, categories, names, errors."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from join_cases import KINDS, frame, kind_of, lists

import espalier as es


def times(unit, *seconds):
    return pl.Series([round(s * {"ms": 1e3, "us": 1e6, "ns": 1e9}[unit]) for s in seconds]).cast(pl.Datetime(unit))


@pytest.mark.parametrize(
    "tolerance",
    (
        "2s",
        "2000ms",
        "1s1000ms",
        dt.timedelta(seconds=2),
        np.timedelta64(2, "s"),
        np.timedelta64(2000, "ms"),
        pd.Timedelta("2s"),
    ),
)
@pytest.mark.parametrize("units", (("ms", "ms"), ("us", "ns"), ("ns", "ms")))
def test_tolerances_of_times(tolerance, units):
    left = pl.DataFrame({"t": times(units[0], 10, 20, 30)})
    right = pl.DataFrame({"t": times(units[1], 8, 17.9, 30), "v": [1, 2, 3]})
    for kind in (lambda f: f, lambda f: f.to_pandas(), lambda f: pa.table(f)):
        answer = es.join_asof(kind(left), kind(right), on="t", tolerance=tolerance)
        assert lists(answer)["v"] == [1, None, 3]
        prepared = es.prepare(kind(right), on="t")
        assert lists(es.join_asof(kind(left), prepared, on="t", tolerance=tolerance))["v"] == [1, None, 3]
    assert answer.schema.field("t").type == pa.table(left).schema.field("t").type


def test_numbers_as_tolerances_of_times():
    left, right = pl.DataFrame({"t": times("ms", 10)}), pl.DataFrame({"t": times("ms", 8), "v": [1]})
    assert es.join_asof(left, right, on="t", tolerance=2000)["v"].item() == 1
    assert es.join_asof(left, right, on="t", tolerance=1999)["v"].item() is None
    with pytest.raises(TypeError, match="different units"):
        es.join_asof(left, right.with_columns(pl.col("t").cast(pl.Datetime("ns"))), on="t", tolerance=2000)


def test_tolerance_between_two_units_is_exact():
    left, right = pl.DataFrame({"t": times("ms", 10)}), pl.DataFrame({"t": times("ms", 8), "v": [1]})
    assert es.join_asof(left, right, on="t", tolerance="2000000us1ns")["v"].item() == 1
    assert es.join_asof(left, right, on="t", tolerance="1999999999ns")["v"].item() is None


@pytest.mark.parametrize(
    "text, error",
    (
        ("5 s", ValueError),
        ("1mo", ValueError),
        ("", ValueError),
        ("-5s", ValueError),
        ("5x", ValueError),
        (True, TypeError),
        (np.timedelta64("NaT"), ValueError),
        ([1], TypeError),
        (float("nan"), ValueError),
    ),
)
def test_wrong_tolerances(text, error):
    left = pl.DataFrame({"t": times("ms", 10)})
    with pytest.raises(error, match="[Tt]olerance"):
        es.join_asof(left, left, on="t", tolerance=text)


def test_zones_compare_instants():
    naive = pl.DataFrame({"t": times("us", 3600, 7200)})
    berlin = naive.with_columns(pl.col("t").dt.replace_time_zone("Europe/Berlin"), v=pl.Series([1, 2]))
    utc = naive.with_columns(pl.col("t").dt.replace_time_zone("UTC"))
    assert es.join_asof(utc, berlin, on="t")["v"].to_list() == [2, 2]  # 01:00 and 02:00 in Berlin are 00:00 and 01:00
    assert lists(es.join_asof(utc.to_pandas(), berlin.to_pandas(), on="t"))["v"] == [2, 2]
    for left, right in ((naive, berlin), (utc, naive)):
        with pytest.raises(TypeError, match="time zone"):
            es.join_asof(left, right, on="t")


def test_times_that_do_not_fit_into_the_finer_unit():
    far = pl.DataFrame({"t": [dt.datetime(9999, 12, 31), dt.datetime(2020, 1, 2)]})
    right = pl.DataFrame({"t": pl.Series([dt.datetime(2020, 1, 1)]).cast(pl.Datetime("ns")), "v": [1]})
    assert es.join_asof(far, right, on="t")["v"].to_list() == [1, 1]
    with pytest.raises(ValueError, match="no exact equal"):
        es.join_asof(far, right.with_columns(pl.col("t") + pl.duration(nanoseconds=1)), on="t")


def test_dates_times_and_durations():
    days = pl.DataFrame({"t": [dt.date(2020, 1, 3), None]})
    right = pl.DataFrame({"t": [dt.datetime(2020, 1, 2, 12), dt.datetime(2020, 1, 3, 1)], "v": [1, 2]})
    assert es.join_asof(days, right, on="t")["v"].to_list() == [1, None]
    assert es.join_asof(days, right, on="t", tolerance="12h")["v"].to_list() == [1, None]
    assert es.join_asof(days, right, on="t", tolerance="11h")["v"].to_list() == [None, None]
    assert es.join_asof(days, days.with_columns(v=1), on="t", tolerance="3d")["v"].to_list() == [1, None]
    clock = pl.DataFrame({"t": [dt.time(10), dt.time(9)], "v": [1, 2]})
    assert es.join_asof(clock, clock, on="t", allow_exact_matches=False)["v_right"].to_list() == [2, None]
    spans = pl.DataFrame({"t": [dt.timedelta(seconds=1)], "v": [1]})
    assert es.join_asof(spans, spans, on="t")["v_right"].item() == 1
    with pytest.raises(TypeError, match="different meanings"):
        es.join_asof(days, clock, on="t")


def test_nat_and_numpy_units():
    left = {"t": np.array(["2020-01-01", "NaT", "2020-03-01"], "M8[D]")}
    right = {"t": np.array(["NaT", "2020-01-01T00:00:00"], "M8[ns]"), "v": np.array([1, 2])}
    assert es.join_asof(left, right, on="t")["v"].tolist() == [2, None, 2]
    assert es.join_asof(left, right, on="t", tolerance="1d")["v"].tolist() == [2, None, None]


BY = {
    "int8": pl.Series([1, 2, None, 3], dtype=pl.Int8),
    "uint64": pl.Series([1, 2, None, 2**63], dtype=pl.UInt64),
    "float": pl.Series([1.5, -0.0, None, 2.5]),
    "bool": pl.Series([True, False, None, True]),
    "date": pl.Series([dt.date(2020, 1, d) for d in (1, 2)] + [None, dt.date(2020, 1, 3)]),
    "datetime": pl.Series([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 3)]),
    "string": pl.Series(["a", "b" * 30, None, ""]),
    "binary": pl.Series([b"a", b"b", None, b""]),
    "category": pl.Series(["a", "b", None, "c"], dtype=pl.Categorical),
    "enum": pl.Series(["a", "b", None, "c"], dtype=pl.Enum(["a", "b", "c"])),
    "decimal": pl.Series([1, 2, None, 3]).cast(pl.Decimal(10, 2)),
}


@pytest.mark.parametrize("name", BY)
@pytest.mark.parametrize("kind", KINDS)
def test_by_columns(name, kind):
    series = BY[name]
    made = pl.DataFrame({"t": [5, 5, 5, 5], "g": series})
    other = made.reverse().with_columns(t=pl.lit(1), v=pl.Series([3, 2, 1, 0]))
    if kind == "polars":
        left, right = made, other
    elif kind == "pyarrow":
        left, right = pa.table(made), pa.table(other)
    elif kind == "pandas":
        if name in ("binary", "decimal", "date", "bool"):
            pytest.skip("pandas has objects for these")
        left, right = made.to_pandas(), other.to_pandas()
    else:
        if name in ("binary", "decimal", "category", "enum", "uint64", "int8", "bool"):
            pytest.skip("NumPy has no NULL for these")
        left, right = frame("dict", made.to_dict(as_series=False)), frame("dict", other.to_dict(as_series=False))
    wanted = [0, 1, None, 0 if name == "bool" else 3]
    assert lists(es.join_asof(left, right, on="t", by="g"))["v"] == wanted
    assert lists(es.join_asof(left, es.prepare(right, "t", "g"), on="t"))["v"] == wanted


def test_strings_and_categories_are_equal():
    left = pl.DataFrame({"t": [5, 5, 5], "g": ["a", "b", None]})
    right = pl.DataFrame({"t": [1, 1], "g": pl.Series(["b", "a"], dtype=pl.Categorical), "v": [1, 2]})
    assert es.join_asof(left, right, on="t", by="g")["v"].to_list() == [2, 1, None]
    assert es.join_asof(left, es.prepare(right, "t", "g"), on="t")["v"].to_list() == [2, 1, None]
    pandas = left.to_pandas()
    pandas["g"] = pandas["g"].astype("category")
    assert lists(es.join_asof(pandas, right, on="t", by="g"))["v"] == [2, 1, None]


@pytest.mark.parametrize("left_kind", KINDS)
@pytest.mark.parametrize("right_kind", KINDS)
def test_frames_of_two_libraries(left_kind, right_kind):
    left = frame(left_kind, {"t": [3, 1, 2]})
    right = frame(right_kind, {"t": [2, 3], "v": [1.5, 2.5], "s": ["x", "y"]})
    for side in (right, es.prepare(right, "t")):
        answer = es.join_asof(left, side, on="t")
        assert kind_of(answer) == left_kind
        assert lists(answer)["v"] == [2.5, None, 1.5] and lists(answer)["s"] == ["y", None, "x"]


def test_every_payload_of_polars():
    right = pl.DataFrame({name: series for name, series in BY.items()}).with_columns(
        t=pl.Series([1, 2, 3, 4]),
        l=pl.Series([[1], [2, 3], None, []]),
        st=pl.Series([{"a": 1}] * 4),
        dur=pl.Series([1, 2, None, 3]).cast(pl.Duration("us")),
        f32=pl.Series([1, 2, None, 3], dtype=pl.Float32),
        time=pl.Series([dt.time(1), None, dt.time(2), dt.time(3)]),
        zone=times("us", 1, 2, 3, 4).dt.replace_time_zone("UTC"),
        null=pl.Series([None] * 4),
        i128=pl.Series([1, 2, None, 4], dtype=pl.Int128),
    )
    left = pl.DataFrame({"t": [4, 0, 2, 3, 3]})
    answer = es.join_asof(left, right, on="t")
    expected = left.with_row_index("n").sort("t").join_asof(right, on="t").sort("n").drop("n").select(answer.columns)
    assert answer.schema == expected.schema
    assert answer.equals(expected)
    chunked = pl.concat([right[:2], right[2:]], rechunk=False)
    assert es.join_asof(left, chunked, on="t").equals(expected)
    table = pa.table(right.drop("i128", "st", "null", "decimal"))
    several = pa.concat_tables([table.slice(0, 1), table.slice(1, 2), table.slice(3)])
    for t in (table, several):
        assert (
            pl.DataFrame(es.join_asof(pa.table(left), t, on="t"))
            .select(pl.col("string", "l", "bool", "f32"))
            .equals(expected.select(pl.col("string", "l", "bool", "f32")))
        )


def test_every_payload_of_pandas():
    right = pd.DataFrame(
        {
            "t": [1, 2, 3],
            "i": [1, 2, 3],
            "b": [True, False, True],
            "f": [1.0, np.nan, 3],
            "s": ["a", None, "c"],
            "o": [object, 1, "x"],
            "c": pd.Categorical(["a", "b", "a"]),
            "n": pd.array([1, None, 3], "Int64"),
            "d": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "z": pd.to_datetime(["2020-01-01", None, "2020-01-03"]).tz_localize("Europe/Berlin"),
            "p": pd.period_range("2020-01", periods=3, freq="M"),
            "x": [1 + 2j, 0, 1j],
        }
    )
    for keys in ([0, 1, 3], [1, 2, 3], []):
        left = pd.DataFrame({"t": np.array(keys, dtype=np.int64), "k": np.arange(len(keys)) * 1.5})
        expected = pd.merge_asof(left, right, on="t")
        pd.testing.assert_frame_equal(es.join_asof(left, right, on="t"), expected)
    source = left.copy()
    answer = es.join_asof(left, right, on="t")
    answer["k"] = 7.0
    pd.testing.assert_frame_equal(left, source)


def test_answers_do_not_share_memory_that_can_be_written():
    left = pd.DataFrame({"t": [1, 2]})
    answer = es.join_asof(left, pd.DataFrame({"t": [1, 2], "v": [1, 2]}), on="t")
    answer.loc[0, "t"] = 99
    assert left["t"].tolist() == [1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_names(kind):
    left = frame(kind, {"t": [5], "g": [1], "v": [0]})
    right = frame(kind, {"time": [4], "h": [1], "v": [7]})
    answer = lists(es.join_asof(left, right, left_on="t", right_on="time", by_left="g", by_right="h"))
    assert answer == {"t": [5], "g": [1], "v": [0], "time": [4], "h": [1], "v_right": [7]}
    prepared = es.prepare(right, "time", "h")
    assert lists(es.join_asof(left, prepared, left_on="t", by_left="g")) == answer
    assert list(lists(es.join_asof(left, right, left_on="t", right_on="time", suffix="2"))) == [
        "t",
        "g",
        "v",
        "time",
        "h",
        "v2",
    ]
    with pytest.raises(ValueError, match="two columns 'v'"):
        es.join_asof(left, right, left_on="t", right_on="time", suffix="")


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_columns(kind):
    left = frame(kind, {"t": [5], "s": ["x"], "g": [1]})
    right = frame(kind, {"t": [4], "s": ["x"], "g": [1.5]})
    for error, text, options in (
        (KeyError, "no column 'x'; it has 't', 's', 'g'", dict(on="x")),
        (TypeError, r"column 's' of the left frame \(dtype", dict(on="s")),
        (TypeError, "cannot be compared|`on` takes", dict(left_on="t", right_on="s")),
        (TypeError, "cannot be equal", dict(on="t", by_left="g", by_right="s")),
        (ValueError, "`by` is given for one side only", dict(on="t", by_left="g")),
        (ValueError, "pass either `on`", dict(on="t", left_on="t")),
        (ValueError, "`on` names one column", dict()),
        (ValueError, "not one of 'backward'", dict(on="t", strategy="up")),
        (ValueError, "2 columns of the left frame and 1", dict(on="t", by_left=["g", "s"], by_right="g")),
        (TypeError, "column name", dict(on=5)),
    ):
        with pytest.raises(error, match=text):
            es.join_asof(left, right, **options)
    for wrong in (5, None, [1], object(), pl.LazyFrame({"t": [1]}), pl.Series([1])):
        with pytest.raises(TypeError, match="the left frame"):
            es.join_asof(wrong, right, on="t")


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_contradict_a_prepared_side(kind):
    left = frame(kind, {"t": [5], "size": [100], "g": [1], "h": [2]})
    right = es.prepare(frame(kind, {"t": [4], "bid": [9], "size": [100], "g": [1], "h": [2]}), "t", ["g", "h"])

    def asof(**options):
        return lists(es.join_asof(left, right, **options))["bid"]

    def window(**options):
        return lists(es.join_window(left, right, window=(-1, 0), agg={"bid": "max"}, **options))["bid_max"]

    for join in (asof, window):
        for options in (
            dict(),
            dict(on="t"),
            dict(left_on="t"),
            dict(left_on="t", right_on="t", by=("g", "h")),
            dict(on="t", by_left=["g", "h"]),
            dict(left_on="t", by_left=["g", "h"], by_right=["g", "h"]),
        ):
            assert join(**options) == [9]
        for text, options in (
            ("`right_on` is 'bid', and the right side is prepared on 't'", dict(left_on="t", right_on="bid")),
            ("`on` is 'size', and the right side is prepared on 't'; name the left .* `left_on`", dict(on="size")),
            ("`by` is 'g', and the right side is prepared by 'g', 'h'", dict(on="t", by="g")),
            ("`by` is 'h', 'g', and the right side is prepared by 'g', 'h'", dict(on="t", by=["h", "g"])),
            ("`by_right` is 'h', 'g', and", dict(on="t", by_left=["h", "g"], by_right=["h", "g"])),
            ("`by` is no column, and", dict(on="t", by=[])),
            ("pass either `on`", dict(on="t", left_on="size")),
            ("`on` is given for one side only", dict(right_on="t")),
        ):
            with pytest.raises(ValueError, match=text):
                join(**options)
    with pytest.raises(ValueError, match="`by` is 'g', and the right side is prepared by no column; "):
        es.join_asof(left, es.prepare(frame(kind, {"t": [4], "g": [1]}), "t"), on="t", by="g")


def test_wrong_arrays():
    good = {"t": np.array([1, 2])}
    for error, text, values in (
        (TypeError, "byte order", np.array([1, 2], ">i8")),
        (ValueError, "2 dimensions", np.ones((2, 2))),
        (TypeError, "complex128", np.array([1j, 2])),
        (TypeError, "not strings", np.array([1, "a"], object)),
        (ValueError, "no dimension", np.array(5)),
        (TypeError, "float16", np.array([1, 2], "f2")),
    ):
        with pytest.raises(error, match=text):
            es.join_asof({"t": values}, good, on="t")
    with pytest.raises(ValueError, match="3 elements"):
        es.join_asof({"t": np.arange(2), "v": np.arange(3)}, good, on="t")
    strided = {"t": np.arange(10)[::-3], "v": np.arange(10)[::-3]}  # 9, 6, 3, 0
    readonly = np.array([4, 7])
    readonly.setflags(write=False)
    assert es.join_asof({"t": readonly}, strided, on="t")["v"].tolist() == [3, 6]


def test_prepared_appends_that_fail_change_nothing():
    prepared = es.prepare(pl.DataFrame({"t": [1], "g": ["a"], "v": [1]}), "t", "g")
    for wrong in (
        pl.DataFrame({"t": ["x"], "g": ["a"], "v": [1]}),
        pl.DataFrame({"t": [1], "g": ["a"]}),
        pl.DataFrame({"t": [2], "g": [1], "v": [1]}),
        pl.DataFrame({"t": [2], "g": ["a"], "v": ["x"]}),
        5,
    ):
        with pytest.raises((TypeError, ValueError, pl.exceptions.PolarsError)):
            prepared.append(wrong)
    assert len(prepared) == 1 and prepared.frame.height == 1
    prepared.append(pl.DataFrame({"t": [2], "g": ["b"], "v": [2]}))
    left = pl.DataFrame({"t": [5, 5, 5], "g": ["b", "a", "c"]})
    assert es.join_asof(left, prepared, on="t")["v"].to_list() == [2, 1, None]
    with pytest.raises(ValueError, match="prepared by"):
        es.join_asof(left, prepared, on="t", by_left=["g", "t"])
    assert "2 rows of polars" in repr(prepared) and prepared.nbytes > 0


def test_many_appends():
    for kind in KINDS:
        prepared = es.prepare(frame(kind, {"t": [0], "v": [0]}), "t")
        for i in range(1, 40):
            prepared.append(frame(kind, {"t": [i * 7 % 40], "v": [i]}))
        answer = lists(es.join_asof(frame(kind, {"t": list(range(40))}), prepared, on="t"))["v"]
        assert [i * 7 % 40 for i in answer] == list(range(40))


def test_threads_join_and_append():
    prepared = es.prepare(pl.DataFrame({"t": [0], "v": [0]}), "t")
    left = pl.DataFrame({"t": [10**9] * 1000})
    wrong: list[object] = []

    def join():
        for _ in range(60):
            found = es.join_asof(left, prepared, on="t")["v"].unique().to_list()
            if len(found) != 1 or found[0] is None:
                wrong.append(found)

    workers = [threading.Thread(target=join) for _ in range(3)]
    for w in workers:
        w.start()
    for i in range(1, 100):
        prepared.append(pl.DataFrame({"t": [i], "v": [i]}))
    for w in workers:
        w.join()
    assert not wrong and len(prepared) == 100


def test_polars_and_dicts_need_no_other_library():
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in refused: raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
refused = {"pandas", "pyarrow"}
import numpy as np, espalier as es, polars as pl, espalier.polars
l, r = pl.DataFrame({"t": [3], "g": ["a"]}), pl.DataFrame({"t": [1], "g": ["a"], "s": ["x"]})
assert l.es.join_asof(r, on="t", by="g")["s"].to_list() == ["x"]
assert es.join_asof({"t": np.array([3])}, {"t": np.array([1]), "v": np.array([2])}, on="t")["v"].tolist() == [2]
assert "pandas" not in sys.modules and "pyarrow" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyarrow", "polars"): raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import pandas as pd, espalier as es
l = pd.DataFrame({"t": [3, 3, 0], "g": ["a", "b", "a"]})
r = pd.DataFrame({"t": [1, 2], "g": ["a", "b"], "s": ["x", None], "c": pd.Categorical(["q", "r"])})
answer = es.join_asof(l, r, on="t", by="g")
assert answer["s"].isna().tolist() == [False, True, True] and answer["c"].tolist()[:2] == ["q", "r"]
answer = es.join_window(l, r, on="t", by="g", window=(-5, 0), agg={"s": ["first", "count"]})
assert answer["s_count"].tolist() == [1, 0, 0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_namespace_of_polars():
    import espalier.polars  # noqa: F401

    left, right = pl.DataFrame({"t": [3, 1]}), pl.DataFrame({"t": [2], "v": [7]})
    assert left.es.join_asof(right, on="t")["v"].to_list() == [7, None]
    assert left.es.join_asof(right.es.prepare("t"), on="t", strategy="forward")["v"].to_list() == [None, 7]
    assert left.es.join_window(right, "t", window=(-1, 1), agg={"v": "sum"})["v_sum"].to_list() == [7, 7]
    spans = pl.DataFrame({"a": [0], "b": [2]})
    assert left.es.join_between(spans, "t", "a", "b")["t"].to_list() == [1]
    assert spans.es.join_overlaps(spans, "a", "b").height == 1


def test_memory_does_not_grow():
    import resource

    left, right = pl.DataFrame({"t": [3, 1], "g": ["a", "b"]}), pl.DataFrame({"t": [2], "g": ["a"], "v": ["x" * 50]})
    pandas = left.to_pandas(), right.to_pandas()
    for i in range(1500):
        es.join_asof(left, right, on="t", by="g")
        if i % 10 == 0:
            es.join_asof(*pandas, on="t", by="g")
        if i == 300:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
