#!/usr/bin/env python3
"""Records the traces of the explorer's gallery into web/gallery.

usage: record_gallery.py PATH_OF_ESPALIER

Those of a CPU come from live sessions of the library; with several threads no two recordings are equal, so record them
again only if the format of traces changes, and look at them. Those of a GPU are the files of docs/traces.
"""

import gzip
import json
import os
import pathlib
import random
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "web" / "gallery"

LINK = {"index": "blink", "protocol": "link", "upper": "classic", "slots": 8}


def shuffled(keys, seed):
    mixed = list(keys)
    random.Random(seed).shuffle(mixed)
    return mixed


# name: session, the keys of the tree at the start, threads, what is recorded
RECORDED = {
    # A crowd into one place of the middle.
    "split-storm": (LINK, shuffled(range(0, 4000, 100), 2), 4, ("insert", shuffled(range(1901, 2000), 7))),
    "append": (LINK, shuffled(range(0, 120, 10), 4), 1, ("insert", list(range(120, 520, 10)))),
    "erase-wave": (LINK, shuffled(range(0, 720, 10), 3), 2, ("erase", list(range(0, 720, 10)))),
    # First many children of one node, then keys that leave a common beginning early.
    "radix-growth": ({"index": "radix"}, [1, 2, 3], 1, ("insert", [*range(256, 276), *range(65536, 458752, 65536)])),
}


def run(explorer, session, threads, op, keys):
    body = {"do": [{"op": op, "keys": [str(key) for key in keys]}], "threads": threads}
    explorer.ask_json(f"sessions/{session}/run", body)


def from_event(text, first, state):
    """The trace from an event on, with the tree as it was by then at its start."""
    header, *events, end = (json.loads(line) for line in text.splitlines())
    header["start"] = state
    kept = [e | {"i": e["i"] - first, "t": e["t"] - events[first]["t"]} for e in events[first:]]
    lines = [header, *kept, end | {"events": len(kept)}]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def compressed(text):
    return gzip.compress(text.encode(), 9, mtime=0)


def record(explorer, shape, made_of, threads, doing):
    """A storm in which no team had to try again shows little: of many recordings the one with most retries is taken. Where
    the clocks of two processors differ, a long beginning has one time, and such a recording is not taken."""
    best, most = None, -1
    for _ in range(1 if threads == 1 else 60):
        session = explorer.ask_json("sessions", shape)["id"]
        run(explorer, session, 1, "insert", made_of)
        first = explorer.ask_json(f"sources/{session}")["events"]
        state = explorer.ask_json(f"sources/{session}/state?at={first}")["state"]
        run(explorer, session, threads, *doing)
        text = from_event(explorer.ask(f"sources/{session}/trace"), first, state)
        explorer.drop(session)
        times = {json.loads(line)["t"] for line in text.splitlines()[1:100]}
        if text.count('"e":"retry"') > most and len(times) > 50:
            best, most = text, text.count('"e":"retry"')
        time.sleep(0.15)  # the server answers 50 calls a second
    return best


def main():
    os.environ["ESPALIER_CLI"] = str(pathlib.Path(sys.argv[1]).resolve())
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    from support import Explorer

    OUT.mkdir(exist_ok=True)
    explorer = Explorer()
    try:
        for name, recorded in RECORDED.items():
            text = record(explorer, *recorded)
            kinds = [json.loads(line).get("e") for line in text.splitlines()]
            packed = compressed(text)
            (OUT / f"{name}.trace.gz").write_bytes(packed)
            counts = {k: kinds.count(k) for k in ("split", "link", "post", "merge", "retry", "kind")}
            print(name, len(kinds) - 2, "events", counts, len(packed), "bytes")
    finally:
        explorer.close()
    for path in sorted((ROOT / "docs" / "traces").glob("*.trace")):
        packed = compressed(path.read_text())
        (OUT / f"{path.name}.gz").write_bytes(packed)
        print(path.stem, len(packed), "bytes")


if __name__ == "__main__":
    main()
