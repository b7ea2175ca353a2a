-- A condition guards those written behind it, whichever operator evaluates them.
CREATE TABLE big (id integer, x integer, y double precision);
INSERT INTO big SELECT id, a, CASE WHEN a = 0 THEN NULL ELSE a END FROM t;
INSERT INTO big VALUES (3, 0, 0), (5, 0, 0), (7, 4, 4);
CREATE INDEX big_id ON big (id);
CREATE TABLE few (id integer, y integer);
INSERT INTO few VALUES (3, 0), (5, 1), (7, 2), (11, -4), (13, 0);
-- duckdb: SELECT count(*) FROM few JOIN big ON few.id = big.id WHERE big.x <> 0 AND 10 // big.x > 1
SELECT count(*) FROM few JOIN big ON few.id = big.id WHERE big.x <> 0 AND 10 / big.x > 1;
-- duckdb: SELECT few.id, big.x FROM few LEFT JOIN big ON few.id = big.id AND big.x <> 0 AND 10 // big.x > 1
SELECT few.id, big.x FROM few LEFT JOIN big ON few.id = big.id AND big.x <> 0 AND 10 / big.x > 1;
-- duckdb: SELECT few.id, big.x FROM few JOIN big ON few.id = big.id AND 10 // nullif(big.x, 0) > few.y WHERE big.x <> 0
SELECT few.id, big.x FROM few JOIN big ON few.id = big.id AND 10 / big.x > few.y WHERE big.x <> 0;
-- duckdb: SELECT few.id, big.x FROM few JOIN big ON few.id = big.id AND few.y + big.x <> 0 AND 10 // nullif(few.y + big.x, 0) > 0
SELECT few.id, big.x FROM few JOIN big ON few.id = big.id AND few.y + big.x <> 0 AND 10 / (few.y + big.x) > 0;
-- duckdb: SELECT few.id FROM few WHERE EXISTS (SELECT 1 FROM big WHERE big.id = few.id AND few.y + big.x <> 0 AND 10 // nullif(few.y + big.x, 0) > 0)
SELECT few.id FROM few WHERE EXISTS (SELECT 1 FROM big WHERE big.id = few.id AND few.y + big.x <> 0 AND 10 / (few.y + big.x) > 0);
-- duckdb: SELECT few.id FROM few WHERE NOT EXISTS (SELECT 1 FROM big WHERE big.id = few.id AND few.y + big.x <> 0 AND 10 // nullif(few.y + big.x, 0) > 0)
SELECT few.id FROM few WHERE NOT EXISTS (SELECT 1 FROM big WHERE big.id = few.id AND few.y + big.x <> 0 AND 10 / (few.y + big.x) > 0);
-- duckdb: SELECT x.v, y.v FROM (VALUES (1),(2)) x(v), (VALUES (-1),(5)) y(v) WHERE 10 // nullif(x.v + y.v, 0) > 1
SELECT x.v, y.v FROM (VALUES (1),(2)) x(v), (VALUES (-1),(5)) y(v) WHERE x.v + y.v <> 0 AND 10 / (x.v + y.v) > 1;
-- duckdb: SELECT v FROM (VALUES (0),(2)) x(v) WHERE v = 0 OR 10 // nullif(v, 0) > 1
SELECT v FROM (VALUES (0),(2)) x(v) WHERE v = 0 OR 10 / v > 1;
-- duckdb: SELECT id, x FROM big WHERE x = 0 OR 10 // nullif(x, 0) > 1
SELECT id, x FROM big WHERE x = 0 OR 10 / x > 1;
-- duckdb: SELECT id, x FROM big WHERE NOT (x = 0 OR 10 // nullif(x, 0) > 1)
SELECT id, x FROM big WHERE NOT (x = 0 OR 10 / x > 1);
-- duckdb: SELECT id, x <> 0 AND 10 // nullif(x, 0) > 1, x = 0 OR 10 // nullif(x, 0) > 1 FROM big
SELECT id, x <> 0 AND 10 / x > 1, x = 0 OR 10 / x > 1 FROM big;
-- duckdb: SELECT id, x IS NULL OR x = 0 OR (x <> 5 AND 10 // nullif(x - 5, 0) > 0) FROM big
SELECT id, x IS NULL OR x = 0 OR (x <> 5 AND 10 / (x - 5) > 0) FROM big;
-- duckdb: SELECT x, count(*) FROM big GROUP BY x HAVING x = 0 OR 10 // nullif(x, 0) > 1
SELECT x, count(*) FROM big GROUP BY x HAVING x = 0 OR 10 / x > 1;
-- refused: division by zero
SELECT id FROM big WHERE 10 / x > 1 OR x = 0;
-- refused: division by zero
SELECT count(*) FROM few JOIN big ON few.id = big.id WHERE 10 / big.x > 1;
-- Conditions that cannot fail are checked first, so that an index on their columns makes no difference.
-- duckdb: SELECT count(*) FROM few JOIN big ON few.id = big.id WHERE big.x <> 0 AND 10 // big.x > 1
SELECT count(*) FROM few JOIN big ON few.id = big.id WHERE 10 / big.x > 1 AND big.x <> 0;
-- duckdb: SELECT id FROM big WHERE id IN (7, 8) AND 10 // nullif(x, 0) > 1
SELECT id FROM big WHERE 10 / (x + 0) > 1 AND id IN (7, 8) AND x <> 0;
-- duckdb: SELECT NULL::double, NULL::double, NULL::integer, NULL::double
SELECT NULL::double precision / 0, NULL::double precision / 0.0, NULL::integer / 0, NULL::numeric(4,1) / 0;
-- duckdb: SELECT NULL::integer, NULL::bigint
SELECT NULL::integer % 0, mod(NULL::bigint, 0);
-- duckdb: SELECT id, NULL::double FROM big WHERE x = 0 AND y IS NULL
SELECT id, y / 0 FROM big WHERE x = 0 AND y IS NULL;
-- refused: division by zero
SELECT 1::double precision / 0;
-- refused: division by zero
SELECT y / x FROM big WHERE x = 0;
DROP TABLE big;
DROP TABLE few;
