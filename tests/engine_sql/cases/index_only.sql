-- Columns that an index has: read from it, in its order, grouped by it.
SELECT a FROM t WHERE a BETWEEN 3 AND 7;
SELECT a FROM t WHERE a > 15;
SELECT a FROM t WHERE a IS NULL;
SELECT a, c FROM t WHERE a = 3 AND c > 0;
SELECT a, c FROM t WHERE a = 3 AND c % 2 = 0;
SELECT c, a FROM t WHERE a IN (1, 5, 9);
SELECT b FROM t WHERE b < 0;
SELECT s FROM t WHERE s LIKE 'ap%';
SELECT s FROM t WHERE s BETWEEN 'b' AND 'd';
SELECT s, a FROM t WHERE s = 'apple';
SELECT s, a FROM t WHERE s LIKE 'b%' AND a > 0;
SELECT n FROM t WHERE n BETWEEN -500 AND 500;
SELECT dt FROM t WHERE dt >= DATE '2024-03-01';
SELECT ts FROM t WHERE ts < TIMESTAMP '2024-02-01';
SELECT d FROM t WHERE d BETWEEN -5 AND 5;
SELECT x FROM fl WHERE x <= 0;
SELECT a + 1, a * 2 FROM t WHERE a >= 0;
SELECT u.t_id FROM u WHERE u.t_id < 50;
SELECT sym, ts FROM quotes WHERE sym = 'AA';
SELECT sym, ts FROM quotes WHERE sym = 'BB' AND ts > TIMESTAMP '2024-01-01 00:30:00';
-- ordered
SELECT a FROM t ORDER BY a;
-- ordered
SELECT a FROM t ORDER BY a DESC NULLS FIRST;
-- ordered
SELECT a FROM t ORDER BY a DESC NULLS FIRST LIMIT 9;
-- ordered
SELECT a FROM t WHERE a < 3 ORDER BY a LIMIT 12 OFFSET 3;
-- ordered
SELECT a, c FROM t ORDER BY a, c;
-- ordered
SELECT a, c FROM t ORDER BY a DESC NULLS FIRST, c DESC NULLS FIRST LIMIT 40;
-- ordered
SELECT a, c FROM t WHERE a = 4 AND c <> 7 ORDER BY c LIMIT 5;
-- ordered
SELECT s FROM t ORDER BY s;
-- ordered
SELECT s FROM t ORDER BY s DESC NULLS FIRST LIMIT 20;
-- ordered
SELECT sym, ts FROM quotes ORDER BY sym, ts LIMIT 33;
SELECT DISTINCT a FROM t;
SELECT DISTINCT a FROM t WHERE a > 0;
SELECT DISTINCT a, c FROM t;
SELECT DISTINCT c, a FROM t WHERE a BETWEEN 0 AND 3;
SELECT DISTINCT s FROM t;
SELECT DISTINCT sym FROM quotes;
SELECT a, count(*) FROM t GROUP BY a;
SELECT a, count(a), sum(a), min(a), max(a), avg(a) FROM t GROUP BY a;
SELECT a, count(*), sum(c), min(c), max(c) FROM t GROUP BY a;
SELECT a, c, count(*) FROM t GROUP BY a, c;
SELECT c, a, count(*) FROM t GROUP BY c, a;
SELECT s, count(*) FROM t WHERE s LIKE 'a%' GROUP BY s;
SELECT s, min(a), count(DISTINCT a) FROM t GROUP BY s;
SELECT sym, min(ts), max(ts) FROM quotes GROUP BY sym;
SELECT a, count(*) FROM t WHERE a BETWEEN -3 AND 3 GROUP BY a HAVING count(*) > 20;
-- ordered
SELECT a, count(*) FROM t GROUP BY a ORDER BY a NULLS LAST LIMIT 7;
SELECT count(*) FROM (SELECT DISTINCT a FROM t) q;
SELECT x.a, y.n FROM (SELECT a FROM t WHERE a > 10) x JOIN (SELECT w, count(*) AS n FROM u GROUP BY w) y ON x.a = y.w;
SELECT a FROM e;
SELECT DISTINCT a FROM e;
-- Grouping and sorting where no index helps: many groups, keys of several columns, NULLs.
SELECT c, count(*), sum(b) FROM t GROUP BY c;
SELECT n, count(*) FROM t GROUP BY n;
SELECT n, c, s, count(*) FROM t GROUP BY n, c, s;
SELECT b, d, count(*), max(s) FROM t GROUP BY b, d;
SELECT ok, a, dt, count(*), avg(d) FROM t GROUP BY ok, a, dt;
SELECT x, count(*) FROM fl GROUP BY x;
SELECT count(DISTINCT n), count(DISTINCT b), count(DISTINCT d), count(DISTINCT ts) FROM t;
SELECT a, count(DISTINCT n), sum(DISTINCT c) FROM t GROUP BY a;
SELECT min(b), max(b), min(n), max(n), min(ts), max(dt), min(s), max(d), min(f) FROM t;
SELECT c, min(b), max(n), min(ts), max(dt), min(d) FROM t GROUP BY c;
