"""As-of joins of trades with quotes, against polars, DuckDB and pandas: the queries 79 to 84 of KX's NYSE TAQ suite.

usage: python python/bench/taq.py [--trades 2^18] [--symbols N] [--queries 79,84] [--peers NAME,...] [--repeat N]
                                  [--threads N] [--seed N] [--folder DIR] [--json FILE]

The data are generated (taq_data.py), the queries are those of https://github.com/KxSystems/NYSETAQBenchmarks: the quote
that was valid at each trade, that is the last one of the symbol whose time is not after the trade's, for

    79  fifty symbols (45 at random and five that do not occur)
    80  up to 980 symbols with few quotes
    81  one symbol with few quotes (a fifth of all symbols have fewer)
    82  the symbol with the most quotes
    83  large trades, of more than 500,000 shares, by symbol and exchange
    84  trades between 16:20 and 16:30

In the suite, names that do not occur fill the symbols of query 80 up to 1,000, tables have one more column, `stop`, and
the description of 84 says "by sym+exchange" while its statements join by symbol only, as ours do.

Every peer is a process of its own with the columns in memory in its own form: categories for symbols, sorted columns
declared, tables of DuckDB. Where there are several ways to write a query, all are measured and the fastest counts. The
time is that of the whole query: selecting the trades, the join, the answer as a frame (DuckDB: as an Arrow table).

`espalier` joins polars frames without preparation, `prepared` against es.prepare(quotes). `partitioned` has both tables
cut by symbol before (polars: partition_by), which serves the queries 79 to 82; `prepared, partitioned` takes the trades
from the same parts and joins them with the prepared side. `duckdb index` is DuckDB with an index on quote(sym).

Every answer is compared, row by row, with a binary search in NumPy: by the number of the quote, which must be the last
of those with the same time; DuckDB takes any of them, and only the symbol, exchange and time of the quote are compared.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from taq_data import CLOSE, CONDITIONS, DAY, EXCHANGES, LARGE, Market, generate, load, save  # noqa: E402

QUERIES = {
    79: "50 symbols",
    80: "rare symbols",
    81: "one rare symbol",
    82: "one frequent symbol",
    83: "large trades",
    84: "16:20 to 16:30",
}
PEERS = ["polars", "partitioned", "pandas", "duckdb", "duckdb index", "espalier", "prepared", "prepared, partitioned"]
PREPARED = ("partitioned", "duckdb index", "prepared", "prepared, partitioned")
_SLOW = 5.0  # seconds; calls that take longer are not repeated

Form = Callable[[], Any]
Forms = dict[str, Form]
Columns = dict[str, np.ndarray]


def wanted_symbols(market: Market, query: int) -> list[str]:
    named = {79: market.fifty, 80: market.rare, 81: [market.infrequent], 82: [market.frequent]}
    return named.get(query, [])


def close_times() -> tuple[np.datetime64, np.datetime64]:
    return DAY + np.timedelta64(CLOSE[0], "ns"), DAY + np.timedelta64(CLOSE[1], "ns")


# ---- the answers that are right --------------------------------------------------------------------------------------


def chosen_trades(market: Market, query: int) -> np.ndarray:
    """Row numbers of the trades of a query."""
    trade = market.trade
    if query == 83:
        return np.flatnonzero(trade["size"] > LARGE)
    if query == 84:
        begin, end = close_times()
        return np.flatnonzero((trade["time"] >= begin) & (trade["time"] <= end))
    code = {name: c for c, name in enumerate(market.symbols)}
    codes = [code[name] for name in wanted_symbols(market, query) if name in code]
    return np.flatnonzero(np.isin(trade["sym"], codes))


def expected(market: Market, query: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of trades and, for each, of its quote, or -1: a binary search for each symbol (and exchange)."""
    rows = chosen_trades(market, query)
    trade, quote = market.trade, market.quote

    def groups(sym: np.ndarray, ex: np.ndarray) -> np.ndarray:
        return sym.astype(np.int64) * len(EXCHANGES) + ex if query == 83 else sym

    of_trades = groups(trade["sym"][rows], trade["ex"][rows])
    of_quotes = groups(np.asarray(quote["sym"]), np.asarray(quote["quoteex"]))
    order = np.argsort(of_quotes, kind="stable")
    ordered = of_quotes[order]
    found = np.full(len(rows), -1)
    for group in np.unique(of_trades):
        mine = np.flatnonzero(of_trades == group)
        part = order[np.searchsorted(ordered, group, "left") : np.searchsorted(ordered, group, "right")]
        position = np.searchsorted(quote["time"][part], trade["time"][rows[mine]], "right") - 1
        found[mine] = np.where(position >= 0, part[position], -1) if len(part) else -1
    return rows, found


def check(market: Market, query: int, peer: str, answer: Columns, right: tuple[np.ndarray, np.ndarray]) -> None:
    """Raises if an answer (columns id, seq, bid, asize; seq is -1 without a quote) is not the right one."""
    rows, found = right
    order = np.argsort(answer["id"], kind="stable")
    ids, seq, bid, asize = (answer[name][order] for name in ("id", "seq", "bid", "asize"))
    problem = ""
    if not np.array_equal(ids, rows):
        problem = f"has {len(ids)} trades and not the {len(rows)} wanted ones"
    elif not np.array_equal(seq < 0, found < 0):
        problem = f"finds {int((seq >= 0).sum())} quotes and not {int((found >= 0).sum())}"
    else:
        has = seq >= 0
        same = ["time", "sym"] + (["quoteex"] if query == 83 else [])
        if peer.startswith("duckdb"):
            wrong = sum(int((market.quote[c][seq[has]] != market.quote[c][found[has]]).sum()) for c in same)
        else:
            wrong = int((seq != found).sum())
        if wrong:
            problem = f"has {wrong} other quotes"
        elif not (
            np.array_equal(bid[has], market.quote["bid"][seq[has]])
            and np.array_equal(asize[has], market.quote["asize"][seq[has]])
        ):
            problem = "has columns of another quote"
    if problem:
        raise AssertionError(f"query {query}, {peer}: the answer {problem}.")


# ---- peers: each makes its tables, prepares, and gives the forms of a query ------------------------------------------


def symbols_and_absent(market: Market) -> list[str]:
    return market.symbols + [name for name in market.fifty if name.endswith(".")]


def categories(market: Market) -> dict[str, list[str]]:
    return {
        "sym": symbols_and_absent(market),
        "ex": EXCHANGES,
        "quoteex": EXCHANGES,
        "cond": CONDITIONS,
        "quotecond": CONDITIONS,
    }


def polars_frame(market: Market, columns: Columns) -> Any:
    import polars as pl

    made, names = {}, categories(market)
    for name, values in columns.items():
        series = pl.Series(name, np.array(values))
        made[name] = pl.Series(names[name], dtype=pl.Enum(names[name])).gather(series) if name in names else series
    return pl.DataFrame(made).set_sorted("time")


def polars_answer(frame: Any) -> Columns:
    return {
        "id": frame["id"].to_numpy(),
        "seq": frame["seq"].fill_null(-1).to_numpy(),
        "bid": frame["bid"].fill_null(0).to_numpy(),
        "asize": frame["asize"].fill_null(0).to_numpy(),
    }


class PolarsTables:
    """polars frames of both tables, and the selections of the queries."""

    def __init__(self, market: Market, threads: int) -> None:
        self.market = market
        self.trade = polars_frame(market, market.trade)
        self.quote = polars_frame(market, market.quote)

    def chosen(self, query: int) -> Any:
        import polars as pl

        names = wanted_symbols(self.market, query)
        if query == 83:
            return self.trade.filter(pl.col("size") > LARGE)
        if query == 84:
            begin, end = (pl.lit(t.astype(np.int64)).cast(pl.Datetime("ns")) for t in close_times())
            return self.trade.filter(pl.col("time").is_between(begin, end))
        if len(names) == 1:
            return self.trade.filter(pl.col("sym") == names[0])
        return self.trade.filter(pl.col("sym").is_in(names))

    def quotes_of(self, query: int, left: Any) -> Any:
        """The quotes of the symbols that the query names, or else of those that its trades have."""
        import polars as pl

        names = wanted_symbols(self.market, query)
        if len(names) == 1:
            return self.quote.filter(pl.col("sym") == names[0]).drop("sym")
        return self.quote.filter(pl.col("sym").is_in(names or left["sym"].unique().implode()))

    answer = staticmethod(polars_answer)


class Polars(PolarsTables):
    def forms(self, query: int) -> Forms:
        def join(left: Any, right: Any) -> Any:
            if query == 83:
                return left.join_asof(
                    right, on="time", by_left=["sym", "ex"], by_right=["sym", "quoteex"], check_sortedness=False
                )
            by = "sym" if "sym" in right.columns else None
            return left.join_asof(right, on="time", by=by, check_sortedness=False)

        def all_quotes() -> Any:
            return join(self.chosen(query), self.quote)

        def filtered_quotes() -> Any:
            left = self.chosen(query)
            return join(left, self.quotes_of(query, left))

        return {"all quotes": all_quotes, "filtered quotes": filtered_quotes}


class Espalier(PolarsTables):
    def forms(self, query: int) -> Forms:
        import espalier as es

        def join(left: Any, right: Any) -> Any:
            if query == 83:
                return es.join_asof(left, right, on="time", by_left=["sym", "ex"], by_right=["sym", "quoteex"])
            return es.join_asof(left, right, on="time", by="sym" if "sym" in right.columns else None)

        def filtered_quotes() -> Any:
            left = self.chosen(query)
            return join(left, self.quotes_of(query, left))

        return {"all quotes": lambda: join(self.chosen(query), self.quote), "filtered quotes": filtered_quotes}


class Prepared(PolarsTables):
    def __init__(self, market: Market, threads: int) -> None:
        import espalier as es

        super().__init__(market, threads)
        self.es = es
        self.sides: dict[bool, es.Prepared] = {}

    def prepare(self, by_exchange: bool) -> int:
        self.sides[by_exchange] = self.es.prepare(self.quote, "time", ["sym", "quoteex"] if by_exchange else "sym")
        return self.sides[by_exchange].nbytes

    def forms(self, query: int) -> Forms:
        side, by = self.sides[query == 83], ["sym", "ex"] if query == 83 else ["sym"]
        return {"": lambda: self.es.join_asof(self.chosen(query), side, left_on="time", by_left=by)}


class Partitioned(PolarsTables):
    queries = (79, 80, 81, 82)

    def prepare(self, by_exchange: bool) -> int:
        self.trades, self.quotes = (
            {name: part for (name,), part in frame.partition_by("sym", as_dict=True).items()}
            for frame in (self.trade, self.quote)
        )
        return sum(part.estimated_size() for parts in (self.trades, self.quotes) for part in parts.values())

    def forms(self, query: int) -> Forms:
        import polars as pl

        def joined() -> Any:
            parts = []
            for name in wanted_symbols(self.market, query):
                left = self.trades.get(name)
                if left is not None:
                    right = self.quotes.get(name, self.quote.clear())
                    parts.append(left.join_asof(right.drop("sym"), on="time", check_sortedness=False))
            return pl.concat(parts) if parts else self.trade.clear()

        def together() -> Any:
            names = wanted_symbols(self.market, query)
            left = pl.concat([self.trade.clear(), *(self.trades[n] for n in names if n in self.trades)]).sort("time")
            right = pl.concat([self.quote.clear(), *(self.quotes[n] for n in names if n in self.quotes)]).sort("time")
            return left.join_asof(right, on="time", by="sym", check_sortedness=False)

        return {"symbol by symbol": joined, "concatenated": together}


class PreparedPartitioned(Prepared):
    queries = (79, 80, 81, 82)

    def prepare(self, by_exchange: bool) -> int:
        self.trades = {name: part for (name,), part in self.trade.partition_by("sym", as_dict=True).items()}
        return super().prepare(by_exchange) + sum(part.estimated_size() for part in self.trades.values())

    def chosen(self, query: int) -> Any:
        import polars as pl

        parts = [self.trades[n] for n in wanted_symbols(self.market, query) if n in self.trades]
        return pl.concat([self.trade.clear(), *parts]) if len(parts) != 1 else parts[0]


class Pandas:
    def __init__(self, market: Market, threads: int) -> None:
        import pandas as pd

        self.market = market
        names = categories(market)
        self.trade, self.quote = (
            pd.DataFrame(
                {
                    name: pd.Categorical.from_codes(values, names[name]) if name in names else np.array(values)
                    for name, values in columns.items()
                }
            )
            for columns in (market.trade, market.quote)
        )

    def forms(self, query: int) -> Forms:
        import pandas as pd

        names = wanted_symbols(self.market, query)
        begin, end = close_times()

        def chosen() -> Any:
            trade = self.trade
            if query == 83:
                return trade[trade["size"] > LARGE]
            if query == 84:
                return trade[(trade["time"] >= begin) & (trade["time"] <= end)]
            return trade[trade["sym"] == names[0] if len(names) == 1 else trade["sym"].isin(names)]

        def join(left: Any, right: Any) -> Any:
            if query == 83:
                return pd.merge_asof(left, right, on="time", left_by=["sym", "ex"], right_by=["sym", "quoteex"])
            return pd.merge_asof(left, right, on="time", by="sym" if "sym" in right.columns else None)

        def filtered() -> Any:
            left, quote = chosen(), self.quote
            if len(names) == 1:
                return join(left, quote[quote["sym"] == names[0]].drop(columns="sym"))
            return join(left, quote[quote["sym"].isin(names or left["sym"].unique())])

        forms = {"filtered quotes": filtered}
        if query in (83, 84):
            forms["all quotes"] = lambda: join(chosen(), self.quote)
        return forms

    def answer(self, frame: Any) -> Columns:
        return {
            "id": frame["id"].to_numpy(),
            "seq": frame["seq"].fillna(-1).to_numpy().astype(np.int64),
            "bid": frame["bid"].fillna(0).to_numpy(),
            "asize": frame["asize"].fillna(0).to_numpy(),
        }


class DuckDB:
    def __init__(self, market: Market, threads: int) -> None:
        import duckdb

        self.market = market
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {threads}")
        for name, values in {"sym": symbols_and_absent(market), "ex": EXCHANGES, "cond": CONDITIONS}.items():
            listed = ", ".join(f"'{v}'" for v in values)
            self.connection.execute(f"CREATE TYPE {name}_type AS ENUM ({listed})")
        types = {"sym": "sym_type", "ex": "ex_type", "quoteex": "ex_type", "cond": "cond_type"}
        types["quotecond"] = "cond_type"
        for table, columns in (("trade", market.trade), ("quote", market.quote)):
            self.connection.register("incoming", polars_frame(market, columns).to_arrow())
            chosen = ", ".join(f"{c}::{types[c]} AS {c}" if c in types else c for c in columns)
            self.connection.execute(f"CREATE TABLE {table} AS SELECT {chosen} FROM incoming")
            self.connection.unregister("incoming")

    def forms(self, query: int) -> Forms:
        names = wanted_symbols(self.market, query)
        listed = ", ".join(f"'{n}'" for n in names)
        begin, end = (f"TIMESTAMP_NS '{str(t).replace('T', ' ')}'" for t in close_times())
        where = {83: f"size > {LARGE}", 84: f"time BETWEEN {begin} AND {end}"}
        chosen = where.get(query, f"sym IN ({listed})" if len(names) > 1 else f"sym = '{names[0] if names else ''}'")
        by_columns = "t.sym = q.sym AND t.ex = q.quoteex AND " if query == 83 else "t.sym = q.sym AND "
        right = f"SELECT * FROM quote WHERE {chosen}" if names else "SELECT * FROM quote"

        def statement(right: str, also: str = by_columns) -> Form:
            text = (
                f"SELECT t.*, q.bid, q.ask, q.bsize, q.asize, q.quotecond, q.quoteex, q.seq "
                f"FROM (SELECT * FROM trade WHERE {chosen}) t ASOF LEFT JOIN ({right}) q "
                f"ON {also}t.time >= q.time"
            )
            return lambda: self.connection.sql(text).to_arrow_table()

        # DuckDB takes nested loops below 64 estimated trades; it estimates far too few for one frequent symbol, and
        # query 82 then takes minutes.
        loops = 64 if len(chosen_trades(self.market, query)) < 64 else 0
        self.connection.execute(f"SET asof_loop_join_threshold = {loops}").fetchall()
        forms = {"filtered quotes" if names else "all quotes": statement(right)}
        if len(names) == 1:
            forms["filtered quotes, by time only"] = statement(right, "")
        if not names:
            some = f"SELECT * FROM quote WHERE sym IN (SELECT DISTINCT sym FROM trade WHERE {chosen})"
            forms["filtered quotes"] = statement(some)
        return forms

    def answer(self, table: Any) -> Columns:
        import polars as pl

        return polars_answer(pl.DataFrame(table.select(["id", "seq", "bid", "asize"])))


class DuckDBIndex(DuckDB):
    def prepare(self, by_exchange: bool) -> int:
        def used() -> int:
            rows = self.connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()
            return int(rows[0][0])

        self.connection.execute("DROP INDEX IF EXISTS quote_sym").fetchall()
        before = used()
        self.connection.execute("CREATE INDEX quote_sym ON quote(sym)").fetchall()
        return used() - before


CLASSES: dict[str, Any] = {
    "polars": Polars,
    "partitioned": Partitioned,
    "pandas": Pandas,
    "duckdb": DuckDB,
    "duckdb index": DuckDBIndex,
    "espalier": Espalier,
    "prepared": Prepared,
    "prepared, partitioned": PreparedPartitioned,
}


# ---- a child: one peer -----------------------------------------------------------------------------------------------


def timed(call: Form, repeat: int) -> tuple[float, Any]:
    """The median in milliseconds after a first call, and an answer."""
    start = time.perf_counter()
    answer = call()
    times = [time.perf_counter() - start]
    if times[0] < _SLOW:
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            answer = call()
            times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[len(times) // 2], answer


def child(peer: str, folder: pathlib.Path, queries: list[int], repeat: int, threads: int) -> None:
    market = load(folder)
    made = CLASSES[peer](market, threads)
    results: list[dict[str, Any]] = []
    prepared: dict[bool, dict[str, float]] = {}  # by exchange too?
    for query in queries:
        if query not in getattr(made, "queries", QUERIES):
            continue
        by_exchange = query == 83 and isinstance(made, Prepared)
        if hasattr(made, "prepare") and by_exchange not in prepared:
            start = time.perf_counter()
            size = made.prepare(by_exchange)
            prepared[by_exchange] = {"prepare_ms": 1e3 * (time.perf_counter() - start), "bytes": size}
        best: tuple[float, str, Any] | None = None
        for form, call in made.forms(query).items():
            milliseconds, answer = timed(call, repeat)
            if best is None or milliseconds < best[0]:
                best = milliseconds, form, answer
        assert best is not None
        result: dict[str, Any] = {"query": query, "peer": peer, "ms": best[0], "form": best[1]}
        result |= prepared.get(by_exchange, {})
        np.savez(folder / f"answer-{peer}-{query}.npz", **made.answer(best[2]))
        results.append(result)
    (folder / f"result-{peer}.json").write_text(json.dumps(results))


# ---- the parent ------------------------------------------------------------------------------------------------------


def run(market: Market, folder: pathlib.Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every peer in a child, and checks its answers."""
    save(market, folder)
    right = {query: expected(market, query) for query in options.queries}
    results: list[dict[str, Any]] = []
    for peer in options.peers:
        command = [sys.executable, __file__, "--child", peer, "--folder", str(folder)]
        command += ["--queries", ",".join(map(str, options.queries)), "--repeat", str(options.repeat)]
        command += ["--threads", str(options.threads)]
        subprocess.run(command, check=True, env={**os.environ, "POLARS_MAX_THREADS": str(options.threads)})
        for result in json.loads((folder / f"result-{peer}.json").read_text()):
            with np.load(folder / f"answer-{peer}-{result['query']}.npz") as answer:
                check(market, result["query"], peer, dict(answer), right[result["query"]])
            result["rows"] = len(right[result["query"]][0])
            results.append(result)
            print(f"{result['query']}  {peer:22} {result['ms']:10.2f} ms   {result['form']}", flush=True)
    return results


def pays_after(results: list[dict[str, Any]], query: int, peer: str) -> int | None:
    """After how many of these queries preparing has taken less time in all than the fastest peer that does not
    prepare, our own join included; None if it never has."""
    ms = {r["peer"]: r for r in results if r["query"] == query}
    others = [r["ms"] for p, r in ms.items() if p not in PREPARED]
    if peer not in ms or not others or min(others) <= ms[peer]["ms"]:
        return None
    return math.ceil(ms[peer]["prepare_ms"] / (min(others) - ms[peer]["ms"]))


def table(results: list[dict[str, Any]], peers: list[str]) -> str:
    lines = [f"| query | trades | {' | '.join(peers)} | fastest other / prepared | pays after |"]
    lines.append("|---" * (len(peers) + 4) + "|")
    for query in dict.fromkeys(r["query"] for r in results):
        ms = {r["peer"]: r["ms"] for r in results if r["query"] == query}
        rows = next(r["rows"] for r in results if r["query"] == query)
        cells = [f"{ms[p]:.1f}" if p in ms else "" for p in peers]
        others = [v for p, v in ms.items() if p in ("polars", "pandas", "duckdb", "duckdb index")]
        ratio = f"{min(others) / ms['prepared']:.1f}" if others and "prepared" in ms else ""
        after = pays_after(results, query, "prepared")
        cells += [ratio, "" if "prepared" not in ms else "never" if after is None else f"{after} queries"]
        lines.append(f"| {query}, {QUERIES[query]} | {rows} | {' | '.join(cells)} |")
    lines += ["", "| prepared | ms | MB |", "|---|---|---|"]
    for peer in [p for p in peers if p in PREPARED]:
        for result in {r["prepare_ms"]: r for r in results if r["peer"] == peer}.values():
            about = " (by symbol and exchange)" if result["query"] == 83 and peer == "prepared" else ""
            lines.append(f"| {peer}{about} | {result['prepare_ms']:.0f} | {result['bytes'] / 1e6:.1f} |")
    return "\n".join(lines)


def number(text: str) -> int:
    base, _, power = text.partition("^")
    return int(base) ** int(power) if power else int(float(text))


def queries_of(text: str) -> list[int]:
    queries = [int(q) for q in text.split(",")]
    for query in queries:
        if query not in QUERIES:
            raise argparse.ArgumentTypeError(f"{query} is not one of {', '.join(map(str, QUERIES))}")
    return queries


def peers_of(text: str) -> list[str]:
    # A name may contain a comma: "prepared, partitioned".
    names, rest = [], text
    while rest:
        name = next((p for p in sorted(PEERS, key=len, reverse=True) if rest == p or rest.startswith(p + ",")), None)
        if name is None:
            raise argparse.ArgumentTypeError(f"{rest!r} does not begin with one of: {'; '.join(PEERS)}")
        names.append(name)
        rest = rest[len(name) + 1 :]
    return names


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trades", type=number, default=1 << 18, help="trades; there are 15.5 times as many quotes")
    parser.add_argument("--symbols", type=number, default=4000)
    parser.add_argument("--queries", type=queries_of, default=list(QUERIES))
    parser.add_argument("--peers", type=peers_of, default=PEERS)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the data there; otherwise in a temporary folder")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--child", choices=PEERS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    options = parse()
    if options.child:
        child(options.child, options.folder, options.queries, options.repeat, options.threads)
        return
    load_before, start = os.getloadavg()[0], time.perf_counter()
    market = generate(options.trades, options.symbols, options.seed)
    print(f"{len(market.trade['time'])} trades, {len(market.quote['time'])} quotes", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = run(market, folder, options)
    made = table(results, options.peers)
    print(f"\n{made}")
    if not options.json:
        return
    import duckdb
    import pandas
    import polars

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    about = {
        "command": "python python/bench/taq.py "
        f"--trades {options.trades} --symbols {options.symbols} --repeat {options.repeat}",
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "load_before_and_after": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "seconds": round(time.perf_counter() - start),
        "trades": len(market.trade["time"]),
        "quotes": len(market.quote["time"]),
        "symbols": options.symbols,
        "seed": options.seed,
        "unit": f"milliseconds, medians of {options.repeat}; of several forms the fastest",
        "versions": {m.__name__: m.__version__ for m in (polars, pandas, duckdb, np)},
    }
    rounded = [{k: round(v, 3) if isinstance(v, float) else v for k, v in r.items()} for r in results]
    lines = ",\n".join("  " + json.dumps(r) for r in rounded)
    options.json.write_text(f'{{\n "about": {json.dumps(about, indent=2)},\n "results": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
