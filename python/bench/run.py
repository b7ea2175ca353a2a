"""Benchmarks of the Python package: python python/bench/run.py [--json FILE]

Each row is the best of several runs, alternating between espalier and its peer; answers are compared first. Times are
of the whole call as Python sees it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import timeit

import numpy as np
from sortedcontainers import SortedDict

import espalier as es


def best(*calls, runs: int = 5) -> list[float]:
    """Seconds of each call, the best of runs in turn."""
    times = [[] for _ in calls]
    for _ in range(runs):
        for call, own in zip(calls, times):
            own.append(timeit.timeit(call, number=1))
    return [min(own) for own in times]


def searchsorted(dtype: str, keys_log2: int, queries_log2: int) -> dict:
    rng = np.random.default_rng(1)
    limit = 2**31 if np.dtype(dtype).itemsize == 4 else 2**62
    keys = np.sort(rng.integers(0, limit, 1 << keys_log2).astype(dtype))
    queries = rng.integers(0, limit, 1 << queries_log2).astype(dtype)
    ix = es.Index(keys)
    assert (ix.searchsorted(queries) == np.searchsorted(keys, queries)).all()
    ours, theirs = best(lambda: ix.searchsorted(queries), lambda: np.searchsorted(keys, queries))
    name = f"searchsorted, 2^{queries_log2} random {dtype} in 2^{keys_log2} keys"
    return row(name, ours, "NumPy", theirs)


def sorted_map(n: int) -> dict:
    rng = np.random.default_rng(2)
    keys, values = rng.integers(0, 2**60, n).astype("u8"), rng.normal(size=n)
    key_list, pairs = keys.tolist(), list(zip(keys.tolist(), values.tolist()))

    def ours():
        m = es.SortedMap("u8", "f8")
        m.update(keys, values)
        return m.find(keys)

    def theirs():
        m = SortedDict()
        m.update(pairs)
        return [m[k] for k in key_list]

    assert ours().tolist() == theirs()
    a, b = best(ours, theirs, runs=3)
    return row(f"SortedMap: update of {n:,} pairs, then {n:,} lookups", a, "sortedcontainers", b)


def call_overhead() -> list[dict]:
    keys = np.arange(0, 10**6, 2)
    ix = es.Index(keys)
    one = np.array([4711])
    times = 20_000
    native = min(ix._tree.seconds_per_call(one, times) for _ in range(5))
    rows = []
    for name, call in (
        ("an array of one query", lambda: ix.searchsorted(one)),
        ("one Python int", lambda: ix.searchsorted(4711)),
    ):
        whole = min(timeit.repeat(call, number=times, repeat=5)) / times
        rows.append(
            {
                "name": f"searchsorted of {name}",
                "seconds": whole,
                "native_seconds": native,
                "overhead_seconds": whole - native,
            }
        )
    m = es.SortedMap("i8", "i8", (keys, keys))
    for name, call in (("m[k]", lambda: m[4712]), ("m[k] = v", lambda: m.__setitem__(4712, 1))):
        rows.append(
            {"name": f"SortedMap: {name}", "seconds": min(timeit.repeat(call, number=times, repeat=5)) / times}
        )
    return rows


def import_time() -> list[dict]:
    code = "import time; {first}start = time.perf_counter(); import espalier; print(time.perf_counter() - start)"
    rows = []
    for name, first in (
        ("import espalier, NumPy imported before", "import numpy; "),
        ("import espalier and NumPy", ""),
    ):
        runs = [float(subprocess.check_output([sys.executable, "-c", code.format(first=first)])) for _ in range(7)]
        rows.append({"name": name, "seconds": min(runs)})
    return rows


def row(name: str, ours: float, peer: str, theirs: float) -> dict:
    return {"name": name, "seconds": ours, "peer": peer, "peer_seconds": theirs, "ratio": theirs / ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the results to this file")
    arguments = parser.parse_args()
    conditions = {
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "espalier": es.__version__,
        "processor": platform.machine(),
    }
    print(conditions)
    rows = [searchsorted("i8", 24, 20), searchsorted("u4", 24, 20), searchsorted("f8", 20, 20), sorted_map(10**6)]
    rows += call_overhead() + import_time()
    for r in rows:
        text = f"{r['name']:62} {r['seconds'] * 1e3:10.4f} ms"
        if "ratio" in r:
            text += f"   {r['peer']} {r['peer_seconds'] * 1e3:9.2f} ms   {r['ratio']:.1f}x"
        if "overhead_seconds" in r:
            text += f"   of it C++ {r['native_seconds'] * 1e6:.2f} us, overhead {r['overhead_seconds'] * 1e6:.2f} us"
        print(text)
    if arguments.json:
        with open(arguments.json, "w") as file:
            head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout
            result = {
                "command": f"python {' '.join(sys.argv)}",
                "commit": os.environ.get("ESPALIER_COMMIT") or head.strip(),
                "date": time.strftime("%Y-%m-%d"),
                "machine": f"{platform.machine()}, {conditions['cores']} cores",
                "conditions": conditions | {"load_after": os.getloadavg()[0]},
                "rows": rows,
            }
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
