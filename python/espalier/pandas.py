"""pandas' own call, answered by espalier: `from espalier.pandas import merge_asof`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from . import _core
from ._join_types import Key, common_order, tolerance_of
from ._keywords import suggests
from .frames import PandasFrame, frame_of, pandas_key
from .joins import _Groups
from .prepared import column_names

__all__ = ["merge_asof"]

_CALL = "merge_asof()"


def _on(frame: PandasFrame, name: Any, use_index: bool, side: str) -> Key:
    if not use_index:
        names = column_names(name, f"{side}_on", _CALL)
        if len(names) != 1:
            raise ValueError(f"{_CALL}: `{side}_on` names one column, the column of the order.")
        return frame.key(names[0], side, _CALL)
    index = frame.native.index
    if index.nlevels != 1:
        raise ValueError(
            f"{_CALL}: the index of the {side} frame has {index.nlevels} levels; pass a column as `{side}_on`."
        )
    place = f"The index of the {side} frame"
    return Key(pandas_key(index.array, place), str(index.name or "index"), str(index.dtype), side)


@suggests(strategy="direction", by_left="left_by", by_right="right_by", suffix="suffixes")
def merge_asof(
    left: pd.DataFrame | pd.Series,
    right: pd.DataFrame | pd.Series,
    on: str | None = None,
    left_on: str | None = None,
    right_on: str | None = None,
    left_index: bool = False,
    right_index: bool = False,
    by: str | Sequence[str] | None = None,
    left_by: str | Sequence[str] | None = None,
    right_by: str | Sequence[str] | None = None,
    suffixes: tuple[str | None, str | None] = ("_x", "_y"),
    tolerance: Any = None,
    allow_exact_matches: bool = True,
    direction: str = "backward",
) -> pd.DataFrame:
    """As pandas.merge_asof(), but the rows may have any order, and NULL keys match nothing.

    The differences are listed in docs/python-joins.md.
    """
    if isinstance(left, pd.Series):
        left = left.to_frame()
    if isinstance(right, pd.Series):
        right = right.to_frame()
    first, second = frame_of(left, "left", _CALL), frame_of(right, "right", _CALL)
    if not isinstance(first, PandasFrame) or not isinstance(second, PandasFrame):
        raise TypeError(
            f"{_CALL} takes DataFrames of pandas; espalier.join_asof() takes the frames of other libraries."
        )
    if on is not None:
        if left_on is not None or right_on is not None or left_index or right_index:
            raise ValueError(
                f"{_CALL}: pass either `on`, or one of `left_on` and `left_index` and one of `right_on` and "
                "`right_index`."
            )
        left_on = right_on = on
    for side, name, use_index in (("left", left_on, left_index), ("right", right_on, right_index)):
        if (name is None) == (not use_index):
            raise ValueError(f"{_CALL}: pass exactly one of `{side}_on` and `{side}_index`, or `on`.")
    if by is not None:
        if left_by is not None or right_by is not None:
            raise ValueError(f"{_CALL}: pass either `by`, or `left_by` and `right_by`.")
        left_by = right_by = by
    if direction not in ("backward", "forward", "nearest"):
        raise ValueError(f"{_CALL}: the direction {direction!r} is not one of 'backward', 'forward', 'nearest'.")
    left_key, right_key = _on(first, left_on, left_index, "left"), _on(second, right_on, right_index, "right")
    units_differ = left_key.type.unit != right_key.type.unit
    left_key, right_key = common_order(left_key, right_key, _CALL)
    lefts, rights = column_names(left_by, "left_by", _CALL), column_names(right_by, "right_by", _CALL)
    groups = _Groups(
        [first.key(n, "left", _CALL) for n in lefts], [second.key(n, "right", _CALL) for n in rights], _CALL
    )
    rows = _core.asof_join(
        left_key.column,
        right_key.column,
        groups.left,
        groups.right,
        groups.count,
        left_key.order,
        right_key.order,
        direction,
        bool(allow_exact_matches),
        tolerance_of(tolerance, left_key, units_differ),
    )
    shared = {b for a, b in zip(lefts, rights) if a == b}
    if left_on is not None and left_on == right_on:
        shared.add(left_on)
    names = [n for n in second.names if n not in shared]
    both = set(names) & set(first.names)
    if both and (len(suffixes) != 2 or not any(suffixes)):
        raise ValueError(f"{_CALL}: both frames have the columns {sorted(both)}; pass two suffixes, one not empty.")
    renamed = [f"{n}{suffixes[1] or ''}" if n in both else n for n in names]
    if both and suffixes[0]:
        columns = {n: f"{n}{suffixes[0]}" for n in both}
        first = PandasFrame(first.native.rename(columns=columns))
    if len({*first.names, *renamed}) != len(first.names) + len(renamed):
        raise ValueError(f"{_CALL}: the answer would have two columns of the same name; pass other suffixes.")
    answer = first.build(renamed, second.take(names, np.asarray(rows)), True)
    if left_index or right_index:
        answer.index = left.index
    return answer
