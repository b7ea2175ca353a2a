"""Shards: the files of one range, written once, and what a reader does with them.

The base of a range is a folder with rows.parquet (rows in key order, readable by everything that reads Parquet) and
keys.espalier (an espalier.Index of the encoded keys, so that a rank is a row position). Appended rows are runs: Arrow
streams in one file per append. A shard merges its runs into one sorted table, the delta, and knows which positions of
the merged order its rows have; the base is not copied. All state is made from files, so a reader may be
killed at any time.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .. import _index
from .._index import Index
from . import _files, _partials
from ._bounds import Bounds, parts_of
from ._keys import Codec, Positions, numbers_of, one_chunk, ranks, take_keys

ROWS, KEYS = "rows.parquet", "keys.espalier"


def sort_rows(codec: Codec, table: pa.Table) -> tuple[pa.Table, Any]:
    """Rows in key order, equal keys in the order of the rows; and the keys."""
    keys = codec.encode(table)
    if len(keys) == 0:
        return table, keys
    order = np.asarray(Index(keys).at(np.arange(len(keys)))[1]).astype(np.int64)
    if (order[1:] > order[:-1]).all():
        return table, keys
    return take_rows(table, order), take_keys(keys, order)


def take_rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    return pa.table([one_chunk(column).take(pa.array(rows)) for column in table.columns], schema=table.schema)


def describe(codec: Codec, table: pa.Table, keys: Any, values: list[str]) -> dict[str, Any]:
    """What the bounds file says about sorted rows."""
    n = len(keys)
    entry: dict[str, Any] = {"rows": n, "values": {}}
    if n:
        entry["first"], entry["last"] = codec.to_json(take_keys(keys, np.array([0, n - 1])))
    for name in values:
        column = one_chunk(table.column(name))
        partial = values_of(column).aggregate(np.array([0]), np.array([n]), _partials.FUNCTIONS)
        valid = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)) if column.null_count else np.arange(n)
        ends = codec.to_json(take_keys(keys, valid[[0, -1]])) if len(valid) else [None, None]
        entry["values"][name] = [*_partials.to_json(partial), *ends]
    return entry


def values_of(column: pa.Array) -> _partials.Values:
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    return _partials.Values(numbers_of(column), valid)


def write_base(root: str, name: str, codec: Codec, table: pa.Table, values: list[str]) -> dict[str, Any] | None:
    """Sort and write a shard in a new folder. Returns its entry in the bounds file, None without rows."""
    if table.num_rows == 0:
        return None
    table, keys = sort_rows(codec, table)
    entry = describe(codec, table, keys, values)
    parent = os.path.join(root, "shards")
    name = _files.make_folder(parent, name)
    folder = os.path.join(parent, name)
    with open(os.path.join(folder, ROWS), "xb") as file:
        pq.write_table(table, file)
    codec.index(keys).save(os.path.join(folder, KEYS))
    files = {file: _files.sync_file(os.path.join(folder, file)) for file in (ROWS, KEYS)}
    _files.sync_folder(folder)
    return {"folder": name, "files": files, **entry}


class Base:
    """The files of a shard, mapped. Columns of the rows are decoded when they are first asked for."""

    def __init__(self, root: str, entry: dict[str, Any], device: str | None = None) -> None:
        """device: a GPU that holds a copy of the index of the keys; rows and values stay in host memory."""
        folder = os.path.join(root, "shards", entry["folder"])
        for name, checksum in entry["files"].items():
            _files.verify_file(os.path.join(folder, name), checksum)
        self._rows = os.path.join(folder, ROWS)
        self.rows: int = entry["rows"]
        self.index = _index.open(os.path.join(folder, KEYS), verify=False, device=device)  # verified as a whole
        self.bytes = sum(size for size, _ in entry["files"].values())
        self._columns: dict[str, pa.Array] = {}
        self._values: dict[str, _partials.Values] = {}
        self._latch = threading.Lock()

    def column(self, name: str) -> pa.Array:
        with self._latch:
            if name not in self._columns:
                table = pq.read_table(self._rows, columns=[name], memory_map=True, partitioning=None)
                self._columns[name] = one_chunk(table.column(name))
            return self._columns[name]

    def values(self, name: str) -> _partials.Values:
        column = self.column(name)
        with self._latch:
            if name not in self._values:
                self._values[name] = values_of(column)
            return self._values[name]


class Shard:
    """One range of one generation. `Shard.open(root, n)` is all that an owner needs."""

    def __init__(self, codec: Codec, schema: pa.Schema, base: Base | None, runs: list[pa.Table]) -> None:
        self.codec, self.schema, self._base = codec, schema, base
        self._base_rows = 0 if base is None else base.rows
        self._delta, keys = sort_rows(codec, pa.concat_tables([schema.empty_table(), *runs]))
        self._delta_index = codec.index(keys) if len(keys) else None
        self._delta_values: dict[str, _partials.Values] = {}
        # Position of each delta row in the merged order: behind the base rows with the same key.
        self._places = np.arange(len(keys))
        if base is not None and len(keys):
            self._places = self._places + ranks(base.index, Positions(keys, np.ones(len(keys), bool)))
        self.rows = self._base_rows + len(keys)

    @classmethod
    def open(
        cls,
        root: str,
        n: int,
        bounds: Bounds | None = None,
        bases: dict[str, Base] | None = None,
        device: str | None = None,
    ) -> Shard:
        """`bases`: files that are open already, by folder. `device`: see Base; for keys that are words."""
        bounds = bounds or Bounds.read(root)
        range_ = bounds.ranges[n]
        base, entry = None, range_["base"]
        if entry is not None:
            base = (bases or {}).get(entry["folder"]) or Base(root, entry, device if bounds.codec.is_word else None)
            if bases is not None:
                bases[entry["folder"]] = base
        return cls(bounds.codec, bounds.schema, base, read_runs(root, range_["runs"]))

    @property
    def bytes(self) -> int:
        return (0 if self._base is None else self._base.bytes) + self._delta.nbytes

    def ranks(self, positions: Positions) -> np.ndarray:
        found = np.zeros(len(positions), np.int64)
        for index in (None if self._base is None else self._base.index, self._delta_index):
            if index is not None:
                found += ranks(index, positions)
        return found

    def take(self, places: np.ndarray, columns: list[str]) -> pa.Table:
        """Rows by their positions in the merged order."""
        if not len(self._places):
            assert self._base is not None or not len(places)
            made = [
                self.schema.field(name).type
                and (
                    pa.array([], self.schema.field(name).type)
                    if self._base is None
                    else self._base.column(name).take(pa.array(places))
                )
                for name in columns
            ]
            return pa.table(made, schema=self._schema(columns)).combine_chunks()
        before = np.searchsorted(self._places, places, "right")
        is_delta = (before > 0) & (self._places[np.maximum(before - 1, 0)] == places)
        made = []
        order = np.empty(len(places), np.int64)
        order[~is_delta] = np.arange(len(places) - int(is_delta.sum()))
        order[is_delta] = np.arange(len(places) - int(is_delta.sum()), len(places))
        for name in columns:
            pieces = [one_chunk(self._delta.column(name)).take(pa.array(before[is_delta] - 1))]
            if self._base is not None:
                pieces.insert(0, self._base.column(name).take(pa.array((places - before)[~is_delta])))
            made.append(pa.concat_arrays(pieces).take(pa.array(order)))
        return pa.table(made, schema=self._schema(columns))

    def _schema(self, columns: list[str]) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in columns])

    # ---- operations of requests ----------------------------------------

    def find(self, keys: Any, columns: list[str]) -> tuple[np.ndarray, pa.Table | None]:
        """Which keys there are, and the first row of each of these; None without columns."""
        none = np.zeros(len(keys), bool)
        if not columns:
            found = none
            for index in (None if self._base is None else self._base.index, self._delta_index):
                if index is not None:
                    found = found | np.asarray(index.contains(keys))
            return found, None
        begin = self.ranks(Positions(keys, none))
        found = self.ranks(Positions(keys, ~none)) > begin
        return found, self.take(begin[found], columns)

    def aggregate(
        self, lower: Positions, upper: Positions, functions: dict[str, list[str]]
    ) -> tuple[np.ndarray, dict[str, _partials.Partial]]:
        """The number of rows of each range, and partials of columns."""
        begin = self.ranks(lower)
        end = np.maximum(begin, self.ranks(upper))
        return end - begin, {name: self._partial(name, begin, end, wanted) for name, wanted in functions.items()}

    def rows_between(self, lower: Positions, upper: Positions, columns: list[str]) -> tuple[np.ndarray, pa.Table]:
        """The number of rows of each range, and the rows one range after the other."""
        begin = self.ranks(lower)
        counts = np.maximum(self.ranks(upper) - begin, 0)
        places = np.arange(counts.sum()) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
        return counts, self.take(places, columns)

    def nearest(self, backward: Positions, forward: Positions, columns: list[str]) -> pa.Table:
        """The rows next to positions, before those of `backward` and behind those of `forward`; each row once, in key
        order."""
        places = np.unique(np.concatenate([self.ranks(backward) - 1, self.ranks(forward)]))
        return self.take(places[(places >= 0) & (places < self.rows)], columns)

    def _partial(self, name: str, begin: np.ndarray, end: np.ndarray, wanted: list[str]) -> _partials.Partial:
        dtype = numbers_of(pa.array([], self.schema.field(name).type)).dtype
        made = _partials.nothing(len(begin), wanted, dtype)
        ends = [np.searchsorted(self._places, side, "left") for side in (begin, end)]
        if self._base is not None:
            made = self._base.values(name).aggregate(begin - ends[0], end - ends[1], wanted)
        if len(self._places):
            if name not in self._delta_values:
                self._delta_values[name] = values_of(one_chunk(self._delta.column(name)))
            delta = self._delta_values[name].aggregate(ends[0], ends[1], wanted)
            made = self._in_order(name, made, delta, begin, end, wanted)
        return made

    def _in_order(
        self,
        name: str,
        base: _partials.Partial,
        delta: _partials.Partial,
        begin: np.ndarray,
        end: np.ndarray,
        wanted: list[str],
    ) -> _partials.Partial:
        """Rows of base and delta alternate: the first and last value of both is that with the lesser, greater place."""
        made = _partials.merge(base, delta)
        rows = np.flatnonzero((base["count"] > 0) & (delta["count"] > 0))
        for f in set(wanted) & {"first", "last"}:
            for i in rows:
                made[f][i] = self._value_at_end(name, int(begin[i]), int(end[i]), f == "first")
        return made

    def _value_at_end(self, name: str, begin: int, end: int, first: bool) -> Any:
        """The first or last value of a range that is not NULL."""
        step = 64
        while True:
            piece = np.arange(begin, min(begin + step, end)) if first else np.arange(max(end - step, begin), end)
            column = one_chunk(self.take(piece, [name]).column(name))
            valid = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            if len(valid):
                return numbers_of(column)[valid[0 if first else -1]]
            step *= 8


def read_range(root: str, bounds: Bounds, n: int) -> list[pa.Table]:
    """The rows of a range, part by part: within equal keys, the order of the parts is that of the rows."""
    tables = []
    for part in parts_of(bounds.ranges[n]):
        folder = os.path.join(root, "shards", part["folder"])
        if "place" in part:
            tables.append(_files.read_run(os.path.join(folder, "run"), part["place"]))
        else:
            _files.verify_file(os.path.join(folder, ROWS), part["files"][ROWS])
            tables.append(pq.read_table(os.path.join(folder, ROWS), partitioning=None).cast(bounds.schema))
    return tables


def read_runs(root: str, runs: list[dict[str, Any]]) -> list[pa.Table]:
    return [_files.read_run(os.path.join(root, "shards", run["folder"], "run"), run["place"]) for run in runs]


def is_null_key(table: pa.Table, key: list[str]) -> np.ndarray:
    missing = np.zeros(table.num_rows, bool)
    for name in key:
        if table.column(name).null_count:
            missing |= pc.is_null(one_chunk(table.column(name))).to_numpy(zero_copy_only=False)
    return missing
