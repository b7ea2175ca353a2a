"""Random tables for the tests of espalier.ray, and an oracle that looks at every row."""

from __future__ import annotations

import bisect
import os
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

#: How often each kind of query is disturbed, and how much else is tried. scripts/test takes 2; 100 takes about an hour.
ROUNDS = int(os.environ.get("ESPALIER_RAY_ROUNDS", "2"))
#: The seed of the first round: many rounds can be run in pieces.
FIRST_ROUND = int(os.environ.get("ESPALIER_RAY_FIRST_ROUND", "0"))
SHARDS = (1, 2, 3, 7, 64)
SCHEMA = pa.schema(
    [
        ("sym", pa.string()),
        ("time", pa.timestamp("us")),
        ("qty", pa.int64()),
        ("bid", pa.float64()),
        ("note", pa.string()),
    ]
)
KEY, VALUES = ["sym", "time"], ["qty", "bid"]
# Texts whose order depends on how 00, 01 and prefixes are encoded.
SYMS = ("", "a", "a\0", "a\0\0", "a\x01", "ab", "b", "é", "\x7f")

syms = st.sampled_from(SYMS)
times = st.integers(-4, 12)
quantities = st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([2**62, -(2**62)]))
bids = st.one_of(st.none(), st.integers(-8, 8).map(float))
rows = st.lists(st.tuples(syms, times, quantities, bids), max_size=50)
one_sym_rows = st.lists(st.tuples(st.just("a"), st.just(3), quantities, bids), max_size=50)
questions = st.lists(st.tuples(syms, st.integers(-6, 14)), min_size=1, max_size=25)
ends = st.lists(st.tuples(st.tuples(syms, times), st.tuples(syms, times)), min_size=1, max_size=20)


def table_of(rows: list[tuple[Any, ...]], first: int = 0) -> pa.Table:
    """`note` numbers the rows, so that answers show which row they are."""
    columns = list(zip(*rows)) or [[], [], [], []]
    made = [pa.array(list(column), SCHEMA.field(i).type) for i, column in enumerate(columns)]
    return pa.table([*made, pa.array([f"row {first + i}" for i in range(len(rows))], pa.string())], schema=SCHEMA)


class Oracle:
    def __init__(self, table: pa.Table) -> None:
        names = table.column_names
        times_ = table.column("time").cast(pa.int64()).to_pylist()
        plain = [dict(zip(names, values)) for values in zip(*(table.column(n).to_pylist() for n in names))]
        order = sorted(range(len(plain)), key=lambda i: (plain[i]["sym"].encode(), times_[i]))
        self.rows = [plain[i] for i in order]
        self.keys = [(plain[i]["sym"].encode(), times_[i]) for i in order]

    def between(self, lo: tuple[str, int], hi: tuple[str, int], closed: str) -> list[dict[str, Any]]:
        low, high = (lo[0].encode(), lo[1]), (hi[0].encode(), hi[1])
        begin = (bisect.bisect_left if closed in ("both", "left") else bisect.bisect_right)(self.keys, low)
        end = (bisect.bisect_right if closed in ("both", "right") else bisect.bisect_left)(self.keys, high)
        return self.rows[begin:end]

    def first(self, key: tuple[str, int]) -> dict[str, Any] | None:
        found = self.between(key, key, "both")
        return found[0] if found else None


def frame_of(pairs: list[tuple[str, int]]) -> pa.Table:
    return pa.table(
        {
            "sym": pa.array([p[0] for p in pairs], pa.string()),
            "time": pa.array([p[1] for p in pairs], pa.timestamp("us")),
        }
    )


# ---- for clusters ----------------------------------------

CLUSTER = dict(log_to_driver=False, logging_level="ERROR")
ROWS, SHARDS_OF_CLUSTER = 60_000, 8
NODE_TOO_SLOW = "timed out during startup"  # Ray gives a node 30 s, which a loaded machine may not have


def started(start: Any, stop: Any) -> Any:
    """What start() returns; it is called again after stop() where the machine was too slow for Ray."""
    for attempt in range(8):
        try:
            return start()
        except Exception as error:
            stop()
            too_slow = isinstance(error, TimeoutError) or NODE_TOO_SLOW in str(error)
            if not too_slow or attempt == 7:
                raise
    raise AssertionError


def cluster_source() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "sym": pa.array(rng.choice(["a", "b", "c", "d"], ROWS)),
            "time": pa.array(rng.integers(0, ROWS, ROWS), pa.int64()),
            "bid": pa.array(rng.integers(0, 1000, ROWS), pa.int64(), mask=rng.random(ROWS) < 0.1),
        }
    )


def cluster_queries(seed: int) -> dict[str, Any]:
    """One call of each kind; each gives something that can be compared."""
    import espalier.ray as er

    rng = np.random.default_rng(seed)
    n = 3000
    keys = pa.table({"sym": pa.array(rng.choice(["a", "b", "c", "x"], n)), "time": rng.integers(0, ROWS, n)})
    lo = keys.slice(0, 500)
    hi = pa.table({"sym": lo["sym"], "time": np.asarray(lo["time"]) + rng.integers(0, 9000, 500)})
    some = lo.slice(0, 40), hi.slice(0, 40)
    agg = {"bid": ["sum", "max", "first"], "*": "count"}
    return {
        "find": lambda t: t.find(keys).to_pydict(),
        "contains": lambda t: t.contains(keys).tolist(),
        "count": lambda t: t.count(lo, hi).tolist(),
        "sum": lambda t: t.sum("bid", lo, hi).tolist(),
        "range": lambda t: t.range(*some)[1].to_pydict(),
        "asof": lambda t: er.join_asof(keys, t, on="time", by="sym", strategy="nearest").to_pydict(),
        "window": lambda t: er.join_window(lo, t, on="time", by="sym", window=(-5000, 0), agg=agg).to_pydict(),
    }


def word_source() -> pa.Table:
    """Keys of one word, of which owners divide large batches themselves."""
    keys = np.random.default_rng(8).integers(-ROWS, ROWS, ROWS)
    return pa.table({"k": pa.array(keys, pa.int64()), "v": np.arange(ROWS)})


def whole_queries(seed: int) -> dict[str, Any]:
    """Batches of 2^15 and more questions to word_source()."""
    keys = np.random.default_rng(seed).integers(-ROWS, ROWS, (1 << 15) + 7)
    return {
        "find of a whole batch": lambda t: t.find(keys),
        "contains of a whole batch": lambda t: t.contains(keys).tolist(),
    }


def joins_of_tables(seed: int) -> dict[str, Any]:
    """Functions of (left, right, more arguments)."""
    import espalier.ray as er

    strategy = ("backward", "forward", "nearest")[seed % 3]
    agg = {"bid": ["sum", "max", "first"], "*": "count"}
    window = dict(on="time", by="sym", window=(-9000 - seed, 9), agg=agg)
    return {
        "asof of two tables": lambda a, b, **more: er.join_asof(a, b, on="time", by="sym", strategy=strategy, **more),
        "window of two tables": lambda a, b, **more: er.join_window(a, b, **window, **more),
    }
