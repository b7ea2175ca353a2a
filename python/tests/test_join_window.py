"""join_window(), join_between() and join_overlaps() against oracles."""

from __future__ import annotations

import random

import polars as pl
import pytest
from join_cases import KINDS, frame, keys, kind_of, lists

import espalier as es

AGG = {"v": ["count", "sum", "mean", "min", "max", "first", "last"], "s": ["count", "first", "last"], "*": "count"}
TYPES = {"t": pl.Int64, "v": pl.Float64, "s": pl.String, "g": pl.Int64}


def inside(distance, window, closed):
    low, high = window
    if low is not None and (distance < low or distance == low and closed not in ("both", "left")):
        return False
    return high is None or distance < high or distance == high and closed in ("both", "right")


def window_oracle(left, right, window, closed, by):
    out = {
        name: []
        for name in (
            "v_count",
            "v_sum",
            "v_mean",
            "v_min",
            "v_max",
            "v_first",
            "v_last",
            "s_count",
            "s_first",
            "s_last",
            "count",
        )
    }
    order = sorted((j for j, t in enumerate(right["t"]) if t is not None), key=lambda j: right["t"][j])
    for i, t in enumerate(left["t"]):
        rows = [
            j
            for j in order
            if t is not None
            and inside(right["t"][j] - t, window, closed)
            and (not by or left["g"][i] is not None and left["g"][i] == right["g"][j])
        ]
        v = [right["v"][j] for j in rows if right["v"][j] is not None]
        s = [right["s"][j] for j in rows if right["s"][j] is not None]
        row = {
            "v_count": len(v),
            "v_sum": sum(v) if v else None,
            "v_mean": sum(v) / len(v) if v else None,
            "v_min": min(v, default=None),
            "v_max": max(v, default=None),
            "v_first": v[0] if v else None,
            "v_last": v[-1] if v else None,
            "s_count": len(s),
            "s_first": s[0] if s else None,
            "s_last": s[-1] if s else None,
            "count": len(rows),
        }
        for name, value in row.items():
            out[name].append(value)
    return out


@pytest.mark.parametrize("closed", ("both", "left", "right", "none"))
@pytest.mark.parametrize(
    "window", ((-3, 3), (0, 5), (-4, -1), (None, 0), (0, None), (None, None), (-1.5, 2.5))
)
def test_windows(window, closed):
    rng = random.Random(f"{window}{closed}")
    for by, nulls, n, m in (
        (False, False, 20, 30),
        (True, True, 30, 40),
        (True, False, 0, 5),
        (False, True, 5, 0),
        (True, False, 40, 40),
    ):
        left = {"t": keys(rng, n, rng.choice(("random", "sorted", "equal")), nulls)}
        right = {
            "t": keys(rng, m, rng.choice(("random", "sorted", "equal")), nulls),
            "v": [None if nulls and rng.random() < 0.3 else float(rng.randrange(9)) for _ in range(m)],
            "s": [None if nulls and rng.random() < 0.3 else rng.choice(("a", "bb")) for _ in range(m)],
        }
        if by:
            left["g"], right["g"] = ([rng.randrange(3) for _ in range(k)] for k in (n, m))
        expected = window_oracle(left, right, window, closed, by)
        for kind in rng.sample(KINDS, 2):
            left_frame, right_frame = frame(kind, left, TYPES), frame(kind, right, TYPES)
            options = dict(on="t", by="g" if by else None, window=window, agg=AGG, closed=closed)
            for side in (right_frame, es.prepare(right_frame, "t", "g" if by else None)):
                answer = es.join_window(left_frame, side, **options)
                assert kind_of(answer) == kind
                found = {k: v for k, v in lists(answer).items() if k in expected}
                assert found == expected


def test_window_values_follow_appends():
    prepared = es.prepare(pl.DataFrame({"t": [1, 2], "v": [1, 2]}), on="t")
    left = pl.DataFrame({"t": [5]})
    options = dict(on="t", window=(-9, 0), agg={"v": ["sum", "max"]})
    assert es.join_window(left, prepared, **options)["v_sum"].item() == 3
    prepared.append(pl.DataFrame({"t": [3, 0], "v": [10, 20]}))
    answer = es.join_window(left, prepared, **options)
    assert (answer["v_sum"].item(), answer["v_max"].item()) == (33, 20)
    assert es.join_window(left, prepared, on="t", window=(-9, 0), agg={"v": "last"})["v_last"].item() == 10


def test_types_of_aggregates():
    frame_ = pl.DataFrame(
        {
            "t": [1, 2, 3],
            "i": pl.Series([1, 2, 3], dtype=pl.Int16),
            "b": [True, False, None],
            "d": pl.Series([1, 2, 3]).cast(pl.Datetime("us", "UTC")),
            "x": pl.Series([1, 2, 3]).cast(pl.Duration("ms")),
            "u": pl.Series([1, 2, 3], dtype=pl.UInt64),
        }
    )
    answer = es.join_window(
        frame_,
        frame_,
        on="t",
        window=(-1, 0),
        agg={"i": ["max", "sum"], "b": ["sum", "mean"], "d": ["min", "first"], "x": "sum", "u": "max"},
    )
    types = {n: answer[n].dtype for n in answer.columns[6:]}
    assert types == {
        "i_max": pl.Int16,
        "i_sum": pl.Int64,
        "b_sum": pl.Int64,
        "b_mean": pl.Float64,
        "d_min": pl.Datetime("us", "UTC"),
        "d_first": pl.Datetime("us", "UTC"),
        "x_sum": pl.Duration("ms"),
        "u_max": pl.UInt64,
    }
    assert answer["i_sum"].to_list() == [1, 3, 5] and answer["b_sum"].to_list() == [1, 1, 0]


def test_sums_beyond_64_bits_are_refused():
    big = pl.DataFrame({"t": [1, 2], "v": [2**62, 2**62]})
    with pytest.raises(OverflowError):
        es.join_window(big, big, on="t", window=(None, None), agg={"v": "sum"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("closed", ("both", "left", "right", "none"))
def test_points_in_spans(kind, closed):
    rng = random.Random(closed)
    for by, n, m in ((False, 30, 20), (True, 30, 20), (False, 0, 4), (True, 4, 0), (False, 1, 1)):
        points = {"t": keys(rng, n, "random", kind in ("polars", "pyarrow")), "p": list(range(n))}
        starts = [rng.randrange(-20, 20) for _ in range(m)]
        spans = {"a": starts, "b": [s + rng.randrange(-2, 9) for s in starts], "q": list(range(m))}
        if by:
            points["g"], spans["g"] = [rng.randrange(3) for _ in range(n)], [rng.randrange(3) for _ in range(m)]
        types = {"t": pl.Int64, "a": pl.Int64, "b": pl.Int64, "p": pl.Int64, "q": pl.Int64, "g": pl.Int64}
        pairs = [
            (i, j)
            for i in range(n)
            for j in range(m)
            if points["t"][i] is not None
            and (not by or points["g"][i] == spans["g"][j])
            and inside(points["t"][i] - spans["a"][j], (0, None), closed)
            and inside(points["t"][i] - spans["b"][j], (None, 0), closed)
        ]
        left, right = frame(kind, points, types), frame(kind, spans, types)
        options = dict(closed=closed, by="g" if by else None)
        answer = es.join_between(left, right, "t", "a", "b", **options)
        assert kind_of(answer) == kind
        found = lists(answer)
        assert list(zip(found["p"], found["q"])) == pairs
        whole = lists(es.join_between(left, right, "t", "a", "b", how="left", **options))
        matched = {i for i, _ in pairs}
        expected = sorted(pairs + [(i, None) for i in range(n) if i not in matched], key=lambda p: p[0])
        assert list(zip(whole["p"], whole["q"])) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_spans_that_overlap(kind):
    rng = random.Random(kind)
    for closed in ("both", "left", "right", "none"):
        made = []
        for rows in (25, 15):
            starts = [rng.randrange(-20, 20) for _ in range(rows)]
            made.append(
                {
                    "a": starts,
                    "b": [s + rng.randrange(1, 9) for s in starts],
                    "g": [rng.randrange(2) for _ in starts],
                    "row": list(range(rows)),
                }
            )
        left, right = made
        ends = closed == "both"
        pairs = {
            (i, j)
            for i in range(25)
            for j in range(15)
            if left["g"][i] == right["g"][j]
            and (left["a"][i] < right["b"][j] or ends and left["a"][i] == right["b"][j])
            and (right["a"][j] < left["b"][i] or ends and right["a"][j] == left["b"][i])
        }
        if closed != "both":  # a common point exists only where lower end < upper end
            pairs = {(i, j) for i, j in pairs if max(left["a"][i], right["a"][j]) < min(left["b"][i], right["b"][j])}
        answer = es.join_overlaps(frame(kind, left), frame(kind, right), "a", "b", by="g", closed=closed)
        found = lists(answer)
        assert set(zip(found["row"], found["row_right"])) == pairs and len(found["row"]) == len(pairs)
        assert found["row"] == sorted(found["row"])


def test_wrong_arguments():
    frame_ = pl.DataFrame({"t": [1], "v": [1.0], "s": ["x"]})
    for error, text, options in (
        (ValueError, "'median' of column 'v' is not one of", dict(window=(0, 1), agg={"v": "median"})),
        (TypeError, "`agg` is a dict", dict(window=(0, 1), agg={})),
        (TypeError, "`window` has two ends", dict(window=3, agg={"v": "sum"})),
        (ValueError, "`closed` is", dict(window=(0, 1), agg={"v": "sum"}, closed="all")),
        (KeyError, "no column 'w'", dict(window=(0, 1), agg={"w": "sum"})),
        (TypeError, "column 's' of the right frame", dict(window=(0, 1), agg={"s": "max"})),
        (TypeError, "holds numbers", dict(window=("-1s", "1s"), agg={"v": "sum"})),
        (ValueError, "only be counted", dict(window=(0, 1), agg={"*": "sum"})),
        (ValueError, "is NaN", dict(window=(float("nan"), 1), agg={"v": "sum"})),
    ):
        with pytest.raises(error, match=text):
            es.join_window(frame_, frame_, on="t", **options)
    with pytest.raises(ValueError, match="`how` is"):
        es.join_between(frame_, frame_, "t", "t", "t", how="outer")
