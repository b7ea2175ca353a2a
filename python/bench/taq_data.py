"""Trades and quotes with the shape of TAQ data: what python/bench/taq.py measures on.

- symbols by zipf, so that few have most of the rows;
- bursts: trades of one symbol come in groups with gaps of microseconds, and groups anywhere in the day, most of them
  after the opening and before the close;
- 1 to 30 quotes per trade, most of them shortly before it;
- times in nanoseconds with ties: some venues stamp microseconds, and some quotes of a symbol have one time;
- sizes in lots and odd lots, and a few far beyond 500,000.

Both tables are in the order of time, as a feed writes them. Everything follows from the seed.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

import numpy as np

DAY = np.datetime64("2026-04-01", "ns")
HOUR = 3_600_000_000_000
EXCHANGES = list("ABCDHIJKLMNPQSTUVWXYZ")
CONDITIONS = ["@", "@ I", "@F", "@F I", "@ T", "@ TI", "@4 I", "@O X"]
LARGE = 500_000  # trades above it are the large ones of query 83
CLOSE = 16 * HOUR + HOUR // 3, 16 * HOUR + HOUR // 2  # query 84: 16:20 to 16:30


@dataclass
class Market:
    """Columns as arrays. `sym`, `ex` and `cond` are codes into the lists of names."""

    trade: dict[str, np.ndarray]
    quote: dict[str, np.ndarray]
    symbols: list[str]
    fifty: list[str] = field(default_factory=list)  # at most 45 of all, and five that do not occur
    rare: list[str] = field(default_factory=list)  # at most 1,000 with few quotes
    infrequent: str = ""
    frequent: str = ""


def _names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct names of up to five letters."""
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    names: dict[str, None] = {}
    while len(names) < count:
        length = int(rng.integers(1, 6))
        names["".join(rng.choice(letters, length))] = None
    return list(names)


def _times_of_day(count: int, rng: np.random.Generator) -> np.ndarray:
    """Nanoseconds since midnight: a U from 9:30 to 16:00, a little before it, and a decay after the close."""
    part = rng.random(count)
    session = (9.5 + 6.5 * rng.beta(0.7, 0.7, count)) * HOUR
    before = (4 + 5.5 * rng.beta(3, 1, count)) * HOUR
    after = 16 * HOUR + np.minimum(rng.exponential(HOUR / 3, count), 3.9 * HOUR)
    return np.where(part < 0.85, session, np.where(part < 0.92, before, after)).astype(np.int64)


def generate(trades: int, symbols: int, seed: int) -> Market:
    rng = np.random.default_rng(seed)
    names = _names(symbols, rng)
    weights = 1.0 / np.arange(1, symbols + 1)
    weights /= weights.sum()
    ranked = rng.permutation(symbols).astype(np.int32)  # the code of the most frequent symbol, of the second, ...

    # Trades, burst by burst.
    sizes = rng.geometric(0.25, trades)
    bursts = int(np.searchsorted(np.cumsum(sizes), trades)) + 1
    burst = np.repeat(np.arange(bursts), sizes[:bursts])[:trades]
    first = np.flatnonzero(np.diff(burst, prepend=-1))
    gaps = rng.exponential(150_000, trades).astype(np.int64)
    gaps[first] = 0
    since = np.cumsum(gaps)
    since -= np.repeat(since[first], np.diff(first, append=trades))
    time = _times_of_day(bursts, rng)[burst] + since
    code = ranked[rng.choice(symbols, bursts, p=weights)][burst]
    base = np.exp(rng.normal(3.5, 1.0, symbols))
    price = base[code] * np.exp(rng.normal(0, 0.005, bursts))[burst]

    # 1 to 30 quotes of each trade, mostly before it.
    per_trade = rng.integers(1, 31, trades)
    of = np.repeat(np.arange(trades), per_trade)
    quotes = len(of)
    quote_time = time[of] - rng.exponential(30_000_000, quotes).astype(np.int64) + 5_000_000
    tied = np.flatnonzero((rng.random(quotes) < 0.08) & (np.diff(of, prepend=-1) == 0))
    quote_time[tied] = quote_time[tied - 1]
    spread = np.maximum(0.01, price[of] * rng.exponential(0.0004, quotes))

    def stamped(times: np.ndarray) -> np.ndarray:
        coarse = rng.random(len(times)) < 0.3
        return np.where(coarse, times - times % 1000, times)

    def shares(count: int) -> np.ndarray:
        lots = np.where(rng.random(count) < 0.55, rng.integers(1, 100, count), 100 * rng.geometric(0.4, count))
        block = rng.random(count) < 5e-3
        return np.where(block, 10_000 * (1 + rng.pareto(0.9, count)), lots).clip(1, 20_000_000).astype(np.int32)

    def venues(count: int) -> np.ndarray:
        share = np.arange(len(EXCHANGES), 0, -1) ** 1.5
        return rng.choice(len(EXCHANGES), count, p=share / share.sum()).astype(np.int8)

    at, quoted_at = stamped(time), stamped(quote_time)
    order, quote_order = np.argsort(at, kind="stable"), np.argsort(quoted_at, kind="stable")
    trade = {
        "time": DAY + at[order],
        "sym": code[order],
        "price": np.round(price[order], 2),
        "size": shares(trades),
        "cond": rng.integers(0, len(CONDITIONS), trades).astype(np.int8),
        "ex": venues(trades),
        "id": np.arange(trades),  # as the sequence numbers of the feed
    }
    quote = {
        "time": DAY + quoted_at[quote_order],
        "sym": code[of][quote_order],
        "bid": np.round((price[of] - spread / 2)[quote_order], 2),
        "ask": np.round((price[of] + spread / 2)[quote_order], 2),
        "bsize": (100 * rng.geometric(0.3, quotes)).astype(np.int32),
        "asize": (100 * rng.geometric(0.3, quotes)).astype(np.int32),
        "quotecond": rng.integers(0, len(CONDITIONS), quotes).astype(np.int8),
        "quoteex": venues(quotes),
        "seq": np.arange(quotes),
    }
    market = Market(trade, quote, names)
    _choose(market, rng)
    return market


def _choose(market: Market, rng: np.random.Generator) -> None:
    """The symbols that the queries name, by the number of their quotes."""
    counts = np.bincount(market.quote["sym"], minlength=len(market.symbols))
    ascending = [int(c) for c in np.argsort(counts, kind="stable") if counts[c]]
    market.frequent = market.symbols[ascending[-1]]
    market.infrequent = market.symbols[ascending[len(ascending) // 5]]
    some = rng.choice(ascending, min(45, len(ascending)), replace=False)
    absent = [n + "." for n in market.symbols[:5]]  # no name of ours has a dot
    market.fifty = [*(market.symbols[c] for c in some), *absent]
    low = len(ascending) // 10
    market.rare = [market.symbols[c] for c in ascending[low : low + 980]]


def save(market: Market, folder: pathlib.Path) -> None:
    for table, columns in (("trade", market.trade), ("quote", market.quote)):
        for name, values in columns.items():
            np.save(folder / f"{table}-{name}.npy", values)
    lists = {"symbols": market.symbols, "fifty": market.fifty, "rare": market.rare}
    for name, values in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(values))
    (folder / "single.txt").write_text(f"{market.infrequent}\n{market.frequent}")


def load(folder: pathlib.Path) -> Market:
    tables: dict[str, dict[str, np.ndarray]] = {"trade": {}, "quote": {}}
    for path in folder.glob("*-*.npy"):
        table, _, name = path.stem.partition("-")
        if table in tables:
            tables[table][name] = np.load(path, mmap_mode="r")
    symbols, fifty, rare, single = (
        (folder / f"{name}.txt").read_text().split("\n") for name in ("symbols", "fifty", "rare", "single")
    )
    return Market(tables["trade"], tables["quote"], symbols, fifty, rare, *single)
