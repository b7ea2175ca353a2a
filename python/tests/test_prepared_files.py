"""Files of prepared sides: es.open_prepared() of Prepared.save() joins as the side that was saved."""

from __future__ import annotations

import datetime
import gc
import json
import os
import random
import struct
import weakref
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from join_cases import KINDS, frame, lists

import espalier as es
from espalier._prepared_file import _codes_and_rows

TYPES = {"t": pl.Int64, "g": pl.String, "h": pl.Int32, "v": pl.Float64}


def columns(rows: int, seed: int, in_order: bool, first: int = 0):
    rng = random.Random(seed)
    times = [first + rng.randrange(300) for _ in range(rows)]
    if in_order:
        times.sort()
    else:
        times = [t if rng.random() < 0.97 else None for t in times]
    return {
        "t": times,
        "g": [rng.choice(("a", "b", "c" * 20, None)) for _ in range(rows)],
        "h": [rng.randrange(3) for _ in range(rows)],
        "v": [rng.random() for _ in range(rows)],
    }


def assert_joins_are_equal(one, other, kind):
    assert repr(one) == repr(other) and len(one) == len(other)
    left = columns(200, 77, False, 5)
    del left["v"]
    left = frame(kind, left, TYPES)
    for strategy in ("backward", "forward", "nearest"):
        assert lists(es.join_asof(left, one, on="t", strategy=strategy)) == lists(
            es.join_asof(left, other, on="t", strategy=strategy)
        )
    agg = {"v": ["sum", "min", "first", "last"], "*": "count"}
    assert lists(es.join_window(left, one, on="t", window=(-20, 3), agg=agg)) == lists(
        es.join_window(left, other, on="t", window=(-20, 3), agg=agg)
    )


@pytest.mark.parametrize("in_order", (True, False), ids=("in order", "out of order"))
@pytest.mark.parametrize("by", (None, "g", ["g", "h"]), ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_an_opened_side_joins_as_the_saved_one(kind, by, in_order, tmp_path):
    path = tmp_path / "quotes.espalier"
    side = es.prepare(frame(kind, columns(500, 1, in_order), TYPES), "t", by)
    side.save(path)
    side.save(path)  # over itself
    assert os.listdir(tmp_path) == ["quotes.espalier"]
    for opened in (es.open_prepared(path), es.open_prepared(str(path), verify=False)):
        assert_joins_are_equal(opened, side, kind)

    opened = es.open_prepared(path)
    later, earlier = (frame(kind, columns(60, seed, True, first), TYPES) for seed, first in ((2, 300), (3, -50)))
    for more in (later, earlier):
        for each in (side, opened):
            each.append(more)
        assert_joins_are_equal(opened, side, kind)
    opened.save(path)  # over the file that it maps
    assert_joins_are_equal(opened, side, kind)
    assert_joins_are_equal(es.open_prepared(path), side, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_sides_without_rows(kind, tmp_path):
    side = es.prepare(frame(kind, columns(0, 1, True), TYPES), "t", "h")
    side.save(tmp_path / "x")
    opened = es.open_prepared(tmp_path / "x")
    assert_joins_are_equal(opened, side, kind)
    opened.append(frame(kind, {**columns(5, 1, True), "g": list("abcab")}, TYPES))
    assert len(opened) == 5


def test_rows_in_order_keep_their_order(tmp_path):
    frames = columns(300, 4, True)
    es.prepare(pl.DataFrame(frames, schema=TYPES), "t", "g").save(tmp_path / "x")
    assert es.open_prepared(tmp_path / "x").frame.equals(pl.DataFrame(frames, schema=TYPES))


def test_equal_keys_stay_in_the_order_of_their_rows(tmp_path):
    right = pl.DataFrame({"t": [5, 1, 5, 1, 3], "v": [0, 1, 2, 3, 4]})
    es.prepare(right, "t").save(tmp_path / "x")
    opened = es.open_prepared(tmp_path / "x")
    left = pl.DataFrame({"t": [1, 5]})
    assert es.join_asof(left, opened, on="t")["v"].to_list() == [3, 2]
    assert es.join_asof(left, opened, on="t", strategy="forward")["v"].to_list() == [1, 0]


def test_columns_of_polars_keep_their_types(tmp_path):
    days = [datetime.date(2026, 1, d) for d in (1, 2, 3)]
    right = pl.DataFrame(
        {
            "t": pl.Series([datetime.datetime(2026, 1, d) for d in (1, 2, 3)], dtype=pl.Datetime("ns", "Europe/Paris")),
            "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y", "z"])),
            "category": pl.Series(["p", "q", "p"], dtype=pl.Categorical),
            "decimal": pl.Series(["1.25", "2.50", None]).cast(pl.Decimal(20, 2)),
            "list": [[1, 2], [], None],
            "struct": [{"a": 1, "b": "u"}, {"a": 2, "b": None}, None],
            "bytes": [b"\0\1", None, b""],
            "flag": [True, None, False],
            "day": days,
            "nothing": [None, None, None],
        }
    )
    for saved in (right, right.with_columns(wide=pl.Series([2**100, -1, None], dtype=pl.Int128))):
        es.prepare(saved, "t", "enum").save(tmp_path / "x")
        opened = es.open_prepared(tmp_path / "x")
        assert opened.frame.schema == saved.schema and opened.frame.equals(saved)
        left = saved.select("t", "enum")
        assert es.join_asof(left, opened, on="t")["decimal"].to_list() == [
            saved["decimal"][0],
            saved["decimal"][1],
            None,
        ]


@pytest.mark.filterwarnings("ignore:Series.values returning")  # pyarrow 25 calls what pandas 3.1 deprecates
def test_columns_of_pandas_and_pyarrow_keep_their_types(tmp_path):
    right = pd.DataFrame(
        {
            "t": pd.to_datetime(["2026-01-01", "2026-01-02"]).tz_localize("America/New_York"),
            "category": pd.Categorical(["a", "b"], ["b", "a", "c"]),
            "whole": pd.array([1, None], "Int64"),
            "text": ["x", None],
        }
    )
    es.prepare(right, "t", "category").save(tmp_path / "x")
    pd.testing.assert_frame_equal(es.open_prepared(tmp_path / "x").frame, right)
    table = pa.table({"t": pa.array([1, 2], pa.int32()), "s": pa.array(["a", None]).dictionary_encode()})
    es.prepare(table, "t", "s").save(tmp_path / "x")
    assert es.open_prepared(tmp_path / "x").frame.equals(table)


def test_columns_of_arrays_keep_their_types(tmp_path):
    right = {
        "t": np.array([3, 4, 4], "M8[ms]"),
        "text": np.array(["é", None, ""], object),
        "fixed": np.array(["ab", "", "c"]),
        "masked": np.ma.MaskedArray([1, 2, 3], [False, True, False]),
        "flag": np.array([True, False, True]),
        "complex": np.array([1j, 2, 3]),
    }
    es.prepare(right, "t", "text").save(tmp_path / "x")
    made = es.open_prepared(tmp_path / "x").frame
    assert list(made) == list(right)
    for name, values in right.items():
        assert type(made[name]) is type(values) and made[name].dtype == values.dtype
        assert made[name].tolist() == values.tolist()


def test_what_is_not_saved(tmp_path):
    for values, message in (
        (np.array([1, "a"], object), "a value of type int"),
        (np.zeros(2, "V3"), "which is not saved"),
    ):
        with pytest.raises(TypeError, match=rf"Prepared.save\(\): column 'v' .*{message}"):
            es.prepare({"t": np.arange(2), "v": values}, "t").save(tmp_path / "x")
    with pytest.raises(OSError):
        es.prepare({"t": np.arange(2)}, "t").save(tmp_path / "no" / "folder")
    assert os.listdir(tmp_path) == []


def test_a_file_of_the_other_kind(tmp_path):
    es.prepare({"t": np.arange(9)}, "t").save(tmp_path / "side")
    es.Index(np.arange(9)).save(tmp_path / "index")
    with pytest.raises(ValueError, match=r"side holds a prepared side of joins; open it with espalier.open_prepared"):
        es.open(tmp_path / "side")
    with pytest.raises(ValueError, match=r"index holds an index; open it with espalier.open\(\)"):
        es.open_prepared(tmp_path / "index")


def header_of(data: bytes):
    (length,) = struct.unpack_from("<I", data, 8)
    return json.loads(data[16 : 16 + length]), length


def ranges(data: bytes):
    """(first byte, end) of everything that a checksum covers, or that is compared."""
    header, length = header_of(data)
    start = -(-(16 + length) // 64) * 64
    parts = [
        (start + p["offset"], start + p["offset"] + p["n"] * np.dtype(p["dtype"]).itemsize) for p in header["parts"]
    ]
    return [(0, 16 + length), *parts]


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bits_are_found(kind, tmp_path):
    path = tmp_path / "x"
    es.prepare(frame(kind, columns(400, 9, True), TYPES), "t", ["g", "h"]).save(path)
    good = path.read_bytes()
    covered = ranges(good)
    assert covered[-1][1] == len(good)
    rng = random.Random(1)
    places = [at for first, end in covered for at in (first, end - 1)]
    places += [rng.randrange(*rng.choice(covered)) for _ in range(150)]
    for at in places:
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1 :])
        with pytest.raises(ValueError, match="damaged|not an index|truncated"):
            es.open_prepared(path)
    path.write_bytes(good)
    assert len(es.open_prepared(path)) == 400


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_files_are_found(kind, tmp_path):
    path = tmp_path / "x"
    es.prepare(frame(kind, columns(100, 9, True), TYPES), "t", "g").save(path)
    good = path.read_bytes()
    rng = random.Random(2)
    for size in {0, 1, 8, 15, 16, 63, 64, len(good) - 1, *(rng.randrange(len(good)) for _ in range(100))}:
        path.write_bytes(good[:size])
        for verify in (True, False):
            with pytest.raises(ValueError, match="damaged|not an index|truncated"):
                es.open_prepared(path, verify)


def with_part(data: bytes, number: int, change):
    """The file with another array as a part, with its checksum not changed."""
    first, end = ranges(data)[number + 1]
    values = np.frombuffer(data[first:end], np.uint32).copy()
    change(values)
    return data[:first] + values.tobytes() + data[end:]


def test_groups_are_checked_without_checksums(tmp_path):
    path = tmp_path / "x"
    es.prepare(frame("polars", columns(100, 9, True), TYPES), "t", "g").save(path)
    good = path.read_bytes()
    assert header_of(good)[0]["groups"] == 3
    for part, value in ((0, 3), (0, 2**31), (1, 100), (1, 2**32 - 1)):
        path.write_bytes(with_part(good, part, lambda values, v=value: values.__setitem__(2, v)))
        with pytest.raises(ValueError, match="the groups of its rows"):
            es.open_prepared(path, verify=False)


def test_a_later_format_is_refused(tmp_path):
    path = tmp_path / "x"
    es.prepare({"t": np.arange(9)}, "t").save(path)
    data = path.read_bytes()
    header, length = header_of(data)
    later = json.dumps({**header, "version": 2}).encode()[:length].ljust(length)
    path.write_bytes(data[:12] + struct.pack("<I", zlib.crc32(later)) + later + data[16 + length :])
    with pytest.raises(ValueError, match="has format 2, and this espalier reads 1"):
        es.open_prepared(path)


def test_groups_without_rows_are_left_out():
    none = 2**32 - 1
    codes, rows = _codes_and_rows(np.array([4, none, 1, 4, 0], np.uint32), 6)
    assert codes.tolist() == [2, none, 1, 2, 0] and rows.tolist() == [4, 2, 0]
    assert codes.dtype == rows.dtype == np.uint32


def test_many_groups_keep_their_codes(tmp_path):
    rng = np.random.default_rng(3)
    right = pl.DataFrame({"t": np.arange(200_000), "g": rng.integers(0, 50_000, 200_000), "v": rng.random(200_000)})
    side = es.prepare(right, "t", "g")
    side.save(tmp_path / "x")
    left = pl.DataFrame({"t": np.full(60_000, 200_000), "g": np.arange(60_000)})
    opened = es.open_prepared(tmp_path / "x")
    assert es.join_asof(left, opened, on="t").equals(es.join_asof(left, side, on="t"))


def test_a_side_keeps_no_frame_that_an_append_replaced():
    first = pd.DataFrame({"t": [1, 2], "g": ["a", "b"]})
    side, alive = es.prepare(first, "t", "g"), weakref.ref(first)
    side.append(pd.DataFrame({"t": [3], "g": ["a"]}))  # pandas: the rows are in a new frame
    del first
    gc.collect()
    assert alive() is None
