"""300 generated as-of joins against pandas, polars and DuckDB, where their rules agree (docs/python-joins.md)."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from join_cases import lists

import espalier as es
from espalier.pandas import merge_asof

duckdb = pytest.importorskip("duckdb")


def cases():
    for seed in range(300):
        rng = random.Random(seed)
        n, m = rng.choice((0, 1, 5, 40, 200)), rng.choice((1, 5, 40, 200))
        width = rng.choice((5, 50, 1000))
        # Distinct right times where peers do not say which of equal rows they take.
        peer = ("pandas", "polars", "duckdb")[seed % 3]
        right_times = sorted(
            rng.sample(range(width * 5), min(m, width * 5))
            if peer == "duckdb"
            else [rng.randrange(width) for _ in range(m)]
        )
        left = {"t": sorted(rng.randrange(width) for _ in range(n))}
        right = {"t": right_times, "v": list(range(len(right_times)))}
        by = rng.choice((None, "g", "s"))
        if by:
            for side in (left, right):
                values = [1, 2, 3] if by == "g" else ["a", "b", "c" * 20]
                side[by] = [rng.choice(values) for _ in side["t"]]
        yield seed, peer, rng, left, right, by


@pytest.mark.parametrize("peer", ("pandas", "polars", "duckdb"))
def test_generated_cases(peer):
    counted = 0
    connection = duckdb.connect() if peer == "duckdb" else None
    for seed, of_peer, rng, left, right, by in cases():
        if of_peer != peer:
            continue
        counted += 1
        exact = rng.random() < 0.7
        types = {"t": pl.Int64, "v": pl.Int64, "g": pl.Int64, "s": pl.String}
        a = pl.DataFrame(left, schema_overrides={k: types[k] for k in left})
        b = pl.DataFrame(right, schema_overrides={k: types[k] for k in right})
        if peer == "duckdb":
            direction, tolerance = rng.choice(("backward", "forward")), None
            sign = {"backward": ">", "forward": "<"}[direction] + ("=" if exact else "")
            also = f"AND a.{by} = b.{by}" if by else ""
            expected = (
                connection.sql(
                    f"SELECT b.v FROM (SELECT row_number() OVER () AS n, * FROM a) a ASOF LEFT JOIN b "
                    f"ON a.t {sign} b.t {also} ORDER BY a.n"
                )
                .pl()["v"]
                .to_list()
            )
        else:
            direction = rng.choice(("backward", "forward", "nearest"))
            tolerance = rng.choice((None, 0, 3))
            if direction == "nearest":  # which of several nearest rows polars takes is not documented
                b = b.unique(subset=["t", *([by] if by else [])], keep="first", maintain_order=True)
            if peer == "polars":
                if direction == "nearest":
                    exact = True
                expected = a.join_asof(
                    b,
                    on="t",
                    by=by,
                    strategy=direction,
                    tolerance=tolerance,
                    allow_exact_matches=exact,
                    check_sortedness=False,
                )["v"].to_list()
            else:
                options = dict(on="t", by=by, direction=direction, tolerance=tolerance, allow_exact_matches=exact)
                theirs = pd.merge_asof(a.to_pandas(), b.to_pandas(), **options)
                pd.testing.assert_frame_equal(merge_asof(a.to_pandas(), b.to_pandas(), **options), theirs)
                expected = lists(theirs)["v"]
        order = list(range(a.height))
        rng.shuffle(order)  # no order is required
        found = es.join_asof(
            a[order], b, on="t", by=by, strategy=direction, tolerance=tolerance, allow_exact_matches=exact
        )
        values = found["v"].to_list()
        if (
            peer == "polars"
            and direction == "nearest"
            and expected != [values[order.index(i)] for i in range(a.height)]
        ):
            # Of two rows at the same distance, polars takes the later one: compare the distances.
            times = dict(zip(b["v"], b["t"]))
            for i, row in enumerate(order):
                mine, theirs = values[i], expected[row]
                assert (mine is None) == (theirs is None), seed
                if mine is not None:
                    t = a["t"][row]
                    assert abs(times[mine] - t) == abs(times[theirs] - t), seed
        else:
            assert [expected[i] for i in order] == values, (seed, direction, tolerance, exact, by)
    assert counted == 100


LEFT = pd.DataFrame({"t": [1, 5, 10], "g": ["a", "b", "a"], "v": [1, 2, 3]}, index=[10, 20, 30])
RIGHT = pd.DataFrame({"t": [1, 2, 3, 6], "h": ["a", "b", "a", "b"], "v": [10, 20, 30, 40]}, index=[1, 2, 3, 6])


@pytest.mark.parametrize(
    "options",
    (
        dict(on="t"),
        dict(left_on="t", right_on="t"),
        dict(on="t", left_by="g", right_by="h"),
        dict(left_on="t", right_on="v", left_by="g", right_by="h"),
        dict(on="t", suffixes=(None, "_r")),
        dict(on="t", suffixes=("_l", None)),
        dict(left_on="v", right_on="t"),
        dict(on="t", tolerance=1, direction="nearest", allow_exact_matches=False),
        dict(on="t", direction="forward"),
    ),
)
def test_parameters_of_pandas(options):
    pd.testing.assert_frame_equal(merge_asof(LEFT, RIGHT, **options), pd.merge_asof(LEFT, RIGHT, **options))


def test_index_of_pandas():
    left, right = LEFT.set_index("t"), RIGHT.set_index("t")
    for a, b, options in (
        (left, right, dict(left_index=True, right_index=True)),
        (left, RIGHT, dict(left_index=True, right_on="t")),
        (LEFT, right, dict(left_on="t", right_index=True)),
    ):
        pd.testing.assert_frame_equal(merge_asof(a, b, **options), pd.merge_asof(a, b, **options))
    shuffled = LEFT.iloc[[2, 0, 1]]
    assert merge_asof(shuffled, RIGHT[::-1], on="t")["v_y"].tolist() == [40, 10, 30]


@pytest.mark.parametrize(
    "options, text",
    (
        (dict(), "exactly one of `left_on`"),
        (dict(on="t", left_on="t"), "pass either `on`"),
        (dict(left_on="t"), "exactly one of `right_on`"),
        (dict(on="t", by="g", left_by="g"), "pass either `by`"),
        (dict(on="t", direction="up"), "direction 'up'"),
        (dict(on="t", suffixes=(None, None)), "two suffixes"),
        (dict(on="t", tolerance=-1), "negative"),
    ),
)
def test_wrong_parameters_of_pandas(options, text):
    with pytest.raises(ValueError, match=text):
        merge_asof(LEFT, RIGHT, **options)


def test_times_of_pandas():
    left = pd.DataFrame({"t": pd.to_datetime([10, 20, 30], unit="s")})
    right = pd.DataFrame({"t": pd.to_datetime([9, 18, 30], unit="s"), "v": [1.5, 2.5, 3.5]})
    options = dict(on="t", tolerance=pd.Timedelta("1s"), allow_exact_matches=False)
    pd.testing.assert_frame_equal(merge_asof(left, right, **options), pd.merge_asof(left, right, **options))
    assert np.isnan(merge_asof(left, right, **options)["v"].tolist()[1])
