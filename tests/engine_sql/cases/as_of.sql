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
