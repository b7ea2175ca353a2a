"""join_window(): which rows have a value, for columns of any type; integers next to NULLs; prepared sides."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from join_cases import frame, lists

import espalier as es

BIG = 2**53 + 1

COLUMNS = {
    "list": (pl.Series([[1], None, None, [2]], dtype=pl.List(pl.Int64)), 2),
    "array": (pl.Series([None, [1, 2], [3, 4], None], dtype=pl.Array(pl.Int64, 2)), 2),
    "struct": (pl.Series([None, {"x": 1}, None, {"x": None}], dtype=pl.Struct({"x": pl.Int64})), 2),
    "null": (pl.Series([None] * 4, dtype=pl.Null), 0),
    "decimal": (pl.Series(["1.5", None, "2.5", None]).cast(pl.Decimal(10, 2)), 2),
    "text": (pl.Series([None, "a", None, None], dtype=pl.String), 1),
    "category": (pl.Series([None, "a", "b", None], dtype=pl.Categorical), 2),
    "binary": (pl.Series([b"", None, None, None], dtype=pl.Binary), 1),
    "plain_list": (pl.Series([[1], [], [None], [2]], dtype=pl.List(pl.Int64)), 4),
}


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("first", [0, 1])  # a slice has an offset in its bitmap
def test_nulls_of_every_type(kind, name, first):
    values = COLUMNS[name][0][first:]
    table = pl.DataFrame({"t": list(range(first, 4)), "v": values})
    left = pl.DataFrame({"t": [3, -9]})
    if kind == "pyarrow":
        table, left = table.to_arrow(), left.to_arrow()
    present = [v for v in values.to_list() if v is not None]
    for side in (table, es.prepare(table, "t")):
        answer = lists(es.join_window(left, side, "t", window=(None, 0), agg={"v": ["count", "first", "last"]}))
        assert answer["v_count"] == [len(present), 0]
        assert answer["v_first"] == [present[0] if present else None, None]
        assert answer["v_last"] == [present[-1] if present else None, None]


def test_null_values_of_a_dictionary():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], pa.int8()), pa.array([None, "a"]))
    table = pa.table({"t": [0, 1, 2, 3], "v": values})
    answer = es.join_window(table, table, "t", window=(None, 0), agg={"v": "count"})
    assert answer["v_count"].to_pylist() == [0, 1, 1, 2]


def test_union_and_run_end_encoded_columns():
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    table = pa.table({"t": [0, 1], "u": union, "r": pa.array([1, None]).dictionary_encode()})
    answer = es.join_window(table, table, "t", window=(None, 0), agg={"u": "count", "r": "count"})
    assert answer["u_count"].to_pylist() == [1, 2] and answer["r_count"].to_pylist() == [1, 1]
    import pyarrow.compute as pc

    table = pa.table({"t": [0, 1], "r": pc.run_end_encode(pa.array([None, 1]))})
    with pytest.raises(TypeError, match="run-end encoded"):
        es.join_window(table, table, "t", window=(None, 0), agg={"r": "count"})


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "dict"])
def test_prepared_sides_take_the_same_aggregates(kind):
    right = frame(kind, {"t": [1, 2, 3], "s": ["a", None, "c"], "v": [1, 2, 4]}, {"t": pl.Int64})
    left = frame(kind, {"t": [2, 9]})
    prepared = es.prepare(right, "t")
    for agg in (
        {"s": "count"},
        {"s": ["count"], "v": ["sum"]},
        {"v": ["count"]},  # the same columns, of another choice
        {"v": ["count", "max"]},
        {"s": ["last", "count"], "v": "first", "*": "count"},
    ):
        options = dict(on="t", window=(-8, 0), agg=agg)
        assert lists(es.join_window(left, prepared, **options)) == lists(es.join_window(left, right, **options))
    with pytest.raises(TypeError, match="'s'.*use count, first or last"):
        es.join_window(left, prepared, "t", window=(-8, 0), agg={"s": "max"})


def test_windows_and_appends_in_threads():
    prepared = es.prepare(pl.DataFrame({"t": [0], "v": [0], "s": ["0"]}), "t")
    left = pl.DataFrame({"t": [10**9] * 50})
    agg = {"v": ["sum", "last", "count"], "s": "last", "*": "count"}
    wrong: list[object] = []
    joined: list[bool] = []
    done = threading.Event()

    def join(agg, check):
        try:
            while not done.is_set():
                answer = es.join_window(left, prepared, on="t", window=(None, 0), agg=agg)
                joined.append(len(prepared) <= prepared.nbytes)
                if answer[:, 1:].unique().height != 1 or not check(*answer.row(0)[1:]):
                    wrong.append(answer.row(0))
        except Exception as e:
            wrong.append(e)

    def check_all(total, last, count, text, rows):
        return count == rows == last + 1 and text == str(last) and total == last * (last + 1) // 2

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads change between more calls
    plain = threading.Thread(target=join, args=({"v": ["sum", "max"]}, lambda s, m: s == m * (m + 1) // 2))
    workers = [threading.Thread(target=join, args=(agg, check_all)) for _ in range(2)] + [plain]
    for w in workers:
        w.start()
    i = 0
    while len(joined) < 200 and not wrong:
        i += 1
        prepared.append(pl.DataFrame({"t": [i], "v": [i], "s": [str(i)]}))
    done.set()
    for w in workers:
        w.join()
    sys.setswitchinterval(interval)
    assert not wrong, wrong[:3]
    assert all(joined)


@pytest.mark.parametrize("appends", [1, 2])  # more do not come in between: the last attempt keeps them waiting
def test_appends_between_values_and_search(monkeypatch, appends):
    prepared = es.prepare(pl.DataFrame({"t": [0], "v": [0]}), "t")
    values_of, calls = prepared._window_values, []

    def values_then_append(*arguments):
        values = values_of(*arguments)
        if len(calls) < appends:
            calls.append(1)
            prepared.append(pl.DataFrame({"t": [len(calls)], "v": [len(calls)]}))
        return values

    monkeypatch.setattr(prepared, "_window_values", values_then_append)
    left = pl.DataFrame({"t": [9]})
    answer = es.join_window(left, prepared, "t", window=(None, 0), agg={"v": ["last", "sum"], "*": "count"})
    assert answer.row(0) == (9, appends, sum(range(appends + 1)), appends + 1)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "Int32", "int64[pyarrow]"])
def test_integers_of_pandas_next_to_nulls(dtype):
    value = BIG if "64" in dtype else 2**31 - 1
    left = pd.DataFrame({"t": [1, 100]})
    right = pd.DataFrame({"t": [0, 1], "v": pd.array([value, 2], dtype=dtype)})
    agg = {"v": ["sum", "min", "max", "first", "last", "count"]}
    for side in (right, es.prepare(right, "t")):
        answer = es.join_window(left, side, "t", window=(-1, 0), agg=agg)
        # int(): NumPy compares an int with a float64 as float64.
        assert [int(answer[f"v_{f}"][0]) for f in ("sum", "max", "first")] == [value + 2, value, value]
        assert answer[["v_sum", "v_min", "v_max", "v_first", "v_last"]].isna().to_numpy().tolist() == [
            [False] * 5,
            [True] * 5,
        ]
        assert answer["v_count"].tolist() == [2, 0]
        if dtype != "int64":
            assert str(answer["v_min"].dtype) == str(answer["v_first"].dtype) == dtype
            without = es.join_window(left[:1], side, "t", window=(-1, 0), agg=agg)
            assert str(without["v_min"].dtype) == dtype and str(without["v_sum"].dtype).startswith(("Int64", "int64["))


def test_small_integers_of_pandas_become_floats():
    right = pd.DataFrame({"t": [1], "v": [2**53 - 1]})
    answer = es.join_window(
        pd.DataFrame({"t": [1, 100]}), right, "t", window=(0, 0), agg={"v": ["sum", "min", "first"]}
    )
    assert [str(d) for d in answer.dtypes[1:]] == ["float64"] * 3 and answer["v_sum"][0] == 2**53 - 1
    for value in (BIG, -BIG, -(2**63), 2**63 - 1):
        right = pd.DataFrame({"t": [1], "v": [value]})
        for answer in (
            es.join_asof(pd.DataFrame({"t": [0, 1]}), right, "t"),
            es.join_between(pd.DataFrame({"p": [0, 1]}), right, "p", "t", "t", how="left"),
        ):
            assert int(answer["v"][1]) == value and answer["v"].isna().tolist() == [True, False]


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "dict"])
def test_integers_of_another_library_next_to_nulls(kind):
    right = frame(kind, {"t": [1, 2], "v": [BIG, None], "w": [7, None]}, {"v": pl.Int64})
    for side in (right, es.prepare(right, "t")):
        answer = es.join_asof(pd.DataFrame({"t": [0, 1, 2]}), side, "t")
        assert int(answer["v"][1]) == BIG and answer["v"].isna().tolist() == [True, False, True]
        assert answer["w"][1] == 7


def test_integers_of_dicts_next_to_nulls_are_masked():
    right = {"t": np.array([1]), "v": np.array([BIG])}
    answer = es.join_window({"t": np.array([1, 9])}, right, "t", window=(0, 0), agg={"v": ["sum", "min"]})
    for name in ("v_sum", "v_min"):
        assert answer[name].dtype == np.int64 and answer[name].tolist() == [BIG, None]
    with pytest.raises(OverflowError, match="'t'.*neither int64 nor uint64"):
        es.join_window({"t": [2**63, -1]}, right, "t", window=(0, 0), agg={"v": "sum"})


def test_left_names_that_repeat():
    twice = pd.DataFrame([[1, 2, 3]], columns=["t", "x", "x"])
    spans = pd.DataFrame({"a": [0], "b": [9]})
    with pytest.raises(ValueError, match="left frame has several columns 'x'"):
        es.join_between(twice, spans, "t", "a", "b")
    with pytest.raises(ValueError, match="left frame has several columns 'x'"):
        es.join_overlaps(twice, spans, left_on=("t", "t"), right_on=("a", "b"))
    table = pa.table([[1], [2], [3]], names=["t", "x", "x"])
    with pytest.raises(ValueError, match="left frame has several columns 'x'"):
        es.join_between(table, spans, "t", "a", "b")
