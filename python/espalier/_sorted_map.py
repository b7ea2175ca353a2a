"""SortedMap: an ordered map that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from . import _core, _queries
from ._answers import wrap
from ._arguments import is_on_gpu
from ._index import _RAISE, Index, _one, _refuse_open, device_of, name_of, on_stream
from ._map_arguments import MapCalls, array_of, ends_of, equal, scalar_of, values_as

_OPERATIONS = ("find", "insert", "update", "replace", "discard")  # in the order of blink_op
_WRITING = (1, 2, 3)


class SortedMap(MapCalls):
    """Ordered map from numbers, bool, times, str or bytes to numbers, bool or times, for single keys and for arrays.

    key_dtype, value_dtype: NumPy dtypes ("u8" is uint64, "f8" float64, "M8[ns]"), and for keys of any length "str" or
    "bytes"; no value_dtype makes a set.
    items: a mapping, or (keys, values), to begin with.
    device: "cuda" or "cuda:1" for a map in the memory of a GPU, with keys of fixed width; see Index.

    Threads may read and write at the same time.
    """

    __slots__ = ()

    def __init__(self, key_dtype: Any, value_dtype: Any = None, items: Any = None, *, device: Any = None) -> None:
        if isinstance(key_dtype, (Mapping, Set, list, tuple, np.ndarray)):
            raise TypeError(
                "SortedMap() takes the dtypes of keys and values first, and then the elements: "
                "SortedMap('i8', 'f8', {1: 2.0})."
            )
        key = np.dtype(key_dtype)
        values = None if value_dtype is None else np.empty(0, np.dtype(value_dtype))
        on_gpu = device not in (None, "cpu")
        if on_gpu and key.kind not in "biufmM":
            raise TypeError("keys of text are indexed in host memory: leave device out.")
        if key.kind == "T" or key.kind in "US" and key.itemsize == 0:
            self._set(_core.TextMap(np.empty(0, "u1"), np.zeros(1, "u8"), key.kind != "S", values))
        elif key.kind in "US":
            text = "bytes" if key.kind == "S" else "str"
            raise TypeError(f"keys of {key} would be cut off: SortedMap has keys of any length, with the type '{text}'.")
        elif on_gpu:
            from . import _gpu

            self._set(_gpu.GpuMap.of_parts(np.empty(0, key), values, _gpu.devices.ordinal_of(device)))
        else:
            self._set(_core.SortedMap(np.empty(0, key), values))
        if items is not None:
            self.update(*items) if isinstance(items, tuple) else self.update(items)

    # ---- properties ----------------------------------------

    def __len__(self) -> int:
        return len(self._tree)

    def __repr__(self) -> str:
        device = "" if self.device == "cpu" else f", device='{self.device}'"
        return f"SortedMap(keys={name_of(self._dtype)}, values={self._value_dtype}, len={len(self)}{device})"

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> bool:
        """Whether the other map has the same elements: another SortedMap or a mapping, or for a set a set."""
        if isinstance(other, SortedMap):
            (keys, values), (keys2, values2) = self._elements(), other._elements()
            if len(keys) != len(keys2) or (values is None) != (values2 is None):
                return False
            return equal(keys, keys2) and (values is None or values2 is None or equal(values, values2))
        if isinstance(other, Mapping) and self._value_dtype is not None:
            return len(other) == len(self) and dict(self.items()) == other
        if isinstance(other, Set) and self._value_dtype is None:
            return len(other) == len(self) and set(self) == other
        return NotImplemented

    @property
    def dtype(self) -> Any:
        """dtype of the keys; the types str and bytes for text."""
        return self._dtype

    @property
    def value_dtype(self) -> np.dtype | None:
        return self._value_dtype

    @property
    def device(self) -> str:
        """Where the map is: "cpu", or "cuda:0"."""
        return device_of(self._tree)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the map."""
        return self._tree.stats()["bytes"]

    def stats(self) -> dict[str, Any]:
        return self._tree.stats()

    # ---- writes ----------------------------------------

    def update(self, keys: Any, values: Any = None, *, stream: Any = None) -> None:
        """Insert pairs, and assign the values of keys that are present; of equal keys the last one wins. A mapping
        may take the place of both arguments."""
        self._write(self._on(stream).assign, *self._pairs(keys, values))

    def insert(self, keys: Any, values: Any = None, *, stream: Any = None) -> Any:
        """Insert pairs whose keys are not present; of equal keys the first one wins. Returns which were new."""
        return self._write(self._on(stream).insert, *self._pairs(keys, values))

    def replace(self, keys: Any, values: Any = None, *, stream: Any = None) -> Any:
        """Assign the values of keys that are present. Returns which were."""
        return self._write(self._on(stream).replace, *self._pairs(keys, values))

    def discard(self, keys: Any, *, stream: Any = None) -> Any:
        """Remove keys. Returns which were present."""
        if keys is None:
            _queries.refuse_none("keys")
        done = self._on(stream).erase(keys)
        if done is not None:
            return done
        queries = _queries.read(keys, self._dtype, "keys")
        inexact = queries.inexact
        if inexact is None:
            return wrap(self._tree.erase(queries.values), queries.kind)
        done = np.zeros(len(inexact), dtype=bool)
        done[~inexact] = self._tree.erase(queries.values[~inexact])
        return wrap(done, queries.kind)

    def apply(self, ops: Any, keys: Any, values: Any = None, *, stream: Any = None) -> tuple[Any, Any]:
        """Execute one operation per key, in this order: "find", "insert", "update" (insert or assign), "replace",
        "discard". Returns (values, done): the values that "find" found (elsewhere 0), and what the calls of these
        names return. `values` are those to write; they may be left out if no operation writes."""
        if self._is_text:
            raise TypeError("apply() takes keys of fixed width: call update(), discard() and find() for str and bytes.")
        names = np.asarray(ops)
        if names.ndim == 0:
            raise TypeError("ops is one value: give an operation for each key.")
        codes = np.full(len(names), len(_OPERATIONS), dtype=np.uint8)
        for code, name in enumerate(_OPERATIONS):
            codes[names == name] = code
        if (codes == len(_OPERATIONS)).any():
            wrong = names[int(np.argmax(codes))]
            raise ValueError(f"ops: '{wrong}' is not an operation; use one of {', '.join(_OPERATIONS)}.")
        if keys is None:
            _queries.refuse_none("keys")
        if values is None and self._value_dtype is not None and np.isin(codes, _WRITING).any():
            raise TypeError("values are missing: insert, update and replace write them.")
        tree = self._on(stream)
        if is_on_gpu(keys) and self.device != "cpu":
            if values is not None and self._value_dtype is None:
                raise TypeError("this SortedMap is a set: it takes keys only.")
            return tree.apply(codes, keys, values)
        queries = _queries.read(keys, self._dtype, "keys")
        if queries.inexact is not None:
            raise ValueError(
                f"keys: element {int(np.argmax(queries.inexact))} is not a value of dtype {self._dtype}."
            )
        if values is not None:
            if self._value_dtype is None:
                raise TypeError("this SortedMap is a set: it takes keys only.")
            values = values_as(values, self._value_dtype)
        found, done = tree.apply(codes, queries.values, values)
        return None if found is None else wrap(found, queries.kind), wrap(done, queries.kind)

    def clear(self) -> None:
        self._tree.clear()

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._value_dtype is None:
            raise TypeError("this SortedMap is a set: it has no values; use update([key]).")
        if key is None:
            _queries.refuse_none("the key")
        if self._tree.assign(key, value) is None:
            self._write(self._tree.assign, self._one_key(key), _one(value, self._value_dtype, "the value"))

    def __delitem__(self, key: Any) -> None:
        if key is None:
            _queries.refuse_none("the key")
        done = self._tree.erase(key)
        if done is None:
            done = self.discard(key)
        if not isinstance(done, bool):
            raise TypeError("del takes one key; discard() takes many.")
        if not done:
            raise KeyError(key)

    def setdefault(self, key: Any, default: Any) -> Any:
        self._write(self._tree.insert, self._one_key(key), _one(default, self._value_dtype))
        return self[key]

    def pop(self, key: Any, default: Any = _RAISE) -> Any:
        value = self.get(key, _RAISE)
        if value is _RAISE:
            if default is _RAISE:
                raise KeyError(key)
            return default
        self.discard(key)
        return value

    def popitem(self, index: int = -1) -> tuple[Any, Any]:
        if len(self) == 0:
            raise KeyError("popitem(): the map is empty.")
        item = self.peekitem(index)
        self.discard(item[0])
        return item

    # ---- points ----------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """The value of a key, or an array for an array of keys; KeyError if one is missing."""
        if self._value_dtype is None:
            raise TypeError("this SortedMap is a set: it has no values; use `in`.")
        try:
            return self._find(key, None)
        except KeyError as error:
            if _queries.is_one_value(key):
                raise KeyError(key) from None
            raise _queries.missing_key(error, key, "map") from None

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of one key, or `default`."""
        try:
            return self[key]
        except KeyError:
            return default

    def find(self, q: Any, default: Any = _RAISE, *, stream: Any = None) -> Any:
        """The value of each key, or `default`; without a default a missing key is a KeyError."""
        if self._value_dtype is None:
            raise TypeError("this SortedMap is a set: it has no values; use contains().")
        fallback = None if default is _RAISE else _one(default, self._value_dtype)
        try:
            return self._find(q, fallback, stream)
        except KeyError as error:
            raise _queries.missing_key(error, q, "map") from None

    def _find(self, q: Any, fallback: np.ndarray | None, stream: Any = None) -> Any:
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        values = tree.find(q, fallback)
        if values is not None:
            return values
        queries = _queries.read(q, self._dtype)
        inexact = queries.inexact
        if inexact is not None and fallback is None:
            raise KeyError(
                f"the map does not have this key (query {int(np.argmax(inexact))}); give a default to get it instead."
            )
        values = self._tree.find(queries.values, fallback)
        if inexact is not None and fallback is not None:
            values[inexact] = fallback[0]
        return wrap(values, queries.kind)

    def contains(self, q: Any, *, stream: Any = None) -> Any:
        """Whether the map has each key."""
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        found = tree.contains(q)
        if found is not None:
            return found
        queries = _queries.read(q, self._dtype)
        found = self._tree.contains(queries.values)
        inexact = queries.inexact
        if inexact is not None:
            found[inexact] = False
        return wrap(found, queries.kind)

    def __contains__(self, key: Any) -> bool:
        answer = self.contains(key)
        if not isinstance(answer, bool):
            raise TypeError("`in` takes one key; contains() takes many.")
        return answer

    def successor(self, q: Any, *, stream: Any = None) -> tuple[Any, Any, Any]:
        """(key, value, ok) of the first element with a greater key."""
        return self._seek(self._on(stream).successor, q)

    def predecessor(self, q: Any, *, stream: Any = None) -> tuple[Any, Any, Any]:
        """(key, value, ok) of the last element with a smaller key."""
        return self._seek(self._on(stream).predecessor, q)

    def lower_bound(self, q: Any, *, stream: Any = None) -> tuple[Any, Any, Any]:
        """(key, value, ok) of the first element whose key is not less."""
        return self._seek(self._on(stream).lower_bound, q)

    def peekitem(self, index: int = -1) -> tuple[Any, Any]:
        """(key, value) at this position in key order; the first and the last in O(log n), others of a sorted copy
        that is kept until the next write."""
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"position {index} is out of range: the map has {n} elements.")
        if index not in (0, -n, -1, n - 1):
            keys, values = self._arrays()
        elif index in (0, -n):
            keys, values = self._first()
        else:
            keys, values = self._last()
        if len(keys) == 0:
            raise IndexError("the map has become empty.")
        at = index if len(keys) > 1 else 0
        return scalar_of(keys, at), scalar_of(values, at)

    def _first(self) -> tuple[Any, Any]:
        """The first key and its value, in arrays that are empty if the map is."""
        if self._is_text:
            return self._tree.range(None, None, "both", 1)[1:]
        keys, values, ok = self._tree.lower_bound(ends_of(self._dtype)[0])
        return keys[ok], None if values is None else values[ok]

    def _last(self) -> tuple[Any, Any]:
        if self._is_text:
            return self._tree.last()
        last = ends_of(self._dtype)[1]
        keys, values, ok = (
            self._tree.lower_bound(last) if self._tree.contains(last)[0] else self._tree.predecessor(last)
        )
        return keys[ok], None if values is None else values[ok]

    def searchsorted(self, q: Any, side: str = "left") -> Any:
        """Positions in key order: the number of keys less than each query, or with side="right" not greater. Linear in
        the leaves for numbers and times; an Index (snapshot()) takes O(log n)."""
        if side not in ("left", "right"):
            raise ValueError(f"side is '{side}'; use 'left' or 'right'.")
        if q is None:
            _queries.refuse_none()
        if self._is_text:
            return self._tree.searchsorted(q, side == "right")
        if is_on_gpu(q) and self.device != "cpu":
            return self.snapshot().searchsorted(q, side)
        queries = _queries.read(q, self._dtype)
        lowest = _queries.read(ends_of(self._dtype)[0], self._dtype)._replace(null=None, kind="scalar")
        a, b = _queries.closed_ends(lowest, queries, "left" if side == "left" else "both")
        ranks = self._tree.count(a, b, "both")
        if queries.null is not None:
            ranks[queries.null] = len(self)
        return wrap(ranks, queries.kind)

    # ---- prefixes of str and bytes ----------------------------------------

    def prefix(self, p: Any, limit: int | None = None) -> tuple[Any, ...]:
        """(keys, values) of the keys that begin with `p`, in key order; for many prefixes (offsets, keys, values) as
        range()."""
        self._need_text(p)
        keys = self._tree.prefix(p, limit)
        return (array_of(keys[0]), keys[1]) if len(keys) == 2 else keys

    def count_prefix(self, p: Any) -> Any:
        """Number of keys that begin with each prefix."""
        self._need_text(p)
        return self._tree.count_prefix(p)

    def sum_prefix(self, p: Any) -> Any:
        """Sum of the values of the keys that begin with each prefix."""
        return self._aggregate_prefix("sum", p, None)

    def avg_prefix(self, p: Any) -> Any:
        """Mean of the values of the keys that begin with each prefix, NaN if there is none."""
        return self._aggregate_prefix("avg", p, None)

    def min_prefix(self, p: Any, default: Any = _RAISE) -> Any:
        """Smallest value of the keys that begin with each prefix; see Index.min() for `default`."""
        return self._aggregate_prefix("min", p, default)

    def max_prefix(self, p: Any, default: Any = _RAISE) -> Any:
        """Largest value of the keys that begin with each prefix."""
        return self._aggregate_prefix("max", p, default)

    def longest_prefix(self, q: Any) -> tuple[Any, Any, Any]:
        """(key, value, ok) of the longest key that is a prefix of each query."""
        self._need_text(q)
        return self._tree.longest_prefix(q)

    def _need_text(self, p: Any) -> None:
        if not self._is_text:
            raise TypeError(f"the keys are {self._dtype}: only str and bytes have prefixes.")
        if p is None:
            _queries.refuse_none("the prefix")

    def _aggregate_prefix(self, op: str, p: Any, default: Any) -> Any:
        self._need_text(p)
        fallback = self._missing(default) if op in ("min", "max") else None
        try:
            return self._tree.aggregate_prefix(op, p, fallback)
        except OverflowError as error:
            raise _queries.sum_overflow(error) from None

    # ---- ranges ----------------------------------------

    def count(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Number of elements of each range. Linear in its leaves; an Index (snapshot()) takes O(log n)."""
        if lo is None or hi is None:
            _refuse_open(lo)
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.count(lo, hi, closed)
        if answer is not None:
            return answer
        a, b, kind = self._ends(lo, hi, closed)
        return wrap(self._tree.count(a, b, "both"), kind)

    def sum(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Sum of the values (of a set: the keys) of each range, 0 for an empty one."""
        return self._aggregate("sum", lo, hi, closed, None, stream)

    def avg(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Mean of each range, NaN for an empty one."""
        return self._aggregate("avg", lo, hi, closed, None, stream)

    def min(self, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE, *, stream: Any = None) -> Any:
        """Smallest value of each range, `default` for an empty one; see Index.min()."""
        return self._aggregate("min", lo, hi, closed, self._missing(default), stream)

    def max(self, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE, *, stream: Any = None) -> Any:
        """Largest value of each range."""
        return self._aggregate("max", lo, hi, closed, self._missing(default), stream)

    def range(
        self, lo: Any, hi: Any, closed: str = "both", limit: int | None = None, *, stream: Any = None
    ) -> tuple[Any, Any, Any]:
        """(offsets, keys, values): range i has the elements offsets[i] to offsets[i + 1], in key order."""
        if lo is None or hi is None:
            _refuse_open(lo)
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.range(lo, hi, closed, limit)
        if answer is not None:
            return answer[0], array_of(answer[1]), answer[2]
        a, b, _ = self._ends(lo, hi, closed)
        return self._tree.range(a, b, "both", limit)

    def irange(
        self,
        minimum: Any = None,
        maximum: Any = None,
        inclusive: tuple[bool, bool] = (True, True),
        reverse: bool = False,
    ) -> Iterator[Any]:
        """Iterate over the keys of a range, as sortedcontainers. Keys that are written meanwhile may be missed."""
        closed = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}
        if self._is_text:
            lower, upper = minimum is None or bool(inclusive[0]), maximum is None or bool(inclusive[1])
            if reverse:
                yield from reversed(self._tree.range(minimum, maximum, closed[lower, upper], None)[1])
                return
            while True:
                found = self._tree.range(minimum, maximum, closed[lower, upper], 1024)[1]
                yield from found
                if len(found) < 1024:
                    return
                minimum, lower = found[-1], False
        lowest, highest = _queries._limits(self._dtype)
        if self._dtype.kind == "f":
            highest = np.nan  # the greatest key
        ends = closed[(minimum is None or bool(inclusive[0]), maximum is None or bool(inclusive[1]))]
        a, b, _ = self._ends(
            lowest if minimum is None else minimum,
            highest if maximum is None else maximum,
            ends,
            whole=(minimum is None, maximum is None),
        )
        if reverse:
            yield from self._tree.range(a, b, "both", None)[1][::-1].tolist()
            return
        piece, side = 1024, "both"
        while True:
            keys = self._tree.range(a, b, side, piece)[1]
            yield from keys.tolist() if self._dtype.kind not in "mM" else keys
            if len(keys) < piece:
                return
            a, side = keys[-1:].copy(), "right"

    def __iter__(self) -> Iterator[Any]:
        return self.irange()

    def __reversed__(self) -> Iterator[Any]:
        return self.irange(reverse=True)

    def keys(self) -> np.ndarray:
        """All keys in order, as an array."""
        return self._elements()[0]

    def values(self) -> np.ndarray | None:
        """All values in the order of the keys, as an array."""
        return self._elements()[1]

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs in the order of the keys, of one moment."""
        keys, values = self._elements()
        return zip(
            keys.tolist() if keys.dtype.kind not in "mM" else keys,
            [None] * len(keys) if values is None else values.tolist() if values.dtype.kind not in "mM" else values,
        )

    # ---- copies ----------------------------------------

    def snapshot(self, keep: str | None = None) -> Index:
        """An Index over the elements of this moment, on the same device."""
        if self.device != "cpu":
            return Index._of_tree(self._tree.snapshot(keep))
        parts = self._tree.parts()
        if self._is_text:
            return Index._of_tree(_core.TextIndex.of_parts(*parts[:3], None, None, parts[3], keep))
        return Index._of_tree(_core.FixedIndex.of_parts(*parts, None, keep))

    def copy(self) -> "SortedMap":
        call, arguments = self.__reduce__()
        return call(*arguments)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> "SortedMap":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.device != "cpu":
            return _restore_on_gpu, (self._tree.device, *self._tree.parts())
        return _restore, self._tree.parts()

def _restore(*parts: Any) -> SortedMap:
    result = SortedMap.__new__(SortedMap)
    result._set(_core.TextMap(*parts) if len(parts) == 4 else _core.SortedMap(*parts))
    return result


def _restore_on_gpu(device: int, keys: Any, values: Any) -> SortedMap:
    from . import _gpu

    result = SortedMap.__new__(SortedMap)
    result._set(_gpu.GpuMap.of_parts(keys, values, device))
    return result
