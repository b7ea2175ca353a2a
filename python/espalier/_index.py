"""Index: a read-only ordered multimap."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from . import _core, _queries
from ._answers import kind_of, wrap
from ._arguments import is_on_gpu

_RAISE: Any = object()  # a default that was not given


class Index:
    """Ordered index over the values of one column, built once and queried in bulk.

    keys: one-dimensional array of integers, float32, float64, bool, datetime64, timedelta64, str or bytes, in any
    order. values: numbers, bool or times, one per key, which find() returns and the aggregates aggregate. keep: which
    aggregates to prepare: "sum" (and avg), "min", "max", "all"; without values they are over the keys.

    A *row* is a position in `keys`; a *rank* is a position in key order. Equal keys are kept, in the order of their
    rows.

    device: "cuda", "cuda:1" or "cpu"; by default where the keys are. An index on a GPU takes arrays there (CuPy, torch,
    DLPack, __cuda_array_interface__) and answers them in kind, behind earlier work of their stream; and all others,
    which are copied. stream: on which its calls run: of CuPy or torch, an object with __cuda_stream__, or a handle."""

    __slots__ = ("_tree", "_dtype", "_value_dtype")

    def __init__(
        self, keys: Any, values: Any = None, keep: str | None = None, *, device: Any = None, stream: Any = None
    ) -> None:
        if device in (None, "cpu") and not is_on_gpu(keys):
            if stream is not None:
                _refuse_stream()
            self._set(_core.build_index(keys, values, keep))
        else:
            from . import _gpu

            self._set(_gpu.GpuIndex.build(keys, values, keep, device, stream))

    def _set(self, tree: Any) -> None:
        self._tree = tree
        self._dtype = tree.dtype
        self._value_dtype = tree.value_dtype

    @classmethod
    def _of_tree(cls, tree: Any) -> "Index":
        index = cls.__new__(cls)
        index._set(tree)
        return index

    # ---- properties ----------------------------------------

    def __len__(self) -> int:
        return len(self._tree)

    def __repr__(self) -> str:
        values = "" if self._value_dtype is None else f", values={self._value_dtype}"
        keep = "" if self.keep == "none" else f", keep='{self.keep}'"
        device = "" if self.device == "cpu" else f", device='{self.device}'"
        return f"Index(keys={name_of(self.dtype)}{values}, len={len(self)}{keep}{device})"

    @property
    def dtype(self) -> Any:
        """dtype of the keys; the types str and bytes for text."""
        return self._dtype

    @property
    def value_dtype(self) -> np.dtype | None:
        return self._value_dtype

    @property
    def keep(self) -> str:
        """The prepared aggregates: "none", "sum", "min,max" or "sum,min,max"."""
        return self._tree.keep

    @property
    def device(self) -> str:
        """Where the index is: "cpu", or "cuda:0"."""
        return device_of(self._tree)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the index."""
        return self._tree.stats()["bytes"]

    def stats(self) -> dict[str, int]:
        """Sizes of the parts of the index."""
        return self._tree.stats()

    # ---- points ----------------------------------------

    def searchsorted(self, q: Any, side: str = "left", *, stream: Any = None) -> Any:
        """Ranks, as numpy.searchsorted() of the sorted keys: the number of keys less than each query, or with
        side="right" not greater."""
        if side == "left":
            right = False
        elif side == "right":
            right = True
        else:
            raise ValueError(f"side is '{side}'; use 'left' or 'right'.")
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.searchsorted(q, right)
        return self._slow_searchsorted(q, right) if answer is None else answer

    def get_indexer(self, q: Any, *, stream: Any = None) -> Any:
        """The row of the first element with each key, -1 if there is none."""
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.get_indexer(q)
        if answer is not None:
            return answer
        queries = self._read(q)
        rows = self._tree.get_indexer(queries.values)
        inexact = queries.inexact
        if inexact is not None:
            rows[inexact] = -1
        return wrap(rows, queries.kind)

    def find(self, q: Any, default: Any = _RAISE, *, stream: Any = None) -> Any:
        """The value of the first element with each key, or `default`; without a default a missing key is a KeyError.
        An index without values has the rows as values."""
        try:
            find = self._find_rows if self._value_dtype is None else self._find_values
            return find(q, default, stream)
        except KeyError as error:
            raise _queries.missing_key(error, q, "index") from None

    def _find_values(self, q: Any, default: Any, stream: Any) -> Any:
        fallback = None if default is _RAISE else _one(default, self._value_dtype)
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.find(q, fallback)
        if answer is not None:
            return answer
        queries = self._read(q)
        inexact = queries.inexact
        if inexact is None:
            return wrap(self._tree.find(queries.values, fallback), queries.kind)
        if fallback is None:
            raise KeyError(
                f"the index does not have this key (query {int(np.argmax(inexact))}); give a default to get it "
                "instead."
            )
        values = self._tree.find(queries.values, fallback)
        values[inexact] = fallback[0]
        return wrap(values, queries.kind)

    def _find_rows(self, q: Any, default: Any, stream: Any) -> Any:
        tree = self._on(stream)
        if is_on_gpu(q) and self.device != "cpu":
            return tree.find_rows(q, None if default is _RAISE else _one(default, np.dtype(np.int64)))
        rows = self.get_indexer(q)
        missing = np.asarray(rows) < 0
        if default is not _RAISE and missing.any():
            fallback = _one(default, np.dtype(np.int64))[0]
            if missing.ndim == 0:
                return int(fallback)
            return wrap(np.where(missing, fallback, np.asarray(rows)), kind_of(q))
        if missing.any():
            raise KeyError(
                f"the index does not have this key (query {int(np.argmax(missing))}); give a default to get it "
                "instead."
            )
        return rows

    def contains(self, q: Any, *, stream: Any = None) -> Any:
        """Whether the index has each key."""
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.contains(q)
        if answer is not None:
            return answer
        queries = self._read(q)
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

    def asof(
        self,
        q: Any,
        direction: str = "backward",
        tolerance: Any = None,
        allow_exact_matches: bool = True,
        *,
        stream: Any = None,
    ) -> tuple[Any, Any]:
        """(row, ok): the row of the nearest key in this direction, and whether there is one within the tolerance; -1
        where not. "backward": the greatest key that is not greater, of equal keys the last; "forward": the least key
        that is not less, of equal keys the first; "nearest": the nearer of both, the backward one if distances are
        equal."""
        if q is None:
            _queries.refuse_none()
        if self._is_text:
            return self._tree.asof(q, direction, tolerance, allow_exact_matches)
        limit = _queries.tolerance_of(tolerance, self._dtype)
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.asof(q, direction, limit, allow_exact_matches)
        if answer is not None:
            return answer
        queries = self._read(q)
        if queries.gap is None and queries.below is None:
            rows, ok = self._tree.asof(queries.values, direction, limit, allow_exact_matches)
        else:
            rows, ok = self._asof_between(queries, direction, tolerance, allow_exact_matches)
        if queries.null is not None:
            rows[queries.null], ok[queries.null] = -1, False
        return wrap(rows, queries.kind), wrap(ok, queries.kind)

    def successor(self, q: Any, *, stream: Any = None) -> tuple[Any, Any, Any]:
        """(key, row, ok) of the first element with a greater key."""
        return self._neighbour(q, True, stream)

    def predecessor(self, q: Any, *, stream: Any = None) -> tuple[Any, Any, Any]:
        """(key, row, ok) of the last element with a smaller key."""
        return self._neighbour(q, False, stream)

    def at(self, ranks: Any, *, stream: Any = None) -> tuple[Any, Any]:
        """(key, row) of each rank; negative ranks count from the end. IndexError if out of range."""
        tree = self._on(stream)
        if is_on_gpu(ranks) and self.device != "cpu":
            return tree.at(ranks)
        is_scalar = isinstance(ranks, (int, np.integer))
        kind = "scalar" if is_scalar else kind_of(ranks)
        asked = np.array([ranks]) if is_scalar else _core.to_numpy(ranks, "ranks")[0]
        if len(asked) == 0:
            asked = np.empty(0, dtype=np.int64)
        if asked.dtype.kind not in "iu":
            raise TypeError(f"ranks have dtype {asked.dtype}: integers are needed.")
        if asked.dtype.kind == "i":
            asked = np.where(asked < 0, asked + len(self), asked)
            if (asked < 0).any():
                raise IndexError(
                    f"rank {int(asked.min()) - len(self)} is out of range: the index has {len(self)} elements."
                )
        keys, rows = self._tree.at(np.ascontiguousarray(asked, dtype=np.uint64))
        return wrap(keys, kind), wrap(rows, kind)

    # ---- ranges ----------------------------------------

    def count(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Number of elements with lo <= key <= hi; `closed` says which ends belong to the range: "both", "left",
        "right", "neither"."""
        if lo is None or hi is None:
            _refuse_open(lo)
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.count(lo, hi, closed)
        if answer is not None:
            return answer
        a, b, kind = self._ends(lo, hi, closed)
        return wrap(self._tree.count(a, b, "both"), kind)

    def sum(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Sum of the values of each range, 0 for an empty one. Integers are exact (OverflowError beyond 64 bits),
        floats are added in float64."""
        return self._aggregate("sum", lo, hi, closed, None, stream)

    def avg(self, lo: Any, hi: Any, closed: str = "both", *, stream: Any = None) -> Any:
        """Mean of the values of each range, NaN for an empty one."""
        return self._aggregate("avg", lo, hi, closed, None, stream)

    def min(self, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE, *, stream: Any = None) -> Any:
        """Smallest value of each range, `default` for an empty one (without a default NaN or NaT, and a ValueError
        for integers)."""
        return self._aggregate("min", lo, hi, closed, self._missing(default), stream)

    def max(self, lo: Any, hi: Any, closed: str = "both", default: Any = _RAISE, *, stream: Any = None) -> Any:
        """Largest value of each range; see min()."""
        return self._aggregate("max", lo, hi, closed, self._missing(default), stream)

    def range(
        self, lo: Any, hi: Any, closed: str = "both", limit: int | None = None, *, stream: Any = None
    ) -> tuple[Any, Any]:
        """(offsets, rows): the rows of range i are rows[offsets[i]:offsets[i + 1]], in key order, at most `limit`."""
        if lo is None or hi is None:
            _refuse_open(lo)
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.range(lo, hi, closed, limit)
        if answer is not None:
            return answer
        a, b, kind = self._ends(lo, hi, closed)
        offsets, rows = self._tree.range(a, b, "both", limit)
        kind = "numpy" if kind == "scalar" else kind
        return wrap(offsets, kind), wrap(rows, kind)

    def prefix(self, p: Any, limit: int | None = None) -> Any:
        """Text: the rows of the keys that begin with `p`, in key order; for many prefixes (offsets, rows) as
        range()."""
        if not self._is_text:
            raise TypeError(f"the keys are {self._dtype}: only str and bytes have prefixes.")
        if p is None:
            _queries.refuse_none("the prefix")
        return self._tree.prefix(p, limit)

    # ---- files and copies ----------------------------------------

    def save(self, path: Any) -> None:
        """Write the index to a file that es.open() maps. The file replaces an older one in one step."""
        from . import _file

        _file.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.device != "cpu":
            return _restore_on_gpu, (self._tree.device, self._tree.parts(), self.keep)
        return _restore, (type(self._tree).__name__, self._tree.parts(), self.keep)

    def __copy__(self) -> "Index":
        return Index._of_tree(self._tree)  # nothing of it changes

    def __deepcopy__(self, memo: Any) -> "Index":
        return Index._of_tree(self._tree)

    # ---- queries of another type than the keys ----------------------------------------

    @property
    def _is_text(self) -> bool:
        return not isinstance(self._dtype, np.dtype)

    def _on(self, stream: Any) -> Any:
        return self._tree if stream is None else on_stream(self._tree, stream)

    def _read(self, q: Any, what: str = "queries") -> _queries.Queries:
        return _queries.read(q, self._dtype, what)

    def _ranks(self, queries: _queries.Queries, right: bool) -> np.ndarray:
        ranks = self._tree.searchsorted(queries.values, right)
        if right and queries.below is not None:
            ranks[queries.below] = 0
        if not right and queries.gap is not None:
            ranks[queries.gap] = self._tree.searchsorted(queries.values[queries.gap], True)
        if queries.null is not None:
            ranks[queries.null] = len(self)
        return ranks

    def _slow_searchsorted(self, q: Any, right: bool) -> Any:
        queries = self._read(q)
        return wrap(self._ranks(queries, right), queries.kind)

    def _ends(self, lo: Any, hi: Any, closed: str) -> tuple[np.ndarray, np.ndarray, str]:
        low, high = self._read(lo, "lo"), self._read(hi, "hi")
        a, b = _queries.closed_ends(low, high, closed)
        return a, b, high.kind if low.kind == "scalar" else low.kind

    def _missing(self, default: Any) -> np.ndarray | None:
        dtype = self._dtype if self._value_dtype is None else self._value_dtype
        if default is not _RAISE:
            return _one(default, dtype)
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fmM":
            return None
        return np.array([np.nan if dtype.kind == "f" else "NaT"], dtype=dtype)

    def _aggregate(self, op: str, lo: Any, hi: Any, closed: str, fallback: np.ndarray | None, stream: Any) -> Any:
        if lo is None or hi is None:
            _refuse_open(lo)
        try:
            tree = self._tree if stream is None else on_stream(self._tree, stream)
            answer = tree.aggregate(op, lo, hi, closed, fallback)
            if answer is not None:
                return answer
            a, b, kind = self._ends(lo, hi, closed)
            return wrap(self._tree.aggregate(op, a, b, "both", fallback), kind)
        except OverflowError as error:
            raise _queries.sum_overflow(error) from None

    def _neighbour(self, q: Any, is_successor: bool, stream: Any) -> tuple[Any, Any, Any]:
        if q is None:
            _queries.refuse_none()
        tree = self._tree if stream is None else on_stream(self._tree, stream)
        answer = tree.neighbour(q, is_successor)
        if answer is not None:
            return answer
        queries = self._read(q)
        ranks = self._ranks(queries, is_successor).view(np.int64) - (0 if is_successor else 1)
        ok = (ranks >= 0) & (ranks < len(self))
        if queries.null is not None:
            ok &= ~queries.null
        keys, rows = np.zeros(len(ranks), dtype=self._dtype), np.full(len(ranks), -1, dtype=np.int64)
        keys[ok], rows[ok] = self._tree.at(ranks[ok].astype(np.uint64))
        return wrap(keys, queries.kind), wrap(rows, queries.kind), wrap(ok, queries.kind)

    def _asof_between(
        self, queries: _queries.Queries, direction: str, tolerance: Any, exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """asof() with queries that lie between keys: distances are of the queries as they were given."""
        asked, n = queries.source, len(self)
        valid = np.ones(len(asked), dtype=bool) if queries.null is None else ~queries.null
        if asked.dtype.kind == "f":
            valid &= ~np.isnan(asked)
        if asked.dtype.kind in "iufb":
            asked = asked.astype(np.longdouble)
        limit: Any = tolerance
        if tolerance is not None and asked.dtype.kind in "mM":
            limit = _queries.as_timedelta(tolerance, self._dtype)

        def candidate(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ok = (ranks >= 0) & (ranks < n) & valid
            rows = np.full(len(ranks), -1, dtype=np.int64)
            keys, rows[ok] = self._tree.at(ranks[ok].astype(np.uint64))
            if keys.dtype.kind == "f":
                good = ~np.isnan(keys)
                ok[np.flatnonzero(ok)[~good]] = False
                keys = keys[good]
            apart = np.zeros(len(ranks), dtype=(asked[:0] - asked[:0]).dtype)
            distance = np.abs(keys.astype(asked.dtype) - asked[ok])
            apart[ok] = distance
            if limit is not None:
                ok[np.flatnonzero(ok)[~(distance <= limit)]] = False
            return ok, rows, apart

        before: Any = None
        after: Any = None
        if direction in ("backward", "nearest"):
            before = candidate(self._ranks(queries, exact).view(np.int64) - 1)
        if direction in ("forward", "nearest"):
            after = candidate(self._ranks(queries, not exact).view(np.int64))
        if before is None and after is None:
            raise ValueError(f"direction is '{direction}'; use 'backward', 'forward' or 'nearest'.")
        if before is None or after is None:
            ok, rows, _ = before if after is None else after
        else:
            first = before[0] & ~(after[0] & (after[2] < before[2]))
            ok = before[0] | after[0]
            rows = np.where(first, before[1], after[1])
        rows[~ok] = -1
        return rows, ok


def open(path: Any, verify: bool = True, *, device: Any = None) -> Index:
    """Map an index that Index.save() wrote, or copy it to a GPU, such as device="cuda". verify=False does not compare
    the checksums of its arrays."""
    from . import _file  # json, mmap, tempfile: 10 ms that an import need not take

    return _file.load(path, verify, None if device == "cpu" else device)


def device_of(tree: Any) -> str:
    number = getattr(tree, "device", None)  # only trees on a GPU have one
    return "cpu" if number is None else f"cuda:{number}"


def on_stream(tree: Any, stream: Any) -> Any:
    """A tree on a GPU for a call on this stream."""
    if getattr(tree, "device", None) is None:
        _refuse_stream()
    return tree.on(stream)


def _refuse_stream() -> None:
    raise ValueError("stream is for what is on a GPU, and this is in host memory: build it with device='cuda'.")


def name_of(dtype: Any) -> str:
    """A dtype, or the types str and bytes, in messages."""
    return dtype.__name__ if isinstance(dtype, type) else str(dtype)


def _refuse_open(lo: Any) -> None:
    _queries.refuse_none("lo" if lo is None else "hi")


def _one(value: Any, dtype: Any, what: str = "default") -> np.ndarray:
    """A default or another single value as an array of this type, if the type can hold it."""
    if value is None:
        raise TypeError(f"{what} is None: give a value of dtype {dtype}.")
    if not isinstance(dtype, np.dtype):
        return np.array([value], dtype=dtype)
    if dtype.kind in "mM" and isinstance(value, (*_queries._TIMES, np.datetime64, np.timedelta64, str)):
        queries = _queries.read(value, dtype, what)
        if queries.gap is not None or queries.below is not None:
            raise TypeError(f"{what} {value!r} is not a value of dtype {dtype}.")
        return queries.source.astype(dtype) if queries.null is not None else queries.values
    if dtype.kind in "iubf" and not isinstance(value, (numbers.Number, np.generic, np.ndarray)):
        raise TypeError(f"{what} is of type {type(value).__name__}, and the type asked for is {dtype}.")
    one = np.array([value], dtype=dtype)
    if dtype.kind in "iub" and one[0] != value:
        raise TypeError(f"{what} {value!r} is not a value of dtype {dtype}.")
    return one


def _restore(tree: str, parts: tuple[Any, ...], keep: str) -> Index:
    return Index._of_tree(getattr(_core, tree).of_parts(*parts, keep))


def _restore_on_gpu(device: int, parts: tuple[Any, ...], keep: str) -> Index:
    from . import _gpu

    return Index._of_tree(_gpu.GpuIndex.of_parts(*parts, keep, device))
