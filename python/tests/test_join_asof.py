"""join_asof() against an oracle that looks at every pair."""

from __future__ import annotations

import itertools
import json
import pathlib
import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from join_cases import KINDS, asof_oracle, frame, keys, kind_of, lists

import espalier as es

STRATEGIES = ("backward", "forward", "nearest")


def check(kind, left, right, strategy, exact, tolerance, by, types=None):
    on = "t"
    left_groups = None if not by else [tuple(g) for g in zip(*(left[b] for b in by))] if left[on] else []
    right_groups = None if not by else [tuple(g) for g in zip(*(right[b] for b in by))] if right[on] else []
    rows = asof_oracle(left[on], right[on], left_groups, right_groups, strategy, exact, tolerance)
    expected = [None if r is None else right["row"][r] for r in rows]
    types = types or {"t": pl.Int64, "row": pl.Int64}
    left_frame, right_frame = frame(kind, left, types), frame(kind, right, types)
    options = dict(on=on, by=by or None, strategy=strategy, allow_exact_matches=exact, tolerance=tolerance)
    answer = es.join_asof(left_frame, right_frame, **options)
    assert kind_of(answer) == kind
    assert lists(answer)["row"] == expected, (left, right, options)
    assert lists(answer)["t"] == lists(left_frame)["t"]
    prepared = es.prepare(right_frame, on=on, by=by or None)
    assert lists(es.join_asof(left_frame, prepared, **options))["row"] == expected
    cut = len(right[on]) // 2
    head, tail = ({n: v[:cut] for n, v in right.items()}, {n: v[cut:] for n, v in right.items()})
    grown = es.prepare(frame(kind, head, types), on=on, by=by or None)
    grown.append(frame(kind, tail, types))
    assert len(grown) == len(right[on])
    assert lists(es.join_asof(left_frame, grown, **options))["row"] == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("exact", (True, False))
@pytest.mark.parametrize("tolerance", (None, 0, 3))
@pytest.mark.parametrize("grouped", (False, True))
@pytest.mark.parametrize("nulls", (False, True))
def test_every_combination(strategy, exact, tolerance, grouped, nulls):
    rng = random.Random(f"{strategy}{exact}{tolerance}{grouped}{nulls}")
    shapes = ("sorted", "reversed", "random", "equal")
    for left_shape, right_shape in itertools.product(shapes, shapes):
        left_rows, right_rows = rng.choice((0, 1, 7, 40)), rng.choice((0, 1, 9, 40))
        left = {"t": keys(rng, left_rows, left_shape, nulls)}
        right = {"t": keys(rng, right_rows, right_shape, nulls), "row": list(range(right_rows))}
        by = ()
        types = {"t": pl.Int64, "row": pl.Int64, "g": pl.Int32, "s": pl.String}
        if grouped:
            choices = rng.choice(([1], [1, 2, 3], [None, 1, 2]))
            by = rng.choice((("g",), ("s",), ("g", "s")))
            for side, rows, shift in ((left, left_rows, 0), (right, right_rows, rng.choice((0, 0, 1)))):
                groups = [rng.choice(choices) for _ in range(rows)]
                side["g"] = [None if g is None else g + shift for g in groups]
                names = [
                    rng.choice((None, "a", "a long name, not inside of a view")) if nulls else rng.choice("ab")
                    for _ in range(rows)
                ]
                side["s"] = names
        kind = rng.choice(KINDS)
        if kind in ("dict", "pandas") and any(v is None for side in (left, right) for v in side.get("g", [])):
            kind = "polars"  # NULL integers are floats there; test_frames.py has them
        check(kind, left, right, strategy, exact, tolerance, by, types)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dtype", (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)
)
def test_key_types(kind, dtype):
    rng = random.Random(str(dtype))
    left = {"t": [rng.randrange(100) for _ in range(50)]}
    right = {"t": [rng.randrange(100) for _ in range(60)], "row": list(range(60))}
    types = {"t": dtype, "row": pl.Int64}
    check(kind, left, right, "nearest", True, 2, (), types)


@pytest.mark.parametrize(
    "pair",
    (
        (pl.Int32, pl.Int64),
        (pl.UInt8, pl.Int16),
        (pl.UInt64, pl.Int64),
        (pl.Float32, pl.Float64),
        (pl.Int32, pl.Float64),
        (pl.UInt32, pl.UInt64),
    ),
)
def test_types_of_both_sides_are_converted(pair):
    left, right = {"t": [1, 50, 9]}, {"t": [2, 9, 49], "row": [0, 1, 2]}
    for a, b in (pair, pair[::-1]):
        answer = es.join_asof(frame("polars", left, {"t": a}), frame("polars", right, {"t": b}), on="t")
        assert answer["row"].to_list() == [None, 2, 1]
        assert answer["t"].dtype == a


def test_values_without_an_equal_are_refused():
    big = pl.DataFrame({"t": [2**53 + 1]})
    floats = pl.DataFrame({"t": [1.5], "v": [1]})
    with pytest.raises(ValueError, match=r"column 't' of the left frame \(dtype Int64\)"):
        es.join_asof(big, floats, on="t")
    huge = pl.DataFrame({"t": [2**63]}, schema={"t": pl.UInt64})
    with pytest.raises(ValueError, match="no exact equal"):
        es.join_asof(huge, big.with_columns(v=1), on="t")


def test_extreme_integers():
    ends = [-(2**63), 2**63 - 1, 0]
    left, right = pl.DataFrame({"t": ends}), pl.DataFrame({"t": ends, "row": [0, 1, 2]})
    assert es.join_asof(left, right, on="t", tolerance=2**63)["row"].to_list() == [0, 1, 2]
    near = es.join_asof(left, right, on="t", strategy="nearest", allow_exact_matches=False)
    assert near["row"].to_list() == [2, 2, 1]
    wide = es.join_asof(left, right, on="t", strategy="nearest", allow_exact_matches=False, tolerance=2**70)
    assert wide["row"].to_list() == [2, 2, 1]


def test_floats_with_nan_and_infinity():
    inf, nan = float("inf"), float("nan")
    left = pl.DataFrame({"t": [nan, inf, -inf, -0.0, None]})
    right = pl.DataFrame({"t": [0.0, nan, -inf, inf], "row": [0, 1, 2, 3]})
    assert es.join_asof(left, right, on="t")["row"].to_list() == [None, 3, 2, 0, None]


def test_many_rows_in_parallel():
    rng = np.random.default_rng(7)
    n, m = 200_000, 300_000
    left = {"t": np.sort(rng.integers(0, 1_000_000, n)), "g": rng.integers(0, 50, n)}
    right = {"t": np.sort(rng.integers(0, 1_000_000, m)), "g": rng.integers(0, 50, m), "row": np.arange(m)}
    expected = pl.DataFrame(left).join_asof(pl.DataFrame(right), on="t", by="g", check_sortedness=False)["row"]
    shuffled = rng.permutation(n)
    mixed = {k: v[shuffled] for k, v in left.items()}
    answer = es.join_asof(mixed, right, on="t", by="g")["row"]
    assert np.array_equal(np.ma.filled(answer, -1), expected.fill_null(-1).to_numpy()[shuffled])


def test_strings_of_every_length_as_groups():
    texts = ["x" * n for n in range(40)] + ["x" * n + "y" for n in range(40)] + ["ä", "日本", ""]
    left = {"t": [5] * len(texts), "s": texts}
    right = {"t": [1] * len(texts), "s": texts[::-1], "row": list(range(len(texts)))}
    for kind in KINDS:
        answer = es.join_asof(frame(kind, left), frame(kind, right), on="t", by="s")
        wanted = [max(j for j, t in enumerate(texts[::-1]) if t == text) for text in texts]
        assert lists(answer)["row"] == wanted
    fixed = {"t": np.full(len(texts), 5), "s": np.array(texts)}  # NumPy's fixed-width strings
    assert es.join_asof(fixed, frame("dict", right), on="t", by="s")["row"].tolist() == wanted


def test_inputs_are_not_changed():
    values = np.array([3, 1, 2])
    left, right = {"t": values}, {"t": np.array([1, 2]), "v": np.array([1.0, 2.0])}
    es.join_asof(left, right, on="t")
    assert values.tolist() == [3, 1, 2] and list(left) == ["t"]


@pytest.mark.parametrize("case", ["sorted", "sorted, 500 groups"])
def test_memory_of_sorted_sides(case):
    """At most 1.3 times inputs and answer; measured with 2^24 rows by the same program."""
    program = pathlib.Path(__file__).parents[1] / "bench" / "join_memory.py"
    command = [sys.executable, str(program), "--rows-log2", "22", "--case", case]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert measured["ratio"] <= 1.3, measured
