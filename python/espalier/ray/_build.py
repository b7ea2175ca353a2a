"""Writers: build, append, compact, sweep. Each makes a new generation and commits it by one rename.

A build reads its source twice. The first pass samples keys and chooses split points; in the second one, every piece of
the source is divided by range into one file of runs, and then every range is read, sorted and written as a shard. A
task holds one piece or one shard in memory, the driver holds none of them. A task that is tried again writes files with
new names; what the first try left is swept.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import math
import os
import pathlib
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from ..frames import frame_as, frame_of
from . import _files, _shard
from ._bounds import VERSION, Bounds, range_of_rows, schema_to_json
from ._keys import Codec, take_keys, width_of

SAMPLES_PER_SHARD = 200
LEAST_SAMPLES = 1 << 14
PIECE_BYTES = 64 << 20
MOST_RUNS = 16  # of a range; the next append merges them, so that readers and the bounds file do not grow without end
_LAST_ROW = (1 << 63) - 1


class Executor(Protocol):
    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], done: Callable[[], None]
    ) -> list[Any]:
        """The answers of function(*arguments[i]), in this order. `done` is called after each."""


class InProcess:
    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], done: Callable[[], None]
    ) -> list[Any]:
        answers = []
        for one in arguments:
            answers.append(function(*one))
            done()
        return answers


# ---- sources ----------------------------------------


@dataclass(frozen=True)
class FilePiece:
    """Row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    first_row: int
    rows: int
    uri: str | None = None  # whose file system has the path; every worker opens that itself

    def read(self, schema: pa.Schema, columns: list[str]) -> pa.Table:
        with _parquet_file(self.path, self.uri) as file:
            table = file.read_row_groups(list(self.groups), columns=columns)
        return conform(table.select(columns), pa.schema([schema.field(c) for c in columns]), self.path)


@dataclass(frozen=True)
class TablePiece:
    table: pa.Table
    first_row: int
    path = "the source"

    @property
    def rows(self) -> int:
        return self.table.num_rows

    def read(self, schema: pa.Schema, columns: list[str]) -> pa.Table:
        return conform(self.table.select(columns), pa.schema([schema.field(c) for c in columns]), self.path)


@dataclass(frozen=True)
class RangePiece:
    """A range of an older generation."""

    root: str
    bounds: str
    range: int
    first_row: int
    rows: int

    @property
    def path(self) -> str:
        return f"{self.root}, range {self.range}"

    def read(self, schema: pa.Schema, columns: list[str]) -> pa.Table:
        tables = _shard.read_range(self.root, Bounds.named(self.root, self.bounds), self.range)
        return pa.concat_tables(tables).select(columns)


def conform(table: pa.Table, schema: pa.Schema, place: str) -> pa.Table:
    """The table with the columns and types of the schema; types are converted if no value changes."""
    for name in schema.names:
        if table.column_names.count(name) != 1:
            raise ValueError(f"{place} has {table.column_names.count(name)} columns {name!r}, and one is needed.")
    if len(table.column_names) != len(schema.names):
        more = sorted(set(table.column_names) - set(schema.names))
        raise ValueError(f"{place} has the columns {more}, which the table does not have.")
    table = table.select(schema.names)
    if table.schema.equals(schema):
        return table
    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"{place} cannot be converted to the types of the table: {error}.") from None


def arrow_of(frame: Any, call: str) -> pa.Table:
    table = frame_as(frame_of(frame, "given", call), "pyarrow").native
    return table.replace_schema_metadata(None)


def pieces_of(source: Any, piece_bytes: int) -> tuple[list[Any], pa.Schema]:
    if (
        isinstance(source, (str, os.PathLike))
        or isinstance(source, Sequence)
        and all(isinstance(one, (str, os.PathLike)) for one in source)
    ):
        return _files_pieces([source] if isinstance(source, (str, os.PathLike)) else list(source), piece_bytes)
    tables = list(source) if isinstance(source, Sequence) else [source]
    made: list[TablePiece] = []
    row = 0
    schema = None
    for table in tables:
        table = arrow_of(table, "build()")
        schema = schema or table.schema
        step = max(1, table.num_rows * piece_bytes // max(table.nbytes, 1))
        for begin in range(0, table.num_rows, step):
            made.append(TablePiece(table.slice(begin, step), row + begin))
        row += table.num_rows
    if schema is None:
        raise ValueError("build(): the source is an empty list; give Parquet files, or a frame with columns.")
    return list(made), schema


def _files_pieces(patterns: list[Any], piece_bytes: int) -> tuple[list[Any], pa.Schema]:
    made: list[FilePiece] = []
    row, schema = 0, None
    for pattern in map(os.fspath, patterns):
        uri = pattern if _files.is_uri(pattern) else None
        found = _files_of_uri(pattern) if uri is not None else _local_files(pattern)
        if not found:
            raise FileNotFoundError(f"build(): no file matches {pattern!r}.")
        for path in found:
            with _parquet_file(path, uri) as file:
                schema = schema or file.schema_arrow.remove_metadata()
                groups: list[int] = []
                size = rows = 0
                for i in range(file.num_row_groups):
                    group = file.metadata.row_group(i)
                    groups.append(i)
                    size, rows = size + group.total_byte_size, rows + group.num_rows
                    if size >= piece_bytes or i + 1 == file.num_row_groups:
                        made.append(FilePiece(path, tuple(groups), row, rows, uri))
                        row, groups, size, rows = row + rows, [], 0, 0
    assert schema is not None
    return list(made), schema


def _local_files(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        return _files_below(pyarrow.fs.LocalFileSystem(), os.path.abspath(pattern))
    found = [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern, recursive=True))
    return [os.path.abspath(path) for path in found]


def _files_of_uri(uri: str) -> list[str]:
    """Paths in its file system: of a file, of a folder, or of a pattern with *."""
    system, path = _file_system(uri)
    if "*" not in path:
        kind = system.get_file_info(path).type
        return [path] if kind == pyarrow.fs.FileType.File else _files_below(system, path)
    if "**" in path or any(c in path for c in "?["):
        raise ValueError(f"build(): the pattern {uri!r} may have only *, which stands for a part of one name.")
    parts = path.split("/")
    fixed = next(i for i, part in enumerate(parts) if "*" in part)
    is_deep = fixed + 1 < len(parts)
    selector = pyarrow.fs.FileSelector("/".join(parts[:fixed]), allow_not_found=True, recursive=is_deep)
    return sorted(
        info.path
        for info in system.get_file_info(selector)
        if info.type == pyarrow.fs.FileType.File
        and info.path.count("/") == path.count("/")
        and pathlib.PurePosixPath(info.path).match(path)
        and not any(part.startswith(".") for part in info.path.split("/")[fixed:])  # as in patterns of local files
    )


def _files_below(system: pyarrow.fs.FileSystem, folder: str) -> list[str]:
    """The Parquet files of a folder and of those in it, without names that begin with _ or .: other programs write
    there what is not complete."""
    folder = folder.rstrip("/")
    found = system.get_file_info(pyarrow.fs.FileSelector(folder, allow_not_found=True, recursive=True))
    return sorted(
        info.path
        for info in found
        if info.type == pyarrow.fs.FileType.File
        and info.path.endswith(".parquet")
        and not any(part.startswith(("_", ".")) for part in info.path[len(folder) + 1 :].split("/"))
    )


@functools.lru_cache(maxsize=64)
def _file_system(uri: str) -> tuple[pyarrow.fs.FileSystem, str]:
    try:
        return pyarrow.fs.FileSystem.from_uri(uri)
    except pa.ArrowInvalid as error:
        raise ValueError(f"build(): pyarrow cannot read the URI of a source: {error}.") from None


def _parquet_file(path: str, uri: str | None) -> pq.ParquetFile:
    return pq.ParquetFile(path, filesystem=None if uri is None else _file_system(uri)[0])


# ---- tasks ----------------------------------------


def sample_piece(piece: Any, schema: pa.Schema, key: list[str], wanted: int) -> tuple[Any, np.ndarray]:
    """Keys of random rows and the numbers of these rows, ascending. The same rows in every try."""
    codec = Codec(key, schema)
    rows = np.arange(piece.rows)
    if wanted < piece.rows:
        rows = np.sort(np.random.default_rng(piece.first_row).choice(piece.rows, wanted, replace=False))
    table = piece.read(schema, key)
    rows = rows[~_shard.is_null_key(table, key)[rows]]
    return codec.encode(_shard.take_rows(table, rows)), piece.first_row + rows


def divide_piece(
    piece: Any, schema: pa.Schema, key: list[str], splits_file: str, folder: str, nulls: str
) -> tuple[str, int, int]:
    """Write the rows of a piece, one run for each range. Returns (path, where its index begins, rows)."""
    codec = Codec(key, schema)
    table = piece.read(schema, schema.names)
    rows = piece.first_row + np.arange(table.num_rows)
    missing = _shard.is_null_key(table, key)
    if missing.any():
        if nulls == "refuse":
            raise ValueError(
                f"{piece.path}: {int(missing.sum())} of {table.num_rows} rows behind row {piece.first_row} have a NULL "
                f"in a key column ({', '.join(key)}); pass nulls='drop' to leave such rows out."
            )
        table, rows = _shard.take_rows(table, np.flatnonzero(~missing)), rows[~missing]
    splits = _files.read_document(splits_file)
    split_keys = codec.of_json(splits["keys"])
    ranges = range_of_rows(codec, split_keys, np.array(splits["rows"], np.int64), codec.encode(table), rows)
    path = os.path.join(folder, f"{piece.first_row}-{uuid.uuid4().hex}")
    return path, write_runs(path, table, ranges, len(splits["rows"]) + 1), table.num_rows


def write_runs(path: str, table: pa.Table, ranges: np.ndarray, count: int) -> int:
    order = np.argsort(ranges, kind="stable")
    ends = np.searchsorted(ranges[order], np.arange(count + 1))
    writer = _files.RunWriter(path)
    places: list[list[int] | None] = []
    for n in range(count):
        mine = order[ends[n] : ends[n + 1]]
        places.append(writer.write(_shard.take_rows(table, mine)) if len(mine) else None)
    index = writer.write_index(places)
    writer.close(sync=False)
    return index


def write_range(
    root: str, name: str, n: int, divided_file: str, schema: pa.Schema, key: list[str], values: list[str]
) -> dict[str, Any] | None:
    """Sort the runs of one range and write its base."""
    places = [(path, _files.read_place(path, index, n)) for path, index in _files.read_document(divided_file)]
    tables = [_files.read_run(path, place) for path, place in places if place is not None]
    table = pa.concat_tables([schema.empty_table(), *tables])
    return _shard.write_base(root, name, Codec(key, schema), table, values)


def merge_range(root: str, bounds: str, n: int, name: str) -> dict[str, Any] | None:
    """The base of a range together with its runs as a new base."""
    old = Bounds.named(root, bounds)
    table = pa.concat_tables([old.schema.empty_table(), *_shard.read_range(root, old, n)])
    return _shard.write_base(root, name, old.codec, table, old.values)


# ---- writers ----------------------------------------


class Progress:
    """One bar per stage; `show` is called with (stage, done, total)."""

    def __init__(self, show: Callable[[str, int, int], None] | None) -> None:
        self._show = show

    def stage(self, name: str, total: int) -> Callable[[], None]:
        done = 0
        if self._show is not None:
            self._show(name, 0, total)

        def step() -> None:
            nonlocal done
            done += 1
            if self._show is not None:
                self._show(name, done, total)

        return step


def choose_splits(codec: Codec, keys: Any, rows: np.ndarray, shards: int) -> dict[str, Any]:
    """Split points at equal distances in the sorted sample. A key that two of them have fills ranges of its own: the
    first one begins with it, the last one ends with it, and row numbers divide it between."""
    if len(rows) == 0:
        empty = codec.outside(max(shards - 1, 0), False).keys  # every row is behind these
        return {"keys": codec.to_json(empty), "rows": [0] * (shards - 1)}
    order = np.asarray(codec.index(keys).at(np.arange(len(rows)))[1]).astype(np.int64)
    picked = order[np.arange(1, shards) * len(order) // shards]
    split_keys, split_rows = codec.to_json(take_keys(keys, picked)), rows[picked].tolist()
    for i, split_key in enumerate(split_keys):
        is_first = i == 0 or split_keys[i - 1] != split_key
        is_last = i + 1 == len(split_keys) or split_keys[i + 1] != split_key
        if is_first or is_last:
            split_rows[i] = 0 if is_first else _LAST_ROW
    return {"keys": split_keys, "rows": split_rows}


@contextlib.contextmanager
def _spill_folder(root: str, generation: int) -> Iterator[str]:
    parent = os.path.join(root, "shards")
    folder = os.path.join(parent, _files.make_folder(parent, f"{generation}-build"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build(
    root: str,
    pieces: list[Any],
    schema: pa.Schema,
    key: list[str],
    values: list[str],
    shards: int,
    executor: Executor,
    progress: Progress,
    nulls: str,
    splits: dict[str, Any] | None = None,
    replace: bool = False,
) -> None:
    codec = Codec(key, schema)
    for name in values:
        if width_of(schema.field(name).type) is None:
            raise TypeError(
                f"value column {name!r} has the type {schema.field(name).type}; values are numbers, bool and times."
            )
    _files.create_folders(root)
    with _files.only_writer(root):
        current = _files.read_current(root)
        if current is not None and not replace:
            raise FileExistsError(f"{root} has a table; pass replace=True to replace it.")
        generation = 1 if current is None else current["generation"] + 1
        _rebuild(root, generation, pieces, schema, codec, values, shards, executor, progress, nulls, splits)
        sweep(root)


def _rebuild(
    root: str,
    generation: int,
    pieces: list[Any],
    schema: pa.Schema,
    codec: Codec,
    values: list[str],
    shards: int,
    executor: Executor,
    progress: Progress,
    nulls: str,
    splits: dict[str, Any] | None,
) -> None:
    key, total = codec.names, sum(piece.rows for piece in pieces)
    if splits is None:
        wanted = max(SAMPLES_PER_SHARD * shards, LEAST_SAMPLES)
        sizes = [math.ceil(wanted * piece.rows / max(total, 1)) for piece in pieces]
        step = progress.stage("sampling", len(pieces))
        samples = executor.map(sample_piece, [(p, schema, key, n) for p, n in zip(pieces, sizes)], step)
        rows = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in samples)])
        splits = choose_splits(codec, codec.concat([keys for keys, _ in samples]), rows, shards)
    shards = len(splits["rows"]) + 1
    with _spill_folder(root, generation) as folder:
        # What all tasks read is in files: the driver holds a few words per piece and per shard, and sends no more.
        splits_file, divided_file = os.path.join(folder, "splits"), os.path.join(folder, "divided")
        _files.write_document(splits_file, splits)
        step = progress.stage("dividing", len(pieces))
        divided = executor.map(divide_piece, [(p, schema, key, splits_file, folder, nulls) for p in pieces], step)
        _files.write_document(divided_file, [(path, index) for path, index, _ in divided])
        work = [(root, f"{generation}-{n}", n, divided_file, schema, key, values) for n in range(shards)]
        bases = executor.map(write_range, work, progress.stage("writing", shards))
    found, written = sum(rows for _, _, rows in divided), sum(base["rows"] for base in bases if base is not None)
    if found != written:
        raise ValueError(f"{folder}: of {found} rows that were divided, {written} came back; build the table again.")
    _commit(root, generation, schema, codec, values, splits, total, [{"base": base, "runs": []} for base in bases])


def _commit(
    root: str,
    generation: int,
    schema: pa.Schema,
    codec: Codec,
    values: list[str],
    splits: dict[str, Any],
    next_row: int,
    ranges: list[dict[str, Any]],
) -> None:
    content = {
        "version": VERSION,
        "generation": generation,
        "key": codec.names,
        "values": values,
        "schema": schema_to_json(schema),
        "splits": splits,
        "next_row": next_row,
        "ranges": ranges,
    }
    _files.commit(root, generation, content)


def append(root: str, frame: Any) -> None:
    with _files.only_writer(root):
        old = Bounds.read(root)
        table = conform(arrow_of(frame, "append()"), old.schema, "append(): the frame")
        missing = _shard.is_null_key(table, old.key)
        if missing.any():
            raise ValueError(
                f"append(): row {int(np.argmax(missing))} has a NULL in a key column ({', '.join(old.key)})."
            )
        if table.num_rows == 0:
            return
        table = table.combine_chunks()
        row, generation = old.content["next_row"], old.generation + 1
        ranges = old.range_of_rows(old.codec.encode(table), row)
        parent = os.path.join(root, "shards")
        name = _files.make_folder(parent, f"{generation}-append")
        path = os.path.join(parent, name, "run")
        entries = [dict(range_) for range_ in old.ranges]
        runs: dict[int, dict[str, Any]] = {}
        order = np.arange(table.num_rows)
        for n in np.unique(ranges).tolist():
            mine = _shard.take_rows(table, order[ranges == n])
            if len(entries[n]["runs"]) >= MOST_RUNS:  # older rows first, as equal keys are in the order of the rows
                older = _shard.read_runs(root, entries[n]["runs"])
                mine, entries[n]["runs"] = pa.concat_tables([*older, mine]), []
            mine, keys = _shard.sort_rows(old.codec, mine)
            runs[n] = {"table": mine, **_shard.describe(old.codec, mine, keys, old.values)}
        writer = _files.RunWriter(path)
        for n, run in runs.items():
            place = writer.write(run.pop("table"))
            entries[n]["runs"] = [*entries[n]["runs"], {"folder": name, "place": place, **run}]
        writer.close(sync=True)
        _files.sync_folder(os.path.dirname(path))
        _commit(
            root, generation, old.schema, old.codec, old.values, old.content["splits"], row + table.num_rows, entries
        )


def compact(root: str, shards: int | None, executor: Executor, progress: Progress) -> None:
    """Make one base of the base and the runs of each range; with `shards` new split points, too."""
    with _files.only_writer(root):
        old = Bounds.read(root)
        name, generation = str(old.generation), old.generation + 1
        if shards is not None:
            pieces, row = [], 0
            for n, range_ in enumerate(old.ranges):
                rows = sum(part["rows"] for part in ([range_["base"]] if range_["base"] else []) + range_["runs"])
                if rows:
                    pieces.append(RangePiece(root, name, n, row, rows))
                row += rows
            _rebuild(
                root, generation, pieces, old.schema, old.codec, old.values, shards, executor, progress, "refuse", None
            )
        else:
            changed = [n for n, range_ in enumerate(old.ranges) if range_["runs"]]
            if not changed:
                return
            step = progress.stage("compacting", len(changed))
            bases = executor.map(merge_range, [(root, name, n, f"{generation}-{n}") for n in changed], step)
            entries = [dict(range_) for range_ in old.ranges]
            for n, base in zip(changed, bases):
                entries[n] = {"base": base, "runs": []}
            row = old.content["next_row"]
            _commit(root, generation, old.schema, old.codec, old.values, old.content["splits"], row, entries)
        sweep(root)


def sweep(root: str, keep: int = 2) -> list[str]:
    """Remove what none of the last `keep` generations names: older generations, and what killed writers left. Only for
    the writer. Returns the names."""
    if keep < 1:
        raise ValueError(f"sweep(): keep is {keep}; the current generation is always kept.")
    current = _files.read_current(root)
    last = 0 if current is None else current["generation"]
    folder = os.path.join(root, "bounds")
    committed = sorted((int(name) for name in os.listdir(folder) if name.isdigit() and int(name) <= last), reverse=True)
    kept = {str(generation) for generation in committed[:keep]}
    used: set[str] = set()
    for name in kept:
        for range_ in _files.read_bounds(root, name)["ranges"]:
            used.update(part["folder"] for part in ([range_["base"]] if range_["base"] else []) + range_["runs"])
    removed = _remove(folder, (name for name in os.listdir(folder) if name not in kept))
    shards = os.path.join(root, "shards")
    removed += _remove(shards, (name for name in os.listdir(shards) if name not in used))
    return removed + _remove(root, (name for name in os.listdir(root) if name.endswith(".new")))


def _remove(folder: str, names: Iterable[str]) -> list[str]:
    removed = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
            removed.append(name)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise
            # A task whose driver was killed still writes, or removes what it wrote: left for the next sweep.
    return removed
