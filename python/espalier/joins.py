"""As-of, window and interval joins of frames: polars, pandas, pyarrow, dicts of NumPy arrays.

The answer is a frame of the library of the left frame. No order of rows is required; the order of the answer is that of
the left frame. NULL, NaN and NaT keys match nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _core
from ._answers import wrap
from ._join_types import Key, check_window, common_equality, common_order, tolerance_of, window_end
from ._keywords import suggests
from .frames import Frame, frame_as, frame_of
from .prepared import Prepared, column_name, column_names, open_prepared, prepare

__all__ = [
    "Prepared",
    "aggregate_between",
    "aggregate_overlaps",
    "count_between",
    "count_overlaps",
    "join_asof",
    "join_between",
    "join_overlaps",
    "join_window",
    "open_prepared",
    "prepare",
]

_STRATEGIES = ("backward", "forward", "nearest")
_CLOSED = {
    "both": (True, True),
    "left": (True, False),
    "right": (False, True),
    "none": (False, False),
    "neither": (False, False),
}
_AGGREGATES = ("count", "sum", "mean", "min", "max", "first", "last")
_OTHER_AGGREGATES = {"avg": "mean", "average": "mean", "len": "count", "size": "count"}


def _sides(both: Any, left: Any, right: Any, what: str, call: str) -> tuple[list[str], list[str]]:
    """Names of both sides from `on` or `left_on` and `right_on`."""
    if both is not None and (left is not None or right is not None):
        raise ValueError(f"{call}: pass either `{what}` or one name for each side, not both.")
    if both is not None:
        names = column_names(both, what, call)
        return names, names
    if (left is None) != (right is None):
        raise ValueError(f"{call}: `{what}` is given for one side only; name the columns of both sides.")
    return column_names(left, what, call), column_names(right, what, call)


def _prepared_sides(
    both: Any, left: Any, right: Any, what: str, call: str, prepared: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Like _sides(), of a prepared side: its columns need not be named, and names of other columns are refused."""
    of_left, of_right = ("left_on", "right_on") if what == "on" else ("by_left", "by_right")
    for name, given in ((what, both), (of_right, right)):
        names = column_names(given, name, call)
        if given is None or names == list(prepared):
            continue
        advice = f"name the left column by `{of_left}`" if name == what else f"leave `{of_right}` out"
        raise ValueError(
            f"{call}: `{name}` is {_shown(names)}, and the right side is prepared {what} {_shown(prepared)}; {advice}, "
            "or prepare another side."
        )
    if both is None and right is None:
        return list(prepared) if left is None else column_names(left, of_left, call), list(prepared)
    return _sides(both, left, right, what, call)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names) or "no column"


class _Groups:
    """Group codes of both sides."""

    def __init__(self, left: list[Key], right: list[Key], call: str) -> None:
        self.left: np.ndarray | None = None
        self.right: np.ndarray | None = None
        self.count = 0
        if len(left) != len(right):
            raise ValueError(
                f"{call}: `by` has {len(left)} columns of the left frame and {len(right)} of the right one."
            )
        if not left:
            return
        pairs = [common_equality(a, b, call) for a, b in zip(left, right)]
        left_columns, right_columns = [a.column for a, _ in pairs], [b.column for _, b in pairs]
        if len(pairs) == 1:
            dense: Any = _core.dense_join_groups(left_columns[0], right_columns[0])
            if dense is not None:  # the values are the codes
                self.left, self.right, self.count = dense
                return
        encoder = _core.JoinGroups()
        # The smaller side defines the groups: rows of others match nothing, and the dictionary is small.
        if len(left_columns[0]) <= len(right_columns[0]):
            self.left, self.right = encoder.encode(left_columns), encoder.lookup(right_columns)
        else:
            self.right, self.left = encoder.encode(right_columns), encoder.lookup(left_columns)
        self.count = max(1, len(encoder))


class _Joined:
    """Both sides of a call, resolved: frames, keys of one type, group codes."""

    def __init__(
        self,
        call: str,
        left: Any,
        right: Any,
        on: Any,
        left_on: Any,
        right_on: Any,
        by: Any,
        by_left: Any,
        by_right: Any,
    ) -> None:
        self.call = call
        self.left = frame_of(left, "left", call)
        self.prepared = right if isinstance(right, Prepared) else None
        if self.prepared is None:
            left_names, right_names = _sides(on, left_on, right_on, "on", call)
            self.left_by, self.right_by = _sides(by, by_left, by_right, "by", call)
        else:
            left_names, right_names = _prepared_sides(on, left_on, right_on, "on", call, [self.prepared.on])
            self.left_by, self.right_by = _prepared_sides(by, by_left, by_right, "by", call, self.prepared.by)
        if len(left_names) != 1 or len(right_names) != 1:
            raise ValueError(f"{call}: `on` names one column of each side, the column of the order.")
        self.left_on, self.right_on = left_names[0], right_names[0]
        left_key = self.left.key(self.left_on, "left", call)
        left_bys = [self.left.key(n, "left", call) for n in self.left_by]
        if self.prepared is not None:
            self.left_key, self.left_codes = self.prepared._left(left_key, left_bys, call)
            self.units_differ = left_key.type.unit != self.prepared._key.type.unit
            self.groups = 0 if self.left_codes is None else 1  # the prepared side knows how many
            self.right_frame: Frame | None = None
        else:
            self.right_frame = frame_of(right, "right", call)
            right_key = self.right_frame.key(self.right_on, "right", call)
            right_bys = [self.right_frame.key(n, "right", call) for n in self.right_by]
            self.units_differ = left_key.type.unit != right_key.type.unit
            self.left_key, self.right_key = common_order(left_key, right_key, call)
            groups = _Groups(left_bys, right_bys, call)
            self.left_codes, self.right_codes, self.groups = groups.left, groups.right, groups.count

    def right(self) -> Frame:
        """The right frame in the library of the left one. After the search: appends may come in between."""
        if self.prepared is not None:
            return self.prepared._as(self.left.kind)
        assert self.right_frame is not None
        return frame_as(self.right_frame, self.left.kind)

    def right_columns(self, right: Frame, suffix: str) -> tuple[list[str], list[str]]:
        """Columns of the right frame in the answer, and their names there."""
        skipped = {b for a, b in zip([self.left_on, *self.left_by], [self.right_on, *self.right_by]) if a == b}
        names = [n for n in right.names if n not in skipped]
        return names, _renamed(names, self.left.names, suffix, self.call)


def _renamed(names: list[str], taken: list[str], suffix: str, call: str) -> list[str]:
    used = set(taken)
    renamed = [f"{n}{suffix}" if n in used else n for n in names]
    for name in renamed:
        if name in used:
            raise ValueError(f"{call}: the answer would have two columns {name!r}; pass another suffix.")
        used.add(name)
    return renamed


def asof_rows(sides: _Joined, strategy: str, tolerance: Any, exact: bool) -> np.ndarray:
    """The right row of each left row, or NO_ROW."""
    if strategy not in _STRATEGIES:
        raise ValueError(f"{sides.call}: the strategy {strategy!r} is not one of 'backward', 'forward', 'nearest'.")
    limit = tolerance_of(tolerance, sides.left_key, sides.units_differ)
    left = sides.left_key
    if sides.prepared is not None:
        return sides.prepared._side.asof(
            left.column, sides.left_codes, sides.groups, left.order, strategy, bool(exact), limit
        )
    right = sides.right_key
    return _core.asof_join(
        left.column,
        right.column,
        sides.left_codes,
        sides.right_codes,
        sides.groups,
        left.order,
        right.order,
        strategy,
        bool(exact),
        limit,
    )


@suggests(direction="strategy", left_by="by_left", right_by="by_right", suffixes="suffix")
def join_asof(
    left: Any,
    right: Any,
    on: str | None = None,
    *,
    left_on: str | None = None,
    right_on: str | None = None,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    strategy: str = "backward",
    tolerance: Any = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
) -> Any:
    """Each left row with the right row whose key is nearest: the last quote before each trade.

    `right` is a frame or the answer of prepare(). Of right rows with the same key, backward takes the last and forward
    the first; nearest takes the backward row of two at the same distance. The answer has all left rows in their order,
    and the right columns except `on` and `by` columns that are named as on the left side.
    """
    sides = _Joined("join_asof()", left, right, on, left_on, right_on, by, by_left, by_right)
    rows = asof_rows(sides, strategy, tolerance, allow_exact_matches)
    frame = sides.right()
    names, renamed = sides.right_columns(frame, suffix)
    return sides.left.build(renamed, frame.take(names, rows, True), True)


# ---- windows ---------------------------------------------------------------------------------------------------------


_AGGREGATED = ("integer", "float", "boolean", "date", "datetime", "duration", "time")


def _value(key: Key, call: str = "join_window()") -> Any:
    """A value column that aggregates take, or TypeError."""
    column = key.column
    if column.layout == "bits":
        return column.bits_to_bytes()
    if key.type.family in _AGGREGATED and column.layout == "fixed":
        return column
    raise TypeError(
        f"{call}: {key.place} cannot be aggregated by sum, mean, min or max; use count, first or last."
    )


def _wanted(agg: Any, call: str, known: Sequence[str] = _AGGREGATES) -> list[tuple[str, str]]:
    """(column, function) of each answer, in order. The column "*" counts rows."""
    if not isinstance(agg, Mapping) or not agg:
        raise TypeError(f"{call}: `agg` is a dict of column names and functions, such as {{'bid': ['mean', 'max']}}.")
    wanted = []
    for column, functions in agg.items():
        if not isinstance(functions, (str, Sequence)) or not all(isinstance(f, str) for f in functions):
            raise TypeError(
                f"{call}: the functions of column {column!r} are {functions!r}; name them by str, such as 'mean', out "
                f"of {', '.join(_AGGREGATES)}."
            )
        for function in [functions] if isinstance(functions, str) else functions:
            if function not in known:
                ours = _OTHER_AGGREGATES.get(function)
                raise ValueError(
                    f"{call}: the function {function!r} of column {column!r} is not one of {', '.join(known)}"
                    f"{f'; it is called {ours!r} here' if ours else ''}."
                )
            if column == "*" and function != "count":
                raise ValueError(f"{call}: '*' stands for whole rows, which can only be counted.")
            wanted.append((column, function))
    return wanted


def _check_window(call: str, window: Any, closed: str) -> None:
    if closed not in _CLOSED:
        raise ValueError(f"{call}: `closed` is 'both', 'left', 'right' or 'neither', not {closed!r}.")
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise TypeError(f"{call}: `window` has two ends, such as ('-1s', '1s').")


@suggests(aggs="agg", aggregates="agg", left_by="by_left", right_by="by_right")
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
    right_on: str | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
) -> Any:
    """Aggregates of the right rows in a window around each left row; no pair of rows is made.

    `window` has both ends relative to the left key: ("-1s", "1s"), (0, 10), (None, 0); None is an end without a bound.
    `agg` names functions of right columns: count, sum, mean, min, max, first, last; "*": "count" counts rows. The
    answer has the left columns and `<column>_<function>`. NULL values are skipped; where there is no value, counts are
    0 and everything else is NULL.
    """
    call = "join_window()"
    _check_window(call, window, closed)
    wanted = _wanted(agg, call)
    sides = _Joined(call, left, right, on, left_on, right_on, by, by_left, by_right)
    key = sides.left_key
    lower, lower_closed = window_end(window[0], key, True, _CLOSED[closed][0], sides.units_differ)
    upper, upper_closed = window_end(window[1], key, False, _CLOSED[closed][1], sides.units_differ)
    check_window(window, key, sides.units_differ)
    preceding = None if lower is None else -lower
    frame = sides.prepared._whole() if sides.prepared is not None else sides.right_frame
    assert frame is not None
    used, keys, choices = _value_columns(wanted, frame, "right", call)
    asked = [("size", 0) if c == "*" else (f, used.index(c)) for c, f in wanted]
    ends = preceding, upper, lower_closed, upper_closed, asked
    with _sums_in_words():
        if sides.prepared is not None:
            functions = tuple(sorted({f for f, _ in asked}))
            inputs = key.column, sides.left_codes, sides.groups, key.order
            answers, state = sides.prepared._window_join(tuple(zip(used, choices)), functions, call, (*inputs, *ends))
            same_kind = sides.prepared._as(sides.left.kind, state)
        else:
            columns = [choice(k) for choice, k in zip(choices, keys.values())]
            same_kind = sides.right()
            answers = _core.window_join(
                key.column,
                sides.right_key.column,
                sides.left_codes,
                sides.right_codes,
                sides.groups,
                key.order,
                sides.right_key.order,
                columns,
                *ends,
            )
    names, made = _aggregate_columns(wanted, answers, keys, same_kind)
    return _with_aggregates(sides.left, names, made, call)


@contextmanager
def _sums_in_words() -> Iterator[None]:
    """Sums that do not fit into 64 bits: what to do instead."""
    try:
        yield
    except OverflowError as error:
        raise OverflowError(
            f"{str(error).partition(';')[0]}; ask for the mean, or convert the column to float64."
        ) from None


def _value_columns(
    wanted: Sequence[tuple[str, str]], frame: Frame, side: str, call: str
) -> tuple[list[str], dict[str, Key], list[Callable[..., Any]]]:
    """The aggregated columns of a frame: names, keys, and what makes a value column of each key."""
    used = list(dict.fromkeys(c for c, _ in wanted if c != "*"))
    keys = {name: frame.key(name, side, call) for name in used}
    # count, first and last take columns of any type: values come by row number, and only NULLs matter.
    choices = [
        _validity if {f for c, f in wanted if c == name} <= {"first", "last", "count"} else _value for name in used
    ]
    for column, function in wanted:
        if column != "*":
            _check_aggregate(keys[column], function, call)
    return used, keys, choices


def _aggregate_columns(
    wanted: Sequence[tuple[str, str]], answers: Sequence[Any], keys: Mapping[str, Key], frame: Frame
) -> tuple[list[str], list[Any]]:
    """Names and columns of aggregates; `frame` has the aggregated rows, and is of the library of the answer."""
    names, made = [], []
    for (column, function), answer in zip(wanted, answers):
        names.append("count" if column == "*" else f"{column}_{function}")
        if function in ("first", "last"):
            made.append(frame.take([column], answer.values().view(np.uint32), True)[0])
        elif function in ("min", "max") or function == "sum" and keys[column].type.family == "duration":
            if function == "sum":
                answer = answer.reinterpret(keys[column].column.format)
            made.append(frame.of_column(answer, column, column))
        else:
            made.append(frame.of_column(answer, None, column if function == "sum" else None))
    return names, made


def _with_aggregates(left: Frame, names: list[str], made: list[Any], call: str) -> Any:
    for name in names:
        if name in left.names or names.count(name) > 1:
            raise ValueError(
                f"{call}: the answer would have two columns {name!r}; rename the column of the left frame."
            )
    return left.build(names, made, True)


def _validity(key: Key, call: str = "join_window()") -> Any:
    """A value column for count, first and last, of which only the NULLs matter; of any type."""
    column = key.column
    if column.layout == "bits" or column.layout == "fixed" and key.type.family in _AGGREGATED:
        return _value(key, call)
    if column.format.startswith("+r"):
        raise TypeError(f"{call}: {key.place} is run-end encoded, and its NULLs are not read; decode it.")
    missing = key.column.missing()
    return _core.JoinColumn.from_array(np.zeros(len(missing), np.uint8), "C", missing)


def _check_aggregate(key: Key, function: str, call: str) -> None:
    family = key.type.family
    refused = (
        function == "sum"
        and family in ("date", "datetime", "time")
        or function == "mean"
        and family in ("date", "datetime", "time", "duration")
        or function in ("min", "max")
        and family == "boolean"
    )
    if refused:
        raise TypeError(f"{call}: {function} of {key.place} has no meaning here; convert the column.")


# ---- spans -----------------------------------------------------------------------------------------------------------


def _ends(closed: str, call: str) -> tuple[bool, bool]:
    if closed not in _CLOSED:
        raise ValueError(f"{call}: `closed` is 'both', 'left', 'right' or 'neither', not {closed!r}.")
    return _CLOSED[closed]


def _how(how: str, call: str) -> bool:
    if how not in ("inner", "left"):
        raise ValueError(f"{call}: `how` is 'inner' or 'left', not {how!r}.")
    return how == "left"


def _one_type(keys: list[Key], call: str) -> list[Key]:
    """Three or four columns in one type: the type of all of them is found first, then all are converted."""
    made = list(keys)
    for _ in range(2):
        for i in range(1, len(made)):
            made[0], made[i] = common_order(made[0], made[i], call)
    return made


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
) -> Any:
    """Pairs of points and the spans [start, finish] that contain them, in the order of the points.

    With how="left", points outside of all spans come once, with NULLs.
    """
    call = "join_between()"
    keeps_all = _how(how, call)
    sides = _PointsAndSpans(points, spans, on, start, finish, _sides(by, by_left, by_right, "by", call), closed, call)
    # A point is a closed span of one value: spans are sorted, and points, which are usually many more, are not.
    left_rows, right_rows = _core.span_overlaps(
        (sides.key.column, sides.key.column, sides.groups.left, True, True),
        (sides.low.column, sides.high.column, sides.groups.right, sides.lower, sides.upper),
        sides.groups.count,
        keeps_all,
        True,  # the spans of a point in the order of their rows
    )
    skipped = {a for a, b in sides.by if a == b}
    return _pairs(sides.points, sides.spans, left_rows, right_rows, skipped, suffix, call)


class _PointsAndSpans:
    """Arguments of the joins of points and spans."""

    def __init__(
        self, points: Any, spans: Any, on: str, start: str, finish: str, by: Any, closed: str, call: str
    ) -> None:
        self.lower, self.upper = _ends(closed, call)
        self.points, self.spans = frame_of(points, "left", call), frame_of(spans, "right", call)
        on, start, finish = (column_name(v, w, call) for v, w in ((on, "on"), (start, "start"), (finish, "finish")))
        left_by, right_by = by
        self.by = list(zip(left_by, right_by))
        self.key, self.low, self.high = _one_type(
            [
                self.points.key(on, "left", call),
                self.spans.key(start, "right", call),
                self.spans.key(finish, "right", call),
            ],
            call,
        )
        self.groups = _Groups(
            [self.points.key(n, "left", call) for n in left_by],
            [self.spans.key(n, "right", call) for n in right_by],
            call,
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
    """Number of points in each of the spans, in their order, without making pairs: an array, or a column of the library
    of the spans if that is polars or pyarrow."""
    call = "count_between()"
    sides = _PointsAndSpans(points, spans, on, start, finish, _sides(by, by_left, by_right, "by", call), closed, call)
    key, groups = sides.key, sides.groups
    side = _core.PreparedSide(key.column, groups.left, groups.count, key.order)
    counts = side.count_in_spans(
        sides.low.column, sides.high.column, groups.right, groups.count, sides.lower, sides.upper
    )
    return _counts(counts, sides.spans)


@suggests(aggs="agg", aggregates="agg", left_by="by_left", right_by="by_right")
def aggregate_between(
    points: Any,
    spans: Any,
    on: str,
    start: str,
    finish: str,
    *,
    agg: Mapping[str, str | Sequence[str]],
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
) -> Any:
    """Aggregates of the points in each span [start, finish], without making pairs.

    `agg` names functions of columns of the points as in join_window(), with first and last in the order of `on`. The
    answer has all spans in their order, with their columns and `<column>_<function>`.
    """
    call = "aggregate_between()"
    wanted = _wanted(agg, call)
    sides = _PointsAndSpans(points, spans, on, start, finish, _sides(by, by_left, by_right, "by", call), closed, call)
    key, groups = sides.key, sides.groups
    used, keys, choices = _value_columns(wanted, sides.points, "left", call)
    with _sums_in_words():
        answers = _core.aggregate_points(
            key.column,
            groups.left,
            groups.count,
            key.order,
            [choice(k, call) for choice, k in zip(choices, keys.values())],
            (sides.low.column, sides.high.column, groups.right, sides.lower, sides.upper),
            [("size", 0) if c == "*" else (f, used.index(c)) for c, f in wanted],
        )
    names, made = _aggregate_columns(wanted, answers, keys, frame_as(sides.points, sides.spans.kind))
    return _with_aggregates(sides.spans, names, made, call)


def _counts(counts: np.ndarray, frame: Frame) -> Any:
    return wrap(counts.astype(np.int64), {"polars": "polars", "pyarrow": "arrow"}.get(frame.kind, "numpy"))


def join_overlaps(
    left: Any,
    right: Any,
    start: str | None = None,
    finish: str | None = None,
    *,
    left_on: tuple[str, str] | None = None,
    right_on: tuple[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
    how: str = "inner",
    suffix: str = "_right",
) -> Any:
    """Pairs of spans that overlap, in the order of the left rows. `left_on` and `right_on` name (start, finish)."""
    call = "join_overlaps()"
    keeps_all = _how(how, call)
    sides = _TwoSpans(
        left, right, start, finish, left_on, right_on, _sides(by, by_left, by_right, "by", call), closed, call
    )
    left_rows, right_rows = _core.span_overlaps(*sides.arguments, keeps_all, False)
    skipped = {a for a, b in sides.by if a == b}
    return _pairs(sides.left, sides.right, left_rows, right_rows, skipped, suffix, call)


def count_overlaps(
    left: Any,
    right: Any,
    start: str | None = None,
    finish: str | None = None,
    *,
    left_on: tuple[str, str] | None = None,
    right_on: tuple[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
) -> Any:
    """Number of right spans that overlap each left span, in the order of the left rows, without making pairs: an array,
    or a column of the library of the left frame if that is polars or pyarrow."""
    call = "count_overlaps()"
    sides = _TwoSpans(
        left, right, start, finish, left_on, right_on, _sides(by, by_left, by_right, "by", call), closed, call
    )
    return _counts(_core.count_span_overlaps(*sides.arguments), sides.left)


_OVERLAP_AGGREGATES = ("count", "sum", "mean")


@suggests(aggs="agg", aggregates="agg", left_by="by_left", right_by="by_right")
def aggregate_overlaps(
    left: Any,
    right: Any,
    start: str | None = None,
    finish: str | None = None,
    *,
    agg: Mapping[str, str | Sequence[str]],
    left_on: tuple[str, str] | None = None,
    right_on: tuple[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    by_left: str | Sequence[str] | None = None,
    by_right: str | Sequence[str] | None = None,
    closed: str = "both",
) -> Any:
    """Number, sum and mean of the right spans that overlap each left span, without making pairs.

    `agg` names functions of right columns: count, sum, mean; "*": "count" counts spans. The answer has the left columns
    and `<column>_<function>`. NULL values are skipped; without a value, counts are 0 and sums and means are NULL.
    """
    call = "aggregate_overlaps()"
    wanted = _wanted(agg, call, _OVERLAP_AGGREGATES)
    sides = _TwoSpans(
        left, right, start, finish, left_on, right_on, _sides(by, by_left, by_right, "by", call), closed, call
    )
    used, keys, choices = _value_columns(wanted, sides.right, "right", call)
    with _sums_in_words():
        found = {}
        for name, choice in zip(used, choices):
            values, wants_sum = choice(keys[name], call), (name, "sum") in wanted
            columns = _core.sum_span_overlaps(*sides.arguments, values, wants_sum)
            found[name] = dict(zip(_OVERLAP_AGGREGATES, columns))
    if any(c == "*" for c, _ in wanted):
        counts = _core.count_span_overlaps(*sides.arguments).astype(np.int64)
        found["*"] = {"count": _core.JoinColumn.from_array(counts, "l")}
    answers = [found[column][function] for column, function in wanted]
    names, made = _aggregate_columns(wanted, answers, keys, frame_as(sides.right, sides.left.kind))
    return _with_aggregates(sides.left, names, made, call)


class _TwoSpans:
    """Arguments of the joins of spans with spans."""

    def __init__(
        self,
        left: Any,
        right: Any,
        start: str | None,
        finish: str | None,
        left_on: tuple[str, str] | None,
        right_on: tuple[str, str] | None,
        by: Any,
        closed: str,
        call: str,
    ) -> None:
        ends = _ends(closed, call)
        if (start is None) != (finish is None) or (start is None) == (left_on is None or right_on is None):
            raise ValueError(f"{call}: pass `start` and `finish`, or `left_on` and `right_on` with two names each.")
        if left_on is None or right_on is None:
            assert start is not None and finish is not None
            left_on = right_on = (start, finish)
        self.left, self.right = frame_of(left, "left", call), frame_of(right, "right", call)
        keys = _one_type(
            [
                *(self.left.key(n, "left", call) for n in left_on),
                *(self.right.key(n, "right", call) for n in right_on),
            ],
            call,
        )
        left_by, right_by = by
        self.by = list(zip(left_by, right_by))
        groups = _Groups(
            [self.left.key(n, "left", call) for n in left_by],
            [self.right.key(n, "right", call) for n in right_by],
            call,
        )
        self.arguments = (
            (keys[0].column, keys[1].column, groups.left, *ends),
            (keys[2].column, keys[3].column, groups.right, *ends),
            groups.count,
        )


def _pairs(
    left: Frame, right: Frame, left_rows: np.ndarray, right_rows: np.ndarray, skipped: set[str], suffix: str, call: str
) -> Any:
    for name in left.names:
        if left.names.count(name) > 1:
            raise ValueError(f"{call}: the left frame has several columns {name!r}; rename them.")
    right = frame_as(right, left.kind)
    names = [n for n in right.names if n not in skipped]
    renamed = _renamed(names, left.names, suffix, call)
    columns = left.take(left.names, left_rows) + right.take(names, right_rows, True)
    return left.build(left.names + renamed, columns, False)
