"""Times of as-of and window joins as SQL statements in Espalier and in DuckDB, in turn, on the same rows in time order.

usage: join_times.py --runner build/.../tests/engine_sql_runner [--threads 2] [--repeats 5] [--small] [--only TEXT]

Times of Espalier are those that EXPLAIN (ANALYZE) reports for the whole plan, whose answer is Arrow columns in memory;
parsing and planning, less than a millisecond, are not included. DuckDB's are those of fetching an Arrow table. Prints
the median of each side in milliseconds and the ratio, as a table of the page docs/design/joins.md.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import tempfile
import time

import duckdb

from window_times import Espalier

# Trades and quotes in time order; `sym` is skewed as by zipf, 500 values. Window statements read `q4`.
TRADES = """SELECT i AS id, (i * {step})::bigint AS ts, (pow(500, ((i * 7919) % 65536) / 65536.0))::integer AS sym,
 (i * 104729 % 1000)::integer AS qty FROM range({rows}) r(i)"""
QUOTES = """SELECT (i * {step} + i * 7919 % {step})::bigint AS ts, (pow(500, ((i * 104729) % 65536) / 65536.0))::integer AS sym,
 (i * 37 % 100003)::integer AS price, (i * 37 % 100003) / 100.0::double AS px FROM range({rows}) r(i)"""
SPANS = """SELECT i AS id, (i * {step})::bigint AS start, (i * {step} + i * 7919 % (2 * {step}))::bigint AS finish
 FROM range({rows}) r(i)"""
SPAN = 1 << 33  # of time

AS_OF = ("SELECT t.id, q.price FROM trades t LEFT JOIN LATERAL (SELECT price FROM {q} q WHERE {by}q.ts <= t.ts ORDER BY q.ts DESC "
         "LIMIT 1) q ON true")
AS_OF_DUCKDB = "SELECT t.id, q.price FROM trades t ASOF LEFT JOIN {q} q ON {by}t.ts >= q.ts"
WINDOW = ("SELECT t.id, w.n, w.s, w.a, w.lo, w.hi FROM trades t LEFT JOIN LATERAL (SELECT count(*) AS n, sum(px) AS s, avg(px) AS a, "
          "min(px) AS lo, max(px) AS hi FROM {q} q WHERE {by}q.ts BETWEEN t.ts - {length} AND t.ts) w ON true")
BY = "q.sym = t.sym AND "
POINTS = "SELECT t.id, s.id AS span FROM trades t JOIN {q} s ON t.ts BETWEEN s.start AND s.finish"
COUNTS = "SELECT t.id, (SELECT count(*) FROM {q} s WHERE t.ts BETWEEN s.start AND s.finish) AS n FROM trades t"


def statements(small):
    """What, Espalier's statement, DuckDB's or None where it takes minutes, and the columns of an index."""
    few, many = ("q16", "q18") if small else ("q20", "q23")
    windows = "q16" if small else "q22"
    rows = 1 << int(windows[1:])
    out = []
    for quotes, by in ((few, ""), (many, ""), (few, BY), (many, BY)):
        columns = "(sym, ts)" if by else "(ts)"
        what = f"as-of, 2^{quotes[1:]} right rows{', 500 groups' if by else ''}"
        out.append((what, AS_OF.format(q=quotes, by=by), AS_OF_DUCKDB.format(q=quotes, by=by), f"{quotes} {columns}"))
    for count, by in ((10, ""), (1000, ""), (1000, BY)):
        length = SPAN // rows * count
        what = f"window, 2^{windows[1:]} right rows, {count} per window{' of all groups, 500 groups' if by else ''}"
        window = WINDOW.format(q=windows, by=by, length=length)
        out.append((what, window, window if small and count == 10 else None, None))
    spans = "s12" if small else "s16"
    for what, sql in (("points in spans", POINTS), ("spans around a point, counted", COUNTS)):
        other = sql.format(q=spans) if sql is POINTS else None
        out.append((f"{what}, 2^{spans[1:]} spans", sql.format(q=spans), other, None))
    return out


def milliseconds(answer):
    """The total time in an answer to EXPLAIN (ANALYZE, FORMAT JSON)."""
    return json.loads(answer["rows"][0][0]["text"])[0]["Execution Time"]


def measured(run, repeats):
    """The median; a statement of more than five seconds runs once."""
    times = [run()]
    while len(times) < repeats and times[0] < 5000:
        times.append(run())
    return statistics.median(times)


def arrow_milliseconds(theirs, sql):
    start = time.perf_counter()
    theirs.sql(sql).to_arrow_table()
    return (time.perf_counter() - start) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a sixteenth of the rows")
    parser.add_argument("--only", default="", help="statements whose title has this")
    options = parser.parse_args()
    left = 1 << (16 if options.small else 20)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        theirs = duckdb.connect(config={"threads": options.threads})
        theirs.execute("CREATE TABLE trades AS " + TRADES.format(rows=left, step=SPAN // left))
        chosen = [s for s in statements(options.small) if options.only in s[0]]
        for table in sorted({re.search(r"(?:FROM|JOIN) ([qs]\d+)", ours).group(1) for _, ours, _, _ in chosen}):
            rows = 1 << int(table[1:])
            source = QUOTES if table.startswith("q") else SPANS
            theirs.execute(f"CREATE TABLE {table} AS " + source.format(rows=rows, step=SPAN // rows))
        ours = Espalier(options.runner, folder, options.threads)
        for (table,) in theirs.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            theirs.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
            ours.run(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet')")
            os.remove(folder / f"{table}.parquet")
        print(f"load {os.getloadavg()[0]:.1f}")
        print(f"| 2^{left.bit_length() - 1} left rows, {options.threads} threads, ms | Espalier | with an index | "
              f"DuckDB {duckdb.__version__} | ratio |\n|---|---|---|---|---|")
        for what, mine, other, index in chosen:
            run = lambda: milliseconds(ours.run("EXPLAIN (ANALYZE, FORMAT JSON) " + mine))
            run()
            plain = measured(run, options.repeats)
            indexed = peer = ratio = ""
            if other:
                seconds = measured(lambda: arrow_milliseconds(theirs, other), options.repeats)
                peer, ratio = f"{seconds:.0f}", f"{seconds / plain:.1f}"
            if index:
                ours.run(f"CREATE INDEX i ON {index}")
                run()
                indexed = f"{measured(run, options.repeats):.1f}"
                ours.run("DROP INDEX i")
            print(f"| {what} | {plain:.1f} | {indexed} | {peer} | {ratio} |", flush=True)
        ours.to.close()
        ours.process.wait()


if __name__ == "__main__":
    main()
