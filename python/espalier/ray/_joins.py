"""Joins of a frame with a sharded table.

As-of: the owners answer with the rows next to the left keys, at most one before and one behind each. The nearest right
row of every left row is among them, so espalier.join_asof() of the left frame with these few rows gives the answer of
the whole table, with its rules for NULL, ties, tolerances and names.

Windows: the key (by, on) keeps a group together, so a window is a range of keys. It is cut where it crosses a border;
whole shards in it come from the bounds file.

Spans: a span is a range of keys, too. Those that overlap are merged, so that the owners answer with each row in any of
them once, in key order; espalier.join_between() of these rows and the spans gives the pairs of the whole table.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .. import joins
from .._join_types import check_window, for_preparing, window_end
from ..frames import ArrowFrame, Frame, frame_as, frame_of
from ..prepared import column_name
from . import _partials
from ._bounds import Bounds, Request
from ._keys import Codec, Positions, is_text, numbers_of, of_numbers, one_chunk, take_keys, words_of
from ._local import Local, Reader
from ._table import PinnedTable, Stale, Table, folder_of, _groups, _in_order, _is_behind, _mean

_AGGREGATES = ("count", "sum", "mean", "min", "max", "first", "last")


class _Left:
    """The key columns of the left frame in the types of the table's key, in the order of the key."""

    def __init__(self, call: str, left: Any, table: Table, on: Any, by: Any, left_on: Any, by_left: Any) -> None:
        self.call, self.frame, self.table = call, frame_of(left, "left", call), table
        *key_by, key_on = table.key
        if left_on is None:
            left_on = on if on is not None else key_on
        if on is not None and on != key_on and left_on == on:
            raise ValueError(
                f"{call}: on is {on!r}, and the last key column of the table is {key_on!r}; name the column of the "
                "left frame with left_on."
            )
        names = _names(by, by_left, key_by, call)
        self.on, self.by, self.key_on, self.key_by = left_on, names, key_on, key_by
        codec = table._bounds.codec
        _check_order(codec, call)
        arrow = frame_as(_only(self.frame, [*names, left_on], "left", call), "pyarrow").native
        self.columns = [
            codec.cast(i, arrow.column(name), f"{call}: column {name!r} of the left frame")
            for i, name in enumerate([*names, left_on])
        ]
        self.valid = _matching(self.frame.height, self.columns, self.columns[-1:])
        self.units_differ = arrow.schema.field(left_on).type != codec.types[-1] and pa.types.is_temporal(
            codec.types[-1]
        )


def _check_order(codec: Codec, call: str) -> None:
    if is_text(codec.types[-1]) or pa.types.is_boolean(codec.types[-1]):
        raise TypeError(
            f"{call}: the last key column {codec.names[-1]!r} has the type {codec.types[-1]}, which has no distances."
        )


def _matching(height: int, columns: Sequence[pa.Array], ordered: Sequence[pa.Array]) -> np.ndarray:
    """Which rows can match: none with a NULL, or with NaN in an ordered column."""
    valid = np.ones(height, bool)
    for column in columns:
        if column.null_count:
            valid &= column.is_valid().to_numpy(zero_copy_only=False)
    for column in ordered:
        if pa.types.is_floating(column.type):
            valid &= ~np.isnan(numbers_of(column))
    return valid


def _only(frame: Frame, names: list[str], side: str, call: str) -> Frame:
    for name in names:
        if name not in frame.names:
            raise KeyError(f"{call}: the {side} frame has no column {name!r}; it has {frame.names}.")
    distinct = list(dict.fromkeys(names))
    if frame.kind == "dict":
        return frame_of({name: frame.native[name] for name in distinct}, side, call)
    return frame_of(
        frame.native.select(distinct) if hasattr(frame.native, "select") else frame.native[distinct], side, call
    )


def _names(by: Any, by_left: Any, key_by: list[str], call: str) -> list[str]:
    """The `by` columns of the left frame in the order of the key."""
    if by is not None and by_left is not None:
        raise ValueError(f"{call}: pass either `by` or `by_left`.")
    if by_left is not None:
        names = [by_left] if isinstance(by_left, str) else list(by_left)
        if len(names) != len(key_by):
            raise ValueError(
                f"{call}: by_left has {len(names)} columns, and the key of the table has {len(key_by)}: {key_by}."
            )
        return names
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    if sorted(names) != sorted(key_by):
        raise ValueError(
            f"{call}: by is {names}, and the key of the table has {key_by} before its last column; a join by other "
            "columns needs a table with another key."
        )
    return key_by


def join_asof(
    left: Any,
    right: Any,
    on: str | None = None,
    *,
    by: str | Sequence[str] | None = None,
    left_on: str | None = None,
    by_left: str | Sequence[str] | None = None,
    strategy: str = "backward",
    tolerance: Any = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
    columns: Sequence[str] | None = None,
    into: Any = None,
) -> Any:
    """Each left row with the nearest row of a sharded table, as espalier.join_asof() with a prepared side.

    The key of the table is the `by` columns and then `on`. Left keys are converted to its types, and a value without an
    equal there is a ValueError. `columns`: which columns of the table are in the answer, by default all.

    Two sharded tables: `into` is a folder, and the answer is the list of the Parquet files that were written there, one
    for each shard of the left table that has rows, in key order. Tables with the same split points (build(like=)) are
    joined without a shuffle: a task reads one left shard, the same right shard, and neighbours where an answer lies."""
    call = "join_asof()"
    if _are_tables(call, left, right, into):
        options = dict(on=on, by=by, left_on=left_on, by_left=by_left, strategy=strategy, tolerance=tolerance)
        options |= dict(allow_exact_matches=allow_exact_matches, suffix=suffix, columns=columns)
        return _join_shards(left, right, folder_of(into), "asof", options)
    if strategy not in ("backward", "forward", "nearest"):
        raise ValueError(f"{call}: the strategy {strategy!r} is not one of 'backward', 'forward', 'nearest'.")
    sides = _Left(call, left, right, on, by, left_on, by_left)
    wanted = right._columns(right._bounds, columns)
    wanted = [name for name in right.schema.names if name in wanted or name in right.key]
    candidates = right._read(lambda bounds: _candidates(right, bounds, sides, strategy, allow_exact_matches, wanted))
    return joins.join_asof(
        left,
        candidates,
        left_on=sides.on,
        right_on=sides.key_on,
        by_left=sides.by or None,
        by_right=sides.key_by or None,
        strategy=strategy,
        tolerance=tolerance,
        allow_exact_matches=allow_exact_matches,
        suffix=suffix,
    )


def _are_tables(call: str, left: Any, right: Any, into: Any) -> bool:
    """Whether the left side is a sharded table, too. Refuses what is no join with a sharded table."""
    if isinstance(left, Table):
        if not isinstance(right, Table) or into is None:
            raise TypeError(
                f"{call}: a join of a sharded table needs another one, and `into`, a folder for the answer."
            )
        return True
    if into is not None:
        raise TypeError(f"{call}: `into` is for two sharded tables; this answer is a frame.")
    if not isinstance(right, Table):
        raise TypeError(
            f"{call}: the right side is a {type(right).__name__}; for frames there is espalier.{call[:-2]}()."
        )
    return False


def _join_shards(left: Table, right: Table, folder: str, kind: str, options: dict[str, Any]) -> list[str]:
    os.makedirs(folder, exist_ok=True)

    while True:
        bounds, right_bounds = left._bounds, right._bounds
        names = str(bounds.generation), str(right_bounds.generation)
        tasks = [
            (left.root, right.root, names, i, os.path.join(folder, f"{n}.parquet"), kind, options)
            for i, n in enumerate(bounds.full.tolist())
        ]
        try:
            return left.backend.executor.map(join_shard, tasks, lambda: None)
        except Stale:  # files of one of the two were swept
            left._renew(bounds)
            right._renew(right_bounds)


def join_shard(
    left: str, right: str, names: tuple[str, str], i: int, path: str, kind: str, options: dict[str, Any]
) -> str:
    """A task: the i-th left shard with rows and the right table, of which only the shards that are asked are opened.
    Raises Stale if a file of either generation was swept."""
    reader = Reader(left)
    bounds = reader.bounds(int(names[0]))
    rows = reader.rows(bounds, i)
    right_table = PinnedTable(right, Local(right), Reader(right).bounds(int(names[1])))
    answer = {"asof": join_asof, "window": join_window}[kind](rows, right_table, **options)
    temporary = f"{path}.{uuid.uuid4().hex}"  # of this try
    pq.write_table(answer, temporary)
    os.replace(temporary, path)
    return path


def _candidates(table: Table, bounds: Bounds, sides: _Left, strategy: str, exact: bool, columns: list[str]) -> pa.Table:
    codec = bounds.codec
    rows = np.flatnonzero(sides.valid)
    if codec.is_word:
        rows = rows[np.unique(_keys(codec, sides)[rows], return_index=True)[1]]  # equal questions have one answer
    keys = take_keys(_keys(codec, sides), rows)
    flags = np.full(len(rows), exact)
    backward, forward = Positions(keys, flags), Positions(keys, ~flags)
    none = np.empty(0, np.int64)
    before, behind = [], []
    if strategy != "forward":  # the row before the position is in the last range that begins before it
        place = bounds.last_before(backward)
        before = _groups(np.flatnonzero(place >= 0), place[place >= 0])
    if strategy != "backward":
        place = bounds.first_behind(forward)
        inside = place < len(bounds.full)
        behind = _groups(np.flatnonzero(inside), place[inside])
    groups = {r: (mine, none) for r, mine in before}
    for r, mine in behind:
        groups[r] = (groups.get(r, (none, none))[0], mine)
    requests = [
        Request(r, "nearest", (backward.take(a), forward.take(b), columns), len(a) + len(b))
        for r, (a, b) in sorted(groups.items())
    ]
    tables = table._ask(bounds, requests)
    return _in_order(bounds, columns, tables, [np.full(t.num_rows, i) for i, t in enumerate(tables)])


def _keys(codec: Codec, sides: _Left) -> Any:
    return codec._join([codec._part(i, column) for i, column in enumerate(sides.columns)])


def join_window(
    left: Any,
    right: Any,
    on: str | None = None,
    by: str | Sequence[str] | None = None,
    *,
    window: tuple[Any, Any],
    agg: Mapping[str, str | Sequence[str]],
    closed: str = "both",
    left_on: str | None = None,
    by_left: str | Sequence[str] | None = None,
    into: Any = None,
) -> Any:
    """Aggregates of the rows of a sharded table in a window around each left row, as espalier.join_window() with a
    prepared side. The key of the table is the `by` columns and then `on`; aggregated columns are its value columns.
    Two sharded tables: as join_asof() with `into`."""
    call = "join_window()"
    are_tables = _are_tables(call, left, right, into)
    joins._check_window(call, window, closed)
    wanted = joins._wanted(agg, call)
    if are_tables:
        options = dict(on=on, by=by, window=window, agg=agg, closed=closed, left_on=left_on, by_left=by_left)
        return _join_shards(left, right, folder_of(into), "window", options)
    sides = _Left(call, left, right, on, by, left_on, by_left)
    functions: dict[str, list[str]] = {}
    for column, function in wanted:
        if column == "*":
            continue
        right._value(right._bounds, column)
        kind = right.schema.field(column).type
        if (
            function == "mean"
            and pa.types.is_temporal(kind)
            or function == "sum"
            and (pa.types.is_temporal(kind) and not pa.types.is_duration(kind))
        ):
            raise TypeError(f"{call}: column {column!r} has the type {kind}; it has no {function}.")
        known = functions.setdefault(column, [])
        needed = {"count": None, "mean": "sum"}.get(function, function)
        if needed is not None and needed not in known:
            known.append(needed)
    lower, upper = _window(call, sides, window, closed)
    counts, partials = right._read(
        lambda bounds: right.aggregate_positions(bounds, lower, upper, sides.valid, functions)
    )
    names, made = [], []
    for column, function in wanted:
        names.append("count" if column == "*" else f"{column}_{function}")
        made.append(pa.array(counts) if column == "*" else _answer(right, column, function, partials[column]))
    for name in names:
        if name in sides.frame.names or names.count(name) > 1:
            raise ValueError(
                f"{call}: the answer would have two columns {name!r}; rename the column of the left frame."
            )
    answer = frame_as(ArrowFrame(pa.table(dict(zip(names, made)))), sides.frame.kind)
    taken = answer.take(names, np.arange(sides.frame.height, dtype=np.uint32), True)
    return sides.frame.build(names, taken, True)


def _answer(table: Table, column: str, function: str, partial: _partials.Partial) -> pa.Array:
    type, dtype = table.schema.field(column).type, table._bounds.dtype(column)
    empty = partial["count"] == 0
    if function == "count":
        return pa.array(partial["count"])
    if function == "mean":
        return pa.array(_mean(partial), mask=empty)
    if function == "sum":
        total = _partials.finish_sum(partial["sum"], dtype, f"column {column!r}")
        if pa.types.is_boolean(type):
            total = total.astype(np.int64)
        made = pa.array(total, mask=empty)
        return made.view(type) if pa.types.is_duration(type) else made
    return of_numbers(partial[function], type, empty)


def _window(call: str, sides: _Left, window: Any, closed: str) -> tuple[Positions, Positions]:
    codec, on = sides.table._bounds.codec, one_chunk(sides.columns[-1])
    # The key of the table as the joins know it: for units, and for sentences that name it.
    arrow = ArrowFrame(sides.table.schema.empty_table())
    key = for_preparing(arrow.key(sides.key_on, "right", call), call)
    is_closed = joins._CLOSED[closed]
    low, low_closed = window_end(window[0], key, True, is_closed[0], sides.units_differ)
    high, high_closed = window_end(window[1], key, False, is_closed[1], sides.units_differ)
    check_window(window, key, sides.units_differ)
    lower = _shifted(codec, sides, on, low, False, not low_closed)
    return lower, _shifted(codec, sides, on, high, True, high_closed)


def _shifted(codec: Codec, sides: _Left, on: pa.Array, by: Any, is_upper: bool, after: bool) -> Positions:
    """Positions at a distance of the left keys, inside of their groups."""
    groups = sides.columns[:-1]
    if by is None:
        if is_upper and pa.types.is_floating(on.type):  # NaN is behind infinity, and in no window
            return codec.in_group(groups, words_of(pa.array(np.full(len(on), np.inf), on.type)), True, True)
        return codec.in_group(groups, None, is_upper, after) if groups else codec.outside(len(on), is_upper)
    numbers = numbers_of(on)
    if numbers.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            moved = numbers + numbers.dtype.type(by)
        return codec.in_group(groups, words_of(pa.array(moved)), is_upper, after)
    limits, unsigned = np.iinfo(numbers.dtype), np.dtype(f"u{numbers.dtype.itemsize}")
    step = np.array(by % (1 << (8 * unsigned.itemsize)), np.uint64).astype(unsigned)
    moved = (numbers.view(unsigned) + step).view(numbers.dtype)
    # Beyond the type there is no key: the ends of the group are as good.
    too_low = _less(numbers, limits.min - by) if by < 0 else np.zeros(len(numbers), bool)
    too_high = _less(limits.max - by, numbers) if by > 0 else np.zeros(len(numbers), bool)
    moved = np.where(too_low, limits.min, np.where(too_high, limits.max, moved)).astype(numbers.dtype)
    made = codec.in_group(groups, words_of(of_numbers(moved, on.type)), is_upper, after)
    made.after = np.where(too_low, False, np.where(too_high, True, made.after))
    return made


def _less(a: Any, b: Any) -> np.ndarray:
    """a < b of an array and a Python integer that its type may not have."""
    array, number = (a, b) if isinstance(a, np.ndarray) else (b, a)
    limits = np.iinfo(array.dtype)
    if limits.min <= number <= limits.max:
        return np.asarray(a < b)
    return np.full(len(array), (number > limits.max) == (array is a))


# ---- spans ----------------------------------------


def join_between(
    points: Any,
    spans: Any,
    on: str,
    start: str,
    finish: str,
    *,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
    how: str = "inner",
    suffix: str = "_right",
    columns: Sequence[str] | None = None,
) -> Any:
    """Pairs of the rows of a sharded table and the spans [start, finish] of a frame that contain them, as
    espalier.join_between() with the rows in key order: a pyarrow.Table.

    The key of the table is the `by` columns, in any order, and then `on`. Ends and `by` columns of the spans are
    converted to its types, and a value without an equal there is a ValueError. `columns`: which columns of the table
    are in the answer next to its key, by default all. how="left" reads the whole table."""
    call = "join_between()"
    keeps_all = joins._how(how, call)
    sides = _Spans(call, points, spans, on, start, finish, by, by_left, by_right, closed)
    wanted = points._columns(points._bounds, columns)
    wanted = [name for name in points.schema.names if name in wanted or name in points.key]
    lower, upper, valid = sides.everything() if keeps_all else sides.merged()
    _, rows = points._read(lambda bounds: points._range(bounds, lower, upper, valid, wanted))
    return joins.join_between(
        rows,
        spans,
        sides.on,
        sides.start,
        sides.finish,
        by_left=sides.left_by or None,
        by_right=sides.right_by or None,
        closed=closed,
        how=how,
        suffix=suffix,
    )


def count_between(
    points: Any,
    spans: Any,
    on: str,
    start: str,
    finish: str,
    *,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
) -> Any:
    """Number of rows of a sharded table in each span of a frame, as espalier.count_between(). No row is sent: a span
    asks two shards at most."""
    sides = _Spans("count_between()", points, spans, on, start, finish, by, by_left, by_right, closed)
    counts, _ = points._read(
        lambda bounds: points.aggregate_positions(bounds, sides.lower, sides.upper, sides.valid, {})
    )
    return joins._counts(counts, sides.frame)


class _Spans:
    """The spans of a frame as ranges of keys of a table."""

    def __init__(
        self,
        call: str,
        points: Any,
        spans: Any,
        on: str,
        start: str,
        finish: str,
        by: Any,
        by_left: Any,
        by_right: Any,
        closed: str,
    ) -> None:
        lower_closed, upper_closed = joins._ends(closed, call)
        if not isinstance(points, Table):
            raise TypeError(f"{call}: the points are a {type(points).__name__}; for frames there is espalier.{call}.")
        if isinstance(spans, Table):
            raise TypeError(f"{call}: the spans are a sharded table; give a frame, such as parts of its range().")
        self.on, self.start, self.finish = (
            column_name(value, what, call) for value, what in ((on, "on"), (start, "start"), (finish, "finish"))
        )
        left_by, right_by = joins._sides(by, by_left, by_right, "by", call)
        *key_by, key_on = points.key
        if self.on != key_on or sorted(left_by) != sorted(key_by) or len(left_by) != len(right_by):
            raise ValueError(
                f"{call}: `on` is {self.on!r} and `by` is {left_by} and {right_by}; the key of the table is {key_by}, "
                f"then {key_on!r}, and another one needs a table with another key."
            )
        pairs = dict(zip(left_by, right_by))
        self.left_by, self.right_by = key_by, [pairs[name] for name in key_by]
        codec = points._bounds.codec
        _check_order(codec, call)
        self.frame = frame_of(spans, "right", call)
        names = [*self.right_by, self.start, self.finish]
        arrow = frame_as(_only(self.frame, names, "right", call), "pyarrow").native
        last = len(key_by)
        *groups, low, high = (
            codec.cast(min(i, last), arrow.column(name), f"{call}: column {name!r} of the right frame")
            for i, name in enumerate(names)
        )
        self.lower = codec.in_group(groups, words_of(low), False, not lower_closed)
        self.upper = codec.in_group(groups, words_of(high), True, upper_closed)
        self.valid = _matching(self.frame.height, [*groups, low, high], [low, high])
        self._codec = codec

    def everything(self) -> tuple[Positions, Positions, np.ndarray]:
        """One range with all keys."""
        return self._codec.outside(1, False), self._codec.outside(1, True), np.ones(1, bool)

    def merged(self) -> tuple[Positions, Positions, np.ndarray]:
        """Ranges that do not overlap, in key order, with the same keys as all spans together."""
        live = np.flatnonzero(self.valid & ~_is_behind(self.lower, self.upper))
        lower, upper = self.lower.take(live), self.upper.take(live)
        both = Positions(self._codec.concat([lower.keys, upper.keys]), np.concatenate([lower.after, upper.after]))
        numbers = _order_of(both)
        begin, end = numbers[: len(live)], numbers[len(live) :]
        order = np.argsort(begin, kind="stable")
        begin = begin[order]
        reach = np.maximum.accumulate(end[order])
        is_first = np.ones(len(live), bool)
        is_first[1:] = begin[1:] > reach[:-1]
        is_last = np.append(is_first[1:], True)[: len(live)]
        has_end, which = np.unique(end, return_index=True)  # a span that ends where a range does
        ends = which[np.searchsorted(has_end, reach[is_last])]
        ranges = lower.take(order[is_first]), upper.take(ends)
        return *ranges, np.ones(len(ends), bool)


def _order_of(positions: Positions) -> np.ndarray:
    """Numbers that compare as the positions do."""
    if isinstance(positions.keys, np.ndarray):
        _, ranks = np.unique(positions.keys, return_inverse=True)
    else:
        ranks = pc.rank(positions.keys, tiebreaker="dense").to_numpy()
    return 2 * ranks.reshape(-1).astype(np.int64) + positions.after
