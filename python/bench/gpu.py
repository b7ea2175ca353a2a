"""Rates of espalier.Index on a GPU with arrays of CuPy, as JSON.

  python python/bench/gpu.py [--keys 27] [--queries 26] [--cpp-rate OPERATION=RATE]...

`own_rate` is that of the library's calls in this process, on the same arrays, taken as `espalier bench` does: many
calls, and one wait at the end; `cpp_rate` is a number given, in queries per second, such as that of `espalier bench` on
this machine. `ratio` and `ratio_to_cpp` are those of the Python calls to these two, which include the allocation of
the answer.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import cupy
import numpy as np

import espalier as es


def seconds_of(call, repeat, shortest=0.5):
    """Median time of a call: runs of many calls, and one wait at the end of each."""
    wait = cupy.cuda.get_current_stream().synchronize
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    inner = max(1, int(shortest / max(time.perf_counter() - start, 1e-6)))
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        wait()
        found.append((time.perf_counter() - start) / inner)
    return statistics.median(found), inner


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, default=27, help="log2 of the number of keys")
    parser.add_argument("--queries", type=int, default=26, help="log2 of the number of queries")
    parser.add_argument("--dtype", default="u4", help="dtype of keys and values")
    parser.add_argument("--hit-rate", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--cpp-rate", action="append", default=[], metavar="OPERATION=RATE")
    options = parser.parse_args()
    given = {name: float(rate) for name, rate in (text.split("=") for text in options.cpp_rate)}

    n, m, dtype = 1 << options.keys, 1 << options.queries, np.dtype(options.dtype)
    cupy.random.seed(1)
    top = np.iinfo(dtype).max
    keys = cupy.random.randint(0, top, n, dtype=dtype)
    values = cupy.arange(n, dtype=dtype)
    start = time.perf_counter()
    ix = es.Index(keys, values=values)
    build = time.perf_counter() - start
    start = time.perf_counter()
    ix = es.Index(keys, values=values)
    build = min(build, time.perf_counter() - start)
    q = keys[cupy.random.randint(0, n, m)]
    if options.hit_rate < 1:
        misses = cupy.random.random(m) >= options.hit_rate
        q[misses] = cupy.random.randint(0, top, int(misses.sum()), dtype=dtype)
    hi = q + dtype.type(1000)
    values_out, found_out = cupy.empty(m, dtype), cupy.empty(m, bool)
    tree = ix._tree._tree

    def own(values_pointer, inner):
        times = [
            tree.seconds_per_find(q.data.ptr, m, values_pointer, found_out.data.ptr, inner)
            for _ in range(options.repeat)
        ]
        return statistics.median(times)

    calls = {
        "find": lambda: ix.find(q, default=0),
        "find_known": lambda: ix.find(q) if options.hit_rate == 1 else ix.find(q, default=0),
        "contains": lambda: ix.contains(q),
        "searchsorted": lambda: ix.searchsorted(q),
        "get_indexer": lambda: ix.get_indexer(q),
        "count": lambda: ix.count(q, hi),
    }
    rows = []
    for name, call in calls.items():
        seconds, inner = seconds_of(call, options.repeat)
        row = {"operation": name, "seconds": seconds, "rate": m / seconds}
        if name in ("find", "find_known", "contains"):
            row["own_rate"] = m / own(0 if name == "contains" else values_out.data.ptr, inner)
            row["ratio"] = row["rate"] / row["own_rate"]
        if name in given:
            row["cpp_rate"] = given[name]
            row["ratio_to_cpp"] = row["rate"] / given[name]
        rows.append(row)
    one = q[:1]
    seconds, _ = seconds_of(lambda: ix.find(one, default=0), options.repeat)
    rows.append({"operation": "find, 1 query", "seconds": seconds})
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    json.dump(
        {
            "command": " ".join(sys.argv),
            "commit": commit.stdout.strip() or None,
            "gpu": properties["name"].decode(),
            "python": sys.version.split()[0],
            "cupy": cupy.__version__,
            "keys": n,
            "queries": m,
            "dtype": dtype.name,
            "hit_rate": options.hit_rate,
            "build_seconds": build,
            "rows": rows,
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
