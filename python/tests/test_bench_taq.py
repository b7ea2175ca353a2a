"""python/bench/taq.py on tiny data: all peers give the right answers, and a wrong one is noticed."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

for _library in ("duckdb", "pandas", "polars", "pyarrow"):
    pytest.importorskip(_library)
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "bench"))
import taq  # noqa: E402
import taq_data  # noqa: E402


@pytest.fixture(scope="module")
def market():
    return taq.generate(trades=2000, symbols=60, seed=5)


def test_shape_of_the_data(market):
    trade, quote = market.trade, market.quote
    assert len(trade["time"]) == 2000 and 2000 < len(quote["time"]) <= 60_000
    for side in (trade, quote):
        assert (np.diff(side["time"]) >= np.timedelta64(0, "ns")).all()
        counts = np.sort(np.bincount(side["sym"], minlength=60))
        assert counts[-1] > 8 * counts[30]
    code = quote["sym"].astype(np.int64)
    same = (np.diff(quote["time"]) == np.timedelta64(0, "ns")) & (np.diff(code) == 0)
    assert same.any()  # ties of one symbol, which backward joins answer with the last
    gaps = np.diff(trade["time"]).astype(np.int64)
    assert np.median(gaps) < gaps.mean() / 5  # bursts
    for query in taq.QUERIES:
        assert len(taq.chosen_trades(market, query)) > 0, query


def test_the_same_seed_makes_the_same_data(market):
    again = taq.generate(trades=2000, symbols=60, seed=5)
    for one, other in ((market.trade, again.trade), (market.quote, again.quote)):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    assert (again.fifty, again.rare, again.frequent) == (market.fifty, market.rare, market.frequent)


def test_data_are_the_same_after_a_file(market, tmp_path):
    taq_data.save(market, tmp_path)
    read = taq_data.load(tmp_path)
    for one, other in ((market.trade, read.trade), (market.quote, read.quote)):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    assert (read.symbols, read.fifty, read.rare) == (market.symbols, market.fifty, market.rare)
    assert (read.infrequent, read.frequent) == (market.infrequent, market.frequent)


def test_every_peer_gives_the_right_answers(market, tmp_path):
    options = taq.parse(["--repeat", "1", "--threads", "2"])
    results = taq.run(market, tmp_path, options)  # raises where an answer is wrong
    measured = {(r["peer"], r["query"]) for r in results}
    for peer in taq.PEERS:
        queries = getattr(taq.CLASSES[peer], "queries", taq.QUERIES)
        assert {q for p, q in measured if p == peer} == set(queries), peer
    made = taq.table(results, taq.PEERS)
    assert all(f"| {query}, " in made for query in taq.QUERIES)


def right_answer(market, query):
    rows, found = taq.expected(market, query)
    has = found >= 0
    return {
        "id": rows.copy(),
        "seq": found.copy(),
        "bid": np.where(has, market.quote["bid"][found], 0),
        "asize": np.where(has, market.quote["asize"][found], 0),
    }


def earlier_tie(market, answer):
    """(row of the answer, quote) where an earlier quote of the symbol has the time of the right one."""
    quote = market.quote
    for i, seq in enumerate(answer["seq"]):
        same = np.flatnonzero((quote["time"] == quote["time"][seq]) & (quote["sym"] == quote["sym"][seq]))
        if seq >= 0 and len(same) > 1:
            return i, int(same[0])
    raise AssertionError("no tie")


def test_wrong_answers_are_noticed(market):
    right = taq.expected(market, 82)
    assert (right[1] >= 0).any()
    taq.check(market, 82, "polars", right_answer(market, 82), right)

    short = {name: values[1:] for name, values in right_answer(market, 82).items()}
    with pytest.raises(AssertionError, match="trades and not the"):
        taq.check(market, 82, "polars", short, right)
    column = right_answer(market, 82)
    column["bid"][right[1] >= 0] += 0.01
    with pytest.raises(AssertionError, match="columns of another quote"):
        taq.check(market, 82, "polars", column, right)
    none = right_answer(market, 82)
    none["seq"][-1] = -1
    with pytest.raises(AssertionError, match="finds"):
        taq.check(market, 82, "duckdb", none, right)


def test_duckdb_may_take_any_of_equal_quotes(market):
    right, answer = taq.expected(market, 82), right_answer(market, 82)
    row, quote = earlier_tie(market, answer)
    answer["seq"][row] = quote
    answer["bid"][row], answer["asize"][row] = market.quote["bid"][quote], market.quote["asize"][quote]
    taq.check(market, 82, "duckdb", answer, right)
    with pytest.raises(AssertionError, match="1 other quotes"):
        taq.check(market, 82, "prepared", answer, right)


def test_preparing_pays_when_it_saves_more_than_it_took():
    results = [
        {"query": 79, "peer": "polars", "ms": 12.0},
        {"query": 79, "peer": "espalier", "ms": 10.0},
        {"query": 79, "peer": "prepared", "ms": 2.0, "prepare_ms": 81.0},
        {"query": 81, "peer": "polars", "ms": 1.0},
        {"query": 81, "peer": "prepared", "ms": 2.0, "prepare_ms": 81.0},
    ]
    assert taq.pays_after(results, 79, "prepared") == 11  # 81 / (10 - 2)
    assert taq.pays_after(results, 81, "prepared") is None


def test_peers_are_named_in_a_list():
    assert taq.parse(["--peers", "duckdb index,prepared, partitioned,prepared"]).peers == [
        "duckdb index",
        "prepared, partitioned",
        "prepared",
    ]
    with pytest.raises(SystemExit):
        taq.parse(["--peers", "sqlite"])
    with pytest.raises(SystemExit):
        taq.parse(["--queries", "78"])
