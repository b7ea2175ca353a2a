"""Encoded keys: the key columns of a row as one word or one byte string that has the order of the tuple.

Columns of fixed width with 64 bits together become a uint64 word, everything else a byte string in the code of
espalier/core/byte_key.hpp: fixed widths most significant byte first, a last text as it is, another text with
00 -> 01 01, 01 -> 01 02 and an end 00. One byte 01 precedes it, so that every prefix has a successor.

A *position* lies between rows: before or after all rows whose keys equal, or begin with, a given key. It is a key and a
flag `after`; a range is everything between two positions.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._index import Index

_TEXT_END = pa.scalar(b"\0", pa.large_binary())
_NOTHING = pa.scalar(b"", pa.large_binary())
_FIRST_BYTE = 1


def is_text(type: pa.DataType) -> bool:
    return any(
        test(type)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def width_of(type: pa.DataType) -> int | None:
    """Bytes of a column of fixed width that can be a key or be aggregated, or None."""
    if pa.types.is_boolean(type):
        return 1
    if (
        pa.types.is_integer(type)
        or pa.types.is_float32(type)
        or pa.types.is_float64(type)
        or pa.types.is_temporal(type)
    ):
        return None if pa.types.is_interval(type) else type.bit_width // 8
    return None


def numbers_of(column: pa.Array) -> np.ndarray:
    """The values of a column of fixed width as numbers: times as integers, bools as uint8, 0 where NULL."""
    type = column.type
    if pa.types.is_boolean(type):
        column = column.cast(pa.uint8())
    elif pa.types.is_temporal(type):
        column = column.view(pa.int32() if type.bit_width == 32 else pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return column.to_numpy(zero_copy_only=False)


def of_numbers(values: np.ndarray, type: pa.DataType, missing: np.ndarray | None = None) -> pa.Array:
    """The inverse of numbers_of()."""
    column = pa.array(values, mask=missing)
    if pa.types.is_boolean(type):
        return column.cast(pa.bool_())
    return column.view(type) if pa.types.is_temporal(type) else column.cast(type)


def one_chunk(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        )
    return column


def words_of(column: pa.Array) -> np.ndarray:
    """Unsigned numbers of the column's width in the order of the values. NaN is the greatest, -0.0 equals 0.0."""
    values = numbers_of(column)
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    if values.dtype.kind == "u":
        return values
    sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    if values.dtype.kind == "i":
        return values.view(unsigned) ^ sign
    plain = values + values.dtype.type(0)  # -0.0 + 0.0 is 0.0
    plain[np.isnan(plain)] = np.nan
    bits = plain.view(unsigned)
    return np.where(bits & sign, ~bits, bits | sign)


@dataclass
class Positions:
    """Positions between rows; see the head of this file."""

    keys: Any
    after: np.ndarray

    def __len__(self) -> int:
        return len(self.after)

    def take(self, rows: np.ndarray) -> Positions:
        return Positions(take_keys(self.keys, rows), self.after[rows])

    def piece(self, begin: int, end: int) -> Positions:
        return Positions(piece_of(self.keys, begin, end), self.after[begin:end])


def take_keys(keys: Any, rows: np.ndarray) -> Any:
    return keys[rows] if isinstance(keys, np.ndarray) else keys.take(pa.array(rows))


def piece_of(keys: Any, begin: int, end: int) -> Any:
    return keys[begin:end] if isinstance(keys, np.ndarray) else keys.slice(begin, end - begin)


def ranks(index: Index, positions: Positions) -> np.ndarray:
    """The number of keys of the index before each position."""
    after = positions.after
    if len(after) == 0:
        return np.empty(0, np.int64)
    if after.all() or not after.any():
        return np.asarray(index.searchsorted(positions.keys, "right" if after[0] else "left")).astype(np.int64)
    answer = np.empty(len(after), np.int64)
    for side in (False, True):
        rows = np.flatnonzero(after == side)
        answer[rows] = index.searchsorted(take_keys(positions.keys, rows), "right" if side else "left")
    return answer


class Codec:
    """The key columns of a table, and how they are encoded."""

    def __init__(self, names: Sequence[str], schema: pa.Schema) -> None:
        self.names = list(names)
        self.types = [schema.field(name).type for name in names]
        for name, type in zip(self.names, self.types):
            if not is_text(type) and width_of(type) is None:
                raise TypeError(
                    f"key column {name!r} has the type {type}; keys are integers, float32, float64, bool, dates, "
                    "times, strings and bytes: convert it."
                )
        widths = [width_of(type) for type in self.types]
        self.is_word = all(widths) and sum(w or 0 for w in widths) <= 8

    # ---- rows of the table ----------------------------------------

    def encode(self, table: Any) -> Any:
        """Keys of rows that have no NULL in a key column."""
        return self._join([self._part(i, one_chunk(table.column(name))) for i, name in enumerate(self.names)])

    def _part(self, i: int, column: pa.Array) -> Any:
        if not is_text(self.types[i]):
            return words_of(column)
        text = column.cast(pa.large_binary())
        if text.null_count:
            text = text.fill_null(b"")
        if i + 1 == len(self.types):
            return text
        data = text.buffers()[2]
        if data is not None and (np.frombuffer(data, np.uint8) <= 1).any():
            text = pc.replace_substring(text, b"\x01", b"\x01\x02")  # first the byte that the next line makes
            text = pc.replace_substring(text, b"\0", b"\x01\x01")
        return pc.binary_join_element_wise(text, _TEXT_END, _NOTHING)

    def _join(self, parts: list[Any]) -> Any:
        if self.is_word:
            word = parts[0].astype(np.uint64, copy=False)
            for part in parts[1:]:
                word = (word << np.uint64(8 * part.dtype.itemsize)) | part
            return word
        joined: list[pa.Array] = []
        fixed: list[np.ndarray] = [np.full((len(parts[0]), 1), _FIRST_BYTE, np.uint8)]
        for part in [*parts, None]:
            if isinstance(part, np.ndarray):
                fixed.append(
                    part.astype(part.dtype.newbyteorder(">")).view(np.uint8).reshape(len(part), part.dtype.itemsize)
                )
                continue
            if fixed:
                joined.append(_binary(np.hstack(fixed)))
                fixed = []
            if part is not None:
                joined.append(part)
        return joined[0] if len(joined) == 1 else pc.binary_join_element_wise(*joined, _NOTHING)

    def index(self, keys: Any) -> Index:
        return Index(keys)

    def concat(self, keys: list[Any]) -> Any:
        if self.is_word:
            return np.concatenate([np.empty(0, np.uint64), *keys])
        return pa.concat_arrays([pa.array([], pa.large_binary()), *keys])

    def to_json(self, keys: Any) -> list[Any]:
        if self.is_word:
            return [int(key) for key in keys]
        return [base64.b64encode(key).decode() for key in keys.to_pylist()]

    def of_json(self, keys: list[Any]) -> Any:
        if self.is_word:
            return np.array(keys, np.uint64)
        return pa.array([base64.b64decode(key) for key in keys], pa.large_binary())

    # ---- questions ----------------------------------------

    def questions(self, keys: Any, what: str = "keys") -> tuple[Any, np.ndarray, bool]:
        """(encoded keys, which have no NULL, whether it is one key). One column: anything that pyarrow makes an array
        of; several: a tuple, a list of tuples, a dict of columns, or a frame."""
        asked = self.asked(keys, what)
        return asked.encoded, asked.valid, asked.single

    def asked(self, keys: Any, what: str = "keys") -> Asked:
        """What questions() returns, encoded when it is needed."""
        columns, single = self._columns(keys, what)
        if len(columns) != len(self.names):
            raise ValueError(f"{what} have {len(columns)} columns, and the key has {len(self.names)}: {self.names}.")
        valid = np.ones(len(columns[0]), bool)
        for column in columns:
            if column.null_count:
                valid &= column.is_valid().to_numpy(zero_copy_only=False)
        if single and not valid.all():
            raise TypeError(f"{what} is NULL, which equals nothing.")
        return Asked(self, columns, valid, single)

    def lower(self, keys: Any, closed: bool, what: str = "lo") -> tuple[Positions, np.ndarray, bool]:
        return self._end(keys, closed, False, what)

    def upper(self, keys: Any, closed: bool, what: str = "hi") -> tuple[Positions, np.ndarray, bool]:
        return self._end(keys, closed, True, what)

    def _end(self, keys: Any, closed: bool, is_upper: bool, what: str) -> tuple[Positions, np.ndarray, bool]:
        """Positions of the ends of ranges, which rows have no NULL, whether it is one end. One None is an open end; the
        first columns of the key alone stand for all rows that begin with them."""
        if keys is None:
            return self.outside(1, is_upper), np.ones(1, bool), True
        after = closed == is_upper
        columns, _ = self._columns(keys, what)
        if len(columns) == len(self.names):
            encoded, valid, single = self.questions(keys, what)
            return Positions(encoded, np.full(len(valid), after)), valid, single
        if len(columns) > len(self.names) or len(columns[0]) != 1 or any(c.null_count for c in columns):
            raise ValueError(
                f"{what} has {len(columns)} columns, and the key has {len(self.names)}: {self.names}; one tuple may be "
                "shorter, and stands for all keys that begin with it."
            )
        parts = [self._part(i, column) for i, column in enumerate(columns)]
        if is_text(self.types[len(columns) - 1]) and len(columns) < len(self.names):
            pass  # _part() appended the end of the text
        if self.is_word:
            for type in self.types[len(columns) :]:
                unsigned = np.dtype(f"u{width_of(type)}")
                parts.append(np.array([np.iinfo(unsigned).max if after else 0], unsigned))
            return Positions(self._join(parts), np.array([after])), np.ones(1, bool), True
        prefix = self._join(parts)[0].as_py()
        if after:
            kept = prefix.rstrip(b"\xff")  # never empty: the first byte is 01
            prefix = kept[:-1] + bytes([kept[-1] + 1])
        return Positions(pa.array([prefix], pa.large_binary()), np.zeros(1, bool)), np.ones(1, bool), True

    def outside(self, n: int, is_upper: bool) -> Positions:
        """Positions before or behind everything."""
        if self.is_word:
            return Positions(np.full(n, np.iinfo(np.uint64).max if is_upper else 0, np.uint64), np.full(n, is_upper))
        key = bytes([_FIRST_BYTE + 1]) if is_upper else b""
        return Positions(pa.array([key] * n, pa.large_binary()), np.zeros(n, bool))

    def in_group(self, columns: list[pa.Array], last: np.ndarray | None, is_upper: bool, after: bool) -> Positions:
        """Positions by the leading columns and the word of the last column; None is the end of the group."""
        n = len(columns[0]) if columns else len(last) if last is not None else 0
        if last is None:
            unsigned = np.dtype(f"u{width_of(self.types[-1])}")
            last = np.full(n, np.iinfo(unsigned).max if is_upper else 0, unsigned)
            after = is_upper
        parts = [self._part(i, column) for i, column in enumerate(columns)]
        return Positions(self._join([*parts, last]), np.full(n, after))

    def cast(self, i: int, column: Any, place: str) -> pa.Array:
        """A column as key column i, if every value has an equal there."""
        type, column = self.types[i], one_chunk(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.type == type:
            return column
        both = pa.types.is_timestamp(column.type), pa.types.is_timestamp(type)
        if all(both) and (column.type.tz is None) != (type.tz is None):
            raise TypeError(f"{place} and key column {self.names[i]!r}: one has a time zone and the other has none.")
        meanings = [
            "text" if is_text(t) else "time" if pa.types.is_temporal(t) else "number" for t in (column.type, type)
        ]
        if meanings[0] != meanings[1] and not pa.types.is_null(column.type):
            raise TypeError(
                f"{place} has the type {column.type}, which cannot be compared with key column {self.names[i]!r} of "
                f"type {type}."
            )
        problem = "it would be rounded"
        try:
            made = column.cast(type)
            if is_text(type) or _same(made.cast(column.type, safe=False), column):
                return made
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            problem = str(error)
        raise ValueError(
            f"{place}: a value has no equal in the type {type} of key column {self.names[i]!r} ({problem})."
        )

    def _columns(self, keys: Any, what: str) -> tuple[list[pa.Array], bool]:
        if isinstance(keys, Mapping) or hasattr(keys, "columns") and not isinstance(keys, np.ndarray):
            names = [name for name in self.names if name in (keys if isinstance(keys, Mapping) else _names(keys))]
            if names != self.names[: len(names)] or not names:
                raise KeyError(f"{what} have no column {self.names[len(names)]!r}; the key is {self.names}.")
            columns = [keys[name] for name in names]
            single = False
        elif isinstance(keys, tuple):
            columns, single = [[value] for value in keys], True
        elif len(self.names) > 1:
            if isinstance(keys, (str, bytes)) or not isinstance(keys, Sequence):
                columns, single = [[keys]], True
            else:
                if not all(isinstance(key, (tuple, list)) for key in keys):
                    raise TypeError(f"{what}: the key is {self.names}; give tuples, a dict of columns, or a frame.")
                columns, single = list(zip(*keys)) or [[] for _ in self.names], False
        else:
            single = isinstance(keys, (str, bytes, np.generic)) or not hasattr(keys, "__len__")
            columns = [[keys] if single else keys]
        return [self._array(i, column, what) for i, column in enumerate(columns[: len(self.names)])] + [
            pa.nulls(1) for _ in columns[len(self.names) :]
        ], single

    def _array(self, i: int, column: Any, what: str) -> pa.Array:
        place = f"column {self.names[i]!r} of {what}"
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            return self.cast(i, column, place)
        if type(column).__module__.startswith("polars"):
            return self.cast(i, column.to_arrow(), place)
        if isinstance(column, tuple):
            column = list(column)
        if isinstance(column, list):
            try:
                column = pa.array(column)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # such as integers beyond int64
                column = pa.array(column, self.types[i])
            return self.cast(i, column, place)
        return self.cast(i, pa.array(column), place)


class Asked:
    """Keys of a call, in the types of the key."""

    def __init__(self, codec: Codec, columns: list[pa.Array], valid: np.ndarray, single: bool) -> None:
        self._codec, self._columns = codec, columns
        self.valid = valid  # which have no NULL
        self.single = single
        self._encoded: Any = None

    @property
    def encoded(self) -> Any:
        if self._encoded is None:
            self._encoded = self._codec._join([self._codec._part(i, c) for i, c in enumerate(self._columns)])
        return self._encoded

    @property
    def words(self) -> tuple[np.ndarray, int]:
        """(words, flip) of a key that is a word: `words ^ flip` are the encoded keys. One column of 64-bit integers or
        times is not copied."""
        (type, *others), column = self._codec.types, self._columns[0]
        if others or width_of(type) != 8 or pa.types.is_floating(type):
            return self.encoded, 0
        numbers = numbers_of(column)
        return numbers.view(np.uint64), 1 << 63 if numbers.dtype.kind == "i" else 0


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Whether all values are equal; NaN equals NaN."""
    equal = pc.equal(a, b)
    if pa.types.is_floating(b.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return bool(pc.all(equal).as_py() in (True, None))


def _names(frame: Any) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _binary(matrix: np.ndarray) -> pa.Array:
    """The rows of a matrix of bytes."""
    n, width = matrix.shape
    offsets = np.arange(n + 1, dtype=np.int64) * width
    data = np.ascontiguousarray(matrix)
    return pa.Array.from_buffers(pa.large_binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
