-- varchar(n), char(n), numeric without digits, named constraints.
CREATE TABLE lengths (id integer CONSTRAINT lengths_key PRIMARY KEY, v varchar(5), c char(3), n numeric, CONSTRAINT two UNIQUE (v, c));
INSERT INTO lengths VALUES (1, 'abcde', 'abc', 1.23456), (2, 'äöüßé', 'ä', -7), (3, NULL, NULL, NULL), (4, '', '', 0.000000001);
SELECT id, v, c, length(v), length(c) FROM lengths;
-- duckdb: VALUES (1, 1.23456::double), (2, -7), (3, NULL), (4, 1e-9)
SELECT id, n::double precision FROM lengths;
-- refused: too long for the type varchar(5)
INSERT INTO lengths VALUES (5, 'abcdef', 'x', 1);
-- refused: too long for the type varchar(5)
INSERT INTO lengths SELECT id + 100, 'abcdef', 'x', 1 FROM t;
-- refused: too long for the type char(3)
UPDATE lengths SET c = 'abcd' WHERE id = 1;
-- refused: too long for the type varchar(5)
UPDATE lengths SET v = v || 'x';
SELECT count(*), min(v), max(c) FROM lengths;
-- Spaces that are too much are cut; char(n) keeps no trailing spaces.
-- duckdb: INSERT INTO lengths VALUES (6, 'abc  ', 'x', 1)
INSERT INTO lengths VALUES (6, 'abc     ', 'x     ', 1);
SELECT v, length(v), c, length(c), c = 'x' FROM lengths WHERE id = 6;
-- refused: digits behind the point
INSERT INTO lengths VALUES (7, 'a', 'b', 1.23456789012);
-- refused: digits behind the point
INSERT INTO lengths VALUES (7, 'a', 'b', '0.00000000001');
-- refused: digits behind the point
UPDATE lengths SET n = 0.12345678901 WHERE id = 1;
INSERT INTO lengths VALUES (8, 'a', 'b', '1.230000000');
-- duckdb: SELECT 1.23::double
SELECT n::double precision FROM lengths WHERE id = 8;
-- refused: two
INSERT INTO lengths VALUES (9, 'a', 'b', 0);
-- refused: lengths_key
INSERT INTO lengths VALUES (1, 'q', 'q', 0);
-- refused: is that of an index already
CREATE TABLE lengths2 (id integer, CONSTRAINT lengths_key PRIMARY KEY (id));
-- duckdb: SELECT 'abc', 'ab', 'äö', 'ab'
SELECT 'abcdef'::varchar(3), 'ab'::varchar(3), 'äöü'::varchar(2), 'ab   '::char(4);
-- duckdb: SELECT 'a', '12', NULL
SELECT 'abc'::char, 1234::varchar(2), NULL::varchar(2);
-- refused: length of a text
SELECT 'a'::varchar(0);
-- refused: length of a text
CREATE TABLE lengths3 (v varchar(99999999));
SELECT id, s::varchar(3) FROM t WHERE s IS NOT NULL AND length(s) <= 3;
-- duckdb: SELECT id, s[:3] FROM t
SELECT id, s::varchar(3) FROM t;
-- duckdb: SELECT 1.23456, 1e-7::decimal(20,10)
SELECT '1.23456'::numeric, ' 0.0000001 '::numeric;
