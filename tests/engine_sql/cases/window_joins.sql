-- Correlated aggregates over a range of one value: window joins.
SELECT t.id, w.n, w.s, w.a, w.lo, w.hi FROM trades t LEFT JOIN LATERAL (SELECT count(*) AS n, sum(px) AS s, avg(px) AS a, min(px) AS lo, max(px) AS hi FROM quotes q WHERE q.sym = t.sym AND q.ts BETWEEN t.ts - INTERVAL '5 minutes' AND t.ts) w ON true;
SELECT t.id, w.n, w.s, w.lo FROM trades t CROSS JOIN LATERAL (SELECT count(px) AS n, sum(seq) AS s, min(sym) AS lo FROM quotes q WHERE q.ts > t.ts - INTERVAL '1 minute' AND q.ts < t.ts + INTERVAL '1 minute') w;
SELECT t.id, (SELECT count(*) FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts) AS before, (SELECT max(px) FROM quotes q WHERE t.ts < q.ts AND q.sym = t.sym) AS later FROM trades t;
SELECT t.id, (SELECT avg(px) FROM quotes q WHERE q.ts BETWEEN t.ts - INTERVAL '100 seconds' AND t.ts AND q.seq > 100 AND q.px > 50) AS a FROM trades t WHERE t.qty > 20;
SELECT t.id, (SELECT sum(px * seq) / sum(px) FROM quotes q WHERE q.sym = t.sym AND q.ts BETWEEN t.ts - INTERVAL '10 minutes' AND t.ts) AS vwap FROM trades t;
SELECT t.id, t.qty FROM trades t WHERE (SELECT count(*) FROM quotes q WHERE q.sym = t.sym AND q.ts BETWEEN t.ts - INTERVAL '2 minutes' AND t.ts) >= 3;
SELECT t.sym, sum(w.n), max(w.hi) FROM trades t LEFT JOIN LATERAL (SELECT count(*) AS n, max(seq) AS hi FROM quotes q WHERE q.sym = t.sym AND q.ts >= t.ts) w ON true GROUP BY t.sym;
SELECT t.id, w.n + 1 AS n, coalesce(w.s, 0) AS s FROM trades t LEFT JOIN LATERAL (SELECT count(*) AS n, sum(px) + 1 AS s FROM quotes q WHERE q.ts BETWEEN t.ts AND t.ts + INTERVAL '30 seconds') w ON true WHERE t.id < 50 ORDER BY t.id;
SELECT t.id, (SELECT count(*) FROM trades x WHERE x.sym = t.sym AND x.ts BETWEEN t.ts - INTERVAL '1 hour' AND t.ts) AS n FROM trades t;
-- Bounds without order, reversed bounds, NULL bounds, one bound, no rows.
SELECT iv.id, (SELECT count(*) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS n, (SELECT sum(v) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS s, (SELECT min(k) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS k FROM iv;
SELECT iv.id, (SELECT count(v) FROM u WHERE u.w BETWEEN iv.hi AND iv.lo) AS n, (SELECT avg(v) FROM u WHERE u.w > iv.hi AND u.w < iv.lo) AS a FROM iv;
SELECT iv.id, (SELECT max(t.d) FROM t WHERE t.a > iv.lo) AS m, (SELECT avg(t.b) FROM t WHERE t.a < iv.hi) AS b, (SELECT sum(t.f) FROM t WHERE t.a <= iv.hi AND t.ok) AS f FROM iv;
SELECT iv.id, (SELECT count(*) FROM e WHERE e.a > iv.lo) AS n, (SELECT sum(a) FROM e WHERE e.a > iv.lo) AS s FROM iv;
SELECT e.id, (SELECT count(*) FROM iv WHERE iv.lo > e.a) AS n FROM e;
SELECT iv.id, (SELECT count(*) FROM u WHERE u.w >= iv.lo AND u.t_id = iv.grp AND u.w < iv.hi + 3) AS n FROM iv;
SELECT u.id, (SELECT count(*) FROM u x WHERE x.k = u.k AND x.w < u.w) AS rank, (SELECT min(x.v) FROM u x WHERE x.k = u.k AND x.w >= u.w - 2 AND x.w <= u.w + 2) AS near FROM u WHERE u.id < 300;
SELECT iv.id, (SELECT count(*) FROM t WHERE t.c > iv.lo AND t.c <= iv.hi) AS narrow, (SELECT sum(t.c) FROM t WHERE t.a >= iv.lo) AS s FROM iv;
-- Dates, decimals, floats and text as values.
SELECT x.id, (SELECT count(*) FROM t y WHERE y.dt BETWEEN x.dt AND x.dt + 30) AS days, (SELECT sum(y.n) FROM t y WHERE y.n < x.n) AS n FROM t x WHERE x.id < 100;
SELECT x.id, (SELECT max(y.s) FROM t y WHERE y.d BETWEEN x.d - 10 AND x.d) AS s, (SELECT max(y.dt) FROM t y WHERE y.ts > x.ts) AS dt FROM t x WHERE x.id < 100;
SELECT u.id, (SELECT count(*) FROM t WHERE t.s > u.k) AS n FROM u WHERE u.id < 60;
SELECT f.id, (SELECT count(*) FROM fl g WHERE g.x <= f.x) AS n, (SELECT count(*) FROM fl g WHERE g.x > f.x) AS m, (SELECT max(g.x) FROM fl g WHERE g.x < f.x) AS hi, (SELECT min(g.i) FROM fl g WHERE g.x >= f.x) AS first FROM fl f;
-- Sums of values that need more than 128 bits together, of NaN and of infinities. They are exact and rounded once, which
-- DuckDB's are not: the results are those of rational arithmetic.
CREATE TABLE wide (i integer, g integer, x double precision);
INSERT INTO wide VALUES (1, 1, 1e300), (2, 1, 1e-300), (3, 1, -1e300), (4, 2, 0.1), (5, 2, 0.2), (6, 2, 1e17), (7, 2, -1e17), (8, 1, NULL), (9, 1, 3), (10, 2, 0.3);
-- duckdb: SELECT * FROM (VALUES (1, 1e+300::double, 0.75::double, 3.6::double), (2, 1e-300::double, 0.75::double, 3.6::double), (3, 0.1::double, -3.3333333333333335e+299::double, 3.3::double), (4, -1e+300::double, 0.12::double, 0.30000000000000004::double), (5, -1e+300::double, 0.12::double, 0.30000000000000004::double), (6, 0.30000000000000004::double, 0.12::double, 1e+17::double), (7, 0.2::double, 0.12::double, 0.30000000000000004::double), (8, 3.0::double, 3.0::double, 0.1::double), (9, -1e+17::double, 3.0::double, 1e-300::double), (10, 3.3::double, -5e+16::double, NULL::double)) v (i, s, m, t)
SELECT a.i, (SELECT sum(x) FROM wide b WHERE b.i BETWEEN a.i - 2 AND a.i + 1) AS s, (SELECT avg(x) FROM wide b WHERE b.g = a.g AND b.i > a.i - a.g * 2) AS m, (SELECT sum(x) FROM wide b WHERE b.i BETWEEN 3 * a.g - 2 AND 12 - a.i) AS t FROM wide a;
INSERT INTO wide VALUES (11, 1, 'inf'), (12, 2, '-inf'), (13, 2, 'nan'), (14, 1, 2);
-- duckdb: SELECT * FROM (VALUES (1, 1e+300::double, 1e-300::double, NULL::double), (2, 1e+300::double, -1e+300::double, 1e+300::double), (3, 1e-300::double, -1e+300::double, 1e+300::double), (4, 0.1::double, -1e+300::double, 1e+300::double), (5, 0.30000000000000004::double, 0.1::double, 1e+300::double), (6, 1e+17::double, -1e+17::double, 1e+300::double), (7, 0.30000000000000004::double, -1e+17::double, 1e+300::double), (8, NULL::double, -1e+17::double, 1e+300::double), (9, 3.0::double, 0.3::double, 1e+300::double), (10, -1e+17::double, 0.3::double, 1e+300::double), (11, 'inf'::double, '-inf'::double, 1e+300::double), (12, '-inf'::double, '-inf'::double, 'inf'::double), (13, 'nan'::double, '-inf'::double, 'inf'::double), (14, 'inf'::double, 2.0::double, 'nan'::double)) v (i, s, lo, hi)
SELECT a.i, (SELECT sum(x) FROM wide b WHERE b.g = a.g AND b.i BETWEEN a.i - 3 AND a.i) AS s, (SELECT min(x) FROM wide b WHERE b.i BETWEEN a.i - 1 AND a.i + 1) AS lo, (SELECT max(x) FROM wide b WHERE b.i < a.i) AS hi FROM wide a;
-- Expressions that fail for rows of no window, and for rows of one.
-- duckdb: SELECT a.i, (SELECT sum(12 // (b.i - 3))::bigint FROM wide b WHERE b.i > a.i AND b.g = 1) AS s FROM wide a WHERE a.i > 5;
SELECT a.i, (SELECT sum(12 / (b.i - 3)) FROM wide b WHERE b.i > a.i AND b.g = 1) AS s FROM wide a WHERE a.i > 5;
-- refused: ivision by zero
SELECT a.i, (SELECT sum(12 / (b.i - 8)) FROM wide b WHERE b.i > a.i AND b.g = 1) AS s FROM wide a WHERE a.i > 5;
DROP TABLE wide;
SELECT x.id, (SELECT sum(y.l) FROM ex y WHERE y.i >= x.i) AS l, (SELECT max(y.m) FROM ex y WHERE y.l <= x.l) AS m, (SELECT min(y.m) FROM ex y WHERE y.dt >= x.dt) AS lo, (SELECT count(*) FROM ex y WHERE y.m > x.m) AS n FROM ex x;
-- Two levels, EXISTS and IN by a range.
SELECT t.id FROM trades t WHERE EXISTS (SELECT 1 FROM quotes q WHERE q.sym = t.sym AND (SELECT count(*) FROM quotes r WHERE r.sym = q.sym AND r.ts < q.ts) = 5 AND q.ts < t.ts);
SELECT t.id, EXISTS (SELECT 1 FROM quotes q WHERE q.sym = t.sym AND q.ts BETWEEN t.ts - INTERVAL '1 minute' AND t.ts) AS found FROM trades t;
-- Not window joins: the aggregate reads an outer column, or has a distinct, a list or a filter of its own.
SELECT iv.id, (SELECT sum(u.w + iv.lo) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS s, (SELECT count(DISTINCT u.k) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS d, (SELECT count(*) FILTER (WHERE u.v > 0) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi) AS f FROM iv;
SELECT iv.id, (SELECT count(*) FROM u WHERE u.w BETWEEN iv.lo AND iv.hi AND u.t_id <> iv.grp) AS n, (SELECT count(*) FROM u WHERE u.w >= iv.lo AND u.t_id <= iv.hi) AS m FROM iv;
-- Points in spans, counted from both sides.
SELECT count(*), sum(iv.grp) FROM u JOIN iv ON u.w BETWEEN iv.lo AND iv.hi;
SELECT u.id, (SELECT count(*) FROM iv WHERE u.w BETWEEN iv.lo AND iv.hi) AS spans FROM u;
SELECT u.id, (SELECT count(*) FROM iv WHERE iv.lo < u.w AND iv.hi > u.w) AS open, (SELECT count(iv.grp) FROM iv WHERE iv.lo <= u.w AND u.w < iv.hi) AS half, (SELECT count(*) FROM iv WHERE iv.lo < u.w AND iv.hi >= u.w AND iv.grp <> 2) AS other, EXISTS (SELECT 1 FROM iv WHERE u.w BETWEEN iv.lo AND iv.hi AND iv.grp = u.t_id) AS found FROM u;
SELECT u.w, sum(s.n), max(s.m) FROM u CROSS JOIN LATERAL (SELECT count(*) AS n, count(hi) AS m FROM iv WHERE u.w - 1 BETWEEN iv.lo AND iv.hi AND iv.grp = u.id % 5) s GROUP BY u.w;
