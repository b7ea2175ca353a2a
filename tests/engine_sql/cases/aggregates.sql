-- Aggregates, GROUP BY, HAVING, DISTINCT.
SELECT count(*) FROM t;
SELECT count(a), count(b), count(s), count(ok) FROM t;
SELECT count(*), sum(a), min(a), max(a), avg(a) FROM t;
SELECT sum(b), min(b), max(b), avg(b) FROM t;
SELECT sum(c), min(c), max(c), avg(c) FROM t;
SELECT sum(d), min(d), max(d), avg(d) FROM t;
SELECT sum(f), min(f), max(f), avg(f) FROM t;
SELECT sum(n), min(n), max(n), avg(n) FROM t;
SELECT min(s), max(s), min(dt), max(dt), min(ts), max(ts) FROM t;
SELECT count(*), sum(a), min(a), max(s), avg(d) FROM e;
SELECT count(*) FROM t WHERE a = 3;
SELECT count(*) FROM t WHERE a BETWEEN -5 AND 5;
SELECT count(*), count(a), count(n) FROM t WHERE a BETWEEN -5 AND 5;
SELECT sum(n), min(n), max(n), avg(n) FROM t WHERE a BETWEEN -5 AND 5;
SELECT sum(b), sum(d), sum(c) FROM t WHERE a > 10;
SELECT sum(a), avg(a) FROM t WHERE a > 100;
SELECT count(*), sum(a) FROM t WHERE a IS NULL;
SELECT count(*), sum(c) FROM t WHERE a IS NOT NULL;
SELECT count(*) FROM t WHERE a = 3 AND c > 0;
SELECT sum(n) FROM t WHERE a = 3 AND c BETWEEN -100 AND 100;
SELECT count(*) FROM t WHERE a > 3 AND a < 1;
SELECT count(*), min(ts), max(ts) FROM t WHERE dt >= '2024-06-01';
SELECT count(*), sum(n) FROM t WHERE dt BETWEEN '2024-01-01' AND '2024-03-31';
SELECT count(*) FROM t WHERE s LIKE 'app%';
SELECT sum(a) FROM t WHERE s LIKE 'b%';
SELECT count(*) FROM t WHERE s = 'apple';
SELECT sum(a) FROM t WHERE a IN (1, 2, 3);
SELECT sum(a) FROM t WHERE b > 0 AND b < 100000000000;
SELECT sum(a), sum(a) + 1, -sum(a), sum(a) * 2 FROM t;
SELECT count(*) + 1, sum(a + c), sum(a) + sum(c), avg(a * 2) FROM t;
SELECT count(DISTINCT a), count(DISTINCT s), count(DISTINCT ok), count(DISTINCT n) FROM t;
SELECT sum(DISTINCT a), avg(DISTINCT a), min(DISTINCT a), max(DISTINCT a) FROM t;
SELECT count(DISTINCT a) FROM t WHERE c > 0;
SELECT count(DISTINCT a + 1) FROM t;
SELECT a, count(*) FROM t GROUP BY a;
SELECT a, count(*), sum(n), min(s), max(dt), avg(d) FROM t GROUP BY a;
SELECT s, count(*) FROM t GROUP BY s;
SELECT ok, count(*), sum(a) FROM t GROUP BY ok;
SELECT a, ok, count(*) FROM t GROUP BY a, ok;
SELECT a, s, ok, count(*) FROM t GROUP BY a, s, ok;
SELECT dt, count(*) FROM t GROUP BY dt;
SELECT d, count(*) FROM t GROUP BY d;
SELECT n, count(*) FROM t GROUP BY n;
SELECT a % 3, count(*) FROM t GROUP BY a % 3;
SELECT a + 1, count(*) FROM t GROUP BY a + 1;
SELECT a + 1 AS x, count(*) FROM t GROUP BY x;
SELECT a AS x, count(*) FROM t GROUP BY 1;
SELECT extract(month from dt) AS m, sum(n) FROM t GROUP BY m;
SELECT CASE WHEN a > 0 THEN 'p' ELSE 'n' END AS g, count(*) FROM t GROUP BY g;
SELECT a, count(*) FROM t WHERE c > 0 GROUP BY a;
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 20;
SELECT a, sum(c) FROM t GROUP BY a HAVING sum(c) > 0 AND a > 3;
SELECT a FROM t GROUP BY a HAVING min(c) < -290;
SELECT a, count(*) FROM t GROUP BY a HAVING a BETWEEN 3 AND 5;
SELECT count(*) FROM t HAVING count(*) > 10;
SELECT count(*) FROM t HAVING count(*) > 10000;
SELECT sum(a) FROM t HAVING max(a) > 5;
SELECT a, count(DISTINCT s), count(s) FROM t GROUP BY a;
SELECT a, sum(DISTINCT c), count(*) FROM t GROUP BY a;
SELECT count(*) FROM t GROUP BY a;
SELECT count(*) FROM e GROUP BY a;
SELECT a, count(*) FROM e GROUP BY a;
SELECT a * 2, a, count(*) * 2 FROM t GROUP BY a;
SELECT max(a) - min(a), max(d) - min(d) FROM t;
SELECT DISTINCT a FROM t;
SELECT DISTINCT a, ok FROM t;
SELECT DISTINCT s FROM t WHERE a > 0;
SELECT DISTINCT a % 3 FROM t;
SELECT DISTINCT * FROM iv;
SELECT DISTINCT count(*) FROM t GROUP BY a;
SELECT x, count(*) FROM fl GROUP BY x;
SELECT min(x), max(x), count(x), count(DISTINCT x) FROM fl;
SELECT DISTINCT x FROM fl;
SELECT sum(x) FROM fl WHERE x BETWEEN -2 AND 2;
SELECT count(*), sum(i) FROM fl WHERE x >= 0;
SELECT avg(a), avg(n) FROM t WHERE a = 3 GROUP BY ok;
SELECT ok, avg(a) FROM t GROUP BY ok HAVING ok IS NOT NULL;
-- Sums of floats are the exact sum, rounded once: an index, which has the rows in another order, gives the same bits.
CREATE TABLE addends (id integer, g integer, d double precision, f real);
INSERT INTO addends VALUES (1, 1, 1e16, 1e16), (2, 1, 1, 1), (3, 1, -1e16, -1e16), (4, 2, 1e300, 0.5), (5, 2, 1, 0.25), (6, 2, -1e300, 3);
INSERT INTO addends VALUES (7, 3, 'inf', 'inf'), (8, 3, 1, 1), (9, 4, 'inf', 1), (10, 4, '-inf', 1), (11, 5, 'NaN', 1), (12, 6, 1.7e308, 1), (13, 6, 1.7e308, 1), (14, 6, -1.7e308, 1);
CREATE INDEX addends_id ON addends (id);
CREATE INDEX addends_d ON addends (d);
-- duckdb: SELECT 1.0::double, 1.0::double / 3, 1.0::double
SELECT sum(d), avg(d), sum(f) FROM addends WHERE id BETWEEN 1 AND 3;
-- duckdb: SELECT 2.0::double, 2.0::double / 6
SELECT sum(d), avg(d) FROM addends WHERE id BETWEEN 1 AND 6;
-- duckdb: SELECT 1.0::double
SELECT sum(d) FROM addends WHERE id >= 4 AND id < 7;
-- duckdb: SELECT 1.7e308::double, 'inf'::double
SELECT sum(d), sum(f) * 1.7e308 FROM addends WHERE id >= 12;
-- duckdb: SELECT * FROM (VALUES (1, 1.0::double), (2, 1), (3, 'inf'), (4, 'nan'), (5, 'nan'), (6, 1.7e308)) t
SELECT g, sum(d) FROM addends GROUP BY g;
-- duckdb: SELECT 'inf'::double
SELECT sum(d) FROM addends WHERE id BETWEEN 1 AND 8;
-- duckdb: SELECT 'nan'::double
SELECT sum(d) FROM addends WHERE id >= 1;
INSERT INTO addends VALUES (20, 7, 0.1, 1), (21, 7, 1e15, 1), (22, 7, 0.1, 1), (23, 7, -1e15, 1), (24, 7, 1e-300, 1);
-- duckdb: SELECT 0.2::double, 0.2::double / 5
SELECT sum(d), avg(d) FROM addends WHERE id BETWEEN 20 AND 24;
-- duckdb: SELECT 0.2::double
SELECT sum(d) FROM addends WHERE d BETWEEN -1e15 AND 1e15 AND d <> 1;
DROP TABLE addends;
CREATE TABLE wide (i integer, x numeric(38,0));
INSERT INTO wide VALUES (1, 99999999999999999999999999999999999999), (2, 99999999999999999999999999999999999999), (3, -99999999999999999999999999999999999999), (4, 7);
CREATE INDEX wide_i ON wide (i);
-- refused: more than 38 digits
SELECT avg(x) FROM wide WHERE i <= 2;
-- refused: more than 38 digits
SELECT sum(x) FROM wide WHERE i <= 2;
-- duckdb: SELECT 99999999999999999999999999999999999999::numeric(38,0), 1e38::double / 3
SELECT sum(x), avg(x) FROM wide WHERE i <= 3;
-- duckdb: SELECT 7, 7::double
SELECT sum(x), avg(x) FROM wide WHERE i >= 4;
DROP TABLE wide;
