"""Arguments of joins that would change values or answer nothing are refused."""

import datetime

import numpy as np
import pytest

import espalier as es

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.mark.parametrize("window", [("1s", "-1s"), ("0s", "-1ns"), (datetime.timedelta(1), datetime.timedelta(0))])
def test_windows_with_swapped_ends(window):
    times = np.arange(3).astype("M8[ns]")
    with pytest.raises(ValueError, match="ends before it begins"):
        es.join_window({"t": times}, {"t": times, "v": times}, "t", window=window, agg={"*": "count"})


def test_windows_of_numbers():
    for left in ({"t": np.arange(5)}, {"t": np.arange(5.0)}):
        right = {"t": np.arange(5)}
        for window in ((5, -5), (0.8, 0.2)):
            for side in (right, es.prepare(right, "t")):
                with pytest.raises(ValueError, match="ends before it begins"):
                    es.join_window(left, side, "t", window=window, agg={"*": "count"})
        answer = es.join_window(left, right, "t", window=(0.2, 0.8), agg={"*": "count"})
        assert answer["count"].tolist() == [0] * 5
        answer = es.join_window(left, right, "t", window=(1, 1), agg={"*": "count"})
        assert answer["count"].tolist() == [1] * 4 + [0]
        answer = es.join_window(left, right, "t", window=(None, -3), agg={"*": "count"})
        assert answer["count"].tolist() == [0, 0, 0, 1, 2]


def test_lists_in_dicts():
    large = 2**63 + 1
    answer = es.join_asof({"t": [1, large]}, {"t": np.array([0, 2**63, large], "u8"), "v": [large, 5, large]}, on="t")
    assert answer["t"].tolist() == [1, large] and answer["v"].tolist() == [large, large]
    a, b = pd.Timestamp(10**18 + 1, unit="ns"), pd.Timestamp(10**18 + 2, unit="ns")
    answer = es.join_asof({"t": [b, a]}, {"t": [a, b], "v": [1, None]}, on="t")
    assert answer["v"].tolist() == [None, 1] and answer["t"].dtype == "M8[ns]"
    with pytest.raises(ValueError, match="no float64 equals"):
        es.join_asof({"t": [2**53 + 1, 0.5]}, {"t": [1]}, on="t")
    with pytest.raises(TypeError, match="aware and naive"):
        es.join_asof({"t": [a, b.tz_localize("UTC")]}, {"t": [a]}, on="t")
    with pytest.raises(TypeError, match="not strings"):
        es.join_asof({"t": [a.tz_localize("UTC")]}, {"t": [a]}, on="t")
    kept = es.join_asof({"t": [1]}, {"t": [0], "v": [{"any": "object"}], "s": ["x"], "n": [None]}, on="t")
    assert kept["v"][0] == {"any": "object"} and kept["s"].tolist() == ["x"] and kept["n"].tolist() == [None]


def test_columns_have_one_dimension():
    one, two = np.arange(2), np.ones((2, 2))
    for left, right in (
        ({"t": one, "x": two}, {"t": one}),
        ({"t": one}, {"t": one, "x": two}),
        ({"t": one}, {"t": one, "x": [[1, 2], [3, 4]]}),
        ({"t": one}, {"t": one, "x": np.ma.MaskedArray(two, two > 0)}),
        ({"t": two}, {"t": one}),
        ({"t": np.array(5)}, {"t": one}),
    ):
        with pytest.raises(ValueError, match="pass one-dimensional arrays"):
            es.join_asof(left, right, on="t")


@pytest.mark.parametrize(
    "make",
    [lambda data: {k: np.array(v) for k, v in data.items()}, pd.DataFrame, pl.DataFrame],
    ids=["dict", "pandas", "polars"],
)
def test_appends_keep_the_values_of_older_rows(make):
    large = 2**53 + 1
    for old, new in ((large, 0.5), (large, True), (1, "x"), ("x", 1), (0.5, large)):
        prepared = es.prepare(make({"t": [1], "v": [old]}), "t")
        with pytest.raises((TypeError, pl.exceptions.PolarsError)):
            prepared.append(make({"t": [2], "v": [new]}))
        assert len(prepared) == 1
        assert es.join_asof(make({"t": [5]}), prepared, on="t")["v"][0] == old
        prepared.append(make({"t": [2], "v": [old]}))
        assert len(prepared) == 2
    prepared = es.prepare({"t": np.array([1]), "v": np.array([large])}, "t")
    prepared.append({"t": [], "v": []})
    prepared.append({"t": np.array([2], "i4"), "v": np.array([3], "i2")})
    assert len(prepared) == 2 and prepared.frame["v"].tolist() == [large, 3] and prepared.frame["v"].dtype == "i8"


def test_functions_and_ends_are_named():
    frame = {"t": np.array([1, 1]), "v": np.array([2**62, 2**62])}
    for functions in (np.mean, [np.mean], 5, [None]):
        with pytest.raises(TypeError, match="such as 'mean'"):
            es.join_window({"t": [1]}, frame, "t", window=(0, 0), agg={"v": functions})
    with pytest.raises(OverflowError, match="ask for the mean"):
        es.join_window({"t": [1]}, frame, "t", window=(0, 0), agg={"v": "sum"})
    assert es.join_window({"t": [1]}, frame, "t", window=(0, 0), agg={"v": "mean"})["v_mean"].tolist() == [2.0**62]
    with pytest.raises(ValueError, match="'neither', not 'open'"):
        es.join_window({"t": [1]}, frame, "t", window=(0, 0), agg={"v": "min"}, closed="open")
