"""As-of joins of frames against polars, pandas and DuckDB: frames in, frames out, one run, answers compared.

usage: python bench/joins.py [--repeat N] [--threads N] [--left-log2 N] [--only TEXT] [--json FILE]

Columns: ts i64, sym i32 (500 groups, zipf), bid f64, size i64, as in bench/join/peers.py. Every peer has its best
form: polars is told that sorted columns are sorted, DuckDB has its own tables and gives Arrow. Times are medians of the
whole call. The checksum is the sum of both gathered columns; DuckDB takes any of equal right rows, so its answer is
compared by the matched times.
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
arguments.add_argument("--json", default="")
options = arguments.parse_args()
os.environ["POLARS_MAX_THREADS"] = str(options.threads)

import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402

import espalier as es  # noqa: E402

results: list[dict[str, Any]] = []


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


def measure(case: str, peer: str, call: Callable[[], Any], checksum: Callable[[Any], float]) -> None:
    times = []
    answer = call()  # the first call loads and allocates
    for _ in range(options.repeat):
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
    results.append(result)
    print(
        f"{case:28} {peer:20} {result['ms']:9.1f} ms  least {result['least_ms']:9.1f}  {result['checksum']:.3f}",
        flush=True,
    )


def checksum(answer: Any) -> float:
    return float(np.nansum(np.asarray(answer["bid"], dtype=float))) + float(
        np.nansum(np.asarray(answer["size"], dtype=float))
    )


def filled(answer: dict[str, Any]) -> float:
    return sum(float(np.nansum(np.ma.filled(answer[name].astype(float), 0))) for name in ("bid", "size"))


def run(case: str, n: int, m: int, grouped: bool, in_order: bool) -> None:
    if options.only not in case:
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


def table() -> None:
    print("\n| case | polars | pandas | DuckDB | ours, polars | ours, pandas | prepared, polars | once | prepared |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in dict.fromkeys(r["case"] for r in results):
        ms = {r["peer"]: r["ms"] for r in results if r["case"] == case}
        best = min(ms["polars"], ms["pandas"], ms["duckdb"])
        once, prepared = ms["espalier polars"], ms["prepared polars"]
        print(
            f"| {case} | {ms['polars']:.1f} | {ms['pandas']:.1f} | {ms['duckdb']:.1f} | {once:.1f} | "
            f"{ms['espalier pandas']:.1f} | {prepared:.1f} | {best / once:.2f} | {best / prepared:.2f} |"
        )


n = 1 << options.left_log2
run("same size", n, n, False, True)
run("8 times larger", n, 8 * n, False, True)
run("same size, 500 groups", n, n, True, True)
run("8 times larger, 500 groups", n, 8 * n, True, True)
run("same size, random order", n, n, False, False)
table()
load = os.getloadavg()
commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
about = {
    "date": time.strftime("%Y-%m-%d"),
    "commit": commit,
    "threads": options.threads,
    "left": n,
    "load_before_and_after": [round(x, 1) for x in load],
    "machine": platform.processor() or platform.machine(),
    "versions": {m.__name__: m.__version__ for m in (pl, pd, duckdb, np)},
}
print(json.dumps(about))
if options.json:
    with open(options.json, "w") as file:
        json.dump({"about": about, "results": results}, file, indent=1)
