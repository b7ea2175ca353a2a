"""Files of indexes and of prepared sides of joins: arrays with checksums, mapped by open() and open_prepared().

magic "ESPINDEX", u32 length and u32 CRC-32 of the header, the header (JSON, then spaces), then parts at multiples of
64 bytes: arrays, or bytes that a library of frames wrote.

espalier.open() maps the file. Row numbers stay mapped; the tree above the keys is built from the mapped arrays, in
one pass over sorted keys and values, because a tree in memory has pointers and aggregates that a file does not have.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
import zlib
from typing import Any

import numpy as np

from . import _core
from ._index import Index

_MAGIC = b"ESPINDEX"
_VERSION = 1
_ALIGNMENT = 64
_LARGEST = 2**63


class CheckedFile:
    """A file to write to that counts the bytes and their CRC-32; for libraries that write into Python's files."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.bytes = self.crc32 = 0
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self.crc32 = zlib.crc32(view, self.crc32)
        self.bytes += len(view)
        return len(view)

    def tell(self) -> int:
        return self.bytes

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _header(fields: dict[str, Any], parts: list[dict[str, Any]]) -> bytes:
    return json.dumps({"version": _VERSION, **fields, "parts": parts}).encode()


def write(path: Any, fields: dict[str, Any], parts: list[Any]) -> None:
    """A file of these header fields and parts: arrays, functions that write bytes, and values, which go to the header.
    It replaces an older file in one step."""
    longest: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, np.ndarray) or callable(part):
            dtype = part.dtype.str if isinstance(part, np.ndarray) else "|u1"
            longest.append({"dtype": dtype, "n": _LARGEST, "offset": _LARGEST, "crc32": _LARGEST})
        else:
            longest.append({"value": part})
    room = len(_header(fields, longest))  # the header is written last, when offsets and checksums are known
    start = -(-(16 + room) // _ALIGNMENT) * _ALIGNMENT
    target = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(target))
    handle, temporary = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            entries = [_write_part(file, start, part) for part in parts]
            header = _header(fields, entries).ljust(room)
            file.seek(0)
            file.write(_MAGIC + struct.pack("<II", room, zlib.crc32(header)) + header + b"\0" * (start - 16 - room))
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_part(file: Any, start: int, part: Any) -> dict[str, Any]:
    if not isinstance(part, np.ndarray) and not callable(part):
        return {"value": part}
    end = max(file.tell(), start)
    at = -(-end // _ALIGNMENT) * _ALIGNMENT
    file.write(b"\0" * (at - file.tell()))
    checked = CheckedFile(file)
    if isinstance(part, np.ndarray):
        dtype, count = part.dtype.str, len(part)
        if part.nbytes:
            checked.write(np.ascontiguousarray(part).view(np.uint8))
    else:
        part(checked)
        dtype, count = "|u1", checked.bytes
    return {"dtype": dtype, "n": count, "offset": at - start, "crc32": checked.crc32}


def read(path: Any, verify: bool) -> tuple[str, dict[str, Any], list[Any]]:
    """Name, header and parts of a file; arrays are mapped."""
    name = os.fspath(path)
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 16:
            raise ValueError(f"{name} is not an index of espalier: it has {size} bytes.")
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if memory[:8] != _MAGIC:
        raise ValueError(f"{name} is not an index of espalier: it does not begin with {_MAGIC.decode()}.")
    length, checksum = struct.unpack_from("<II", memory, 8)
    encoded = memory[16 : 16 + length]
    if len(encoded) != length or zlib.crc32(encoded) != checksum:
        raise ValueError(f"{name} is damaged: its header does not have the checksum that was written.")
    header = json.loads(encoded)
    if header["version"] > _VERSION:
        raise ValueError(
            f"{name} has format {header['version']}, and this espalier reads {_VERSION}: install a newer one."
        )
    start = -(-(16 + length) // _ALIGNMENT) * _ALIGNMENT
    parts = []
    for part in header["parts"]:
        if "dtype" not in part:
            parts.append(part["value"])
            continue
        dtype = np.dtype(part["dtype"])
        at = start + part["offset"]
        if at + part["n"] * dtype.itemsize > size:
            raise ValueError(f"{name} is truncated: it has {size} bytes.")
        empty = part["n"] == 0 or dtype.itemsize == 0
        data = np.empty(part["n"], dtype) if empty else np.frombuffer(memory, dtype, part["n"], at)
        if verify and not empty and zlib.crc32(data.view(np.uint8).data) != part["crc32"]:
            raise ValueError(f"{name} is damaged: an array does not have the checksum that was written.")
        parts.append(data)
    return name, header, parts


def save(index: Index, path: Any) -> None:
    tree = type(index._tree).__name__ if index.device == "cpu" else "FixedIndex"  # of which a GPU's has the parts
    write(path, {"tree": tree, "keep": index.keep}, list(index._tree.parts()))


def load(path: Any, verify: bool, device: Any = None) -> Index:
    name, header, parts = read(path, verify)
    if header["tree"] == "Prepared":
        raise ValueError(f"{name} holds a prepared side of joins; open it with espalier.open_prepared().")
    if header["tree"] not in ("FixedIndex", "TextIndex"):
        raise ValueError(f"{name} holds a {header['tree']}, which this espalier does not know.")
    if device is not None:
        from . import _gpu

        if header["tree"] != "FixedIndex":
            raise TypeError(f"{name} holds an index of text, which works in host memory: open it without device.")
        return Index._of_tree(_gpu.GpuIndex.of_parts(*parts, header["keep"], _gpu.devices.ordinal_of(device)))
    return Index._of_tree(getattr(_core, header["tree"]).of_parts(*parts, header["keep"]))
