"""espalier.sql: the SQL engine from Python."""

from __future__ import annotations

import datetime
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

import espalier as es  # noqa: E402
from espalier import sql  # noqa: E402


@pytest.fixture
def con():
    with sql.connect() as connection:
        yield connection


def rows_of(n: int) -> dict[str, np.ndarray]:
    return {"k": np.arange(n, dtype=np.int64), "v": (np.arange(n) % 7).astype(np.float64)}


def test_sql_is_an_attribute_of_the_package():
    assert es.sql.connect is sql.connect


def test_a_statement_answers_as_every_kind_of_frame(con):
    con.sql("CREATE TABLE t (a integer, b varchar, c numeric(10,2))")
    assert con.sql("INSERT INTO t VALUES (1, 'x', 1.50), (2, NULL, 2.25)").tag == "INSERT 0 2"
    answer = con.sql("SELECT a, b, c FROM t ORDER BY a")
    assert len(answer) == 2
    assert answer.columns == ["a", "b", "c"]
    assert answer.fetchall() == [(1, "x", Decimal("1.50")), (2, None, Decimal("2.25"))]
    assert answer.fetchall() == []
    assert answer.pl()["b"].to_list() == ["x", None]
    assert answer.df()["a"].tolist() == [1, 2]
    assert answer.arrow().num_rows == 2
    assert pl.DataFrame(answer).height == 2  # __arrow_c_stream__
    assert con.sql("DROP TABLE t").columns == []


def test_fetchone_fetchmany_and_iteration(con):
    con.load("t", rows_of(25_000))
    answer = con.sql("SELECT k FROM t ORDER BY k")
    assert answer.fetchone() == (0,)
    assert answer.fetchmany(3) == [(1,), (2,), (3,)]
    assert sum(1 for _ in answer) == 25_000 - 4
    assert answer.fetchone() is None


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table, dict], ids=["polars", "pandas", "arrow", "dict"])
def test_frames_are_loaded_and_appended(con, make):
    data = {
        "k": [3, 1, 2],
        "s": ["b", None, "ä" * 100],
        "t": [datetime.datetime(2026, 1, 5, 9, 0, i) for i in range(3)],
        "f": [1.5, float("inf"), -0.0],
    }
    con.load("t", make(data))
    con.load("t", make(data), append=True)
    assert con.sql("SELECT count(*), count(s) FROM t").fetchone() == (6, 4)
    assert con.sql("SELECT max(t) FROM t").fetchone() == (datetime.datetime(2026, 1, 5, 9, 0, 2),)
    assert con.sql("SELECT s FROM t WHERE k = 2").fetchall() == [("ä" * 100,)] * 2


def test_dictionaries_and_empty_frames_are_loaded(con):
    con.load("t", pa.table({"g": pa.array(["a", "b", "a", None]).dictionary_encode()}))
    assert con.sql("SELECT g, count(*) FROM t GROUP BY g ORDER BY g").fetchall() == [("a", 2), ("b", 1), (None, 1)]
    con.load("nothing", pl.DataFrame({"x": []}, schema={"x": pl.Int32}))
    assert con.sql("SELECT count(*), sum(x) FROM nothing").fetchone() == (0, None)


def test_an_index_answers_and_explain_names_it(con):
    con.load("t", rows_of(200_000))
    before = con.sql("SELECT count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 150000").fetchone()
    con.sql("CREATE INDEX by_k ON t (k) INCLUDE (v)")
    after = con.sql("SELECT count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 150000").fetchone()
    expected = rows_of(200_000)["v"][1000:150001]
    assert before == after == (149_001, float(expected.sum()))
    assert "by_k" in con.explain("SELECT count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 150000")


def test_parameters_are_values_not_text(con):
    con.sql("CREATE TABLE t (a integer, b varchar)")
    con.sql("INSERT INTO t VALUES (1, 'x'), (2, 'it''s'), (3, NULL)")
    assert con.sql("SELECT a FROM t WHERE b = $1", ["it's"]).fetchall() == [(2,)]
    assert con.sql("SELECT a FROM t WHERE a BETWEEN $1 AND $2 ORDER BY a", (2, 9)).pl()["a"].to_list() == [2, 3]
    many = con.sql_many("SELECT count(*) AS n FROM t WHERE a >= $1", pl.DataFrame({"from": [1, 3, 4]}))
    assert many.pl().rows() == [(0, 3), (1, 1), (2, 0)]
    with pytest.raises(TypeError, match="list or tuple"):
        con.sql("SELECT a FROM t WHERE b = $1", "it's")


def test_parameters_take_the_type_of_their_use_or_are_refused(con):
    con.sql("CREATE TABLE t (a integer, d date, n numeric(10,2), at timestamp)")
    con.sql("INSERT INTO t VALUES (1, '2020-01-01', 1.50, '2020-01-01 05:00'), (2, '2020-01-02', 2.50, NULL)")
    assert con.sql("SELECT a FROM t WHERE a = $1", [None]).fetchall() == []
    assert con.sql("SELECT a FROM t WHERE a = $1", ["2"]).fetchall() == [(2,)]
    assert con.sql("SELECT a FROM t WHERE a = $1", [2.0]).fetchall() == [(2,)]
    assert con.sql("SELECT a FROM t WHERE a = $1", [np.int16(2)]).fetchall() == [(2,)]
    assert con.sql("SELECT a FROM t WHERE d = $1", ["2020-01-01"]).fetchall() == [(1,)]
    assert con.sql("SELECT a FROM t WHERE d = $1", [datetime.date(2020, 1, 2)]).fetchall() == [(2,)]
    assert con.sql("SELECT a FROM t WHERE at = $1", [np.datetime64("2020-01-01T05:00")]).fetchall() == [(1,)]
    assert con.sql("SELECT a FROM t WHERE n = $1", [Decimal("1.5")]).fetchall() == [(1,)]
    for use, value in [
        ("a = $1", 1.5),
        ("a = $1", Decimal("1.5")),
        ("d = $1", datetime.datetime(2020, 1, 1, 5)),
        ("n = $1", Decimal("1.5001")),
        ("a = $1", "two"),
    ]:
        with pytest.raises(sql.Error):
            con.sql(f"SELECT a FROM t WHERE {use}", [value])
    with pytest.raises(ValueError, match="has 1 parameters, and 2 values"):
        con.sql("SELECT a FROM t WHERE a = $1", [1, 2])
    with pytest.raises(TypeError, match=r"\$1"):
        con.sql("SELECT a FROM t WHERE a = $1", [2**70])


def test_nanoseconds_are_not_cut(con):
    whole = np.array([1_000, 2_000], "M8[ns]")
    con.load("t", {"at": whole})
    assert con.sql("SELECT count(DISTINCT at) FROM t").fetchone() == (2,)
    with pytest.raises(ValueError, match="'at'"):
        con.load("u", {"at": np.array([1_500, 1_700], "M8[ns]")})


def test_errors_of_load_show_no_file_of_ours(con):
    con.load("t", {"k": [1]})
    with pytest.raises(sql.Error, match="Pass append=True to add the rows") as caught:
        con.load("t", {"k": [2]})
    assert caught.value.sqlstate == "42P07"
    with pytest.raises(sql.Error, match="The frame has a column 'x'") as other:
        con.load("t", {"x": [2]}, append=True)
    for error in (caught.value, other.value):
        assert "rows.arrow" not in str(error) and "line 1" not in str(error) and not error.excerpt
    assert con.sql("SELECT k FROM t").fetchall() == [(1,)]


def test_errors_have_a_state_a_kind_and_the_place(con):
    with pytest.raises(sql.Error, match="nosuch") as caught:
        con.sql("SELECT nosuch FROM (VALUES (1)) AS t (a)")
    assert caught.value.sqlstate == "42703"
    assert caught.value.kind == "refused"
    assert "^" in caught.value.excerpt
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.sqlstate, str(copy)) == (caught.value.sqlstate, str(caught.value))
    with pytest.raises(sql.Error) as division:
        con.sql("SELECT 1 / 0")
    assert (division.value.sqlstate, division.value.kind) == ("22012", "execution")
    con.sql("CREATE TABLE t (a integer PRIMARY KEY)")
    con.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(sql.Error) as twice:
        con.sql("INSERT INTO t VALUES (2), (1)")
    assert (twice.value.sqlstate, twice.value.kind) == ("23505", "constraint")
    assert con.sql("SELECT count(*) FROM t").fetchone() == (1,)
    with pytest.raises(TypeError, match="frame"):
        con.load("u", 7)


def test_transactions_and_scripts(con):
    answers = con.script("CREATE TABLE t (a integer); INSERT INTO t VALUES (1); SELECT count(*) FROM t;")
    assert [a.tag for a in answers][:2] == ["CREATE TABLE", "INSERT 0 1"]
    assert answers[2].fetchone() == (1,)
    con.sql("BEGIN")
    con.sql("DELETE FROM t")
    assert con.transaction == "active"
    con.sql("ROLLBACK")
    assert con.transaction == "none"
    assert con.sql("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_folder_keeps_tables_and_is_locked(tmp_path):
    folder = tmp_path / "shop.db"
    with sql.connect(folder) as con:
        con.load("t", rows_of(1000))
        con.sql("CREATE INDEX by_k ON t (k)")
        with pytest.raises(sql.Error) as locked:
            sql.connect(folder)
        assert locked.value.kind == "in_use"
        with sql.connect(folder, read_only=True) as reader:
            assert reader.sql("SELECT count(*) FROM t").fetchone() == (1000,)
            with pytest.raises(sql.Error) as refused:
                reader.sql("DELETE FROM t")
            assert refused.value.kind == "read_only"
    assert con.closed
    with pytest.raises(ValueError, match="closed"):
        con.sql("SELECT 1")
    con.close()
    with sql.connect(os.fspath(folder)) as con:
        assert con.sql("SELECT sum(k) FROM t").fetchone() == (499_500,)
        assert con.warnings == []


def test_answers_outlive_the_connection():
    con = sql.connect()
    con.load("t", rows_of(100_000))
    answer = con.sql("SELECT k, v FROM t")
    con.close()
    del con
    assert answer.pl()["k"].sum() == 100_000 * 99_999 // 2


def test_the_memory_limit_is_an_error_of_the_statement():
    with sql.connect(memory_limit=1 << 20) as con, pytest.raises(sql.Error) as caught:
        con.sql("SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 100000)")
    assert caught.value.sqlstate == "53200"


def test_statements_of_others_are_kept_from_files(tmp_path):
    with sql.connect() as con:
        con.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/a.parquet'")
    with sql.connect(file_access=False) as con:
        with pytest.raises(sql.Error, match="not allowed") as caught:
            con.sql(f"SELECT * FROM read_parquet('{tmp_path}/a.parquet')")
        assert caught.value.sqlstate == "42501"
        with pytest.raises(sql.Error, match="not allowed"):
            con.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/b.parquet'")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet"]


def test_threads_share_a_connection_by_turns(con):
    con.load("t", rows_of(50_000))
    found, failures = [], []

    def ask(first: int) -> None:
        try:
            for i in range(first, first + 20):
                found.append(con.sql(f"SELECT count(*) FROM t WHERE k >= {i}").fetchone() == (50_000 - i,))
        except Exception as e:  # noqa: BLE001 - reported below
            failures.append(e)

    threads = [threading.Thread(target=ask, args=(1000 * i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert len(found) == 80 and all(found)


def test_signal_handlers_cannot_block_on_their_own_connection():
    program = (
        "import signal, espalier.sql as s\n"
        "con = s.connect()\n"
        "con.sql('CREATE TABLE t AS SELECT i FROM generate_series(1, 20000) AS g (i)')\n"
        "def handler(*unused):\n"
        "    assert not con.closed\n"
        "    con.sql('SELECT 1')\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "try:\n"
        "    con.sql('SELECT count(*) FROM t a, t b WHERE a.i * b.i % 7 = 3 AND a.i + b.i > 5')\n"
        "    print('finished')\n"
        "except ValueError as e:\n"
        "    print('busy' if 'busy' in str(e) else e)\n"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert child.stdout in ("busy\n", "finished\n"), child.stderr  # a fast machine may have finished
    assert child.returncode == 0


def test_ctrl_c_stops_a_statement_and_changes_nothing():
    program = (
        "import espalier.sql as s\n"
        "con = s.connect()\n"
        "con.sql('CREATE TABLE t AS SELECT i FROM generate_series(1, 20000) AS g (i)')\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    con.sql('SELECT count(*) FROM t a, t b WHERE a.i * b.i % 7 = 3 AND a.i + b.i > 5')\n"
        "    print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', con.sql('SELECT count(*) FROM t').fetchone()[0])\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=120)
    assert rest in ("stopped 20000\n", "finished\n")  # a fast machine may have finished
    assert child.returncode == 0
