"""Tables in range shards: the calls of espalier.Index and the joins, over one process or a cluster of Ray.

    import espalier.ray as er
    table = er.build("quotes", source="quotes/*.parquet", key=["sym", "time"], shards=64, values=["bid", "ask"])
    table.find(keys), table.count(lo, hi), table.sum("bid", lo, hi), table.range(lo, hi)
    er.join_asof(trades, table, on="time", by="sym")

Needs pyarrow; Ray (`pip install espalier[ray]`) only for backend="ray".
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

try:
    import pyarrow as _pyarrow  # noqa: F401
except ImportError:
    raise ImportError("espalier.ray needs pyarrow: pip install 'espalier[ray]'.") from None

from . import _build
from ._joins import count_between, join_asof, join_between, join_window
from ._table import Backend, Table, folder_of, progress_of

__all__ = ["Table", "build", "count_between", "join_asof", "join_between", "join_window", "open"]


def build(
    path: Any,
    source: Any,
    key: str | Sequence[str],
    *,
    shards: int,
    values: Sequence[str] = (),
    nulls: str = "refuse",
    like: Table | None = None,
    replace: bool = False,
    backend: str | None = None,
    progress: Any = None,
    piece_bytes: int = _build.PIECE_BYTES,
    **options: Any,
) -> Table:
    """Sort a source into range shards under the folder `path`, and open the table.

    source: Parquet files (names, folders, patterns, and URIs of these that pyarrow.fs reads, such as
    "s3://bucket/quotes"; each worker reads them itself, with the credentials of its environment), a frame, or a list of
    frames. key: columns in the order of the sort; of equal keys, rows keep their order. values: columns of numbers,
    bool and times that sum(), min(), max() and window joins aggregate. nulls: "refuse" or "drop" rows with a NULL in a key
    column. like: a table whose split points are used. replace: make a new generation of an existing table. progress:
    True, or a function of (stage, done, total).
    backend, options: as for open(). piece_bytes: about how much of the source one task reads at once."""
    names = [key] if isinstance(key, str) else list(key)
    if shards < 1:
        raise ValueError(f"build(): shards is {shards}; a table has one or more.")
    if nulls not in ("refuse", "drop"):
        raise ValueError(f"build(): nulls is {nulls!r}; use 'refuse' or 'drop'.")
    if not names or len(set(names)) != len(names):
        raise ValueError(f"build(): key is {names}; name one or more different columns.")
    root = folder_of(path)
    pieces, schema = _build.pieces_of(source, piece_bytes)
    for name in [*names, *values]:
        if name not in schema.names:
            raise KeyError(f"build(): the source has no column {name!r}; it has {schema.names}.")
    splits = None
    if like is not None:
        if [schema.field(name).type for name in names] != like._bounds.codec.types:
            raise TypeError(f"build(): the key columns have other types than those of the table in {like.root}.")
        splits = like._bounds.content["splits"]
    owners = _backend(root, backend, options)
    try:
        show = _build.Progress(progress_of(progress))
        _build.build(root, pieces, schema, names, list(values), shards, owners.executor, show, nulls, splits, replace)
        return Table(root, owners)
    except BaseException:
        owners.close()
        raise


def open(path: Any, *, backend: str | None = None, **options: Any) -> Table:
    """Open a table that build() made. backend: "local" (this process), "ray", or None: Ray if it is initialized.

    Options of Ray: owners (how many processes; by default one per CPU of the cluster, at most one per shard), num_cpus
    and num_gpus of each owner, gather_ms (how long small batches of several threads wait for each other), device
    ("cuda": owners keep the index of keys of one word, of up to 64 bits, on the GPU that they reserve by num_gpus)."""
    root = folder_of(path)
    return Table(root, _backend(root, backend, options))


def _backend(root: str, backend: str | None, options: dict[str, Any]) -> Backend:
    if backend is None:
        ray = sys.modules.get("ray")
        backend = "ray" if ray is not None and hasattr(ray, "is_initialized") and ray.is_initialized() else "local"
    if backend == "ray":
        from ._owners import Owners

        return Owners(root, **options)
    if backend != "local":
        raise ValueError(f"backend is {backend!r}; use 'local' or 'ray'.")
    if options:
        raise TypeError(f"{', '.join(options)}: options of backend='ray'.")
    from ._local import Local

    return Local(root)
