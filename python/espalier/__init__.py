"""Ordered indexes and ordered joins at memory speed."""

from __future__ import annotations

from . import _core

__version__ = ".".join(map(str, _core.version))
__all__ = ["__version__"]
