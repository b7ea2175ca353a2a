"""Frames of polars, pandas and pyarrow, and dicts of NumPy arrays, as the joins use them.

A frame gives key columns (JoinColumn), gathers columns by row numbers, and builds an answer of its own kind. None of
the libraries is imported before a frame of it arrives.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._core import JoinColumn, join_count_missing, join_take_array
from ._join_types import INTEGERS, Key
from ._lists import array_of_column, can_append

NO_ROW = 0xFFFFFFFF
_FIRST_INEXACT = 2**53  # float64 holds the integers below it
_NUMPY_FORMATS = {
    "i1": "c",
    "i2": "s",
    "i4": "i",
    "i8": "l",
    "u1": "C",
    "u2": "S",
    "u4": "I",
    "u8": "L",
    "f4": "f",
    "f8": "g",
    "b1": "?",
}
_NUMPY_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


def numpy_key(values: np.ndarray, place: str, zone: str = "", missing: np.ndarray | None = None) -> JoinColumn:
    """A key column of a NumPy array; `place` names it in errors."""
    if values.ndim != 1:
        raise ValueError(f"{place} has {values.ndim} dimensions; pass one-dimensional arrays.")
    dtype = values.dtype
    if dtype.kind != "O" and not dtype.isnative:
        raise TypeError(f"{place} has the dtype {dtype}, which is not in the byte order of this machine; convert it.")
    if dtype.kind in "Mm":
        unit, count = np.datetime_data(dtype)
        if unit == "generic":
            raise TypeError(f"{place} has the dtype {dtype} without a unit; convert it.")
        if unit not in _NUMPY_UNITS or count != 1:
            fine = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "us" if unit in ("ms", "us") else "ns"
            exact = values.astype(f"{dtype.kind}8[{fine}]")
            if unit in ("ps", "fs", "as") and not np.array_equal(exact.astype(dtype), values, equal_nan=True):
                raise ValueError(f"{place} has the dtype {dtype} with values between nanoseconds; convert it.")
            values, unit = exact, fine
        format = f"ts{_NUMPY_UNITS[unit]}:{zone}" if dtype.kind == "M" else f"tD{_NUMPY_UNITS[unit]}"
        times = np.ascontiguousarray(values).view(np.int64)
        return JoinColumn.from_array(times, format, missing, True)
    if dtype.kind in "US":
        size = 4 if dtype.kind == "U" else 1
        length = dtype.itemsize // size
        if length == 0:
            return JoinColumn.from_strings([""] * len(values))
        plain = np.ascontiguousarray(values)
        characters = plain.view(np.uint32 if size == 4 else np.uint8)
        column = JoinColumn.from_characters(characters, length, size == 4)
        return column if missing is None else _without(column, missing)
    if dtype.kind in "OT":
        texts = [None if t is None or t != t else t for t in values.tolist()]
        if missing is not None:
            texts = [None if m else t for t, m in zip(texts, missing.tolist())]
        try:
            return JoinColumn.from_strings(texts)
        except TypeError:
            raise TypeError(f"{place} has the dtype {dtype} and values that are not strings; convert it.") from None
    format = _NUMPY_FORMATS.get(f"{dtype.kind}{dtype.itemsize}", "")
    if not format:
        raise TypeError(f"{place} has the dtype {dtype}, which joins cannot compare; convert it.")
    plain = np.ascontiguousarray(values)
    # NumPy and pandas have no other NULL of floats than NaN.
    return JoinColumn.from_array(
        plain.view(np.uint8) if dtype.kind == "b" else plain, format, missing, dtype.kind == "f"
    )


def _without(column: JoinColumn, missing: np.ndarray) -> JoinColumn:
    rows = np.arange(len(missing), dtype=np.uint32)
    rows[missing] = NO_ROW
    return JoinColumn.from_dictionary(JoinColumn.from_rows(rows), column)


def take_numpy(values: np.ndarray, rows: np.ndarray, fill: Any = None) -> np.ndarray:
    """values[rows], with `fill` (zero bytes if it is None) where the row is NO_ROW."""
    plain = np.ascontiguousarray(values)
    if plain.dtype.kind in "OTUSV" or plain.dtype.itemsize not in (1, 2, 4, 8, 16) or plain.ndim != 1:
        missing = rows == NO_ROW
        if len(plain) == 0:
            out = np.empty((len(rows), *plain.shape[1:]), plain.dtype)
        else:
            out = plain[np.where(missing, 0, rows)]
        if fill is not None or plain.dtype.kind != "O":
            out[missing] = np.zeros((), plain.dtype) if fill is None else fill
        else:
            out[missing] = None
        return out
    if plain.dtype == np.float64 and fill is np.nan:  # one pass instead of two
        return JoinColumn.from_array(plain, "g").take_doubles(rows)
    width = plain.dtype.itemsize
    filler = (np.zeros(1, plain.dtype) if fill is None else np.array([fill], plain.dtype)).tobytes()
    words = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}[width]
    return join_take_array(plain.view(words), rows, filler).view(plain.dtype)


class _DtypeOf:
    """The dtype of a column as text, made when it is needed: of an Enum of polars with 4,000 values it takes 0.6 ms."""

    def __init__(self, frame: Frame, name: str) -> None:
        self._frame, self._name = frame, name

    def __str__(self) -> str:
        return self._frame.dtype(self._name)


class Frame:
    """One frame. `native` is the object of the user."""

    kind = ""

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def names(self) -> list[str]:
        raise NotImplementedError

    @property
    def height(self) -> int:
        raise NotImplementedError

    def dtype(self, name: str) -> str:
        raise NotImplementedError

    def can_append(self, other: Frame, name: str) -> bool:
        """Whether the rows of both can be put together without a change of values in this column. polars and Arrow
        refuse other types themselves."""
        return True

    def column(self, name: str, place: str) -> JoinColumn:
        raise NotImplementedError

    def order(self, name: str) -> str:
        return "detect"

    def take(self, names: list[str], rows: np.ndarray, exact: bool = False) -> list[Any]:
        """Columns of the frame's library. `exact`: integers that float64 does not hold stay integers."""
        raise NotImplementedError

    def build(self, names: list[str], columns: list[Any], to_the_right: bool) -> Any:
        """A frame of columns; with `to_the_right`, to the right of all columns of this one."""
        raise NotImplementedError

    def of_column(self, column: JoinColumn, dtype_of: str | None = None, source: str | None = None) -> Any:
        """A column of the frame's library from an answer; of the dtype of another column, if one is named. `source`:
        the column whose values it aggregates."""
        raise NotImplementedError

    def concat(self, others: list[Frame]) -> Any:
        raise NotImplementedError

    def key(self, name: str, side: str, call: str) -> Key:
        if name not in self.names:
            raise KeyError(f"{call}: the {side} frame has no column {name!r}; it has {_list(self.names)}.")
        place = f"Column {name!r} of the {side} frame"
        return Key(self.column(name, place), name, _DtypeOf(self, name), side, self.order(name))


def _list(names: list[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:12])
    return shown + (", ..." if len(names) > 12 else "") if names else "no columns"


class PolarsFrame(Frame):
    kind = "polars"

    @property
    def names(self) -> list[str]:
        return self.native.columns

    @property
    def height(self) -> int:
        return self.native.height

    def dtype(self, name: str) -> str:
        return str(self.native.get_column(name).dtype)

    def column(self, name: str, place: str) -> JoinColumn:
        return self._column(self.native.get_column(name))

    @staticmethod
    def _column(series: Any) -> JoinColumn:
        if series.n_chunks() > 1:
            series = series.rechunk()
        return JoinColumn.from_stream(series.__arrow_c_stream__())

    def order(self, name: str) -> str:
        return "sorted" if self.native.get_column(name).flags.get("SORTED_ASC") else "detect"

    def take(self, names: list[str], rows: np.ndarray, exact: bool = False) -> list[Any]:
        import polars as pl

        # Row numbers with polars' own gather take twice as long (docs/design/python.md), but know every type.
        index, taken = None, []
        for name in names:
            series = self.native.get_column(name)
            dtype = series.dtype  # polars makes it at every access
            if series.n_chunks() == 1 and (
                dtype.is_numeric()
                and not dtype.is_decimal()
                and dtype.to_python() is not None
                and dtype not in (pl.Int128,)
                or dtype.is_temporal()
                or dtype in (pl.String, pl.Binary, pl.Boolean)
            ):
                column = self._column(series)
                if column.layout in ("fixed", "bits", "views"):
                    taken.append(pl.Series(name, column.take(rows)).alias(name))
                    continue
            if index is None:
                index = pl.Series("row", JoinColumn.from_rows(rows))
            taken.append(series.gather(index))
        return taken

    def build(self, names: list[str], columns: list[Any], to_the_right: bool) -> Any:
        import polars as pl

        series = [column.alias(name) for name, column in zip(names, columns)]
        return self.native.hstack(series) if to_the_right else pl.DataFrame(series)

    def of_column(self, column: JoinColumn, dtype_of: str | None = None, source: str | None = None) -> Any:
        import polars as pl

        series = pl.Series("", column)
        return series if dtype_of is None else series.cast(self.native.get_column(dtype_of).dtype)

    def concat(self, others: list[Frame]) -> Any:
        import polars as pl

        return pl.concat([self.native, *(o.native for o in others)], rechunk=False)


class PandasFrame(Frame):
    kind = "pandas"

    @property
    def names(self) -> list[str]:
        return list(self.native.columns)

    @property
    def height(self) -> int:
        return len(self.native)

    def dtype(self, name: str) -> str:
        return str(self.native[name].dtype)

    def can_append(self, other: Frame, name: str) -> bool:
        return can_append(self.native[name], other.native[name])

    def column(self, name: str, place: str) -> JoinColumn:
        return pandas_key(self.native[name].array, place)

    def key(self, name: str, side: str, call: str) -> Key:
        if list(self.native.columns).count(name) > 1:
            raise ValueError(f"{call}: the {side} frame has several columns {name!r}; rename them.")
        return super().key(name, side, call)

    def take(self, names: list[str], rows: np.ndarray, exact: bool = False) -> list[Any]:
        import pandas as pd

        missing = join_count_missing(rows)
        signed: np.ndarray | None = None
        taken: list[Any] = []
        for name in names:
            series = self.native[name]
            dtype = series.dtype
            if isinstance(dtype, np.dtype) and dtype.kind not in "OV" and not (missing and dtype.kind == "b"):
                values = series.to_numpy()
                if not dtype.isnative:
                    values = values.astype(dtype.newbyteorder("="))
                if missing and dtype.kind in "iu":
                    out = numpy_key(values, f"Column {name!r}").take_doubles(rows)
                    if exact and dtype.itemsize == 8 and (np.abs(out) >= _FIRST_INEXACT).any():
                        mask = rows == NO_ROW
                        out = pd.arrays.IntegerArray(take_numpy(values, rows), mask)
                else:
                    fill = np.nan if dtype.kind in "fc" else np.array("NaT", dtype)[()] if dtype.kind in "mM" else None
                    out = take_numpy(values, rows, fill)
                taken.append(out)
                continue
            if signed is None:
                signed = rows.astype(np.int64)
                signed[rows == NO_ROW] = -1
            taken.append(
                pd.api.extensions.take(series.array, signed, allow_fill=True)
                if not isinstance(dtype, np.dtype)
                else pd.api.extensions.take(series.to_numpy(), signed, allow_fill=True)
            )
        return taken

    def build(self, names: list[str], columns: list[Any], to_the_right: bool) -> Any:
        import pandas as pd

        height = len(columns[0]) if columns else len(self.native) if to_the_right else 0
        made = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(height), copy=False)
        made.columns = pd.Index(names, dtype=object) if not names else names
        if not to_the_right:
            return made
        left = self.native.reset_index(drop=True)
        return pd.concat([left, made], axis=1) if names else left

    def of_column(self, column: JoinColumn, dtype_of: str | None = None, source: str | None = None) -> Any:
        import pandas as pd

        if column.format in INTEGERS:
            dtype = None if source is None else self.native[source].dtype
            is_nullable = dtype is not None and not isinstance(dtype, np.dtype)
            if is_nullable or column.nulls and column.format in "lL":
                values, missing = column.values().view(_DTYPES[column.format]), column.missing()
                present = values[~missing]
                if is_nullable or (present >= _FIRST_INEXACT).any() or (present <= -_FIRST_INEXACT).any():
                    if isinstance(dtype, pd.ArrowDtype):
                        import pyarrow as pa

                        return pd.arrays.ArrowExtensionArray(pa.array(column))
                    return pd.arrays.IntegerArray(values.copy(), missing)
        values = numpy_of(column)
        if dtype_of is not None and values.dtype.kind in "Mm":
            dtype = self.native[dtype_of].dtype
            if not isinstance(dtype, np.dtype):
                return pd.Series(values).dt.tz_localize("UTC").dt.tz_convert(dtype.tz).array
        return values

    def concat(self, others: list[Frame]) -> Any:
        import pandas as pd

        return pd.concat([self.native, *(o.native for o in others)], ignore_index=True)


def pandas_key(array: Any, place: str) -> JoinColumn:
    """A key column of an extension array of pandas."""
    import pandas as pd

    dtype = array.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = np.ascontiguousarray(array.codes)
        return JoinColumn.from_dictionary(numpy_key(codes, place), pandas_key(dtype.categories.array, place))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return JoinColumn.from_array(
            np.ascontiguousarray(array.view("i8")), f"ts{_NUMPY_UNITS[dtype.unit]}:{dtype.tz}", None, True
        )
    if isinstance(dtype, np.dtype):
        values = array.to_numpy()
        if dtype.kind != "O":
            return numpy_key(values, place)
        codes, distinct = pd.factorize(values)  # -1 is NULL
        return JoinColumn.from_dictionary(numpy_key(codes, place), numpy_key(np.asarray(distinct, object), place))
    if hasattr(array, "__arrow_array__") and (
        isinstance(dtype, pd.ArrowDtype)
        or "pyarrow" in str(dtype.__dict__)
        or getattr(dtype, "storage", "") == "pyarrow"
    ):
        return arrow_key(array.__arrow_array__())
    if isinstance(dtype, pd.StringDtype):
        codes, distinct = pd.factorize(array.to_numpy(dtype=object))
        return JoinColumn.from_dictionary(numpy_key(codes, place), numpy_key(np.asarray(distinct, object), place))
    numpy_dtype = getattr(dtype, "numpy_dtype", None)  # Int64, Float64, boolean
    if numpy_dtype is not None:
        missing = np.asarray(array.isna())
        zero: Any = False if np.dtype(numpy_dtype).kind == "b" else 0
        values = array.to_numpy(dtype=numpy_dtype, na_value=zero)
        return numpy_key(values, place, missing=missing if missing.any() else None)
    raise TypeError(f"{place} has the dtype {dtype}, which joins cannot compare; convert it.")


def arrow_key(column: Any) -> JoinColumn:
    """A key column of a pyarrow Array or ChunkedArray."""
    if hasattr(column, "num_chunks"):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if hasattr(column, "num_chunks"):  # dictionaries of several chunks, or no chunk at all
            column = column.unify_dictionaries().combine_chunks()
            if hasattr(column, "num_chunks"):
                return JoinColumn.from_stream(column.__arrow_c_stream__())
    return JoinColumn.from_capsules(*column.__arrow_c_array__())


class ArrowFrame(Frame):
    kind = "pyarrow"

    @property
    def names(self) -> list[str]:
        return self.native.column_names

    @property
    def height(self) -> int:
        return self.native.num_rows

    def dtype(self, name: str) -> str:
        return str(self.native.schema.field(name).type)

    def column(self, name: str, place: str) -> JoinColumn:
        if self.names.count(name) > 1:
            raise ValueError(f"{place} is there several times; rename the columns.")
        return arrow_key(self.native.column(name))

    def take(self, names: list[str], rows: np.ndarray, exact: bool = False) -> list[Any]:
        import pyarrow as pa

        index, taken = None, []
        for name in names:
            chunked = self.native.column(name)
            column = arrow_key(chunked)  # one piece: pyarrow gathers from several pieces slowly, and not every type
            if column.layout in ("fixed", "bits", "views"):
                taken.append(pa.array(column.take(rows)).cast(chunked.type))
                continue
            if index is None:
                index = pa.array(JoinColumn.from_rows(rows))
            taken.append(chunked.take(index))
        return taken

    def build(self, names: list[str], columns: list[Any], to_the_right: bool) -> Any:
        import pyarrow as pa

        if not to_the_right:
            return pa.table(dict(zip(names, columns)))
        table = self.native
        for name, column in zip(names, columns):
            table = table.append_column(name, column)
        return table

    def of_column(self, column: JoinColumn, dtype_of: str | None = None, source: str | None = None) -> Any:
        import pyarrow as pa

        array = pa.array(column)
        return array if dtype_of is None else array.cast(self.native.schema.field(dtype_of).type)

    def concat(self, others: list[Frame]) -> Any:
        import pyarrow as pa

        return pa.concat_tables([self.native, *(o.native for o in others)])


class DictFrame(Frame):
    kind = "dict"

    def __init__(self, native: dict[str, Any]) -> None:
        made = {name: array_of_column(values, name) for name, values in native.items()}
        lengths = {name: len(values) for name, values in made.items()}
        for name, length in lengths.items():
            if length != next(iter(lengths.values())):
                first = next(iter(lengths))
                raise ValueError(
                    f"Array {name!r} has {length} elements and {first!r} has {lengths[first]}; all arrays "
                    "of a frame have one element per row."
                )
        super().__init__(made)

    @property
    def names(self) -> list[str]:
        return list(self.native)

    @property
    def height(self) -> int:
        return len(next(iter(self.native.values()))) if self.native else 0

    def dtype(self, name: str) -> str:
        return str(self.native[name].dtype)

    def can_append(self, other: Frame, name: str) -> bool:
        return can_append(self.native[name], other.native[name])

    def column(self, name: str, place: str) -> JoinColumn:
        values = self.native[name]
        if isinstance(values, np.ma.MaskedArray):
            return numpy_key(values.data, place, missing=np.ascontiguousarray(np.ma.getmaskarray(values)))
        return numpy_key(values, place)

    def take(self, names: list[str], rows: np.ndarray, exact: bool = False) -> list[Any]:
        missing = join_count_missing(rows)
        taken: list[Any] = []
        for name in names:
            values = self.native[name]
            kind = values.dtype.kind
            mask = None
            if isinstance(values, np.ma.MaskedArray):
                mask = take_numpy(np.ma.getmaskarray(values), rows, True)
                values = values.data
            elif missing and kind not in "fcmMO":
                mask = rows == NO_ROW
            fill = np.nan if kind in "fc" else np.array("NaT", values.dtype)[()] if kind in "mM" else None
            out = take_numpy(values, rows, fill)
            taken.append(out if mask is None else np.ma.MaskedArray(out, mask))
        return taken

    def build(self, names: list[str], columns: list[Any], to_the_right: bool) -> Any:
        made = dict(zip(names, columns))
        return {**self.native, **made} if to_the_right else made

    def of_column(self, column: JoinColumn, dtype_of: str | None = None, source: str | None = None) -> Any:
        if column.nulls and column.format in INTEGERS:
            return np.ma.MaskedArray(column.values().view(_DTYPES[column.format]).copy(), column.missing())
        return numpy_of(column)

    def concat(self, others: list[Frame]) -> Any:
        return {
            name: np.ma.concatenate([values, *(o.native[name] for o in others)])
            if any(isinstance(o.native[name], np.ma.MaskedArray) for o in (self, *others))
            else np.concatenate([values, *(o.native[name] for o in others)])
            for name, values in self.native.items()
        }


_DTYPES = {
    "c": "i1",
    "C": "u1",
    "s": "i2",
    "S": "u2",
    "i": "i4",
    "I": "u4",
    "l": "i8",
    "L": "u8",
    "f": "f4",
    "g": "f8",
    "?": "b1",
    "tdD": "i4",
}


def numpy_of(column: JoinColumn) -> np.ndarray:
    """An answer as a NumPy array: NULL is NaN or NaT; integers with NULLs become floats."""
    format = column.format
    units = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
    dtype = _DTYPES.get(format)
    if dtype is None and format[:2] in ("ts", "tD"):
        dtype = f"{'M' if format[:2] == 'ts' else 'm'}8[{units[format[2]]}]"
    if dtype is None:
        raise TypeError(f"Values of Arrow's format {format!r} have no dtype of NumPy.")
    values = column.values().view(dtype)
    if format == "tdD":
        values = values.astype("M8[D]")
    if column.nulls:
        missing = column.missing()
        values = values.astype(np.float64) if values.dtype.kind in "iub" else values.copy()
        values[missing] = np.nan if values.dtype.kind == "f" else np.array("NaT", values.dtype)
    elif not values.flags.writeable:
        values = values.view()
    return values


def frame_of(native: Any, side: str, call: str) -> Frame:
    """The frame of an argument; `side` names it in errors."""
    if isinstance(native, dict):
        return DictFrame(native)
    for name, cls in (("polars", PolarsFrame), ("pandas", PandasFrame), ("pyarrow", ArrowFrame)):
        module = sys.modules.get(name)
        if module is None or type(native).__module__.partition(".")[0] != name:
            base = module and next((c for c in type(native).__mro__ if c.__module__.partition(".")[0] == name), None)
            if not base:
                continue
        if name == "polars" and type(native).__name__ == "LazyFrame":
            raise TypeError(f"{call}: the {side} frame is a LazyFrame; call collect() first.")
        if name == "pyarrow" and type(native).__name__ == "RecordBatch":
            return ArrowFrame(module.Table.from_batches([native]))  # type: ignore[union-attr]
        wanted = module.Table if name == "pyarrow" else module.DataFrame  # type: ignore[union-attr]
        if isinstance(native, wanted):
            return cls(native)
    raise TypeError(
        f"{call}: the {side} frame has the type {type(native).__name__}; pass a DataFrame of polars or pandas, "
        "a pyarrow Table or a dict of NumPy arrays."
    )


def frame_as(frame: Frame, kind: str) -> Frame:
    """The frame as one of another library."""
    if frame.kind == kind:
        return frame
    native = frame.native
    if kind == "polars":
        import polars as pl

        return PolarsFrame(pl.DataFrame(native))
    if kind == "pandas":
        import pandas as pd

        made = PandasFrame(pd.DataFrame(native) if frame.kind == "dict" else native.to_pandas())
        for name in frame.names:  # integers with NULL became floats
            if frame.names.count(name) == 1 and frame.dtype(name).lower() in ("int64", "uint64"):
                if made.native[name].dtype.kind == "f":
                    made.native[name] = made.of_column(frame.column(name, f"Column {name!r}"))
        return made
    if kind == "pyarrow":
        import pyarrow as pa

        return ArrowFrame(pa.Table.from_pandas(native) if frame.kind == "pandas" else pa.table(native))
    return DictFrame({name: frame.native[name].to_numpy() for name in frame.names})
