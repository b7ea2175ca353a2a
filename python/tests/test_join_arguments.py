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


def test_numbers_on_times():
    """Integers count units of the column; a float does not say of what it is a fraction."""
    left = {"t": np.array([70], "M8[s]")}
    right = {"t": np.array([10], "M8[s]"), "v": np.array([7.0])}
    for side in (right, es.prepare(right, "t")):
        assert es.join_asof(left, side, on="t", tolerance=60)["v"].tolist() == [7.0]
        assert np.isnan(es.join_asof(left, side, on="t", tolerance=59)["v"]).all()
        assert es.join_asof(left, side, on="t", tolerance=float("inf"))["v"].tolist() == [7.0]
        with pytest.raises(TypeError, match=r"tolerance 60\.5 is a float, and column 't' .* times in s; pass a "):
            es.join_asof(left, side, on="t", tolerance=60.5)
        with pytest.raises(TypeError, match="lower end of the window .* is a float"):
            es.join_window(left, side, on="t", window=(np.float32(-60), 0), agg={"*": "count"})
    ix = es.Index(left["t"])
    assert ix.asof(np.datetime64(80, "s"), tolerance=10) == (0, True)
    with pytest.raises(TypeError, match="is a float, and the keys are datetime64"):
        ix.asof(np.datetime64(80, "s"), tolerance=10.5)


def test_minutes_have_two_names():
    left, right = {"t": np.array([100], "M8[s]")}, {"t": np.array([40], "M8[s]"), "v": np.array([7.0])}
    for tolerance, answers in (("1min", True), ("1m", True), ("1min500ms", True), ("59s", False), ("0min59s", False)):
        assert np.isnan(es.join_asof(left, right, on="t", tolerance=tolerance)["v"]).all() != answers
        assert es.Index(right["t"]).asof(left["t"], tolerance=tolerance)[1].tolist() == [answers]
    for wrong in ("1mins", "min", "1mi", "1minm"):
        with pytest.raises(ValueError, match="is not a duration"):
            es.join_asof(left, right, on="t", tolerance=wrong)
        with pytest.raises(ValueError, match="is not a duration"):
            es.Index(right["t"]).asof(left["t"], tolerance=wrong)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_times_in_text(make):
    frame = make({"t": ["2026-01-05", "2026-01-06"]})
    with pytest.raises(TypeError, match=r"Convert times in text, such as with pandas.to_datetime\(\)"):
        es.join_asof(frame, frame, on="t")


def test_lists_of_times_in_text():
    ix = es.Index(np.array(["2026-01-05"], "M8[us]"))
    for call in (ix.find, ix.contains, lambda q: ix.count(q, q), es.SortedMap("M8[us]").insert):
        with pytest.raises(TypeError, match=r"np.array\(x, 'datetime64\[us\]'\)"):
            call(["2026-01-05"])


def test_names_of_other_libraries():
    frame = {"t": np.arange(3), "v": np.arange(3)}
    for name, ours in (("direction", "strategy"), ("left_by", "by_left"), ("suffixes", "suffix")):
        with pytest.raises(TypeError, match=f"no keyword '{name}'; it is called '{ours}' here"):
            es.join_asof(frame, frame, on="t", **{name: "forward"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        es.join_asof(frame, frame, on="t", other=1)
    with pytest.raises(ValueError, match="'avg' .* it is called 'mean' here"):
        es.join_window(frame, frame, on="t", window=(0, 1), agg={"v": "avg"})
    from espalier.pandas import merge_asof

    with pytest.raises(TypeError, match="it is called 'direction' here"):
        merge_asof(pd.DataFrame(frame), pd.DataFrame(frame), on="t", strategy="forward")
