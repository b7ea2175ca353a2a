"""The backend of Ray: owners of shards are actors, build steps are tasks.

An owner is a process with a Reader: it opens shards when they are asked for, and has no state that is not in the files.
Ray restarts a killed owner (max_restarts=-1) and sends it the calls that it had (max_task_retries=-1). All calls only
read, so a call may run twice; its answer is used once. A request carries its generation. An owner opens that generation
itself; when its files were swept it says so, and the router reloads the bounds.

Small requests and answers are pickled here to byte strings, which Ray passes on as they are; the arrays of large ones go
through its shared memory, which takes a millisecond more. A large batch of lookups is not divided by the router if
all owners are on its node: it is written once to the shared memory, and each owner takes its own keys out of it.

A shard with more than twice the median load of late gets a second owner, and calls alternate between both until its
load is down to the median. Shards are numbered by the split points: where a new generation has other ones, loads and
second owners begin again.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

try:
    import ray
except ImportError:
    raise ImportError("espalier.ray with backend='ray' needs Ray: pip install 'espalier[ray]'.") from None

from .. import _core
from ._bounds import Bounds, Request
from ._build import Executor
from ._keys import Asked
from ._local import Reader, Traffic, bytes_of, shards_of
from ._packing import pack, unpack
from ._table import Stale

SMALL_BATCH = 4096  # questions; greater batches do not wait for others
PIECE = 90_000  # bytes of an answer that Ray sends with the reply: it writes 100 KiB and more to its store
MOST_PIECES = 16
WHOLE_BATCH = 1 << 15  # questions; the owners divide greater batches
LOAD_CHECK = 32  # calls between two looks at the load
MOST_FAILURES = 3
_LOST = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, ray.exceptions.WorkerCrashedError)


class _Owner:
    """The actor."""

    def __init__(self, root: str, threads: int, device: str | None = None) -> None:
        _core.limit_threads(threads)
        self._reader = Reader(root, device)
        self._node = ray.get_runtime_context().get_node_id()

    def serve(self, batch: bytes | list[tuple[Any, ...]], pieces: int, *arrays: np.ndarray) -> Any:
        """(process, node, answers); for each item ("answers", packed list), ("stale", None) or ("error", exception).
        It is pickled and cut if it fits that many pieces. `arrays` are those that items share with calls to other
        owners, in the order of the items."""
        items = pickle.loads(batch) if isinstance(batch, bytes) else batch
        shared = iter(arrays)
        answers = [self._serve(shared, *item) for item in items]
        made = os.getpid(), self._node, answers
        if bytes_of(answers) < pieces * PIECE and all(kind != "error" for kind, _ in answers):
            data = pickle.dumps(made, 5)
            if len(data) <= pieces * PIECE:
                cut = [data[i * PIECE : (i + 1) * PIECE] for i in range(pieces)]
                return cut if pieces > 1 else data
        return made if pieces == 1 else [made, *[b""] * (pieces - 1)]

    def _serve(
        self, arrays: Iterator[np.ndarray], generation: int, ranges: list[int], operation: str, arguments: Any
    ) -> tuple[str, Any]:
        try:
            if operation == "find_mine":  # takes its arrays in any case
                has_valid, flip, columns = arguments
                words, valid = next(arrays), next(arrays) if has_valid else None
                bounds = self._reader.bounds(generation)
                return "answers", self._reader.find_mine(bounds, ranges, words, flip, valid, columns)
            requests = [Request(r, operation, one, 0) for r, one in zip(ranges, unpack(arguments))]
            return "answers", pack(self._reader.serve(self._reader.bounds(generation), requests))
        except Stale:
            return "stale", None
        except Exception as error:  # of this item alone
            return "error", error

    def status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "bytes": self._reader.open_bytes,
            "shards": self._reader.open_shards,
            "node": self._node,
        }


def _session() -> Any:
    """What differs between two sessions of Ray in one process; None outside of one."""
    return ray.get_runtime_context().get_worker_id() if ray.is_initialized() else None


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


class Tasks:
    """An executor of builds. A few tasks per CPU are in flight, so that the driver holds few arguments."""

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], done: Callable[[], None]
    ) -> list[Any]:
        task = ray.remote(_run).options(max_retries=-1, num_cpus=1, scheduling_strategy="SPREAD")
        limit = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        answers: list[Any] = [None] * len(arguments)
        running: dict[Any, int] = {}
        waiting = list(enumerate(arguments))[::-1]
        while waiting or running:
            while waiting and len(running) < limit:
                i, one = waiting.pop()
                running[task.remote(function, one)] = i
            ready, _ = ray.wait(list(running), num_returns=1)
            for reference in ready:
                try:
                    answers[running.pop(reference)] = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    if running:  # tasks that go on would write while the caller cleans up
                        ray.wait(list(running), num_returns=len(running))
                    raise error.cause if isinstance(error.cause, Exception) else error from None
                done()
        return answers


class _Item:
    """Requests of one call to one owner: one operation."""

    def __init__(
        self,
        generation: int,
        ranges: list[int],
        operation: str,
        arguments: Any,
        weight: int,
        shared: Sequence[Any] = (),
        answer_bytes: int = 0,
    ) -> None:
        self.content = generation, ranges, operation, arguments
        self.is_small = weight < SMALL_BATCH
        self.shared = shared  # references to arrays, which the arguments go on with
        self.answer_bytes = answer_bytes  # at least, if it is known
        self.batch: _Batch | None = None
        self.sent = threading.Event()
        self.answer: tuple[str, Any] = ("", None)


class _Batch:
    """Items that were sent together. Whichever of their threads comes first receives the answers of all, or the
    exception of the call for all."""

    def __init__(self, lane: _Lane, items: list[_Item]) -> None:
        self._lane, self._items = lane, items
        self._latch = threading.Lock()
        self._received = False
        self._problem: Exception | None = None
        self.is_in_flight = True  # with the latch of the lane
        try:
            self._references = lane.call(items)
        except Exception as problem:  # not an exception of the thread that sends: it may send items of others
            self._problem, self._received = problem, True

    def receive(self) -> None:
        """Raises what the call raised. The caller tells the lane in any case: _Lane.leave()."""
        with self._latch:
            if not self._received:
                try:
                    pid, node, answers = self._get()
                    for item, one in zip(self._items, answers, strict=True):
                        item.answer = one
                    self._lane.answered(pid, node)
                except Exception as problem:
                    self._problem = problem
                self._received = True
            if self._problem is not None:
                raise self._problem

    def _get(self) -> tuple[int, str, list[tuple[str, Any]]]:
        while True:
            try:
                answer = ray.get(self._references)
                return pickle.loads(b"".join(answer)) if isinstance(answer[0], bytes) else answer[0]
            except _LOST:  # its node went away with the answer; asking again is safe
                self._lane.revive()
                self._references = self._lane.call(self._items)


class _Lane:
    """The way to one owner. While it is busy, small batches wait for each other for `gather` seconds."""

    def __init__(self, make: Callable[[], Any], gather: float) -> None:
        self._make = make
        self.actor = make()
        self.calls = self.restarts = self.pid = 0
        self.node = ""  # where its last answer came from
        self._failures = 0  # owners in a row that did not start
        self._gather = gather
        self._latch = threading.Lock()
        self._pending: list[_Item] = []
        self._in_flight = 0

    def call(self, items: list[_Item]) -> list[Any]:
        self.calls += 1
        contents: Any = [item.content for item in items]
        if all(item.is_small or item.shared for item in items):
            contents = pickle.dumps(contents, 5)
        arrays = [array for item in items for array in item.shared]
        pieces = 1 + sum(item.answer_bytes for item in items) // PIECE
        if pieces == 1 or pieces > MOST_PIECES:
            return [self.actor.serve.remote(contents, 1, *arrays)]
        return self.actor.serve.options(num_returns=pieces).remote(contents, pieces, *arrays)

    def revive(self) -> None:
        """After a call was lost: wait until Ray has restarted the owner, or make a new one if Ray gave it up. Raises if
        owners cannot start, for example because a node has no espalier."""
        try:
            ray.get(self.actor.status.remote())
            self._failures = 0
        except ray.exceptions.ActorUnavailableError:
            time.sleep(0.05)
        except ray.exceptions.RayActorError as error:
            with self._latch:
                self._failures += 1
                self.actor = self._make()  # also for the next call, if this one is given up
                if self._failures > MOST_FAILURES:
                    self._failures = 0
                    raise RuntimeError(f"owners of shards cannot be started: {error}") from error

    def submit(self, item: _Item) -> None:
        with self._latch:
            self._pending.append(item)
            if self._in_flight == 0 or not item.is_small or self._gather <= 0:
                self._send()

    def _send(self) -> None:
        items, self._pending = self._pending, []
        self._in_flight += 1
        try:
            batch = _Batch(self, items)
        except BaseException:  # Ctrl-C in the thread that sends: items of other threads are sent by the next one
            self._in_flight -= 1
            self._pending = items + self._pending
            raise
        for item in items:
            item.batch = batch
            item.sent.set()

    def send_by(self, item: _Item, deadline: float) -> None:
        """Wait until the item is sent; at the deadline, send what is pending."""
        if not item.sent.wait(max(0.0, deadline - time.monotonic())):
            with self._latch:
                if item.batch is None:
                    self._send()

    def answered(self, pid: int, node: str) -> None:
        with self._latch:
            if self.pid not in (0, pid):
                self.restarts += 1
            self.pid, self.node = pid, node

    def leave(self, item: _Item) -> None:
        """To be called for each item that was submitted, whether its answer came, its call failed or its thread was
        interrupted: otherwise the lane would take itself for busy, and small batches would wait for ever after."""
        with self._latch:
            if item.batch is None:
                if item in self._pending:
                    self._pending.remove(item)
            elif item.batch.is_in_flight:
                item.batch.is_in_flight = False
                self._in_flight -= 1
            if self._pending and self._in_flight == 0:
                self._send()

    def status(self) -> dict[str, Any]:
        while True:
            try:
                found = ray.get(self.actor.status.remote())
                break
            except _LOST:
                self.revive()
        with self._latch:
            if self.pid not in (0, found["pid"]):
                self.restarts += 1
            self.pid = found["pid"]
        return {**found, "restarts": self.restarts, "calls": self.calls}


class Owners:
    """The backend: a router's view of the owners."""

    name = "Ray"

    def __init__(
        self,
        root: str,
        *,
        owners: int | None = None,
        num_cpus: float = 0,
        num_gpus: float = 0,
        gather_ms: float = 1.0,
        device: str | None = None,
    ) -> None:
        if owners is not None and owners < 1:
            raise ValueError(f"owners is {owners}; a table has one or more.")
        if not ray.is_initialized():
            ray.init()
        self.root = root
        self._device = device
        self._session = _session()
        self.executor: Executor = Tasks()
        self.traffic = Traffic()
        self._wanted = owners
        self._gather = gather_ms / 1000
        # Owners reserve no CPU by default: tasks of a compaction, which do, would wait for them for ever.
        self._options: dict[str, Any] = {
            "max_restarts": -1,
            "max_task_retries": -1,
            "num_cpus": num_cpus,
            "num_gpus": num_gpus,
            "scheduling_strategy": "SPREAD",
        }
        self._latch = threading.Lock()
        self._lanes: list[_Lane] = []
        self._second: dict[int, int] = {}  # of shards of the split points that the load is of
        self._load: Counter[int] | None = None  # what these second owners follow
        self._counted: Counter[int] = Counter()  # this load, at the last look
        self._recent: Counter[int] = Counter()  # the load since, and half of what it was then
        self._turn = self._first_owners = 0
        self._threads = 1  # of each owner
        self._node = ""  # of this process

    def _start(self, bounds: Bounds) -> dict[int, int]:
        """Follow the bounds: owners, loads and second owners begin again with new split points. Returns the second
        owners of the shards of these bounds. With the latch."""
        is_followed = self.traffic.follow(bounds)
        is_new = is_followed and self._load is not self.traffic.load
        if is_new:
            self._load = self.traffic.load
            self._second, self._counted, self._recent = {}, Counter(), Counter()
        if is_new or not self._lanes:
            self._node = ray.get_runtime_context().get_node_id()
            cores = int(ray.cluster_resources().get("CPU", 1))
            self._first_owners = min(self._wanted or max(1, cores), len(bounds.ranges))
            if not self._lanes:
                # Owners share the cores of their nodes; threads of several would wait for each other.
                self._threads = max(1, int(self._options["num_cpus"]) or cores // self._first_owners)
            while len(self._lanes) < self._first_owners:
                self._lanes.append(_Lane(self._make, self._gather))
        return self._second if is_followed else {}

    def _make(self) -> Any:
        return ray.remote(_Owner).options(**self._options).remote(self.root, self._threads, self._device)

    def _owners_of(self, bounds: Bounds, second: dict[int, int], n: int) -> list[int]:
        first = n * self._first_owners // len(bounds.ranges)
        return [first] if second.get(n, first) == first else [first, second[n]]

    def ask(self, bounds: Bounds, requests: list[Request]) -> list[Any]:
        lanes, parts = self._route(bounds, [request.range for request in requests])
        items = []
        for owner, which in parts.items():
            mine = [requests[i] for i in which]
            packed = pack([request.arguments for request in mine])
            weight = sum(request.weight for request in mine)
            item = _Item(bounds.generation, [request.range for request in mine], mine[0].operation, packed, weight)
            items.append((lanes[owner], item))
        answers: list[Any] = [None] * len(requests)
        for which, content in zip(parts.values(), self._exchange(bounds, items)):
            for i, one in zip(which, unpack(content)):
                answers[i] = one
        self.traffic.add(bounds, requests, answers, len(items))
        return answers

    def ask_whole(
        self, bounds: Bounds, asked: Asked, columns: list[str]
    ) -> list[tuple[np.ndarray, pa.Table | None]] | None:
        n = len(asked.valid)
        if n < WHOLE_BATCH or not bounds.codec.is_word:
            return None
        lanes, parts = self._route(bounds, list(range(len(bounds.full))))
        if any(lanes[owner].node != self._node for owner in parts):
            return None
        words, flip = asked.words
        arrays = [words] if asked.valid.all() else [words, asked.valid]
        shared = [ray.put(array) for array in arrays]
        arguments = len(arrays) > 1, flip, columns
        items = []
        for owner, ranges in parts.items():
            item = _Item(bounds.generation, ranges, "find_mine", arguments, n, shared, n // 8 + 1000)
            items.append((lanes[owner], item))
        answers = self._exchange(bounds, items)
        work = [pair for ranges, (_, _, counts) in zip(parts.values(), answers) for pair in zip(ranges, counts)]
        sent, received = sum(array.nbytes for array in arrays), bytes_of([answer[:2] for answer in answers])
        self.traffic.count(bounds, len(items), sent, received, [pair for pair in work if pair[1]])
        return [(bits, rows) for bits, rows, _ in answers]

    def _route(self, bounds: Bounds, ranges: list[int]) -> tuple[list[_Lane], dict[int, list[int]]]:
        """The lanes, and for each owner which elements of `ranges` it is asked."""
        with self._latch:
            second = self._start(bounds)
            self._turn += 1
            turn = self._turn
            if turn % LOAD_CHECK == 0 and second is self._second:
                self._spread(bounds)
            parts: dict[int, list[int]] = {}
            for i, range_ in enumerate(ranges):
                owners = self._owners_of(bounds, second, int(bounds.full[range_]))
                parts.setdefault(owners[turn % len(owners)], []).append(i)
            return list(self._lanes), parts

    def _exchange(self, bounds: Bounds, items: list[tuple[_Lane, _Item]]) -> list[Any]:
        """The answers of all items, or the first problem when all of them have come. All items are sent before the
        first answer is waited for: otherwise a slow owner would delay what is pending for the next one."""
        problems: list[Exception] = []
        try:
            for lane, item in items:
                lane.submit(item)
            deadline = time.monotonic() + self._gather
            for lane, item in items:
                lane.send_by(item, deadline)
            for lane, item in items:
                assert item.batch is not None
                try:
                    item.batch.receive()
                except Exception as problem:
                    problems.append(problem)
                lane.leave(item)
        finally:
            for lane, item in items:
                lane.leave(item)
        if problems:
            raise problems[0]
        for _, item in items:
            kind, content = item.answer
            if kind != "answers":
                raise Stale(bounds.generation) if kind == "stale" else content
        return [item.answer[1] for _, item in items]

    def _spread(self, bounds: Bounds) -> None:
        """Second owners for shards with more than twice the median load. Those whose load is down to the median lose
        theirs. With the latch."""
        shards, total = bounds.full.tolist(), self.traffic.load_of(bounds)
        self._recent = Counter({n: self._recent[n] // 2 + total[n] - self._counted[n] for n in shards})
        self._counted = total
        load = self._recent
        if len(shards) < 2:
            return
        median = float(np.median([load[n] for n in shards]))
        for n in shards:
            if load[n] <= median:
                self._second.pop(n, None)
        work = [0] * len(self._lanes)
        for n in shards:
            owners = self._owners_of(bounds, self._second, n)
            for owner in owners:
                work[owner] += load[n] // len(owners)
        for n in shards:
            owners = self._owners_of(bounds, self._second, n)
            if load[n] > 2 * median and len(owners) == 1:
                if len(self._lanes) == 1:
                    self._lanes.append(_Lane(self._make, self._gather))
                    work.append(0)
                second = min((o for o in range(len(self._lanes)) if o != owners[0]), key=lambda o: work[o])
                self._second[n] = second
                work[owners[0]] -= load[n] // 2
                work[second] += load[n] // 2

    def status(self, bounds: Bounds) -> dict[str, Any]:
        with self._latch:
            second, lanes = dict(self._start(bounds)), list(self._lanes)
        owners = [{"owner": i, **lane.status()} for i, lane in enumerate(lanes)]
        return {
            "backend": "ray",
            "owners": owners,
            "shards": shards_of(bounds, self.traffic.load_of(bounds), lambda n: self._owners_of(bounds, second, n)),
            "traffic": self.traffic.status(),
        }

    def close(self) -> None:
        """End the owners; those of a session of Ray that was shut down have ended with it."""
        with self._latch:
            lanes, self._lanes = self._lanes, []
            self._load = None  # second owners have ended, too
        if self._session == _session():
            for lane in lanes:
                ray.kill(lane.actor)
