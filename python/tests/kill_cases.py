"""Kills at random moments of a call, and a record of what they hit.

A kill hits a call in flight if the call was sent before the kill and is not answered when the process is dead. What a
run of N rounds per kind did is written as JSON to the file that ESPALIER_RAY_RECORD names; kinds that were run before
are added to.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import signal
import subprocess
import threading
import time
from typing import Any

from shard_cases import FIRST_ROUND, ROUNDS

HANG = 600  # seconds: more than a machine with any load needs
MORE_ROUNDS = 100  # at most, until a kill hits a call in flight


def is_dead(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    while not is_dead(pid):
        time.sleep(0.0005)


class Calls:
    """The calls to one owner: the newest one, and how long the last one took."""

    def __init__(self, lane: Any) -> None:
        self.references: list[Any] = []
        self.is_sent = threading.Event()
        self.duration = 0.0
        self._began = 0.0
        self._call, self._answered = lane.call, lane.answered
        lane.call, lane.answered = self.call, self.answered

    def call(self, items: Any) -> Any:
        self._began = time.monotonic()
        self.references = self._call(items)
        self.is_sent.set()
        return self.references

    def answered(self, *arguments: Any) -> None:
        self.duration = time.monotonic() - self._began
        self._answered(*arguments)


class OwnerKiller:
    """Kills one of the owners of a table with the backend of Ray: every fourth time at a random moment of the query,
    otherwise at a random moment of a call, which is a small part of some queries."""

    def __init__(self, table: Any) -> None:
        self._table = table
        table.status()  # starts them
        self._calls = [Calls(lane) for lane in table.backend._lanes]

    def ready(self) -> None:
        """Wait until all owners run."""
        self._pids = [owner["pid"] for owner in self._table.status()["owners"]]

    def restarts(self) -> int:
        return sum(owner["restarts"] for owner in self._table.status()["owners"])

    def __call__(self, rng: random.Random, duration: float) -> bool:
        """`duration`: of the query. Returns whether a call was in flight."""
        import ray

        owner = rng.randrange(len(self._pids))
        calls = self._calls[owner]
        if rng.randrange(4):
            calls.is_sent.clear()
            duration = calls.duration
            assert calls.is_sent.wait(HANG)
        time.sleep(rng.random() * duration)
        references = calls.references
        kill(self._pids[owner])
        answered, _ = ray.wait(references, num_returns=len(references), timeout=0, fetch_local=False)
        return len(answered) < len(references)


class TaskKiller:
    """Kills a process while it runs a task. Each running task has a file, whose name begins with the process."""

    def __init__(self, folder: Any) -> None:
        self._marks, self._log = str(folder / "marks"), str(folder / "log")
        os.mkdir(self._marks)
        open(self._log, "x").close()
        self._tasks = 0

    def map(self, plain: Any) -> Any:
        """Tasks.map() that marks what runs."""
        marks, log = self._marks, self._log

        def run(number: int, function: Any, arguments: Any) -> Any:
            mark = os.path.join(marks, f"{os.getpid()}.{time.monotonic_ns()}")
            with open(log, "a") as file:  # before the mark, which says that it may be killed
                file.write("\n")
            open(mark, "x").close()
            answer = function(*arguments)
            os.unlink(mark)
            return answer

        def marked(tasks: Any, function: Any, arguments: Any, done: Any) -> Any:
            self._tasks += len(arguments)
            return plain(tasks, run, [(i, function, one) for i, one in enumerate(arguments)], done)

        return marked

    def ready(self) -> None:
        pass

    def restarts(self) -> int:
        """Tries of tasks behind the first one. Exact while no task runs."""
        return os.path.getsize(self._log) - self._tasks

    def __call__(self, rng: random.Random, duration: float) -> bool:
        time.sleep(rng.random() * duration)
        while not (running := os.listdir(self._marks)):
            time.sleep(rng.random() / 100)
        mark = rng.choice(running)
        pid = int(mark.partition(".")[0])
        kill(pid)
        unfinished = [name for name in os.listdir(self._marks) if name.startswith(f"{pid}.")]
        for name in unfinished:
            os.unlink(os.path.join(self._marks, name))
        return bool(unfinished)


class Kills:
    """The rounds of one kind of query."""

    def __init__(self, kind: str, killer: Any) -> None:
        self.kind = kind
        self._killer = killer
        self._counts = dict(rounds=0, kills=0, in_flight=0, restarts=0, answers=0, wrong_answers=0)
        self._start, self._load = time.monotonic(), os.getloadavg()[0]

    def rounds(self) -> Any:
        """Seeds. More than ROUNDS if none of these hit a call in flight."""
        for seed in range(FIRST_ROUND, FIRST_ROUND + ROUNDS + MORE_ROUNDS):
            if self._counts["rounds"] >= ROUNDS and self._counts["in_flight"]:
                return
            self._counts["rounds"] += 1
            yield seed

    def disturb(self, seed: int, query: Any, expected: Any) -> None:
        """Call again and again, until a process was killed at a random moment and all calls have come back."""

        def ask() -> float:
            start = time.monotonic()
            answer = query()
            duration = time.monotonic() - start
            self._counts["answers"] += 1
            self._counts["wrong_answers"] += answer != expected
            return duration

        rng, problems, done = random.Random(seed), [], threading.Event()
        self._killer.ready()
        duration, before = ask(), self._killer.restarts()

        def kill_one() -> None:
            try:
                self._counts["in_flight"] += self._killer(rng, duration)
                self._counts["kills"] += 1
            except BaseException as problem:
                problems.append(problem)
            finally:
                done.set()

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        while not done.is_set():
            ask()
        thread.join()
        ask()
        restarts = self._killer.restarts() - before
        self._counts["restarts"] += restarts
        assert not problems, problems
        assert self._counts["wrong_answers"] == 0, f"{self.kind}, round {seed}"

    def check(self) -> None:
        counts = self._counts
        assert counts["kills"] == counts["rounds"] and counts["restarts"] > 0 and counts["in_flight"] > 0, counts

    def record(self) -> None:
        """Add the counts to the file for them, if there is one; also those of a run that was ended early."""
        path = os.environ.get("ESPALIER_RAY_RECORD")
        if not path:
            return
        record: dict[str, Any] = {}
        if os.path.exists(path):
            with open(path) as file:
                record = json.load(file)
        here = os.path.dirname(os.path.abspath(__file__))
        commit = subprocess.run(["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        record["date"] = datetime.date.today().isoformat()
        record["commit"] = commit
        record["command"] = (
            f"ESPALIER_RAY_ROUNDS={ROUNDS} ESPALIER_RAY_RECORD=FILE pytest "
            "python/tests/test_ray_cluster.py -k at_random"
        )
        record["cores"] = os.cpu_count()
        kinds = record.setdefault("kinds", {})
        known = kinds.get(self.kind, {})
        seconds = round(time.monotonic() - self._start, 1)
        load = round(max(self._load, os.getloadavg()[0]), 1)
        kinds[self.kind] = {name: known.get(name, 0) + n for name, n in self._counts.items()} | {
            "seconds": round(known.get("seconds", 0) + seconds, 1),
            "load": max(known.get("load", 0), load),
        }
        totals = ("rounds", "kills", "in_flight", "restarts", "answers", "wrong_answers", "seconds")
        record["total"] = {name: round(sum(kind[name] for kind in kinds.values()), 1) for name in totals}
        with open(path, "w") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
