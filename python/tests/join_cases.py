"""Frames of all libraries, random sides, and straightforward oracles for the tests of the joins."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

KINDS = ("polars", "pandas", "pyarrow", "dict")


def frame(kind: str, columns: dict[str, list[Any]], types: dict[str, pl.DataType] | None = None) -> Any:
    """A frame of a library from lists; None is NULL."""
    made = pl.DataFrame(columns, schema_overrides=types or {}, strict=False)
    if kind == "polars":
        return made
    if kind == "pyarrow":
        return pa.table(made)
    if kind == "pandas":
        return made.to_pandas()
    out = {}
    for name in made.columns:
        series = made[name]
        if series.null_count() and series.dtype.is_integer():
            out[name] = np.ma.MaskedArray(series.fill_null(0).to_numpy(), series.is_null().to_numpy())
        elif series.dtype == pl.String:
            out[name] = np.array(series.to_list(), dtype=object)
        else:
            out[name] = series.to_numpy()
    return out


def lists(answer: Any) -> dict[str, list[Any]]:
    """Columns of a frame of any library; NULL, NaN and NaT are None."""
    if isinstance(answer, pl.DataFrame):
        columns = answer.to_dict(as_series=False)
    elif isinstance(answer, pd.DataFrame):
        columns = {str(n): answer[n].tolist() for n in answer.columns}
    elif isinstance(answer, pa.Table):
        columns = answer.to_pydict()
    else:
        columns = {n: v.tolist() for n, v in answer.items()}
    return {
        n: [None if v is None or v is pd.NaT or (isinstance(v, float) and math.isnan(v)) else v for v in values]
        for n, values in columns.items()
    }


def kind_of(answer: Any) -> str:
    return "dict" if isinstance(answer, dict) else type(answer).__module__.partition(".")[0]


def missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def asof_oracle(
    left_keys: list[Any],
    right_keys: list[Any],
    left_groups: list[Any] | None,
    right_groups: list[Any] | None,
    strategy: str,
    exact: bool,
    tolerance: Any,
) -> list[int | None]:
    """The right row of each left row, by looking at every pair."""
    rows: list[int | None] = []
    for i, key in enumerate(left_keys):
        best: tuple[Any, ...] | None = None
        for j, other in enumerate(right_keys):
            if missing(key) or missing(other):
                continue
            if left_groups is not None and (missing_group(left_groups[i]) or left_groups[i] != right_groups[j]):
                continue
            if other == key and not exact:
                continue
            is_back = other <= key
            if (strategy == "backward" and not is_back) or (strategy == "forward" and other < key):
                continue
            distance = abs(other - key)
            if tolerance is not None and distance > tolerance:
                continue
            # Backward takes the last row of equal keys, forward the first; nearest prefers the backward row.
            rank = (distance, 0, -j) if strategy != "forward" and is_back else (distance, 1, j)
            if best is None or rank < best[0]:
                best = rank, j
        rows.append(None if best is None else best[1])
    return rows


def missing_group(group: Any) -> bool:
    return any(missing(g) for g in group) if isinstance(group, tuple) else missing(group)


def keys(rng: random.Random, rows: int, shape: str, nulls: bool) -> list[int | None]:
    if shape == "equal":
        values: list[int | None] = [5] * rows
    else:
        values = [rng.randrange(-20, 20) for _ in range(rows)]
        if shape != "random":
            values.sort(reverse=shape == "reversed")
    if nulls:
        values = [None if rng.random() < 0.2 else v for v in values]
    return values
