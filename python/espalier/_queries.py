"""Queries of another type than the keys, compared as real numbers, not after a cast that could wrap or round.

A query becomes the greatest key that is not greater than it (`values`), and masks that say where it is not equal to
that: `gap` (the query is greater than `values`, and less than the next key), `below` (less than every key), `null`
(NULL, NaT, or NaN with integer keys: no key is equal, and the query is sorted last, as NumPy sorts NaN and NaT)."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from typing import Any, NamedTuple

import numpy as np

from . import _core, _lists
from ._answers import kind_of


class Queries(NamedTuple):
    values: np.ndarray
    gap: np.ndarray | None
    below: np.ndarray | None
    null: np.ndarray | None
    source: np.ndarray  # the queries as they were, for distances
    kind: str

    @property
    def inexact(self) -> np.ndarray | None:
        """Queries that no key equals."""
        result = None
        for mask in (self.gap, self.below, self.null):
            if mask is not None:
                result = mask if result is None else result | mask
        return result


_TIMES = (datetime.datetime, datetime.date, datetime.timedelta)


def read(source: Any, dtype: np.dtype, what: str = "queries") -> Queries:
    if isinstance(source, int) and dtype.kind in "iuf" and not -(2**63) <= source < 2**64:
        return _of_parts(([], [(0, source)]), 1, dtype, what, "scalar")
    if is_one_value(source):
        array, valid, kind = _scalar(source, dtype, what), None, "scalar"
    else:
        kind = kind_of(source)
        try:
            array, valid, _ = _core.to_numpy(source, what)
        except (ValueError, OverflowError):  # a list of numbers that no type holds
            parts = _lists.numbers_apart(source) if isinstance(source, (list, tuple)) else None
            if parts is None or dtype.kind not in "iuf":
                raise
            return _of_parts(parts, len(source), dtype, what, kind)
        if len(array) == 0 and isinstance(source, (list, tuple)):
            array = np.empty(0, dtype=dtype)
    null = None if valid is None else ~valid
    if array.dtype.kind in "mM":
        nat = np.isnat(array)
        if nat.any():
            null = nat if null is None else null | nat
    values, gap, below, more_null = _convert(array, dtype, what)
    if values is array and null is not None and dtype.kind in "mM":
        values = np.where(null, np.zeros(1, dtype), values)
    if more_null is not None:
        null = more_null if null is None else null | more_null
    return Queries(np.ascontiguousarray(values), _any(gap), _any(below), _any(null), array, kind)


def _of_parts(parts: tuple[list[Any], list[Any]], n: int, dtype: np.dtype, what: str, kind: str) -> Queries:
    """Queries of several types: negative integers, others, floats, and integers beyond 64 bits."""
    values = np.zeros(n, dtype=dtype)
    asked = np.zeros(n, dtype=np.longdouble)  # 64 bits of digits, or more
    masks = np.zeros((3, n), dtype=bool)  # gap, below, null
    masks[2] = True  # what is None
    for place, number in parts[1]:
        floor, is_above = _floor(number)
        one, gap, below, _ = _convert(np.array([floor]), dtype, what)
        values[place], asked[place] = one[0], floor
        masks[:, place] = is_above or gap is not None and gap[0], below is not None and below[0], False
        masks[0, place] &= not masks[1, place]
    for places, part in parts[0]:
        values[places], *found = _convert(part, dtype, what)
        asked[places] = part
        for mask, more in zip(masks, found):
            mask[places] = False if more is None else more
    return Queries(values, _any(masks[0]), _any(masks[1]), _any(masks[2]), asked, kind)


def _floor(number: int) -> tuple[float, bool]:
    """The greatest float64 that is not greater, and whether the number is above it."""
    try:
        floor = float(number)
    except OverflowError:
        return (float(np.finfo(np.float64).max) if number > 0 else -math.inf), True
    if floor > number:
        floor = math.nextafter(floor, -math.inf)
    return floor, floor < number


def refuse_none(what: str = "the query") -> None:
    raise TypeError(f"{what} is None: give a value, or an array, in which NULL matches nothing.")


def missing_key(error: KeyError, q: Any, where: str) -> KeyError:
    """The error of the compiled part, with the key."""
    place = re.search(r"\(query (\d+)\)", str(error))
    if place is not None and isinstance(q, (list, tuple, np.ndarray)):
        key: Any = q[int(place[1])]
        key = key.item() if isinstance(key, (np.number, np.bool_)) else key
        return KeyError(f"the {where} does not have the key {key!r} {place[0]}; give a default to get it instead.")
    if is_one_value(q):
        return KeyError(f"the {where} does not have the key {q!r}; give a default to get it instead.")
    return error


def is_one_value(q: Any) -> bool:
    return isinstance(q, (str, bytes, numbers.Number, np.generic, *_TIMES))


def sum_overflow(error: OverflowError) -> OverflowError:
    return OverflowError(
        f"{str(error).partition(';')[0].rstrip('.')}; ask for smaller ranges or avg(), or give the values as float64."
    )


def _any(mask: np.ndarray | None) -> np.ndarray | None:
    return mask if mask is not None and mask.any() else None


def _scalar(source: Any, dtype: np.dtype, what: str) -> np.ndarray:
    if dtype.kind in "mM":
        if isinstance(source, str) and dtype.kind == "M":
            return np.array([parse_moment(source)])
        is_duration = isinstance(source, (datetime.timedelta, np.timedelta64))
        if isinstance(source, (*_TIMES, np.datetime64, np.timedelta64)) and is_duration == (dtype.kind == "m"):
            return np.array([_lists.time_of(source, dtype.kind)])
        raise TypeError(f"{what} is of type {type(source).__name__}, and the keys are {dtype}.")
    if isinstance(source, _TIMES + (str, bytes)):
        raise TypeError(f"{what} is of type {type(source).__name__}, and the keys are {dtype}.")
    array = np.array([source])
    if array.dtype.kind not in "biufmM":
        raise TypeError(f"{what} is of type {type(source).__name__}, and the keys are {dtype}.")
    return array


_OFFSET = re.compile(r"(.*[T ].*?)(?:[Zz]|([+-])(\d\d):?(\d\d))\Z")


def parse_moment(text: str) -> np.datetime64:
    """ISO 8601, with a time zone in UTC. NumPy reads time zones with a warning."""
    zoned = _OFFSET.match(text)
    if zoned is None:
        return np.datetime64(text)
    moment = np.datetime64(zoned[1])
    if zoned[2] is None:
        return moment
    minutes = np.timedelta64(int(zoned[3]) * 60 + int(zoned[4]), "m")
    return moment - minutes if zoned[2] == "+" else moment + minutes


def _convert(q: np.ndarray, dtype: np.dtype, what: str) -> tuple[np.ndarray, Any, Any, Any]:
    """(values, gap, below, null)"""
    if q.dtype == dtype:
        return q, None, None, None
    if dtype.kind in "mM" and q.dtype.kind == dtype.kind:
        return _convert_times(q, dtype)
    numbers_of = {"i", "u", "f"}
    if dtype.kind not in numbers_of or q.dtype.kind not in numbers_of | {"b"}:
        raise TypeError(f"{what} has dtype {q.dtype}, and the keys are {dtype}: they cannot be compared.")
    if q.dtype.kind == "b":
        q = q.view(np.uint8)
    if dtype.kind in "iu":
        return _to_integers(q, dtype)
    return _to_floats(q, dtype)


def _to_integers(q: Any, dtype: np.dtype) -> tuple[np.ndarray, Any, Any, Any]:
    limits = np.iinfo(dtype)
    if q.dtype.kind in "iu":
        below, above = q < limits.min, q > limits.max
        inside = ~(below | above)
        values = np.where(inside, q, 0).astype(dtype)
        null = None
        gap = above
    else:
        null = np.isnan(q)
        whole = np.floor(q)
        below, above = whole < float(limits.min), whole >= float(limits.max + 1)
        inside = ~(below | above | null)
        values = np.where(inside, whole, 0).astype(dtype)
        gap = above | (inside & (whole != q))
    values[below] = limits.min
    values[above] = limits.max
    return values, gap, below, null


def _to_floats(q: Any, dtype: np.dtype) -> tuple[np.ndarray, Any, Any, Any]:
    with np.errstate(over="ignore"):
        values = q.astype(dtype)
    exact = np.longdouble if q.dtype.kind in "iu" else np.float64  # 64 bits of digits, or more
    wide = q.astype(exact)
    too_large = values.astype(exact) > wide
    with np.errstate(over="ignore"):
        values[too_large] = np.nextafter(values[too_large], dtype.type(-np.inf))
    gap = values.astype(exact) < wide
    return values, gap, None, None


# Seconds of NumPy's units as a fraction of integers.
_UNITS = {
    "W": (604800, 1),
    "D": (86400, 1),
    "h": (3600, 1),
    "m": (60, 1),
    "s": (1, 1),
    "ms": (1, 10**3),
    "us": (1, 10**6),
    "ns": (1, 10**9),
    "ps": (1, 10**12),
    "fs": (1, 10**15),
    "as": (1, 10**18),
}


def _convert_times(q: Any, dtype: np.dtype) -> tuple[np.ndarray, Any, Any, Any]:
    null = np.isnat(q)
    (to_unit, to_multiple), (from_unit, from_multiple) = np.datetime_data(dtype), np.datetime_data(q.dtype)
    if from_unit in ("Y", "M") and dtype.kind == "M" and to_unit not in ("Y", "M"):
        q = q.astype("M8[D]")
        from_unit, from_multiple = "D", 1
    if to_unit not in _UNITS or from_unit not in _UNITS:
        values = np.where(null, np.zeros(1, dtype), q.astype(dtype))
        back = values.astype(q.dtype)
        gap = (back < q) & ~null
        if (back > q).any():
            raise TypeError(f"times of {q.dtype} and {dtype} cannot be compared exactly: convert the queries.")
        return values, gap, None, null
    numerator = _UNITS[from_unit][0] * _UNITS[to_unit][1] * from_multiple
    denominator = _UNITS[from_unit][1] * _UNITS[to_unit][0] * to_multiple
    common = math.gcd(numerator, denominator)
    numerator, denominator = numerator // common, denominator // common
    ticks = q.view(np.int64)
    limit = (2**63 - 1) // numerator
    below, above = (ticks < -limit) & ~null, ticks > limit
    inside = ~(below | above | null)
    product = np.where(inside, ticks, 0) * np.int64(numerator)
    values = product // np.int64(denominator)
    gap = above | (inside & (values * np.int64(denominator) != product))
    values[below] = -(2**63) + 1
    values[above] = 2**63 - 1
    return values.view(dtype), gap, below, null


# ---- ends of ranges ----------------------------------------


def closed_ends(lo: Queries, hi: Queries, closed: str) -> tuple[np.ndarray, np.ndarray]:
    """Ends [a, b] in the type of the keys that select what the given ends select."""
    if closed not in ("both", "left", "right", "neither"):
        raise ValueError(f"closed is '{closed}'; use 'both', 'left', 'right' or 'neither'.")
    if len(lo.values) != len(hi.values):
        if lo.kind != "scalar" and hi.kind != "scalar":
            raise ValueError(
                f"lo has {len(lo.values)} elements, and hi has {len(hi.values)}: both must have the same length."
            )
    n = len(hi.values) if lo.kind == "scalar" else len(lo.values)
    a, b = np.resize(lo.values, n).copy(), np.resize(hi.values, n).copy()
    nothing = np.zeros(n, dtype=bool)
    # The lower end moves up where the query is above its key, or equal to it and excluded.
    up = _spread(lo.gap, n)
    if closed in ("right", "neither"):
        up |= ~_spread(lo.below, n)
    nothing |= _move(a, up, True)
    # The upper end is at its key where the query is above; it moves down where the query is equal and excluded.
    if closed in ("left", "neither"):
        nothing |= _move(b, ~(_spread(hi.gap, n) | _spread(hi.below, n)), False)
    nothing |= _spread(hi.below, n) | _spread(lo.null, n) | _spread(hi.null, n)
    lowest, highest = _limits(a.dtype)
    a[nothing], b[nothing] = highest, lowest
    return a, b


def _spread(mask: np.ndarray | None, n: int) -> np.ndarray:
    return np.zeros(n, dtype=bool) if mask is None else np.resize(mask, n)


def _limits(dtype: np.dtype) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "mM":
        low, high = np.array([-(2**63) + 1, 2**63 - 1]).view(dtype)
        return low, high
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _move(ends: np.ndarray, mask: np.ndarray, up: bool) -> np.ndarray:
    """Move these ends to the next key above (or below); returns where there is none."""
    if not mask.any():
        return mask
    lowest, highest = _limits(ends.dtype)
    if ends.dtype.kind == "f":
        # Above infinity there is only NaN, which is the greatest key.
        last = np.isnan(ends) if up else ends == lowest
        with np.errstate(over="ignore"):
            moved = np.nextafter(ends, highest if up else lowest)
        if up:
            moved[ends == highest] = np.nan
        else:
            moved[np.isnan(ends)] = highest
    elif ends.dtype.kind == "b":
        last = ends == (highest if up else lowest)
        moved = np.full_like(ends, up)
    else:
        whole = ends.view(np.int64) if ends.dtype.kind in "mM" else ends
        last = ends == (highest if up else lowest)
        one = whole.dtype.type(1)
        # Wraps around at the last key, which is not used.
        moved = (whole + one if up else whole - one).view(ends.dtype)
    ends[mask & ~last] = moved[mask & ~last]
    return mask & last


# ---- tolerances ----------------------------------------


def parse_timedelta(text: str) -> np.timedelta64:
    """'5s', '100ms', '1h30m', '2d': numbers with units of w, d, h, m or min, s, ms, us, ns."""
    units = {"w": "W", "d": "D", "h": "h", "m": "m", "min": "m"}
    units |= {"s": "s", "ms": "ms", "us": "us", "µs": "us", "ns": "ns"}
    total, rest, is_negative = 0, text.strip(), False
    if rest[:1] in ("+", "-"):
        is_negative, rest = rest[0] == "-", rest[1:]
    if not rest:
        raise ValueError(f"'{text}' is not a duration: write '5s', '100ms' or '1h30m'.")
    while rest:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        rest = rest[len(digits) :]
        letters = rest[: len(rest) - len(rest.lstrip("wdhmsunµi"))]
        rest = rest[len(letters) :]
        if not digits or letters not in units:
            raise ValueError(f"'{text}' is not a duration: write '5s', '100ms' or '1h30m'.")
        numerator, denominator = _UNITS[units[letters]]
        total += int(digits) * numerator * 10**9 // denominator
    return np.timedelta64(-total if is_negative else total, "ns")


def as_timedelta(tolerance: Any, dtype: Any) -> Any:
    """A tolerance as a timedelta64; an integer is in units of the keys."""
    if isinstance(tolerance, str):
        return parse_timedelta(tolerance)
    if hasattr(tolerance, "to_timedelta64"):
        return tolerance.to_timedelta64()
    if isinstance(tolerance, (np.timedelta64, datetime.timedelta)):
        return np.timedelta64(tolerance)
    if isinstance(tolerance, (float, np.floating)):
        raise TypeError(
            f"tolerance {tolerance!r} is a float, and the keys are {dtype}: give a duration such as '5s', or an "
            "integer in units of the keys."
        )
    return np.array([int(tolerance)]).view(f"m8{dtype.str[3:]}")[0]


def tolerance_of(tolerance: Any, dtype: np.dtype) -> Any:
    """In units of integer and time keys, rounded down, or as a float; None stays."""
    if tolerance is None:
        return None
    if dtype.kind not in "mM":
        if isinstance(tolerance, (str, *_TIMES, np.timedelta64)):
            raise TypeError(
                f"tolerance is of type {type(tolerance).__name__}, and the keys are {dtype}: give a number."
            )
        if dtype.kind == "f":
            return float(tolerance)
        if isinstance(tolerance, (float, np.floating)):
            if math.isnan(tolerance) or tolerance < 0:
                raise ValueError("tolerance must not be negative or NaN.")
            return 2**64 if math.isinf(tolerance) else math.floor(tolerance)
        return int(tolerance)
    tolerance = as_timedelta(tolerance, dtype)
    if np.isnat(tolerance):
        raise ValueError("tolerance is NaT.")
    unit, multiple = np.datetime_data(dtype)
    own_unit, own_multiple = np.datetime_data(tolerance.dtype)
    if own_unit not in _UNITS or unit not in _UNITS:
        return int(tolerance.astype(f"m8[{multiple}{unit}]").view(np.int64))
    ticks = int(tolerance.view(np.int64)) * own_multiple
    numerator = ticks * _UNITS[own_unit][0] * _UNITS[unit][1]
    return numerator // (_UNITS[own_unit][1] * _UNITS[unit][0] * multiple)
