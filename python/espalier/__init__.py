"""Ordered indexes and ordered joins at memory speed."""

from __future__ import annotations

from . import _core
from ._index import Index

__version__ = ".".join(map(str, _core.version))
__all__ = ["Index", "__version__"]
