"""Files of prepared sides: the frame, and the group of each row.

The container is that of _file.py, with `tree` "Prepared". Parts: with `by`, the group code of each row (u32) and a row
of each group (u32); then the frame: an Arrow IPC file, or arrays for a dict of NumPy arrays. Nothing in the file is
code.

Rows are in the order of `on`: a frame in another order is sorted, stably, when it is saved, which no answer shows. The
sorted keys of the groups are not stored: opening brings them together by one pass over keys and codes. It neither sorts
nor encodes `by` columns, and maps the frames of all libraries but pandas.
"""

from __future__ import annotations

import inspect
import io
import zlib
from typing import Any

import numpy as np

from ._file import CheckedFile, read, write
from ._join_types import equality_as, order_as
from .frames import NO_ROW, ArrowFrame, DictFrame, Frame, PandasFrame, PolarsFrame, numpy_of
from .prepared import Prepared

_NO_GROUP = NO_ROW  # of rows that match nothing
_PLAIN = "biufcMmUS"  # kinds of dtypes whose arrays are bytes


def save(side: Prepared, path: Any) -> None:
    call = "Prepared.save()"
    with side._latch:
        frame = _in_order(side._whole(), side, call)
        parts: list[Any] = []
        groups = 0
        if side._groups is not None:
            keys = [equality_as(frame.key(n, "right", call), k, call) for n, k in zip(side.by, side._by_keys)]
            codes, rows = _codes_and_rows(side._groups.lookup([k.column for k in keys]), len(side._groups))
            parts, groups = [codes, rows], len(rows)
        fields: dict[str, Any] = {
            "tree": "Prepared",
            "keep": None,
            "on": side.on,
            "by": list(side.by),
            "rows": frame.height,
            "groups": groups,
            "frame": frame.kind,
            "sorted": frame.order(side.on) == "sorted",
        }
    if isinstance(frame, DictFrame):
        columns, arrays = _arrays(frame, call)
        fields["columns"], parts = columns, parts + arrays
    else:
        parts.append(_ipc_writer(frame, call))
        if isinstance(frame, PolarsFrame):
            fields["schema_crc32"] = _schema_crc32(frame)
    write(path, fields, parts)


def load(path: Any, verify: bool) -> Prepared:
    name, header, parts = read(path, verify)
    if header["tree"] != "Prepared":
        raise ValueError(f"{name} holds an index; open it with espalier.open().")
    codes: np.ndarray | None = None
    rows: np.ndarray | None = None
    if header["by"]:
        codes, rows, *parts = parts
    frame = _frame_of_arrays(header["columns"], parts) if header["frame"] == "dict" else _read_ipc(header, parts[0])
    if header["sorted"] and isinstance(frame, PolarsFrame):
        frame = PolarsFrame(frame.native.set_sorted(header["on"]))
    if frame.height != header["rows"]:
        raise ValueError(f"{name} is damaged: its frame has {frame.height} rows and not {header['rows']}.")
    if codes is not None and rows is not None:
        # The library uses codes and rows as positions.
        right = len(codes) == frame.height and len(rows) == header["groups"]
        if not right or (codes[codes != _NO_GROUP] >= len(rows)).any() or (rows >= frame.height).any():
            raise ValueError(f"{name} is damaged: the groups of its rows are not those of its frame.")
    return Prepared._restored(frame, header["on"], header["by"], codes, rows)


def _in_order(frame: Frame, side: Prepared, call: str) -> Frame:
    key = order_as(frame.key(side.on, "right", call), side._key, call)
    try:
        values = numpy_of(key.column)
    except TypeError:  # times of day: they are sorted again by each open_prepared()
        return frame
    if (values[1:] >= values[:-1]).all():
        return frame
    rows = np.argsort(values, kind="stable").astype(np.uint32)  # NaN and NaT, which match nothing, are the last
    return type(frame)(frame.build(frame.names, frame.take(frame.names, rows, True), False))


def _codes_and_rows(codes: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes without gaps, and the first row of each group. An append that failed may have left groups without rows."""
    n = len(codes)
    slots = np.minimum(codes, groups)
    first = np.full(groups + 1, n, np.int64)
    first[slots[::-1]] = np.arange(n - 1, -1, -1)  # the last assignment stays
    present = first[:groups] < n
    if not present.all():
        renumbered = np.append(np.cumsum(present) - 1, _NO_GROUP).astype(np.uint32)
        codes = renumbered[slots]
    return codes, first[:groups][present].astype(np.uint32)


def _arrays(frame: DictFrame, call: str) -> tuple[list[dict[str, str]], list[np.ndarray]]:
    columns: list[dict[str, str]] = []
    arrays: list[np.ndarray] = []
    for name, values in frame.native.items():
        if not isinstance(name, str):
            raise TypeError(f"{call}: column {name!r} has no name of type str.")
        if values.dtype.kind == "O" and not isinstance(values, np.ma.MaskedArray):
            form, made = "text", _text_arrays(values, name, call)
        elif values.dtype.kind not in _PLAIN or values.ndim != 1:
            raise TypeError(f"{call}: column {name!r} has the dtype {values.dtype}, which is not saved; convert it.")
        elif isinstance(values, np.ma.MaskedArray):
            form, made = "masked", [values.data, np.ascontiguousarray(np.ma.getmaskarray(values))]
        else:
            form, made = "plain", [values]
        columns.append({"name": name, "form": form})
        arrays += made
    return columns, arrays


def _text_arrays(values: np.ndarray, name: str, call: str) -> list[np.ndarray]:
    """Offsets (-1: None) and bytes."""
    texts, offsets, end = [], [], 0
    for value in values.tolist():
        if value is None:
            offsets.append(-1)
            continue
        if not isinstance(value, str):
            raise TypeError(
                f"{call}: column {name!r} has a value of type {type(value).__name__}; of dtype object only str and "
                "None are saved. Convert the column."
            )
        texts.append(value.encode("utf-8", "surrogatepass"))
        offsets.append(end)
        end += len(texts[-1])
    return [np.array(offsets, np.int64), np.frombuffer(b"".join(texts), np.uint8)]


def _texts(offsets: np.ndarray, encoded: np.ndarray) -> np.ndarray:
    data, end, made = encoded.tobytes(), len(encoded), np.empty(len(offsets), object)
    for i in range(len(offsets) - 1, -1, -1):
        if offsets[i] >= 0:
            made[i] = data[offsets[i] : end].decode("utf-8", "surrogatepass")
            end = int(offsets[i])
    return made


def _frame_of_arrays(columns: list[dict[str, str]], arrays: list[np.ndarray]) -> DictFrame:
    rest = iter(arrays)
    made: dict[str, Any] = {}
    for column in columns:
        values = next(rest)
        if column["form"] == "text":
            made[column["name"]] = _texts(values, next(rest))
        elif column["form"] == "masked":
            made[column["name"]] = np.ma.MaskedArray(values, next(rest))
        else:
            made[column["name"]] = values
    return DictFrame(made)


def _ipc_writer(frame: Frame, call: str) -> Any:
    if isinstance(frame, PolarsFrame):  # in one record batch, which can be mapped as one piece
        options = {"record_batch_size": max(1, frame.height)}
        if "record_batch_size" not in inspect.signature(frame.native.write_ipc).parameters:  # older than polars 2
            options = {}
        return lambda file: frame.native.write_ipc(file, compression="uncompressed", **options)
    if isinstance(frame, PandasFrame):
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError(f"{call}: frames of pandas are saved by pyarrow; install it.") from None
        table = pa.Table.from_pandas(frame.native, preserve_index=False)
    else:
        table = frame.native

    def write_table(file: CheckedFile) -> None:
        import pyarrow as pa

        with pa.ipc.new_file(pa.PythonFile(file, mode="w"), table.schema) as sink:
            sink.write_table(table)

    return write_table


def _schema_crc32(frame: PolarsFrame) -> int:
    return zlib.crc32(str(list(frame.native.schema.items())).encode())


def _read_ipc(header: dict[str, Any], data: np.ndarray) -> Frame:
    if header["frame"] == "polars":
        return _mapped_polars(header, data) or _read_polars(data)
    import pyarrow as pa

    table = pa.ipc.open_file(pa.py_buffer(data)).read_all()
    return PandasFrame(table.to_pandas()) if header["frame"] == "pandas" else ArrowFrame(table)


def _mapped_polars(header: dict[str, Any], data: np.ndarray) -> PolarsFrame | None:
    """The frame over the mapped bytes, which polars alone would copy twice. None without pyarrow, and if pyarrow does
    not know a type of polars."""
    import polars as pl

    try:
        import pyarrow as pa

        table = pa.ipc.open_file(pa.py_buffer(data)).read_all()
    except ImportError:
        return None
    except pa.ArrowException:
        return None
    frame = PolarsFrame(pl.from_arrow(table, rechunk=False))
    return frame if _schema_crc32(frame) == header["schema_crc32"] else None


def _read_polars(data: np.ndarray) -> PolarsFrame:
    import polars as pl

    return PolarsFrame(pl.read_ipc(io.BytesIO(data.data)).rechunk())  # joins take one piece
