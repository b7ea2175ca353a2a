-- ORDER BY, LIMIT, OFFSET; "ordered": the order is total and compared.
-- ordered
SELECT id FROM t ORDER BY id;
-- ordered
SELECT id FROM t ORDER BY id DESC;
-- ordered
SELECT id FROM t ORDER BY id LIMIT 10;
-- ordered
SELECT id FROM t ORDER BY id DESC LIMIT 10;
-- ordered
SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 5;
-- ordered
SELECT id FROM t ORDER BY id OFFSET 890;
-- ordered
SELECT id FROM t WHERE c > 0 ORDER BY id LIMIT 4611686018427387904;
-- ordered
SELECT id FROM t WHERE c > 295 ORDER BY id LIMIT 20;
-- ordered
SELECT id FROM t ORDER BY id LIMIT 0;
-- ordered
SELECT id FROM t ORDER BY id LIMIT 5 OFFSET 10000;
-- ordered
SELECT id, a FROM t ORDER BY a NULLS LAST, id;
-- ordered
SELECT id, a FROM t ORDER BY a NULLS FIRST, id;
-- ordered
SELECT id, a FROM t ORDER BY a DESC NULLS LAST, id;
-- ordered
SELECT id, a FROM t ORDER BY a DESC NULLS FIRST, id DESC;
-- ordered
SELECT id, s FROM t ORDER BY s NULLS LAST, id;
-- ordered
SELECT id, n FROM t ORDER BY n DESC NULLS FIRST, id LIMIT 20;
-- ordered
SELECT id, d, f FROM t ORDER BY f NULLS LAST, d NULLS LAST, id;
-- ordered
SELECT id, ts FROM t ORDER BY ts NULLS LAST, id LIMIT 30;
-- ordered
SELECT id, dt FROM t WHERE a > 0 ORDER BY dt DESC NULLS FIRST, id LIMIT 15;
-- ordered
SELECT a FROM t ORDER BY a NULLS LAST LIMIT 200;
-- ordered
SELECT a FROM t ORDER BY a DESC NULLS FIRST LIMIT 200;
-- ordered
SELECT a FROM t WHERE a > 3 ORDER BY a NULLS LAST LIMIT 50;
-- ordered
SELECT a FROM t WHERE a > 3 AND c > 0 ORDER BY a DESC NULLS FIRST LIMIT 50;
-- ordered
SELECT b FROM t WHERE b BETWEEN -100000000000 AND 100000000000 ORDER BY b NULLS LAST;
-- ordered
SELECT b FROM t ORDER BY b NULLS LAST LIMIT 7 OFFSET 3;
-- ordered
SELECT a, c FROM t ORDER BY a NULLS LAST, c NULLS LAST LIMIT 40;
-- ordered
SELECT a, c FROM t WHERE a = 3 ORDER BY c NULLS LAST;
-- ordered
SELECT a, c FROM t WHERE a = 3 ORDER BY c DESC NULLS FIRST LIMIT 5;
-- ordered
SELECT s FROM t WHERE s LIKE 'app%' ORDER BY s NULLS LAST LIMIT 10;
-- ordered
SELECT x FROM fl ORDER BY x NULLS LAST;
-- ordered
SELECT x FROM fl ORDER BY x DESC NULLS FIRST;
-- ordered
SELECT a, count(*) AS k FROM t GROUP BY a ORDER BY k DESC, a NULLS LAST;
-- ordered
SELECT a, sum(c) FROM t GROUP BY a ORDER BY sum(c) NULLS LAST, a NULLS LAST LIMIT 5;
-- ordered
SELECT DISTINCT a FROM t ORDER BY a NULLS LAST;
-- ordered
SELECT DISTINCT a, ok FROM t ORDER BY a DESC NULLS LAST, ok NULLS FIRST LIMIT 9;
-- ordered
SELECT id, a + c AS x FROM t ORDER BY x NULLS LAST, id;
-- ordered
SELECT id FROM t ORDER BY a + c NULLS LAST, id;
-- ordered
SELECT id, -a FROM t ORDER BY 2 NULLS LAST, 1 LIMIT 30;
-- ordered
SELECT id AS x FROM t ORDER BY x LIMIT 3;
-- ordered
SELECT t.id FROM t ORDER BY t.a NULLS LAST, t.id LIMIT 12;
-- ordered
SELECT id FROM t ORDER BY length(s) DESC NULLS LAST, id LIMIT 20;
-- ordered
SELECT id FROM t ORDER BY CASE WHEN a > 0 THEN 0 ELSE 1 END, id LIMIT 20;
-- ordered
SELECT max(a) FROM t ORDER BY 1;
-- ordered
VALUES (3, 'c'), (1, 'a'), (2, NULL) ORDER BY 1;
-- ordered
SELECT * FROM (VALUES (3, 'c'), (1, 'a')) AS v(x, y) ORDER BY x;
SELECT count(*) FROM (SELECT id FROM t LIMIT 17) AS x;
SELECT count(*) FROM (SELECT a FROM t ORDER BY a LIMIT 50 OFFSET 10) AS x;
-- ordered
SELECT id, 'all begin with this ' || c || ', ' || id AS text FROM t WHERE c IS NOT NULL ORDER BY text;
-- ordered
SELECT id, 'all begin with this ' || c || ', ' || id AS text FROM t WHERE c IS NOT NULL ORDER BY text DESC LIMIT 300;
-- ordered
SELECT id, s || b AS text FROM t ORDER BY text DESC NULLS FIRST, id DESC;
-- ordered
SELECT id, a, s || c AS text FROM t ORDER BY a NULLS LAST, text NULLS FIRST, id;
