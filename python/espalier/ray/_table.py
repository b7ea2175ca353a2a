"""Table: the router. It divides a batch of questions by range, asks each range once, and puts the answers together.

A call works on one generation from beginning to end. Ranges of keys that contain a whole shard take its aggregates from
the bounds file, so a count or a sum over any number of shards asks two of them at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import _build, _files, _partials
from ._bounds import Bounds, Request
from ._keys import Asked, Positions, of_numbers, piece_of
from ._shard import take_rows

_T = TypeVar("_T")
_RAISE: Any = object()
_CLOSED = {"both": (True, True), "left": (True, False), "right": (False, True), "neither": (False, False)}


class Stale(Exception):
    """Files of the generation of a request are gone: reload the bounds and begin again."""


class Backend(Protocol):
    """Owners of ranges."""

    name: str
    executor: _build.Executor

    def ask(self, bounds: Bounds, requests: list[Request]) -> list[Any]:
        """The answer of each request."""

    def ask_whole(
        self, bounds: Bounds, asked: Asked, columns: list[str]
    ) -> list[tuple[np.ndarray, pa.Table | None]] | None:
        """Give the whole batch to each owner, which takes its own keys: the bits and rows of Reader.find_mine(). None
        if the router shall divide it."""

    def status(self, bounds: Bounds) -> dict[str, Any]: ...

    def close(self) -> None: ...


class Table:
    """A table in range shards. build() and open() make one. Threads may share it."""

    def __init__(self, root: str, backend: Backend, bounds: Bounds | None = None) -> None:
        self.root = root
        self.backend = backend
        self._bounds = bounds or Bounds.read(root)

    # ---- properties ----------------------------------------

    def __len__(self) -> int:
        return len(self._bounds)

    def __repr__(self) -> str:
        return (
            f"<espalier.ray.Table: {len(self)} rows in {self.shards} shards, key={self.key}, "
            f"generation {self.generation}, {self.backend.name}>"
        )

    @property
    def generation(self) -> int:
        """The generation that this object reads."""
        return self._bounds.generation

    @property
    def key(self) -> list[str]:
        return list(self._bounds.key)

    @property
    def values(self) -> list[str]:
        """The columns that have aggregates."""
        return list(self._bounds.values)

    @property
    def schema(self) -> pa.Schema:
        return self._bounds.schema

    @property
    def shards(self) -> int:
        return len(self._bounds.ranges)

    # ---- generations ----------------------------------------

    def refresh(self) -> Table:
        """Read the newest generation from now on."""
        self._bounds = Bounds.read(self.root)
        return self

    def append(self, rows: Any) -> None:
        """Add rows: one file, and a new generation. One writer at a time."""
        _build.append(self.root, rows)
        self.refresh()

    def compact(self, shards: int | None = None, progress: Any = None) -> None:
        """Merge appended rows into the shards: a new generation. With `shards`, also with new split points."""
        if shards is not None and shards < 1:
            raise ValueError(f"compact(): shards is {shards}; a table has one or more.")
        _build.compact(self.root, shards, self.backend.executor, _build.Progress(progress_of(progress)))
        self.refresh()

    def sweep(self, keep: int = 2) -> list[str]:
        """Remove files that none of the last `keep` generations names; builds and compactions do it, too."""
        with _files.only_writer(self.root):
            return _build.sweep(self.root, keep)

    def status(self) -> dict[str, Any]:
        """Shards, owners, restarts, load and bytes."""
        bounds = self._bounds
        return {"root": self.root, "generation": bounds.generation, "rows": len(bounds), **self.backend.status(bounds)}

    def draw(self) -> str:
        """The status as an SVG picture."""
        from ._draw import draw

        return draw(self.status())

    _repr_svg_ = draw

    def close(self) -> None:
        """Release the owners; the files stay."""
        self.backend.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- points ----------------------------------------

    def find(self, keys: Any, columns: Sequence[str] | None = None) -> Any:
        """The first row with each key: a pyarrow.Table with a row for each question, NULL where there is none. One key
        (for several key columns, a tuple) gives a dict, and a missing one is a KeyError."""
        bounds = self._bounds
        wanted = self._columns(bounds, columns)
        asked = bounds.codec.asked(keys)
        found, rows = self._read(lambda b: self._find(b, asked, wanted))
        if asked.single:
            if not found[0]:
                raise KeyError(f"the table does not have the key {keys!r}.")
            return rows.to_pylist()[0]
        places = np.cumsum(found) - 1
        return _take_or_null(rows, places, ~found)

    def contains(self, keys: Any) -> Any:
        """Whether the table has each key."""
        asked = self._bounds.codec.asked(keys)
        found, _ = self._read(lambda b: self._find(b, asked, []))
        return bool(found[0]) if asked.single else found

    __contains__ = contains

    def _find(self, bounds: Bounds, asked: Asked, columns: list[str]) -> tuple[np.ndarray, pa.Table]:
        """Which keys there are, and their rows, in the order of the keys."""
        answers = self.backend.ask_whole(bounds, asked, columns)
        if answers is not None:
            return self._merged(bounds, len(asked.valid), answers, columns)
        valid = asked.valid
        part = bounds.partition(asked.encoded, valid)
        groups = part.groups()
        requests = [Request(r, "find", (piece_of(part.keys, a, b), columns), b - a) for r, a, b in groups]
        hits = np.zeros(len(valid), bool)
        tables = []
        for (_, begin, end), (some, table) in zip(groups, self._ask(bounds, requests)):
            hits[begin:end] = some
            if columns:
                tables.append(table)
        found = part.restore(hits)
        schema = pa.schema([bounds.schema.field(name) for name in columns])
        table = pa.concat_tables([schema.empty_table(), *tables])
        if columns:
            table = take_rows(table, (np.cumsum(hits) - 1)[part.places[found]])
        return found, table

    def _merged(
        self, bounds: Bounds, n: int, answers: list[tuple[np.ndarray, pa.Table | None]], columns: list[str]
    ) -> tuple[np.ndarray, pa.Table]:
        """_find(), from what owners found of a batch that they divided."""
        bits = np.zeros((n + 7) // 8, np.uint8)
        for some, _ in answers:
            bits |= some
        found = np.unpackbits(bits, count=n).view(bool)
        schema = pa.schema([bounds.schema.field(name) for name in columns])
        table = pa.concat_tables([schema.empty_table(), *(rows for _, rows in answers if rows is not None)])
        if columns:  # the rows of an answer are in the order of its bits
            places = np.concatenate([np.flatnonzero(np.unpackbits(some, count=n)) for some, _ in answers])
            order = np.empty(n, np.int64)
            order[places] = np.arange(len(places))
            table = take_rows(table, order[found])
        return found, table

    # ---- ranges ----------------------------------------

    def count(self, lo: Any, hi: Any, closed: str = "both") -> Any:
        """Number of rows of each range. An end is a key, None for an open end, or a tuple of the first key columns for
        all keys that begin with it."""
        counts, _, single = self._aggregate(lo, hi, closed, {})
        return int(counts[0]) if single else counts

    def sum(self, column: str, lo: Any, hi: Any, closed: str = "both") -> Any:
        """Sum of the values of each range, 0 for an empty one. Sums of integers are exact (OverflowError beyond 64
        bits); those of floats are added shard by shard, so their last digits depend on the shards."""
        partial, single = self._one(column, lo, hi, closed, "sum")
        total = _partials.finish_sum(partial["sum"], self._bounds.dtype(column), f"column {column!r}")
        type = self.schema.field(column).type
        if pa.types.is_temporal(type):
            if not pa.types.is_duration(type):
                raise TypeError(f"column {column!r} has the type {type}; moments have no sum.")
            total = total.astype(f"m8[{type.unit}]")
        return _native(total[0]) if single else total

    def avg(self, column: str, lo: Any, hi: Any, closed: str = "both") -> Any:
        """Mean of the values of each range, NaN for an empty one."""
        if pa.types.is_temporal(self.schema.field(self._value(self._bounds, column)).type):
            raise TypeError(f"column {column!r} has the type {self.schema.field(column).type}, which has no mean here.")
        partial, single = self._one(column, lo, hi, closed, "sum")
        mean = _mean(partial)
        return float(mean[0]) if single else mean

    def min(self, column: str, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE) -> Any:
        """Smallest value of each range, `default` for one without values (without a default NaN or NaT, and a
        ValueError for integers)."""
        return self._extreme("min", column, lo, hi, closed, default)

    def max(self, column: str, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE) -> Any:
        """Largest value of each range; see min()."""
        return self._extreme("max", column, lo, hi, closed, default)

    def range(self, lo: Any, hi: Any, closed: str = "both", columns: Sequence[str] | None = None) -> Any:
        """The rows of a range in key order: a pyarrow.Table. Of many ranges (offsets, table): range i has the rows
        offsets[i] to offsets[i + 1]."""
        lower, upper, valid, single = self._ends(lo, hi, closed)
        wanted = self._columns(self._bounds, columns)
        offsets, rows = self._read(lambda b: self._range(b, lower, upper, valid, wanted))
        return rows if single else (offsets, rows)

    def _extreme(self, f: str, column: str, lo: Any, hi: Any, closed: str, default: Any) -> Any:
        partial, single = self._one(column, lo, hi, closed, f)
        type = self.schema.field(column).type
        values = of_numbers(partial[f], type).to_numpy(zero_copy_only=False)
        empty = partial["count"] == 0
        if empty.any():
            if default is _RAISE:
                if values.dtype.kind not in "fmM":
                    raise ValueError(
                        f"range {int(np.argmax(empty))} has no value in column {column!r}; give a default."
                    )
                default = np.nan if values.dtype.kind == "f" else np.array("NaT", values.dtype)[()]
            values = values.copy()
            values[empty] = default
        return _native(values[0]) if single else values

    def _one(self, column: str, lo: Any, hi: Any, closed: str, function: str) -> tuple[_partials.Partial, bool]:
        self._value(self._bounds, column)
        _, partials, single = self._aggregate(lo, hi, closed, {column: [function]})
        return partials[column], single

    def _aggregate(
        self, lo: Any, hi: Any, closed: str, functions: dict[str, list[str]]
    ) -> tuple[np.ndarray, dict[str, _partials.Partial], bool]:
        lower, upper, valid, single = self._ends(lo, hi, closed)
        counts, partials = self._read(lambda b: self.aggregate_positions(b, lower, upper, valid, functions))
        return counts, partials, single

    def _ends(self, lo: Any, hi: Any, closed: str) -> tuple[Positions, Positions, np.ndarray, bool]:
        if closed not in _CLOSED:
            raise ValueError(f"closed is '{closed}'; use 'both', 'left', 'right' or 'neither'.")
        codec = self._bounds.codec
        lower, a, one_lo = codec.lower(lo, _CLOSED[closed][0])
        upper, b, one_hi = codec.upper(hi, _CLOSED[closed][1])
        if one_lo != one_hi:  # one end for all ranges
            if one_lo:
                lower, a = lower.take(np.zeros(len(upper), np.int64)), np.repeat(a, len(upper))
            else:
                upper, b = upper.take(np.zeros(len(lower), np.int64)), np.repeat(b, len(lower))
        if len(lower) != len(upper):
            raise ValueError(f"lo has {len(lower)} elements and hi has {len(upper)}; give one of each per range.")
        return lower, upper, a & b, one_lo and one_hi

    # ---- the router ----------------------------------------

    def _read(self, work: Callable[[Bounds], _T]) -> _T:
        """Run a call on one generation. If that one was swept, begin again with the newest."""
        while True:
            bounds = self._bounds
            try:
                return work(bounds)
            except Stale:
                self._renew(bounds)

    def _renew(self, bounds: Bounds) -> None:
        """Read the newest generation after files of this one were swept."""
        now = self.refresh()._bounds
        if (now.key, now.values, now.schema) != (bounds.key, bounds.values, bounds.schema):
            raise ValueError(
                f"{self.root} was replaced by a table with other columns while it was read; open it again."
            ) from None
        if now.generation == bounds.generation:
            time.sleep(0.001)  # the file is missing, and ask() says so unless `current` changes now

    def _ask(self, bounds: Bounds, requests: list[Request]) -> list[Any]:
        return self.backend.ask(bounds, requests) if requests else []

    def aggregate_positions(
        self, bounds: Bounds, lower: Positions, upper: Positions, valid: np.ndarray, functions: dict[str, list[str]]
    ) -> tuple[np.ndarray, dict[str, _partials.Partial]]:
        """Rows and partials of ranges between positions."""
        n, codec = len(valid), bounds.codec
        cuts = _Cuts(bounds, lower, upper, valid)
        counts = cuts.whole_rows()
        sides = [{c: _partials.nothing(n, fs, bounds.dtype(c)) for c, fs in functions.items()} for _ in range(2)]
        lowers, uppers = _with_outside(codec, lower, False), _with_outside(codec, upper, True)
        groups, requests = cuts.requests(lowers, uppers, "aggregate", functions)
        for mine, (rows, partials) in zip(groups, self._ask(bounds, requests)):
            counts[cuts.query[mine]] += rows
            for side in (0, 1):
                chosen = np.flatnonzero(cuts.is_right[mine] == bool(side))
                for column, partial in partials.items() if len(chosen) else ():
                    for f, array in partial.items():
                        target = sides[side][column]
                        if array.dtype == object and target[f].dtype != object:
                            target[f] = target[f].astype(object)
                        target[f][cuts.query[mine[chosen]]] = array[chosen]
        made = {}
        for column, fs in functions.items():
            middle = cuts.whole_partial(column, fs)
            made[column] = _partials.merge(_partials.merge(sides[0][column], middle), sides[1][column])
        return counts, made

    def _range(
        self, bounds: Bounds, lower: Positions, upper: Positions, valid: np.ndarray, columns: list[str]
    ) -> tuple[np.ndarray, pa.Table]:
        cuts = _Cuts(bounds, lower, upper, valid)
        cuts.add_whole()
        lowers, uppers = _with_outside(bounds.codec, lower, False), _with_outside(bounds.codec, upper, True)
        groups, requests = cuts.requests(lowers, uppers, "rows_between", columns)
        counts = np.zeros(len(valid), np.int64)
        tables, order = [], []
        for mine, (rows, table) in zip(groups, self._ask(bounds, requests)):
            np.add.at(counts, cuts.query[mine], rows)
            order.append(np.repeat(cuts.query[mine], rows))  # groups ascend by range: a stable sort by query is enough
            tables.append(table)
        return np.concatenate([[0], np.cumsum(counts)]), _in_order(bounds, columns, tables, order)

    # ---- arguments ----------------------------------------

    def _columns(self, bounds: Bounds, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(bounds.schema.names)
        for name in columns:
            if name not in bounds.schema.names:
                raise KeyError(f"the table has no column {name!r}; it has {bounds.schema.names}.")
        return list(columns)

    def _value(self, bounds: Bounds, column: str) -> str:
        if column not in bounds.values:
            raise KeyError(f"column {column!r} has no aggregates: the table was built with values={bounds.values}.")
        return column


class PinnedTable(Table):
    """A table that reads one generation only: where another Table would go on with the newest one, Stale."""

    def _read(self, work: Callable[[Bounds], _T]) -> _T:
        return work(self._bounds)


class _Cuts:
    """Which ranges a batch of key ranges cuts, and which lie wholly inside.

    With the positions a <= b of a key range: `begin` is the last range whose first key is before a. It is cut if its
    last key is behind a; otherwise a lies between it and the next one. The same for b. A request is (query, range,
    whether the lower and the upper position lie in this range)."""

    def __init__(self, bounds: Bounds, lower: Positions, upper: Positions, valid: np.ndarray) -> None:
        self._bounds = bounds
        live = valid & ~_is_behind(lower, upper)
        begin, end = bounds.last_before(lower), bounds.last_before(upper)
        cut_begin = live & (begin >= 0) & (bounds.first_behind(lower) == begin)
        cut_end = live & (end >= 0) & (bounds.first_behind(upper) == end)
        inside = cut_begin & cut_end & (begin == end)
        left, right = cut_begin & ~inside, cut_end & ~inside
        self.query = np.concatenate([np.flatnonzero(mask) for mask in (inside, left, right)])
        self.range = np.concatenate([begin[inside], begin[left], end[right]])
        sizes = [int(mask.sum()) for mask in (inside, left, right)]
        self._has_lower = np.repeat([True, True, False], sizes)
        self._has_upper = np.repeat([True, False, True], sizes)
        self.is_right = np.repeat([False, False, True], sizes)
        self.first_whole = np.where(live, begin + 1, 0)
        self.end_whole = np.maximum(np.where(live, np.where(cut_end, end, end + 1), 0), self.first_whole)
        self._n = len(valid)

    def requests(
        self, lowers: Positions, uppers: Positions, operation: str, last: Any
    ) -> tuple[list[np.ndarray], list[Request]]:
        """The requests of each range, and one Request for all of them. Behind the positions of the batch there is one
        that lies outside, for a side that is not cut."""
        order, groups = _partition(self.range)
        query = self.query[order]
        lowers = lowers.take(np.where(self._has_lower[order], query, self._n))
        uppers = uppers.take(np.where(self._has_upper[order], query, self._n))
        asked = [
            Request(r, operation, (lowers.piece(begin, end), uppers.piece(begin, end), last), end - begin)
            for r, begin, end in groups
        ]
        return [order[begin:end] for _, begin, end in groups], asked

    def whole_rows(self) -> np.ndarray:
        before = self._bounds.rows_before
        return before[self.end_whole] - before[self.first_whole]

    def whole_partial(self, column: str, functions: list[str]) -> _partials.Partial:
        whole, dtype = self._bounds.whole(column), self._bounds.dtype(column)
        return whole.reduce(self.first_whole, self.end_whole, functions, dtype)

    def add_whole(self) -> None:
        """Requests for the ranges that lie wholly inside: their rows are asked for."""
        counts = self.end_whole - self.first_whole
        total = int(counts.sum())
        queries = np.repeat(np.arange(self._n), counts)
        ranges = np.arange(total) + np.repeat(self.first_whole - (np.cumsum(counts) - counts), counts)
        self.query, self.range = np.concatenate([self.query, queries]), np.concatenate([self.range, ranges])
        nothing = np.zeros(total, bool)
        self._has_lower = np.concatenate([self._has_lower, nothing])
        self._has_upper = np.concatenate([self._has_upper, nothing])


def _is_behind(a: Positions, b: Positions) -> np.ndarray:
    if isinstance(a.keys, np.ndarray):
        return (a.keys > b.keys) | ((a.keys == b.keys) & a.after & ~b.after)
    greater = pc.greater(a.keys, b.keys).to_numpy(zero_copy_only=False)
    equal = pc.equal(a.keys, b.keys).to_numpy(zero_copy_only=False)
    return greater | (equal & a.after & ~b.after)


def _with_outside(codec: Any, positions: Positions, is_upper: bool) -> Positions:
    outside = codec.outside(1, is_upper)
    return Positions(codec.concat([positions.keys, outside.keys]), np.concatenate([positions.after, outside.after]))


def _partition(ranges: np.ndarray) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """The stable order by range, and (range, begin, end) in this order."""
    if len(ranges) and ranges.max() < 1 << 16:
        ranges = ranges.astype(np.uint16)  # which NumPy sorts by radix
    order = np.argsort(ranges, kind="stable")
    ranges = ranges[order]
    ends = [*(np.flatnonzero(ranges[1:] != ranges[:-1]) + 1).tolist(), len(ranges)] if len(ranges) else []
    return order, [(int(ranges[begin]), begin, end) for begin, end in zip([0, *ends], ends)]


def _groups(rows: np.ndarray, ranges: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(range, its rows in their order), ascending."""
    order, groups = _partition(ranges)
    rows = rows[order]
    return [(r, rows[begin:end]) for r, begin, end in groups]


def _in_order(bounds: Bounds, columns: list[str], tables: list[pa.Table], keys: list[np.ndarray]) -> pa.Table:
    """The rows of all tables, in the order of the numbers that they have."""
    schema = pa.schema([bounds.schema.field(name) for name in columns])
    table = pa.concat_tables([schema.empty_table(), *tables])
    order = np.argsort(np.concatenate([np.empty(0, np.int64), *keys]), kind="stable")
    if (order == np.arange(len(order))).all():
        return table.combine_chunks()
    return take_rows(table, order)


def _take_or_null(table: pa.Table, places: np.ndarray, missing: np.ndarray) -> pa.Table:
    rows = pa.array(np.where(missing, 0, places), mask=missing)
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    return pa.table([column.combine_chunks().take(rows) for column in table.columns], schema=schema)


def _mean(partial: _partials.Partial) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        count = partial["count"]
        return np.where(count > 0, partial["sum"].astype(np.float64) / np.maximum(count, 1), np.nan)


def _native(value: Any) -> Any:
    if isinstance(value, (np.datetime64, np.timedelta64)) or not isinstance(value, np.generic):
        return value
    return value.item()


def progress_of(progress: Any) -> Callable[[str, int, int], None] | None:
    """What is called with (stage, done, total): True draws bars on the standard error."""
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress
    from ._draw import bar

    return bar


def folder_of(path: Any) -> str:
    if _files.is_uri(path):
        raise ValueError(
            f"{path!r} is a URI. Tables and answers are in a folder, local or mounted by all machines, because a "
            "commit is a rename: give the path of a folder; sources may be URIs."
        )
    return os.path.abspath(os.fspath(path))
