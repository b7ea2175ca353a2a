#!/usr/bin/env python3
"""Draws the plots of README and site from committed results, each as a light and a dark SVG file.

usage: bench/plots/make.py [--check] [--out FOLDER]

Needs Python 3.10 and nothing else. Every figure comes from a file in bench/results/, whose name is in the plot; nothing
is measured here. The files are the same on every machine, so --check compares them with those in docs/images/plots and
fails if one differs.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench" / "results"
OUT = ROOT / "docs" / "images" / "plots"
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',sans-serif"

# By role: ink, second ink, rule, ground, then one colour per series. Series also differ by the shape of their marks.
THEMES = {
    "light": {
        "ink": "#17211c", "ink2": "#4f5c55", "rule": "#d9dfdb", "ground": "#ffffff", "limit": "#b3261e",
        "ours": "#1f6f4a", "ours2": "#0b62a8", "a": "#975600", "b": "#6b3fa0", "c": "#4f5c55", "d": "#0b62a8",
    },
    "dark": {
        "ink": "#e6ece8", "ink2": "#a7b2ac", "rule": "#2a322e", "ground": "#171c1a", "limit": "#ff8a7d",
        "ours": "#6cc398", "ours2": "#79b8f2", "a": "#f0b04f", "b": "#c3a0ef", "c": "#a7b2ac", "d": "#79b8f2",
    },
}  # fmt: skip


def read(name: str) -> dict:
    with open(RESULTS / name) as file:
        return json.load(file)


def n(value: float) -> str:
    """A coordinate: the same text on every machine."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Axis:
    """A logarithmic or linear scale from values to coordinates."""

    def __init__(self, low: float, high: float, begin: float, end: float, log: bool = True):
        self.log, self.begin, self.end = log, begin, end
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)

    def at(self, value: float) -> float:
        v = math.log10(value) if self.log else value
        return self.begin + (v - self.low) / (self.high - self.low) * (self.end - self.begin)


class Picture:
    def __init__(self, theme: str, width: int, height: int, title: str, about: str):
        self.c, self.width, self.height = THEMES[theme], width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="{FONT}" font-size="13" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(title)}</title><desc id="d">{escape(about)}</desc>',
            f'<rect width="{width}" height="{height}" rx="6" fill="{self.c["ground"]}"/>',
        ]
        self.text(16, 26, title, weight=650, size=15)

    def text(self, x, y, words, color="ink", anchor="start", size=13, weight=400, turn=False):
        turned = f' transform="rotate(-90 {n(x)} {n(y)})"' if turn else ""
        self.parts.append(
            f'<text x="{n(x)}" y="{n(y)}" fill="{self.c[color]}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}"{turned}>{escape(words)}</text>'
        )

    def ground(self, x, y, width, height):
        """Hides lines behind a text."""
        self.parts.append(
            f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" fill="{self.c["ground"]}"/>'
        )

    def line(self, x1, y1, x2, y2, color="rule", width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}" stroke="{self.c[color]}" '
            f'stroke-width="{width}"{dashes}/>'
        )

    def path(self, points, color, dash="", width=2.0):
        d = "M" + "L".join(f"{n(x)} {n(y)}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{self.c[color]}" stroke-width="{width}"{dashes}/>')

    def band(self, upper, lower, color):
        d = "M" + "L".join(f"{n(x)} {n(y)}" for x, y in [*upper, *reversed(lower)]) + "Z"
        self.parts.append(f'<path d="{d}" fill="{self.c[color]}" fill-opacity="0.18"/>')

    def mark(self, x, y, shape, color):
        c, g = self.c[color], self.c["ground"]
        made = {
            "disc": f'<circle cx="{n(x)}" cy="{n(y)}" r="5.5" fill="{c}"/>',
            "ring": f'<circle cx="{n(x)}" cy="{n(y)}" r="4.5" fill="{g}" stroke="{c}" stroke-width="2"/>',
            "square": f'<rect x="{n(x - 4.5)}" y="{n(y - 4.5)}" width="9" height="9" fill="{c}"/>',
            "diamond": f'<path d="M{n(x)} {n(y - 6)}l6 6-6 6-6-6z" fill="{c}"/>',
            "triangle": f'<path d="M{n(x)} {n(y - 6)}l6 11h-12z" fill="{c}"/>',
        }
        self.parts.append(made[shape])

    def legend(self, x, y, entries):
        for shape, color, words in entries:
            self.mark(x + 6, y - 4.5, shape, color)
            self.text(x + 18, y, words, size=13)
            x += 32 + 7.4 * len(words)

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>", ""])


def power(value: float) -> str:
    return "2" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(round(math.log2(value))))


def milliseconds(value: float) -> str:
    if value >= 1000:
        return f"{value / 1000:.0f} s" if value >= 10000 else f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def as_of(theme: str) -> Picture:
    """As-of joins of frames, ours and peers in one run; below it what KX publishes for other data."""
    ours, kx = read("python-joins.json"), read("published/kx-nyse-taq.json")
    p = Picture(
        theme, 760, 534, "As-of join: time of the whole call, less is better",
        "Upper part: five as-of joins of 2^20 left rows with polars, pandas, DuckDB and Espalier. Lower part: figures "
        "that KX publishes for a join against 1.28 billion quotes.",
    )  # fmt: skip
    left, right = 196, 736
    about = ours["about"]
    p.text(16, 47, f"Measured here, {power(about['left'])} left rows, frames in and out, two shared cores: preliminary",
           color="ink2")  # fmt: skip
    series = [
        ("diamond", "a", "DuckDB 2.0", "duckdb"), ("square", "b", "pandas 3.1", "pandas"),
        ("triangle", "d", "polars 2.1", "polars"), ("ring", "ours", "Espalier, prepared side", "prepared polars"),
        ("disc", "ours", "Espalier", "espalier polars"),
    ]  # fmt: skip
    p.legend(16, 70, [s[:3] for s in series])
    x = Axis(5, 5000, left, right)
    top, step = 106, 32
    bottom = top + step * len(ours["results"])
    for tick in (10, 100, 1000):
        p.line(x.at(tick), top - 8, x.at(tick), bottom - 8)
        p.text(x.at(tick), bottom + 8, milliseconds(tick), color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 25, "time (logarithmic)", color="ink2", anchor="middle", size=12)
    for i, row in enumerate(ours["results"]):
        y = top + 8 + i * step
        p.text(left - 14, y + 4, row["case"].replace("2^20", power(2**20)).replace("2^23", power(2**23)), anchor="end")
        values = [row[key] for *_, key in series]
        p.line(x.at(min(values)), y, x.at(max(values)), y, width=1.5)
        for shape, color, _, key in series:
            p.mark(x.at(row[key]), y, shape, color)
    p.text(left - 14, top - 10, "right rows", color="ink2", anchor="end", size=12)

    y0 = bottom + 56
    p.line(16, y0 - 18, 744, y0 - 18)
    p.text(16, y0 + 4, "What an index is worth: published by KX, other data and machine", weight=650)
    p.text(16, y0 + 22, "trades of ten minutes as of 1.28 G quotes of NYSE TAQ, 16 threads of an EPYC 9575F; time, "
           "logarithmic", color="ink2", size=12)  # fmt: skip
    x = Axis(1, 400000, left, right)
    for i, row in enumerate(kx["results"]):
        y = y0 + 46 + i * 24
        p.text(left - 14, y + 4, f"{row['engine']}{row['short']}", anchor="end")
        p.parts.append(
            f'<rect x="{n(left)}" y="{n(y - 7)}" width="{n(x.at(row["ms"]) - left)}" height="14" rx="2" '
            f'fill="{p.c["c"]}" fill-opacity="0.55"/>'
        )
        p.text(x.at(row["ms"]) + 8, y + 4, milliseconds(row["ms"]), color="ink2", size=12)
    p.text(16, 526, "bench/results/python-joins.json, published/kx-nyse-taq.json", color="ink2", size=11)
    return p


def taq(theme: str) -> Picture:
    """As-of joins of trades and quotes: the queries 79 to 84 of KX's suite on generated data."""
    data = read("python-taq.json")
    about, results = data["about"], data["results"]
    names = {79: "79, fifty symbols", 80: "80, rare symbols", 81: "81, one rare symbol", 82: "82, one frequent symbol",
             83: "83, large trades", 84: "84, 16:20 to 16:30"}  # fmt: skip
    series = [
        ("diamond", "a", "DuckDB 2.0", "duckdb"), ("square", "b", "pandas 3.1", "pandas"),
        ("triangle", "d", "polars 2.1", "polars"), ("triangle", "c", "polars by symbol", "partitioned"),
        ("ring", "ours", "Espalier, prepared", "prepared"), ("disc", "ours", "Espalier", "espalier"),
    ]  # fmt: skip
    p = Picture(
        theme, 760, 352, "Trades with the quotes that were valid: time of the whole query, less is better",
        "Six as-of joins of trades and quotes with DuckDB, pandas, polars and Espalier, without and with a prepared "
        "side.",
    )  # fmt: skip
    left, right, top, step = 196, 736, 96, 32
    p.text(16, 47, f"Generated, shaped as NYSE TAQ: {about['trades'] / 1e6:.2f} M trades, "
           f"{about['quotes'] / 1e6:.1f} M quotes, {about['symbols']} symbols; {about['threads']} threads; "
           f"load {about['load_before_and_after'][0]}",
           color="ink2")  # fmt: skip
    p.legend(16, 70, [s[:3] for s in series])
    x, bottom = Axis(0.1, 10000, left, right), top + step * len(names)
    for tick in (0.1, 1, 10, 100, 1000, 10000):
        p.line(x.at(tick), top - 8, x.at(tick), bottom - 8)
        p.text(x.at(tick), bottom + 8, milliseconds(tick), color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 25, "time (logarithmic)", color="ink2", anchor="middle", size=12)
    for i, (query, name) in enumerate(names.items()):
        y = top + 8 + i * step
        ms = {r["peer"]: r["ms"] for r in results if r["query"] == query}
        ms["duckdb"] = min(ms["duckdb"], ms["duckdb index"])  # as in the table of docs/bench.md
        p.text(left - 14, y + 4, name, anchor="end")
        values = [ms[key] for *_, key in series if key in ms]  # not all queries have parts by symbol
        p.line(x.at(min(values)), y, x.at(max(values)), y, width=1.5)
        for shape, color, _, key in series:
            if key in ms:
                p.mark(x.at(ms[key]), y, shape, color)
    p.text(16, 342, "bench/results/python-taq.json; DuckDB: the better of without and with an index; queries: "
           "KxSystems/NYSETAQBenchmarks", color="ink2", size=11)  # fmt: skip
    return p


def frame(p: Picture, left, right, top, bottom, x_name, y_name):
    p.line(left, bottom, right, bottom, color="ink2")
    p.line(left, top, left, bottom, color="ink2")
    p.text((left + right) / 2, bottom + 40, x_name, color="ink2", anchor="middle", size=12)
    p.text(22, (top + bottom) / 2, y_name, color="ink2", anchor="middle", size=12, turn=True)


# G/s of random reads of 32 bytes each, 2^26 of them, by the bytes of the table, on an H200 (132 multiprocessors, 60 MB
# of L2, CUDA 13.0); lines of 64 bytes from 4 GB are read at 35 G/s by tiles of four lanes. A measurement of
# the hardware, not of the library; no file of results is in the repository.
RANDOM_READS = {64e6: 66, 256e6: 41, 4e9: 36}


def gpu_find(theme: str) -> Picture:
    files = {"u32": read("gpu-find-u32.json"), "u64": read("gpu-find-u64.json")}
    about = files["u32"]
    p = Picture(
        theme, 760, 436, "find on an H200: random hits, everything in device memory",
        "Finds per second of the static tree and of thrust::lower_bound, by the number of keys, with the measured rate "
        "of random reads from a table of the same size.",
    )  # fmt: skip
    left, right, top, bottom = 70, 736, 108, 340
    x, y = Axis(2**19.5, 2**29.5, left, right), Axis(1, 100, bottom, top)
    p.legend(16, 50, [("disc", "ours", "u32 keys"), ("square", "ours2", "u64 keys"),
                      ("ring", "ours", "thrust, u32"), ("ring", "ours2", "thrust, u64")])  # fmt: skip
    p.line(16, 70, 44, 70, color="limit", width=2, dash="6 4")
    p.text(52, 74, "one random read of 32 bytes per query from a table of that size; in L2 more, queries in order more")
    for tick in (1, 2, 5, 10, 20, 50, 100):
        p.line(left, y.at(tick), right, y.at(tick))
        p.text(left - 8, y.at(tick) + 4, str(tick), color="ink2", anchor="end", size=12)
    for row in about["rows"]:
        p.text(x.at(row["keys"]), bottom + 18, power(row["keys"]), color="ink2", anchor="middle", size=12)
    frame(p, left, right, top, bottom, "keys in the tree", "G finds/s (logarithmic)")
    for kind, color, shape, pair in (("u32", "ours", "disc", 8), ("u64", "ours2", "square", 16)):
        rows = files[kind]["rows"]
        limit = [(x.at(table / pair), y.at(rate)) for table, rate in RANDOM_READS.items()]
        p.path(limit, "limit", dash="6 4")
        p.text(limit[0][0], limit[0][1] - 7, kind, color="ink2", size=11, anchor="middle")
        for scale, mark, dash in ((1, shape, ""), ("thrust-lower-bound", "ring", "2 3")):
            points = [
                (x.at(r["keys"]), y.at(r["rate"] / (1 if scale == 1 else r["ratio"][scale]) / 1e9)) for r in rows
            ]
            p.path(points, color, dash=dash)
            for point in points:
                p.mark(*point, mark, color)
    p.text(16, 408, f"bench/results/gpu-find-u32.json, -u64.json: commit {about['commit'][:7]}, {about['date'][:10]}; "
           "random reads: bench/plots/make.py, RANDOM_READS", color="ink2", size=11)  # fmt: skip
    p.text(16, 423, "2²⁷ keys and more: plan partition_first, which answers the tree part by part", color="ink2",
           size=11)  # fmt: skip
    return p


BUS = 55e9  # bytes/s of copies from pinned memory to the H200: docs/design/hybrid-tree.md


def gpu_joins(theme: str) -> Picture:
    """As-of and window joins of the library, columns on the GPU and in host memory."""
    data, same_card = read("gpu-joins-1.json"), read("gpu-find-u32.json")
    p = Picture(
        theme, 760, 466, "Joins of 2²⁶ x 2²⁶ rows on an H200, i64 keys",
        "Left rows per second of as-of joins and window joins by the order of the rows, with columns in the memory of "
        "the GPU and in pinned host memory.",
    )  # fmt: skip
    p.legend(16, 50, [("disc", "ours", "columns on the GPU"), ("square", "ours2", "in pinned host memory, end to end")])
    p.line(480, 46, 508, 46, color="limit", width=2, dash="6 4")
    p.text(516, 50, "limit, rows in order")
    orders = {"sorted": "in order", "random": "in no order", "groups": "500 groups, in order",
              "random-groups": "500 groups, no order"}  # fmt: skip
    left, right, step = 196, 736, 30
    x = Axis(0.4, 200, left, right)
    # docs/design/joins-gpu.md: an as-of join in order moves 44 bytes per row, of which 24 come over the bus.
    limits = {"device": same_card["copy_bandwidth"] / 44 / 1e9, "host": BUS / 24 / 1e9}
    y = 84
    for op, title in (("asof", "as-of join, and one column gathered"),
                      ("window", "window join: count, sum, mean, least, greatest")):  # fmt: skip
        p.text(16, y, title, weight=600)
        top, y = y + 10, y + 26
        for tick in (0.5, 1, 2, 5, 10, 20, 50, 100):
            p.line(x.at(tick), top, x.at(tick), top + step * len(orders))
            if op == "window":
                p.text(x.at(tick), top + 16 + step * len(orders), f"{tick:g}", color="ink2", anchor="middle", size=12)
        if op == "asof":
            for place, name in (("device", "memory"), ("host", "bus")):
                at = x.at(limits[place])
                p.line(at, top, at, top + step, color="limit", width=2, dash="6 4")
                p.text(at + 6, top + 6, name, color="ink2", size=11)
        for order, words in orders.items():
            p.text(left - 14, y + 4, words, anchor="end")
            rates = {
                r["location"]: r["rate"] / 1e9 for r in data["rows"] if (r["op"], r["distribution"]) == (op, order)
            }
            p.line(x.at(rates["host"]), y, x.at(rates["device"]), y, width=1.5)
            for place, mark, color in (("device", "disc", "ours"), ("host", "square", "ours2")):
                p.mark(x.at(rates[place]), y, mark, color)
                shown = f"{rates[place]:.1f}" if rates[place] >= 1 else f"{rates[place]:.2f}"
                side = 1 if place == "device" else -1
                p.text(x.at(rates[place]) + 11 * side, y + 4, shown, color="ink2", size=12,
                       anchor="start" if side == 1 else "end")  # fmt: skip
            y += step
        y += 18
    p.text((left + right) / 2, y + 6, "G left rows/s (logarithmic)", color="ink2", anchor="middle", size=12)
    p.text(16, 440, f"bench/results/gpu-joins-1.json: commit {data['commit'][:7]}, {data['date'][:10]}; limit of as-of "
           f"joins: 44 bytes per row at {same_card['copy_bandwidth'] / 1e12:.2f} TB/s", color="ink2",
           size=11)  # fmt: skip
    p.text(16, 455, f"(gpu-find-u32.json), 24 bytes per row over the bus at {BUS / 1e9:.0f} GB/s: "
           "docs/design/joins-gpu.md", color="ink2", size=11)  # fmt: skip
    return p


def sql_peers(theme: str) -> Picture:
    """Statements next to DuckDB, the same rows and machine: with our indexes, without, and TPC-H."""
    ranges, joins, tpch = (read(f"query-engine/{part}-cpu.json") for part in ("ranges", "joins", "tpch"))
    p = Picture(
        theme, 760, 520, "SQL next to DuckDB 2.0: time of the whole statement on two threads",
        "Upper part: time of range sums, as-of joins and band joins of Espalier with and without an index, and of "
        "DuckDB. Lower part: the 22 statements of TPC-H, DuckDB's time over ours.",
    )  # fmt: skip
    p.legend(16, 50, [("disc", "ours", "Espalier, with an index"), ("ring", "ours", "without"),
                      ("diamond", "a", "DuckDB, no index")])  # fmt: skip
    left, right, step, top = 250, 736, 30, 84
    x = Axis(0.03, 1000, left, right)
    cases = [(ranges, "COUNT and SUM over 10 % of the rows", "count, sum of 10 % of 2²⁴ rows"),
             (ranges, "1,000 rows by range", "1,000 of these rows by range"),
             (joins, "as-of join", "as-of join, 2²⁰ x 2²⁰ rows"),
             (joins, "as-of join by symbol", "the same by symbol"),
             (joins, "band join", "band join, 2²⁰ x 2¹⁶ rows")]  # fmt: skip
    bottom = top + step * len(cases)
    for tick in (0.1, 1, 10, 100, 1000):
        p.line(x.at(tick), top - 8, x.at(tick), bottom - 8)
        p.text(x.at(tick), bottom + 8, milliseconds(tick), color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 25, "time (logarithmic), less is better", color="ink2", anchor="middle",
           size=12)  # fmt: skip
    for i, (data, op, words) in enumerate(cases):
        y = top + 8 + i * step
        rows = {r["op"]: r for r in data["rows"]}
        with_index = rows.get(op) or rows[f"{op}, with an index"]
        values = [("disc", "ours", with_index["seconds"])]
        if data is joins:
            values.append(("ring", "ours", rows[f"{op}, without an index"]["seconds"]))
        values.append(("diamond", "a", with_index["peers"]["duckdb"]["seconds"]))
        p.text(left - 14, y + 4, words, anchor="end")
        p.line(x.at(min(v * 1e3 for *_, v in values)), y, x.at(max(v * 1e3 for *_, v in values)), y, width=1.5)
        for mark, color, seconds in values:
            p.mark(x.at(seconds * 1e3), y, mark, color)
    y0 = bottom + 50
    p.line(16, y0 - 14, 744, y0 - 14)
    p.text(16, y0 + 8, "TPC-H on tables of 10⁶ rows, no indexes: DuckDB's time over ours, more is better", weight=600)
    left, top, bottom = 56, y0 + 22, 448
    y = Axis(0.5, 4, bottom, top)
    for tick in (0.5, 1, 2, 4):
        p.line(left, y.at(tick), right, y.at(tick), color="ink2" if tick == 1 else "rule")
        p.text(left - 8, y.at(tick) + 4, f"{tick:g}x", color="ink2", anchor="end", size=12)
    width = (right - left) / len(tpch["rows"])
    for i, row in enumerate(tpch["rows"]):
        at, ratio = left + width * (i + 0.5), row["ratio"]["duckdb"]
        p.line(at, y.at(1), at, y.at(ratio), color="ours" if ratio >= 1 else "a", width=3)
        p.mark(at, y.at(ratio), "disc" if ratio >= 1 else "diamond", "ours" if ratio >= 1 else "a")
        p.text(at, bottom + 16, row["op"], color="ink2", anchor="middle", size=11)
    p.text(16, 490, "bench/results/query-engine/ranges-cpu.json, joins-cpu.json: commit "
           f"{joins['commit'][:7]}, Neoverse V1; tpch-cpu.json: {tpch['commit'][:7]}, Xeon;", color="ink2",
           size=11)  # fmt: skip
    p.text(16, 505, "rows in random order; the index is ours alone, its build is not counted", color="ink2", size=11)
    return p


def python(theme: str) -> Picture:
    """Calls of the Python package, next to NumPy and sortedcontainers, and calls for one key."""
    data = read("python.json")
    rows = {r["name"]: r for r in data["rows"]}
    p = Picture(
        theme, 760, 358, "Calls from Python: batches next to NumPy and sortedcontainers, and single keys",
        "Time of searches and of updates and lookups with peers, and time of calls for one key with the part that the "
        "C++ call takes.",
    )  # fmt: skip
    p.legend(16, 50, [("disc", "ours", "Espalier"), ("ring", "ours", "C++ call in it"), ("square", "a", "NumPy"),
                      ("diamond", "b", "sortedcontainers")])  # fmt: skip
    left, right, step, top = 270, 736, 30, 84
    x = Axis(0.2e-6, 10, left, right)
    names = [("searchsorted, 2^20 random i8 in 2^24 keys", "searchsorted, 2²⁰ i8 in 2²⁴ keys"),
             ("searchsorted, 2^20 random u4 in 2^24 keys", "2²⁰ u4 in 2²⁴ keys"),
             ("searchsorted, 2^20 random f8 in 2^20 keys", "2²⁰ f8 in 2²⁰ keys"),
             ("SortedMap: update of 1,000,000 pairs, then 1,000,000 lookups",
              "SortedMap: 10⁶ updates, 10⁶ lookups"),
             ("SortedMap: m[k] = v", "SortedMap: m[k] = v"), ("SortedMap: m[k]", "SortedMap: m[k]"),
             ("searchsorted of one Python int", "searchsorted of one int")]  # fmt: skip
    bottom = top + step * len(names)
    for tick, shown in ((1e-6, "1 us"), (1e-5, "10 us"), (1e-4, "100 us"), (1e-3, "1 ms"), (1e-2, "10 ms"),
                        (1e-1, "100 ms"), (1, "1 s"), (10, "10 s")):  # fmt: skip
        p.line(x.at(tick), top - 8, x.at(tick), bottom - 8)
        p.text(x.at(tick), bottom + 8, shown, color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 25, "time (logarithmic), less is better", color="ink2", anchor="middle",
           size=12)  # fmt: skip
    marks = {"NumPy": ("square", "a"), "sortedcontainers": ("diamond", "b")}
    for i, (name, words) in enumerate(names):
        y, row = top + 8 + i * step, rows[name]
        p.text(left - 14, y + 4, words, anchor="end")
        values = [("disc", "ours", row["seconds"])]
        if "peer" in row:
            values.append((*marks[row["peer"]], row["peer_seconds"]))
            p.text(x.at(row["peer_seconds"]) + 11, y + 4, f"{row['ratio']:.0f}x", color="ink2", size=12)
        if "native_seconds" in row:
            values.append(("ring", "ours", row["native_seconds"]))
        p.line(x.at(min(v for *_, v in values)), y, x.at(max(v for *_, v in values)), y, width=1.5)
        for mark, color, seconds in values:
            p.mark(x.at(seconds), y, mark, color)
    p.text(16, 348, f"bench/results/python.json: commit {data['commit'][:7]}, {data['date'][:10]}, two x86-64 cores "
           f"under load {data['conditions']['load']:.1f} to {data['conditions']['load_after']:.1f}", color="ink2",
           size=11)  # fmt: skip
    return p


def gpu_writes(theme: str) -> Picture:
    data = read("gpu-blink-distributions-1.json")
    p = Picture(
        theme, 760, 434, "insert into a B-link tree of 2²⁶ keys on an H200, worst and best of eight distributions",
        "Inserted keys per second by the size of a batch: the band reaches from the worst to the best distribution.",
    )  # fmt: skip
    left, right, top, bottom = 70, 736, 84, 340
    rows = [r for r in data["rows"] if r["op"] == "insert" and r["keys"] == 2**26 and r["path"] == "automatic"]
    sizes = sorted({r["queries"] for r in rows})
    x, y = Axis(2**7.5, 2**24.5, left, right), Axis(0.0001, 500, bottom, top)
    p.legend(16, 50, [("disc", "ours", "best"), ("triangle", "a", "worst")])
    p.line(210, 46, 238, 46, color="limit", width=2, dash="6 4")
    p.text(246, 50, "limit: every pair read and written once at the copy bandwidth")
    for tick in (0.001, 0.01, 0.1, 1, 10, 100):
        p.line(left, y.at(tick), right, y.at(tick))
        p.text(left - 8, y.at(tick) + 4, f"{tick:g}", color="ink2", anchor="end", size=12)
    for size in sizes:
        p.text(x.at(size), bottom + 18, power(size), color="ink2", anchor="middle", size=12)
    frame(p, left, right, top, bottom, "keys in a batch (u32 -> u32)", "G inserts/s (logarithmic)")
    limit = data["copy_bandwidth"] / 16 / 1e9  # 8 bytes read and 8 written
    p.line(left, y.at(limit), right, y.at(limit), color="limit", width=2, dash="6 4")
    curves = {"best": [], "worst": []}
    names = {}
    for size in sizes:
        of_size = sorted((r["rate"] / 1e9, r["batch_distribution"]) for r in rows if r["queries"] == size)
        for name, (rate, what) in (("worst", of_size[0]), ("best", of_size[-1])):
            curves[name].append((x.at(size), y.at(rate)))
            million = rate * 1000
            shown = f"{rate:.1f} G" if rate >= 0.95 else f"{million:.0f} M" if million >= 10 else f"{million:.1f} M"
            names[name, size] = f"{shown}: {what}"
    p.band(curves["best"], curves["worst"], "ours")
    for name, color, shape in (("best", "ours", "disc"), ("worst", "a", "triangle")):
        p.path(curves[name], color)
        for size, (at_x, at_y) in zip(sizes, curves[name]):
            p.mark(at_x, at_y, shape, color)
            # Both curves rise: words above the best end at their point, words below the worst begin there.
            if name == "best":
                dx, dy, anchor = (-6, -34, "start") if size == sizes[0] else (-8, -8, "end")
            else:
                dx, dy, anchor = (0, 22, "end") if size == sizes[-1] else (10, 16, "start")
            p.text(at_x + dx, at_y + dy, names[name, size], color="ink2", anchor=anchor, size=11)
    p.text(16, 408, f"bench/results/gpu-blink-distributions-1.json: commit {data['commit']}, {data['date'][:10]}",
           color="ink2", size=11)  # fmt: skip
    p.text(16, 423, "before small batches were one kernel; since then: README, gpu-blink-small-batches.json", color="ink2",
           size=11)  # fmt: skip
    return p


def cpu_peers(theme: str) -> Picture:
    """One thread next to what a program would use otherwise, in the same run."""
    find, blink, radix = read("cpu-find-2p24.json"), read("cpu-blink.json"), read("cpu-radix.json")
    bars = []

    def add(group, row, names):
        work = row["queries"]
        bars.append((group, None, None))
        bars.append(("", "Espalier", row["seconds"] / work * 1e9))
        for key, name in names.items():
            if key in row.get("peers", {}):
                peer = row["peers"][key]
                bars.append(("", name, peer["seconds"] / peer["queries"] * 1e9))

    def pick(data, **wanted):
        return next(r for r in data["rows"] if all(r.get(k) == v for k, v in wanted.items()))

    maps = {"lower-bound": "std::lower_bound", "absl-btree": "absl::btree", "std-map": "std::map",
            "pointer-art": "ART of pointers"}  # fmt: skip
    add("static tree: find in 2²⁴ u32 keys", find["rows"][0], maps)
    add("B-link tree: insert 2²² new u64 keys into 2²² as a batch", pick(blink, op="insert", path="bulk"), maps)
    add("B-link tree: the same key by key", pick(blink, op="insert", path="per-key"), maps)
    add("B-link tree: find in 2²² u64 keys", pick(blink, op="find"), maps)
    add("radix tree: find in 2²² keys of 16 bytes", pick(radix, op="find", keys=2**22), maps)
    height = 136 + sum(32 if value is None else 21 for *_, value in bars)
    p = Picture(theme, 760, height, "One CPU thread (Neoverse V1): time per key, less is better",
                "Time per key of each index and of the peers that ran next to it.")  # fmt: skip
    left, right, top = 170, 736, 80
    x = Axis(0.3, 8000, left, right)
    p.line(16, 46, 44, 46, color="limit", width=2, dash="6 4")
    p.text(52, 50, "limit: bytes that cannot be avoided, at the copy bandwidth of the run (where it was recorded)")
    bottom = height - 66
    for tick in (1, 10, 100, 1000):
        p.line(x.at(tick), top - 8, x.at(tick), bottom)
        p.text(x.at(tick), bottom + 16, f"{tick} ns", color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 34, "time per key (logarithmic)", color="ink2", anchor="middle", size=12)
    y = top - 22
    for group, name, value in bars:
        if value is None:
            y += 32
            p.ground(14, y - 26, 8 + 7.6 * len(group), 16)
            p.text(16, y - 14, group, weight=600)
            continue
        color = "ours" if name == "Espalier" else "c"
        p.text(left - 12, y + 7, name, anchor="end", size=12)
        p.parts.append(
            f'<rect x="{left}" y="{n(y - 4)}" width="{n(x.at(value) - left)}" height="14" rx="2" '
            f'fill="{p.c[color]}" fill-opacity="{1 if color == "ours" else 0.5}"/>'
        )
        p.ground(x.at(value) + 4, y - 4, 52, 14)
        p.text(x.at(value) + 6, y + 7, f"{value:.0f} ns" if value >= 10 else f"{value:.1f} ns", color="ink2", size=12)
        y += 21
    shared = find["rows"][0]
    limit = x.at(shared["seconds"] / shared["queries"] * 1e9 * shared["bandwidth_share"])
    p.line(limit, top + 2, limit, top + 68, color="limit", width=2, dash="6 4")
    p.text(16, height - 10, "bench/results/cpu-find-2p24.json, cpu-blink.json, cpu-radix.json: commits "
           f"{find['commit'][:7]}, {blink['commit'][:7]}, {radix['commit'][:7]}", color="ink2", size=11)  # fmt: skip
    return p


def paper_btree(theme: str) -> Picture:
    """The thesis "Implementation of B-trees on GPU", its curves and ours side by side."""
    paper = read("published/btree-on-gpu.json")
    runs = {"gpu": read("btree-on-gpu/shuffled-gpu.json"), "cpu": read("btree-on-gpu/shuffled-cpu.json")}
    p = Picture(
        theme, 760, 430, "B-trees on GPUs: the paper's curves and ours, shuffled keys",
        "Operations per second by the number of elements, for search and insertion: published curves of a Quadro P6000 "
        "and a Xeon E5-2630 v3, ours of an H200 and a Xeon.",
    )  # fmt: skip
    names = paper["about"]["columns"]
    series = [
        ("disc", "ours", "", "ours, H200", ("gpu", "link", "express")),
        ("square", "ours2", "", "ours, 8 Xeon threads", ("cpu", "link", "express")),
    ]
    published = [("ring", "c", "2 3", "paper: TNL link, P6000", "TNL link"),
                 ("triangle", "a", "2 3", "paper: OWG, P6000", "OWG (the GPU B-tree of the Owens group)"),
                 ("diamond", "b", "2 3", "paper: PALM, CPU", "PALM")]  # fmt: skip
    p.legend(16, 50, [(s[0], s[1], s[3]) for s in [*series, *published[:1]]])
    p.legend(16, 72, [(s[0], s[1], s[3]) for s in published[1:]])
    p.line(330, 68, 358, 68, color="limit", width=2, dash="6 4")
    p.text(366, 72, "memory limit of the H200 (search)")
    top, bottom = 112, 350
    y = Axis(1, 1000000, bottom, top)
    panels = [("search", "search, shuffled", "find", 74, 390),
              ("insertion", "insertion, shuffled", "insert-empty", 432, 744)]  # fmt: skip
    for title, table, op, left, right in panels:
        x = Axis(2**9.5, 2**25.5, left, right)
        p.text(left + 6, top - 10, title, weight=650)
        for tick in (1, 10, 100, 1000, 10000, 100000):
            p.line(left, y.at(tick), right, y.at(tick))
            if left < 100:
                shown = f"{tick} M" if tick < 1000 else f"{tick // 1000} G"
                p.text(left - 6, y.at(tick) + 4, shown, color="ink2", anchor="end", size=12)
        for power_of in (10, 15, 20, 25):
            p.text(x.at(2**power_of), bottom + 18, power(2**power_of), color="ink2", anchor="middle", size=12)
        p.line(left, bottom, right, bottom, color="ink2")
        p.line(left, top, left, bottom, color="ink2")
        p.text((left + right) / 2, bottom + 38, "elements", color="ink2", anchor="middle", size=12)
        for mark, color, dash, _, column in published:
            k = names.index(column)
            points = [
                (x.at(2 ** row[0]), y.at(2 ** row[0] / (row[1] / row[k]) / 1e3))
                for row in paper["tables"][table]
                if row[k] is not None
            ]
            p.path(points, color, dash=dash, width=1.5)
            for point in points[::3]:
                p.mark(*point, mark, color)
        for mark, color, dash, _, (device, protocol, upper) in series:
            rows = [
                r for r in runs[device]["rows"] if (r["op"], r["policy"], r["upper"]) == (op, protocol, upper)
            ]
            points = [(x.at(r["keys"]), y.at(r["rate"] / 1e6)) for r in rows]
            p.path(points, color, dash=dash)
            for point in points[::3]:
                p.mark(*point, mark, color)
            if device == "gpu" and op == "find":
                limits = [(x.at(r["keys"]), y.at(r["rate"] / r["bandwidth_share"] / 1e6)) for r in rows]
                p.path(limits, "limit", dash="6 4")
    p.text(22, (top + bottom) / 2, "operations/s (logarithmic)", color="ink2", anchor="middle", size=12, turn=True)
    p.text(16, 406, "bench/results/btree-on-gpu/shuffled-gpu.json, shuffled-cpu.json: commit "
           f"{runs['gpu']['commit'][:7]}; published/btree-on-gpu.json:", color="ink2", size=11)  # fmt: skip
    p.text(16, 421, "T. D. Duong, Implementation of B-trees on GPU, 2021, tables 5.2 and 5.4 (other machines, "
           "other years)", color="ink2", size=11)  # fmt: skip
    return p


def paper_engine(theme: str) -> Picture:
    """Figures 8 to 10 of the B-tree query engine: our times, and the curve that its text describes."""
    paper, ours = read("published/btree-query-engine.json"), read("query-engine/identical-cpu.json")
    p = Picture(
        theme, 760, 430, "A B-tree query engine, figures 8 to 10: time by the number of keys in the range",
        "Time of range selection, COUNT and SUM relative to that of 1,024 keys, ours of two CPU threads, and the curve "
        "that the paper describes for its GPU.",
    )  # fmt: skip
    top, bottom = 112, 350
    series = [("disc", "ours", "range selection", "range"), ("square", "ours2", "COUNT", "count"),
              ("triangle", "b", "SUM", "sum")]  # fmt: skip
    p.legend(16, 50, [s[:3] for s in series])
    p.line(338, 46, 366, 46, color="a", width=3)
    p.text(374, 50, "the paper (RTX 2060), as its text says")
    y = Axis(0.3, 300, bottom, top)
    panels = [("2¹⁵ rows, as in the paper", 2**15, 74, 390), ("2²⁷ rows", 2**27, 432, 744)]
    for title, table, left, right in panels:
        x = Axis(2**-0.5, 2**20.5, left, right)
        p.text(left + 6, top - 10, title, weight=650)
        for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200):
            p.line(left, y.at(tick), right, y.at(tick))
            if left < 100:
                p.text(left - 6, y.at(tick) + 4, f"{tick:g}x", color="ink2", anchor="end", size=12)
        for power_of in (0, 5, 10, 15, 20):
            p.text(x.at(2**power_of), bottom + 18, power(2**power_of), color="ink2", anchor="middle", size=12)
        p.line(left, bottom, right, bottom, color="ink2")
        p.line(left, top, left, bottom, color="ink2")
        p.text((left + right) / 2, bottom + 38, "keys in the range", color="ink2", anchor="middle", size=12)
        if table == 2**15:
            steps = [s for s in paper["statements"] if "from" in s and "ratio" in s]
            points = [(min(s[end], 2**20.5), s["ratio"]) for s in steps for end in ("from", "to")]
            p.path([(x.at(keys), y.at(ratio)) for keys, ratio in points], "a", width=6)
            p.text(x.at(2**10) - 4, y.at(1) + 20, "paper: rises, no figure", color="ink2", anchor="end", size=11)
        for mark, color, _, op in series:
            rows = [r for r in ours["rows"] if (r["index"], r["op"], r["keys"]) == ("static", op, table)]
            by_length = sorted((r["range_elements"], r["seconds"]) for r in rows)
            base = dict(by_length)[2**10]
            points = [(x.at(length), y.at(seconds / base)) for length, seconds in by_length]
            p.path(points, color)
            for point in points[::5]:
                p.mark(*point, mark, color)
    p.text(22, (top + bottom) / 2, "time over that of 2¹⁰ keys (logarithmic)", color="ink2", anchor="middle", size=12,
           turn=True)  # fmt: skip
    p.text(16, 406, f"bench/results/query-engine/identical-cpu.json: commit {ours['commit'][:7]}, {ours['date'][:10]}, "
           "static tree, Neoverse V1, two threads", color="ink2", size=11)  # fmt: skip
    p.text(16, 421, "published/btree-query-engine.json: S. Dureja et al., B-tree Based Query Engine for GPUs, whose "
           "curves have no table", color="ink2", size=11)  # fmt: skip
    return p


def paper_pages(theme: str) -> Picture:
    """What "Experimental B+-tree for GPU" says about the size of a page, and our trees by the width of a node."""
    paper = read("published/large-pages.json")
    writes, builds = read("gpu-blink-widths-1.json"), read("gpu-blink-widths-2.json")
    visits = read("gpu-blink-visit-1.json")
    p = Picture(
        theme, 760, 430, "A B+tree of large pages: time by the elements of a page or node, u32 keys",
        "Time per element of insertion, bulk build and search on an H200 by the width of a node, with the pages that "
        "the paper found best; and visits of all elements relative to an array.",
    )  # fmt: skip
    top, bottom = 112, 350
    series = [("disc", "ours", "insert, key by key", writes, "insert"),
              ("square", "ours2", "bulk build", builds, "build"),
              ("triangle", "b", "find", writes, "find")]  # fmt: skip
    p.legend(16, 50, [s[:3] for s in series])
    p.line(362, 46, 390, 46, color="a", width=3)
    p.text(398, 50, "the paper (GTX 280), as its text says")
    left, right = 74, 390
    x, y = Axis(6, 6000, left, right), Axis(0.02, 100, bottom, top)
    (best,) = [s for s in paper["statements"] if s["figure"] == "2" and "from" in s]
    p.text(left + 6, top - 10, "2²⁴ keys", weight=650)
    for tick, shown in ((0.1, "0.1 ns"), (1, "1 ns"), (10, "10 ns"), (100, "100 ns")):
        p.line(left, y.at(tick), right, y.at(tick))
        p.text(left - 6, y.at(tick) + 4, shown, color="ink2", anchor="end", size=12)
    widths = (8, 32, 128, 4096)
    p.line(x.at(best["from"]), top + 8, x.at(best["to"]), top + 8, color="a", width=3)
    p.text(x.at(best["from"]) - 6, top + 12, "creation is fastest", color="ink2", anchor="end", size=11)
    for mark, color, _, data, op in series:
        rows = sorted((r["slots"], r["rate"]) for r in data["rows"] if (r["op"], r["key_type"]) == (op, "u32"))
        points = [(x.at(slots), y.at(1e9 / rate)) for slots, rate in rows]
        p.path(points, color)
        for point in points:
            p.mark(*point, mark, color)
    p.text(20, (top + bottom) / 2, "time per element (logarithmic)", color="ink2", anchor="middle", size=12, turn=True)
    frames = [(left, right, x)]
    left, right = 462, 744
    x, y = Axis(6, 6000, left, right), Axis(0, 1.1, bottom, top, log=False)
    p.text(left + 6, top - 10, "visit of all of 2²⁶ elements", weight=650)
    for tick in (0, 0.5, 1):
        p.line(left, y.at(tick), right, y.at(tick))
        p.text(left - 6, y.at(tick) + 4, f"{tick:g}x", color="ink2", anchor="end", size=12)
    (close,) = [s["ratio"] for s in paper["statements"] if s["figure"] == "4, right"]
    p.line(left, y.at(close), right, y.at(close), color="a", width=3)
    p.text(left + 8, y.at(close) + 16, "the paper: \u201cvery close\u201d to a Thrust array", color="ink2", size=11)
    for mark, color, kind, dy in (("disc", "ours", "u32", 20), ("ring", "ours", "u64", 20)):
        rows = sorted((r["slots"], r["ratio"]["reduce"]) for r in visits["rows"] if r["key_type"] == kind)
        points = [(x.at(slots), y.at(ratio)) for slots, ratio in rows]
        p.path(points, color)
        for point in points:
            p.mark(*point, mark, color)
        p.text(points[-1][0], points[-1][1] + dy, f"ours, {kind}", color="ink2", anchor="end", size=11)
    p.text(424, (top + bottom) / 2, "rate over that of an array", color="ink2", anchor="middle", size=12, turn=True)
    for begin, end, scale in [*frames, (left, right, x)]:
        p.line(begin, bottom, end, bottom, color="ink2")
        p.line(begin, top, begin, bottom, color="ink2")
        p.text((begin + end) / 2, bottom + 38, "elements of a node", color="ink2", anchor="middle", size=12)
        for width in widths:
            p.text(scale.at(width), bottom + 18, str(width), color="ink2", anchor="middle", size=12)
    p.text(16, 406, f"bench/results/gpu-blink-widths-1.json, -2.json: commit {writes['commit'][:7]}; "
           f"gpu-blink-visit-1.json: {visits['commit'][:7]}; H200; published/large-pages.json:", color="ink2",
           size=11)  # fmt: skip
    p.text(16, 421, "K. Kaczmarek, Experimental B+-tree for GPU, whose curves have no table", color="ink2", size=11)
    return p


def paper_hybrid(theme: str) -> Picture:
    """Figure 16(a) of the HB+-tree paper: our curves, and the largest rates that its text states."""
    paper, ours = read("published/hb-plus-tree.json"), read("hb-plus-tree/16-gpu.json")
    p = Picture(
        theme, 760, 430, "Hybrid trees: find of u64 keys in host memory, the paper's figure 16(a)",
        "Finds per second by the number of keys for both processors and for the CPU alone; as horizontal lines what "
        "the paper states at most, and the limit of the bus.",
    )  # fmt: skip
    left, right, top, bottom = 74, 736, 112, 350
    x, y = Axis(2**22.5, 2**28.5, left, right), Axis(50, 20000, bottom, top)
    series = [
        ("disc", "ours", "implicit, automatic (leaves cached)", "implicit", "automatic"),
        ("triangle", "ours", "implicit, CPU finishes", "implicit", "shared"),
        ("ring", "ours", "implicit, CPU alone", "implicit", "host-alone"),
        ("square", "ours2", "regular, CPU finishes", "regular", "shared"),
        ("diamond", "b", "regular, CPU alone", "regular", "host-alone"),
    ]
    p.legend(16, 50, [s[:3] for s in series[:3]])
    p.legend(16, 72, [s[:3] for s in series[3:]])
    p.line(390, 68, 418, 68, color="limit", width=2, dash="6 4")
    p.text(426, 72, "limit: 8 bytes of each key over the bus")
    for tick in (100, 1000, 10000):
        p.line(left, y.at(tick), right, y.at(tick))
        p.text(left - 8, y.at(tick) + 4, f"{tick} M" if tick < 1000 else f"{tick // 1000} G", color="ink2",
               anchor="end", size=12)  # fmt: skip
    rows = [r for r in ours["rows"] if r["key_type"] == "u64" and r["queries"] == 2**25]
    for keys in sorted({r["keys"] for r in rows}):
        p.text(x.at(keys), bottom + 18, power(keys), color="ink2", anchor="middle", size=12)
    frame(p, left, right, top, bottom, "keys in the tree", "finds/s (logarithmic)")
    p.line(left, y.at(BUS / 8 / 1e6), right, y.at(BUS / 8 / 1e6), color="limit", width=2, dash="6 4")
    stated = {s["what"].split()[0]: s["value"] / 1e6 for s in paper["statements"] if "value" in s}
    for level in stated.values():
        p.line(left, y.at(level), right, y.at(level), color="c", width=1.5, dash="2 3")
    words = ", ".join(f"{name} {rate:.0f} M" for name, rate in stated.items())
    p.text(left + 8, y.at(max(stated.values())) - 6, f"the paper, at most: {words} (GTX 780)", color="ink2", size=11)
    for mark, color, _, layout, placement in series:
        of_series = [r for r in rows if (r["layout"], r["placement"]) == (layout, placement)]
        points = [(x.at(r["keys"]), y.at(r["rate"] / 1e6)) for r in of_series]
        p.path(points, color)
        for point in points:
            p.mark(*point, mark, color)
    p.text(16, 406, f"bench/results/hb-plus-tree/16-gpu.json: commit {ours['commit'][:7]}, {ours['date'][:10]}, H200, "
           "16 Xeon cores; published/hb-plus-tree.json:", color="ink2", size=11)  # fmt: skip
    p.text(16, 421, "A. Shahvarani, H.-A. Jacobsen, A Hybrid B+-tree ..., SIGMOD 2016, whose curves have no table",
           color="ink2", size=11)  # fmt: skip
    return p


def paper_ratios(theme: str) -> Picture:
    """What the texts of two papers state as ratios, and the same ratio in our repetition, over all sizes and keys."""

    def over(name, above, below, of=lambda row: row["rate"]):
        """The rows of a file that fit `above`, each over the row of its size and key type that fits `below`."""
        rows = read(name)["rows"]
        fits = lambda row, wanted: all(row.get(k) == v for k, v in wanted.items())  # noqa: E731
        base = {(r["keys"], r["key_type"]): of(r) for r in rows if fits(r, below)}
        return [of(r) / base[r["keys"], r["key_type"]] for r in rows if fits(r, above)]

    def peer(name, peer_name, **wanted):
        rows = read(name)["rows"]
        return [r["ratio"][peer_name] for r in rows if all(r.get(k) == v for k, v in wanted.items())]

    hb = "hb-plus-tree/{}-gpu.json".format
    implicit, regular = {"layout": "implicit"}, {"layout": "regular"}
    both, alone = {"placement": "shared"}, {"placement": "host-alone"}
    buckets = lambda layout, how: layout | {"buckets": how}  # noqa: E731
    many = lambda key: {"queries": 2**25, "key_type": key}  # noqa: E731
    length = lambda size, where: implicit | {"placement": where, "range_length": size}  # noqa: E731
    pipeline = over("hb-plus-tree/20-cpu.json", {"pipeline": 16}, {"pipeline": 1})
    seconds = lambda row: row["seconds"]  # noqa: E731
    gpu_updates, cpu_updates = read("cuart/17-gpu.json")["rows"], read("cuart/17-cpu.json")["rows"]
    pointers = {r["key_length"]: r["rate"] / r["ratio"]["pointer-art"] for r in cpu_updates}
    # A paper, then per row: words, the place of the paper's ratio in its file, ours.
    parts = [
        ("HB+-tree (GTX 780 or 770M): ours on an H200 and 16 Xeon cores", "hb-plus-tree", [
            ("10: buckets pipelined, implicit", "sequential, implicit",
             over(hb(10), buckets(implicit, "pipelined"), buckets(implicit, "sequential"))),
            ("10: the same, regular", "sequential, regular",
             over(hb(10), buckets(regular, "pipelined"), buckets(regular, "sequential"))),
            ("10: double-buffered, implicit", "double-buffered",
             over(hb(10), buckets(implicit, "double-buffered"), buckets(implicit, "sequential"))),
            ("10: the same, regular", "double-buffered",
             over(hb(10), buckets(regular, "double-buffered"), buckets(regular, "sequential"))),
            ("12: zipf queries, implicit", "zipf",
             over(hb(12), implicit | both | {"requests": "zipf"}, implicit | both | {"requests": "uniform"})),
            ("13(a): updates by all threads", "all threads over one",
             over(hb(13), alone | {"threads": 16}, alone | {"threads": 1})),
            ("16(a): both over the CPU, u64, implicit", "64 bits",
             over(hb(16), implicit | both | many("u64"), implicit | alone | many("u64"))),
            ("16(a): the same, regular", "64 bits",
             over(hb(16), regular | both | many("u64"), regular | alone | many("u64"))),
            ("16(b): both over the CPU, u32, implicit", "32 bits",
             over(hb(16), implicit | both | many("u32"), implicit | alone | many("u32"))),
            ("16(c): latency over that of the CPU", "latency of both",
             over(hb(16), implicit | both | {"queries": 2**14}, implicit | alone | {"queries": 2**8}, seconds)),
            ("17: ranges of 8, over the CPU", "up to 8 keys",
             over(hb(17), length(8, "automatic"), length(8, "host-alone"))),
            ("17: ranges of 32, over the CPU", "of 32 keys",
             over(hb(17), length(32, "automatic"), length(32, "host-alone"))),
            ("20(a): 16 queries at once in a thread", "at once in a thread", pipeline),
            ("20(b): the latency of that", "latency of 16", [16 / ratio for ratio in pipeline]),
        ]),
        ("CuART (A100 or RTX 3090): ours on an H200 and 8 Xeon threads", "cuart", [
            ("7: over ART of pointers, CPU", "ART of pointers", peer("cuart/7-cpu.json", "pointer-art")),
            ("12: triples over GRT, from host memory", "BTC-2019",
             peer("cuart/12-gpu.json", "grt-like", distribution="triples", location="host")),
            ("17: updates over GRT, from host memory", "over GRT (",
             peer("cuart/17-gpu.json", "grt-like", location="host")),
            ("17: updates over ART on the CPU", "over ART on the CPU",
             [r["rate"] / pointers[r["key_length"]] for r in gpu_updates if r["location"] == "host"]),
        ]),
    ]  # fmt: skip
    left, right, step = 300, 736, 22
    height = 140 + sum(38 + step * len(rows) for *_, rows in parts)
    p = Picture(theme, 760, height, "Two papers repeated: ratios that their texts state, and the same ratios here",
                "One row per statement of a paper: its ratio, and the smallest to the largest of ours.")  # fmt: skip
    p.legend(16, 50, [("ring", "c", "the paper"), ("disc", "ours", "ours, over all sizes and keys of the figure")])
    x, top = Axis(0.5, 100, left, right), 84
    bottom = height - 66
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100):
        p.line(x.at(tick), top - 16, x.at(tick), bottom, color="ink2" if tick == 1 else "rule")
        p.text(x.at(tick), bottom + 16, f"{tick:g}x", color="ink2", anchor="middle", size=12)
    p.text((left + right) / 2, bottom + 34, "ratio (logarithmic)", color="ink2", anchor="middle", size=12)
    y = top
    for title, name, rows in parts:
        p.ground(14, y - 11, 8 + 6.9 * len(title), 15)
        p.text(16, y, title, weight=600, size=12)
        y += 8
        statements = [s for s in read(f"published/{name}.json")["statements"] if "ratio" in s]
        for words, place, ours in rows:
            y += step
            (stated,) = [s["ratio"] for s in statements if place in s["what"]]
            p.text(left - 14, y + 4, words, anchor="end", size=12)
            for values, mark, color, dy in ((stated if isinstance(stated, list) else [stated], "ring", "c", -4),
                                            ((min(ours), max(ours)), "disc", "ours", 4)):  # fmt: skip
                p.line(x.at(min(values)), y + dy, x.at(max(values)), y + dy, color=color, width=3)
                for value in sorted(set(values)):
                    p.mark(x.at(value), y + dy, mark, color)
        y += 30
    p.text(16, height - 10, "bench/results/hb-plus-tree, cuart: each row names the figure; published/hb-plus-tree.json,"
           " cuart.json", color="ink2", size=11)  # fmt: skip
    return p


def layers(theme: str) -> Picture:
    """ARCHITECTURE.md's picture: who calls whom, downwards."""
    p = Picture(theme, 760, 462, "Layers: calls and includes point downwards",
                "Six layers from people at the top to processors at the bottom.")  # fmt: skip
    rows = [
        ("people", [("cli", "src/cli"), ("explorer", "src/explorer, web"), ("bench", "bench"), ("Python", "python")]),
        ("SQL and joins", [("engine", "statements > sql > plan > exec > table, index, store"),
                           ("join", "as-of, window")]),
        ("owners", [("static_tree", "read-only"), ("blink_tree", "map"), ("radix_tree", "bytes"),
                    ("hybrid_tree", "static + blink")]),
        ("index", [("index_impl of each tree",
                    "stage host memory, choose a plan, launch a job, admit readers and writers")]),
        ("algorithms", [("search, run", "static_tree"), ("read, write, bulk", "blink_tree"),
                        ("descend, graft, prune", "radix_tree")]),
        ("processor", [("team", "scalar, SIMD, tile"), ("sync", "version latch"), ("trace", "events"),
                       ("device", "memory, streams"), ("core", "keys, errors")]),
    ]  # fmt: skip
    about = {
        "people": "terminal, HTTP, frames", "SQL and joins": "parallel inside",
        "owners": "host threads, streams", "index": "untyped, virtual", "algorithms": "one team, one key or batch",
        "processor": "CPU and GPU twins",
    }  # fmt: skip
    left, right = 176, 744
    for i, (layer, boxes) in enumerate(rows):
        y = 46 + i * 69
        p.text(16, y + 24, layer, weight=650)
        p.text(16, y + 42, about[layer], color="ink2", size=11)
        gap = 10
        if layer == "SQL and joins":
            widths = [400, right - left - 400 - gap]
        else:
            widths = [(right - left - gap * (len(boxes) - 1)) / len(boxes)] * len(boxes)
        x = left
        for (name, what), width in zip(boxes, widths):
            p.parts.append(
                f'<rect x="{n(x)}" y="{y}" width="{n(width)}" height="52" rx="6" fill="{p.c["ours"]}" '
                f'fill-opacity="{0.10 if i % 2 else 0.18}" stroke="{p.c["ours"]}" stroke-opacity="0.6"/>'
            )
            p.text(x + width / 2, y + 23, name, anchor="middle", weight=600)
            p.text(x + width / 2, y + 40, what, color="ink2", anchor="middle", size=11)
            x += width + gap
        if i + 1 < len(rows):
            middle = (left + right) / 2
            p.line(middle, y + 53, middle, y + 64, color="ink2", width=1.5)
            p.path([(middle - 4, y + 60), (middle, y + 66), (middle + 4, y + 60)], "ink2", width=1.5)
    return p


PLOTS = {"as-of": as_of, "taq": taq, "gpu-find": gpu_find, "gpu-writes": gpu_writes, "gpu-joins": gpu_joins,
         "cpu-peers": cpu_peers, "sql-peers": sql_peers, "python": python,
         "paper-btree": paper_btree, "paper-engine": paper_engine, "paper-pages": paper_pages,
         "paper-hybrid": paper_hybrid, "paper-ratios": paper_ratios, "layers": layers}  # fmt: skip


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="write nothing; fail if a committed plot differs")
    arguments.add_argument("--out", type=pathlib.Path, default=OUT)
    options = arguments.parse_args()
    if not options.check:
        options.out.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, draw in PLOTS.items():
        for theme in THEMES:
            path, text = options.out / f"{name}-{theme}.svg", draw(theme).done()
            if not options.check:
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                stale.append(path.name)
    if stale:
        print(f"{', '.join(stale)}: not what bench/plots/make.py draws from bench/results; run it.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
