-- Scalar subqueries that name columns of the query around them.
SELECT id FROM t WHERE a > (SELECT min(w) FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE a = (SELECT max(w) FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE d > (SELECT avg(d) FROM t x WHERE x.a = t.a);
SELECT id FROM t WHERE c * 2 < (SELECT 0.2 * avg(x.c) FROM t x WHERE x.a = t.a) AND id < 500;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT count(w) FROM u WHERE u.t_id = t.id AND u.w > 5) FROM t;
SELECT id, (SELECT count(*) + 1 FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT sum(w) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT coalesce(sum(w), -1) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT max(k) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT min(w) FROM u WHERE u.w > t.a) FROM t WHERE id < 100;
SELECT id, (SELECT count(*) FROM u WHERE u.w > t.a AND u.t_id < t.id) FROM t WHERE id < 100;
SELECT id, (SELECT sum(u.w + t.a) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT sum(u.w) + t.a FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id AND t.a > 3) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE t.a > 3) FROM t;
SELECT id, (SELECT t.a) FROM t;
SELECT id, (SELECT t.a + 1 WHERE t.a > 3) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id + 1 = t.id) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE false AND u.t_id = t.id) FROM t;
SELECT id, (SELECT max(w) FROM u WHERE u.t_id = t.id HAVING count(*) > 1) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id HAVING count(*) < 1) FROM t;
SELECT id, (SELECT count(DISTINCT k) FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, (SELECT max(w) FROM u WHERE u.t_id = t.id LIMIT 1) FROM t;
SELECT id, (SELECT x.a FROM t x WHERE x.id = t.id) FROM t;
SELECT id, (SELECT x.a + t.c FROM t x WHERE x.id = t.id + 1) FROM t;
SELECT id, (SELECT 5 FROM t x WHERE x.id = t.id AND x.a > 3) FROM t;
SELECT id, (SELECT DISTINCT x.a FROM t x WHERE x.a = t.a) FROM t;
SELECT id, (SELECT x.a FROM t x WHERE x.a = t.a GROUP BY x.a) FROM t;
SELECT id, (SELECT count(*) FROM t x WHERE x.a = t.a GROUP BY x.a HAVING count(*) > 10) FROM t;
SELECT id, (SELECT w FROM u WHERE u.t_id = t.id ORDER BY w DESC, u.id LIMIT 1) FROM t;
SELECT id, (SELECT w FROM u WHERE u.t_id = t.id ORDER BY w NULLS FIRST, u.id LIMIT 1 OFFSET 1) FROM t;
SELECT id, (SELECT u.id FROM u WHERE u.w > t.a ORDER BY u.w, u.id LIMIT 1) FROM t WHERE id < 200;
SELECT id, (SELECT u.id FROM u ORDER BY abs(u.w - t.a), u.id LIMIT 1) FROM t WHERE id < 200;
-- refused: returned more than one row
SELECT id, (SELECT x.id FROM t x WHERE x.a = t.a) FROM t;
-- refused: returned more than one row
SELECT (SELECT a FROM t);
-- duckdb: SELECT id, NULL FROM t
SELECT id, CASE WHEN id < 0 THEN (SELECT x.id FROM t x WHERE x.a = t.a) END FROM t;
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.t_id = t.id) BETWEEN 1 AND 2;
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.t_id = t.id) = 0 OR a > 5;
SELECT id FROM t WHERE a = 3 OR EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE a = 3 OR NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.w > t.a);
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.w > t.a LIMIT 1) FROM t WHERE id < 100;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.w > t.a ORDER BY w LIMIT 1);
SELECT id FROM t WHERE a NOT IN (SELECT w FROM u WHERE u.t_id = t.id);
SELECT id FROM t WHERE a NOT IN (SELECT w FROM u WHERE u.t_id < t.id AND w IS NOT NULL) AND id < 50;
SELECT id, a IN (SELECT w FROM u WHERE u.t_id = t.id) FROM t;
SELECT id, a NOT IN (SELECT w FROM u WHERE u.t_id > t.id) FROM t WHERE id < 60;
SELECT id FROM t WHERE a IN (SELECT w FROM u WHERE u.t_id = t.id GROUP BY w HAVING count(*) > 0);
SELECT id FROM t WHERE a IN (SELECT w FROM u WHERE w > (SELECT avg(x.w) FROM u x WHERE x.k = u.k));
SELECT id FROM t WHERE id IN (SELECT t_id FROM u WHERE u.w > (SELECT 0.5 * sum(x.w) FROM u x WHERE x.t_id = u.t_id AND x.k = u.k));
SELECT a, (SELECT count(*) FROM u WHERE u.w = t.a) FROM t GROUP BY a;
SELECT a, sum((SELECT count(*) FROM u WHERE u.t_id = t.id)) FROM t GROUP BY a;
SELECT sum((SELECT max(w) FROM u WHERE u.t_id = t.id)) FROM t;
SELECT a FROM t GROUP BY a HAVING count(*) > (SELECT count(*) FROM u WHERE u.w = t.a);
-- ordered
SELECT id FROM t ORDER BY (SELECT count(*) FROM u WHERE u.t_id = t.id) DESC, id LIMIT 20;
-- ordered
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id) AS n FROM t ORDER BY n DESC, id LIMIT 20;
SELECT q.id, (SELECT count(*) FROM u WHERE u.t_id = q.id) FROM (SELECT id FROM t WHERE a > 3) q;
SELECT t.id, v.id FROM t JOIN u v ON v.t_id = t.id WHERE v.w = (SELECT max(x.w) FROM u x WHERE x.t_id = t.id);
SELECT count(*) FROM t, u WHERE u.t_id = t.id AND u.w < (SELECT avg(x.w) FROM u x WHERE x.k = u.k AND x.t_id < t.id);
-- Columns two and three query levels up.
SELECT id FROM t WHERE a > (SELECT min(w) FROM u WHERE u.t_id = t.id AND u.w > (SELECT min(lo) FROM iv WHERE iv.grp = t.a));
SELECT g.grp FROM (SELECT DISTINCT grp FROM iv) g WHERE NOT EXISTS (SELECT 1 FROM (SELECT DISTINCT w FROM u WHERE w > 14) c WHERE NOT EXISTS (SELECT 1 FROM iv WHERE iv.grp = g.grp AND iv.lo = c.w));
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = u.w AND iv.grp = t.a % 5));
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND NOT EXISTS (SELECT 1 FROM iv WHERE iv.lo = u.w AND iv.grp = t.a % 5));
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = u.w AND iv.grp = t.a % 5));
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND NOT EXISTS (SELECT 1 FROM iv WHERE iv.lo = u.w AND iv.grp = t.a % 5));
SELECT id FROM t WHERE a IN (SELECT w FROM u WHERE u.t_id = t.id AND u.w IN (SELECT lo FROM iv WHERE iv.grp = t.c % 5));
SELECT id FROM t WHERE a NOT IN (SELECT w FROM u WHERE u.t_id = t.id AND u.w NOT IN (SELECT lo FROM iv WHERE iv.grp = t.c % 5));
SELECT id, a NOT IN (SELECT w FROM u WHERE u.t_id = t.id AND u.w <> (SELECT max(lo) FROM iv WHERE iv.grp = t.c % 5)) FROM t;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo > u.w AND iv.hi < t.a AND iv.id < 50)) FROM t;
SELECT id, (SELECT sum(w) FROM u WHERE u.t_id = t.id AND u.w > (SELECT avg(lo) FROM iv WHERE iv.grp = t.a)) FROM t;
SELECT id, (SELECT u.k FROM u WHERE u.t_id = t.id AND u.id = (SELECT min(x.id) FROM u x WHERE x.t_id = t.id AND x.w <> t.a)) FROM t;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = t.a));
SELECT id FROM t WHERE id < 100 AND EXISTS (SELECT 1 FROM iv WHERE iv.id < 40 AND lo > 0 AND EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.w > iv.lo));
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND (u.w > 10 OR EXISTS (SELECT 1 FROM iv WHERE iv.lo = t.a AND iv.grp = 1)));
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = u.w AND EXISTS (SELECT 1 FROM u x WHERE x.t_id = t.id AND x.w > iv.hi)));
SELECT id FROM t WHERE id < 200 AND (SELECT count(*) FROM u WHERE u.t_id = t.id AND (SELECT count(*) FROM iv WHERE iv.lo = u.w AND (SELECT max(x.w) FROM u x WHERE x.t_id = t.id AND x.k = u.k) >= iv.hi) > 0) = 1;
-- refused: two or more query levels up
SELECT id, (SELECT max(w + (SELECT count(*) FROM iv WHERE iv.lo = t.a)) FROM u WHERE u.t_id = t.id) FROM t;
-- refused: two or more query levels up
SELECT t.id, q.id FROM t, LATERAL (SELECT u.id FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = t.a AND iv.hi > u.w)) q;
-- refused: Unsupported correlated subquery
SELECT id FROM t WHERE EXISTS (SELECT k FROM u WHERE u.t_id = t.id AND EXISTS (SELECT 1 FROM iv WHERE iv.lo = t.a AND iv.hi > u.w) GROUP BY k HAVING count(*) > 1);
-- OFFSET and LIMIT that leave no row for some outer rows.
SELECT t.id, q.uid, q.k FROM t LEFT JOIN LATERAL (SELECT u.id AS uid, u.k, 7 AS seven FROM u WHERE u.t_id = t.id AND u.w < t.a ORDER BY u.w, u.id LIMIT 2 OFFSET 1) q ON true;
SELECT t.id, q.uid, q.seven FROM t LEFT JOIN LATERAL (SELECT u.id AS uid, 7 AS seven FROM u WHERE u.t_id = t.id AND u.w < t.a ORDER BY u.w, u.id LIMIT 0) q ON true;
SELECT t.id, q.uid FROM t LEFT JOIN LATERAL (SELECT u.id AS uid FROM u WHERE u.w > t.a ORDER BY u.w, u.id OFFSET 500) q ON true WHERE t.id < 200;
SELECT t.id, q.uid FROM t JOIN LATERAL (SELECT u.id AS uid FROM u WHERE u.t_id = t.id AND u.w < t.a ORDER BY u.w, u.id LIMIT 2 OFFSET 1) q ON true;
SELECT id, (SELECT u.id FROM u WHERE u.w > t.a AND u.t_id < t.id ORDER BY u.w, u.id LIMIT 1 OFFSET 3) AS fourth FROM t;
SELECT id, (SELECT u.id FROM u WHERE u.w > t.a ORDER BY u.w, u.id LIMIT 0) AS none FROM t WHERE id < 50;
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.w > t.a AND u.t_id < t.id OFFSET 30) AS e FROM t WHERE id < 200;
-- LATERAL: aggregates, limits, outer columns in the SELECT list.
SELECT t.id, q.n, q.m FROM t, LATERAL (SELECT count(*) AS n, max(w) AS m FROM u WHERE u.t_id = t.id) q;
SELECT t.id, q.n FROM t LEFT JOIN LATERAL (SELECT count(*) AS n FROM u WHERE u.t_id = t.id AND u.w > t.a) q ON true;
SELECT t.id, q.z FROM t, LATERAL (SELECT t.a + u.w AS z FROM u WHERE u.t_id = t.id) q;
SELECT t.id, q.z FROM t LEFT JOIN LATERAL (SELECT coalesce(u.w, 7) + 1 AS z FROM u WHERE u.t_id = t.id AND u.w > t.a) q ON true;
SELECT t.id, q.z FROM t LEFT JOIN LATERAL (SELECT t.id AS z FROM u WHERE u.t_id = t.id) q ON true;
SELECT t.id, q.x FROM t, LATERAL (SELECT t.a * 2 AS x) q;
SELECT t.id, q.uid FROM t, LATERAL (SELECT u.id AS uid FROM u WHERE u.t_id = t.id ORDER BY w DESC, u.id LIMIT 2) q;
SELECT t.id, q.uid FROM t LEFT JOIN LATERAL (SELECT u.id AS uid FROM u WHERE u.t_id = t.id ORDER BY w DESC, u.id LIMIT 2) q ON true;
SELECT t.id, q.uid FROM t LEFT JOIN LATERAL (SELECT u.id AS uid FROM u WHERE u.t_id = t.id ORDER BY w, u.id LIMIT 1 OFFSET 1) q ON true;
SELECT t.id, q.uid, q.w FROM t LEFT JOIN LATERAL (SELECT u.id AS uid, u.w FROM u WHERE u.w <= t.a ORDER BY u.w DESC, u.id LIMIT 3) q ON true WHERE t.id < 100;
SELECT t.id, q.uid FROM t JOIN LATERAL (SELECT u.id AS uid FROM u ORDER BY abs(u.w - t.a), u.id LIMIT 2) q ON true WHERE t.id < 100;
SELECT g.a, q.id FROM (SELECT DISTINCT a FROM t) g, LATERAL (SELECT id FROM t WHERE t.a = g.a ORDER BY c DESC NULLS LAST, id LIMIT 3) q;
SELECT g.a, q.n FROM (SELECT DISTINCT a FROM t) g, LATERAL (SELECT s, count(*) AS n FROM t WHERE t.a = g.a GROUP BY s) q;
SELECT t.id, q.s FROM t, LATERAL (SELECT DISTINCT k AS s FROM u WHERE u.t_id = t.id) q;
