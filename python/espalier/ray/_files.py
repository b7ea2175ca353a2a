"""Files of a sharded table: durable writes, checksums, and the commit.

    current             JSON: the generation, its bounds file and the checksum of that file
    bounds/<name>       JSON: one generation (see _bounds.py)
    shards/<name>/      files of one shard, or one append; <name> begins with the generation that wrote it

Files never change. A file is complete and synced before a file that names it is written, and `current` is replaced by
one rename, the only commit: a process that is killed at any moment leaves the old or the new generation. What no
generation names is a leftover, which sweep() removes. Every file is compared with its checksum when it is opened, and a
file that differs is refused by its name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

_CHUNK = 1 << 20
_PLACE, _CHECK = struct.Struct("<QQI"), struct.Struct("<I")  # an entry of the index of a file of runs
Checksum = list[int]  # bytes, CRC-32: a list, because it is stored as JSON


def is_uri(path: Any) -> bool:
    return isinstance(path, str) and re.match("[A-Za-z][A-Za-z0-9+.-]*://", path) is not None


def sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(parent: str, name: str) -> str:
    """A folder that no other process has: `name`, or where it exists `name` with a number. Returns its name."""
    for attempt in itertools.count():
        made = name if attempt == 0 else f"{name}-{attempt}"
        try:
            os.mkdir(os.path.join(parent, made))
            return made
        except FileExistsError:
            pass  # of a killed process, or of another attempt of the same task
    raise AssertionError


def sync_file(path: str) -> Checksum:
    """Sync a file that another library wrote, and return its checksum."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return checksum_of(path)


def checksum_of(path: str, offset: int = 0, length: int | None = None) -> Checksum:
    checksum = size = 0
    with open(path, "rb") as file:
        file.seek(offset)
        while length is None or size < length:
            block = file.read(_CHUNK if length is None else min(_CHUNK, length - size))
            if not block:
                break
            checksum = zlib.crc32(block, checksum)
            size += len(block)
    return [size, checksum]


def damaged(path: str, why: str) -> ValueError:
    return ValueError(f"{path} is damaged: {why}; restore the file from a copy.")


def verify_file(path: str, expected: Checksum) -> None:
    found = checksum_of(path)
    if found[0] != expected[0]:
        raise damaged(path, f"it has {found[0]} bytes, and {expected[0]} were written")
    if found != expected:
        raise damaged(path, "its bytes do not have the checksum that was written")


# ---- JSON documents ----------------------------------------


def write_document(path: str, content: Any) -> Checksum:
    """Write JSON with its checksum as the last line, in one step. A file with this name is replaced."""
    body = json.dumps(content, separators=(",", ":")).encode()
    data = body + b"\n%08x\n" % zlib.crc32(body)
    temporary = f"{path}.{os.getpid()}.new"
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(os.path.dirname(path))
    return [len(data), zlib.crc32(data)]


def read_document(path: str, expected: Checksum | None = None) -> Any:
    with open(path, "rb") as file:
        data = file.read()
    body, checksum = data[:-10], data[-10:]
    if expected is not None and [len(data), zlib.crc32(data)] != expected:
        raise damaged(path, "its bytes do not have the checksum that was written")
    if checksum != b"\n%08x\n" % zlib.crc32(body):
        raise damaged(path, "its bytes do not have the checksum at its end")
    return json.loads(body)


# ---- runs: Arrow tables in one file, each with its checksum ----------------------------------------


class RunWriter:
    """Writes tables one after another into one file, each as an Arrow stream. Used for appended rows and, between the
    two passes of a build, for the rows of one piece by shard."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "xb")

    def write(self, table: pa.Table) -> list[int]:
        """Returns [offset, bytes, CRC-32]."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        data = sink.getvalue()
        offset = self._file.tell()
        self._file.write(data)
        return [offset, data.size, zlib.crc32(data)]

    def write_index(self, places: list[list[int] | None]) -> int:
        """Behind the tables: where each of them is. Returns where this index begins, for read_place()."""
        begin = self._file.tell()
        for n, place in enumerate(places):
            entry = _PLACE.pack(*(place or (0, 0, 0)))
            self._file.write(entry + _CHECK.pack(zlib.crc32(entry, n)))
        return begin

    def close(self, sync: bool) -> None:
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        self._file.close()


def read_place(path: str, index: int, n: int) -> list[int] | None:
    """Where table n is; None if nothing was written for it."""
    size = _PLACE.size + _CHECK.size
    with open(path, "rb") as file:
        file.seek(index + n * size)
        entry = file.read(size)
    if len(entry) != size or _CHECK.pack(zlib.crc32(entry[: _PLACE.size], n)) != entry[_PLACE.size :]:
        raise damaged(path, f"entry {n} of its index does not have the checksum that was written")
    offset, length, checksum = _PLACE.unpack(entry[: _PLACE.size])
    return [offset, length, checksum] if length else None


def read_run(path: str, place: list[int]) -> pa.Table:
    offset, length, checksum = place
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read(length)
    if len(data) != length or zlib.crc32(data) != checksum:
        raise damaged(path, f"bytes {offset} to {offset + length} do not have the checksum that was written")
    return pa.ipc.open_stream(data).read_all()


# ---- the commit ----------------------------------------


def create_folders(root: str) -> None:
    for folder in (root, os.path.join(root, "bounds"), os.path.join(root, "shards")):
        os.makedirs(folder, exist_ok=True)
    sync_folder(root)
    sync_folder(os.path.dirname(os.path.abspath(root)))


def read_current(root: str) -> dict[str, Any] | None:
    """{"generation", "bounds", "checksum"}, or None where nothing was committed."""
    try:
        return read_document(os.path.join(root, "current"))
    except FileNotFoundError:
        return None


def read_bounds(root: str, name: str, expected: Checksum | None = None) -> Any:
    return read_document(os.path.join(root, "bounds", name), expected)


def commit(root: str, generation: int, bounds: Any) -> None:
    """Make a generation the current one. All files that it names are synced; the caller is the only writer."""
    sync_folder(os.path.join(root, "shards"))
    checksum = write_document(os.path.join(root, "bounds", str(generation)), bounds)
    write_document(
        os.path.join(root, "current"), {"generation": generation, "bounds": str(generation), "checksum": checksum}
    )


@contextlib.contextmanager
def only_writer(root: str) -> Iterator[None]:
    """A lock of all processes that see this folder. The operating system releases it when a process ends."""
    handle = os.open(os.path.join(root, "writer.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise BlockingIOError(
                errno.EAGAIN, f"{root} has another writer; wait until its build, append or compaction is done."
            ) from None
        yield
    finally:
        os.close(handle)
