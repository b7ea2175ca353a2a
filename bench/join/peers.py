"""As-of joins of polars, pandas and DuckDB on columns that bench_join wrote; one JSON line per peer.

usage: peers.py FOLDER GROUPED SORTED REPEAT THREADS

Every peer is used in its best form: sorted input is declared as such, types are fixed-width, tables of DuckDB are its
own. A time is that of the whole answer in memory. The checksum is the sum of both gathered columns. DuckDB documents no
order among equal timestamps and takes any of their rows, so its checksum is that of the matched timestamps, which do
not depend on ties; it is computed outside of the measured time.
"""
import json
import os
import sys
import time

folder, repeat, threads = sys.argv[1], int(sys.argv[4]), sys.argv[5]
grouped, is_sorted = sys.argv[2] == "1", sys.argv[3] == "1"
os.environ["POLARS_MAX_THREADS"] = threads

try:
    import duckdb  # noqa: E402
    import numpy as np  # noqa: E402
    import pandas as pd  # noqa: E402
    import polars as pl  # noqa: E402
except ImportError as missing:
    sys.exit(f"{missing.name} is missing; install the peers: .venv/bin/pip install duckdb numpy pandas polars")


def column(side, name, dtype):
    return np.fromfile(f"{folder}/{side}_{name}", dtype=dtype)


left = {"ts": column("left", "ts", np.int64)}
right = {"ts": column("right", "ts", np.int64), "bid": column("right", "bid", np.float64),
         "size": column("right", "size", np.int64)}
if grouped:
    left["sym"] = column("left", "sym", np.int32)
    right["sym"] = column("right", "sym", np.int32)


def measure(name, version, run, checksum):
    times, cpu_times = [], []
    for _ in range(repeat):
        start, cpu_start = time.perf_counter(), time.process_time()
        answer = run()
        times.append(time.perf_counter() - start)
        cpu_times.append(time.process_time() - cpu_start)
    times.sort()
    cpu_times.sort()
    print(json.dumps({"peer": name, "version": version, "ms": 1e3 * times[repeat // 2],
                      "cpu_ms": 1e3 * cpu_times[repeat // 2], "checksum": checksum(answer)}), flush=True)


by = "sym" if grouped else None

pl_left, pl_right = pl.DataFrame(left), pl.DataFrame(right)
if is_sorted:
    pl_left, pl_right = pl_left.set_sorted("ts"), pl_right.set_sorted("ts")


def run_polars():
    if is_sorted:
        return pl_left.join_asof(pl_right, on="ts", by=by, strategy="backward", check_sortedness=False)
    rows = pl_left.with_row_index("row").sort("ts")
    found = rows.join_asof(pl_right.sort("ts", maintain_order=True), on="ts", by=by, strategy="backward",
                           check_sortedness=False)
    return found.sort("row")


measure("polars", pl.__version__, run_polars,
        lambda a: float(a["bid"].sum()) + float(a["size"].sum()))

pd_left, pd_right = pd.DataFrame(left, copy=False), pd.DataFrame(right, copy=False)


def run_pandas():
    if is_sorted:
        return pd.merge_asof(pd_left, pd_right, on="ts", by=by)
    rows = pd_left.reset_index(names="row").sort_values("ts")
    return pd.merge_asof(rows, pd_right.sort_values("ts", kind="stable"), on="ts", by=by).sort_values("row")


measure("pandas", pd.__version__, run_pandas, lambda a: float(a["bid"].sum()) + float(a["size"].sum()))

db = duckdb.connect()
db.execute(f"SET threads = {threads}")
arrow_left, arrow_right = pl_left.to_arrow(), pl_right.to_arrow()
db.execute("CREATE TABLE l AS SELECT * FROM arrow_left")
db.execute("CREATE TABLE r AS SELECT * FROM arrow_right")
condition = "l.sym = r.sym AND l.ts >= r.ts" if grouped else "l.ts >= r.ts"
statement = f"SELECT l.ts, r.bid, r.size FROM l ASOF LEFT JOIN r ON {condition}"


def run_duckdb():
    return db.sql(statement).to_arrow_table()  # not execute(): its Arrow output makes an extra copy of the rows


def key_checksum(_):
    found = f"SELECT sum(r.ts % 1000003) FROM l ASOF LEFT JOIN r ON {condition}"
    return float(db.execute(found).fetchone()[0])


measure("duckdb", duckdb.__version__, run_duckdb, key_checksum)
