"""Peak memory of as-of joins of frames, as a multiple of inputs and answer.

usage: python python/bench/join_memory.py [--rows-log2 24] [--json FILE]

Each case is a process of its own. Its resident memory is read before the join, with both frames in it, and the kernel's
record of the peak (VmHWM) is reset then. `ratio` is the peak, without what the interpreter and its libraries take,
divided by the bytes of both frames and of the answer; the left columns of the answer are those of the left frame.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

CASES = ("sorted", "sorted, 500 groups", "random order", "random order, 500 groups")


def resident(field: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024


def measure(case: str, rows: int) -> dict[str, object]:
    import numpy as np
    import polars as pl

    import espalier as es

    small = pl.DataFrame({"ts": [1, 2], "sym": [1, 1], "bid": [1.0, 2.0], "size": [1, 2]})
    es.join_asof(small.select("ts", "sym"), small, on="ts", by="sym")  # threads and libraries are there now
    base = resident("VmRSS:")
    rng = np.random.default_rng(31)
    by = "sym" if "groups" in case else None
    made = []
    for side in range(2):
        ts = rng.integers(0, 8 * rows, rows)
        if case.startswith("sorted"):
            ts.sort()
        columns = {"ts": ts}
        if by is not None:
            columns[by] = rng.integers(0, 500, rows).astype(np.int32)
        if side == 1:
            columns |= {"bid": rng.random(rows), "size": rng.integers(1, 1000, rows)}
        made.append(pl.DataFrame(columns))
        del columns, ts
    left, right = made
    inputs = left.estimated_size() + right.estimated_size()
    before = resident("VmRSS:")
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    answer = es.join_asof(left, right, on="ts", by=by)
    peak = resident("VmHWM:")
    output = answer.estimated_size() - left.estimated_size()
    return {
        "case": case,
        "rows": rows,
        "inputs_bytes": inputs,
        "answer_bytes": output,
        "resident_before_bytes": before - base,
        "peak_bytes": peak - base,
        "ratio": round((peak - base - max(0, before - base - inputs)) / (inputs + output), 3),
    }


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows-log2", type=int, default=24)
    arguments.add_argument("--case", default="")
    arguments.add_argument("--json", default="")
    options = arguments.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, 1 << options.rows_log2)))
        return
    results = []
    for case in CASES:
        command = [sys.executable, __file__, "--rows-log2", str(options.rows_log2), "--case", case]
        results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(results[-1], flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    about = {
        "command": f"python python/bench/join_memory.py --rows-log2 {options.rows_log2}",
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"about": about, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
