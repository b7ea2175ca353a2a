"""`by` columns whose values are group codes already: the same rows as with any other `by` column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from join_cases import lists

import espalier as es
from espalier import _core

ROWS = 3_000


def frames(least, most, seed):
    """Both sides with `sym` between least and most, and the same numbers as text."""
    rng = np.random.default_rng(seed)
    made = []
    for low, high in ((least - 5, most + 5), (least, most)):
        sym = rng.integers(low, high + 1, ROWS)
        made.append({"t": rng.integers(0, 500, ROWS), "sym": sym, "text": [f"sym {x}" for x in sym]})
    made[1]["row"] = np.arange(ROWS)
    return made


def rows_of(answer):
    return pl.Series(answer["row"]).to_list()


@pytest.mark.parametrize("dtype", (np.int8, np.int16, np.int32, np.uint32, np.int64, np.uint64))
@pytest.mark.parametrize("least, most", ((5, 60), (20, 100), (1_000_000, 1_000_300), (-90, -40), (0, 10**9)))
def test_integers(dtype, least, most):
    if least - 5 < np.iinfo(dtype).min or most + 5 > np.iinfo(dtype).max:
        pytest.skip("the type does not hold the values")
    left, right = frames(least, most, abs(most))
    a, b = pl.DataFrame(left), pl.DataFrame(right)
    a, b = (f.with_columns(sym=pl.Series(f["sym"].to_numpy().astype(dtype))) for f in (a, b))
    expected = rows_of(es.join_asof(a, b, on="t", by="text"))
    assert rows_of(es.join_asof(a, b, on="t", by="sym")) == expected
    assert rows_of(es.join_asof(a, es.prepare(b, "t", "sym"))) == expected
    window = dict(window=(-20, 20), agg={"row": ["sum", "first"], "*": "count"})
    by_text, by_number = (es.join_window(a, b, on="t", by=by, **window) for by in ("text", "sym"))
    assert by_text["row_sum"].equals(by_number["row_sum"]) and by_text["row_first"].equals(by_number["row_first"])
    some = a.with_columns(sym=pl.when(pl.col("t") > 100).then(pl.col("sym")))
    mine = rows_of(es.join_asof(some, b, on="t", by="sym"))
    assert mine == [row if t > 100 else None for t, row in zip(left["t"], expected)]


def test_small_integers_are_not_copied():
    left, right = np.arange(300, dtype=np.int32) % 50, np.arange(400, dtype=np.int32) % 60
    columns = [_core.JoinColumn.from_array(x, "i") for x in (left, right)]
    left_codes, right_codes, groups = _core.dense_join_groups(*columns)
    assert np.shares_memory(left_codes, left) and np.shares_memory(right_codes, right)
    assert 60 <= groups <= 64
    assert left_codes.tolist() == left.tolist()


def categories(kind, values, order):
    if kind == "enum":
        return pl.Series(values).cast(pl.Enum(order))
    if kind == "polars":
        return pl.Series(values).cast(pl.Categorical)
    if kind == "pandas":
        return pd.Categorical(values, categories=order)
    codes = pa.array([order.index(v) for v in values], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, order)


@pytest.mark.parametrize("kind", ("enum", "polars", "pandas", "pyarrow"))
@pytest.mark.parametrize("is_same", (True, False))
def test_categories(kind, is_same):
    left, right = frames(20, 80, 7)
    expected = rows_of(es.join_asof(pl.DataFrame(left), pl.DataFrame(right), on="t", by="text"))
    order = sorted({*left["text"], *right["text"]})
    library = {"pandas": pd.DataFrame, "pyarrow": pa.table}.get(kind, pl.DataFrame)
    made = []
    for side, names in ((left, order), (right, order if is_same else order[::-1])):
        made.append(library({**side, "text": categories(kind, side["text"], names)}))
    answer = es.join_asof(*made, on="t", by="text")
    assert lists(answer)["row"] == expected
