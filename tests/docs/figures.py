#!/usr/bin/env python3
"""Every figure in the tables of README.md is what its file in bench/results says, rounded as it is shown, and so are
those of the sentences below of README.md, docs/comparison.md and docs/howto/larger-than-gpu.md. The table of runs has
the commit, date, machine and command of each file that README.md links.

usage: figures.py

A row of a table is found by the words that its first cell begins with. A row that is not listed here is an error, so
that a new figure brings its source along; `WITHOUT` names those that a page of docs/design measured without a file.
"""

from __future__ import annotations

import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
G = 1e9


def rows(name, **wanted):
    with open(ROOT / "bench" / "results" / f"{name}.json") as file:
        found = [r for r in json.load(file)["rows"] if all(r.get(k) == v for k, v in wanted.items())]
    assert found, f"{name}.json has no row with {wanted}"
    return found


def rate(name, **wanted):
    (found,) = rows(name, **wanted)
    return found["rate"] / G


def ratio(name, peer, **wanted):
    (found,) = rows(name, **wanted)
    return found["ratio"][peer]


def from_to(name, peer):
    values = [r["ratio"][peer] for r in rows(name)]
    return f"{min(values):.1f}x to {max(values):.1f}x"


def blink(op, digits=1, **wanted):
    """Both key types of one file."""
    return [f"{rate(op[0], op=op[1], key_type=k, **wanted):.{digits}f}" for k in ("u32", "u64")]


def batches(op, size, digits=(1, 1)):
    where = {"op": op, "keys": 2**26, "queries": size, "path": "automatic"}
    cells = []
    for n, d in zip((1, 2), digits):
        values = [r["rate"] / G for r in rows(f"gpu-blink-distributions-{n}", **where)]
        cells.append(" ... ".join(significant(v, d) for v in (min(values), max(values))))
    return cells


def calls(size, *names):
    """Microseconds of an insert, least ... most of the distributions: u32, u64."""
    where = {"op": "insert", "keys": 2**26, "queries": size, "path": "automatic"}
    cells = []
    for kind in ("u32", "u64"):
        found = [r for n in names for r in rows(n, **where) if r["key_type"] == kind]
        cells.append(" ... ".join(f"{end(r['seconds'] for r in found) * 1e6:.0f}" for end in (min, max)))
    return cells


def significant(value, digits):
    """digits behind the point, or a format."""
    return f"{value:.{digits}f}" if isinstance(digits, int) else digits(value)


def two(value):
    """Two digits that count."""
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def radix(size):
    where = {"op": "insert", "queries": size, "path": "automatic"}
    values = [r["rate"] / G for n in (1, 2) for r in rows(f"gpu-radix-distributions-{n}", **where)]
    scale, digits = (1, 2) if size == 2**22 else (1e3, 1)  # G/s, M/s
    return f"{min(values) * scale:.{digits}f} ... {max(values) * scale:.{digits}f}"


def find(kind):
    return [f"{rate(f'gpu-find-{kind}', keys=2**n):.1f}" for n in (20, 25, 27, 29)] + [
        from_to(f"gpu-find-{kind}", "thrust-lower-bound")
    ]


def skew():
    kinds = ("clustered", "zipf", "adversarial")
    ratios = [ratio("gpu-skew", "thrust-lower-bound", distribution=k) for k in kinds]
    return [
        "", "", " / ".join(f"{rate('gpu-skew', distribution=k):.1f}" for k in kinds), "",
        f"{min(ratios):.1f}x to {max(ratios):.1f}x",
    ]  # fmt: skip


def joins(op):
    """G left rows/s: columns on the device in order, in no order; in order in host memory."""
    where = (("sorted", "device"), ("random", "device"), ("sorted", "host"))
    return [f"{rate('gpu-joins-1', op=op, distribution=d, location=l):.1f}" for d, l in where]


def pair(name, digits):
    return " / ".join(f"{rate(name, keys=2**n):.{digits}f}" for n in (24, 27))


def query_engine(file, op, peer="duckdb", digits=1):
    found = [r for r in rows(f"query-engine/{file}") if r["op"] == op]
    assert len(found) == 1, (file, op, [r["op"] for r in rows(f"query-engine/{file}")])
    return f"{found[0]['ratio'][peer]:.{digits}f}"


# The beginning of a row's first cell -> the other cells.
EXPECTED = {
    "find, u32 -> u32": lambda: find("u32"),
    "find, u64 -> u64": lambda: find("u64"),
    "find, clustered / zipf / adversarial": skew,
    "find, queries in order, u32": lambda: ["", "", f"{rate('gpu-sorted'):.0f}", "",
                                           f"{ratio('gpu-sorted', 'thrust-lower-bound'):.1f}x"],
    "sum over a million keys": lambda: ["", "", f"{rate('gpu-sum', op='sum'):.1f}", "", ""],
    "insert 2^24 new keys, key by key": lambda: blink(("gpu-blink-insert", "insert")),
    "the same as a batch, worst": lambda: batches("insert", 2**24),
    "batches of 2^20 keys": lambda: batches("insert", 2**20, (1, two)),
    "batches of 2^16 keys": lambda: batches("insert", 2**16, (two, two)),
    "one call with 2^8 keys, eight": lambda: calls(2**8, "gpu-blink-distributions-1", "gpu-blink-distributions-2"),
    "the same since then": lambda: calls(2**8, "gpu-blink-small-batches"),
    "insert 2^26 keys into an empty tree, key by key": lambda: blink(("gpu-blink-insert", "insert-empty")),
    "find after that": lambda: blink(("gpu-blink-find", "find-after-insert"), keys=2**26),
    "erase 2^25 keys, key by key": lambda: blink(("gpu-blink-erase", "erase")),
    "erase 2^24 keys as a batch": lambda: batches("erase", 2**24),
    "half updates, half finds": lambda: blink(("gpu-blink-ycsb-1", "ycsb-a")),
    "ranges of 32 elements": lambda: blink(("gpu-blink-range-1", "range")),
    "the same from full leaves": lambda: blink(("gpu-blink-range-2", "range")),
    "counts of ranges": lambda: blink(("gpu-blink-range-1", "count")),
    "as-of join, and one column gathered": lambda: joins("asof"),
    "window join": lambda: joins("window"),
    "find, keys of 32 bytes": lambda: [pair("gpu-radix-1", 1)],
    "find, keys of 8 bytes": lambda: [pair("gpu-radix-2", 1)],
    "find, URLs": lambda: [f"{rate('gpu-radix-data', distribution='urls'):.1f}"],
    "find, end to end from host memory": lambda: [
        " / ".join(f"{rate('gpu-radix-host-1', batch=2**n):.1f}" for n in (15, 17))],
    "insert 2^22 new keys into 2^24": lambda: [radix(2**22)],
    "the same in batches of 2^12": lambda: [radix(2**12)],
    "static tree, u32, find in 2^24": lambda: [
        f"{ratio('cpu-find-2p24', 'lower-bound'):.0f}x {ratio('cpu-find-2p24', 'absl-btree'):.0f}x"],
    "static tree, u32, lower bound": lambda: [
        f"{ratio('cpu-lower-bound-2p28-1', 'lower-bound'):.0f}x {ratio('cpu-lower-bound-2p28-2', 'lower-bound'):.0f}x"],
    "B-link tree, u64, 2^22 keys": lambda: [
        f"{ratio('cpu-blink', 'absl-btree', op='insert', path='bulk'):.1f}x "
        f"{ratio('cpu-blink', 'absl-btree', op='insert', path='per-key'):.1f}x "
        f"{ratio('cpu-blink', 'absl-btree', op='find'):.1f}x"],
    "radix tree, 2^22 keys": lambda: [
        f"{ratio('cpu-radix', 'std-map', keys=2**22):.0f}x {ratio('cpu-radix', 'absl-btree', keys=2**22):.0f}x "
        f"{ratio('cpu-radix', 'pointer-art', keys=2**22):.1f}x"],
    "COUNT and SUM over 10 %": lambda: [
        f"{query_engine('ranges-cpu', 'COUNT and SUM over 10 % of the rows', digits=0)}x / "
        f"{query_engine('ranges-cpu', '1,000 rows by range', digits=0)}x"],
    "as-of join of 2^20": lambda: [f"{query_engine('joins-cpu', 'as-of join, without an index')}x / "
                                   f"{query_engine('joins-cpu', 'as-of join, with an index')}x"],
    "band join of 2^20": lambda: [f"{query_engine('joins-cpu', 'band join, without an index')}x / "
                                  f"{query_engine('joins-cpu', 'band join, with an index', digits=0)}x"],
    "load of 1 GB": lambda: [f"{query_engine('loads-cpu', 'load of CSV', 'arrow', 2)}x / "
                             f"{query_engine('loads-cpu', 'load of Parquet', 'arrow', 2)}x"],
}  # fmt: skip
# Measured without a file; the page is in the row.
WITHOUT = ("insert 2^26 random keys into an empty tree",)
# Rows that have no figure of ours.
TABLES_WITHOUT_FIGURES = ("which index", "table")


def tables(text):
    """Rows of cells, by table."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]


def times(values, digits=2):
    """From the smallest to the largest."""
    return f"{min(values):.{digits}f}x to {max(values):.{digits}f}x"


def threads(name, op):
    return rate(name, op=op, threads=2) / rate(name, op=op, threads=1)


def readme_sentences():
    """Words of README.md that have figures outside of a table."""
    memory = [r["bytes_per_key"] / {"u32": 8, "u64": 16}[r["key_type"]]
              for r in rows("cpu-memory", aggregates="none") + rows("gpu-memory", aggregates="all")]  # fmt: skip
    visits, builds = [[r["ratio"][p] for r in rows(n)] for n, p in (("gpu-visit", "reduce"), ("gpu-build", "cub-sort"))]
    (batch,) = rows("query-engine/batches-gpu", op="batch of range sums", queries=2**16)
    as_of = [rows(f"query-engine/as-of-{d}", op="the whole statement")[0]["rate"] / 1e6 for d in ("gpu", "cpu")]
    with open(ROOT / "bench" / "results" / "python-joins.json") as file:
        frames = next(r for r in json.load(file)["results"] if r["case"] == "2^20")
    yield (f"One H200 looks up {rate('gpu-find-u32', keys=2**27):.1f} G random keys per second among 2^27, "
           f"{ratio('gpu-find-u32', 'thrust-lower-bound', keys=2**27):.1f} times as many as `thrust::lower_bound`, and "
           f"sums {rate('gpu-sum', op='sum'):.1f} G ranges per second of a million keys each")  # fmt: skip
    yield (f"polars frames, two threads: {frames['espalier polars']} ms, where polars takes {frames['polars']} and "
           f"pandas {frames['pandas']} ms")  # fmt: skip
    yield f"Memory is {min(memory):.2f}x of keys and values, {max(memory):.2f}x with all aggregates"
    yield f"Visiting all pairs runs at {times(visits)} of a plain reduction"
    yield f"building from unsorted pairs at {times(builds)} of CUB's radix sort"
    yield (f"Two threads do {threads('cpu-threads', 'find'):.2f}x of one in the static tree, bounds "
           f"{threads('cpu-threads', 'lower-bound'):.2f}x")  # fmt: skip
    yield f"two that insert and find in a B-link tree {threads('cpu-blink-threads', 'mixed'):.1f}x"
    yield f"{batch['rate'] / 1e6:.0f} million range sums per second in batches of 2^16 over 2^27 rows"
    yield f"An as-of join of 2^26 x 2^26 rows runs at {as_of[0]:.1f} million rows per second"
    yield f"and at {as_of[1]:.1f} on the 16 cores of its host"


def comparison_sentences():
    """Words of docs/comparison.md that have figures."""
    finds = [r["ratio"]["thrust-lower-bound"] for kind in ("u32", "u64") for r in rows(f"gpu-find-{kind}")]
    builds = [r["ratio"]["cub-sort"] for r in rows("gpu-build")]
    tpch = [1 / r["ratio"]["duckdb"] for r in rows("query-engine/tpch-cpu")]
    mean = math.exp(sum(map(math.log, tpch)) / len(tpch))
    ranges, joins = "query-engine/ranges-cpu", "query-engine/joins-cpu"
    with open(ROOT / "bench" / "results" / "python-joins.json") as file:
        frames = json.load(file)
    once = [r["polars"] / r["espalier polars"] for r in frames["results"] + frames["before"]]
    with open(ROOT / "bench" / "results" / "published" / "kx-nyse-taq.json") as file:
        kx = {r["solution"]: r["ms"] for r in json.load(file)["results"]}
    insert = [ratio("cpu-blink", "absl-btree", op="insert", path=p) for p in ("bulk", "per-key")]
    yield f"{times(finds, 1)} the rate of `thrust::lower_bound`"
    yield f"({ratio('gpu-sorted', 'thrust-lower-bound'):.1f}x where the queries are sorted)"
    yield f"built at {times(builds)} of the rate of CUB's sort"
    share = ratio(ranges, "duckdb", op="COUNT and SUM over 10 % of the rows")
    yield f"COUNT and SUM over 10 % of 2^24 rows take 1/{share:.0f} of its time"
    with_index, without = (ratio(joins, "duckdb", op=f"as-of join, {w} an index") for w in ("with", "without"))
    yield f"as-of joins 1/{without:.1f} without and 1/{with_index:.1f} with an index"
    yield f"take {min(tpch):.2f} to {max(tpch):.2f} of its time, {mean:.2f} in the geometric mean"
    yield f"the 1,000 rows by range ({ratio(ranges, 'duckdb', op='1,000 rows by range'):.0f}x)"
    yield f"takes 1/{min(once):.1f}"
    yield f"to 1/{max(once):.1f}"
    yield f"{kx['KDB-X']:.1f} ms with a kept grouped attribute, and {kx['KDB-X (NoAttr)']:.0f} ms where the query"
    yield f"polars takes {kx['Polars'] / 1e3:.1f} s, DuckDB {kx['DuckDB (Sym, Time Sort)'] / 1e3:.1f} s on rows sorted"
    yield f"({kx['DuckDB (Index)'] / 1e3:.1f} s with an index"
    yield f"pandas {kx['Pandas'] / 1e3:.0f} s"
    yield f"{insert[0]:.1f}x as fast as a batch and {insert[1]:.1f}x as fast key by key"
    yield f"finds {ratio('cpu-blink', 'absl-btree', op='find'):.1f}x as fast"


def larger_sentences():
    """Words of docs/howto/larger-than-gpu.md that have figures."""

    def find(part, **wanted):
        (found,) = rows(f"gpu-hybrid-{part}", **wanted)
        return found

    def over_cpu(part, placement):
        return find(part, placement=placement)["rate"] / find(part, placement="host-alone")["rate"]

    def automatic(digits, *parts):
        found = [find(part, placement="automatic") for part in parts]
        size, found_rate = [[r[what] for r in found] for what in ("device_bytes", "rate")]
        times_cpu = ", ".join(f"{over_cpu(part, 'automatic'):.{digits}f}x" for part in parts)
        sizes = " | ".join(f"{s / 1e9:.1f} GB" for s in size)
        return f"| {sizes} | {', '.join(f'{r / 1e6:.0f}' for r in found_rate)} | {times_cpu} |"

    least = min(r["rate"] for kind in ("u32", "u64") for r in rows(f"gpu-find-{kind}"))
    yield f"`static_tree` on the GPU: {least / G:.1f} G/s or more"
    shared = find("find-1", placement="shared")["rate"] / 1e6
    yield (f"`shared` | {find('find-3', placement='shared')['device_bytes'] / 1e9:.2f} GB | | {shared:.0f} | "
           f"{over_cpu('find-1', 'shared'):.1f}x |")  # fmt: skip
    yield f"`both` {automatic(1, 'find-1', 'size-1')}"
    yield f"`device_alone` {automatic(0, 'find-4', 'size-2')}"
    (note,) = find("find-1", placement="automatic")["notes"]
    yield re.search(r"both: measured.*\)", note)[0]


def missing_sentences():
    for name, sentences in (
        ("README.md", readme_sentences),
        ("docs/comparison.md", comparison_sentences),
        ("docs/howto/larger-than-gpu.md", larger_sentences),
    ):
        text = " ".join((ROOT / name).read_text().split())
        for words in sentences():
            if words not in text:
                yield f"{name}: bench/results says '{words}', which is not in the page"


def wrong_runs(text):
    """Files whose run the table of runs describes in another way."""
    (runs,) = [table for table in tables(text) if table[0][0] == "table"]
    machines, known = [], []
    for _, when, where, command in runs[2:]:
        if not where.startswith("the same"):
            machines.append(where)
        known.append((when, " ".join(machines if where == "the same two" else machines[-1:]), command))
    parts = [f"query-engine/{p}-cpu" for p in ("ranges", "joins", "loads")]
    parts += [f"query-engine/{p}-gpu" for p in ("batches", "as-of")]
    for name in sorted({*re.findall(r"\(bench/results/([\w/-]+)\.json\)", text), *parts}):
        file = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())
        commit, day = file["commit"][:7], file["date"][8:10]
        gpus = file["machine"]["gpus"]
        processor = gpus[0]["name"] if gpus else file["machine"]["cpu"].replace("-", " ")
        spelled = re.search(r"--(?:index|suite) (\w+)|bench ([a-z]+)", file["command"])
        index = spelled[1] or spelled[2] if spelled else "static"
        fitting = [
            command for when, machine, command in known
            if commit in when and re.search(rf"(2026-11-|and ){day}\b", when) and processor in machine
        ]  # fmt: skip
        if not any(re.search(rf"`[^`]*\b{index}\b", command) for command in fitting):
            yield (f"README.md: no row of the table of runs has {commit}, the {day}th, {processor} and "
                   f"`{index}`, which bench/results/{name}.json has")  # fmt: skip
        if file["commit"].endswith("-dirty") and not any(
            commit in when and "local changes" in when for when, *_ in known
        ):
            yield f"README.md: the table of runs does not say that {commit} had local changes"


def main():
    wrong, seen = [*wrong_runs((ROOT / "README.md").read_text()), *missing_sentences()], set()
    for table in tables((ROOT / "README.md").read_text()):
        if table[0][0] in TABLES_WITHOUT_FIGURES:
            continue
        for first, *cells in table[2:]:
            name = next((k for k in EXPECTED if first.startswith(k)), None)
            if name is None:
                if not first.startswith(WITHOUT):
                    wrong.append(f"README.md: tests/docs/figures.py knows no source of the row '{first[:60]}'")
                continue
            seen.add(name)
            for shown, expected in zip(cells, EXPECTED[name]()):
                figures = re.findall(r"\d[\d.]*(?:x)?", re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|2\^\d+", "", shown))
                if figures != re.findall(r"\d[\d.]*(?:x)?", expected):
                    wrong.append(f"README.md: '{first[:60]}' shows {shown}, and bench/results has {expected}")
    for name in EXPECTED.keys() - seen:
        wrong.append(f"tests/docs/figures.py: README.md has no row '{name}'")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
