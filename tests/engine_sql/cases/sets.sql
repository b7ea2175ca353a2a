-- EXCEPT, INTERSECT, DISTINCT ON, generate_series.
SELECT a FROM t EXCEPT SELECT w FROM u;
SELECT a FROM t EXCEPT ALL SELECT w FROM u;
SELECT a FROM t INTERSECT SELECT w FROM u;
SELECT a FROM t INTERSECT ALL SELECT w FROM u;
SELECT a, ok FROM t EXCEPT SELECT w, true FROM u;
SELECT a, s FROM t EXCEPT ALL SELECT a, s FROM t WHERE id > 100;
SELECT a, s, dt FROM t INTERSECT SELECT a, s, dt FROM t WHERE c > 0;
SELECT NULL EXCEPT SELECT NULL;
SELECT a FROM t EXCEPT SELECT a FROM t WHERE false;
SELECT a FROM t WHERE false EXCEPT SELECT a FROM t;
SELECT a FROM t WHERE false INTERSECT ALL SELECT a FROM t;
SELECT a FROM t EXCEPT SELECT c FROM t UNION SELECT 100;
SELECT a FROM t UNION SELECT c FROM t INTERSECT SELECT w FROM u;
(SELECT a FROM t UNION ALL SELECT a FROM t) EXCEPT ALL SELECT a FROM t;
SELECT count(*) FROM (SELECT d FROM t EXCEPT SELECT f FROM t) q;
SELECT * FROM fl EXCEPT SELECT * FROM fl WHERE false;
-- ordered
SELECT a FROM t EXCEPT SELECT w FROM u ORDER BY a NULLS LAST LIMIT 5;
SELECT id FROM t WHERE a IN (SELECT w FROM u EXCEPT SELECT grp FROM iv);
-- refused: number of columns
SELECT a, c FROM t EXCEPT SELECT a FROM t;
-- ordered
SELECT DISTINCT ON (a) a, id, c FROM t ORDER BY a NULLS LAST, c DESC NULLS LAST, id;
-- ordered
SELECT DISTINCT ON (a, ok) a, ok, id FROM t ORDER BY a NULLS LAST, ok NULLS LAST, id DESC;
-- ordered
SELECT DISTINCT ON (1) a + 1, id FROM t ORDER BY 1 NULLS LAST, id LIMIT 7;
-- ordered
SELECT DISTINCT ON (a) id FROM t WHERE c > 0 ORDER BY a NULLS LAST, d NULLS LAST, id OFFSET 2;
SELECT count(*) FROM (SELECT DISTINCT ON (a) a, c FROM t) q;
-- ordered
SELECT DISTINCT ON (a) a, count(*) FROM t GROUP BY a, ok ORDER BY a NULLS LAST, count(*) DESC, 2;
-- refused: DISTINCT ON have to be the first
SELECT DISTINCT ON (a) a, c FROM t ORDER BY c;
-- A series of integers is integer; DuckDB's is bigint.
-- duckdb: SELECT generate_series::integer AS generate_series FROM generate_series(1, 10)
SELECT * FROM generate_series(1, 10);
-- duckdb: SELECT g::integer AS g FROM generate_series(1, 10, 3) AS q(g)
SELECT g FROM generate_series(1, 10, 3) AS g;
-- duckdb: SELECT x::integer * 2 FROM generate_series(10, 1, -4) AS g(x)
SELECT x * 2 FROM generate_series(10, 1, -4) AS g(x);
SELECT count(*), sum(x) FROM generate_series(1, 100000) AS g(x);
-- duckdb: SELECT x::integer AS x FROM generate_series(5, 1) AS g(x)
SELECT x FROM generate_series(5, 1) AS g(x);
-- duckdb: SELECT x::integer AS x FROM generate_series(1, NULL) AS g(x)
SELECT x FROM generate_series(1, NULL) AS g(x);
SELECT x FROM generate_series(9223372036854775800, 9223372036854775807, 3) AS g(x);
SELECT x FROM generate_series(timestamp '2024-01-30', timestamp '2024-02-02', interval '6 hours') AS g(x);
-- duckdb: VALUES (timestamp '2024-01-31'), (timestamp '2024-02-29'), (timestamp '2024-03-29'), (timestamp '2024-04-29')
SELECT x FROM generate_series(timestamp '2024-01-31', timestamp '2024-05-01', interval '1 month') AS g(x);
SELECT x FROM generate_series('2024-03-01'::timestamp, '2024-01-01', interval '-1 week') AS g(x);
-- duckdb: SELECT g.x::integer AS x, count(t.id) FROM generate_series(-5, 5) AS g(x) LEFT JOIN t ON t.a = g.x GROUP BY g.x
SELECT g.x, count(t.id) FROM generate_series(-5, 5) AS g(x) LEFT JOIN t ON t.a = g.x GROUP BY g.x;
-- refused: cannot be 0
SELECT * FROM generate_series(1, 10, 0);
-- refused: cannot be 0
SELECT * FROM generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval '0 days');
-- refused: takes integers, or timestamps
SELECT * FROM generate_series(1.5, 3);
-- refused: 67 million rows
SELECT * FROM generate_series(1, 1000000000);
