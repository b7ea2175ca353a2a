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
-- Integers beyond 32 bits are bigint, as far as that goes.
-- duckdb: SELECT 1, 3::bigint, 10000000000 - 7 * (10000000000 // 7), 4611686018427387903
SELECT 90000000000000 / 86400000000000, 10000000000 / 3000000000, 10000000000 % 7, 9223372036854775807 / 2;
SELECT 9223372036854775808, -9223372036854775808, 99999999999999999999;
-- duckdb: SELECT 2000000000, -1000000000000
SELECT 6000000000 / 3, -3000000000000 / 3;
-- refused: does not fit
SELECT 9223372036854775807 + 1;
-- duckdb: SELECT id, b // 3000000000 FROM t
SELECT id, b / 3000000000 FROM t;
-- Products of sums have as many digits as they need.
-- duckdb: SELECT 25::decimal(38,0)
SELECT sum(a) * sum(a) FROM (VALUES (2::bigint), (3)) x(a);
-- duckdb: SELECT sum(w)::bigint * sum(w)::bigint, count(*) * sum(w*w) - sum(w) * sum(w) FROM u
SELECT sum(w::bigint) * sum(w::bigint), count(*) * sum((w * w)::bigint) - sum(w::bigint) * sum(w::bigint) FROM u;
-- duckdb: SELECT w, sum(w)::bigint * sum(w)::bigint FROM u GROUP BY w
SELECT w, sum(w::bigint) * sum(w::bigint) FROM u GROUP BY w;
-- refused: more than 38 digits
SELECT sum(b) * sum(b) * sum(b) * sum(b) FROM (VALUES (9000000000000000000)) x(b);
-- Rounded numbers have the digits that are left.
SELECT round(2.567, 2)::varchar, round(-2.567, 1)::varchar, round(2.5, 0)::varchar, floor(9.5)::varchar, ceil(9.1)::varchar;
SELECT round(99.99)::varchar, round(9.99, 1)::varchar, round(1234.5, -2)::varchar, floor(-0.5)::varchar, round(0.05, 1)::varchar;
SELECT id, round(n, 1)::varchar, floor(n)::varchar, ceil(n)::varchar, round(n)::varchar FROM t;
-- duckdb: SELECT 10000000000000000000000000000000000000::decimal(38,0), 99999999999999999999999999999999999999::decimal(38,0)
SELECT round(9999999999999999999999999999999999999.9), floor(99999999999999999999999999999999999999::numeric(38,0));
-- Exact numbers as numeric keep their digits.
-- duckdb: SELECT '1.23456', '5', '0.1234567890123456789', '1.500000000'
SELECT 1.23456::numeric::varchar, 5::numeric::varchar, 0.1234567890123456789::numeric::varchar, 1.5::double precision::numeric::varchar;
-- duckdb: SELECT id, n::varchar, a::varchar FROM t
SELECT id, (n::numeric)::varchar, a::numeric::varchar FROM t;
-- Text to numbers and times.
-- refused: '0xff' cannot be cast to integer
SELECT '0xff'::integer;
-- refused: '0x10' cannot be cast to double precision
SELECT '0x10'::double precision;
-- refused: '1e3' cannot be cast to bigint
SELECT '1e3'::bigint;
-- refused: '' cannot be cast to integer
SELECT ''::integer;
-- refused: '+' cannot be cast
SELECT '+'::integer;
-- refused: '+-5' cannot be cast
SELECT '+-5'::integer;
-- refused: '40000' cannot be cast to smallint
SELECT '40000'::smallint;
-- refused: '1e400' cannot be cast to double precision
SELECT '1e400'::double precision;
-- refused: '1e40' cannot be cast to real
SELECT '1e40'::real;
-- duckdb: SELECT 5, -5, 12, 127::tinyint, (-9223372036854775808)::bigint
SELECT '+5'::integer, '-5'::integer, ' 12 '::smallint, '127'::tinyint, '-9223372036854775808'::bigint;
-- duckdb: SELECT 1.5::double, 0.5::double, -0.3::double, 1e10::double, 'inf'::double, '-inf'::double, 'nan'::double, 1.5::real
SELECT '+1.5'::double precision, '.5'::double precision, '-0.3'::float8, '1E10'::float8, 'Infinity'::float8, '-inf'::float8, ' NaN '::float8, '+1.5'::real;
-- duckdb: SELECT DATE '2026-01-05', DATE '2026-11-30', DATE '2024-02-29'
SELECT '2026-1-5'::date, ' 2026-11-30 '::date, '2024-2-29'::date;
-- duckdb: SELECT TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-02 03:04:05.678901', TIMESTAMP '2026-01-02 10:30:00', TIMESTAMP '2026-01-02', TIMESTAMP '2026-01-01 12:00:00'
SELECT '2026-01-01T00:00:00Z'::timestamp, '2026-1-2 3:04:05.6789012'::timestamp, '2026-01-02 10:30'::timestamp, '2026-01-02'::timestamp, '2026-01-01 12:00:00+00'::timestamp;
-- refused: '2026-02-30' is not a valid date
SELECT '2026-02-30'::date;
-- refused: '2026-13-01' is not a valid date
SELECT '2026-13-01'::date;
-- refused: is not a valid timestamp
SELECT '2026-01-01T00:00:00+02:00'::timestamp;
-- refused: is not a valid timestamp
SELECT '2026-01-01 25:00:00'::timestamp;
SELECT id, dt::varchar, dt::varchar::date = dt, ts::varchar::timestamp = ts, (a::varchar)::integer = a FROM t;
SELECT id, d::varchar::double precision = d, f::varchar::real = f, s || a::varchar FROM t;
-- Floats as PostgreSQL writes them.
-- duckdb: SELECT '123456789012', '0.3', '1e+15', '100000000000000', '0.0001', '1e-05', '-1.5', '0', '-0', 'NaN', '-Infinity'
SELECT 123456789012::float8::varchar, 0.3::float8::varchar, 1e15::float8::varchar, 1e14::float8::varchar, 0.0001::float8::varchar, 0.00001::float8::varchar, (-1.5)::float8::varchar, 0::float8::varchar, '-0'::float8::varchar, 'nan'::float8::varchar, '-inf'::float8::varchar;
-- duckdb: SELECT '0.1', '1e+06', '123456', '1.7976931348623157e+308', '5e-324'
SELECT 0.1::real::varchar, 1000000::real::varchar, 123456::real::varchar, 1.7976931348623157e308::float8::varchar, 5e-324::float8::varchar;
-- duckdb: SELECT '40000-02-29', '0044-03-15', '99999-12-31 23:59:59.5'
SELECT '40000-02-29'::date::varchar, '0044-03-15'::date::varchar, '99999-12-31 23:59:59.50'::timestamp::varchar;
-- duckdb: SELECT '40000-03-01', '32768-01-01', '10000-01-01'
SELECT ('40000-02-29'::date + 1)::varchar, ('32767-12-31'::date + 1)::varchar, ('9999-12-31'::date + 1)::varchar;
-- refused: out of range
SELECT extract(year from '40000-02-29'::date);
-- refused: out of range
SELECT date_trunc('month', '40000-02-29'::timestamp);
-- Integers and doubles are compared as doubles, constants and columns alike.
-- duckdb: SELECT true, true, true, true
SELECT i = d, i = 9007199254740992::double precision, 9007199254740993 = d, 9007199254740993 = 9007199254740992::double precision FROM (VALUES (9007199254740993, 9007199254740992::double precision)) x(i, d);
-- duckdb: SELECT true, false, false
SELECT i >= 9007199254740996::double precision, i > 9007199254740996::double precision, i < 9007199254740996::double precision FROM (VALUES (9007199254740995)) x(i);
SELECT id FROM t WHERE b > 1e11::double precision AND a < 3.0::double precision;
-- duckdb: SELECT false, false, true, true, true, true
SELECT x = 0.1, x = y, z > 0.2, 0.25 = z, z = w, x < 0.11 FROM (VALUES (0.1::real, 0.1, 0.25::real, 0.25)) v(x, y, z, w);
-- duckdb: SELECT true, true, false
SELECT n = 0.1::double precision, n = d, n > 0.1::double precision FROM (VALUES (0.1000000000000000001, 0.1::double precision)) v(n, d);
-- duckdb: SELECT true, true
SELECT 'xa\bx' LIKE '%a\\b%', 'xab' LIKE '%a\b';
-- duckdb: SELECT true, false, true, false, true, true
SELECT 'a%b' LIKE 'a\%b', 'axb' LIKE 'a\%b', 'x_y' LIKE '%\_%', 'xy' LIKE '%\_%', E'a\nb\\' LIKE 'a%\\', 'A.B' ILIKE '%a.\b';
-- duckdb: SELECT false, true, false
SELECT 'axb' LIKE 'a.\b', 'äpf(el' LIKE '%f(\el', 'abx' LIKE 'a\b';
