"""Aggregates of parts of a range, and how they are put together.

A partial is a dict of arrays, one element per range: "count" (values that are not NULL) and any of "sum", "min", "max",
"first", "last", which mean nothing where the count is 0. Sums of integers are exact: int64 or uint64 while no sum
leaves them, objects (int) otherwise. In min and max, NaN is the greatest value, as in espalier.Index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._index import Index

FUNCTIONS = ("sum", "min", "max", "first", "last")
Partial = dict[str, np.ndarray]


def sum_type(values: np.dtype) -> np.dtype:
    return np.dtype({"f": np.float64, "u": np.uint64}.get(values.kind, np.int64))


def nothing(n: int, functions: Any, values: np.dtype) -> Partial:
    made = {f: np.zeros(n, sum_type(values) if f == "sum" else values) for f in functions}
    return {"count": np.zeros(n, np.int64), **made}


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype != object and b.dtype != object:
        with np.errstate(over="ignore", invalid="ignore"):
            total = a + b
        if a.dtype.kind == "f":
            return total
        wrapped = total < a if a.dtype.kind == "u" else ((a ^ total) & (b ^ total)) < 0
        if not wrapped.any():
            return total
    return a.astype(object) + b.astype(object)


def merge(a: Partial, b: Partial) -> Partial:
    """The rows of `a` precede those of `b`."""
    made: Partial = {"count": a["count"] + b["count"]}
    has_a, has_b = a["count"] > 0, b["count"] > 0
    for f in a:
        if f == "sum":
            made[f] = add(a[f], b[f])
        elif f in ("min", "max"):
            both = np.fmin(a[f], b[f]) if f == "min" else np.maximum(a[f], b[f])
            made[f] = np.where(has_a & has_b, both, np.where(has_a, a[f], b[f]))
        elif f == "first":
            made[f] = np.where(has_a, a[f], b[f])
        elif f == "last":
            made[f] = np.where(has_b, b[f], a[f])
    return made


def scatter(n: int, rows: np.ndarray, partial: Partial, values: np.dtype) -> Partial:
    """A partial of n ranges, of which these rows have the elements of `partial`."""
    made = nothing(n, [f for f in partial if f != "count"], values)
    for f, array in partial.items():
        if array.dtype == object:
            made[f] = made[f].astype(object)
        made[f][rows] = array
    return made


def finish_sum(total: np.ndarray, values: np.dtype, place: str) -> np.ndarray:
    """Sums as numbers of 64 bits."""
    if total.dtype != object:
        return total
    limits = np.iinfo(sum_type(values))
    for number in total:
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"a sum of {place} is {number}, which does not fit 64 bits.")
    return total.astype(sum_type(values))


def to_json(partial: Partial) -> list[Any]:
    """One range as a list: count, sum, min, max, first, last."""
    return [
        partial[f][0].item() if isinstance(partial[f][0], np.generic) else int(partial[f][0])
        for f in ("count", *FUNCTIONS)
    ]


def of_json(lists: list[list[Any]], values: np.dtype) -> Partial:
    made: Partial = {"count": np.array([one[0] for one in lists], np.int64)}
    for i, f in enumerate(FUNCTIONS, 1):
        dtype: Any = sum_type(values) if f == "sum" else values
        numbers = [one[i] for one in lists]
        if f == "sum" and dtype.kind != "f":
            limits = np.iinfo(dtype)
            if any(not limits.min <= number <= limits.max for number in numbers):
                dtype = object
        made[f] = np.array(numbers, dtype)
    return made


def reduce(partial: Partial, begin: int, end: int, functions: Any) -> list[Any]:
    """The ranges begin <= i < end as one: count, then the functions in their order."""
    rows = begin + np.flatnonzero(partial["count"][begin:end])
    made: list[Any] = [int(partial["count"][rows].sum())]
    for f in functions:
        array = partial[f][rows]
        if len(rows) == 0:
            made.append(0)
        elif f == "sum":
            made.append(float(array.sum()) if array.dtype.kind == "f" else sum(int(number) for number in array))
        elif f in ("min", "max"):
            made.append(np.fmin.reduce(array) if f == "min" else np.maximum.reduce(array))
        else:
            made.append(array[0 if f == "first" else -1])
    return made


def of_lists(lists: list[list[Any]], functions: Any, values: np.dtype) -> Partial:
    """The inverse of reduce() for many ranges."""
    made = nothing(len(lists), functions, values)
    made["count"][:] = [one[0] for one in lists]
    for i, f in enumerate(functions, 1):
        numbers = [one[i] for one in lists]
        if f == "sum" and values.kind != "f":
            limits = np.iinfo(made[f].dtype)
            if any(not limits.min <= number <= limits.max for number in numbers):
                made[f] = np.array(numbers, object)
                continue
        made[f][:] = numbers
    return made


class Values:
    """A value column of a shard in key order: aggregates of ranges of row positions in O(log n)."""

    def __init__(self, numbers: np.ndarray, valid: np.ndarray | None) -> None:
        """valid: which rows are not NULL, None if all are."""
        self.dtype = numbers.dtype
        self._rows = len(numbers)
        self._numbers = numbers if valid is None else np.ascontiguousarray(numbers[valid])
        self._before: np.ndarray | None = None  # NULLs are left out; the values before each row
        if valid is not None:
            self._before = np.zeros(self._rows + 1, np.int64)
            np.cumsum(valid, out=self._before[1:])
        ranks = np.arange(len(self._numbers), dtype=np.uint32 if self._rows < 1 << 32 else np.uint64)
        self._index = Index(ranks, values=self._numbers, keep="all") if len(ranks) else None

    def aggregate(self, begin: np.ndarray, end: np.ndarray, functions: Any) -> Partial:
        if self._before is not None:
            begin, end = self._before[begin], self._before[end]
        end = np.maximum(begin, end)
        made = nothing(len(begin), functions, self.dtype)
        made["count"] = end - begin
        if self._index is None:
            return made
        some = end > begin
        for f in functions:
            if f == "sum":
                made[f] = self._sum(begin, end)
            elif f in ("min", "max"):
                made[f] = np.asarray(getattr(self._index, f)(begin, end, closed="left", default=self.dtype.type(0)))
            else:
                made[f][some] = self._numbers[begin[some] if f == "first" else end[some] - 1]
        return made

    def _sum(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        assert self._index is not None
        try:
            return np.asarray(self._index.sum(begin, end, closed="left")).astype(sum_type(self.dtype))
        except OverflowError:  # of this part; the whole may fit again
            return np.array([int(self._numbers[a:b].astype(object).sum()) for a, b in zip(begin, end)], object)
