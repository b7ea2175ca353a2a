"""Ordered indexes and ordered joins at memory speed."""

from __future__ import annotations

from . import _core
from ._file import open
from ._index import Index
from ._sorted_map import SortedMap



def __getattr__(name: str) -> object:
    # espalier.sql is imported at first use: it needs pyarrow, which nothing else does.
    if name == "sql":
        import importlib

        return importlib.import_module(".sql", __name__)
    raise AttributeError(f"module 'espalier' has no attribute {name!r}")


__version__ = ".".join(map(str, _core.version))
__all__ = ["Index", "SortedMap", "open", "__version__"]
