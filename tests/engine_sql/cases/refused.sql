-- What is refused, and with which words.
-- refused: There is no table 'nothing'
SELECT * FROM nothing;
-- refused: There is no column 'zzz'
SELECT zzz FROM t;
-- refused: There is no column 'x.a'
SELECT x.a FROM t;
-- refused: ambiguous
SELECT id FROM t, u;
-- refused: is specified more than once; add an alias.
SELECT 1 FROM t, t;
-- refused: Syntax error
SELEC 1;
-- refused: GROUP BY
SELECT a, c FROM t GROUP BY a;
-- refused: GROUP BY
SELECT a, count(*) FROM t;
-- refused: use HAVING
SELECT a FROM t WHERE count(*) > 1;
-- refused: inside another
SELECT sum(count(*)) FROM t;
-- refused: FOR UPDATE
SELECT a FROM t FOR UPDATE;
-- refused: WITH RECURSIVE
WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT * FROM x;
-- refused: ARRAY is not supported
SELECT ARRAY[1, 2];
-- refused: is not supported
SELECT (ARRAY[1, 2])[1];
-- refused: A row as a value is not supported
SELECT ROW(1, 2);
-- refused: The type uuid is not supported
SELECT 'x'::uuid;
-- refused: is not supported
SELECT nosuchfunction(1);
-- refused: NATURAL JOIN is not supported; use JOIN ... USING
SELECT 1 FROM t NATURAL JOIN u;
-- refused: TABLESAMPLE is not supported; use LIMIT
SELECT 1 FROM t TABLESAMPLE SYSTEM (10);
-- refused: GROUPING SETS, ROLLUP or CUBE is not supported
SELECT a, count(*) FROM t GROUP BY ROLLUP (a);
-- refused: WITH TIES is not supported; compare
SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES;
-- refused: Division by zero
SELECT 1 / 0;
-- refused: Division by zero
SELECT id / 0 FROM t;
-- refused: does not fit
SELECT 2147483647 + a FROM t WHERE a > 0;
-- refused: 'abc' cannot be cast to integer: write a whole number
SELECT 'abc'::integer;
-- refused: cannot be cast
SELECT s::integer FROM t;
-- refused: cannot be compared
SELECT 1 FROM t WHERE s > 3 + a;
-- refused: has to be boolean
SELECT 1 FROM t WHERE a AND c > 0;
-- refused: takes a condition
SELECT 1 FROM t WHERE a;
-- refused: one column
SELECT 1 FROM t WHERE a IN (SELECT a, c FROM t);
-- refused: more than one row
SELECT (SELECT a FROM t);
-- refused: cannot be negative
SELECT a FROM t LIMIT -1;
-- refused: There is a table 't' already
CREATE TABLE t (x integer);
-- refused: only NOT NULL
CREATE TABLE z (x integer DEFAULT 3);
-- refused: only NOT NULL
CREATE TABLE z (x integer CHECK (x > 0));
-- refused: temporary
CREATE TEMP TABLE z (x integer);
-- refused: PARTITION BY
CREATE TABLE z (x integer) PARTITION BY LIST (x);
-- refused: The type xml is not supported
CREATE TABLE z (x xml);
-- refused: There is no index of the kind
CREATE INDEX z ON t USING gin (a);
-- refused: not expressions
CREATE INDEX z ON t ((a + 1));
-- refused: some of the rows
CREATE INDEX z ON t (a) WHERE a > 0;
-- refused: no column 'zzz'
CREATE INDEX z ON t (zzz);
-- refused: RETURNING
DELETE FROM t WHERE id = -1 RETURNING id;
-- refused: ON CONFLICT
INSERT INTO iv VALUES (1, 2, 3, 4) ON CONFLICT DO NOTHING;
-- refused: FROM is not supported here; use subqueries in WHERE
UPDATE t SET a = 1 FROM u WHERE t.id = u.id;
-- refused: USING is not supported here; use WHERE
DELETE FROM t USING u WHERE t.id = u.id;
-- refused: more values
INSERT INTO iv VALUES (1, 2, 3, 4, 5);
-- refused: fewer values
INSERT INTO iv (id, lo) VALUES (1);
-- refused: no column 'zzz'
INSERT INTO iv (zzz) VALUES (1);
-- refused: named twice
INSERT INTO iv (lo, lo) VALUES (1, 2);
-- refused: same number of values
VALUES (1, 2), (3);
-- refused: Savepoints are not supported
SAVEPOINT s;
-- refused: two phases
PREPARE TRANSACTION 'x';
-- refused: VACUUM
VACUUM t;
-- refused: TRUNCATE is not supported; use DELETE FROM
TRUNCATE t;
-- refused: ALTER TABLE is not supported; make another table
ALTER TABLE t ADD COLUMN x integer;
-- refused: CREATE VIEW is not supported; use WITH
CREATE VIEW v AS SELECT 1;
-- refused: SET x is not supported; memory_limit is the only setting
SET x = 1;
-- refused: has to be prepared
SELECT a FROM t WHERE a = $1;
-- refused: EXPLAIN takes
EXPLAIN (BUFFERS) SELECT 1;
-- refused: A schema
SELECT * FROM public.t;
-- refused: There is no table
DROP TABLE nothing;
-- refused: There is no index
DROP INDEX nothing;
-- refused: nested too deeply
SELECT ((((((((1))))))))+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1;
-- refused: An interval cannot stand here
SELECT interval '1 hour';
-- refused: An interval cannot stand here
SELECT ts - TIMESTAMP '2024-01-01' FROM t;
-- refused: An interval cannot stand here
SELECT sum(ts - dt) FROM t;
-- refused: An interval cannot stand here
SELECT count(*) FROM t GROUP BY ts - TIMESTAMP '2024-01-01';
-- refused: numbers with units
SELECT ts + interval '1 fortnight' FROM t;
-- refused: numbers with units
SELECT ts + interval '' FROM t;
-- refused: whole numbers
SELECT ts + interval '1.5 months' FROM t;
-- refused: An interval is a constant
SELECT ts + s::interval FROM t;
-- refused: compared with intervals only
SELECT id FROM t WHERE ts - TIMESTAMP '2024-01-01' > 5;
-- refused: Intervals are added to
SELECT interval '1 hour' % 2;
-- refused: too long
SELECT ts + interval '99999999999999 hours' FROM t;
-- refused: out of range
SELECT ts + interval '50000 years' FROM t;
-- refused: date_bin requires a positive stride without months.
SELECT date_bin(interval '1 month', ts, TIMESTAMP '2024-01-01') FROM t;
-- refused: inside its text
SELECT ts + interval '1 2' day to hour FROM t;
-- refused: only the epoch
SELECT extract(hour from ts - dt) FROM t;
-- refused: fraction of a month
SELECT ts + interval '1 month' / 2 FROM t;
-- refused: too long
SELECT ts + interval '111111111111111111111111111111111111111111111111 hours' FROM t;
-- refused: too long
SELECT ts + interval '1 month' * 1e300 FROM t;
-- refused: There is no table 'trade'; did you mean 'trades'?
SELECT * FROM trade;
-- refused: There is no table 'TRADES'; did you mean 'trades'?
SELECT * FROM "TRADES";
-- refused: There is no table 'trade'; did you mean 'trades'?
INSERT INTO trade VALUES (1);
-- refused: There is no table 'trade'; did you mean 'trades'?
UPDATE trade SET sym = 'a';
-- refused: There is no table 'trade'; did you mean 'trades'?
DELETE FROM trade WHERE sym = 'a';
-- refused: There is no table 'trade'; did you mean 'trades'?
COPY trade FROM 'nothing.csv';
-- refused: There is no table 'trade'; did you mean 'trades'?
COPY trade TO 'nothing.csv';
-- refused: There is no table 'trade'; did you mean 'trades'?
CREATE INDEX nothing ON trade (sym);
-- refused: There is no table 'trade'; did you mean 'trades'?
ANALYZE trade;
-- refused: There is no table 'trade'; did you mean 'trades'?
DROP TABLE trade;
-- refused: There is no table 'TRADES'; did you mean 'trades'?
DROP TABLE "TRADES";
-- refused: The table has no column 'sycm'; did you mean 'sym'?
INSERT INTO trades (sycm) VALUES ('a');
-- refused: The table has no column 'sycm'; did you mean 'sym'?
UPDATE trades SET sycm = 'a';
-- refused: The table has no column 'sycm'; did you mean 'sym'?
CREATE INDEX nothing ON trades (sycm);
-- refused: The table has no column 'sycm'; did you mean 'sym'?
COPY trades (sycm) FROM 'nothing.csv';
-- refused: There is no column 'sycm' here; did you mean 'sym'?
SELECT sycm FROM trades;
-- refused: There is no column 'trades.sym' here; did you mean 'o.sym'?
SELECT trades.sym FROM trades o;
-- refused: There is no column 't.sym' here.
SELECT t.sym FROM t;
-- refused: There is no column 'trade.sym' here; did you mean 'trades.sym'?
SELECT trade.sym FROM trades;
-- refused: There is no column 'day' here; did you mean "Day", with double quotes?
SELECT day FROM (SELECT dt AS "Day" FROM t) AS x;
-- refused: There is no column 'Ada' here; a text takes single quotes: 'Ada'.
SELECT id FROM t WHERE s = "Ada";
-- refused: There is no column 'ada' here.
SELECT id FROM t WHERE s = Ada;
-- refused: The function lenght is not supported; did you mean 'length'?
SELECT lenght(s) FROM t;
-- refused: There is no table 'orders-1.parquet'; a file is read by read_parquet('orders-1.parquet').
SELECT * FROM "orders-1.parquet";
-- refused: In FROM a file is read by read_parquet('orders-1.parquet').
SELECT * FROM 'orders-1.parquet';
-- refused: In FROM a file is read by read_csv('a.csv').
SELECT * FROM t JOIN 'a.csv' ON true;
-- refused: the option is called nullstr
SELECT * FROM read_csv('a.csv', null => 'NA');
-- refused: SHOW is not supported; \d lists tables
SHOW TABLES;
-- refused: GRANT or REVOKE is not supported
GRANT SELECT ON t TO somebody;
-- refused: CURRENT_TIME, CURRENT_USER or a word like them is not supported; write the value as a constant
SELECT current_user;
-- refused: CURRENT_TIME, CURRENT_USER or a word like them is not supported; write the value as a constant
SELECT localtime;
-- refused: is not supported; use date_trunc
SELECT current_timestamp(3);
-- refused: now takes no arguments
SELECT now(1);
-- refused: not an aggregate function
SELECT now(*);
-- refused: ALL with a subquery is not supported; compare with its max or min
SELECT 1 FROM t WHERE a > ALL (SELECT a FROM t);
-- refused: MATERIALIZED is not supported; remove it
WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x;
-- refused: CASCADE is not supported; indexes go
DROP TABLE t CASCADE;
-- refused: A materialized view is not supported
CREATE MATERIALIZED VIEW v AS SELECT 1;
-- refused: '2026-13-01' is not a valid date; write YYYY-MM-DD.
SELECT DATE '2026-13-01';
-- refused: '2026-13-01' is not a valid date; write YYYY-MM-DD.
SELECT id FROM t WHERE dt > '2026-13-01';
-- refused: '2026-01-01 25:00' is not a valid timestamp; write YYYY-MM-DD HH:MM:SS.
SELECT id FROM t WHERE ts > '2026-01-01 25:00';
-- refused: 'a lot' cannot be cast to double precision.
SELECT 'a lot'::double precision;
-- refused: 'a lot' is no number of at most 38 digits.
SELECT 'a lot'::numeric(10,2);
-- refused: timestamp(3) is not supported; write timestamp
SELECT ts::timestamp(3) FROM t;
