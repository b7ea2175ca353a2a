"""The namespace `df.es` of polars DataFrames: `import espalier.polars`, then `df.es.join_asof(quotes, on="time")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from . import joins

__all__ = ["EspalierNamespace"]


@pl.api.register_dataframe_namespace("es")
class EspalierNamespace:
    """The joins of espalier with this DataFrame as the left frame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def join_asof(self, right: Any, on: str | None = None, **options: Any) -> pl.DataFrame:
        """See espalier.join_asof()."""
        return joins.join_asof(self._frame, right, on, **options)

    def join_window(
        self,
        right: Any,
        on: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        window: tuple[Any, Any],
        agg: Mapping[str, str | Sequence[str]],
        **options: Any,
    ) -> pl.DataFrame:
        """See espalier.join_window()."""
        return joins.join_window(self._frame, right, on, by, window=window, agg=agg, **options)

    def join_between(self, spans: Any, on: str, start: str, finish: str, **options: Any) -> pl.DataFrame:
        """See espalier.join_between(): this frame has the points."""
        return joins.join_between(self._frame, spans, on, start, finish, **options)

    def join_overlaps(
        self, right: Any, start: str | None = None, finish: str | None = None, **options: Any
    ) -> pl.DataFrame:
        """See espalier.join_overlaps()."""
        return joins.join_overlaps(self._frame, right, start, finish, **options)

    def aggregate_between(
        self, points: Any, on: str, start: str, finish: str, *, agg: Mapping[str, str | Sequence[str]], **options: Any
    ) -> pl.DataFrame:
        """See espalier.aggregate_between(): this frame has the spans."""
        return joins.aggregate_between(points, self._frame, on, start, finish, agg=agg, **options)

    def aggregate_overlaps(
        self,
        right: Any,
        start: str | None = None,
        finish: str | None = None,
        *,
        agg: Mapping[str, str | Sequence[str]],
        **options: Any,
    ) -> pl.DataFrame:
        """See espalier.aggregate_overlaps()."""
        return joins.aggregate_overlaps(self._frame, right, start, finish, agg=agg, **options)

    def prepare(self, on: str, by: str | Sequence[str] | None = None) -> joins.Prepared:
        """See espalier.prepare(): this frame becomes the right side of joins."""
        return joins.prepare(self._frame, on, by)
