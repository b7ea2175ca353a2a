"""Bounds: one generation of a table, as its bounds file has it.

A table is a row of *ranges* in key order. The rows of a range are its base (a folder with rows.parquet and
keys.espalier) and the runs that were appended since. Rows with equal keys are in the order in which they came; the key
of a split and a row number together divide rows, so that a key with more rows than a shard may fill several.

Readers need no splits: where a position lies follows from the first and last keys of the ranges with rows. Take the
last range whose first key is before a position: all keys of the ranges before it are before the position, and none
behind it is. So one range knows the rank of a position, and an as-of join needs no extra step to look behind empty
ranges.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .. import _core
from . import _partials
from ._files import Checksum, damaged, read_bounds, read_current
from ._keys import Codec, Positions, numbers_of, ranks, take_keys

VERSION = 1


def schema_to_json(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


class Bounds:
    """Immutable."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.generation: int = content["generation"]
        self.key: list[str] = content["key"]
        self.values: list[str] = content["values"]
        self.ranges: list[dict[str, Any]] = content["ranges"]
        self.schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(content["schema"])))
        self.codec = Codec(self.key, self.schema)
        self.split_keys = self.codec.of_json(content["splits"]["keys"])
        self.split_rows = np.array(content["splits"]["rows"], np.int64)
        parts = [[part for part in parts_of(range_) if part["rows"]] for range_ in self.ranges]
        self.full = np.array([n for n, some in enumerate(parts) if some], np.int64)  # ranges with rows
        self.rows = np.array([sum(part["rows"] for part in parts[n]) for n in self.full], np.int64)
        self.rows_before = np.concatenate([[0], np.cumsum(self.rows)])
        firsts = [least(self.codec, [part["first"] for part in parts[n]]) for n in self.full]
        lasts = [greatest(self.codec, [part["last"] for part in parts[n]]) for n in self.full]
        self._last_keys = self.codec.of_json(lasts)
        self._firsts = self.codec.index(self.codec.of_json(firsts)) if len(firsts) else None
        self._lasts = self.codec.index(self._last_keys) if len(lasts) else None
        self._whole: dict[str, _partials.Ranges] = {}
        self._parts = parts

    def __len__(self) -> int:
        return int(self.rows_before[-1])

    @classmethod
    def read(cls, root: str) -> Bounds:
        """The current generation."""
        while True:
            current = read_current(root)
            if current is None:
                raise FileNotFoundError(f"{root} has no table: it has no file `current`; make one with build().")
            try:
                return cls.named(root, current["bounds"], current["checksum"])
            except FileNotFoundError:
                if read_current(root) == current:  # otherwise a writer made a new one and swept this one
                    raise damaged(f"{root}/bounds/{current['bounds']}", "it is missing") from None

    @classmethod
    def named(cls, root: str, name: str, checksum: Checksum | None = None) -> Bounds:
        content = read_bounds(root, name, checksum)
        if content["version"] > VERSION:
            raise ValueError(
                f"{root} has format {content['version']}, and this espalier reads {VERSION}: install a newer one."
            )
        return cls(content)

    # ---- routing ----------------------------------------

    def last_before(self, positions: Positions) -> np.ndarray:
        """The last range (counted among those with rows) whose first key is before each position; -1 if none is."""
        if self._firsts is None:
            return np.full(len(positions), -1, np.int64)
        return ranks(self._firsts, positions) - 1

    def first_behind(self, positions: Positions) -> np.ndarray:
        """The first range (counted among those with rows) whose last key is behind each position; the number of such
        ranges if none is."""
        if self._lasts is None:
            return np.zeros(len(positions), np.int64)
        return ranks(self._lasts, positions)

    def partition(self, keys: Any, valid: np.ndarray) -> Partition:
        """Keys by the range that has the first row with them, if any has."""
        if self.codec.is_word:
            flags = None if valid.all() else valid
            places, keys, ends = _core.partition_words(np.ascontiguousarray(keys), flags, self._last_keys)
            return Partition(keys, ends[:-1].tolist(), places)
        ranges = self.first_behind(Positions(keys, np.zeros(len(valid), bool)))
        ranges[~valid] = len(self.full)
        order = np.argsort(ranges, kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        ends = np.cumsum(np.bincount(ranges, minlength=len(self.full) + 1))
        return Partition(take_keys(keys, order), ends[:-1].tolist(), places)

    def select(self, words: np.ndarray, flip: int, valid: np.ndarray | None, wanted: list[int]) -> Partition:
        """The keys `words ^ flip` of some ranges with rows; the places are their positions in the batch."""
        chosen = np.zeros(len(self.full), bool)
        chosen[wanted] = True
        places, keys, ends = _core.select_words(words, flip, valid, self._last_keys, chosen)
        return Partition(keys, ends.tolist(), places)

    def range_of_rows(self, keys: Any, first_row: int) -> np.ndarray:
        """The range that each new row belongs to: rows are numbered from `first_row`."""
        return range_of_rows(self.codec, self.split_keys, self.split_rows, keys, first_row + np.arange(len(keys)))

    # ---- whole ranges ----------------------------------------

    def dtype(self, column: str) -> np.dtype:
        return numbers_of(pa.array([], self.schema.field(column).type)).dtype

    def whole(self, column: str) -> _partials.Ranges:
        """Aggregates of all rows of the ranges with rows."""
        if column not in self._whole:
            dtype = self.dtype(column)
            merged = _partials.nothing(len(self.full), _partials.FUNCTIONS, dtype)
            parts = [[part["values"][column] for part in self._parts[n]] for n in self.full]
            for depth in range(max(map(len, parts), default=0)):
                rows = np.array([i for i, some in enumerate(parts) if len(some) > depth], np.int64)
                one = _partials.of_json([parts[i][depth] for i in rows], dtype)
                merged = _partials.merge(merged, _partials.scatter(len(parts), rows, one, dtype))
            order = _order(self.codec)
            for i, some in enumerate(parts):  # rows of the base and the runs alternate: by the keys of these values
                some = [one for one in some if one[0]]
                if len(some) > 1:
                    merged["first"][i] = min(some, key=lambda one: order(one[6]))[4]
                    merged["last"][i] = max(reversed(some), key=lambda one: order(one[7]))[5]
            self._whole[column] = _partials.Ranges(merged)
        return self._whole[column]


def parts_of(range_: dict[str, Any]) -> list[dict[str, Any]]:
    return ([range_["base"]] if range_["base"] is not None else []) + range_["runs"]


def range_of_rows(codec: Codec, split_keys: Any, split_rows: np.ndarray, keys: Any, rows: np.ndarray) -> np.ndarray:
    """Range n has the rows r with split[n - 1] <= (key, row) of r < split[n]."""
    if len(split_rows) == 0:
        return np.zeros(len(rows), np.int64)
    index = codec.index(split_keys)
    equal_from = ranks(index, Positions(keys, np.zeros(len(rows), bool)))
    equal_to = ranks(index, Positions(keys, np.ones(len(rows), bool)))
    places = equal_to.copy()
    # Splits within a key are few: those of keys that fill several shards.
    for begin in np.unique(equal_from[equal_to > equal_from]):
        mine = (equal_from == begin) & (equal_to > equal_from)
        end = int(equal_to[mine][0])
        places[mine] = begin + np.searchsorted(split_rows[begin:end], rows[mine], "right")
    return places


def _order(codec: Codec) -> Any:
    return (lambda key: key) if codec.is_word else base64.b64decode


def least(codec: Codec, keys: list[Any]) -> Any:
    return min(keys, key=_order(codec))


def greatest(codec: Codec, keys: list[Any]) -> Any:
    return max(keys, key=_order(codec))


@dataclass(frozen=True)
class Partition:
    """A batch of keys in the order of the ranges; keys of a range keep their order. Keys without a range come last."""

    keys: Any
    ends: list[int]  # of the ranges with rows
    places: np.ndarray  # partition(): of each key of the batch; select(): in the batch, of each key

    def groups(self) -> list[tuple[int, int, int]]:
        """(range, begin, end) of the ranges that have keys."""
        return [(r, a, b) for r, (a, b) in enumerate(zip([0, *self.ends], self.ends)) if a < b]

    def restore(self, flags: np.ndarray) -> np.ndarray:
        """Flags of the keys in this order, in the order of the batch."""
        if self.places.dtype == np.uint32:
            return _core.take_flags(flags, self.places)
        return flags[self.places]


@dataclass(frozen=True)
class Request:
    """A question to one range."""

    range: int
    operation: str  # a method of Shard
    arguments: tuple[Any, ...]
    weight: int  # questions in it
