"""The backend of Ray: the answers of the in-process backend, also while owners and tasks are killed."""

from __future__ import annotations

import ctypes
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import xml.etree.ElementTree as xml

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from kill_cases import HANG, Kills, OwnerKiller, TaskKiller
from shard_cases import (
    CLUSTER,
    ROUNDS,
    ROWS,
    SHARDS_OF_CLUSTER,
    cluster_queries,
    cluster_source,
    joins_of_tables,
    started,
    whole_queries,
    word_source,
)

ray = pytest.importorskip("ray", reason="Ray cannot be installed here (espalier[ray]): its backend is not tested")

import espalier.ray as er  # noqa: E402
from espalier.ray import _owners  # noqa: E402
from espalier.ray._bounds import Request  # noqa: E402
from espalier.ray._keys import piece_of  # noqa: E402
from espalier.ray._packing import pack, unpack  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own code


@pytest.fixture(scope="module")
def source():
    return cluster_source()


@pytest.fixture(scope="module")
def cluster():
    options = dict(num_cpus=2, object_store_memory=256 << 20, include_dashboard=False, **CLUSTER)
    started(lambda: ray.init(address="local", **options), ray.shutdown)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def tables(cluster, source, tmp_path_factory):
    """The same files with both backends."""
    root = tmp_path_factory.mktemp("cluster") / "t"
    table = er.build(root, source, ["sym", "time"], shards=SHARDS_OF_CLUSTER, values=["bid"], backend="ray", owners=2)
    table.append(source.slice(0, 500))
    yield table, er.open(root, backend="local")
    table.close()


@pytest.fixture(scope="module")
def word_tables(cluster, tmp_path_factory):
    root = tmp_path_factory.mktemp("words") / "t"
    table = er.build(root, word_source(), "k", shards=SHARDS_OF_CLUSTER, backend="ray", owners=2)
    yield table, er.open(root, backend="local")
    table.close()


def killed_owners(tables, kind, queries):
    table, local = tables
    kills = Kills(kind, OwnerKiller(table))
    try:
        for seed in kills.rounds():
            query = queries(seed)[kind]
            kills.disturb(seed, lambda: query(table), query(local))
    finally:
        kills.record()
    kills.check()


@pytest.mark.parametrize("kind", cluster_queries(0))
def test_answers_while_owners_are_killed_at_random(tables, kind):
    killed_owners(tables, kind, cluster_queries)


@pytest.mark.parametrize("kind", whole_queries(0))
def test_whole_batches_while_owners_are_killed_at_random(word_tables, kind, monkeypatch):
    table, _ = word_tables
    assert table.contains(np.arange(-ROWS, ROWS, 50)).any()  # answers say where owners are
    plain, divided = table.backend.ask_whole, []

    def counted(*arguments):
        answers = plain(*arguments)
        divided.append(answers is not None)
        return answers

    monkeypatch.setattr(table.backend, "ask_whole", counted)
    killed_owners(word_tables, kind, whole_queries)
    assert divided and all(divided)


@pytest.mark.parametrize("kind", joins_of_tables(0))
def test_joins_of_two_tables_while_tasks_are_killed_at_random(tables, kind, tmp_path, monkeypatch):
    table, local = tables
    trades = local.range(("b",), ("c",), columns=["sym", "time"])
    trades = trades.take(np.arange(0, len(trades), len(trades) // 1000))  # of several shards
    left = er.build(tmp_path / "left", trades, ["sym", "time"], shards=1, like=table, backend="ray", owners=1)
    killer = TaskKiller(tmp_path)
    monkeypatch.setattr(_owners.Tasks, "map", killer.map(_owners.Tasks.map))
    kills = Kills(kind, killer)
    try:
        for seed in kills.rounds():
            join = joins_of_tables(seed)[kind]

            def query():
                return pa.concat_tables([pq.read_table(file) for file in join(left, table, into=tmp_path / "out")])

            kills.disturb(seed, query, join(trades, local))
    finally:
        kills.record()
    kills.check()
    left.close()


KEYS_OF_WORDS = {
    "integers": lambda n: (["k"], {"k": pa.array(n - 9_000, pa.int64())}),
    "unsigned": lambda n: (["k"], {"k": pa.array(n, pa.uint64())}),
    "floats": lambda n: (["k"], {"k": pa.array(n - 9_000.5, pa.float64())}),
    "pairs": lambda n: (["a", "b"], {"a": pa.array(n % 7 - 3, pa.int16()), "b": pa.array(n // 7, pa.uint32())}),
}


@pytest.mark.parametrize("kind", KEYS_OF_WORDS)
def test_owners_divide_large_batches(cluster, tmp_path, kind):
    """Also while one is killed, with NULLs, and with shards that two owners answer for."""
    key, columns = KEYS_OF_WORDS[kind](np.random.default_rng(3).integers(0, 30_000, 20_000))
    columns["v"] = pa.array([f"row {i}" for i in range(20_000)])
    table = er.build(tmp_path / "t", pa.table(columns), key, shards=7, backend="ray", owners=2)
    local = er.open(tmp_path / "t", backend="local")
    numbers = np.random.default_rng(4).integers(0, 40_000, _owners.WHOLE_BATCH + 5)
    asked = pa.table(KEYS_OF_WORDS[kind](numbers)[1])
    missing = pa.array(numbers % 5 == 0)
    some = pa.table([pc.if_else(missing, None, column) for column in asked.columns], asked.column_names)
    assert table.contains(asked).tolist() == local.contains(asked).tolist()  # whose answers say where owners are
    plain, divided = table.backend.ask_whole, []

    def counted(*arguments):
        answers = plain(*arguments)
        divided.append(answers is not None)
        return answers

    table.backend.ask_whole = counted
    for questions in (asked, some):
        before = table.status()["traffic"], local.status()["traffic"]
        assert table.contains(questions).tolist() == local.contains(questions).tolist()
        loads = [{shard["shard"]: shard["load"] for shard in t.status()["shards"]} for t in (table, local)]
        after = table.status()["traffic"], local.status()["traffic"]
        assert after[0]["calls"] - before[0]["calls"] == 2
        assert after[0]["requests"] - before[0]["requests"] == after[1]["requests"] - before[1]["requests"] == 7
        assert loads[0] == loads[1]
        assert table.find(questions).equals(local.find(questions))
        assert local.find(questions, columns=[]).equals(table.find(questions, columns=[]))
    table.backend._second[3] = 1
    if kind == "pairs":
        os.kill(table.status()["owners"][1]["pid"], signal.SIGKILL)
    for _ in range(2):
        assert table.find(asked).equals(local.find(asked))
    assert divided and all(divided) and table.status()["owners"][1]["restarts"] == (kind == "pairs")
    table.close()


def test_small_batches_of_many_threads_are_gathered(tables):
    first, local = tables
    table = er.open(first.root, backend="ray", owners=1, gather_ms=3_600_000)
    keys = [("a", int(t)) for t in np.linspace(1, ROWS - 1, 16)]
    sent = [local.status()["traffic"]["requests"]]
    expected = []
    for key in keys:
        expected.append(local.count(key, None))
        sent.append(local.status()["traffic"]["requests"])
    asking = int(np.count_nonzero(np.diff(sent)))  # a key between two shards needs no call
    assert table.count(("a", 3), None) == local.count(("a", 3), None)
    lane, owner = table.backend._lanes[0], table.status()["owners"][0]
    calls, answers = owner["calls"], [None] * len(keys)
    os.kill(owner["pid"], signal.SIGSTOP)  # the first call stays with the owner until all others wait
    try:

        def ask(i):
            answers[i] = table.count(keys[i], None)

        threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(len(keys))]
        for thread in threads:
            thread.start()
        while len(lane._pending) < asking - 1 and sum(thread.is_alive() for thread in threads) >= asking:
            time.sleep(0.01)
    finally:
        os.kill(owner["pid"], signal.SIGCONT)
    for thread in threads:
        thread.join()
    assert answers == expected
    assert table.status()["owners"][0]["calls"] - calls == 2
    table.close()


def test_a_call_sends_to_all_owners_before_it_waits_for_one(tables):
    """Two calls while both owners are busy: the second one is pending for both of them, and its deadline sends it to
    both, although no owner answers."""
    table, local = tables
    keys = [("a", 5), ("d", 5)]
    expected = local.contains(keys).tolist()
    assert table.contains(keys).tolist() == expected
    lanes, owners = table.backend._lanes, table.status()["owners"]
    calls, answers = [lane.calls for lane in lanes], []

    def ask():
        answers.append(table.contains(keys).tolist())

    for owner in owners:
        os.kill(owner["pid"], signal.SIGSTOP)
    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    try:
        for number, thread in enumerate(threads, 1):
            thread.start()
            until = time.monotonic() + HANG
            while [lane.calls for lane in lanes] != [before + number for before in calls]:
                assert time.monotonic() < until, "a request was not sent while another owner did not answer"
                time.sleep(0.01)
        assert not answers
    finally:
        for owner in owners:
            os.kill(owner["pid"], signal.SIGCONT)
    for thread in threads:
        thread.join()
    assert answers == [expected] * 2


class Unreadable:
    """What cannot be unpickled: the call fails in the owner, and is not lost."""

    def __reduce__(self):
        return int, ("no number",)


class Unwritable:
    def __reduce__(self):
        raise RecursionError("not written")


def item_of(bounds, arguments):
    return _owners._Item(bounds.generation, [0], "find", arguments, 1)


@pytest.fixture(scope="module")
def patient_table(tables):
    """Its calls have an hour's patience: one that waited for a call that failed would not come back."""
    with er.open(tables[0].root, backend="ray", owners=2, gather_ms=3_600_000) as table:
        yield table


@pytest.mark.parametrize("content, problem", [(Unreadable, ValueError), (Unwritable, RecursionError)])
def test_a_call_that_fails_does_not_leave_its_lane_busy(tables, patient_table, content, problem):
    table, (_, local) = patient_table, tables
    keys = [("a", 5), ("d", 5)]
    expected = local.contains(keys).tolist()
    assert table.contains(keys).tolist() == expected
    backend, bounds = table.backend, table._bounds
    for _ in range(2):
        with pytest.raises(problem, match="no number|not written"):
            backend._exchange(bounds, [(lane, item_of(bounds, content())) for lane in backend._lanes])
        assert not any(lane._in_flight or lane._pending for lane in backend._lanes)
        assert table.contains(keys).tolist() == expected


def test_an_interrupted_call_does_not_leave_its_lane_busy(tables, patient_table):
    table, (_, local) = patient_table, tables
    keys = [("a", 5), ("d", 5)]
    expected = local.contains(keys).tolist()
    assert table.contains(keys).tolist() == expected
    lanes, owners = table.backend._lanes, table.status()["owners"]
    calls = sum(lane.calls for lane in lanes)

    def interrupt():
        while sum(lane.calls for lane in lanes) < calls + 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    for owner in owners:
        os.kill(owner["pid"], signal.SIGSTOP)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            table.contains(keys)
        assert not any(lane._in_flight or lane._pending for lane in lanes)
    finally:
        signal.signal(signal.SIGINT, handler)
        for owner in owners:
            os.kill(owner["pid"], signal.SIGCONT)
    assert table.contains(keys).tolist() == expected


def test_small_answers_travel_as_one_byte_string(tables):
    table, _ = tables
    table.count(None, ("b",))
    bounds, lane = table._bounds, table.backend._lanes[0]
    for n, kind in ((10, bytes), (100_000, tuple)):
        keys, _, _ = bounds.codec.questions(pa.table({"sym": ["a"] * n, "time": np.arange(n) % 5000}))
        item = _owners._Item(bounds.generation, [0], "find", pack([(keys, ["sym", "time"])]), n)
        (answer,) = ray.get(lane.call([item]))
        assert type(answer) is kind
        pid, _, ((state, packed),) = pickle.loads(answer) if kind is bytes else answer
        assert pid == lane.pid and state == "answers" and len(unpack(packed)[0][0]) == n


def test_a_busy_shard_gets_a_second_owner(tables, monkeypatch):
    monkeypatch.setattr(_owners, "LOAD_CHECK", 4)
    first, local = tables
    table = er.open(first.root, backend="ray", owners=2)
    assert all(len(shard["owners"]) == 1 for shard in table.status()["shards"])
    times = np.arange(2000)
    busy = pa.table({"sym": ["d"] * 2000, "time": ROWS - times})
    expected = local.contains(busy).tolist()
    for _ in range(20):
        assert table.contains(busy).tolist() == expected
    status = table.status()
    last = status["shards"][-1]
    assert len(last["owners"]) == 2 and len(set(last["owners"])) == 2
    assert last["load"] > 2 * np.median([shard["load"] for shard in status["shards"]])
    assert status["rows"] == ROWS + 500 and sum(shard["rows"] for shard in status["shards"]) == ROWS + 500
    assert all(owner["pid"] > 0 and owner["bytes"] > 0 for owner in status["owners"])
    # Another shard is busy now: the first one loses its second owner when its load is down to the median.
    busy = pa.table({"sym": ["a"] * 500, "time": times[:500] % 1000})
    expected = local.contains(busy).tolist()
    for _ in range(20 * 4):  # more than the load, 40,000, can be halved
        assert table.contains(busy).tolist() == expected
    owners = [shard["owners"] for shard in table.status()["shards"]]
    assert len(owners[0]) == 2 and len(owners[-1]) == 1
    table.close()


def test_new_split_points_reset_loads_and_second_owners(cluster, source, tmp_path):
    table = er.build(tmp_path / "t", source.slice(0, 4000), ["sym", "time"], shards=2, backend="ray", owners=3)
    reader = er.open(tmp_path / "t", backend="local")
    whole = er.open(tmp_path / "t", backend="local").range(None, None)
    old = table._bounds
    assert table.contains(whole).all() and reader.contains(whole).all()
    table.backend._second[1] = 0
    assert table.status()["shards"][1]["owners"] == [1, 0]
    table.append(source.slice(4000, 10))  # the same split points
    for one in (table, reader.refresh()):
        assert [shard["load"] for shard in one.status()["shards"]] == [2000, 2000]
    assert table.status()["shards"][1]["owners"] == [1, 0]
    table.compact(shards=4)
    for one in (table, reader.refresh()):
        assert [shard["load"] for shard in one.status()["shards"]] == [0] * 4
    assert len(table.status()["owners"]) == 3
    assert [shard["owners"] for shard in table.status()["shards"]] == [[0], [0], [1], [2]]
    assert table.contains(whole).all()
    loads = [shard["load"] for shard in table.status()["shards"]]
    assert sum(loads) == 4000 and table.backend._second == {}
    # A call that began before, with bounds of the old generation, counts for no shard of the new one.
    table.backend._second[1] = 2
    late = table.backend.ask(old, [Request(1, "find", (piece_of(old._last_keys, 1, 2), []), 1)])
    assert late[0][0].tolist() == [True]
    assert [shard["load"] for shard in table.status()["shards"]] == loads
    assert table.backend.status(old)["shards"][1]["owners"] == [1]
    table.close()
    table.backend._wanted = 1
    assert table.contains(whole).all()  # its owner starts again, and second ones do not
    assert table.status()["shards"][1]["owners"] == [0]
    table.close()


def test_the_picture_shows_shards_and_owners(tables):
    table, _ = tables
    picture = xml.fromstring(table.draw())
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any("generation 2" in text for text in texts)
    assert sum(text.startswith("owner ") for text in texts) == len(table.status()["owners"])
    assert [text for text in texts if text.isdigit()] == [str(n) for n in range(SHARDS_OF_CLUSTER)]


def test_memory_of_a_build_does_not_grow_with_its_source(cluster, tmp_path, monkeypatch):
    """The peaks of the driver and of the processes of tasks, as the kernel counts them, for twice as many rows in twice
    as many shards. Counted from what each of them had before; a process of tasks, after a build of a few rows, so that
    pages of libraries are not counted. It gives back what it kept of earlier tasks."""
    peaks, plain = str(tmp_path / "peaks"), _owners.Tasks.map

    def kilobytes(name):
        with open("/proc/self/status") as file:
            return int(next(line for line in file if line.startswith(name)).split()[1])

    def restart_peak():
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")

    def run(function, arguments):
        if not hasattr(er, "small"):
            options = dict(values=["v"], backend="local", replace=True)
            er.build(f"{warm}-{os.getpid()}", f"{warm}.parquet", "k", shards=2, **options)
            er.small = kilobytes("VmRSS")
        pa.default_memory_pool().release_unused()
        ctypes.CDLL(None).malloc_trim(0)
        restart_peak()
        answer = function(*arguments)
        with open(peaks, "a") as file:
            file.write(f"{kilobytes('VmHWM') - er.small}\n")
        return answer

    def measured_map(self, function, arguments, done):
        return plain(self, run, [(function, one) for one in arguments], done)

    monkeypatch.setattr(_owners.Tasks, "map", measured_map)
    rng = np.random.default_rng(1)
    rows, files = 200_000, 20
    warm = str(tmp_path / "warm")
    pq.write_table(pa.table({name: np.arange(1000) for name in ("k", "v", "a", "b", "c")}), f"{warm}.parquet")
    for i in range(files):
        columns = {name: rng.integers(0, 1 << 60, rows) for name in ("k", "v", "a", "b", "c")}
        pq.write_table(pa.table(columns), tmp_path / f"{i:02}.parquet", row_group_size=50_000)
    options = dict(values=["v"], backend="ray", owners=1, piece_bytes=4 << 20)
    tasks, driver = [], []
    for count, shards in ((files // 2, 16), (files, 32)):
        source = [str(tmp_path / f"{i:02}.parquet") for i in range(count)]
        restart_peak()
        before = kilobytes("VmRSS")
        table = er.build(tmp_path / str(count), source, "k", shards=shards, **options)
        driver.append(kilobytes("VmHWM") - before >> 10)
        assert len(table) == count * rows
        with open(peaks) as file:
            tasks.append(max(map(int, file)) >> 10)
        os.unlink(peaks)
        table.close()
    shard, more = files * rows * 40 // 32 >> 20, files // 2 * rows * 40 >> 20
    assert tasks[1] < tasks[0] + 6 * shard, f"{tasks} MiB, shards of {shard} MiB"
    assert max(driver) < more / 4, f"{driver} MiB, {more} MiB more of source"


def test_two_tables_are_joined_by_tasks(tables, tmp_path):
    table, local = tables
    trades = local.range(("b",), ("c",), columns=["sym", "time"]).slice(0, 5000)
    left = er.build(tmp_path / "left", trades, ["sym", "time"], shards=1, like=table, backend="ray", owners=1)
    files = er.join_asof(left, table, on="time", by="sym", allow_exact_matches=False, into=tmp_path / "out")
    answer = pa.concat_tables([pq.read_table(file) for file in files])
    assert answer.equals(er.join_asof(trades, local, on="time", by="sym", allow_exact_matches=False))
    assert len(files) < SHARDS_OF_CLUSTER  # only shards with rows
    options = dict(on="time", by="sym", window=(-9000, 9), agg={"bid": ["sum", "last"], "*": "count"})
    files = er.join_window(left, table, into=tmp_path / "windows", **options)
    answer = pa.concat_tables([pq.read_table(file) for file in files])
    assert answer.equals(er.join_window(trades, local, **options))
    left.close()


def test_readers_of_swept_generations_begin_again(cluster, source, tmp_path):
    table = er.build(tmp_path / "t", source.slice(0, 2000), ["sym", "time"], shards=3, backend="ray", owners=1)
    reader = er.open(tmp_path / "t", backend="ray", owners=1)
    assert reader.count(None, ("b",)) == table.count(None, ("b",))
    for i in range(4):
        table.append(source.slice(2000 + 100 * i, 100))
    table.compact(shards=5)
    table.sweep(keep=1)
    late = er.open(tmp_path / "t", backend="ray", owners=1)
    late._bounds = reader._bounds
    assert late.count(("a",), ("b",)) == table.count(("a",), ("b",))  # its owner never saw the old generation
    assert late.find(("a", 3), columns=[]) == {} if ("a", 3) in table else True
    assert late.generation == table.generation
    rows = late.range(None, None)
    assert rows.equals(er.open(tmp_path / "t", backend="local").range(None, None)) and rows.num_rows == 2400
    for one in (table, reader, late):
        one.close()


def test_damaged_files_are_refused_by_name(cluster, source, tmp_path):
    table = er.build(tmp_path / "t", source.slice(0, 1000), ["sym", "time"], shards=2, backend="ray", owners=1)
    path = tmp_path / "t" / "shards" / "1-1" / "rows.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"{path} is damaged"):
        table.range(None, None)
    table.close()


WRITES = {"open", "os.rename", "os.mkdir", "os.remove"}


def killed_in(root, marks, step):
    """An executor's function that runs a task; in its first try, every `step`-th task is killed before a file
    operation, or at its end if it has fewer of them."""

    def run(number, function, arguments):
        left = [-1]  # file operations until the end; below zero, none

        def audit(event, values):
            if event in WRITES and str(values[0]).startswith(root) and left[0] >= 0:
                if event == "open" and not values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                    return
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        mark = os.path.join(marks, f"{function.__name__}-{number}")
        dies = number % step == 0 and not os.path.exists(mark)
        if dies:
            open(mark, "x").close()
            left[0] = number // step
            sys.addaudithook(audit)
        answer = function(*arguments)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return run


def test_tasks_of_a_build_that_are_killed_run_again(cluster, source, tmp_path, monkeypatch):
    root, marks, plain = str(tmp_path / "t"), tmp_path / "marks", _owners.Tasks.map
    marks.mkdir()
    run = killed_in(root, str(marks), 3)

    def map_with_kills(self, function, arguments, done):
        return plain(self, run, [(i, function, one) for i, one in enumerate(arguments)], done)

    monkeypatch.setattr(_owners.Tasks, "map", map_with_kills)
    options = dict(values=["bid"], backend="ray", owners=1, piece_bytes=500_000)
    table = er.build(root, source, ["sym", "time"], shards=9, **options)
    killed = {path.name.partition("-")[0] for path in marks.iterdir()}
    assert killed == {"sample_piece", "divide_piece", "write_range"} and len(list(marks.iterdir())) >= 5
    local = er.build(tmp_path / "one", source, ["sym", "time"], shards=1, backend="local")
    assert table.range(None, None).equals(local.range(None, None))
    named = {range_["base"]["folder"] for range_ in table._bounds.ranges}
    assert set(os.listdir(tmp_path / "t" / "shards")) == named  # what the killed tasks wrote was swept
    table.append(source.slice(0, 100))
    table.compact()
    assert any(path.name.startswith("merge_range") for path in marks.iterdir())
    assert len(table) == ROWS + 100 == table.count(None, None)
    table.close()


DRIVER = """
    import os, signal, sys
    import ray
    import espalier.ray as er

    address, root, source, stage, number = sys.argv[1:]
    ray.init(address=address, logging_level="ERROR", log_to_driver=False)

    def progress(name, done, total):
        if name == stage and done == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    options = dict(values=["bid"], replace=True, backend="ray", piece_bytes=100_000, progress=progress)
    er.build(root, source, ["sym", "time"], shards=9, **options)
"""
STAGES = [("sampling", 1), ("dividing", 0), ("dividing", 3), ("writing", 0), ("writing", 4), ("writing", 9)]


def test_a_driver_that_is_killed_in_a_build_leaves_a_whole_generation(cluster, source, tmp_path):
    """The cluster outlives it, and for a while its tasks, too."""
    old = source.slice(0, 1000)
    er.build(tmp_path / "t", old, ["sym", "time"], shards=3, values=["bid"], backend="local")
    pq.write_table(source, tmp_path / "source.parquet", row_group_size=5000)
    address = ray.get_runtime_context().gcs_address
    before = er.open(tmp_path / "t", backend="local").range(None, None)
    for stage, number in STAGES if ROUNDS > 2 else [random.choice(STAGES)]:
        arguments = [address, str(tmp_path / "t"), str(tmp_path / "source.parquet"), stage, str(number)]
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(DRIVER), *arguments], capture_output=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
        table = er.open(tmp_path / "t", backend="local")
        assert table.generation == 1 and table.range(None, None).equals(before), (stage, number)
    # The next writer is not disturbed; what the tasks have written last is removed by a later sweep.
    options = dict(values=["bid"], replace=True, backend="ray", owners=1)
    table = er.build(tmp_path / "t", source, ["sym", "time"], shards=4, **options)
    assert table.generation == 2 and len(table) == ROWS == table.count(None, None)
    named = {range_["base"]["folder"] for range_ in table._bounds.ranges}
    until = time.monotonic() + HANG
    while set(os.listdir(tmp_path / "t" / "shards")) != named:
        assert time.monotonic() < until
        table.sweep(keep=1)
        time.sleep(0.1)
    assert table.count(None, None) == ROWS
    table.close()
