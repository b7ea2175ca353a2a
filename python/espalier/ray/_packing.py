"""Arguments and answers of many requests as few arrays: a call has one buffer per argument, and not one per shard.

pack() takes values of the same structure, joins their arrays, and keeps their lengths; unpack() gives views of the
joined arrays. Arrays that are adjacent pieces of one array are not copied, so that Ray writes the keys of a batch from
the router's memory into its store, and an owner reads them there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ._keys import Positions


def pack(values: list[Any]) -> tuple[Any, ...]:
    first = values[0]
    kind = type(first)
    if any(type(value) is not kind for value in values):
        return "list", values
    if kind is np.ndarray:
        if any(value.dtype != first.dtype for value in values):
            return "list", values
        joined = _joined(values)
        # A bit for each flag: the answers of a large batch of lookups are then short enough to come with the reply.
        whole = ("bits", np.packbits(joined), len(joined)) if joined.dtype == bool else ("slices", joined)
        return *whole, [len(value) for value in values]
    if isinstance(first, pa.Array):
        if any(value.type != first.type for value in values):
            return "list", values
        return "slices", pa.concat_arrays(values), [len(value) for value in values]
    if kind is pa.Table:
        if any(value.schema != first.schema for value in values):
            return "list", values
        return "slices", pa.concat_tables(values).combine_chunks(), [value.num_rows for value in values]
    if kind is Positions:
        return "positions", pack([value.keys for value in values]), pack([value.after for value in values])
    if kind is tuple and first and all(len(value) == len(first) for value in values):
        return "tuple", [pack(list(column)) for column in zip(*values)]
    if kind is dict and all(value.keys() == first.keys() for value in values):
        return "dict", list(first), [pack([value[name] for value in values]) for name in first], len(values)
    if all(value == first for value in values):
        return "same", first, len(values)
    return "list", values


def unpack(packed: tuple[Any, ...]) -> list[Any]:
    kind, *content = packed
    if kind == "list":
        return list(content[0])
    if kind == "same":
        return [content[0]] * content[1]
    if kind == "positions":
        return [Positions(keys, after) for keys, after in zip(unpack(content[0]), unpack(content[1]))]
    if kind == "tuple":
        return list(zip(*(unpack(column) for column in content[0])))
    if kind == "dict":
        names, columns, count = content
        if not names:
            return [{} for _ in range(count)]
        return [dict(zip(names, row)) for row in zip(*(unpack(column) for column in columns))]
    if kind == "bits":
        bits, count, lengths = content
        whole = np.unpackbits(bits, count=count).view(bool)
    else:
        whole, lengths = content
    made, begin = [], 0
    for length in lengths:
        made.append(whole[begin : begin + length] if isinstance(whole, np.ndarray) else whole.slice(begin, length))
        begin += length
    return made


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    some = [array for array in arrays if len(array)] or arrays[:1]
    first, end = some[0], some[0].ctypes.data
    if len(some) == 1:
        return first
    for array in some:
        is_next = array.ctypes.data == end and array.base is first.base is not None and array.flags.c_contiguous
        if not is_next:
            return np.concatenate(some)
        end += array.nbytes
    return np.lib.stride_tricks.as_strided(first, (sum(map(len, some)),), writeable=False)
