"""Ordered indexes and ordered joins at memory speed."""

from __future__ import annotations

from . import _core
from ._index import Index, open
from ._sorted_map import SortedMap
from .joins import (
    Prepared,
    aggregate_between,
    aggregate_overlaps,
    count_between,
    count_overlaps,
    join_asof,
    join_between,
    join_overlaps,
    join_window,
    open_prepared,
    prepare,
)

__version__ = ".".join(map(str, _core.version))
__all__ = [
    "Index",
    "Prepared",
    "SortedMap",
    "__version__",
    "aggregate_between",
    "aggregate_overlaps",
    "count_between",
    "count_overlaps",
    "join_asof",
    "join_between",
    "join_overlaps",
    "join_window",
    "open",
    "open_prepared",
    "prepare",
]


def __getattr__(name: str) -> object:
    # These import other libraries (espalier.sql: pyarrow), so they are loaded at their first use.
    if name in ("pandas", "polars", "ray", "sql"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
