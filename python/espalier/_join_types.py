"""Types of key columns: which may be compared with each other, and in which unit.

Both sides of a join are converted to one type without rounding, or the join is refused. Times of both sides are
compared in the finer unit; where a time does not fit into it, in the coarser one if every value has an equal there.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ._core import JoinColumn
from ._lists import NUMPY_NANOSECONDS

_UNIT_NAMES = {"D": "days", "s": "s", "m": "ms", "u": "us", "n": "ns"}
NANOSECONDS = {"D": 86_400_000_000_000, "s": 1_000_000_000, "m": 1_000_000, "u": 1_000, "n": 1}
INTEGERS = {
    "c": (8, True),
    "s": (16, True),
    "i": (32, True),
    "l": (64, True),
    "C": (8, False),
    "S": (16, False),
    "I": (32, False),
    "L": (64, False),
}
TIMES = ("date", "datetime", "duration", "time")


@dataclass(frozen=True)
class KeyType:
    """A type by its Arrow format."""

    family: str
    format: str
    unit: str = ""
    zone: str | None = None

    @property
    def is_time(self) -> bool:
        return self.family in TIMES


def type_of(format: str) -> KeyType:
    if format in INTEGERS:
        return KeyType("integer", format)
    if format in ("f", "g"):
        return KeyType("float", format)
    if format in ("b", "?"):
        return KeyType("boolean", format)
    if format == "tdD":
        return KeyType("date", format, "D")
    if format == "tdm":
        return KeyType("date", format, "m")
    if format.startswith("ts"):
        return KeyType("datetime", format, format[2], format[4:] or None)
    if format.startswith("tD"):
        return KeyType("duration", format, format[2])
    if format.startswith("tt"):
        return KeyType("time", format, format[2])
    if format in ("u", "U", "vu"):
        return KeyType("string", format)
    if format in ("z", "Z", "vz"):
        return KeyType("binary", format)
    if format == "n":
        return KeyType("null", format)
    if format.startswith("d:"):
        return KeyType("decimal", format)
    return KeyType("other", format)


@dataclass
class Key:
    """A key column of one side, for messages with its place."""

    column: JoinColumn
    name: str
    dtype: Any  #: for messages; its str() is made when a message needs it
    side: str
    order: str = "detect"
    meaning: KeyType | None = None  #: of a column that was converted to plain integers

    @property
    def type(self) -> KeyType:
        return self.meaning or type_of(self.column.values_format)

    def with_column(self, column: JoinColumn, meaning: KeyType | None = None) -> Key:
        return Key(column, self.name, self.dtype, self.side, self.order, meaning)

    def without_frame(self) -> Key:
        """The key without the frame that its dtype may hold, to be kept."""
        return Key(self.column, self.name, str(self.dtype), self.side, self.order, self.meaning)

    @property
    def place(self) -> str:
        return f"column {self.name!r} of the {self.side} frame (dtype {self.dtype})"


def all_null(length: int, like: Key) -> JoinColumn:
    """A column without values, of the type of another column."""
    type = like.type
    if type.family in ("string", "binary"):
        return JoinColumn.from_strings([None] * length)
    format = "C" if type.family in ("boolean", "null") else type.format
    values = np.zeros(length, {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[_width(format)])
    return JoinColumn.from_array(values, format, np.ones(length, np.bool_))


def _width(format: str) -> int:
    if format in INTEGERS:
        return INTEGERS[format][0] // 8
    return 4 if format in ("f", "tdD", "tts", "ttm") else 8


def _cast(key: Key, other: Key, format: str, multiply: int = 1, divide: int = 1, meaning: KeyType | None = None) -> Key:
    if key.column.format == format and multiply == divide:
        return key.with_column(key.column, meaning)
    if multiply == divide and key.type.is_time and _width(key.column.format) == 8:
        return key.with_column(key.column.reinterpret(format), meaning)
    try:
        return key.with_column(key.column.cast(format, multiply, divide), meaning)
    except OverflowError:
        raise ValueError(
            f"A value of {key.place} has no exact equal in the type of {other.place}; convert one of the columns."
        ) from None


def _times(left: Key, right: Key) -> tuple[Key, Key]:
    a, b = left.type, right.type
    families = {a.family, b.family}
    if len(families) > 1 and families != {"date", "datetime"}:
        raise TypeError(f"{_sentence(left)} and {right.place} have different meanings; convert one of them.")
    if (a.zone is None) != (b.zone is None):
        raise TypeError(
            f"{_sentence(left)} and {right.place}: one has a time zone and the other has none; "
            "give both a zone or none."
        )
    if left.column.format == right.column.format and left.column.format == "tdD":
        return left, right
    fine, coarse = (left, right) if NANOSECONDS[a.unit] <= NANOSECONDS[b.unit] else (right, left)
    ratio = NANOSECONDS[coarse.type.unit] // NANOSECONDS[fine.type.unit]
    meaning = KeyType("datetime" if "datetime" in families else a.family, "l", fine.type.unit)
    try:
        made = _cast(coarse, fine, "l", ratio, 1, meaning), _cast(fine, coarse, "l", 1, 1, meaning)
    except ValueError:  # times before 1677 or after 2262 do not fit into nanoseconds
        meaning = KeyType(meaning.family, "l", coarse.type.unit)
        made = _cast(coarse, fine, "l", 1, 1, meaning), _cast(fine, coarse, "l", 1, ratio, meaning)
    return made if coarse is left else (made[1], made[0])


def _sentence(key: Key) -> str:
    return "C" + key.place[1:]


def _integers(left: Key, right: Key) -> tuple[Key, Key]:
    a, b = INTEGERS[left.type.format], INTEGERS[right.type.format]
    if left.column.format == right.column.format and a[0] >= 32:
        return left, right
    if max(a[0], b[0]) <= 16:
        format = "i"
    else:
        format = "l" if a[1] or b[1] or max(a[0], b[0]) < 64 else "L"
    return _cast(left, right, format), _cast(right, left, format)


def common_order(left: Key, right: Key, call: str) -> tuple[Key, Key]:
    """Both `on` columns in one type."""
    for key in (left, right):
        if key.type.family not in ("integer", "float", "null", *TIMES):
            advice = ""
            if key.type.family == "string":
                advice = " Convert times in text, such as with pandas.to_datetime() or str.to_datetime() of polars."
            raise TypeError(
                f"{call}: {key.place} cannot be an `on` column; `on` takes integers, floats, dates, times, datetimes "
                f"and durations.{advice}"
            )
    left, right = _without_null_type(left, right)
    a, b = left.type, right.type
    if a.is_time and b.is_time:
        return _times(left, right)
    if a.is_time or b.is_time:
        raise TypeError(f"{call}: {left.place} and {right.place} cannot be compared; convert one of them.")
    if a.family == b.family == "integer":
        return _integers(left, right)
    if left.column.format == right.column.format:
        return left, right
    return _cast(left, right, "g"), _cast(right, left, "g")


def for_preparing(key: Key, call: str) -> Key:
    """An `on` column in the type in which a prepared side keeps it."""
    common_order(key, key, call)  # refuses types
    if key.type.family == "null":
        return key.with_column(all_null(len(key.column), key))
    if key.type.is_time:
        return _cast(key, key, "l", meaning=KeyType(key.type.family, "l", key.type.unit, key.type.zone))
    return _cast(key, key, "i") if key.column.format in ("c", "s", "C", "S") else key


def order_as(key: Key, prepared: Key, call: str) -> Key:
    """An `on` column in the type of a prepared side, if every value has an exact equal there."""
    a, b = key.type, prepared.type
    if a.family == "null":
        return key.with_column(all_null(len(key.column), Key(prepared.column, "", "", "")))
    if a.is_time and b.is_time:
        _times(key.with_column(key.column.take(np.zeros(0, np.uint32))), prepared)  # refuses zones and meanings
        mine, theirs = NANOSECONDS[a.unit], NANOSECONDS[b.unit]
        return _cast(key, prepared, "l", max(mine // theirs, 1), max(theirs // mine, 1), b)
    common_order(key.with_column(key.column.take(np.zeros(0, np.uint32))), prepared, call)
    return _cast(key, prepared, prepared.column.format)


def _equality(key: Key, call: str) -> Key:
    """A `by` column in plain memory, or TypeError."""
    key = _plain(key)
    if key.type.family == "other" or key.column.layout == "other" and key.type.family != "null":
        raise TypeError(
            f"{call}: {key.place} cannot be a `by` column; `by` takes integers, floats, booleans, dates, times, "
            "strings, bytes, decimals and categories of these."
        )
    return key


def equality_for_preparing(key: Key, call: str) -> Key:
    """A `by` column in the type in which the groups of a prepared side keep it."""
    key = _equality(key, call)
    if key.type.family == "null":
        raise TypeError(f"{call}: {key.place} has no values at all, so its type is not known; cast it.")
    if key.type.is_time:
        return for_preparing(key, call)
    if key.column.layout != "fixed":
        return key
    if key.column.format in ("c", "s", "C", "S", "i", "I"):
        return _cast(key, key, "l")
    return _cast(key, key, "g") if key.column.format == "f" else key


def equality_as(key: Key, prepared: Key, call: str) -> Key:
    """A `by` column in the type of the groups of a prepared side."""
    key = _equality(key, call)
    a, b = key.type, prepared.type
    if a.family == "null":
        return key.with_column(all_null(len(key.column), Key(prepared.column, "", "", "", meaning=None)))
    if a.is_time and b.is_time:
        return order_as(key, prepared, call)
    if a.family in ("integer", "float") and b.family in ("integer", "float"):
        return _cast(key, prepared, prepared.column.format)
    if a.family != b.family or a.family not in ("string", "binary") and a.format != b.format:
        raise TypeError(f"{call}: {key.place} and {prepared.place} cannot be equal; convert one of them.")
    return key


def common_equality(left: Key, right: Key, call: str) -> tuple[Key, Key]:
    """Both `by` columns in one type."""
    left, right = _equality(left, call), _equality(right, call)
    left, right = _without_null_type(left, right)
    a, b = left.type, right.type
    if a.family in ("string", "binary") and a.family == b.family:
        return left, right
    if a.is_time and b.is_time:
        return _times(left, right)
    if a.family == b.family == "integer":
        return _integers(left, right)
    if {a.family, b.family} == {"integer", "float"}:
        return _cast(left, right, "g"), _cast(right, left, "g")
    if a.family == b.family == "float":
        return (left, right) if a.format == b.format else (_cast(left, right, "g"), _cast(right, left, "g"))
    if a.family != b.family or a.family in ("decimal", "null") and a.format != b.format:
        raise TypeError(f"{call}: {left.place} and {right.place} cannot be equal; convert one of them.")
    return left, right


def _plain(key: Key) -> Key:
    column = key.column
    if column.layout == "bits":
        column = column.bits_to_bytes().reinterpret("?")
    elif column.layout == "dictionary" and key.type.family not in ("string", "binary"):
        column = column.decode()
        if column.layout == "bits":
            column = column.bits_to_bytes().reinterpret("?")
    return key.with_column(column)


def _without_null_type(left: Key, right: Key) -> tuple[Key, Key]:
    made = []
    for key, other in ((left, right), (right, left)):
        if key.type.family == "null":
            made.append(key.with_column(all_null(len(key.column), other)))
        else:
            made.append(key)
    return made[0], made[1]


# ---- distances -------------------------------------------------------------------------------------------------------

_PART = re.compile(r"(\d+)(ns|us|µs|ms|min|s|m|h|d|w|mo|q|y|i)(?![a-z])")
_PARTS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}
_NUMPY_UNITS: dict[str, Any] = {
    **NUMPY_NANOSECONDS,
    "ps": Fraction(1, 10**3),
    "fs": Fraction(1, 10**6),
    "as": Fraction(1, 10**9),
}


def _parse(text: str, what: str) -> tuple[int, str]:
    """Nanoseconds or, with the unit "i", a number."""
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-")
    total, at, units = 0, 0, set()
    for part in _PART.finditer(body):
        if part.start() != at:
            break
        at = part.end()
        unit = part.group(2)
        if unit in ("mo", "q", "y"):
            raise ValueError(f"{what} {text!r}: months, quarters and years have no fixed length; use days.")
        units.add(unit)
        total += int(part.group(1)) * (1 if unit == "i" else _PARTS[unit])
    if at != len(body) or not body or ("i" in units and len(units) > 1):
        raise ValueError(
            f"{what} {text!r} is not a duration; write it as '5s', '1h30m' or '250us' (w d h m min s ms us ns)."
        )
    return sign * total, "i" if "i" in units else "ns"


def distance(value: Any, key: Key, what: str, units_differ: bool = False) -> Fraction | float | None:
    """A distance in units of the key; a float for float keys. None means no limit."""
    if value is None:
        return None
    nanoseconds: Fraction | int | None = None
    number: Any = None
    if isinstance(value, str):
        amount, unit = _parse(value, what)
        if unit == "i":
            number = amount
        else:
            nanoseconds = amount
    elif isinstance(value, datetime.timedelta) and not hasattr(value, "to_timedelta64"):
        nanoseconds = ((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds) * 1_000
    elif hasattr(value, "to_timedelta64") or isinstance(value, np.timedelta64):
        exact = value.to_timedelta64() if hasattr(value, "to_timedelta64") else value
        if np.isnat(exact):
            raise ValueError(f"{what} is NaT; pass a duration.")
        unit, count = np.datetime_data(exact.dtype)
        if unit == "generic":
            number = int(exact.astype(np.int64))
        elif unit not in _NUMPY_UNITS:
            raise ValueError(f"{what} {value!r}: months and years have no fixed length; use days.")
        else:
            nanoseconds = int(exact.astype(np.int64)) * count * _NUMPY_UNITS[unit]
    elif isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{what} has the type {type(value).__name__}; pass a number, a string such as '5s', or a timedelta."
        )
    else:
        number = value
    type_ = key.type
    if nanoseconds is not None:
        if not type_.is_time:
            raise TypeError(f"{what} is a duration, but {key.place} holds numbers; pass a number.")
        return Fraction(nanoseconds) / NANOSECONDS[type_.unit]
    if type_.is_time and units_differ:
        raise TypeError(f"{what} is a number, but the `on` columns have different units; pass a duration such as '5s'.")
    if isinstance(number, numbers.Real) and not isinstance(number, numbers.Rational):
        if math.isnan(number):
            raise ValueError(f"{what} is NaN; pass a distance.")
        if math.isinf(number):
            return math.copysign(math.inf, number)
        if type_.is_time:
            raise TypeError(
                f"{what} {number!r} is a float, and {key.place} has times in {_UNIT_NAMES[type_.unit]}; pass a "
                "duration such as '5s', or an integer of this unit."
            )
    return float(number) if type_.family == "float" else Fraction(number)


def tolerance_of(value: Any, key: Key, units_differ: bool) -> int | float | None:
    """The largest distance in units of the key: of integers, the distance rounded down, which allows the same rows."""
    exact = distance(value, key, "The tolerance", units_differ)
    if exact is None:
        return None
    if exact < 0:
        raise ValueError(f"The tolerance {value!r} is negative; pass a distance of 0 or more.")
    if key.type.family == "float":
        return float(exact)
    return None if exact == math.inf else math.floor(exact)


def window_end(
    value: Any, key: Key, is_lower: bool, is_closed: bool, units_differ: bool
) -> tuple[int | float | None, bool]:
    """An end of a window, relative to the left key, and whether it is closed; exact for integer keys."""
    exact = distance(
        value, key, "The lower end of the window" if is_lower else "The upper end of the window", units_differ
    )
    if exact is None or exact in (math.inf, -math.inf):
        if exact is not None and (exact > 0) == is_lower:
            raise ValueError("The window is infinitely far away; pass finite ends, or None for an end without a bound.")
        return None, True
    if key.type.family == "float":
        return float(exact), is_closed
    exact = Fraction(exact)
    if exact.denominator == 1:
        return int(exact), is_closed
    return (math.ceil(exact) if is_lower else math.floor(exact)), True


def check_window(window: Any, key: Key, units_differ: bool) -> None:
    """Refuses ends in the wrong order. A window between two neighbouring keys is empty, and no error."""
    lower = distance(window[0], key, "The lower end of the window", units_differ)
    upper = distance(window[1], key, "The upper end of the window", units_differ)
    if lower is not None and upper is not None and lower > upper:
        raise ValueError(
            f"The window ({window[0]!r}, {window[1]!r}) ends before it begins; give the lower end first, such as "
            f"({window[1]!r}, {window[0]!r})."
        )
