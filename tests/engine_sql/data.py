"""Sample tables for the differential tests: small, with NULLs, ties and extremes, the same on every run."""
import datetime as dt
import decimal
import random

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = dt.datetime(2024, 1, 1)
# Two to four bytes a character, a combining one, and neighbours whose order differs between UTF-8 and UTF-16.
UNICODE = ["日本", "日本語", "😀", "é", "e\u0301", "\uffff", "\U0010ffff", "ÿ"]


def maybe(rng, value, chance=0.08):
    return None if rng.random() < chance else value


def table_t(rng, rows):
    words = ["apple", "apricot", "banana", "berry", "cherry", "date", "", "Zoe", "äpfel", "zebra", "apple pie"] + UNICODE
    schema = pa.schema([("id", pa.int32()), ("a", pa.int32()), ("b", pa.int64()), ("c", pa.int16()), ("d", pa.float64()),
                        ("f", pa.float32()), ("n", pa.decimal128(12, 2)), ("s", pa.string()), ("dt", pa.date32()),
                        ("ts", pa.timestamp("us")), ("ok", pa.bool_())])
    data = []
    for i in range(rows):
        data.append((i, maybe(rng, rng.randint(-20, 20)), maybe(rng, rng.randint(-10**12, 10**12)),
                     maybe(rng, rng.randint(-300, 300)), maybe(rng, rng.randint(-4000, 4000) / 8),
                     maybe(rng, rng.randint(-100, 100) / 4), maybe(rng, decimal.Decimal(rng.randint(-10**7, 10**7)) / 100),
                     maybe(rng, rng.choice(words) + (str(rng.randint(0, 9)) if rng.random() < 0.5 else "")),
                     maybe(rng, (EPOCH + dt.timedelta(days=rng.randint(-400, 400))).date()),
                     maybe(rng, EPOCH + dt.timedelta(seconds=rng.randint(0, 10**7), microseconds=rng.randint(0, 10**6 - 1))),
                     maybe(rng, rng.random() < 0.5)))
    return pa.table([pa.array(column, type=field.type) for column, field in zip(zip(*data), schema)], schema=schema)


def table_u(rng, rows):
    schema = pa.schema([("id", pa.int32()), ("t_id", pa.int32()), ("k", pa.string()), ("v", pa.decimal128(10, 3)),
                        ("w", pa.int32())])
    data = [(i, maybe(rng, rng.randint(0, 500)), maybe(rng, rng.choice("abcdefghé😀") * rng.randint(1, 3)),
             maybe(rng, decimal.Decimal(rng.randint(-10**6, 10**6)) / 1000), rng.randint(-20, 20)) for i in range(rows)]
    return pa.table([pa.array(column, type=field.type) for column, field in zip(zip(*data), schema)], schema=schema)


def table_iv(rng, rows):
    data = []
    for i in range(rows):
        lo = rng.randint(-30, 30)
        data.append((i, maybe(rng, lo), maybe(rng, lo + rng.randint(-2, 6)), rng.randint(0, 4)))
    return pa.table([pa.array(c, type=pa.int32()) for c in zip(*data)], names=["id", "lo", "hi", "grp"])


def table_quotes(rng, rows):
    seen, data = set(), []
    while len(data) < rows:
        key = (rng.choice(["AA", "BB", "CC", "DDD"]), rng.randint(0, 5000))
        if key in seen:
            continue
        seen.add(key)
        data.append((key[0], EPOCH + dt.timedelta(seconds=key[1]), maybe(rng, rng.randint(1, 1000) / 4), len(data)))
    schema = pa.schema([("sym", pa.string()), ("ts", pa.timestamp("us")), ("px", pa.float64()), ("seq", pa.int32())])
    return pa.table([pa.array(column, type=field.type) for column, field in zip(zip(*data), schema)], schema=schema)


def table_trades(rng, rows):
    schema = pa.schema([("id", pa.int32()), ("sym", pa.string()), ("ts", pa.timestamp("us")), ("qty", pa.int64())])
    data = [(i, maybe(rng, rng.choice(["AA", "BB", "CC", "EE"])),
             maybe(rng, EPOCH + dt.timedelta(seconds=rng.randint(-100, 5200))), rng.randint(1, 100)) for i in range(rows)]
    return pa.table([pa.array(column, type=field.type) for column, field in zip(zip(*data), schema)], schema=schema)


def table_fl():
    values = [0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), None, 1e300, -1e300, float("nan"), 5e-324]
    numbers = pa.array(range(len(values)), type=pa.int32())
    return pa.table({"i": numbers, "id": numbers, "x": pa.array(values, type=pa.float64())})


def table_ex():
    """The least and the greatest of each type, their neighbours, zero and NULL."""
    schema = pa.schema([("id", pa.int32()), ("h", pa.int16()), ("i", pa.int32()), ("l", pa.int64()), ("m", pa.decimal128(38, 0)),
                        ("d", pa.float64()), ("s", pa.string()), ("dt", pa.date32()), ("ts", pa.timestamp("us"))])
    most = decimal.Decimal("9" * 38)
    numbers = [(2**15 - 1, 2**31 - 1, 2**63 - 1, most, 1.7976931348623157e308), (-2**15, -2**31, -2**63, decimal.Decimal("-" + "9" * 38), -1.7976931348623157e308),
               (2**15 - 2, 2**31 - 2, 2**63 - 2, decimal.Decimal("9" * 37 + "8"), 2.2250738585072014e-308), (0, 0, 0, decimal.Decimal(0), 0.0),
               (-1, -1, 2**53 + 1, decimal.Decimal(1), -0.0), (1, 1, -1, decimal.Decimal(-1), 5e-324), (None,) * 5]
    days = [dt.date.min, dt.date.max, dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(1900, 3, 1), None]
    times = [dt.datetime.min, dt.datetime.max, dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), EPOCH,
             dt.datetime(1900, 3, 1), None]
    texts = ["", "\U0010ffff", "a" * 300, "é", "😀", "\x01", None]
    data = [(i, *row, texts[i % 7], days[i % 7], times[i % 7]) for i, row in enumerate(numbers * 2)]
    return pa.table([pa.array(column, type=field.type) for column, field in zip(zip(*data), schema)], schema=schema)


def tables(rows=900):
    rng = random.Random(20240607)
    t = table_t(rng, rows)
    return {"t": t, "u": table_u(rng, rows * 2 // 3), "iv": table_iv(rng, 60), "quotes": table_quotes(rng, 400),
            "trades": table_trades(rng, 300), "fl": table_fl(), "ex": table_ex(), "e": t.slice(0, 0)}


INDEXES = {  # name: (table, columns, does the kind have to take it: byte keys are for radix and auto only)
    "t_a": ("t", "a", True), "t_b": ("t", "b", True), "t_c": ("t", "c", True), "t_d": ("t", "d", True),
    "t_n": ("t", "n", True), "t_s": ("t", "s", False), "t_dt": ("t", "dt", True), "t_ts": ("t", "ts", True),
    "t_a_c": ("t", "a, c", True), "t_s_a": ("t", "s, a", False), "t_id": ("t", "id", True), "u_t_id": ("u", "t_id", True),
    "u_k": ("u", "k", False), "u_w": ("u", "w", True), "iv_lo": ("iv", "lo", True), "quotes_sym_ts": ("quotes", "sym, ts", False),
    "quotes_ts": ("quotes", "ts", True), "trades_ts": ("trades", "ts", True), "fl_x": ("fl", "x", True), "e_a": ("e", "a", True),
    "ex_h": ("ex", "h", True), "ex_i": ("ex", "i", True), "ex_l": ("ex", "l", True), "ex_m": ("ex", "m", False), "ex_d": ("ex", "d", True),
    "ex_s": ("ex", "s", False), "ex_dt": ("ex", "dt", True), "ex_ts": ("ex", "ts", True),
}


def write(folder, rows=900):
    for name, table in tables(rows).items():
        pq.write_table(table, folder / f"{name}.parquet", coerce_timestamps="us")
