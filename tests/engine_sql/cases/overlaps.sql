-- Spans that overlap spans, and spans within spans.
SELECT x.id, y.id FROM iv x JOIN iv y ON x.lo < y.hi AND y.lo < x.hi;
SELECT x.id, y.id FROM iv x JOIN iv y ON x.lo <= y.hi AND y.lo <= x.hi;
SELECT x.id, y.id FROM iv x JOIN iv y ON y.hi > x.lo AND x.hi >= y.lo AND x.id <> y.id;
SELECT x.id, y.id FROM iv x JOIN iv y ON x.lo < y.hi AND y.lo < x.hi AND x.grp = y.grp;
SELECT x.id, y.id FROM iv x JOIN iv y ON x.lo < y.hi AND y.lo < x.hi AND (x.id + y.id) % 3 = x.grp % 3;
SELECT x.id, y.id FROM iv x LEFT JOIN iv y ON x.lo < y.hi AND y.lo < x.hi AND y.grp = 2;
SELECT x.id, y.id FROM iv x LEFT JOIN iv y ON x.hi < y.hi AND y.lo < x.lo;
SELECT x.id, y.id FROM iv x FULL JOIN iv y ON x.lo + 50 < y.hi AND y.lo < x.hi - 40;
SELECT count(*) FROM iv x, iv y WHERE x.lo < y.hi AND y.lo < x.hi;
SELECT count(*), sum(x.id), sum(y.id) FROM iv x JOIN iv y ON x.lo <= y.hi AND y.lo < x.hi;
SELECT x.id FROM iv x WHERE EXISTS (SELECT 1 FROM iv y WHERE x.lo < y.hi AND y.lo < x.hi AND x.id <> y.id);
SELECT x.id FROM iv x WHERE EXISTS (SELECT 1 FROM iv y WHERE y.lo > x.lo AND y.hi < x.hi);
SELECT x.id FROM iv x WHERE NOT EXISTS (SELECT 1 FROM iv y WHERE y.lo > x.lo AND y.hi < x.hi);
SELECT x.id, y.id FROM t x JOIN t y ON x.ts < y.ts + INTERVAL '10 minutes' AND y.ts < x.ts + INTERVAL '5 minutes' WHERE x.id < 200;
SELECT x.id, y.id FROM t x JOIN t y ON x.n <= y.n + 2 AND y.n <= x.n + 1 WHERE x.id < 100;
SELECT x.id, y.id FROM t x JOIN t y ON x.d < y.d + 2 AND y.d < x.d + 1 WHERE x.id < 100;
SELECT f.id, g.id FROM fl f JOIN fl g ON f.x <= g.x + 1 AND g.x <= f.x + 1;
SELECT x.id, y.id FROM iv x JOIN u y ON x.lo < y.w AND y.v < x.hi WHERE y.id < 100;
SELECT x.id, (SELECT count(*) FROM iv y WHERE x.lo < y.hi AND y.lo < x.hi) AS n, (SELECT sum(y.grp) FROM iv y WHERE x.lo <= y.hi AND y.lo <= x.hi AND y.grp <> x.grp) AS s FROM iv x;
SELECT x.id, o.n, o.least, o.most FROM iv x LEFT JOIN LATERAL (SELECT count(*) AS n, min(y.id) AS least, max(y.hi) AS most FROM iv y WHERE x.lo < y.hi AND y.lo < x.hi) o ON true;
SELECT x.grp, count(*), min(y.lo), max(y.hi) FROM iv x JOIN iv y ON x.lo < y.hi AND y.lo < x.hi JOIN u ON u.w BETWEEN y.lo AND y.hi WHERE u.id < 40 GROUP BY x.grp;
-- Counts, sums and averages over the spans around a point, and over those that overlap a span.
SELECT u.id, (SELECT sum(iv.grp) FROM iv WHERE u.w BETWEEN iv.lo AND iv.hi) AS s, (SELECT avg(iv.id) FROM iv WHERE iv.lo < u.w AND iv.hi > u.w) AS a FROM u;
SELECT x.id, o.n, o.m, o.s, o.a FROM iv x CROSS JOIN LATERAL (SELECT count(*) AS n, count(y.grp) AS m, sum(y.grp) AS s, avg(y.id) AS a FROM iv y WHERE y.lo < x.hi AND y.hi > x.lo) o;
SELECT x.id, (SELECT count(*) FROM iv y WHERE y.lo <= x.hi AND y.hi >= x.lo AND y.grp = x.grp) AS n, (SELECT count(*) FROM iv y WHERE y.lo >= x.lo AND y.hi <= x.hi) AS within FROM iv x;
SELECT x.id FROM iv x WHERE (SELECT sum(y.id) FROM iv y WHERE y.lo < x.hi + 3 AND y.hi > x.lo - 3) > 200;
SELECT x.id, (SELECT count(*) FROM t y WHERE y.dt <= x.dt + 5 AND y.dt >= x.dt - 5 AND y.n > 1) AS days, (SELECT sum(y.n) FROM t y WHERE y.a < x.a + 1 AND y.c > x.c) AS s FROM t x WHERE x.id < 100;
