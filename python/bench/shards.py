"""Benchmark of espalier.ray: python python/bench/shards.py [--json FILE] [--folder DIR] [--only PART...] [--owners 1 2]

Every owner has one CPU, the router has the others; answers are compared with the in-process backend first. Reports the
time of a batch of lookups by the number of owners, the overhead of a routed batch over the in-process backend, and the
calls and bytes of each operation for two sizes of table, the cost of appends, and the memory of the tasks of a build.
--folder keeps the tables for the next run; --only takes some parts, and --json replaces these in an existing file.
--model FILE predicts larger clusters from such a result."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray

import espalier.ray as er


def best(*calls, runs: int) -> list[float]:
    """Milliseconds of each call, the best of runs in turn."""
    times = [[] for _ in calls]
    for _ in range(runs):
        for call, own in zip(calls, times):
            start = time.perf_counter()
            call()
            own.append((time.perf_counter() - start) * 1e3)
    return [round(min(own), 3) for own in times]


def pin(pid: int, cpus: set[int]) -> None:
    """All threads of a process; later ones inherit it."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cpus)


def source(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({"k": rng.integers(0, 1 << 40, rows), "v": rng.integers(0, 1000, rows)})


class Recorded:
    """Answers of a backend, given again without asking: what is left is the router."""

    name = "recorded"

    def __init__(self, backend) -> None:
        self.backend, self.again, self.whole, self.answers = backend, None, None, None

    def ask_whole(self, bounds, asked, columns):
        if self.again is None:
            self.whole = self.backend.ask_whole(bounds, asked, columns)
            if self.whole is not None:
                self.again = lambda: self.backend.ask_whole(bounds, asked, columns)
        return self.whole

    def ask(self, bounds, requests):
        if self.again is None:
            self.again = lambda: self.backend.ask(bounds, requests)
            self.answers = self.again()
        return self.answers


def lookups(root: str, owners: int, batch_log2: int, runs: int) -> dict:
    """A batch, its owners alone, and its router alone. Every owner has a CPU of its own if there are enough."""
    cpus = sorted(os.sched_getaffinity(0))
    queries = np.random.default_rng(2).integers(0, 1 << 40, 1 << batch_log2)
    table = er.open(root, backend="ray", owners=owners, num_cpus=1)
    for i, owner in enumerate(table.status()["owners"]):
        pin(owner["pid"], {cpus[(i + 1) % len(cpus)]})
    local = er.open(root, backend="local")
    assert (table.contains(queries) == local.contains(queries)).all()
    recorded = Recorded(table.backend)
    router = er.Table(root, recorded)
    router.contains(queries)
    whole, alone, routing, one = best(
        lambda: table.contains(queries),
        recorded.again,
        lambda: router.contains(queries),
        lambda: local.contains(queries),
        runs=runs,
    )
    table.close()
    names = ("owners", "batch", "ms", "owners_ms", "router_ms", "local_ms")
    return dict(zip(names, (owners, len(queries), whole, alone, routing, one)))


def overhead(root: str, owners: int, runs: int) -> list[dict]:
    table, local = er.open(root, backend="ray", owners=owners), er.open(root, backend="local")
    rows = []
    for n in (1, 1000, 100_000):
        keys = np.random.default_rng(3).integers(0, 1 << 40, n)
        calls = {"contains": lambda t: t.contains(keys), "sum": lambda t: t.sum("v", keys, keys + (1 << 38))}
        for name, call in calls.items():
            assert (call(table) == call(local)).all()
            ours, theirs = best(lambda: call(table), lambda: call(local), runs=runs)
            rows.append({"call": name, "batch": n, "ray_ms": ours, "local_ms": theirs})
    table.close()
    return rows


def traffic(root: str) -> dict:
    table = er.open(root, backend="local")
    keys = np.random.default_rng(4).integers(0, 1 << 40, 1000)
    left = pa.table({"k": keys})
    calls = {
        "contains, 1,000 keys": lambda: table.contains(keys),
        "find, 1,000 keys": lambda: table.find(keys),
        "sum of one range": lambda: table.sum("v", 1 << 38, 3 << 38),
        "sum of 1,000 ranges": lambda: table.sum("v", keys, keys + (1 << 38)),
        "join_asof, 1,000 rows": lambda: er.join_asof(left, table, on="k"),
        "join_window, 1,000 rows": lambda: er.join_window(
            left, table, on="k", window=(-(1 << 38), 0), agg={"v": "sum"}
        ),
    }
    made = {}
    for name, call in calls.items():
        before = table.status()["traffic"]
        call()
        after = table.status()["traffic"]
        made[name] = {key: after[key] - before[key] for key in ("requests", "sent", "received")}
    return made


def sizes(root: str) -> dict:
    """Bytes of files per row, and of the bounds file per shard."""
    table = er.open(root, backend="local")
    table.contains(table.range(None, None, columns=["k"])["k"])  # opens all shards
    status = table.status()
    keys = sum(base.index.nbytes for base in table.backend._reader._bases.values())
    bounds = os.path.getsize(os.path.join(root, "bounds", str(table.generation)))
    return {
        "bytes_per_row": round(sum(shard["bytes"] for shard in status["shards"]) / len(table), 2),
        "index_memory_per_row": round(keys / len(table), 2),
        "bounds_bytes_per_shard": bounds // table.shards,
    }


def appends(folder: str, rows: int) -> list[dict]:
    """Batches of 100 rows into a table of 16 shards: their rate, lookups with that many runs, and the compaction."""
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 1 << 40, 1000)
    made = []
    with tempfile.TemporaryDirectory(dir=folder) as root:
        table = er.build(f"{root}/t", source(rows), "k", shards=16, values=["v"], backend="local")
        done = 0
        for runs in (0, 1, 10, 100):
            start = time.perf_counter()
            for _ in range(runs - done):
                table.append(pa.table({"k": rng.integers(0, 1 << 40, 100), "v": rng.integers(0, 1000, 100)}))
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            table.contains(keys)
            first = (time.perf_counter() - start) * 1e3  # opens the runs
            contains, aggregate = best(
                lambda: table.contains(keys), lambda: table.sum("v", keys, keys + (1 << 38)), runs=5
            )
            made.append(
                {
                    "appends": runs,
                    "append_ms": round(seconds * 1e3 / max(runs - done, 1), 2),
                    "first_contains_ms": round(first, 2),
                    "contains_1000_ms": contains,
                    "sum_1000_ms": aggregate,
                }
            )
            done = runs
        start = time.perf_counter()
        table.compact()
        made.append({"compact_ms": round((time.perf_counter() - start) * 1e3, 1)})
        table.contains(keys)
        (contains,) = best(lambda: table.contains(keys), runs=5)
        made[-1]["contains_1000_ms"] = contains
    return made


def build_memory(folder: str, megabytes: int) -> dict:
    """Peak memory of every worker of a build from Parquet files (VmHWM: with code and libraries), and of the driver."""
    rng, rows = np.random.default_rng(6), 500_000
    with tempfile.TemporaryDirectory(dir=folder) as root:
        files = max(1, (megabytes << 20) // (rows * 40))
        for i in range(files):
            columns = {name: rng.integers(0, 1 << 60, rows) for name in ("k", "v", "a", "b", "c")}
            pq.write_table(pa.table(columns), f"{root}/{i}.parquet", row_group_size=rows // 2)
        shards = max(2, megabytes // 25)
        start = time.perf_counter()
        table = er.build(
            f"{root}/t",
            f"{root}/*.parquet",
            "k",
            shards=shards,
            values=["v"],
            backend="ray",
            owners=1,
            piece_bytes=16 << 20,
        )
        seconds = time.perf_counter() - start
        assert len(table) == files * rows
        table.close()
    peaks = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline") as file:
                is_worker = name.isdigit() and file.read().startswith("ray::")
            with open(f"/proc/{name}/status") as file:
                lines = dict(line.split(":", 1) for line in file)
            with open(f"/proc/{lines['PPid'].strip()}/stat") as file:
                grandparent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, KeyError):
            continue
        if is_worker and grandparent == os.getpid():
            peaks.append(int(lines["VmHWM"].split()[0]) >> 10)
    return {
        "source_mb": files * rows * 40 >> 20,
        "shards": shards,
        "seconds": round(seconds, 1),
        "worker_peaks_mb": sorted(peaks),
        "driver_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


NETWORK = 1.25e9  # bytes per second of a node: 10 Gbit/s
ROWS_PER_SHARD = 64_000_000


def predict(result: dict, batch: int, owners: int, network: float | None) -> float:
    """Milliseconds of a batch of lookups of one client: its router, the slowest owner, the bytes, one call."""
    base = result["lookups"][0]  # of one owner
    router = base["router_ms"] * batch / base["batch"]
    search = base["owners_ms"] * batch / base["batch"] / owners
    wire = 0 if network is None else batch * 9 / network * 1e3
    call = next(one for one in result["overhead"] if (one["call"], one["batch"]) == ("contains", 1))
    return router + search + wire + call["ray_ms"] - call["local_ms"]


def model(result: dict) -> None:
    print("| owners | predicted | measured |\n|---|---|---|")
    for one in result["lookups"]:
        print(f"| {one['owners']} | {predict(result, one['batch'], one['owners'], None):.0f} ms | {one['ms']:.0f} ms |")
    print(
        "\n| nodes | rows | shards | bounds | index, memory per node | 2^20 lookups, one client | a client per node |"
    )
    print("|---|---|---|---|---|---|---|")
    size = result["sizes"]
    for nodes in (4, 16, 100):
        rows = 10**12 * nodes // 100
        shards = rows // ROWS_PER_SHARD
        one = predict(result, 2**20, nodes, NETWORK)
        # Every node routes for its client and searches for the others: both take its CPU and its network.
        busy = predict(result, 2**20, 1, None) + 2 * 2**20 * 9 / NETWORK * 1e3
        print(
            f"| {nodes} | {rows:.0e} | {shards:,} | {shards * size['bounds_bytes_per_shard'] / 1e6:.1f} MB | "
            f"{rows / nodes * size['index_memory_per_row'] / 1e9:.0f} GB | {one:.0f} ms | "
            f"{nodes * 2**20 / busy * 1e3 / 1e6:.0f} M/s |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--owners", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--megabytes", type=int, default=800, help="source of the build whose memory is measured")
    parser.add_argument("--model", metavar="FILE")
    options = parser.parse_args()
    if options.model:
        with open(options.model) as file:
            return model(json.load(file))
    load = os.getloadavg()
    ray.init(
        address="local", num_cpus=max(options.owners), include_dashboard=False, log_to_driver=False,
        object_store_memory=256 << 20,
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        roots = []
        for rows in (options.rows // 16, options.rows):
            roots.append(f"{folder}/{rows}")
            if not os.path.exists(f"{roots[-1]}/current"):
                er.build(roots[-1], source(rows), "k", shards=options.shards, values=["v"], backend="local")
        parts = {
            "sizes": lambda: sizes(roots[1]),
            "lookups": lambda: [lookups(roots[1], n, 20, options.runs) for n in options.owners],
            "overhead": lambda: overhead(roots[1], 2, 30),
            "traffic": lambda: {rows: traffic(root) for rows, root in zip((options.rows // 16, options.rows), roots)},
            "appends": lambda: appends(folder, options.rows // 16),
            "build_memory": lambda: build_memory(folder, options.megabytes),
        }
        result = {
            "command": f"python {' '.join(sys.argv)}",
            "commit": os.environ.get("ESPALIER_COMMIT")
            or subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip(),
            "date": time.strftime("%Y-%m-%d"),
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, load {load[0]:.1f} to {os.getloadavg()[0]:.1f}",
            "ray": ray.__version__,
            "rows": options.rows,
            "shards": options.shards,
            **{name: parts[name]() for name in options.only or parts},
        }
    ray.shutdown()
    print(json.dumps(result, indent=1))
    if options.json:
        if options.only and os.path.exists(options.json):
            with open(options.json) as file:
                result = json.load(file) | result
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
