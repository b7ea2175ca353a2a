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


class Ranges:
    """Partials of adjacent ranges, and those of any begin <= i < end of them: O(log n) for each, O(n log n) memory.

    Ranges without values are left out first, so that no value has to stand for nothing. Sums of integers are
    differences of prefix sums, which are exact. Differences of floats would lose digits to values outside: floats are
    added up in a tree of long doubles, which takes the values inside only, with 2 log2(n) roundings to 64 bits on
    x86-64 and one to 53."""

    def __init__(self, partial: Partial) -> None:
        has_values = partial["count"] > 0
        self._counts = _prefix_sums(partial["count"])
        self._places = _prefix_sums(has_values.astype(np.int64))  # in the arrays without empty ranges
        self._arrays = {f: array[has_values] for f, array in partial.items() if f != "count"}
        self._levels: dict[str, list[np.ndarray]] = {}  # made when a function is first asked for

    def reduce(self, begin: np.ndarray, end: np.ndarray, functions: Any, values: np.dtype) -> Partial:
        made = nothing(len(begin), functions, values)
        made["count"] = self._counts[end] - self._counts[begin]
        begin, end = self._places[begin], self._places[end]
        some = np.flatnonzero(begin < end)
        begin, end = begin[some], end[some]
        for f in functions:
            array = self._arrays[f]
            if f == "sum":
                is_float = array.dtype.kind == "f"
                found = self._float_sums(begin, end) if is_float else self._integer_sums(begin, end, made[f].dtype)
                made[f] = made[f].astype(found.dtype)
            elif f in ("min", "max"):
                found = self._extremes(f, begin, end)
            else:
                found = array[begin if f == "first" else end - 1]
            made[f][some] = found
        return made

    def _integer_sums(self, begin: np.ndarray, end: np.ndarray, dtype: np.dtype) -> np.ndarray:
        array = self._arrays["sum"]
        if "sum" not in self._levels:
            fits = array.dtype != object and np.abs(array.astype(np.float64)).sum() < 2.0**62
            self._levels["sum"] = [_prefix_sums(array if fits else array.astype(object))]
        (before,) = self._levels["sum"]
        total = before[end] - before[begin]
        limits = np.iinfo(dtype)
        fits = total.dtype != object or all(limits.min <= number <= limits.max for number in total)
        return total.astype(dtype) if fits else total

    def _float_sums(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            if "sum" not in self._levels:
                levels = [self._arrays["sum"].astype(np.longdouble)]
                while len(levels[-1]) > 1:
                    level = levels[-1]
                    levels.append(level[:-1:2] + level[1::2])  # an odd last element has no parent: it is taken here
                self._levels["sum"] = levels
            left, right = np.zeros((2, len(begin)), np.longdouble)
            for level in self._levels["sum"]:
                rows = np.flatnonzero((begin < end) & (begin & 1 == 1))
                left[rows] += level[begin[rows]]
                begin = begin + (begin & 1)
                rows = np.flatnonzero((begin < end) & (end & 1 == 1))
                right[rows] += level[end[rows] - 1]
                begin, end = begin >> 1, end >> 1
            return (left + right).astype(np.float64)

    def _extremes(self, function: str, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Level k has the extremes of 2^k ranges from each one; two that overlap cover a range."""
        extreme = np.fmin if function == "min" else np.maximum
        if function not in self._levels:
            levels = [self._arrays[function]]
            while len(levels[-1]) > 1 << (len(levels) - 1):
                level, step = levels[-1], 1 << (len(levels) - 1)
                levels.append(extreme(level[:-step], level[step:]))
            self._levels[function] = levels
        found = np.empty(len(begin), self._arrays[function].dtype)
        which = np.frexp(end - begin)[1] - 1
        for k in np.unique(which).tolist():
            rows, level = np.flatnonzero(which == k), self._levels[function][k]
            found[rows] = extreme(level[begin[rows]], level[end[rows] - (1 << k)])
        return found


def _prefix_sums(array: np.ndarray) -> np.ndarray:
    before = np.zeros(len(array) + 1, array.dtype)
    np.cumsum(array, out=before[1:])
    return before


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
