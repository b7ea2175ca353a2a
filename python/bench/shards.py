"""Benchmark of espalier.ray: python python/bench/shards.py [--json FILE] [--folder DIR] [--only PART...] [--owners 1 2]

Every owner has one CPU, the router has the others; answers are compared with the in-process backend first. Reports the
time of a batch of lookups by the number of owners, the overhead of a routed batch over the in-process backend, and the
calls and bytes of each operation for two sizes of table, the cost of appends, the memory of the tasks of a build, and
what the router, an owner and Ray take for each shard and call. --folder keeps the tables for the next run; --only takes
some parts, and --json replaces these in an existing file. --model FILE... predicts larger clusters from such results,
of which the last one with a part counts."""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray

import espalier.ray as er
from espalier.ray._bounds import Bounds, Request, schema_to_json
from espalier.ray._local import Traffic
from espalier.ray._owners import SMALL_BATCH
from espalier.ray._packing import pack, unpack


def best(*calls, runs: int, clock=time.perf_counter) -> list[float]:
    """Milliseconds of each call, the best of runs in turn."""
    times = [[] for _ in calls]
    for _ in range(runs):
        for call, own in zip(calls, times):
            start = clock()
            call()
            own.append((clock() - start) * 1e3)
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
    """Requests, calls of Ray and bytes of each operation: in this process, and with two owners. Half of the keys of
    lookups are there."""
    table, cluster = er.open(root, backend="local"), er.open(root, backend="ray", owners=2)
    rng = np.random.default_rng(4)
    keys = rng.integers(0, 1 << 40, 1000)
    there = table.range(None, None, columns=["k"])["k"].to_numpy()
    some = np.where(rng.random(1000) < 0.5, rng.choice(there, 1000), keys)
    # A range of rows has as many of them in every table.
    near = there[:: len(there) // 20][1:19]
    ends = near, there[np.searchsorted(there, near) + 50]
    left = pa.table({"k": keys})
    lo, hi = keys, keys + (1 << 38)
    spans = pa.table({"start": ends[0], "finish": ends[1]})
    kinds = {
        "contains, 1,000 keys": lambda t: t.contains(some),
        "find, 1,000 keys": lambda t: t.find(some).num_rows,
        "count of one range": lambda t: t.count(1 << 38, 3 << 38),
        "count of 1,000 ranges": lambda t: t.count(lo, hi),
        "sum of one range": lambda t: t.sum("v", 1 << 38, 3 << 38),
        "sum of 1,000 ranges": lambda t: t.sum("v", lo, hi),
        "avg of 1,000 ranges": lambda t: t.avg("v", lo, hi),
        "min of 1,000 ranges": lambda t: t.min("v", lo, hi, default=0),
        "max of 1,000 ranges": lambda t: t.max("v", lo, hi, default=0),
        "range, 18 of 51 rows": lambda t: np.diff(t.range(*ends)[0]),
        "join_asof, 1,000 rows": lambda t: er.join_asof(left, t, on="k")["v"].to_numpy(),
        "join_window, 1,000 rows": lambda t: er.join_window(
            left, t, on="k", window=(-(1 << 38), 0), agg={"v": "sum"}
        )["v_sum"].to_numpy(zero_copy_only=False),
        "join_between, 18 spans": lambda t: er.join_between(t, spans, "k", "start", "finish").num_rows,
    }
    made = {}
    for name, call in kinds.items():
        np.testing.assert_array_equal(call(cluster), call(table))
        counted = []
        for one in (table, cluster):
            before = one.status()["traffic"]
            call(one)
            after = one.status()["traffic"]
            counted.append({key: after[key] - before[key] for key in after})
        made[name] = {key: counted[0][key] for key in ("requests", "sent", "received")}
        made[name]["ray_calls"] = counted[1]["calls"]
        assert counted[1]["requests"] == counted[0]["requests"]
    cluster.close()
    return {**made, **writes(root)}


def writes(root: str) -> dict:
    """Bytes of the files that an append of 100 rows and the compaction behind it write, for a copy of the table."""
    made = {}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(root)) as folder:
        shutil.copytree(root, f"{folder}/t")
        table = er.open(f"{folder}/t", backend="local")
        for name, write in (
            ("append, 100 rows", lambda: table.append(pa.table({"k": np.arange(100) << 33, "v": np.arange(100)}))),
            ("compact", table.compact),
        ):
            before, traffic_before = files_of(table.root), table.status()["traffic"]
            write()
            new = {path: size for path, size in files_of(table.root).items() if path not in before}
            assert table.status()["traffic"] == traffic_before
            made[name] = {"requests": 0, "files": len(new), "written": sum(new.values())}
    return made


def files_of(root: str) -> dict[str, int]:
    return {
        path: os.path.getsize(path)
        for folder, _, names in os.walk(root)
        for path in (os.path.join(folder, name) for name in names)
    }


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


class Nodes:
    """What the router does for calls to the owners of several nodes, without the calls: their answers, that there is no
    key, are made once."""

    name = "nodes without calls"

    def __init__(self, nodes: int) -> None:
        self.nodes, self.answers, self.traffic = nodes, {}, Traffic()

    def ask_whole(self, bounds, asked, columns):
        return None

    def ask(self, bounds, requests):
        parts: dict[int, list[int]] = {}
        for i, request in enumerate(requests):
            parts.setdefault(request.range * self.nodes // len(bounds.full), []).append(i)
        answers = [None] * len(requests)
        for node, which in parts.items():
            mine = [requests[i] for i in which]
            packed = pack([request.arguments for request in mine])
            content = [(bounds.generation, [request.range for request in mine], mine[0].operation, packed)]
            if sum(request.weight for request in mine) < SMALL_BATCH:
                pickle.dumps(content, 5)
            if node not in self.answers:
                self.answers[node] = pack([(np.zeros(request.weight, bool), None) for request in mine])
            for i, one in zip(which, unpack(self.answers[node])):
                answers[i] = one
        self.traffic.add(bounds, requests, answers, len(parts))
        return answers


def synthetic(shards: int) -> Bounds:
    """The bounds of a table whose rows are nowhere."""
    step, word = (1 << 40) // shards, 1 << 63
    values = [ROWS_PER_SHARD, 10**9, 0, 999, 1, 2]
    ranges = []
    for n in range(shards):
        first, last = word + n * step, word + (n + 1) * step - 1
        base = {"folder": f"1-{n}", "files": {}, "rows": ROWS_PER_SHARD, "first": first, "last": last}
        ranges.append({"base": {**base, "values": {"v": [*values, first, last]}}, "runs": []})
    splits = {"keys": [word + n * step for n in range(1, shards)], "rows": [0] * (shards - 1)}
    schema = schema_to_json(pa.schema([("k", pa.int64()), ("v", pa.int64())]))
    content = {"version": 1, "generation": 1, "key": ["k"], "values": ["v"], "schema": schema, "splits": splits}
    return Bounds({**content, "next_row": 0, "ranges": ranges})


def router(runs: int) -> list[dict]:
    """Processor milliseconds of the router for a batch of lookups by the number of shards, for at most 100 nodes; this
    and the next two parts count processor time, which other programs disturb less."""
    made = []
    for shards in (16, 256, 2500, 15_625):
        bounds = synthetic(shards)
        for batch in (1000, 1 << 20):
            keys = np.random.default_rng(2).integers(0, 1 << 40, batch)
            table = er.Table("", Nodes(min(shards, 100)), bounds)
            assert not table.contains(keys).any()
            before = table.backend.traffic.requests
            (ms,) = best(lambda: table.contains(keys), runs=runs, clock=time.process_time)
            hits = (table.backend.traffic.requests - before) // runs
            made.append({"shards": shards, "batch": batch, "hits": hits, "ms": ms})
        whole = er.Table("", Nodes(min(shards, 100)), bounds)
        # Ends between shards: what is measured is the shards that lie inside.
        ends = np.sort(np.random.default_rng(3).integers(0, shards + 1, (1000, 2)), axis=1) * ((1 << 40) // shards)
        assert (whole.count(ends[:, 0], ends[:, 1] - 1) % ROWS_PER_SHARD == 0).all()
        (ms,) = best(lambda: whole.sum("v", ends[:, 0], ends[:, 1] - 1), runs=runs, clock=time.process_time)
        made.append({"shards": shards, "sums": 1000, "ms": ms})
    return made


def serving(folder: str, runs: int) -> dict:
    """Microseconds of an owner for each shard of a call: 256 shards of 1,000 rows, one key each; and one shard."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        source = pa.table({"k": np.arange(256_000), "v": np.arange(256_000)})
        table = er.build(f"{root}/t", source, "k", shards=256, values=["v"], backend="local")
        bounds, reader = table._bounds, table.backend._reader
        keys = np.arange(256, dtype=np.uint64) * np.uint64(1000) + np.uint64(1 << 63)
        asked = [Request(r, "find", (keys[r : r + 1], []), 1) for r in range(len(bounds.full))]
        reader.serve(bounds, asked)

        def serve(requests):
            arguments = unpack(pack([one.arguments for one in requests]))
            again = [Request(one.range, "find", a, 1) for one, a in zip(requests, arguments)]
            return pack(reader.serve(bounds, again))

        many, one = best(lambda: serve(asked), lambda: serve(asked[:1]), runs=runs, clock=time.process_time)
    return {"shards": len(asked), "ms": many, "one_ms": one, "us_per_shard": (many - one) * 1e3 / (len(asked) - 1)}


class Nothing:
    """An actor whose calls have the arguments and answers of small batches."""

    def call(self, data):
        return data


def calls(runs: int) -> list[dict]:
    """Milliseconds until the answers of one call to each of some actors are there, and those of the caller's processor
    alone, which are what one more node costs a client: the actors share the CPUs of this machine with it."""
    made, data = [], b"x" * 1000
    for count in (1, 2, 4, 8):
        actors = [ray.remote(Nothing).options(num_cpus=0).remote() for _ in range(count)]

        def ask(actors=actors):
            return ray.get([actor.call.remote(data) for actor in actors])

        def many():
            for _ in range(50):
                ask()

        many()
        (ms,) = best(ask, runs=20 * runs)
        (own,) = best(many, runs=runs, clock=time.process_time)
        made.append({"actors": count, "ms": ms, "own_ms": round(own / 50, 3)})
        for actor in actors:
            ray.kill(actor)
    return made


NETWORK = 1.25e9  # bytes per second of a node: 10 Gbit/s
ROWS_PER_SHARD = 64_000_000


def hits_of(shards: int, batch: int) -> float:
    """Shards that a batch of random keys asks."""
    return -shards * math.expm1(batch * math.log1p(-1 / shards)) if shards > 1 else 1


def terms(result: dict) -> dict:
    """Nanoseconds of the router per key and microseconds per shard that is asked, the same of an owner, milliseconds of
    the first call and of each more: least squares of relative errors."""
    rows = [one for one in result["router"] if "batch" in one]
    weight = 1 / np.array([one["ms"] for one in rows])
    matrix = np.array([[one["batch"], one["hits"]] for one in rows]) * weight[:, None]
    key, shard = np.linalg.lstsq(matrix, np.ones(len(rows)), rcond=None)[0]
    numbers = np.array([one["actors"] for one in result["calls"]])
    more, _ = np.polyfit(numbers - 1, [one["own_ms"] for one in result["calls"]], 1)
    base = result["lookups"][0]  # of one owner
    return {
        "router_key_ns": key * 1e6,
        "router_shard_us": shard * 1e3,
        "owner_key_ns": base["owners_ms"] / base["batch"] * 1e6,
        "owner_shard_us": result["serving"]["us_per_shard"],
        "first_call_ms": result["calls"][0]["ms"],
        "more_calls_ms": more,
    }


def predict(result: dict, batch: int, owners: int, shards: int, network: float | None) -> dict[str, float]:
    """Milliseconds of a batch of lookups of one client: the router, the slowest owner, the bytes, the calls."""
    term, hits = terms(result), hits_of(shards, batch)
    return {
        "router": (term["router_key_ns"] * batch / 1e3 + term["router_shard_us"] * hits) / 1e3,
        "owners": (term["owner_key_ns"] * batch / 1e3 + term["owner_shard_us"] * hits) / owners / 1e3,
        "network": 0 if network is None else batch * 9 / network * 1e3,
        "calls": term["first_call_ms"] + term["more_calls_ms"] * (min(owners, hits) - 1),
    }


def model(result: dict) -> None:
    print(", ".join(f"{name} {value:.3g}" for name, value in terms(result).items()))
    print("\n| shards | batch | router, predicted | measured |\n|---|---|---|---|")
    for one in result["router"]:
        if "batch" in one:
            ms = predict(result, one["batch"], 1, one["shards"], None)["router"]
            print(f"| {one['shards']:,} | {one['batch']:,} | {ms:.2f} ms | {one['ms']:.2f} ms |")
    print("\n| owners | predicted | measured |\n|---|---|---|")
    for one in result["lookups"]:
        ms = sum(predict(result, one["batch"], one["owners"], result["shards"], None).values())
        print(f"| {one['owners']} | {ms:.0f} ms | {one['ms']:.0f} ms |")
    print(
        "\n| nodes | rows | shards | bounds | index, memory per node | 1,000 lookups | 2^20 lookups | router, owners, "
        "network, calls | a client per node |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    size = result["sizes"]
    for nodes in (4, 16, 100):
        rows = 10**12 * nodes // 100
        shards = rows // ROWS_PER_SHARD
        small = sum(predict(result, 1000, nodes, shards, NETWORK).values())
        parts = predict(result, 2**20, nodes, shards, NETWORK)
        # Every node routes for its client and serves the others: both take its CPUs, its network and its calls.
        busy = parts["router"] + nodes * parts["owners"] + 2 * parts["network"] + parts["calls"]
        print(
            f"| {nodes} | {rows:.0e} | {shards:,} | {shards * size['bounds_bytes_per_shard'] / 1e6:.1f} MB | "
            f"{rows / nodes * size['index_memory_per_row'] / 1e9:.0f} GB | {small:.0f} ms | "
            f"{sum(parts.values()):.0f} ms | {', '.join(f'{ms:.0f}' for ms in parts.values())} | "
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
    parser.add_argument("--model", metavar="FILE", nargs="+")
    options = parser.parse_args()
    if options.model:
        known: dict = {}
        for name in options.model:
            with open(name) as file:
                known |= json.load(file)
        return model(known)
    load = os.getloadavg()
    ray.init(
        address="local", num_cpus=max(options.owners), include_dashboard=False, log_to_driver=False,
        object_store_memory=256 << 20,
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        roots = []
        needs_tables = set(options.only or ["sizes"]) & {"sizes", "lookups", "overhead", "traffic"}
        for rows in (options.rows // 16, options.rows):
            roots.append(f"{folder}/{rows}")
            if needs_tables and not os.path.exists(f"{roots[-1]}/current"):
                er.build(roots[-1], source(rows), "k", shards=options.shards, values=["v"], backend="local")
        parts = {
            "sizes": lambda: sizes(roots[1]),
            "lookups": lambda: [lookups(roots[1], n, 20, options.runs) for n in options.owners],
            "overhead": lambda: overhead(roots[1], 2, 30),
            "traffic": lambda: {rows: traffic(root) for rows, root in zip((options.rows // 16, options.rows), roots)},
            "appends": lambda: appends(folder, options.rows // 16),
            "build_memory": lambda: build_memory(folder, options.megabytes),
            "router": lambda: router(options.runs),
            "serving": lambda: serving(folder, options.runs),
            "calls": lambda: calls(options.runs),
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
