"""Ctrl-C ends long calls, and leaves everything as it was.

Each program repeats one call of the compiled module without running Python code in between, so that no signal handler
can run unless the call itself ends: a call that is not interruptible would go on for hours.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import espalier as es

SETUP = """
import collections, itertools, os, signal, threading, time
import numpy as np
import espalier as es
from espalier import _core
rng = np.random.default_rng(1)
def forever(call, *arguments):
    collections.deque(map(call, *map(itertools.repeat, arguments)), maxlen=0)
def interrupt(call, *arguments):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        forever(call, *arguments)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
keys = rng.integers(0, 2**60, 1 << 22)
words = [f"{k % 3_000_000}/{k % 7}" for k in keys[: 1 << 18].tolist()]
"""
CALLS = {
    "build": """
interrupt(_core.build_index, keys, keys, "all")
assert len(es.Index(keys)) == len(keys)
""",
    "build of text": """
interrupt(_core.build_index, es._core.to_numpy(keys, "k")[0].astype("S20"), None, None)
""",
    "searchsorted": """
ix = es.Index(keys)
interrupt(ix._tree.searchsorted, keys, False)
assert (ix.searchsorted(np.sort(keys)[:9]) == np.arange(9)).all()
""",
    "range": """
ix = es.Index(keys)
interrupt(ix._tree.range, keys[:1000] // 64, keys[:1000] // 32 + 2**54, "both", None)
""",
    "queries of text": """
ix = es.Index(words)
asked = np.array(words * 8, dtype="S20").astype("U20")
interrupt(ix._tree.get_indexer, asked)
assert words[0] in ix
""",
    "find in a map": """
m = es.SortedMap("i8", "i8", (keys, keys))
interrupt(m._tree.find, keys, None)
m[5] = 6
assert m[5] == 6 and (m.find(keys) == keys).all()
""",
    "count in a map": """
keys = keys[: 1 << 16]
m = es.SortedMap("i8", "i8", (keys, keys))
lo, hi = np.zeros(1 << 20, "i8"), np.full(1 << 20, 2**60)
interrupt(m._tree.count, lo, hi, "both")  # each query reads all leaves
m.discard(keys[:100])
assert not m.contains(keys[:100]).any() and len(m) == len(np.unique(keys[100:]))
""",
    "prefixes in a map of text": """
m = es.SortedMap("str", "i8", (words, np.arange(len(words))))
n = len(m)
interrupt(m._tree.count_prefix, np.array(words * 8))
m["new"] = 1
assert len(m) == n + 1 and m["new"] == 1 and m.count("", "\\x7f") == n + 1
""",
    "as-of join": """
left = _core.JoinColumn.from_array(keys, "l")
right = _core.JoinColumn.from_array(rng.permutation(keys), "l")
interrupt(_core.asof_join, left, right, None, None, 0, "detect", "detect", "backward", True, None)
""",
    "window join": """
left = _core.JoinColumn.from_array(keys, "l")
interrupt(_core.window_join, left, left, None, None, 0, "detect", "detect", [left], -(2**50), 2**50, True, True,
          [("sum", 0)])
""",
}


def run(program):
    child = subprocess.run([sys.executable, "-c", SETUP + program], capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.parametrize("call", CALLS)
def test_calls_are_interrupted(call):
    assert run(CALLS[call]) == "interrupted\n"


def test_a_few_long_ranges_are_interrupted():
    """The signal comes while rows are written: the answer has grown by then. A call that is not interrupted completes,
    and `done` has its answer."""
    out = run("""
ix = es.Index(keys)
lo, hi = np.zeros(24, "i8"), np.full(24, 2**60)
def resident():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def interrupt_when_grown(before):
    while resident() < before + (1 << 26):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
for attempt in range(10):  # the machine may be too busy to deliver the signal in time
    done = []
    thread = threading.Thread(target=interrupt_when_grown, args=(resident(),))
    thread.start()
    try:
        collections.deque(map(done.append, map(ix._tree.range, [lo] * 2, [hi] * 2, ["both"] * 2, [None] * 2)), maxlen=0)
        time.sleep(60)
    except KeyboardInterrupt:
        pass
    thread.join()
    if not done:
        print("interrupted")
        break
offsets, rows = ix.range([0, 2**60, 0, 5], [2**60, 0, 2**60, 4])
assert (np.diff(offsets) == [len(keys), 0, len(keys), 0]).all()
assert (rows.reshape(2, -1) == np.argsort(keys, kind="stable")).all()
""")
    assert out == "interrupted\n"


def test_writes_are_complete():
    """A write is not interrupted: the exception comes after it."""
    out = run("""
values = np.arange(len(keys))
m = es.SortedMap("i8", "i8")
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        m.update(keys, values)
        m.clear()
except KeyboardInterrupt:
    n = len(m)
    print("interrupted", n in (0, len(np.unique(keys))), bool(np.isin(m.values(), values).all()))
""")
    assert out == "interrupted True True\n"


def test_handlers_of_the_program_run_after_the_call():
    """A handler may use the object whose lock a call holds; it never runs within one."""
    out = run("""
m = es.SortedMap("str", "i8", (words, np.arange(len(words))))
seen = []
for number in (signal.SIGALRM, signal.SIGINT):
    signal.signal(number, lambda *unused: seen.append(len(m) + m.count("", "9") + len(m.stats())))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
deadline = time.monotonic() + 100
while len(seen) < 20 and time.monotonic() < deadline:
    os.kill(os.getpid(), signal.SIGINT)
    m[f"x{len(seen)}"] = 1  # the next query makes the order of the leaves again, with the exclusive lock
    m.count_prefix(words)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(seen) >= 20, seen == sorted(seen), seen[0] > len(set(words)))
""")
    assert out == "True True True\n"


def test_calls_of_other_threads_do_not_wait_for_the_interpreter():
    """The main thread looks for signals while it holds locks of the map, and others ask the map meanwhile."""
    m = es.SortedMap("str", "i8", ([f"{i:07}" for i in range(200_000)], np.arange(200_000)))
    asked = [f"{i:07}" for i in range(0, 200_000, 3)] * 4
    stop = threading.Event()

    def others(number):
        while not stop.is_set():
            m.stats(), len(m), m.peekitem()
            m[f"x{number}"] = 1

    threads = [threading.Thread(target=others, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for _ in range(10):
        assert m.contains(asked).all() and m.count_prefix("0") == 200_000
    stop.set()
    for t in threads:
        t.join()
    assert len(m) == 200_003


def test_calls_of_other_threads_are_not_interrupted():
    keys = np.random.default_rng(2).integers(0, 2**60, 1 << 20)
    ix = es.Index(keys)
    answers = []
    thread = threading.Thread(target=lambda: answers.extend(ix.searchsorted(keys) for _ in range(3)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore SIGINT for programs behind `&`
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)  # the signal ends it
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert len(answers) == 3 and (answers[0] == answers[2]).all()
