-- The statements of docs/sql-language.md, "Where PostgreSQL and DuckDB differ".
-- A condition guards those behind it, with and without an index on the key of the join.
-- duckdb: SELECT count(*) FROM t JOIN u ON u.t_id = t.id WHERE u.w <> 0 AND 10 // u.w > 1
SELECT count(*) FROM t JOIN u ON u.t_id = t.id WHERE u.w <> 0 AND 10 / u.w > 1;
-- duckdb: SELECT count(*) FROM t JOIN u ON u.t_id = t.id WHERE u.w = 0 OR 10 // u.w > 1
SELECT count(*) FROM t JOIN u ON u.t_id = t.id WHERE u.w = 0 OR 10 / u.w > 1;
-- duckdb: SELECT 3, 1, 4
SELECT 7 / 2, 90000000000000 / 86400000000000, 10000000000 % 7;
-- duckdb: SELECT 1
SELECT ns / 86400000000000 FROM (VALUES (90000000000000)) v(ns);
SELECT sum(a) * sum(a) AS product FROM (VALUES (2::bigint), (3)) v(a);
-- refused: does not fit its type
SELECT 3::smallint * 30000::smallint;
-- duckdb: SELECT 1.23456, 1.23456, 1000
SELECT 1.23456::numeric, '1.23456'::numeric, 1e3;
SELECT round(2.567, 2)::varchar, floor(9.5)::varchar;
-- duckdb: SELECT 2::double, -2::double
SELECT round(2.5::double precision), round(-2.5::double precision);
-- duckdb: SELECT '123456789012', '1e-05', 'NaN', 'Infinity', '-Infinity'
SELECT 123456789012::float8::varchar, 0.00001::float8::varchar, 'nan'::float8::varchar, 'inf'::float8::varchar, '-inf'::float8::varchar;
SELECT exp(1000), 1e308::double precision * 10 AS product, power(0, -1);
SELECT NULL::double precision / 0 AS quotient;
-- refused: Division by zero
SELECT 1::double precision / 0;
-- duckdb: SELECT false, true
SELECT x = 0.1, x > 0.1 FROM (VALUES (0.1::real)) v(x);
SELECT count(*) FROM fl WHERE x IN (0, 1.5);
SELECT count(*) FROM fl WHERE x IN (0, '-0'::double precision, 0);
-- duckdb: SELECT 1::double
SELECT sum(d) FROM (VALUES (1e16::double precision), (1), (-1e16)) v(d);
-- The same sum by a scan and by an index.
CREATE TABLE documented_floats (id integer, d double precision);
INSERT INTO documented_floats VALUES (1, 1e16), (2, 1), (3, -1e16);
CREATE INDEX documented_floats_id ON documented_floats (id);
-- duckdb: SELECT 1::double, 1::double / 3
SELECT sum(d), avg(d) FROM documented_floats;
-- duckdb: SELECT 1::double, 1::double / 3
SELECT sum(d), avg(d) FROM documented_floats WHERE id >= 0;
-- refused: more than 38 digits
SELECT avg(x) FROM (VALUES (99999999999999999999999999999999999999::numeric(38,0)), (99999999999999999999999999999999999999)) v(x);
SELECT '+5'::integer, '2026-1-5'::date, '2026-01-01T00:00:00Z'::timestamp;
-- refused: '0xff' cannot be cast
SELECT '0xff'::integer;
-- duckdb: SELECT true, true
SELECT 'xa\bx' LIKE '%a\\b%', 'xab' LIKE '%a\b';
-- duckdb: SELECT true AS longer
SELECT interval '1000000 months 1000000 months 1000000 months 1000000 months' > interval '1 day' AS longer;
-- duckdb: SELECT chr(769) || 'e'
SELECT reverse('é');
-- ordered
-- duckdb: SELECT * FROM (VALUES (NULL), (2), (1)) v(a)
SELECT a FROM (VALUES (1), (NULL), (2)) v(a) ORDER BY a DESC;
SELECT * FROM (VALUES (1, 2)) a(x, k) JOIN (VALUES (2, 3)) b(k, y) USING (k);
/* a /* b */ c */ SELECT 1 AS one;
-- refused: There is no table 'nothing'
WITH c AS (SELECT nosuch FROM nothing) SELECT 1;
-- refused: specified more than once
WITH a AS (SELECT 1 x), a AS (SELECT 2 x) SELECT * FROM a;
WITH v(a, b) AS (SELECT 1, 2) SELECT b FROM v AS x(c);
SELECT v FROM (VALUES (0), (2)) x(v) WHERE v = 0 OR 10 / v > 1;
-- duckdb: SELECT 2, -1
SELECT x.v, y.v FROM (VALUES (1), (2)) x(v), (VALUES (-1), (5)) y(v) WHERE x.v + y.v <> 0 AND 10 / (x.v + y.v) > 1;
SELECT 1 IN (SELECT b FROM (VALUES (3), (1), (2)) u(b) ORDER BY b LIMIT 2) AS found;
-- The index of a primary key stays while the constraint needs it, and keeps duplicates out.
CREATE TABLE documented_key (id integer PRIMARY KEY);
-- refused: Index 'documented_key_pkey'
DROP INDEX documented_key_pkey;
-- refused: documented_key_pkey
INSERT INTO documented_key VALUES (1), (1);
SELECT count(*) FROM documented_key;
