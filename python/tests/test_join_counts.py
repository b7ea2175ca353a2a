"""Counts and aggregates over spans against the pairs of the joins, loops, and answers by hand."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from join_cases import KINDS, frame, kind_of, lists

import espalier as es
import espalier.polars  # noqa: F401

CLOSED = {"both": (True, True), "left": (True, False), "right": (False, True), "neither": (False, False)}


def inside(x, lower, upper, closed):
    ends = CLOSED[closed]
    return (lower <= x if ends[0] else lower < x) and (x <= upper if ends[1] else x < upper)


def frames(n, seed):
    rng = np.random.default_rng(seed)
    points = {"at": rng.integers(0, 50, n), "g": rng.integers(0, 3, n)}
    low = rng.integers(0, 50, n // 2 + 1)
    spans = {"low": low, "high": low + rng.integers(-2, 9, len(low)), "g": rng.integers(0, 4, len(low))}
    return points, spans


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("by", [None, "g"])
@pytest.mark.parametrize("n", [0, 1, 60])
def test_count_between(closed, by, n):
    points, spans = frames(n, n + 1)
    counts = es.count_between(points, spans, "at", "low", "high", by=by, closed=closed)
    expected = [
        sum(inside(x, a, b, closed) and (by is None or g == h) for x, h in zip(points["at"], points["g"]))
        for a, b, g in zip(spans["low"], spans["high"], spans["g"])
    ]
    assert counts.dtype == np.int64 and counts.tolist() == expected
    pairs = es.join_between(points, spans, "at", "low", "high", by=by, closed=closed)
    assert len(pairs["at"]) == sum(expected)


@pytest.mark.parametrize("by", [None, "g"])
def test_count_overlaps(by):
    _, left = frames(80, 3)
    _, right = frames(60, 4)
    for spans in (left, right):
        spans["high"] = np.maximum(spans["low"], spans["high"])
    counts = es.count_overlaps(left, right, "low", "high", by=by)
    expected = [
        sum(
            a <= d and c <= b and (by is None or g == h)
            for c, d, h in zip(right["low"], right["high"], right["g"])
        )
        for a, b, g in zip(left["low"], left["high"], left["g"])
    ]
    assert counts.tolist() == expected
    assert len(es.join_overlaps(left, right, "low", "high", by=by)["low"]) == sum(expected)


def test_kinds_and_null():
    points, spans = frames(40, 5)
    counts = es.count_between(points, spans, "at", "low", "high")
    answer = es.count_between(pd.DataFrame(points), pl.DataFrame(spans), "at", "low", "high")
    assert isinstance(answer, pl.Series) and answer.to_list() == counts.tolist()
    answer = es.count_between(pl.DataFrame(points), pd.DataFrame(spans), "at", "low", "high")
    assert isinstance(answer, np.ndarray) and answer.tolist() == counts.tolist()
    missing = pl.DataFrame({"low": [0, None], "high": [50, 50]})
    assert es.count_between(points, missing, "at", "low", "high").to_list() == [40, 0]
    assert es.count_overlaps(missing, missing, "low", "high").to_list() == [1, 0]
    with pytest.raises(ValueError, match="count_overlaps"):
        es.count_overlaps(missing, missing, "low")
    with pytest.raises(ValueError, match="count_between"):
        es.count_between(points, spans, "at", "low", "high", closed="open")


SPANS = {"low": [0, 4, 9], "high": [5, 9, 8], "room": ["a", "b", "a"]}
POINTS = {"at": [1, 4, 5, 9], "bid": [2.0, None, 4.0, 8.0], "size": [1, 2, 3, None]}


@pytest.mark.parametrize("kind", KINDS)
def test_aggregates_of_points_in_each_span(kind):
    agg = {"*": "count", "bid": ["mean", "count", "last"], "size": ["sum", "max", "first"]}
    answer = es.aggregate_between(frame(kind, POINTS), frame(kind, SPANS), "at", "low", "high", agg=agg)
    assert kind_of(answer) == kind
    assert lists(answer) == {
        **SPANS,
        "count": [3, 3, 0],
        "bid_mean": [3.0, 6.0, None],
        "bid_count": [2, 2, 0],
        "bid_last": [4.0, 8.0, None],
        "size_sum": [6, 5, None],
        "size_max": [3, 3, None],
        "size_first": [1, 2, None],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_aggregates_of_spans_that_overlap(kind):
    right = {"low": [0, 5, 7], "high": [1, 6, 6], "room": ["a", "b", "a"]}
    right |= {"price": [1.5, 2.5, 100.0], "n": [None, 2, 3]}
    agg = {"price": ["sum", "mean"], "n": ["sum", "count"], "*": "count"}
    answer = es.aggregate_overlaps(frame(kind, SPANS), frame(kind, right), "low", "high", agg=agg)
    assert lists(answer) == {
        **SPANS,
        "price_sum": [4.0, 2.5, None],
        "price_mean": [2.0, 2.5, None],
        "n_sum": [2, 2, None],
        "n_count": [1, 1, 0],
        "count": [2, 1, 0],
    }
    answer = es.aggregate_overlaps(frame(kind, SPANS), frame(kind, right), "low", "high", by="room", agg={"n": "sum"})
    assert lists(answer)["n_sum"] == [None, 2, None]


def test_aggregates_of_times_and_of_texts():
    spans = pl.DataFrame({"low": [0], "high": [9]})
    points = pl.DataFrame({"at": [3, 1], "d": pl.Series([5, 7], dtype=pl.Duration("us")), "name": ["x", "y"]})
    answer = es.aggregate_between(points, spans, "at", "low", "high", agg={"d": ["sum", "max"], "name": ["first"]})
    total = [datetime.timedelta(microseconds=12)]
    assert answer["d_sum"].to_list() == total and answer["name_first"].to_list() == ["y"]
    right = points.rename({"at": "low"}).with_columns(high=pl.col("low"))
    answer = es.aggregate_overlaps(spans, right, "low", "high", agg={"d": "sum", "name": "count"})
    assert answer["d_sum"].to_list() == total and answer["name_count"].to_list() == [2]
    assert spans.es.aggregate_between(points, "at", "low", "high", agg={"*": "count"})["count"].to_list() == [2]
    assert spans.es.aggregate_overlaps(right, "low", "high", agg={"*": "count"})["count"].to_list() == [2]


def test_aggregates_that_are_refused():
    spans = {"low": np.array([0]), "high": np.array([9]), "count": np.array([1])}
    right = {"low": np.array([1, 2]), "high": np.array([3, 4])}
    right |= {"big": np.array([2**62, 2**62]), "s": np.array(["a", "b"])}
    points = {"at": right["low"], "big": right["big"], "s": right["s"]}
    with pytest.raises(OverflowError, match="ask for the mean"):
        es.aggregate_overlaps(spans, right, "low", "high", agg={"big": "sum"})
    with pytest.raises(OverflowError, match="ask for the mean"):
        es.aggregate_between(points, spans, "at", "low", "high", agg={"big": "sum"})
    assert es.aggregate_overlaps(spans, right, "low", "high", agg={"big": "mean"})["big_mean"].tolist() == [2.0**62]
    with pytest.raises(ValueError, match="'max' of column 'big' is not one of count, sum, mean"):
        es.aggregate_overlaps(spans, right, "low", "high", agg={"big": "max"})
    with pytest.raises(ValueError, match="two columns 'count'"):
        es.aggregate_overlaps(spans, right, "low", "high", agg={"*": "count"})
    with pytest.raises(TypeError, match=r"aggregate_between\(\): column 's' of the left frame"):
        es.aggregate_between(points, spans, "at", "low", "high", agg={"s": "sum"})
