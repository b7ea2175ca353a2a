-- As-of joins as PostgreSQL writes them.
SELECT t.id, q.seq, q.px FROM trades t LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts < t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts >= t.ts ORDER BY q.ts LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE t.sym = q.sym AND t.ts < q.ts ORDER BY q.ts ASC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t CROSS JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q;
SELECT t.id, q.seq FROM trades t, LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q;
SELECT t.id, q.ts FROM trades t LEFT JOIN LATERAL (SELECT ts FROM quotes q WHERE q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.ts FROM trades t LEFT JOIN LATERAL (SELECT ts FROM quotes q WHERE q.ts > t.ts ORDER BY q.ts LIMIT 1) q ON true;
SELECT count(*), sum(t.qty * q.px) FROM trades t JOIN LATERAL (SELECT px FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.sym, count(q.px) FROM trades t LEFT JOIN LATERAL (SELECT px FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true GROUP BY t.sym;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts AND q.px > 100 ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM (SELECT * FROM trades WHERE qty > 50) t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true WHERE t.id < 100;
SELECT t.id, q.twice FROM trades t LEFT JOIN LATERAL (SELECT px * 2 AS twice FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true WHERE q.seq IS NULL;
SELECT u.id, x.lo FROM u LEFT JOIN LATERAL (SELECT lo FROM iv WHERE iv.lo <= u.w ORDER BY iv.lo DESC LIMIT 1) x ON true;
SELECT u.id, x.lo FROM u LEFT JOIN LATERAL (SELECT lo FROM iv WHERE iv.lo <= u.w AND iv.lo > u.w - 3 ORDER BY iv.lo DESC LIMIT 1) x ON true;
SELECT u.id, x.a FROM u LEFT JOIN LATERAL (SELECT a FROM t WHERE t.a <= u.w - 1 ORDER BY t.a DESC LIMIT 1) x ON true;
-- Text keys: the sides have different texts.
CREATE TABLE words_a (i integer, g integer, t varchar);
CREATE TABLE words_b (i integer, g integer, t varchar);
INSERT INTO words_a VALUES (1, 1, 'b'), (2, 1, 'd'), (3, 2, 'zz'), (4, 2, ''), (5, NULL, 'c'), (6, 1, NULL), (7, 2, 'cc');
INSERT INTO words_b VALUES (1, 1, 'a'), (2, 1, 'cc'), (3, 2, 'e'), (4, 2, 'c'), (5, 1, NULL);
SELECT a.i, x.t FROM words_a a LEFT JOIN LATERAL (SELECT t FROM words_b b WHERE b.t >= a.t ORDER BY b.t LIMIT 1) x ON true;
SELECT a.i, x.t FROM words_a a LEFT JOIN LATERAL (SELECT t FROM words_b b WHERE b.t > a.t ORDER BY b.t LIMIT 1) x ON true;
SELECT a.i, x.t FROM words_a a LEFT JOIN LATERAL (SELECT t FROM words_b b WHERE b.t <= a.t ORDER BY b.t DESC LIMIT 1) x ON true;
SELECT a.i, x.t FROM words_a a JOIN LATERAL (SELECT t FROM words_b b WHERE b.g = a.g AND b.t < a.t ORDER BY b.t DESC LIMIT 1) x ON true;
CREATE INDEX words_b_t ON words_b (t);
SELECT a.i, x.t FROM words_a a LEFT JOIN LATERAL (SELECT t FROM words_b b WHERE b.t >= a.t ORDER BY b.t LIMIT 1) x ON true;
SELECT a.i, x.t FROM words_a a LEFT JOIN LATERAL (SELECT t FROM words_b b WHERE b.g = a.g AND b.t <= a.t ORDER BY b.t DESC LIMIT 1) x ON true;
DROP TABLE words_a;
DROP TABLE words_b;
SELECT u.id, x.s FROM u LEFT JOIN LATERAL (SELECT s FROM t WHERE t.s >= u.k ORDER BY t.s LIMIT 1) x ON true;
SELECT u.id, x.s FROM u LEFT JOIN LATERAL (SELECT s FROM t WHERE t.a = u.w AND t.s < u.k ORDER BY t.s DESC LIMIT 1) x ON true;
-- What is selected where there is no nearest row, and where there is one with NULL.
SELECT u.id, x.c, x.v, x.n FROM u LEFT JOIN LATERAL (SELECT 7 AS c, coalesce(lo, 7) AS v, lo IS NULL AS n FROM iv WHERE iv.lo < u.w - 25 AND iv.id > 20 ORDER BY iv.lo DESC LIMIT 1) x ON true;
SELECT t.id, q.px, q.s, q.c FROM trades t LEFT JOIN LATERAL (SELECT coalesce(px, -1) AS px, seq % 7 AS s, 'x' AS c FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts AND q.ts >= t.ts - INTERVAL '9 seconds' ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, (SELECT 7 FROM quotes q WHERE q.sym = t.sym AND q.ts > t.ts ORDER BY q.ts LIMIT 1) AS c FROM trades t;
-- duckdb: SELECT t.id, q.v FROM trades t LEFT JOIN LATERAL (SELECT 100 // seq AS v FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts AND q.seq <> 0 ORDER BY q.ts DESC LIMIT 1) q ON true
SELECT t.id, q.v FROM trades t LEFT JOIN LATERAL (SELECT 100 / seq AS v FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts AND q.seq <> 0 ORDER BY q.ts DESC LIMIT 1) q ON true;
-- A column that is selected twice.
SELECT u.id, x.lo, x.same FROM u LEFT JOIN LATERAL (SELECT lo, lo AS same FROM iv WHERE iv.lo < u.w ORDER BY iv.lo DESC LIMIT 1) x ON true;
SELECT t.id, q.seq, q.at, q.ts, q.again FROM trades t LEFT JOIN LATERAL (SELECT ts AS at, seq, ts, seq AS again FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
-- Further keys decide between rows of one time.
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC, q.seq DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts < t.ts ORDER BY q.ts DESC, q.seq LIMIT 1) q ON true;
SELECT t.id, q.seq, q.px FROM trades t JOIN LATERAL (SELECT seq, px FROM quotes q WHERE q.sym = t.sym AND q.ts >= t.ts ORDER BY q.ts, q.px DESC, q.seq LIMIT 1) q ON true;
SELECT u.id, x.id FROM u LEFT JOIN LATERAL (SELECT id FROM iv WHERE iv.lo <= u.w ORDER BY iv.lo DESC, iv.hi DESC NULLS LAST, iv.id LIMIT 1) x ON true;
SELECT u.id, x.id FROM u LEFT JOIN LATERAL (SELECT id FROM iv WHERE iv.lo <= u.w ORDER BY iv.lo DESC, iv.hi NULLS FIRST, iv.id DESC LIMIT 1) x ON true;
SELECT u.id, x.id, x.s FROM u LEFT JOIN LATERAL (SELECT id, s FROM t WHERE t.a > u.w AND t.a < u.w + 5 ORDER BY t.a, t.s DESC NULLS LAST, t.id LIMIT 1) x ON true;
SELECT u.id, (SELECT id FROM t WHERE t.a <= u.w ORDER BY t.a DESC, t.n NULLS FIRST, t.id LIMIT 1) AS i FROM u;
-- The nearest row on either side. Of two at the same distance it is the earlier one.
SELECT u.id, x.lo FROM u LEFT JOIN LATERAL (SELECT lo FROM iv WHERE iv.lo IS NOT NULL ORDER BY abs(u.w - iv.lo), iv.lo LIMIT 1) x ON true WHERE u.w IS NOT NULL;
SELECT u.id, x.lo, x.far FROM u LEFT JOIN LATERAL (SELECT lo, abs(iv.lo - u.w) AS far FROM iv WHERE iv.grp = u.id % 7 ORDER BY abs(iv.lo - u.w), iv.lo LIMIT 1) x ON true WHERE u.w IS NOT NULL;
-- Where all distances are NULL, the second key decides.
SELECT u.id, x.lo FROM u LEFT JOIN LATERAL (SELECT lo FROM iv ORDER BY abs(u.w - iv.lo), iv.lo LIMIT 1) x ON true;
SELECT u.id, x.lo FROM u LEFT JOIN LATERAL (SELECT lo FROM iv WHERE iv.grp = u.id % 7 ORDER BY abs(iv.lo - u.w), iv.lo LIMIT 1) x ON true;
SELECT t.id, q.ts FROM trades t LEFT JOIN LATERAL (SELECT ts FROM quotes q WHERE q.sym = t.sym ORDER BY abs(extract(epoch from (q.ts - t.ts))), q.ts LIMIT 1) q ON true WHERE t.ts IS NOT NULL;
SELECT x.id, q.dt FROM t x CROSS JOIN LATERAL (SELECT dt FROM t y WHERE y.id % 10 = 3 AND y.dt IS NOT NULL ORDER BY abs(x.dt - y.dt), y.dt LIMIT 1) q WHERE x.dt IS NOT NULL;
SELECT u.id, (SELECT min(hi) FROM iv WHERE iv.lo = x.lo) AS hi FROM u CROSS JOIN LATERAL (SELECT lo FROM iv WHERE iv.lo IS NOT NULL ORDER BY abs(u.w - iv.lo), lo LIMIT 1) x WHERE u.w IS NOT NULL;
