"""Generated joins against pandas, polars and DuckDB where their rules agree (docs/python-joins.md): 300 as-of joins for
each of them, and windows, spans and points in spans against DuckDB."""

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


CASES = 300  # for each peer
WINDOWS = 100
SPANS = 100
ON = {"int64": pl.Int64, "int32": pl.Int32, "float64": pl.Float64, "datetime": pl.Datetime("us")}
GROUPS = {"g": [1, 2, 3, 70_000], "s": ["a", "b", "c" * 20], "f": [0.5, -1.0, 2.25]}
BY = (None, None, "g", "s", "f", ["g", "s"], ["s", "g"])


def side(rng, rows, on, by, width, nulls, prefix):
    """A frame without order: `t`, the `by` columns, and `<prefix>`, the number of the row."""
    columns = {"t": pl.Series("t", [rng.randrange(width) for _ in range(rows)], pl.Int64).cast(ON[on])}
    if on == "float64":
        columns["t"] = columns["t"] / 4
    for name in by:
        columns[name] = pl.Series(name, [rng.choice(GROUPS[name]) for _ in range(rows)])
        if rows == 0:
            columns[name] = columns[name].cast({"g": pl.Int64, "s": pl.String, "f": pl.Float64}[name])
    for name in nulls:
        kept = pl.Series([rng.random() > 0.15 for _ in range(rows)], dtype=pl.Boolean)
        columns[name] = pl.select(pl.when(kept).then(columns[name])).to_series().rename(name)
    if on == "float64" and rng.random() < 0.5:
        numbers = [float("nan") if rng.random() < 0.1 else x for x in columns["t"]]
        columns["t"] = pl.Series("t", numbers, pl.Float64)
    return pl.DataFrame({**columns, prefix: pl.int_range(rows, eager=True)})


def as_of_case(seed, peer):
    """Both sides, `by` and the options of a join that the peer has."""
    rng = random.Random(f"{peer} {seed}")
    by = rng.choice(BY)
    names = [] if by is None else [by] if isinstance(by, str) else by
    on, width = rng.choice(list(ON)), rng.choice((5, 50, 1000))
    # pandas: a NULL in `by` equals a NULL, so one side only has some; integers with NULL are floats, and are refused.
    nulls = [n for n in ("t", *names) if rng.random() < 0.4 and not (peer == "pandas" and n == "g")]
    left = side(rng, rng.choice((0, 1, 5, 40, 200)), on, names, width, nulls, "left")
    nulls = [n for n in ("t", *names) if rng.random() < 0.4 and not (peer == "pandas" and n in names)]
    right = side(rng, rng.choice((1, 5, 40, 200)), on, names, width, nulls, "right")
    directions = ("backward", "forward") if peer == "duckdb" else ("backward", "forward", "nearest")
    direction, exact = rng.choice(directions), rng.random() < 0.7
    tolerance = None if peer == "duckdb" else rng.choice((None, 0, 3))
    if peer == "polars" and direction == "nearest":
        exact = True  # polars refuses the other
    return left, right, by, names, direction, tolerance, exact


def matchable(frame):
    """Rows whose `t` is neither NULL nor NaN, in the order of `t`. The peers refuse the others (pandas), or take NaN
    for a value (polars, DuckDB)."""
    t = pl.col("t").fill_nan(None) if frame.schema["t"] == pl.Float64 else pl.col("t")
    return frame.filter(t.is_not_null()).sort("t", maintain_order=True)


def tolerance_of(amount, on, peer):
    if amount is None or on != pl.Datetime("us"):
        return amount
    return pd.Timedelta(amount, "us") if peer == "pandas" else f"{amount}us"


def rows_of_pandas(left, right, by, direction, tolerance, exact):
    options = dict(
        on="t",
        by=by,
        direction=direction,
        tolerance=tolerance_of(tolerance, left.schema["t"], "pandas"),
        allow_exact_matches=exact,
    )
    theirs = pd.merge_asof(left.to_pandas(), right.to_pandas(), **options)
    pd.testing.assert_frame_equal(merge_asof(left.to_pandas(), right.to_pandas(), **options), theirs)
    return dict(zip(lists(theirs)["left"], lists(theirs)["right"]))


def rows_of_polars(left, right, by, direction, tolerance, exact):
    theirs = left.join_asof(
        right,
        on="t",
        by=by,
        strategy=direction,
        tolerance=tolerance_of(tolerance, left.schema["t"], "polars"),
        allow_exact_matches=exact,
        check_sortedness=False,
    )
    return dict(zip(theirs["left"], theirs["right"]))


def rows_of_duckdb(connection, left, right, names, direction, exact):
    sign = {"backward": ">", "forward": "<"}[direction] + ("=" if exact else "")
    also = "".join(f" AND l.{n} = r.{n}" for n in names)
    connection.register("left_side", left.to_arrow())
    connection.register("right_side", right.to_arrow())
    theirs = connection.sql(
        f'SELECT l."left", r."right" FROM left_side l ASOF LEFT JOIN right_side r ON l.t {sign} r.t{also}'
    ).fetchall()
    return dict(theirs)


@pytest.mark.parametrize("peer", ("pandas", "polars", "duckdb"))
def test_generated_cases(peer):
    connection = duckdb.connect() if peer == "duckdb" else None
    matched = 0
    for seed in range(CASES):
        left, right, by, names, direction, tolerance, exact = as_of_case(seed, peer)
        if peer == "duckdb" or direction == "nearest":
            # DuckDB takes any of equal rows; which of several nearest rows polars takes is not documented.
            right = right.unique(subset=["t", *names], keep="first", maintain_order=True)
        mine = es.join_asof(  # neither side is in order
            left, right, on="t", by=by, strategy=direction, tolerance=tolerance, allow_exact_matches=exact
        )
        found = dict(zip(mine["left"], mine["right"]))
        assert mine["left"].to_list() == left["left"].to_list()
        a, b = matchable(left), matchable(right)
        if peer == "pandas":
            expected = rows_of_pandas(a, b, by, direction, tolerance, exact)
        elif peer == "polars":
            expected = rows_of_polars(a, b, by, direction, tolerance, exact)
        else:
            expected = rows_of_duckdb(connection, a, b, names, direction, exact)
        case = (seed, by, direction, tolerance, exact, left.schema["t"])
        times = dict(zip(right["right"], right["t"]))
        left_times = dict(zip(left["left"], left["t"]))
        for row, theirs in {**dict.fromkeys(left["left"]), **expected}.items():
            ours = found[row]
            if peer == "polars" and direction == "nearest" and None not in (ours, theirs):
                # Of two rows at the same distance, polars takes the later one: compare the distances.
                assert abs(times[ours] - left_times[row]) == abs(times[theirs] - left_times[row]), case
            else:
                assert ours == theirs, (case, row)
            matched += ours is not None
    assert matched > 10 * CASES


def numbers(rng, rows):
    """Integers and floats with NULLs, to be aggregated."""
    return {
        "v": pl.Series([rng.choice((None, rng.randrange(-50, 50))) for _ in range(rows)], dtype=pl.Int64),
        "x": pl.Series([rng.choice((None, rng.random())) for _ in range(rows)], dtype=pl.Float64),
    }


def by_of(rng):
    """One of BY, and as a list."""
    by = rng.choice(BY)
    return by, [] if by is None else [by] if isinstance(by, str) else by


CLOSED = {"both": ("<=", "<="), "left": ("<=", "<"), "right": ("<", "<="), "neither": ("<", "<")}
FUNCTIONS = ("count", "sum", "mean", "min", "max", "first", "last")


def aggregates_of_duckdb(functions, order):
    """SQL of the functions of r.v and r.x; first and last in this order."""
    made = {
        "count": "count({c})",
        "sum": "sum({c})",
        "mean": "avg({c})",
        "min": "min({c})",
        "max": "max({c})",
        "first": f"first({{c}} ORDER BY {order}) FILTER ({{c}} IS NOT NULL)",
        "last": f"last({{c}} ORDER BY {order}) FILTER ({{c}} IS NOT NULL)",
    }
    return ", ".join(made[f].format(c=f"r.{c}") for c in ("v", "x") for f in functions)


def check_aggregates(mine, theirs, functions, case):
    names = ["count", *(f"{c}_{f}" for c in ("v", "x") for f in functions)]
    for name, expected in zip(names, zip(*theirs)):
        found = mine[name].to_list()
        assert [v is None for v in found] == [v is None for v in expected], (case, name)
        tolerance = 1e-9 if name.endswith(("mean", "x_sum")) else 0  # of floats: differences of prefix sums
        for ours, value in zip(found, expected):
            assert ours == value or abs(ours - value) <= tolerance, (case, name)


def test_generated_windows_of_duckdb():
    connection = duckdb.connect()
    for seed in range(WINDOWS):
        rng = random.Random(f"windows {seed}")
        by, names = by_of(rng)
        on, width = rng.choice(("int64", "int32")), rng.choice((5, 50, 1000))
        nulls = [n for n in ("t", *names) if rng.random() < 0.4]
        left = side(rng, rng.choice((1, 5, 60)), on, names, width, nulls, "left")
        right = side(rng, rng.choice((1, 5, 60, 200)), on, names, width, nulls, "right")
        right = right.with_columns(**numbers(rng, right.height))
        low, high = sorted((rng.randrange(-20, 20), rng.randrange(-20, 20)))
        closed = rng.choice(list(CLOSED))
        agg = {"*": "count", "v": FUNCTIONS, "x": FUNCTIONS}
        mine = es.join_window(left, right, on="t", by=by, window=(low, high), closed=closed, agg=agg)
        connection.register("left_side", left.to_arrow())
        connection.register("right_side", right.to_arrow())
        lower, upper = CLOSED[closed]
        also = "".join(f" AND l.{n} = r.{n}" for n in names)
        order = 'r.t, r."right"'
        theirs = connection.sql(
            f'SELECT count(r."right"), {aggregates_of_duckdb(FUNCTIONS, order)} '
            f"FROM left_side l LEFT JOIN right_side r ON l.t + {low} {lower} r.t AND r.t {upper} l.t + {high}{also} "
            'GROUP BY l."left" ORDER BY l."left"'
        ).fetchall()
        check_aggregates(mine, theirs, FUNCTIONS, (seed, by, low, high, closed))


def spans_of(rng, rows, by, width, nulls, prefix):
    """Like side(), with the ends `low` and `high` in place of `t`. Some spans are empty, some end before they start."""
    frame = side(rng, rows, "int64", by, width, nulls, prefix).rename({"t": "low"})
    length = pl.Series([rng.choice((-1, 0, 1, 2, 5, width // 3)) for _ in range(rows)], dtype=pl.Int64)
    return frame.with_columns(high=pl.col("low") + length)


def test_generated_spans_of_duckdb():
    connection = duckdb.connect()
    pairs = 0
    for seed in range(SPANS):
        rng = random.Random(f"spans {seed}")
        by, names = by_of(rng)
        width, closed, how = rng.choice((5, 50, 1000)), rng.choice(list(CLOSED)), rng.choice(("inner", "left"))
        nulls = [n for n in ("t", *names) if rng.random() < 0.4]
        points = side(rng, rng.choice((1, 40, 150)), "int64", names, width, nulls, "left")
        points = points.with_columns(**numbers(rng, points.height))
        left = spans_of(rng, rng.choice((1, 30, 80)), names, width, nulls, "left")
        right = spans_of(rng, rng.choice((1, 30, 80)), names, width, nulls, "right")
        right = right.with_columns(**numbers(rng, right.height))
        for name, frame in (("points", points), ("left_side", left), ("right_side", right)):
            connection.register(name, frame.to_arrow())
        lower, upper = CLOSED[closed]
        also = "".join(f" AND l.{n} = r.{n}" for n in names)
        kind = "LEFT JOIN" if how == "left" else "JOIN"
        case = (seed, by, closed, how)

        mine = es.join_between(points, right, "t", "low", "high", by=by, closed=closed, how=how)
        inside = f"r.low {lower} l.t AND l.t {upper} r.high"
        theirs = connection.sql(
            f'SELECT l."left", r."right" FROM points l {kind} right_side r ON {inside}{also} '
            'ORDER BY l."left", r."right"'
        ).fetchall()
        assert list(zip(mine["left"], mine["right"])) == theirs, case
        pairs += len(theirs)
        mine = es.aggregate_between(
            points, left, "t", "low", "high", by=by, closed=closed, agg={"*": "count", "v": FUNCTIONS, "x": FUNCTIONS}
        )
        inside = f"l.low {lower} r.t AND r.t {upper} l.high"
        aggregates = aggregates_of_duckdb(FUNCTIONS, 'r.t, r."left"')
        theirs = connection.sql(
            f'SELECT count(r."left"), {aggregates} FROM left_side l LEFT JOIN points r ON {inside}{also} '
            'GROUP BY l."left" ORDER BY l."left"'
        ).fetchall()
        check_aggregates(mine, theirs, FUNCTIONS, case)
        counts = es.count_between(points, left, "t", "low", "high", by=by, closed=closed)
        assert counts.to_list() == [row[0] for row in theirs], case

        both = "<=" if closed == "both" else "<"  # an end that is open on one side is in no span of the other
        overlap = (
            f"l.low {both} l.high AND r.low {both} r.high AND l.low {both} r.high AND r.low {both} l.high"
        )
        mine = es.join_overlaps(left, right, "low", "high", by=by, closed=closed, how=how)
        theirs = connection.sql(
            f'SELECT l."left", r."right" FROM left_side l {kind} right_side r ON {overlap}{also} '
            'ORDER BY l."left", r.low, r."right"'
        ).fetchall()
        assert list(zip(mine["left"], mine["right"])) == theirs, case
        pairs += len(theirs)
        functions = ("count", "sum", "mean")
        agg = {"*": "count", "v": functions, "x": functions}
        mine = es.aggregate_overlaps(left, right, "low", "high", by=by, closed=closed, agg=agg)
        theirs = connection.sql(
            f'SELECT count(r."right"), {aggregates_of_duckdb(functions, "1")} '
            f"FROM left_side l LEFT JOIN right_side r ON {overlap}{also} "
            'GROUP BY l."left" ORDER BY l."left"'
        ).fetchall()
        check_aggregates(mine, theirs, functions, case)
    assert pairs > 20 * SPANS


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
