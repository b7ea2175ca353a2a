-- Subqueries in FROM, IN, EXISTS, scalar ones, WITH, UNION.
SELECT x FROM (SELECT a AS x FROM t WHERE c > 0) AS q WHERE x > 5;
SELECT q.x, q.k FROM (SELECT a AS x, count(*) AS k FROM t GROUP BY a) AS q WHERE q.k > 20;
SELECT max(k) FROM (SELECT count(*) AS k FROM t GROUP BY a) AS q;
SELECT x + y FROM (SELECT a, c FROM t) AS q(x, y);
SELECT * FROM (SELECT a, a FROM t WHERE id < 5) AS q(x, y);
SELECT count(*) FROM (SELECT DISTINCT a, ok FROM t) AS q;
SELECT q.a, r.k FROM (SELECT a FROM t WHERE id < 50) q JOIN (SELECT w, count(*) AS k FROM u GROUP BY w) r ON q.a = r.w;
SELECT id FROM t WHERE id IN (SELECT t_id FROM u);
SELECT id FROM t WHERE id NOT IN (SELECT t_id FROM u WHERE t_id IS NOT NULL);
SELECT id FROM t WHERE id NOT IN (SELECT t_id FROM u);
SELECT id FROM t WHERE id IN (SELECT t_id FROM u WHERE w > 15);
SELECT id FROM t WHERE id NOT IN (SELECT t_id FROM u WHERE false);
SELECT id FROM t WHERE a NOT IN (SELECT w FROM u WHERE w > 100);
SELECT id FROM t WHERE a IN (SELECT w FROM u WHERE k = 'a');
SELECT id FROM t WHERE s IN (SELECT k FROM u);
SELECT id FROM t WHERE c IN (SELECT w FROM u);
SELECT id FROM t WHERE a IN (SELECT w FROM u) AND c > 0;
SELECT id FROM t WHERE a IN (SELECT w FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE (a IN (SELECT w FROM u WHERE w > 10)) IS NOT TRUE;
SELECT id FROM t WHERE a = 3 OR a IN (SELECT w FROM u WHERE w > 18);
SELECT id, a IN (SELECT w FROM u WHERE w > 10) FROM t;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.w > t.a);
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.t_id = t.id AND u.w > 0) AND a > 0;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.w > 100);
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.w > 10) AND id < 10;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM iv WHERE t.a BETWEEN iv.lo AND iv.hi);
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM iv WHERE t.a BETWEEN iv.lo AND iv.hi AND iv.grp = 2);
SELECT id FROM t WHERE a = (SELECT max(a) FROM t);
SELECT id FROM t WHERE d > (SELECT avg(d) FROM t WHERE a > 0);
SELECT id FROM t WHERE a > (SELECT min(w) FROM u) + 30;
SELECT id FROM t WHERE a = (SELECT a FROM t WHERE id = 12345);
SELECT count(*) FROM t WHERE id IN (SELECT t_id FROM u WHERE k IN (SELECT k FROM u WHERE w = 3));
WITH x AS (SELECT a, count(*) AS k FROM t GROUP BY a) SELECT a FROM x WHERE k > 20;
WITH x AS (SELECT a FROM t WHERE c > 0), y AS (SELECT a FROM x WHERE a > 3) SELECT count(*) FROM y;
WITH x(p, q) AS (SELECT id, a FROM t WHERE id < 20) SELECT l.p, r.p FROM x l JOIN x r ON l.q = r.q;
SELECT a FROM t WHERE id < 10 UNION ALL SELECT w FROM u WHERE id < 10;
SELECT a FROM t UNION SELECT w FROM u;
SELECT a, 'x' FROM t WHERE id < 5 UNION ALL SELECT c, s FROM t WHERE id < 5;
SELECT count(*) FROM (SELECT a FROM t UNION SELECT c FROM t) AS q;
-- ordered
SELECT a AS x FROM t WHERE id < 5 UNION ALL SELECT id FROM u WHERE id < 5 ORDER BY x NULLS LAST LIMIT 7;
SELECT n FROM t WHERE id < 9 UNION ALL SELECT w FROM u WHERE id < 9 UNION ALL SELECT v FROM u WHERE id < 3;
VALUES (1, 'a', 1.5), (2, NULL, 2), (NULL, 'c', NULL);
SELECT x * 2 FROM (VALUES (1), (2), (2.5)) AS v(x);
SELECT t.id, v.y FROM t JOIN (VALUES (1, 'one'), (3, 'three')) AS v(x, y) ON t.a = v.x;
SELECT id FROM t WHERE a IN (VALUES (1), (2));
SELECT x.id, y.w FROM (SELECT * FROM t WHERE id < 30) x, LATERAL (SELECT w FROM u WHERE u.t_id = x.id) y;
SELECT x.id, y.w FROM (SELECT * FROM t WHERE id < 30) x LEFT JOIN LATERAL (SELECT w FROM u WHERE u.t_id = x.id AND w > 0) y ON true;
-- WITH: errors in a query that is not used, a name twice, names of columns.
-- refused: There is no table 'nothing'
WITH c AS (SELECT nosuch FROM nothing) SELECT 1;
-- refused: There is no column 'nosuch'
WITH c AS (SELECT nosuch FROM t) SELECT 1;
-- refused: There is no column 'nosuch'
WITH c AS (SELECT a FROM t), d AS (SELECT nosuch FROM c) SELECT 1;
-- refused: 'a' is specified more than once
WITH a AS (SELECT 1 x), a AS (SELECT 2 x) SELECT * FROM a;
WITH c AS (SELECT a FROM t), d AS (SELECT a FROM c) SELECT 1;
WITH a AS (SELECT 1 x), b AS (WITH a AS (SELECT 2 x) SELECT * FROM a) SELECT a.x, b.x FROM a, b;
WITH x(a, b) AS (SELECT 1, 2) SELECT b FROM x AS y(c);
WITH x(a, b) AS (SELECT 1, 2, 3 AS k) SELECT * FROM x AS y(c);
WITH x(a, b) AS (SELECT 1, 2, 3 AS k) SELECT c, b, k FROM x AS y(c);
-- refused: fewer than the names given
WITH x(a) AS (SELECT 1, 2) SELECT * FROM x AS y(c, d, e);
