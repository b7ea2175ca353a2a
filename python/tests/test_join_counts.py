"""count_between and count_overlaps against the pairs of the joins and against loops."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import espalier as es

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
