"""The right side of joins, sorted once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._join_types import Key, equality_as, equality_for_preparing, for_preparing, order_as
from .frames import NO_ROW, Frame, frame_as, frame_of

__all__ = ["Prepared", "open_prepared", "prepare"]


_ATTEMPTS = 2  # of a window join between appends, before it keeps them waiting
Columns = tuple[tuple[str, Callable[[Key], Any]], ...]


def column_names(value: Any, what: str, call: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(v, str) for v in value):
        return list(value)
    raise TypeError(f"{call}: `{what}` is a column name or a list of column names, not {value!r}.")


def column_name(value: Any, what: str, call: str) -> str:
    names = column_names(value, what, call)
    if len(names) != 1:
        raise ValueError(f"{call}: `{what}` names one column, the column of the order.")
    return names[0]


class Prepared:
    """The right side of joins, sorted once and joined many times: see prepare(). Thread-safe."""

    def __init__(self, frame: Any, on: str, by: str | Sequence[str] | None = None) -> None:
        call = "prepare()"
        self._make(frame_of(frame, "right", call), column_name(on, "on", call), column_names(by, "by", call), call)

    @classmethod
    def _restored(
        cls, frame: Frame, on: str, by: list[str], codes: np.ndarray | None, rows: np.ndarray | None
    ) -> Prepared:
        """Of a file: `codes` has the group of each row of the frame, `rows` one row of each group."""
        made = cls.__new__(cls)
        made._make(frame, on, by, "open_prepared()", codes, rows)
        return made

    def _make(
        self,
        frame: Frame,
        on: str,
        by: list[str],
        call: str,
        known: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self._frame, self.on, self.by = frame, on, tuple(by)
        key = for_preparing(frame.key(on, "right", call), call)
        encoded = frame if rows is None else type(frame)(frame.build(by, frame.take(by, rows, True), False))
        bys = [equality_for_preparing(encoded.key(name, "right", call), call) for name in self.by]
        self._groups = _core.JoinGroups() if self.by else None
        codes = None if self._groups is None else self._groups.encode([b.column for b in bys])
        if known is not None:
            codes = _recoded(known, codes)
        self._side = _core.PreparedSide(key.column, codes, self._group_count(), key.order)
        empty = np.zeros(0, np.uint32)
        self._key = key.with_column(key.column.take(empty), key.type).without_frame()
        self._by_keys = [_stub(b) for b in bys]
        self._latch = threading.RLock()
        self._pieces = [self._frame]
        self._frames: dict[str, Frame] = {}
        self._values: dict[tuple[Columns, tuple[str, ...]], tuple[Any, Frame]] = {}
        self._has_tails = False

    def _group_count(self) -> int:
        return 0 if self._groups is None else max(1, len(self._groups))  # 0 stands for a side without groups

    def __len__(self) -> int:
        return len(self._side)

    def __repr__(self) -> str:
        by = f", by={list(self.by)}" if self.by else ""
        return f"<espalier.Prepared: {len(self)} rows of {self._frame.kind}, on={self.on!r}{by}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or a copy has the frame, whose keys are sorted again: the groups are those of this process."""
        return prepare, (self.frame, self.on, self.by or None)

    @property
    def nbytes(self) -> int:
        """Memory of the sorted keys; the frame itself is not copied."""
        return self._side.nbytes

    @property
    def frame(self) -> Any:
        """The frame with all appended rows."""
        return self._whole().native

    def _whole(self) -> Frame:
        with self._latch:
            if len(self._pieces) > 1:
                first, *others = self._pieces
                self._frame = type(first)(first.concat(others))
                self._pieces = [self._frame]
                self._frames.clear()
            return self._frame

    def _as(self, kind: str, state: Frame | None = None) -> Frame:
        """The frame, or an earlier state of it, as one of another library."""
        with self._latch:
            whole = self._whole() if state is None else state
            if kind == whole.kind:
                return whole
            if whole is not self._frame:
                return frame_as(whole, kind)
            if kind not in self._frames:
                self._frames[kind] = frame_as(whole, kind)
            return self._frames[kind]

    def append(self, frame: Any) -> None:
        """Adds rows at the end. Cheap if their keys are not less than the last key of their group."""
        call = "Prepared.append()"
        more = frame_of(frame, "appended", call)
        if more.kind != self._frame.kind:
            more = frame_as(more, self._frame.kind)
        if set(more.names) != set(self._frame.names):
            raise ValueError(
                f"{call}: the appended frame has the columns {more.names}, and the prepared frame "
                f"{self._frame.names}; both must have the same."
            )
        if more.height == 0:
            return
        for name in self._frame.names:
            if not self._frame.can_append(more, name):
                raise TypeError(
                    f"{call}: column {name!r} has the dtype {more.dtype(name)}, and in the prepared frame "
                    f"{self._frame.dtype(name)}; convert it, because values would change."
                )
        key = order_as(more.key(self.on, "appended", call), self._key, call)
        bys = [equality_as(more.key(n, "appended", call), like, call) for n, like in zip(self.by, self._by_keys)]
        with self._latch:
            joined = type(more)(self._pieces[-1].concat([more]))  # before the keys: this may fail
            codes = None if self._groups is None else self._groups.encode([b.column for b in bys])
            rows = len(self._side) + more.height
            try:
                self._side.append(key.column, codes, self._group_count())
            finally:  # Ctrl-C during the append is raised behind it, when the rows are there
                if len(self._side) == rows:
                    self._pieces[-1] = joined
                    self._frame = joined
                    self._frames.clear()
                    self._values.clear()
                    self._has_tails = True

    def save(self, path: Any) -> None:
        """Write the frame and its groups to a file that es.open_prepared() reads. It replaces an older one in one
        step."""
        from . import _prepared_file

        _prepared_file.save(self, path)

    def _left(self, on: Key, by: list[Key], call: str) -> tuple[Key, np.ndarray | None]:
        if len(by) != len(self.by):
            raise ValueError(
                f"{call}: the right side is prepared by {list(self.by) or 'no columns'}; "
                f"the left side names {[k.name for k in by] or 'none'}."
            )
        key = order_as(on, self._key, call)
        if self._groups is None:
            return key, None
        columns = [equality_as(k, like, call).column for k, like in zip(by, self._by_keys)]
        return key, self._groups.lookup(columns)

    def _compact(self) -> None:
        """Before windows, which need the appended rows in the main part. Moves the rows under older values."""
        if self._has_tails:
            self._values.clear()  # first: if Ctrl-C follows the call, the side is only compacted once more
            self._side.compact()
            self._has_tails = False

    def _window_values(self, chosen: Columns, functions: tuple[str, ...], call: str) -> tuple[Any, Frame]:
        """Values for aggregates of windows, and the frame that they are of. `chosen`: (column, what makes a value
        column of its key)."""
        with self._latch:
            entry = self._values.get((chosen, functions))
            if entry is None:
                self._compact()
                whole = self._whole()
                columns = [value(whole.key(name, "right", call)) for name, value in chosen]
                entry = _core.WindowValues(self._side, columns, list(functions)), whole
                self._values[chosen, functions] = entry
            return entry

    def _window_join(
        self, chosen: Columns, functions: tuple[str, ...], call: str, arguments: tuple[Any, ...]
    ) -> tuple[list[Any], Frame]:
        """Answers of WindowValues.window_join(), and the frame that row numbers in them belong to."""
        for _ in range(_ATTEMPTS):
            values, whole = self._window_values(chosen, functions, call)
            answers = values.window_join(*arguments)
            if answers is not None:  # None: rows were appended in between
                return answers, whole
        with self._latch:  # appends wait
            values, whole = self._window_values(chosen, functions, call)
            answers = values.window_join(*arguments)
            assert answers is not None
            return answers, whole


def _recoded(known: np.ndarray, codes: Any) -> np.ndarray:
    """Codes of a file as those that the same groups have now."""
    now = np.asarray(codes)
    if np.array_equal(now, np.arange(len(now))):
        return known
    return np.append(now, np.uint32(NO_ROW))[np.minimum(known, len(now))]


def _is_text(key: Key) -> bool:
    return key.type.family in ("string", "binary")


def _stub(key: Key) -> Key:
    """The type of a column, without its rows."""
    if _is_text(key):
        return key.with_column(_core.JoinColumn.from_strings([]), key.type).without_frame()
    return key.with_column(key.column.take(np.zeros(0, np.uint32)), key.meaning).without_frame()


def prepare(frame: Any, on: str, by: str | Sequence[str] | None = None) -> Prepared:
    """Sorts the right side of joins once, so that it can be joined many times, also after appends at the end."""
    return Prepared(frame, on, by)


def open_prepared(path: Any, verify: bool = True) -> Prepared:
    """Read a side that Prepared.save() wrote. verify=False does not compare the checksums of its parts."""
    from . import _prepared_file  # json, mmap, tempfile: not needed by an import

    return _prepared_file.load(path, verify)
