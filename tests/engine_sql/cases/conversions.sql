-- refused: fit
SELECT 12345.678::numeric(4,2);
-- refused: fit
SELECT 12345.6::double precision::numeric(4,2);
-- refused: fit
SELECT 'NaN'::double precision::numeric(10,2);
-- refused: fit
SELECT 'inf'::double precision::numeric(10,2);
-- refused: fit
SELECT 9223372036854775807::double precision::bigint;
SELECT 9.5::integer;
SELECT 0.95::numeric(3,1);
SELECT 99.999::numeric(10,2);
SELECT round(9.99, 1);
SELECT 1 UNION ALL SELECT NULL;
CREATE TABLE conv (s varchar, d double precision);
INSERT INTO conv (s) VALUES ('007'), (7);
INSERT INTO conv (d) VALUES (1), ('2.5');
SELECT * FROM conv;
DROP TABLE conv;
SELECT '1.239'::numeric(10,2), ' 12 '::integer, '-1.235'::numeric(6,2);
-- refused: fit
SELECT 1e300::double precision::real;
-- refused: fit
SELECT 2147483648::real::integer;
-- refused: fit
SELECT 123456.5::numeric(10,1)::smallint;
-- refused: number
SELECT 'pear'::numeric(4,1);
SELECT NULL UNION ALL SELECT 2.5;
SELECT ceil(9.1::numeric(2,1)), floor(-9.1::numeric(2,1)), round(-9.96::numeric(3,2), 1);
CREATE TABLE conv2 (n numeric(4,2), s varchar);
-- refused: fit
INSERT INTO conv2 SELECT 12345.678, 'a';
-- refused: fit
INSERT INTO conv2 VALUES (1, 'a'), (99.999, 'b');
INSERT INTO conv2 VALUES (1, 'a'), (99.994, 2), ('3.141', NULL);
SELECT * FROM conv2;
DROP TABLE conv2;
-- refused: ends with
SELECT 'abc' LIKE 'abc\';
-- duckdb: SELECT true, false
SELECT 'a\b' LIKE 'a\\b', 'ab' LIKE 'a\\';
