"""Files of indexes: the sorted arrays of an Index with checksums, mapped by open().

magic "ESPINDEX", u32 length and u32 CRC-32 of the header, the header (JSON), then arrays at multiples of 64 bytes.

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


def save(index: Index, path: Any) -> None:
    parts: list[dict[str, Any]] = []
    arrays: list[np.ndarray] = []
    offset = 0
    for part in index._tree.parts():
        if isinstance(part, np.ndarray):
            data = np.ascontiguousarray(part)
            parts.append({"dtype": data.dtype.str, "n": len(data), "offset": offset, "crc32": _checksum(data)})
            arrays.append(data)
            offset += -(-data.nbytes // _ALIGNMENT) * _ALIGNMENT
        else:
            parts.append({"value": part})
    header = json.dumps(
        {"version": _VERSION, "tree": type(index._tree).__name__, "keep": index.keep, "parts": parts}
    ).encode()
    target = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(target))
    handle, temporary = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + struct.pack("<II", len(header), zlib.crc32(header)) + header)
            for data in arrays:
                file.write(b"\0" * (-file.tell() % _ALIGNMENT))
                file.write(data.view(np.uint8).data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: Any, verify: bool) -> Index:
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
        data = np.frombuffer(memory, dtype=dtype, count=part["n"], offset=at) if part["n"] else np.empty(0, dtype)
        if verify and _checksum(data) != part["crc32"]:
            raise ValueError(f"{name} is damaged: an array does not have the checksum that was written.")
        parts.append(data)
    if header["tree"] not in ("FixedIndex", "TextIndex"):
        raise ValueError(f"{name} holds a {header['tree']}, which this espalier does not know.")
    return Index._of_tree(getattr(_core, header["tree"]).of_parts(*parts, header["keep"]))


def _checksum(data: np.ndarray) -> int:
    return zlib.crc32(data.view(np.uint8).data) if len(data) else 0
