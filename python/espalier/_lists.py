"""Lists and tuples as arrays, element by element and exactly: no element is rounded to the type of another one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

_MIN, _MAX = -(2**63), 2**64 - 1
NUMPY_NANOSECONDS = {
    "W": 7 * 86_400 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}


def of_list(source: Sequence[Any], what: str) -> tuple[Any, np.ndarray | None]:
    """(array, mask): the elements in a type that holds all of them exactly, and which of them are None."""
    if len(source) == 0:
        return np.empty(0, dtype=np.float64), None
    types = set(map(type, source))
    if len(types) == 1 and types <= {int, float, bool}:
        try:
            return np.array(source, dtype=np.int64 if types == {int} else None), None
        except OverflowError:
            pass
    mask, present = _without_none(source)
    if not present:
        return np.zeros(len(source)), mask
    types = set(map(type, present))
    if any(issubclass(t, _TIMES) or t.__name__ == "NaTType" for t in types):
        values = _times(present, types, what)
    elif all(issubclass(t, _NUMBERS) for t in types):
        values = _numbers(present, types, what)
    else:
        values = np.asarray(present)
        if values.dtype.kind in "OUS":
            raise TypeError(
                f"{what} is a list of {_names(types)}: numbers, bool, str, bytes, dates or times are taken."
            )
    return (values, None) if mask is None else (_spread(values, ~mask), mask)


def _without_none(source: Sequence[Any]) -> tuple[np.ndarray | None, Sequence[Any]]:
    if not any(item is None for item in source):
        return None, source
    mask = np.fromiter((item is None for item in source), dtype=bool, count=len(source))
    return mask, [item for item in source if item is not None]


def _spread(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.zeros((len(places), *values.shape[1:]), dtype=values.dtype)
    out[places] = values
    return out


def _names(types: set[type]) -> str:
    return ", ".join(sorted(t.__name__ for t in types))


# ---- numbers ----------------------------------------

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_INTEGERS = (int, np.integer)


def _numbers(items: Sequence[Any], types: set[type], what: str) -> np.ndarray:
    if not any(issubclass(t, _INTEGERS) for t in types) or len(types) == 1 and not issubclass(next(iter(types)), int):
        return np.asarray(items)
    integers = [int(item) for item in items if isinstance(item, _INTEGERS)]
    if any(issubclass(t, np.longdouble) for t in types):
        return np.asarray(items)  # a type that is refused by name
    if any(issubclass(t, (float, np.floating)) for t in types):
        for number in integers:
            if abs(number) > 2**53 and (abs(number) > 2**1000 or int(float(number)) != number):
                raise ValueError(
                    f"{what} is a list of integers and floats, and no float64 equals {number}: pass integers only, or "
                    "an array of the dtype that you want."
                )
        return np.asarray(items, dtype=np.float64)
    low, high = min(integers), max(integers)
    if low >= _MIN and high < 2**63:
        values = np.asarray(items)
        return values if values.dtype.kind in "biu" else np.array([int(item) for item in items], dtype=np.int64)
    if low >= 0 and high <= _MAX:
        return np.array([int(item) for item in items], dtype=np.uint64)
    raise OverflowError(
        f"{what} is a list of integers from {low} to {high}, which neither int64 nor uint64 holds: convert it, such "
        "as to an array of float64."
    )


def _of_column(source: Sequence[Any], what: str) -> np.ndarray:
    """A list as a column of a frame: an array, masked where None is among numbers and times. Lists of other objects,
    and of aware datetimes, whose zone an array cannot hold, become arrays as NumPy makes them."""
    present = [item for item in source if item is not None]
    kinds = (*_NUMBERS, *_TIMES)
    if not present or not all(isinstance(item, kinds) or _is_nat(item) for item in present):
        return np.asarray(source)
    if all(getattr(item, "tzinfo", None) is not None for item in present):
        return np.asarray(source, dtype=object)
    values, mask = of_list(source, what)
    return values if mask is None else np.ma.MaskedArray(values, mask)


def can_append(old: Any, new: Any) -> bool:
    """Whether the rows of two columns of NumPy or pandas can be put together without a change of values. Integers and
    floats can while float64 holds the integers."""
    a, b = _kind(old.dtype), _kind(new.dtype)
    return a == b or {a, b} <= {"i", "u", "f"} and _fits_floats(old) and _fits_floats(new)


def _kind(dtype: Any) -> Any:
    if not isinstance(dtype, np.dtype):
        return str(dtype) if dtype.kind in "mM" else dtype.kind
    return dtype if dtype.kind in "mMVc" else "O" if dtype.kind in "UTO" else dtype.kind


def _fits_floats(column: Any) -> bool:
    column = column.dropna() if hasattr(column, "dropna") else column
    return column.dtype.kind == "f" or len(column) == 0 or -(2**53) <= column.min() and column.max() <= 2**53


def array_of_column(values: Any, name: str) -> np.ndarray:
    if isinstance(values, (list, tuple)):
        array = _of_column(values, f"Column {name!r}")
    else:
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"Array {name!r} has {array.ndim or 'no'} dimensions; pass one-dimensional arrays, with one element per "
            "row."
        )
    return array


def numbers_apart(source: Sequence[Any]) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[int, int]]] | None:
    """A list of numbers as (places, values) of several types, which hold every element exactly, and integers beyond 64
    bits with their places. None if there is anything else than numbers."""
    signed: list[int] = []
    unsigned: list[int] = []
    real: list[Any] = []
    large: list[tuple[int, int]] = []
    places: tuple[list[int], list[int], list[int]] = ([], [], [])
    for i, item in enumerate(source):
        if item is None:
            continue
        if isinstance(item, (bool, np.bool_)) or isinstance(item, _INTEGERS):
            number = int(item)
            if number < _MIN or number > _MAX:
                large.append((i, number))
            elif number < 0:
                signed.append(number)
                places[0].append(i)
            else:
                unsigned.append(number)
                places[1].append(i)
        elif isinstance(item, (float, np.float32, np.float16)):
            real.append(float(item))
            places[2].append(i)
        else:
            return None
    parts = ((signed, np.int64), (unsigned, np.uint64), (real, np.float64))
    return [
        (np.array(at, dtype=np.intp), np.array(values, dtype=dtype))
        for at, (values, dtype) in zip(places, parts)
        if at
    ], large


# ---- times ----------------------------------------

_TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


def _times(items: Sequence[Any], types: set[type], what: str) -> np.ndarray:
    durations = [t for t in types if issubclass(t, (datetime.timedelta, np.timedelta64))]
    moments = [t for t in types if issubclass(t, (datetime.date, np.datetime64)) and t.__name__ != "NaTType"]
    if durations and moments or any(not issubclass(t, _TIMES) and t.__name__ != "NaTType" for t in types):
        raise TypeError(f"{what} is a list of {_names(types)}: moments, durations and other values do not go together.")
    kind = "m" if durations else "M"
    if types <= {np.datetime64} or types <= {np.timedelta64}:
        first = np.datetime_data(items[0].dtype)
        if all(np.datetime_data(item.dtype) == first for item in items):
            return np.asarray(items)
    if kind == "M":
        aware = [getattr(item, "tzinfo", None) is not None for item in items if not _is_nat(item)]
        if any(aware) and not all(aware):
            raise TypeError(
                f"{what} is a list with aware and naive datetimes: give all of them a time zone, or none of them."
            )
    exact = [time_of(item, kind) for item in items]
    return _in_one_unit(exact, kind, what)


def _is_nat(item: Any) -> bool:
    return type(item).__name__ == "NaTType" or isinstance(item, (np.datetime64, np.timedelta64)) and np.isnat(item)


def time_of(item: Any, kind: str) -> Any:
    """One moment (kind "M", in UTC) or duration ("m") of Python, NumPy or pandas as a scalar of NumPy, exactly."""
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return item
    if type(item).__name__ == "NaTType":
        return np.datetime64("NaT", "us") if kind == "M" else np.timedelta64("NaT", "us")
    if hasattr(item, "to_datetime64"):
        return item.to_datetime64()  # of an aware one, in UTC
    if hasattr(item, "to_timedelta64"):
        return item.to_timedelta64()
    if isinstance(item, datetime.datetime):
        if item.tzinfo is not None:
            item = item.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return np.datetime64(item, "us")
    if isinstance(item, datetime.date):
        return np.datetime64(item, "D")
    return np.timedelta64(item, "us")


def _in_one_unit(items: list[Any], kind: str, what: str) -> np.ndarray:
    """In microseconds, or in the finest unit of the elements if that is finer."""
    if kind == "M":  # years and months begin on a day
        items = [item.astype("M8[D]") if np.datetime_data(item.dtype)[0] in ("Y", "M") else item for item in items]
    data = {np.datetime_data(item.dtype) for item in items if not np.isnat(item)}
    unknown = sorted(unit for unit, _ in data if unit not in NUMPY_NANOSECONDS)
    if unknown:
        raise TypeError(f"{what} is a list of times in different units, one of them '{unknown[0]}': pass an array.")
    unit = "ns" if any(unit == "ns" for unit, _ in data) else "us"
    ticks = np.empty(len(items), dtype=np.int64)
    for i, item in enumerate(items):
        if np.isnat(item):
            ticks[i] = _MIN
            continue
        own, multiple = np.datetime_data(item.dtype)
        tick = int(item.view(np.int64)) * multiple * (NUMPY_NANOSECONDS[own] // NUMPY_NANOSECONDS[unit])
        if not _MIN < tick < 2**63:
            raise ValueError(f"{what}: element {i} ({item}) does not fit {kind}8[{unit}]: pass an array of one unit.")
        ticks[i] = tick
    return ticks.view(f"{kind}8[{unit}]")
