"""Times of window functions in Espalier and in DuckDB, statement by statement in turn, on the same rows.

usage: window_times.py --runner build/.../tests/engine_sql_runner [--rows 1048576] [--threads 2] [--repeats 5]

Every statement adds up its results, so that neither side writes an answer. Prints the median of each side in
milliseconds and the ratio, as a table of the page docs/design/window-functions.md.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import duckdb

ROWS = """SELECT i * 7919 % {rows} AS id, (i * 104729 % 1009)::integer AS g, i * 37 % 1001 AS v, (i * 7919 % 99991) / 8.0::double AS d,
 TIMESTAMP '2026-01-01' + to_microseconds(i * 10000000) AS ts FROM range({rows}) r(i)"""
STATEMENTS = {
    "row_number per partition": "SELECT sum(x) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) AS x FROM t) q",
    "moving average, ROWS 100": "SELECT sum(x) FROM (SELECT avg(d) OVER (ORDER BY ts ROWS 99 PRECEDING) AS x FROM t) q",
    "moving average per partition, ROWS 100":
        "SELECT sum(x) FROM (SELECT avg(d) OVER (PARTITION BY g ORDER BY id ROWS 99 PRECEDING) AS x FROM t) q",
    "sum, RANGE 1 hour": "SELECT sum(x) FROM (SELECT sum(v) OVER (ORDER BY ts RANGE INTERVAL '1 hour' PRECEDING) AS x FROM t) q",
    "max, ROWS 1000": "SELECT sum(x) FROM (SELECT max(v) OVER (ORDER BY id ROWS 999 PRECEDING) AS x FROM t) q",
    "lag per partition": "SELECT sum(v - x) FROM (SELECT v, lag(v) OVER (PARTITION BY g ORDER BY id) AS x FROM t) q",
}


class Espalier:
    """A runner that takes statements from a pipe and answers line by line."""

    def __init__(self, runner, folder, threads):
        self.script, self.output = folder / "script", folder / "output"
        os.mkfifo(self.script)
        os.mkfifo(self.output)
        self.process = subprocess.Popen([runner, self.script, self.output, "--threads", str(threads)])
        self.to, self.back = open(self.script, "w"), open(self.output)

    def run(self, sql):
        self.to.write(json.dumps(sql) + "\n")
        self.to.flush()
        answer = json.loads(self.back.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


def milliseconds(run, sql):
    start = time.perf_counter()
    run(sql)
    return (time.perf_counter() - start) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--rows", type=int, default=1 << 20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        theirs = duckdb.connect(config={"threads": options.threads})
        theirs.execute(f"CREATE TABLE t AS {ROWS.format(rows=options.rows)}")
        theirs.execute(f"COPY t TO '{folder}/t.parquet'")
        ours = Espalier(options.runner, folder, options.threads)
        ours.run(f"CREATE TABLE t AS SELECT * FROM read_parquet('{folder}/t.parquet')")
        print(f"| {options.rows} rows, {options.threads} threads, ms | Espalier | DuckDB {duckdb.__version__} | ratio |\n|---|---|---|---|")
        for what, sql in STATEMENTS.items():
            times = [[], []]
            for _ in range(options.repeats):
                times[0].append(milliseconds(ours.run, sql))
                times[1].append(milliseconds(lambda text: theirs.execute(text).fetchall(), sql))
            mine, other = (statistics.median(side) for side in times)
            print(f"| {what} | {mine:.0f} | {other:.0f} | {other / mine:.1f} |", flush=True)
        ours.to.close()
        ours.process.wait()


if __name__ == "__main__":
    main()
