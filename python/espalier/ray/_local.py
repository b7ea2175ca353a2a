"""What an owner does, and the backend without Ray, where the calling process owns all shards."""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from .. import _core
from ._bounds import Bounds, Request
from ._build import Executor, InProcess
from ._files import read_current
from ._keys import Asked
from ._shard import Base, Shard, take_rows
from ._table import Stale

KEPT_GENERATIONS = 2


def bytes_of(value: Any) -> int:
    """Bytes of the arrays of a request or an answer."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (pa.Table, pa.Array)):
        return value.get_total_buffer_size()
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_of, value))
    if hasattr(value, "keys") and hasattr(value, "after"):
        return bytes_of(value.keys) + bytes_of(value.after)
    return 0


class Reader:
    """Open shards of a table, of the last generations that were asked for. Everything in it comes from files."""

    def __init__(self, root: str, device: str | None = None) -> None:
        self.root = root
        self._device = device
        self._bounds: dict[int, Bounds] = {}
        self._shards: dict[tuple[int, int], Shard] = {}
        self._bases: dict[str, Base] = {}
        self._latch = threading.Lock()

    def bounds(self, generation: int) -> Bounds:
        """Raises Stale if its file was swept."""
        with self._latch:
            if generation not in self._bounds:
                try:
                    self._keep(Bounds.named(self.root, str(generation)))
                except FileNotFoundError:
                    raise Stale(generation) from None
            return self._bounds[generation]

    def _keep(self, bounds: Bounds) -> None:
        self._bounds[bounds.generation] = bounds
        for old in sorted(self._bounds)[:-KEPT_GENERATIONS]:
            if old != bounds.generation:
                del self._bounds[old]
        self._shards = {place: shard for place, shard in self._shards.items() if place[0] in self._bounds}
        used = {r["base"]["folder"] for kept in self._bounds.values() for r in kept.ranges if r["base"] is not None}
        self._bases = {folder: base for folder, base in self._bases.items() if folder in used}

    def shard(self, bounds: Bounds, n: int) -> Shard:
        place = bounds.generation, n
        with self._latch:
            if bounds.generation not in self._bounds:
                self._keep(bounds)
            if place not in self._shards:
                self._shards[place] = Shard.open(self.root, n, bounds, self._bases, self._device)
            return self._shards[place]

    def serve(self, bounds: Bounds, requests: list[Request]) -> list[Any]:
        try:
            return [getattr(self.shard(bounds, int(bounds.full[r.range])), r.operation)(*r.arguments) for r in requests]
        except FileNotFoundError as error:
            current = read_current(self.root)
            if current is not None and current["generation"] != bounds.generation:
                raise Stale(bounds.generation) from None  # swept
            raise ValueError(f"{error.filename} is damaged: it is missing; restore the file from a copy.") from None

    def find_mine(
        self,
        bounds: Bounds,
        ranges: list[int],
        words: np.ndarray,
        flip: int,
        valid: np.ndarray | None,
        columns: list[str],
    ) -> tuple[np.ndarray, pa.Table | None, list[int]]:
        """Of the keys `words ^ flip` those that belong to some ranges: a bit for each key of the batch that there is,
        the rows in the order of the batch (None without columns), and the number of keys of each of the ranges."""
        part = bounds.select(words, flip, valid, ranges)
        groups = part.groups()
        requests = [Request(r, "find", (part.keys[a:b], columns), b - a) for r, a, b in groups]
        flags = np.zeros(len(part.keys), bool)
        tables = []
        for (_, begin, end), (some, table) in zip(groups, self.serve(bounds, requests)):
            flags[begin:end] = some
            tables.append(table)
        counts = np.diff([0, *part.ends])[ranges].tolist()
        rows = None
        if columns:
            schema = pa.schema([bounds.schema.field(name) for name in columns])
            rows = take_rows(pa.concat_tables([schema.empty_table(), *tables]), np.argsort(part.places[flags]))
        return _core.place_bits(flags, part.places, len(words)), rows, counts

    def rows(self, bounds: Bounds, i: int) -> pa.Table:
        """All rows of the i-th range with rows, in key order."""
        everything = bounds.codec.outside(1, False), bounds.codec.outside(1, True)
        ((_, table),) = self.serve(bounds, [Request(i, "rows_between", (*everything, bounds.schema.names), 1)])
        return table

    @property
    def open_bytes(self) -> int:
        with self._latch:
            return sum(base.bytes for base in self._bases.values())

    @property
    def open_shards(self) -> int:
        with self._latch:
            return len(self._shards)


class Traffic:
    """Calls, bytes and the load of each shard, counted by the router. The load is that of the newest split points that
    were seen: other ones make other shards of the same numbers."""

    def __init__(self) -> None:
        self._latch = threading.Lock()
        self.calls = self.requests = self.sent = self.received = 0
        self.load: Counter[int] = Counter()
        self._bounds: Bounds | None = None  # the newest

    def follow(self, bounds: Bounds) -> bool:
        """Whether the shards of these bounds are those that the load is of. Newer bounds with other split points reset
        the load."""
        with self._latch:
            return self._follow(bounds)

    def load_of(self, bounds: Bounds) -> Counter[int]:
        """A copy of the load of the shards of these bounds."""
        with self._latch:
            return Counter(self.load) if self._follow(bounds) else Counter()

    def _follow(self, bounds: Bounds) -> bool:
        newest = self._bounds
        if bounds is newest:
            return True
        is_same = newest is not None and bounds.content["splits"] == newest.content["splits"]
        if newest is None or bounds.generation > newest.generation:
            self._bounds = bounds
            if not is_same:
                self.load = Counter()
            return True
        return is_same

    def add(self, bounds: Bounds, requests: list[Request], answers: list[Any], calls: int) -> None:
        sent = sum(bytes_of(r.arguments) for r in requests)
        self.count(bounds, calls, sent, bytes_of(answers), [(r.range, r.weight) for r in requests])

    def count(self, bounds: Bounds, calls: int, sent: int, received: int, work: list[tuple[int, int]]) -> None:
        """`work`: (range with rows, questions) of each request."""
        with self._latch:
            self.calls += calls
            self.requests += len(work)
            self.sent += sent
            self.received += received
            if self._follow(bounds):
                for range_, weight in work:
                    self.load[int(bounds.full[range_])] += weight

    def status(self) -> dict[str, int]:
        return {"calls": self.calls, "requests": self.requests, "sent": self.sent, "received": self.received}


def shards_of(bounds: Bounds, load: Counter[int], owners: Any) -> list[dict[str, Any]]:
    """The rows of status()."""
    made = []
    for n, range_ in enumerate(bounds.ranges):
        base = range_["base"]
        files = sum(size for size, _ in base["files"].values()) if base else 0
        made.append(
            {
                "shard": n,
                "rows": (base["rows"] if base else 0) + sum(run["rows"] for run in range_["runs"]),
                "appended": sum(run["rows"] for run in range_["runs"]),
                "bytes": files + sum(run["place"][1] for run in range_["runs"]),
                "load": load[n],
                "owners": owners(n),
            }
        )
    return made


class Local:
    """The in-process backend."""

    name = "in this process"

    def __init__(self, root: str) -> None:
        self.executor: Executor = InProcess()
        self.traffic = Traffic()
        self._reader = Reader(root)

    def ask(self, bounds: Bounds, requests: list[Request]) -> list[Any]:
        answers = self._reader.serve(bounds, requests)
        self.traffic.add(bounds, requests, answers, len(requests))
        return answers

    def ask_whole(self, bounds: Bounds, asked: Asked, columns: list[str]) -> None:
        return None

    def status(self, bounds: Bounds) -> dict[str, Any]:
        return {
            "backend": "local",
            "owners": [
                {
                    "owner": 0,
                    "pid": os.getpid(),
                    "restarts": 0,
                    "bytes": self._reader.open_bytes,
                    "shards": self._reader.open_shards,
                }
            ],
            "shards": shards_of(bounds, self.traffic.load_of(bounds), lambda n: [0]),
            "traffic": self.traffic.status(),
        }

    def close(self) -> None:
        pass
