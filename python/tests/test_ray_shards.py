"""Tables in range shards, in this process: every answer equals that of one process over all rows."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import pathlib
import re
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_cases import (
    KEY,
    ROUNDS,
    SCHEMA,
    SHARDS,
    SYMS,
    VALUES,
    Oracle,
    ends,
    frame_of,
    one_sym_rows,
    questions,
    rows,
    table_of,
)

import espalier as es
import espalier.ray as er
from espalier.ray._keys import Codec
from espalier.ray._local import Reader

SOME = settings(max_examples=6 * ROUNDS)
AGG = {
    "qty": ["count", "min", "max", "first", "last"],
    "bid": ["count", "sum", "mean", "min", "max", "first", "last"],
    "*": "count",
}


@pytest.fixture(scope="module")
def grids(tmp_path_factory):
    """Tables with split points all over the keys, for shards that are empty or have everything."""
    grid = table_of([(sym, time, 0, 0.0) for sym in SYMS for time in range(-4, 13, 2)])
    return {n: er.build(tmp_path_factory.mktemp("grid") / "t", grid, KEY, shards=n, backend="local") for n in SHARDS}


class _Folders:
    """A new folder for every example."""

    def __init__(self, root):
        self._root, self._numbers = root, itertools.count()

    def new(self):
        return self._root / str(next(self._numbers))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return _Folders(tmp_path_factory.mktemp("tables"))


def build(folders, grids, parts, shards, use_grid):
    """A table of the first part with the other parts appended, and its oracle."""
    tables, first = [], 0
    for part in parts:
        tables.append(table_of(part, first))
        first += len(part)
    like = grids[shards] if use_grid else None
    table = er.build(folders.new(), tables[0], KEY, shards=shards, values=VALUES, like=like, backend="local")
    for more in tables[1:]:
        table.append(more)
    assert table.shards == shards
    return table, pa.concat_tables(tables)


parts = st.lists(st.one_of(rows, one_sym_rows), min_size=1, max_size=3)


@pytest.mark.parametrize("shards", SHARDS)
@SOME
@given(
    parts=parts,
    use_grid=st.booleans(),
    keys=questions,
    ranges=ends,
    closed=st.sampled_from(("both", "left", "right", "neither")),
)
def test_points_and_ranges(folders, grids, shards, parts, use_grid, keys, ranges, closed):
    table, whole = build(folders, grids, parts, shards, use_grid)
    oracle = Oracle(whole)
    for _ in range(2):  # with runs, and compacted
        check_points(table, oracle, keys)
        check_ranges(table, oracle, ranges, closed)
        assert table.range(None, None).to_pylist() == oracle.rows
        table.compact()
        assert table.schema == SCHEMA


def check_points(table, oracle, keys):
    expected = [oracle.first(key) for key in keys]
    answer = table.find(frame_of(keys)).to_pylist()
    assert answer == [row if row is not None else dict.fromkeys(SCHEMA.names) for row in expected]
    assert table.contains(frame_of(keys)).tolist() == [row is not None for row in expected]


def check_ranges(table, oracle, ranges, closed):
    lo, hi = frame_of([r[0] for r in ranges]), frame_of([r[1] for r in ranges])
    expected = [oracle.between(*r, closed) for r in ranges]
    assert table.count(lo, hi, closed).tolist() == [len(found) for found in expected]
    offsets, found = table.range(lo, hi, closed)
    assert found.to_pylist() == [row for one in expected for row in one]
    assert np.diff(offsets).tolist() == [len(one) for one in expected]
    for column in VALUES:
        values = [[row[column] for row in one if row[column] is not None] for one in expected]
        sums = [sum(one) for one in values]
        if all(-(2**63) <= total < 2**63 for total in sums):
            assert table.sum(column, lo, hi, closed).tolist() == sums
            means = [sum(one) / len(one) if one else math.nan for one in values]
            np.testing.assert_allclose(table.avg(column, lo, hi, closed), means, rtol=1e-15)
        else:
            with pytest.raises(OverflowError, match=column):
                table.sum(column, lo, hi, closed)
        assert table.min(column, lo, hi, closed, default=99).tolist() == [min(one, default=99) for one in values]
        assert table.max(column, lo, hi, closed, default=99).tolist() == [max(one, default=99) for one in values]


@pytest.mark.parametrize("shards", SHARDS)
@SOME
@given(
    parts=parts,
    use_grid=st.booleans(),
    left=st.lists(
        st.tuples(st.one_of(st.none(), st.sampled_from(SYMS)), st.one_of(st.none(), st.integers(-9, 16))), max_size=30
    ),
    strategy=st.sampled_from(("backward", "forward", "nearest")),
    exact=st.booleans(),
    tolerance=st.sampled_from((None, "0us", "2us", "7us")),
    window=st.sampled_from(((-3, 3), (0, 5), (-4, -1), (None, 0), (0, None), (None, None), (-(2**64), 2**64))),
    closed=st.sampled_from(("both", "left", "right", "neither")),
)
def test_joins(folders, grids, shards, parts, use_grid, left, strategy, exact, tolerance, window, closed):
    table, whole = build(folders, grids, parts, shards, use_grid)
    trades = frame_of(left).append_column("id", pa.array(range(len(left)), pa.int32()))
    prepared = es.prepare(whole, on="time", by="sym")
    options = dict(on="time", by="sym", strategy=strategy, allow_exact_matches=exact, tolerance=tolerance)
    expected = es.join_asof(trades, prepared, **options)
    windows = dict(on="time", by="sym", window=window, agg=AGG, closed=closed)
    aggregates = es.join_window(trades, prepared, **windows)
    for _ in range(2):
        assert er.join_asof(trades, table, **options).to_pylist() == expected.to_pylist()
        answer = er.join_window(trades, table, **windows)
        assert answer.schema == aggregates.schema
        assert answer.to_pylist() == aggregates.to_pylist()
        table.compact()


def spans_of(spans):
    """Spans in two columns of another unit; `name` numbers them."""
    columns = list(zip(*spans)) or [[], [], []]
    return pa.table(
        {
            "sym": pa.array(list(columns[0]), pa.string()),
            "start": pa.array(list(columns[1]), pa.timestamp("us")),
            "finish": pa.array([None if t is None else 1000 * t for t in columns[2]], pa.timestamp("ns")),
            "name": pa.array(range(len(spans)), pa.int32()),
        }
    )


@pytest.mark.parametrize("shards", SHARDS)
@SOME
@given(
    parts=parts,
    use_grid=st.booleans(),
    spans=st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from(SYMS)),
            st.one_of(st.none(), st.integers(-9, 16)),
            st.one_of(st.none(), st.integers(-9, 16)),
        ),
        max_size=30,
    ),
    closed=st.sampled_from(("both", "left", "right", "neither")),
    how=st.sampled_from(("inner", "left")),
)
def test_spans(folders, grids, shards, parts, use_grid, spans, closed, how):
    table, whole = build(folders, grids, parts, shards, use_grid)
    points, frame = pa.Table.from_pylist(Oracle(whole).rows, SCHEMA), spans_of(spans)
    ends, options = ("time", "start", "finish"), dict(by="sym", closed=closed)
    expected = es.join_between(points, frame, *ends, how=how, **options)
    counts = es.count_between(points, frame, *ends, **options)
    for _ in range(2):  # with runs, and compacted
        answer = er.join_between(table, frame, *ends, how=how, **options)
        assert answer.schema == expected.schema
        assert answer.to_pylist() == expected.to_pylist()
        assert er.count_between(table, frame, *ends, **options).equals(counts)
        table.compact()


@pytest.mark.parametrize("shards", SHARDS)
def test_spans_of_numbers(folders, shards):
    """One key column, with NaN and infinities; and what spans of it are sent for."""
    rng = np.random.default_rng(shards)
    values = [-math.inf, -0.0, 0.0, 1.5, 2.5, math.inf, math.nan]
    points = pa.table({"k": pa.array(rng.choice(values, 90)), "v": range(90)})
    table = er.build(folders.new(), points, "k", shards=shards, backend="local")
    points = table.range(None, None)
    assert points.num_rows == 90
    frame = {"a": rng.choice(values, 40), "b": rng.choice(values, 40)}
    for closed in ("both", "left", "right", "neither"):
        expected = es.join_between(points, frame, "k", "a", "b", closed=closed)
        assert er.join_between(table, frame, "k", "a", "b", closed=closed).to_pylist() == expected.to_pylist()
        counts = es.count_between(points, frame, "k", "a", "b", closed=closed)
        assert er.count_between(table, frame, "k", "a", "b", closed=closed).tolist() == counts.tolist()
    ints = er.build(folders.new(), pa.table({"k": range(640), "v": range(640)}), "k", shards=shards, backend="local")
    before = ints.status()["traffic"]
    answer = er.join_between(ints, pa.table({"a": [5] * 9, "b": [7] * 9}), "k", "a", "b", columns=["k"])
    after = ints.status()["traffic"]
    assert answer.num_rows == 27 and answer.column_names == ["k", "a", "b"]
    assert after["requests"] - before["requests"] == 1  # nine equal spans ask once, and each row is sent once
    assert after["received"] - before["received"] == 8 * 3 + 8


def test_spans_that_are_refused(folders):
    quotes = table_of([("a", t, t, 1.0) for t in range(9)])
    table = er.build(folders.new(), quotes, KEY, shards=3, backend="local")
    spans = spans_of([("a", 1, 3)])
    for call in (er.join_between, er.count_between):
        with pytest.raises(TypeError, match="frames"):
            call(quotes, spans, "time", "start", "finish", by="sym")
        with pytest.raises(TypeError, match="give a frame"):
            call(table, table, "time", "start", "finish", by="sym")
        with pytest.raises(ValueError, match="another key"):
            call(table, spans, "time", "start", "finish")
        with pytest.raises(ValueError, match="another key"):
            call(table, spans, "qty", "start", "finish", by="sym")
        with pytest.raises(KeyError, match="the right frame has no column 'end'"):
            call(table, spans, "time", "start", "end", by="sym")
        with pytest.raises(ValueError, match="`closed` is"):
            call(table, spans, "time", "start", "finish", by="sym", closed="open")
        with pytest.raises(ValueError, match="no equal"):  # a table in us has no time at 1 ns
            odd = spans.set_column(1, "start", pa.array([1], pa.timestamp("ns")))
            call(table, odd, "time", "start", "finish", by="sym")
    with pytest.raises(ValueError, match="`how` is"):
        er.join_between(table, spans, "time", "start", "finish", by="sym", how="outer")
    other = spans.rename_columns(["group", "start", "finish", "qty"])
    answer = er.join_between(table, other, "time", "start", "finish", by_left=["sym"], by_right="group", suffix="_s")
    assert answer.column_names == [*quotes.column_names, "group", "start", "finish", "qty_s"]
    assert answer.column("qty").to_pylist() == [1, 2, 3]
    text = er.build(folders.new(), pa.table({"k": ["a"]}), "k", shards=1, backend="local")
    with pytest.raises(TypeError, match="no distances"):
        er.count_between(text, pa.table({"a": ["a"], "b": ["b"]}), "k", "a", "b")


@pytest.mark.parametrize(
    "type", (pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.float64(), pa.date32(), pa.bool_(), pa.binary())
)
@pytest.mark.parametrize("shards", (1, 3, 64))
def test_one_key_column(folders, type, shards):
    rng = np.random.default_rng(shards)
    if pa.types.is_binary(type):
        values = [bytes(rng.integers(0, 3, rng.integers(0, 4)).astype(np.uint8)) for _ in range(300)]
    elif pa.types.is_floating(type):
        values = rng.choice([-np.inf, -1.5, -0.0, 0.0, 2.5, np.inf, np.nan, 1e-40], 300).tolist()
    elif pa.types.is_boolean(type):
        values = (rng.random(300) < 0.5).tolist()
    elif pa.types.is_date(type):
        values = rng.integers(-50, 50, 300).tolist()
    else:
        limits = np.iinfo(type.to_pandas_dtype())
        values = [
            limits.min,
            limits.max,
            *rng.integers(limits.min, limits.max, 298, dtype=limits.dtype, endpoint=True).tolist(),
        ]
    source = pa.table({"k": pa.array(values, type), "v": pa.array(range(300), pa.int16())})
    table = er.build(folders.new(), source, "k", shards=shards, values=["v"], backend="local")
    index = es.Index(source.column("k").combine_chunks())
    keys = source.column("k")
    assert table.find(keys).column("v").to_pylist() == np.asarray(index.get_indexer(keys)).tolist()
    lo, hi = keys.slice(0, 100), keys.slice(100, 100)
    for closed in ("both", "left", "right", "neither"):
        assert table.count(lo, hi, closed).tolist() == np.asarray(index.count(lo, hi, closed)).tolist()
        offsets, found = table.range(lo, hi, closed)
        expected = index.range(lo, hi, closed)
        assert offsets.tolist() == np.asarray(expected[0]).tolist()
        assert found.column("v").to_pylist() == np.asarray(expected[1]).tolist()
    assert table.count(None, None) == 300 and table.sum("v", None, None) == 300 * 299 // 2


ARROW_TYPES = {
    **{f"i{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    **{"f32": pa.float32(), "f64": pa.float64(), "boolean": pa.bool_(), "text": pa.binary()},
}
LITERALS = {"INT64_MIN": -(2**63), "INT64_MAX": 2**63 - 1, "UINT64_MAX": 2**64 - 1, "true": True, "false": False}


def byte_key_vectors():
    """(key, columns as (type, value)) of the lines of the vectors that C++ is tested with."""
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "core" / "byte_key_vectors.hpp"
    if not path.exists():
        pytest.skip("the vectors of the C++ tests are not here")
    for key, columns in re.findall(r'^ESPALIER_BYTE_KEY\("(\w*)", (.*)\)$', path.read_text(), re.MULTILINE):
        values = []
        for kind, text in re.findall(r"(\w+)\(([^()]*)\)", columns):
            if kind == "text":
                values.append((kind, bytes.fromhex(text.strip('"'))))
            elif text in LITERALS:
                values.append((kind, LITERALS[text]))
            else:
                values.append((kind, float(text.replace("INFINITY", "inf")) if kind[0] == "f" else int(text)))
        yield bytes.fromhex(key), values


def test_keys_are_those_of_byte_key():
    words = others = 0
    for key, columns in byte_key_vectors():
        names = [f"c{i}" for i in range(len(columns))]
        table = pa.table([pa.array([value], ARROW_TYPES[kind]) for kind, value in columns], names)
        codec = Codec(names, table.schema)
        if codec.is_word:
            assert int(codec.encode(table)[0]).to_bytes(len(key), "big") == key, columns
            words += 1
        else:
            assert codec.encode(table).to_pylist() == [b"\x01" + key], columns
            others += 1
    assert words > 40 and others > 70


@pytest.fixture(scope="module")
def thousand_shards(tmp_path_factory):
    """In memory where there is such a folder: 1,000 shards sync 3,000 files and folders, which is not tested here."""
    memory = pathlib.Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("shards")
    keys = np.random.default_rng(5).permutation(4000)
    source = pa.table({"k": keys, "v": keys * 3, "w": keys / 4})
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield er.build(os.path.join(folder, "t"), source, "k", shards=1000, values=["v", "w"], backend="local")


def test_a_sum_over_a_thousand_shards_takes_two_calls(thousand_shards, monkeypatch):
    table, plain, calls = thousand_shards, thousand_shards.backend.ask, []
    assert table.shards == 1000 and len(table._bounds.full) == 1000

    def ask(bounds, requests):
        calls.append([request.range for request in requests])
        return plain(bounds, requests)

    monkeypatch.setattr(table.backend, "ask", ask)
    first, last = (int(table._bounds.rows_before[i]) for i in (1, 999))
    assert table.sum("v", 1, 3998) == 3 * sum(range(1, 3999)) and table.count(1, 3998) == 3998
    assert table.min("w", 1, 3998) == 0.25 and table.max("v", 1, 3998) == 3 * 3998
    assert calls == [[0, 999]] * 4
    assert first > 1 and last < 3999  # so that the ends lie within the first and the last shard
    calls.clear()
    assert table.sum("v", None, None) == 3 * sum(range(4000)) and table.count(None, None) == 4000
    assert table.sum("v", 1, None) == 3 * sum(range(1, 4000))
    assert calls == [[0]]
    lows = np.array([1, 1, 17, 3990])
    assert table.sum("v", lows, [2, 3998, 3000, 5000]).tolist() == [
        3 * sum(range(a, min(b, 3999) + 1)) for a, b in zip(lows.tolist(), (2, 3998, 3000, 5000))
    ]
    assert len(calls) == 2 and len(calls[1]) <= 6
    left = pa.table({"k": [5, 2000, 9999]})
    assert er.join_window(left, table, on="k", window=(-3000, 0), agg={"v": "sum"})["v_sum"].to_pylist() == [
        3 * sum(range(max(0, k - 3000), min(k, 3999) + 1)) or None for k in (5, 2000, 9999)
    ]


def test_a_key_that_fills_several_shards_is_split_by_row(folders):
    values = [1] * 100 + [5] * 800 + [9] * 100
    source = pa.table({"k": pa.array(values, pa.int32()), "v": range(1000)})
    table = er.build(folders.new(), source, "k", shards=10, values=["v"], backend="local")
    sizes = [shard["rows"] for shard in table.status()["shards"]]
    assert sum(sizes) == 1000 and max(sizes) <= 250 and sum(size > 0 for size in sizes) >= 8
    table.append(pa.table({"k": pa.array([5, 5, 1], pa.int32()), "v": [1000, 1001, 1002]}))
    rows = table.range(5, 5).column("v").to_pylist()
    assert rows == [*range(100, 900), 1000, 1001]
    assert table.find(5)["v"] == 100 and table.count(5, 5) == 802
    assert er.join_asof(pa.table({"k": pa.array([5, 6], pa.int32())}), table, on="k").column("v").to_pylist() == [
        1001,
        1001,
    ]
    table.compact(shards=4)
    assert table.shards == 4 and table.range(5, 5).column("v").to_pylist() == rows


def test_ends_that_are_prefixes_stand_for_groups(folders):
    source = table_of([(sym, time, time, 1.0) for sym in SYMS for time in range(5)])
    table = er.build(folders.new(), source, KEY, shards=7, values=VALUES, backend="local")
    for sym in SYMS:
        assert table.count((sym,), (sym,)) == 5 and table.count((sym,), (sym,), "neither") == 0
        assert table.sum("qty", (sym,), (sym,)) == 10
    assert table.count(("a",), None, "neither") + table.count(None, ("a",)) == len(source)
    two = pa.table({"a": pa.array([1, 1, 255, 255, 2], pa.uint8()), "b": pa.array([0, 255, 0, 255, 7], pa.uint8())})
    for key in (["a", "b"], ["a", "b", "c"]):
        wide = two.append_column("c", pa.array([b"", b"\xff", b"\xff\xff", b"x", b""], pa.binary()))
        table = er.build(folders.new(), wide, key, shards=3, backend="local")
        assert table.count((255,), (255,)) == 2 and table.count((1,), (255,), "right") == 3
        assert table.count((255,), None, "neither") == 0 and table.count((2,), None) == 3


def test_questions_of_other_types_and_shapes(folders):
    source = table_of([("a", t, t, None) for t in range(10)])
    table = er.build(folders.new(), source, KEY, shards=3, values=VALUES, backend="local")
    keys = source.column("time").to_pylist()
    assert table.find(("a", keys[4]))["qty"] == 4
    assert table.find([("a", keys[4]), ("b", keys[4])]).column("qty").to_pylist() == [4, None]
    assert ("a", keys[9]) in table and ("z", keys[9]) not in table
    with pytest.raises(KeyError):
        table.find(("z", keys[0]))
    with pytest.raises(TypeError, match="NULL"):
        table.find((None, keys[0]))
    assert table.find({"sym": ["a", None], "time": keys[:2]}).column("qty").to_pylist() == [0, None]
    assert np.isnan(table.min("bid", None, None)) and table.min("qty", None, None) == 0
    with pytest.raises(ValueError, match="no value"):
        table.min("qty", ("z",), ("z",))
    with pytest.raises(KeyError, match="no aggregates"):
        table.sum("note", None, None)
    with pytest.raises(ValueError, match="closed"):
        table.count(None, None, "open")
    ints = er.build(folders.new(), pa.table({"k": [1, 2, 3]}), "k", shards=2, backend="local")
    assert ints.count(np.array([1, 3], np.int8), 3).tolist() == [3, 1]
    assert ints.contains([2, 7]).tolist() == [True, False] and 2 in ints
    with pytest.raises(TypeError, match="give tuples"):
        table.find(["ab", "cd"])
    for keys, wrong in (
        (pa.array([1, 2], pa.int64()), [2.5]),
        (pa.array([1, 2], pa.int8()), np.array([300])),
        (pa.array([0.5, 2], pa.float32()), [0.1]),
        (pa.array([1, 2], pa.timestamp("s")), [datetime.datetime(1970, 1, 1, 0, 0, 1, 5)]),
        (pa.array([1, 2], pa.date32()), pa.array([86_400_001], pa.timestamp("ms"))),
        (pa.array([1, 2], pa.float64()), [2**53 + 1]),
    ):
        other = er.build(folders.new(), pa.table({"k": keys}), "k", shards=2, backend="local")
        with pytest.raises(ValueError, match="no equal"):
            other.find(wrong)
        assert other.contains(keys).all() and other.contains(keys.to_pylist()).all()
    floats = er.build(folders.new(), pa.table({"k": [1.0, math.nan]}), "k", shards=2, backend="local")
    assert floats.contains([math.nan, 1, 2]).tolist() == [True, True, False]
    words = er.build(
        folders.new(), pa.table({"k": pa.array([2**64 - 1, 3], pa.uint64())}), "k", shards=2, backend="local"
    )
    assert words.contains([2**64 - 1, 3, 4]).tolist() == [True, True, False]


def test_null_keys_are_refused_or_dropped(folders):
    source = pa.table({"k": [3, None, 1], "v": [1, 2, 3]})
    with pytest.raises(ValueError, match="1 of 3 rows .* NULL"):
        er.build(folders.new(), source, "k", shards=2, backend="local")
    table = er.build(folders.new(), source, "k", shards=2, nulls="drop", backend="local")
    assert table.range(None, None).to_pydict() == {"k": [1, 3], "v": [3, 1]}
    with pytest.raises(ValueError, match="row 1 has a NULL"):
        table.append(source)


def test_many_small_appends(folders):
    """Runs are merged by a later append; rows with equal keys stay in the order in which they came."""
    rng = np.random.default_rng(2)
    parts = []
    for i in range(40):
        parts.append(table_of([(str(rng.choice(SYMS)), int(t), i, None) for t in rng.integers(0, 9, 6)], 6 * i))
    table = er.build(folders.new(), parts[0], KEY, shards=3, values=VALUES, backend="local")
    reader = er.open(table.root, backend="local")
    whole = parts[0]
    for i, part in enumerate(parts[1:]):
        table.append(part)
        whole = pa.concat_tables([whole, part])
        runs = [len(range_["runs"]) for range_ in table._bounds.ranges]
        assert max(runs) <= er._build.MOST_RUNS
        if i % 9 == 0 or i + 2 == len(parts):
            oracle = Oracle(whole)
            assert reader.refresh().range(None, None).to_pylist() == oracle.rows
            keys = list(zip(whole["sym"].to_pylist(), whole["time"].cast(pa.int64()).to_pylist()))
            check_points(table, oracle, keys)
            check_ranges(table, oracle, list(zip(keys, keys[::-1])), "both")
    assert len(table) == 240 and len(reader) == 240
    table.sweep(keep=1)  # folders of runs that were merged
    used = {part["folder"] for range_ in table._bounds.ranges for part in [range_["base"], *range_["runs"]] if part}
    import os

    assert set(os.listdir(f"{table.root}/shards")) == used and len(used) <= 3 * er._build.MOST_RUNS + 3
    table.compact()
    assert table.range(None, None).to_pylist() == oracle.rows


def test_sources(folders, tmp_path):
    whole = table_of([("a", t % 40, t, float(t)) for t in range(1000)])
    for i in range(4):
        pq.write_table(whole.slice(250 * i, 250), tmp_path / f"{i}.parquet", row_group_size=60)
    seen = []
    table = er.build(
        folders.new(),
        str(tmp_path / "*.parquet"),
        KEY,
        shards=5,
        values=VALUES,
        backend="local",
        piece_bytes=1000,
        progress=lambda *state: seen.append(state),
    )
    expected = er.build(folders.new(), [whole.slice(0, 300), whole.slice(300)], KEY, shards=1, backend="local")
    assert table.range(None, None).equals(expected.range(None, None))
    assert {stage for stage, _, _ in seen} == {"sampling", "dividing", "writing"}
    assert all(0 <= done <= total for _, done, total in seen)
    # The Parquet files are everybody's.
    folder = table.root + "/shards"
    rows = [pq.read_table(f"{folder}/{name}/rows.parquet").num_rows for name in os.listdir(folder)]
    assert sum(rows) == 1000
    with pytest.raises(FileNotFoundError, match="no file matches"):
        er.build(folders.new(), str(tmp_path / "none-*"), KEY, shards=2)
    with pytest.raises(KeyError, match="no column 'x'"):
        er.build(folders.new(), whole, ["x"], shards=2)
    with pytest.raises(FileExistsError, match="replace=True"):
        er.build(table.root, whole, KEY, shards=2)
    assert er.build(table.root, whole, KEY, shards=2, replace=True, backend="local").generation == 2


def test_calls_and_bytes_do_not_depend_on_the_size_of_the_table(folders, monkeypatch):
    """What each operation asks and sends, for 8 times as many rows in as many shards. Half of the keys are there."""
    monkeypatch.setattr(er._build, "LEAST_SAMPLES", 1 << 20)  # all keys: the split points are at the same distances
    seen = []
    for rows_ in (8_000, 64_000):
        source = pa.table({"k": 2 * np.arange(rows_), "v": np.arange(rows_)})
        table = er.build(folders.new(), source, "k", shards=64, values=["v"], backend="local")
        keys = np.arange(0, 2 * rows_, rows_ // 250) + np.arange(500) % 2
        near = np.arange(64) * (rows_ // 32) + 2 * (rows_ // 128)  # in the middle of each shard
        lo, hi, ends = near[:-9], near[9:] + 1, (near, near + 10)
        left = pa.table({"k": near + 1})
        spans = pa.table({"a": ends[0], "b": ends[1]})
        more = pa.table({"k": near[::8], "v": np.zeros(8, np.int64)})
        begin, end = 3, 2 * rows_ - 3
        calls = {
            "contains": lambda: table.contains(keys).sum(),
            "find": lambda: table.find(keys).num_rows,
            "count": lambda: table.count(begin, end),
            "sum": lambda: table.sum("v", begin, end) - sum(range(2, rows_ - 1)),
            "avg": lambda: table.avg("v", begin, end) * (rows_ - 3) - sum(range(2, rows_ - 1)),
            "min": lambda: table.min("v", begin, end),
            "max": lambda: table.max("v", begin, end) - rows_,
            "everything": lambda: table.sum("v", None, None) + table.count(None, None) + table.max("v", None, None),
            "counts": lambda: len(table.count(lo, hi)),
            "sums": lambda: len(table.sum("v", lo, hi)),
            "avgs": lambda: len(table.avg("v", lo, hi)),
            "mins": lambda: len(table.min("v", lo, hi)),
            "maxs": lambda: len(table.max("v", lo, hi)),
            "range": lambda: table.range(*ends)[1].num_rows,
            "asof": lambda: er.join_asof(left, table, on="k").num_rows,
            "window": lambda: er.join_window(left, table, on="k", window=(-rows_, 0), agg={"v": "sum"}).num_rows,
            "between": lambda: er.join_between(table, spans, "k", "a", "b").num_rows,
            "count between": lambda: er.count_between(table, spans, "k", "a", "b").to_pylist(),
            "append": lambda: table.append(more),
            "sums with runs": lambda: len(table.sum("v", lo, hi)),
            "compact": lambda: table.compact(),
            "find again": lambda: table.find(keys).num_rows,
        }
        traffic = {}
        for name, call in calls.items():
            before = table.status()["traffic"]
            answer = call()
            after = table.status()["traffic"]
            traffic[name] = [after[one] - before[one] for one in after]
            if name in ("count", "sum", "avg", "everything", "append", "compact"):
                assert after["requests"] - before["requests"] == (2 if name in ("count", "sum", "avg") else 0)
            if name in ("contains", "range", "between", "sum", "avg"):
                assert answer == {"contains": 250, "range": 6 * 64, "between": 6 * 64, "sum": 0, "avg": 0}[name]
        seen.append(traffic)
    assert seen[0] == seen[1]
    assert all(requests == 64 for _, requests, *_ in (seen[0][name] for name in ("contains", "find", "range", "asof")))


def test_frames_of_other_libraries(folders):
    import pandas as pd
    import polars as pl

    quotes = table_of([(sym, t, t, float(t)) for sym in ("a", "b") for t in range(20)])
    table = er.build(folders.new(), quotes, KEY, shards=4, values=VALUES, backend="local")
    trades = frame_of([("a", 3), ("b", 40), ("c", 1)])
    for left in (pl.DataFrame(trades), trades.to_pandas(), trades):
        answer = er.join_asof(left, table, on="time", by="sym")
        assert type(answer) is type(left)
        window = er.join_window(
            left, table, on="time", by="sym", window=("-2us", "0us"), agg={"qty": "sum", "*": "count"}
        )
        assert type(window) is type(left)
        column = window["qty_sum"]
        found = column.to_pylist() if isinstance(left, pa.Table) else [None if pd.isna(v) else v for v in list(column)]
        assert found == [6, None, None]


def test_left_keys_need_an_equal_in_the_table(folders):
    table = er.build(folders.new(), pa.table({"k": [1, 2], "v": [1, 2]}), "k", shards=2, values=["v"], backend="local")
    with pytest.raises(ValueError, match="no equal"):
        er.join_asof(pa.table({"k": [1.5]}), table, on="k")
    with pytest.raises(ValueError, match="by is"):
        er.join_asof(pa.table({"k": [1], "g": [1]}), table, on="k", by="g")
    with pytest.raises(TypeError, match="sharded|frames"):
        er.join_asof(pa.table({"k": [1]}), pa.table({"k": [1]}), on="k")
    with pytest.raises(TypeError, match="frames"):
        er.join_window(pa.table({"k": [1]}), pa.table({"k": [1]}), on="k", window=(0, 1), agg={"*": "count"})
    with pytest.raises(KeyError, match="no aggregates"):
        er.join_window(pa.table({"k": [1]}), table, on="k", window=(0, 1), agg={"k": "sum"})


def test_nan_is_in_no_window(folders):
    right = pa.table({"k": [1.0, math.nan, math.inf], "v": [1, 2, 4]})
    left = pa.table({"k": [0.0, math.nan]})
    table = er.build(folders.new(), right, "k", shards=2, values=["v"], backend="local")
    for window in ((0, None), (None, None), (None, 5)):
        options = dict(on="k", window=window, agg={"v": "sum"})
        expected = es.join_window(left, es.prepare(right, on="k"), **options).column("v_sum").to_pylist()
        assert er.join_window(left, table, **options).column("v_sum").to_pylist() == expected


@pytest.mark.parametrize("shards", SHARDS)
def test_two_tables_with_the_same_splits(folders, tmp_path, shards):
    rng = np.random.default_rng(shards)
    n = 500
    syms = pa.array(rng.choice(SYMS, n))
    quotes = pa.table({"sym": syms, "time": rng.integers(0, 99, n), "bid": range(n)})
    trades = pa.table({"sym": pa.array(rng.choice(SYMS, 80)), "time": rng.integers(-5, 120, 80), "id": range(80)})
    right = er.build(folders.new(), quotes, KEY, shards=shards, backend="local")
    left = er.build(folders.new(), trades, KEY, shards=1, like=right, backend="local")
    assert left.shards == shards
    left.append(pa.table({"sym": pa.array(["a"]), "time": [50], "id": [80]}))
    for strategy in ("backward", "forward"):
        options = dict(on="time", by="sym", strategy=strategy)
        files = er.join_asof(left, right, into=tmp_path / strategy, **options)
        expected = es.join_asof(left.range(None, None), quotes, **options)
        assert pa.concat_tables([pq.read_table(file) for file in files]).to_pylist() == expected.to_pylist()
    right_values = er.build(folders.new(), quotes, KEY, shards=shards, values=["bid"], backend="local")
    options = dict(on="time", by="sym", window=(-7, 2), agg={"bid": ["sum", "min", "last"], "*": "count"})
    expected = es.join_window(left.range(None, None), es.prepare(quotes, on="time", by="sym"), **options)
    files = er.join_window(left, right_values, into=tmp_path / "window", **options)
    assert pa.concat_tables([pq.read_table(file) for file in files]).to_pylist() == expected.to_pylist()
    with pytest.raises(TypeError, match="into"):
        er.join_asof(left, right, on="time", by="sym")
    with pytest.raises(TypeError, match="into"):
        er.join_window(left, right_values, **options)
    with pytest.raises(ValueError, match="window"):
        er.join_window(left, right_values, into=tmp_path / "window", **(options | {"window": (3, 1)}))


def test_a_join_of_two_tables_reads_one_generation_of_each(folders, tmp_path):
    """Both tables are replaced and swept before the join opens their files."""
    sides = []
    for _ in range(2):
        rows = table_of([("a", t, t, 1.0) for t in range(9)])
        table = er.build(folders.new(), rows, KEY, shards=3, values=VALUES, backend="local")
        writer = er.open(table.root, backend="local")
        for i in range(2):
            writer.append(table_of([("a", 20 + i, 1, 1.0)]))
            writer.compact(shards=2)
        writer.sweep(keep=1)
        sides.append((table, writer))
    (left, new_left), (right, new_right) = sides
    options = dict(on="time", by="sym")
    files = er.join_asof(left, right, into=tmp_path / "out", **options)
    expected = es.join_asof(new_left.range(None, None), new_right.range(None, None), **options)
    assert pa.concat_tables([pq.read_table(file) for file in files]).to_pylist() == expected.to_pylist()
    assert left.generation == new_left.generation and right.generation == new_right.generation


def test_a_table_that_is_replaced_by_another_one_is_not_read_on(folders):
    reader = er.build(folders.new(), pa.table({"k": [1, 2, 3]}), "k", shards=2, backend="local")
    for keys in (["a"], ["b"], ["c"]):
        other = er.build(reader.root, pa.table({"k": keys}), "k", shards=1, replace=True, backend="local")
    other.sweep(keep=1)
    with pytest.raises(ValueError, match="open it again"):
        reader.find([1, 2])
    assert er.open(reader.root, backend="local").contains("c")


def test_first_and_last_of_equal_keys_are_those_of_the_first_and_last_row(folders):
    """Whole shards are answered from the bounds, which have to know that appended rows come later."""
    parts = [table_of([("a", 3, value, None), ("a", 3, None, None)], 2 * i) for i, value in enumerate((1, 2, 3))]
    table = er.build(folders.new(), parts[0], KEY, shards=1, values=VALUES, backend="local")
    left, options = frame_of([("a", 3)]), dict(on="time", by="sym", window=(-1, 1), agg={"qty": ["first", "last"]})
    for more in parts[1:]:
        table.append(more)
    for _ in range(2):
        answer = er.join_window(left, table, **options).to_pydict()
        assert (answer["qty_first"], answer["qty_last"]) == ([1], [3])
        table.compact()
    assert table.status()["traffic"]["requests"] == 0


def test_indexes_of_shards_on_a_gpu(folders):
    """The same answers; without a GPU, or GPU code in the package, the error of espalier.open()."""
    source = pa.table({"k": np.random.default_rng(1).permutation(900), "v": range(900)})
    table = er.build(folders.new(), source, "k", shards=3, values=["v"], backend="local")
    table.append(pa.table({"k": [900], "v": [900]}))
    on_gpu = er.open(table.root, backend="local")
    on_gpu.backend._reader = Reader(table.root, "cuda")
    try:
        es.Index(np.arange(3), device="cuda")
    except Exception as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            on_gpu.contains([1, 2])
    else:
        keys = np.arange(-5, 950)
        assert on_gpu.find(keys).equals(table.find(keys))
        assert on_gpu.sum("v", keys, keys + 40).tolist() == table.sum("v", keys, keys + 40).tolist()
        assert on_gpu.range(3, 700).equals(table.range(3, 700))
    text = er.build(folders.new(), pa.table({"k": ["a", "b"]}), "k", shards=1, backend="local")
    text.backend._reader = Reader(text.root, "cuda")
    assert text.contains(["a", "c"]).tolist() == [True, False]  # keys that are no words stay in host memory


def test_progress_draws_bars(folders, capsys):
    """A bar per stage on the standard error, which ends when the stage is done."""
    source = [table_of([("a", t, t, 1.0)]) for t in range(3)]
    table = er.build(folders.new(), source, KEY, shards=2, backend="local", progress=True)
    out, err = capsys.readouterr()
    lines = err.split("\n")
    assert out == "" and len(lines) == 4 and lines[3] == ""
    for line, (stage, total) in zip(lines, (("sampling", 3), ("dividing", 3), ("writing", 2))):
        bars = re.findall(r"\r *(\w+) \[(#*)(\.*)\] (\d+)/(\d+)", line)
        assert "".join(f"\r{s:>11} [{f}{e}] {d}/{t}" for s, f, e, d, t in bars) == line
        assert [(s, int(d), int(t)) for s, _, _, d, t in bars] == [(stage, done, total) for done in range(total + 1)]
        assert [len(f) for _, f, _, _, _ in bars] == [30 * done // total for done in range(total + 1)]
        assert all(len(f) + len(e) == 30 for _, f, e, _, _ in bars)
    table.append(source[0])
    table.compact(progress=True)
    assert re.search(r"compacting \[#{30}\] 1/1\n$", capsys.readouterr().err)
    table.compact(shards=1)
    assert capsys.readouterr().err == ""
