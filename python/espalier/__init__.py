"""Ordered indexes and ordered joins at memory speed."""

from __future__ import annotations

from . import _core
from ._index import Index, open
from ._sorted_map import SortedMap

__version__ = ".".join(map(str, _core.version))
__all__ = ["Index", "SortedMap", "open", "__version__"]
