"""Joins of frames against polars, pandas and DuckDB: frames in, frames out, one run, answers compared.

usage: python bench/joins.py [--repeat N] [--threads N] [--left-log2 N] [--only TEXT,...]
                     [--quotes-log2 N] [--json FILE]

Columns: ts i64, sym i32 (500 groups, zipf), bid f64, size i64, as in bench/join/peers.py. Every peer has its best
form: polars is told that sorted columns are sorted, DuckDB has its own tables and gives Arrow. Times are medians of the
whole call. The checksum is the sum of both gathered columns; DuckDB takes any of equal right rows, so its answer is
compared by the matched times.

Windows: count, sum, mean, min and max of 1,000 right rows at or before each left row. polars has no such join; its best
form is a rolling aggregate over both sides put together. DuckDB joins and aggregates; it takes a prefix of the left
rows (--window-prefix-log2), because its time grows with the pairs, and its row has the time of the prefix. Its other
form, window functions over both sides put together, is measured with --duckdb-windows; it takes minutes.

The last trades: the last 1 % of the trades of a day against all quotes, which are prepared (2^26 of them with
--quotes-log2 26; 16 quotes per trade). Not in the default run, because it takes 5 GiB and some minutes.

Points in spans: pairs of random points and spans, of which each point is in one on average; polars in memory and
streaming.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from typing import Any

arguments = argparse.ArgumentParser()
arguments.add_argument("--repeat", type=int, default=5)
arguments.add_argument("--threads", type=int, default=os.cpu_count())
arguments.add_argument("--left-log2", type=int, default=20)
arguments.add_argument("--only", default="")
arguments.add_argument("--window-prefix-log2", type=int, default=12)
arguments.add_argument("--duckdb-windows", action="store_true")
arguments.add_argument("--quotes-log2", type=int, default=0, help="measure the last trades against as many quotes")
arguments.add_argument("--json", default="")
options = arguments.parse_args()
os.environ["POLARS_MAX_THREADS"] = str(options.threads)

import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402

import espalier as es  # noqa: E402

results: list[dict[str, Any]] = []


def chosen(case: str) -> bool:
    return any(text in case for text in options.only.split(","))


def sides(n: int, m: int, grouped: bool, in_order: bool) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    rng = np.random.default_rng(31)
    span = 8 * max(n, m)
    weights = 1.0 / np.arange(1, 501)
    weights /= weights.sum()
    made = []
    for rows in (n, m):
        ts = rng.integers(0, span, rows)
        side = {"ts": np.sort(ts) if in_order else ts}
        if grouped:
            side["sym"] = rng.choice(500, rows, p=weights).astype(np.int32)
        made.append(side)
    made[1]["bid"] = rng.random(m)
    made[1]["size"] = rng.integers(1, 1000, m)
    return made[0], made[1]


def measure(
    case: str, peer: str, call: Callable[[], Any], checksum: Callable[[Any], float], left: int | None = None
) -> Any:
    """Returns an answer. `left`: of how many left rows, if not of all."""
    start = time.perf_counter()
    answer = call()  # the first call loads and allocates
    times = [1e3 * (time.perf_counter() - start)]
    if times[0] < 20_000:
        times = []
    for _ in range(options.repeat if not times else 0):
        del answer
        start = time.perf_counter()
        answer = call()
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    result = {
        "case": case,
        "peer": peer,
        "ms": times[len(times) // 2],
        "least_ms": times[0],
        "checksum": checksum(answer),
    }
    if left is not None:
        result["left"] = left
    results.append(result)
    print(
        f"{case:28} {peer:20} {result['ms']:9.1f} ms  least {result['least_ms']:9.1f}  {result['checksum']:.3f}",
        flush=True,
    )
    return answer


def checksum(answer: Any) -> float:
    return float(np.nansum(np.asarray(answer["bid"], dtype=float))) + float(
        np.nansum(np.asarray(answer["size"], dtype=float))
    )


def filled(answer: dict[str, Any]) -> float:
    return sum(float(np.nansum(np.ma.filled(answer[name].astype(float), 0))) for name in ("bid", "size"))


def run(case: str, n: int, m: int, grouped: bool, in_order: bool) -> None:
    if not chosen(case):
        return
    left, right = sides(n, m, grouped, in_order)
    by = "sym" if grouped else None
    pl_left, pl_right = pl.DataFrame(left), pl.DataFrame(right)
    if in_order:
        pl_left, pl_right = pl_left.set_sorted("ts"), pl_right.set_sorted("ts")
    pd_left, pd_right = pd.DataFrame(left, copy=False), pd.DataFrame(right, copy=False)

    def polars() -> Any:
        if in_order:
            return pl_left.join_asof(pl_right, on="ts", by=by, check_sortedness=False)
        rows = pl_left.with_row_index("row").sort("ts")
        return rows.join_asof(pl_right.sort("ts", maintain_order=True), on="ts", by=by, check_sortedness=False).sort(
            "row"
        )

    def pandas() -> Any:
        if in_order:
            return pd.merge_asof(pd_left, pd_right, on="ts", by=by)
        rows = pd_left.reset_index(names="row").sort_values("ts")
        return pd.merge_asof(rows, pd_right.sort_values("ts", kind="stable"), on="ts", by=by).sort_values("row")

    first = len(results)
    measure(case, "polars", polars, checksum)
    measure(case, "pandas", pandas, checksum)
    measure(case, "espalier polars", lambda: es.join_asof(pl_left, pl_right, on="ts", by=by), checksum)
    measure(case, "espalier pandas", lambda: es.join_asof(pd_left, pd_right, on="ts", by=by), checksum)
    measure(case, "espalier dict", lambda: es.join_asof(left, right, on="ts", by=by), filled)
    prepared, prepared_pandas = es.prepare(pl_right, "ts", by), es.prepare(pd_right, "ts", by)
    measure(case, "prepared polars", lambda: es.join_asof(pl_left, prepared, on="ts"), checksum)
    measure(case, "prepared pandas", lambda: es.join_asof(pd_left, prepared_pandas, on="ts"), checksum)
    for result in results[first:]:
        wanted = results[first]["checksum"]
        assert abs(result["checksum"] - wanted) <= 1e-9 * abs(wanted), (result, wanted)

    connection = duckdb.connect()
    connection.execute(f"SET threads = {options.threads}")
    connection.register("arrow_left", pl_left.to_arrow())
    connection.register("arrow_right", pl_right.to_arrow())
    connection.execute("CREATE TABLE l AS SELECT * FROM arrow_left")
    connection.execute("CREATE TABLE r AS SELECT * FROM arrow_right")
    condition = "l.sym = r.sym AND l.ts >= r.ts" if grouped else "l.ts >= r.ts"
    matched = connection.execute(
        f"SELECT sum(r.ts % 1000003)::DOUBLE FROM l ASOF LEFT JOIN r ON {condition}"
    ).fetchall()[0][0]
    ours = es.join_asof(pl_left, pl_right.with_columns(time=pl.col("ts")), on="ts", by=by)
    assert float((ours["time"] % 1000003).sum()) == matched
    statement = f"SELECT l.ts, r.bid, r.size FROM l ASOF LEFT JOIN r ON {condition}"
    measure(case, "duckdb", lambda: connection.sql(statement).to_arrow_table(), lambda _: float(matched))


def duckdb_with(**frames: Any) -> Any:
    connection = duckdb.connect()
    connection.execute(f"SET threads = {options.threads}").fetchall()
    for name, frame in frames.items():
        connection.register("incoming", frame.to_arrow())
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming").fetchall()
        connection.unregister("incoming")
    return connection


AGGREGATES = ("count", "sum", "mean", "min", "max")


def run_windows(case: str, n: int, m: int, rows: int) -> None:
    """Aggregates of about `rows` right rows at or before each left row."""
    if not chosen(case):
        return
    rng = np.random.default_rng(31)
    span, length = 8 * m, 8 * rows
    left = pl.DataFrame({"ts": np.sort(rng.integers(0, span, n))}).set_sorted("ts")
    times, values = np.sort(rng.integers(0, span, m)), rng.integers(0, 10_000, m) / 100
    right = pl.DataFrame({"ts": times, "bid": values}).set_sorted("ts")

    def ours(frame: Any) -> Any:
        made = es.join_window(left, frame, on="ts", window=(-length, 0), agg={"bid": list(AGGREGATES)})
        return made.rename({f"bid_{name}": name for name in AGGREGATES})

    def rolling() -> Any:
        marked = left.select("ts", bid=pl.lit(None, pl.Float64), left=pl.lit(True))
        both = pl.concat([right.with_columns(left=pl.lit(False)), marked]).sort("ts", maintain_order=True)
        bid, has = pl.col("bid"), pl.col("bid").is_not_null().cast(pl.Int64)
        window: Any = {"by": "ts", "window_size": f"{length}i", "closed": "both"}
        return both.select(
            "ts",
            "left",
            count=has.rolling_sum_by(**window),
            sum=bid.rolling_sum_by(**window),
            mean=bid.rolling_mean_by(**window),
            min=bid.rolling_min_by(**window),
            max=bid.rolling_max_by(**window),
        ).filter("left")

    def total(answer: Any) -> float:
        return sum(float(pl.Series(answer[name]).sum() or 0) for name in AGGREGATES)

    def compare(answer: Any, wanted: Any) -> None:
        for name in AGGREGATES:
            one, other = (f[name].cast(pl.Float64).fill_null(0).to_numpy() for f in (answer, wanted))
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6, err_msg=name)

    wanted = measure(case, "espalier polars", lambda: ours(right), total)
    prepared = es.prepare(right, "ts")
    compare(measure(case, "prepared polars", lambda: ours(prepared), total), wanted)
    compare(measure(case, "polars", rolling, total), wanted)

    prefix = min(n, 1 << options.window_prefix_log2)
    connection = duckdb_with(l=left[:prefix].with_row_index("id"), r=right)
    values_of = "count(bid) AS count, sum(bid) AS sum, avg(bid) AS mean, min(bid) AS min, max(bid) AS max"
    joined = f"SELECT l.id, {values_of} FROM l LEFT JOIN r ON r.ts BETWEEN l.ts - {length} AND l.ts GROUP BY l.id"
    answer = measure(case, "duckdb", lambda: connection.sql(joined).to_arrow_table(), total, prefix)
    compare(pl.DataFrame(answer).sort("id"), wanted[:prefix])
    if options.duckdb_windows:
        connection = duckdb_with(l=left, r=right)
        over = values_of.replace(" AS", " OVER w AS")
        put_together = (
            f"SELECT * FROM (SELECT ts, is_left, {over} FROM (SELECT ts, bid, false AS is_left FROM r UNION ALL "
            f"SELECT ts, NULL, true FROM l) WINDOW w AS (ORDER BY ts RANGE BETWEEN {length} PRECEDING AND CURRENT ROW)"
            ") WHERE is_left"
        )
        answer = measure(case, "duckdb windows", lambda: connection.sql(put_together).to_arrow_table(), total)
        compare(pl.DataFrame(answer).sort("ts"), wanted)


def run_last(case: str, quotes: int) -> None:
    """The last 1 % of quotes / 16 trades by symbol against prepared quotes."""
    rng = np.random.default_rng(31)
    span, trades = 8 * quotes, quotes // 16
    weights = np.cumsum(1.0 / np.arange(1, 501))

    def symbols(rows: int) -> np.ndarray:
        return np.searchsorted(weights, rng.random(rows) * weights[-1]).astype(np.int32)

    right = pl.DataFrame({"ts": np.sort(rng.integers(0, span, quotes)), "sym": symbols(quotes)})
    right = right.with_columns(bid=rng.random(quotes), size=rng.integers(1, 1000, quotes)).set_sorted("ts")
    times = np.sort(rng.integers(span // 100 * 99, span, trades // 100))
    left = pl.DataFrame({"ts": times, "sym": symbols(len(times))}).set_sorted("ts")
    start = time.perf_counter()
    prepared = es.prepare(right, "ts", "sym")
    print(f"prepared in {time.perf_counter() - start:.2f} s, {prepared.nbytes} bytes", flush=True)
    results.append(
        {"case": case, "peer": "prepare", "ms": 1e3 * (time.perf_counter() - start), "bytes": prepared.nbytes}
    )
    calls = {
        "prepared polars": lambda: es.join_asof(left, prepared, on="ts"),
        "espalier polars": lambda: es.join_asof(left, right, on="ts", by="sym"),
        "polars": lambda: left.join_asof(right, on="ts", by="sym", check_sortedness=False),
    }
    sums = []
    for peer, call in calls.items():
        measure(case, peer, call, checksum)
        sums.append(results[-1]["checksum"])
    assert max(sums) - min(sums) <= 1e-9 * abs(sums[0]), sums
    connection = duckdb_with(l=left, r=right)
    statement = "SELECT l.ts, r.bid, r.size FROM l ASOF LEFT JOIN r ON l.sym = r.sym AND l.ts >= r.ts"
    measure(case, "duckdb", lambda: connection.sql(statement).to_arrow_table(), checksum)


def run_spans(case: str, n: int, m: int) -> None:
    """Pairs of points and spans; points in random order."""
    if not chosen(case):
        return
    rng = np.random.default_rng(31)
    step, i = (1 << 33) // m, np.arange(m)
    points = pl.DataFrame({"point": np.arange(n), "ts": rng.integers(0, 1 << 33, n)})
    spans = pl.DataFrame({"span": i, "start": i * step, "finish": i * step + i * 7919 % (2 * step)})

    def total(answer: Any) -> float:
        point, span = (np.asarray(answer[name]).astype(np.uint64) for name in ("point", "span"))
        return float(((point * np.uint64(0x9E3779B97F4A7C15) ^ span * np.uint64(0xD6E8FEB86659FD93)) >> 20).sum())

    condition = pl.col("ts") >= pl.col("start"), pl.col("ts") <= pl.col("finish")
    connection = duckdb_with(points=points, spans=spans)
    statement = "SELECT * FROM points JOIN spans ON ts BETWEEN start AND finish"
    first = len(results)
    answers = [
        measure(case, "espalier polars", lambda: es.join_between(points, spans, "ts", "start", "finish"), total),
        measure(case, "polars", lambda: points.join_where(spans, *condition), total),
        measure(
            case,
            "polars streaming",
            lambda: points.lazy().join_where(spans.lazy(), *condition).collect(engine="streaming"),
            total,
        ),
        measure(case, "duckdb", lambda: connection.sql(statement).to_arrow_table(), total),
    ]
    pairs = [pl.DataFrame(a).select("point", "span").sort("point", "span") for a in answers]
    assert all(p.equals(pairs[0]) for p in pairs), results[first:]


def other_table() -> None:
    """Windows and spans: peers differ, and so do left rows."""
    for case in dict.fromkeys(r["case"] for r in results if r["case"].startswith(("window", "points"))):
        rows = [r for r in results if r["case"] == case]
        ours = min(r["ms"] for r in rows if r["peer"] in ("espalier polars", "prepared polars"))
        print(f"\n| {case} | left rows | ms | us per left row | of ours |\n|---|---|---|---|---|")
        for r in rows:
            count = r.get("left", n)
            each, best = 1e3 * r["ms"] / count, 1e3 * ours / n
            print(f"| {r['peer']} | {count} | {r['ms']:.1f} | {each:.3f} | {each / best:.1f} |")


def table() -> None:
    if not any(r["peer"] == "pandas" for r in results):
        return
    print("\n| case | polars | pandas | DuckDB | ours, polars | ours, pandas | prepared, polars | once | prepared |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in dict.fromkeys(r["case"] for r in results if r["peer"] == "pandas"):
        ms = {r["peer"]: r["ms"] for r in results if r["case"] == case}
        best = min(ms["polars"], ms["pandas"], ms["duckdb"])
        once, prepared = ms["espalier polars"], ms["prepared polars"]
        print(
            f"| {case} | {ms['polars']:.1f} | {ms['pandas']:.1f} | {ms['duckdb']:.1f} | {once:.1f} | "
            f"{ms['espalier pandas']:.1f} | {prepared:.1f} | {best / once:.2f} | {best / prepared:.2f} |"
        )


n = 1 << options.left_log2
load_before = os.getloadavg()[0]
run("same size", n, n, False, True)
run("8 times larger", n, 8 * n, False, True)
run("same size, 500 groups", n, n, True, True)
run("8 times larger, 500 groups", n, 8 * n, True, True)
run("same size, random order", n, n, False, False)
run("same size, 500 groups, random order", n, n, True, False)
run("8 times larger, random order", n, 8 * n, False, False)
run("8 times larger, 500 groups, random order", n, 8 * n, True, False)
run_windows("window, 4 times larger, 1000 rows per window", n, 4 * n, 1000)
run_spans("points in spans, 16 times fewer spans", n, n // 16)
if options.quotes_log2:
    run_last(f"last 1 % of trades, 2^{options.quotes_log2} quotes", 1 << options.quotes_log2)
table()
other_table()
commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
about = {
    "date": time.strftime("%Y-%m-%d"),
    "commit": commit,
    "threads": options.threads,
    "left": n,
    "load_before_and_after": [round(load_before, 1), round(os.getloadavg()[0], 1)],
    "machine": platform.processor() or platform.machine(),
    "versions": {m.__name__: m.__version__ for m in (pl, pd, duckdb, np)},
}
print(json.dumps(about))
if options.json:
    with open(options.json, "w") as file:
        json.dump({"about": about, "results": results}, file, indent=1)
