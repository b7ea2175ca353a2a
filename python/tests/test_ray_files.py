"""Files of sharded tables: killed writers, damaged files, readers and a writer at once, memory of a build."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shard_cases import ROUNDS

import espalier.ray as er

# A child is forked while threads of libraries wait; Python 3.12 warns of any thread.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
FIRST = pa.table({"k": [5, 1, 9, 5, 3, 7], "v": [1, 2, 3, 4, 5, 6]})
MORE = pa.table({"k": [4, 5, 10], "v": [7, 8, 9]})
OTHER = pa.table({"k": [100, 50, 75], "v": [1, 2, 3]})
#: Audit events of file operations, and where their arguments have the folder that a relative name is in.
FOLDER_OF_NAME = {"open": None, "os.rename": 2, "os.mkdir": 2, "os.remove": 1, "os.rmdir": 1, "os.chmod": 2}
TRIES = 8  # of a writer, in the default form


def make(root, appended):
    table = er.build(root, FIRST, "k", shards=3, values=["v"], backend="local")
    if appended:
        table.append(MORE)
    return table


WRITERS = {
    "build": lambda root: er.build(root, OTHER, "k", shards=2, values=["v"], replace=True, backend="local"),
    "append": lambda root: er.open(root, backend="local").append(OTHER),
    "compact": lambda root: er.open(root, backend="local").compact(),
    "new splits": lambda root: er.open(root, backend="local").compact(shards=2),
}


class Operations:
    """Counts the file operations of this process under a folder, writes of its files included, and ends the process
    with SIGKILL before one of them; before a write, half of its bytes are written."""

    def __init__(self, root, last):
        self._root, self._last = str(root), last
        self.count = 0
        plain = io.open

        def opened(file, mode="r", buffering=-1, *more, **options):
            path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)
            if "b" not in mode or set(mode).isdisjoint("wxa+") or not self._is_inside(path):
                return plain(file, mode, buffering, *more, **options)
            raw = CountedFile(file, mode.replace("b", ""))
            raw.before = self.before_write
            return (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)

        builtins.open = io.open = opened  # what the package, the standard library and pyarrow write through
        fsync = os.fsync

        def counted_fsync(handle):
            self._before(os.readlink(f"/proc/self/fd/{handle}"))
            fsync(handle)

        os.fsync = counted_fsync
        sys.addaudithook(self._audit)

    def _is_inside(self, path):
        return str(path).startswith(self._root)

    def _audit(self, event, arguments):
        if event not in FOLDER_OF_NAME or not isinstance(arguments[0], (str, os.PathLike)):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        path, folder = os.fspath(arguments[0]), FOLDER_OF_NAME[event]
        if folder is not None and arguments[folder] >= 0:
            path = os.path.join(os.readlink(f"/proc/self/fd/{arguments[folder]}"), path)
        assert os.path.isabs(path) or event == "open", (event, arguments)  # a name in an unknown folder: os.open()
        self._before(path)

    def _before(self, path):
        if self._is_inside(path):
            if self.count == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1

    def before_write(self, file, data):
        if self.count == self._last:
            half = memoryview(data).cast("B")[: len(data) // 2]
            io.FileIO.write(file, half)
        self._before(self._root)


class CountedFile(io.FileIO):
    def write(self, data):
        self.before(self, data)
        return super().write(data)


def run_until(writer, root, last):
    """Run a writer in a child that is killed before this file operation. Returns whether it was killed, and how many
    operations it had."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(600)  # a writer that waits for ever
        try:
            operations = Operations(root, last)
            WRITERS[writer](root)
            os.write(sending, struct.pack("q", operations.count))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(sending)
    _, status = os.waitpid(child, 0)
    data = os.read(receiving, 8)
    os.close(receiving)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status), struct.unpack("q", data)[0] if data else None


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_that_is_killed_before_any_file_operation_leaves_a_whole_generation(writer, tmp_path):
    appended = writer != "append"
    old = make(tmp_path / "old", appended)
    before = old.range(None, None)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    WRITERS[writer](tmp_path / "new")
    after = er.open(tmp_path / "new", backend="local").range(None, None)
    shutil.copytree(tmp_path / "old", tmp_path / "counted")
    _, count = run_until(writer, tmp_path / "counted", None)
    seed = time.time_ns()
    print(f"random.Random({seed})")  # of a run that fails
    # All of them in the long form. A writer commits at its end and then sweeps: most are before the commit.
    tried = range(count + 1) if ROUNDS > 2 else sorted(random.Random(seed).sample(range(count), TRIES)) + [count]
    committed = 0
    for operation in tried:
        root = tmp_path / str(operation)
        shutil.copytree(tmp_path / "old", root)
        killed, _ = run_until(writer, root, operation)
        assert killed == (operation < count)
        table = er.open(root, backend="local")
        found = table.range(None, None)
        is_new = table.generation > old.generation
        assert found.equals(after if is_new else before), operation
        assert is_new >= bool(committed)  # no way back behind the commit
        committed += is_new
        # The next writer is not disturbed by what was left, and sweeps it.
        table.append(MORE)
        table.compact()
        assert len(table) == len(found) + len(MORE)
        table.sweep(keep=1)
        named = {range_["base"]["folder"] for range_ in table._bounds.ranges if range_["base"] is not None}
        assert set(os.listdir(root / "shards")) == named
        assert os.listdir(root / "bounds") == [str(table.generation)]
        assert sorted(os.listdir(root)) == ["bounds", "current", "shards", "writer.lock"]
        shutil.rmtree(root)
    assert count > 15 and 0 < committed <= len(tried)
    assert ROUNDS == 2 or committed < len(tried)


def read_everything(root):
    table = er.open(root, backend="local")
    return table.range(None, None), table.sum("v", None, None), table.count(5, 9)


def files_of(root):
    return sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name != "writer.lock"
    )


def test_a_flipped_bit_in_any_file_is_refused_by_name(tmp_path):
    rng = random.Random(4)
    root = tmp_path / "t"
    table = make(root, True)
    table.sweep(keep=1)
    read_everything(root)
    names = files_of(root)
    assert len({os.path.basename(name) for name in names}) == 5  # current, bounds, rows, keys, runs
    for name in names:
        with open(name, "rb") as file:
            data = file.read()
        places = [rng.randrange(8 * len(data)) for _ in range(20 * ROUNDS)]
        for place in places:
            damaged = bytearray(data)
            damaged[place // 8] ^= 1 << place % 8
            with open(name, "wb") as file:
                file.write(damaged)
            with pytest.raises(ValueError, match=f"{name} is damaged"):
                read_everything(root)
        for damaged in (data[:-1], data[: len(data) // 2], data + b"\0"):
            if os.path.basename(name) == "run" and damaged.startswith(data):
                continue  # no reader looks behind the runs
            with open(name, "wb") as file:
                file.write(damaged)
            with pytest.raises(ValueError, match=f"{name} is damaged"):
                read_everything(root)
        os.unlink(name)
        if os.path.basename(name) == "current":
            with pytest.raises(FileNotFoundError, match="no table"):
                read_everything(root)
        else:
            with pytest.raises(ValueError, match=f"{name} is damaged: it is missing"):
                read_everything(root)
        with open(name, "wb") as file:
            file.write(data)
    read_everything(root)


def test_two_readers_and_one_writer(tmp_path):
    def batch(i):
        return pa.table({"k": np.arange(10) * 7 % 31, "v": [i, -i] * 5})

    make_first = er.build(tmp_path / "t", batch(1), "k", shards=4, values=["v"], backend="local")
    problems, generations, done = [], [set(), set()], threading.Event()

    def read(seen):
        table = er.open(tmp_path / "t", backend="local")
        try:
            while not done.is_set():
                table.refresh()
                whole = table._read(lambda bounds: (bounds.generation, len(bounds)))
                rows = table.range(None, None)
                assert rows.num_rows % 10 == 0 and sum(rows.column("v").to_pylist()) == 0
                assert (
                    table.sum("v", 3, 20) + table.sum("v", None, 3, "left") + table.sum("v", 20, None, "neither") == 0
                )
                assert table.count(None, None) % 10 == 0 and whole[1] % 10 == 0
                seen.add(whole[0])
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read, args=(seen,)) for seen in generations]
    for reader in readers:
        reader.start()
    i = 1
    while i < 29 or not problems and any(len(seen) < 2 for seen in generations):
        i += 1
        make_first.append(batch(i))
        if i % 5 == 0:
            make_first.compact(shards=None if i % 2 else 1 + i % 7)
            make_first.sweep(keep=1)  # readers lose their files in mid-query
    done.set()
    for reader in readers:
        reader.join()
    assert not problems, problems
    assert len(make_first) == i * 10


def test_a_reader_whose_files_were_swept_begins_again_with_the_newest_generation(tmp_path):
    table = make(tmp_path / "t", False)
    reader = er.open(tmp_path / "t", backend="local")  # has the bounds, and no shard yet
    for _ in range(3):
        table.append(MORE)
        table.compact()
    table.sweep(keep=1)
    assert reader.count(4, 8) == 3 + 2 * 3 and reader.generation == table.generation
    assert reader.range(None, None).equals(table.range(None, None))


def test_a_second_writer_is_refused(tmp_path):
    make(tmp_path / "t", False)
    with er._build._files.only_writer(str(tmp_path / "t")):
        with pytest.raises(BlockingIOError, match="another writer"):
            er.open(tmp_path / "t", backend="local").append(MORE)


BUILD = """
    import resource, sys
    import espalier.ray as er

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    source, root = sys.argv[1:]
    er.build(root + "/small", source + "/0.parquet", "k", shards=32, values=["v"], backend="local")  # what code needs
    before = peak()
    er.build(root + "/large", source + "/*.parquet", "k", shards=32, values=["v"], backend="local", piece_bytes=4 << 20)
    print((peak() - before) >> 10)
"""


def test_a_build_holds_one_piece_or_one_shard(tmp_path):
    rng = np.random.default_rng(1)
    rows, files = 150_000, 21
    for i in range(files):
        columns = {name: rng.integers(0, 1 << 60, rows if i else 1000) for name in ("k", "v", "a", "b", "c")}
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet", row_group_size=50_000)
    size = (files - 1) * rows * 40 >> 20
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BUILD), str(tmp_path), str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < size / 2, f"{done.stdout} MiB for {size} MiB"
    assert er.open(tmp_path / "large").count(None, None) == (files - 1) * rows + 1000


def test_tasks_of_a_build_are_told_a_few_words(tmp_path, monkeypatch):
    """What the driver sends to a task and gets from it does not grow with the shards: it may have a million pieces, and
    thousands of shards."""
    rows = pa.table({"k": np.random.default_rng(1).integers(0, 10**9, 3000), "v": range(3000)})
    pq.write_table(rows, tmp_path / "source.parquet", row_group_size=1000)
    sizes, plain = {}, er._build.InProcess.map

    def measured_map(self, function, arguments, done):
        answers = plain(self, function, arguments, done)
        for sent, received in zip(arguments, answers):
            if function.__name__ != "sample_piece":  # samples are for the driver
                sizes.setdefault((function.__name__, shards), []).append(len(pickle.dumps((sent, received))))
        return answers

    monkeypatch.setattr(er._build.InProcess, "map", measured_map)
    for shards in (2, 200):
        options = dict(shards=shards, values=["v"], backend="local", piece_bytes=1)
        table = er.build(tmp_path / f"{shards:03}", str(tmp_path / "source.parquet"), "k", **options)
        assert table.range(None, None).sort_by("v").equals(rows.sort_by("v"))
    assert len(sizes["divide_piece", 2]) == 3 and len(sizes["write_range", 200]) == 200
    for name in ("divide_piece", "write_range"):
        assert max(sizes[name, 200]) < max(sizes[name, 2]) + 100


def test_runs_of_a_build_that_change_are_refused(tmp_path, monkeypatch):
    """A flipped bit between the two passes, in the rows or in the index of a file of runs."""
    pq.write_table(OTHER, tmp_path / "source.parquet")
    plain = er._build.divide_piece
    for place in (0, -1):

        def damaging(*arguments, place=place):
            path, index, rows = plain(*arguments)
            with open(path, "rb+") as file:
                data = bytearray(file.read())
                data[place] ^= 1
                file.seek(0)
                file.write(data)
            return path, index, rows

        monkeypatch.setattr(er._build, "divide_piece", damaging)
        with pytest.raises(ValueError, match="checksum"):
            er.build(tmp_path / "t", str(tmp_path / "source.parquet"), "k", shards=2, backend="local")
    monkeypatch.setattr(er._build, "divide_piece", plain)
    table = er.build(tmp_path / "t", str(tmp_path / "source.parquet"), "k", shards=2, backend="local")
    assert table.range(None, None)["k"].to_pylist() == [50, 75, 100]
