-- Window functions: ranks, values of other rows, aggregates over frames. Orders are total where the result depends on them.
SELECT id, row_number() OVER (ORDER BY id) FROM t;
SELECT id, row_number() OVER (PARTITION BY a ORDER BY id) AS n FROM t ORDER BY id;
SELECT id, row_number() OVER (PARTITION BY a, c ORDER BY s DESC NULLS LAST, id) AS n FROM t;
SELECT id, rank() OVER (ORDER BY a NULLS LAST), dense_rank() OVER (ORDER BY a NULLS LAST) FROM t;
SELECT id, rank() OVER (PARTITION BY c ORDER BY a DESC NULLS FIRST) AS r, dense_rank() OVER (PARTITION BY c ORDER BY a DESC NULLS FIRST) AS d FROM t;
SELECT id, percent_rank() OVER (PARTITION BY a ORDER BY d NULLS LAST) AS p, cume_dist() OVER (PARTITION BY a ORDER BY d NULLS LAST) AS q FROM t;
SELECT id, rank() OVER (ORDER BY s NULLS FIRST) AS r, rank() OVER (ORDER BY dt DESC NULLS LAST) AS q, rank() OVER (PARTITION BY ok ORDER BY ts NULLS LAST) AS p FROM t;
SELECT id, rank() OVER (ORDER BY n NULLS LAST) AS r, rank() OVER (ORDER BY f DESC NULLS LAST) AS q FROM t;
-- columns: ntile is integer as in PostgreSQL, BIGINT in DuckDB
SELECT id, ntile(4) OVER (ORDER BY id) AS n, ntile(7) OVER (PARTITION BY a ORDER BY id) AS m FROM t;
-- columns: ntile is integer as in PostgreSQL, BIGINT in DuckDB
SELECT id, ntile(100000) OVER (ORDER BY id) AS n FROM t;
SELECT id, lag(a) OVER (ORDER BY id), lead(a) OVER (ORDER BY id) FROM t;
SELECT id, lag(s, 3) OVER (PARTITION BY a ORDER BY id) AS x, lead(n, 2, 0) OVER (PARTITION BY a ORDER BY id DESC) AS y FROM t;
SELECT id, lag(s, 1, 'none') OVER (PARTITION BY c ORDER BY id) AS x, lead(ts, 5) OVER (ORDER BY id) AS y, lag(ok) OVER (ORDER BY id) AS z FROM t;
SELECT id, lag(b, 0) OVER (ORDER BY id) AS x, lag(b, -2) OVER (ORDER BY id) AS y, lead(b, 1000000) OVER (ORDER BY id) AS z FROM t;
SELECT id, lag(a, 1, c) OVER (PARTITION BY ok ORDER BY id) AS x, lag(d, 2, id) OVER (ORDER BY id) AS y FROM t;
SELECT id, first_value(s) OVER (PARTITION BY a ORDER BY id) AS x, last_value(s) OVER (PARTITION BY a ORDER BY id) AS y FROM t;
SELECT id, first_value(d) OVER w AS x, last_value(d) OVER w AS y, nth_value(d, 2) OVER w AS z FROM t WINDOW w AS (PARTITION BY a ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING);
SELECT id, nth_value(n, 3) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS x, nth_value(dt, 100000) OVER (ORDER BY id) AS y FROM t;
SELECT id, last_value(id) OVER (PARTITION BY a ORDER BY c NULLS LAST, id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS x FROM t;
SELECT id, count(*) OVER (), count(a) OVER (), sum(a) OVER (), min(a) OVER (), max(a) OVER () FROM t;
SELECT id, count(*) OVER (PARTITION BY s), sum(b) OVER (PARTITION BY s) FROM t;
SELECT id, sum(a) OVER (ORDER BY id), sum(b) OVER (ORDER BY id), sum(c) OVER (ORDER BY id), sum(n) OVER (ORDER BY id), sum(d) OVER (ORDER BY id) FROM t;
SELECT id, sum(a) OVER (PARTITION BY c ORDER BY d NULLS LAST) AS peers FROM t;
SELECT id, count(*) OVER (PARTITION BY a ORDER BY c NULLS FIRST) AS peers, count(d) OVER (PARTITION BY a ORDER BY c NULLS FIRST) AS some FROM t;
-- close: DuckDB rounds averages of numeric more than once
SELECT id, avg(a) OVER (ORDER BY id ROWS 9 PRECEDING) AS x, avg(n) OVER (ORDER BY id ROWS 9 PRECEDING) AS y, avg(d) OVER (PARTITION BY a ORDER BY id ROWS 3 PRECEDING) AS z, avg(b) OVER (ORDER BY id) AS w FROM t;
SELECT id, sum(a) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 2 PRECEDING) AS x, sum(a) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 5 FOLLOWING) AS y, sum(a) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS z FROM t;
SELECT id, sum(d) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING) AS x, sum(f) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS y FROM t;
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 5 PRECEDING) AS none, sum(a) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 5 PRECEDING) AS n FROM t;
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 1000000 PRECEDING AND 1000000 FOLLOWING) AS everything, count(*) OVER (ORDER BY id ROWS BETWEEN 1000000 FOLLOWING AND 2000000 FOLLOWING) AS none FROM t;
SELECT id, min(a) OVER (ORDER BY id ROWS 6 PRECEDING) AS x, max(a) OVER (ORDER BY id ROWS 6 PRECEDING) AS y, min(s) OVER (ORDER BY id ROWS 4 PRECEDING) AS z, max(n) OVER (PARTITION BY a ORDER BY id) AS w FROM t;
SELECT id, min(d) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 6 FOLLOWING) AS x, max(ts) OVER (PARTITION BY c ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS y, min(dt) OVER (ORDER BY id DESC) AS z FROM t;
SELECT id, bool_and(ok) OVER (ORDER BY id ROWS 2 PRECEDING) AS x, bool_or(ok) OVER (PARTITION BY a) AS y FROM t;
SELECT id, sum(b) OVER (ORDER BY a NULLS LAST RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS x, count(*) OVER (ORDER BY a NULLS FIRST RANGE BETWEEN 1 FOLLOWING AND 4 FOLLOWING) AS y FROM t;
SELECT id, count(*) OVER (ORDER BY a DESC NULLS LAST RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS x, count(*) OVER (ORDER BY a DESC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) AS y, count(*) OVER (ORDER BY a NULLS LAST RANGE BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING) AS z FROM t;
SELECT id, count(*) OVER (PARTITION BY c ORDER BY d NULLS LAST RANGE BETWEEN 12.5 PRECEDING AND CURRENT ROW) AS x, count(*) OVER (ORDER BY n NULLS LAST RANGE BETWEEN 100.25 PRECEDING AND 7.5 FOLLOWING) AS y FROM t;
SELECT id, count(*) OVER (ORDER BY dt NULLS LAST RANGE BETWEEN INTERVAL '10 days' PRECEDING AND CURRENT ROW) AS x, sum(a) OVER (ORDER BY ts NULLS LAST RANGE BETWEEN INTERVAL '1 day' PRECEDING AND INTERVAL '1 hour' FOLLOWING) AS y FROM t;
SELECT id, count(*) OVER (PARTITION BY a ORDER BY dt DESC NULLS LAST RANGE BETWEEN INTERVAL '1 month' PRECEDING AND INTERVAL '2 months' FOLLOWING) AS x FROM t;
SELECT id, sum(a) OVER (ORDER BY c NULLS LAST GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS x, count(*) OVER (ORDER BY c NULLS LAST GROUPS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS y, count(*) OVER (PARTITION BY a ORDER BY s NULLS LAST GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS z FROM t;
SELECT id, count(*) FILTER (WHERE ok) OVER (PARTITION BY a) AS x, sum(b) FILTER (WHERE a > 0) OVER (ORDER BY id ROWS 20 PRECEDING) AS y, min(s) FILTER (WHERE c > 0) OVER (ORDER BY id ROWS 3 PRECEDING) AS z FROM t;
SELECT id, sum(a) OVER w AS x, count(*) OVER (w ORDER BY id) AS y, rank() OVER (w ORDER BY d NULLS LAST) AS z FROM t WINDOW w AS (PARTITION BY c);
SELECT id, sum(a) OVER v AS x FROM t WINDOW w AS (PARTITION BY c), v AS (w ORDER BY id ROWS 1 PRECEDING);
SELECT id, a - lag(a) OVER w AS change, coalesce(lag(a) OVER w, 0) + 1 AS before, CASE WHEN row_number() OVER w = 1 THEN 'first' ELSE 'later' END AS place FROM t WINDOW w AS (PARTITION BY c ORDER BY id);
SELECT a, sum(c), sum(sum(c)) OVER (ORDER BY a NULLS LAST) AS running, rank() OVER (ORDER BY count(*) DESC, a NULLS LAST) AS r FROM t GROUP BY a;
SELECT a, count(*) AS n, count(*) * 100 / sum(count(*)) OVER () AS share FROM t GROUP BY a HAVING count(*) > 2 ORDER BY a NULLS LAST;
SELECT a % 3 AS g, max(d) AS top, max(d) - lag(max(d)) OVER (ORDER BY a % 3 NULLS LAST) AS change FROM t GROUP BY a % 3;
SELECT count(*) OVER (), sum(count(*)) OVER () FROM t;
SELECT DISTINCT a, count(*) OVER (PARTITION BY a) AS n FROM t ORDER BY a NULLS LAST;
SELECT DISTINCT dense_rank() OVER (ORDER BY a NULLS LAST) AS n FROM t ORDER BY n;
-- ordered
SELECT id FROM t ORDER BY row_number() OVER (PARTITION BY a ORDER BY id DESC), id;
-- ordered
SELECT id, rank() OVER (ORDER BY a NULLS LAST) AS r FROM t ORDER BY r DESC, id LIMIT 20;
SELECT id, n FROM (SELECT id, a, row_number() OVER (PARTITION BY a ORDER BY d DESC NULLS LAST, id) AS n FROM t) q WHERE n <= 3;
SELECT id, n FROM (SELECT id, a, row_number() OVER (PARTITION BY a ORDER BY id) AS n FROM t) q WHERE a = 7 AND n BETWEEN 2 AND 4;
SELECT id, n FROM (SELECT id, a, row_number() OVER (ORDER BY id) AS n FROM t) q WHERE a = 7;
SELECT count(*) FROM (SELECT id, count(*) OVER (PARTITION BY a, c) AS n, a FROM t) q WHERE a > 3 AND n > 1;
SELECT t.id, u.id AS u, row_number() OVER (PARTITION BY t.a ORDER BY t.id, u.id) AS n, sum(u.v) OVER (PARTITION BY t.a) AS s FROM t JOIN u ON u.t_id = t.id;
SELECT t.id, count(u.id) OVER (PARTITION BY u.k) AS n FROM t LEFT JOIN u ON u.t_id = t.id AND u.w > 0;
WITH w AS (SELECT a, row_number() OVER (ORDER BY id) AS n FROM t) SELECT x.n, y.a FROM w x JOIN w y ON x.n = y.n + 1;
SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id) AS n, rank() OVER (ORDER BY (SELECT count(*) FROM u WHERE u.t_id = t.id), id) AS r FROM t;
SELECT t.id, q.id AS u, q.r, q.s FROM t, LATERAL (SELECT u.id, row_number() OVER (ORDER BY u.id) AS r, sum(u.w) OVER (PARTITION BY u.k) AS s FROM u WHERE u.t_id = t.id) q;
SELECT t.id, q.* FROM t LEFT JOIN LATERAL (SELECT rank() OVER (ORDER BY u.v NULLS LAST) AS r, rank() OVER (ORDER BY u.w) AS s, u.id AS uid FROM u WHERE u.t_id = t.id AND u.w > 0) q ON true;
SELECT id IN (SELECT row_number() OVER (ORDER BY id) FROM u) AS found, id FROM t;
SELECT row_number() OVER () AS n, count(*) OVER (ORDER BY a) AS m, lag(a) OVER (ORDER BY a) AS l FROM e;
SELECT sum(a) OVER (ORDER BY a RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s, ntile(3) OVER (ORDER BY a)::bigint AS n FROM e;
SELECT row_number() OVER () AS n, rank() OVER () AS r, percent_rank() OVER () AS p, cume_dist() OVER () AS c, lag(5) OVER () AS l, sum(3) OVER () AS s;
SELECT id, rank() OVER (PARTITION BY id) AS r, dense_rank() OVER (ORDER BY 1) AS d, percent_rank() OVER (PARTITION BY id) AS p, sum(a) OVER (PARTITION BY id) AS s FROM t;
SELECT i, count(x) OVER (ORDER BY i), max(x) OVER (ORDER BY i ROWS 2 PRECEDING), min(x) OVER (ORDER BY i ROWS 2 PRECEDING), rank() OVER (ORDER BY x NULLS LAST) FROM fl;
SELECT id, min(h) OVER w AS h, max(i) OVER w AS i, min(l) OVER w AS l, max(d) OVER w AS d, max(s) OVER w AS s, min(dt) OVER w AS dt, max(ts) OVER w AS ts, max(m) OVER w AS m FROM ex WINDOW w AS (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING);
SELECT id, sum(l) OVER (ORDER BY id ROWS 1 PRECEDING) AS x, sum(i) OVER (ORDER BY id) AS y, sum(h) OVER (ORDER BY id DESC) AS z FROM ex;
SELECT sym, seq, px - lag(px) OVER w AS change, avg(px) OVER (w ROWS 4 PRECEDING) AS mean FROM quotes WINDOW w AS (PARTITION BY sym ORDER BY ts);
SELECT sym, seq, count(*) OVER (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '5 minutes' PRECEDING AND CURRENT ROW) AS n, max(px) OVER (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '5 minutes' PRECEDING AND INTERVAL '5 minutes' FOLLOWING) AS high FROM quotes;
SELECT x, sum(x) OVER (ORDER BY x) FROM (VALUES (1), (2), (2), (NULL)) v(x) WHERE x IS NOT NULL;
SELECT count(*) OVER (ORDER BY x RANGE BETWEEN 9223372036854775807 PRECEDING AND 1 FOLLOWING) AS n, x FROM (VALUES (9223372036854775806), (-9223372036854775807), (0)) v(x) WHERE x >= 0;
-- refused: cannot stand in WHERE
SELECT id FROM t WHERE row_number() OVER (ORDER BY id) < 3;
-- refused: cannot stand in HAVING
SELECT a FROM t GROUP BY a HAVING sum(count(*)) OVER () > 1;
-- refused: cannot stand in GROUP BY
SELECT row_number() OVER (ORDER BY id) FROM t GROUP BY row_number() OVER (ORDER BY id);
-- refused: cannot stand in GROUP BY
SELECT row_number() OVER (ORDER BY id) AS place FROM t GROUP BY place;
-- refused: arguments of another window function
SELECT sum(row_number() OVER (ORDER BY id)) OVER () FROM t;
-- refused: cannot stand inside an aggregate
SELECT sum(row_number() OVER (ORDER BY id)) FROM t;
-- refused: cannot stand in a window definition
SELECT sum(a) OVER (ORDER BY row_number() OVER (ORDER BY id)) FROM t;
-- refused: needs OVER
SELECT row_number() FROM t;
-- refused: does not take OVER
SELECT abs(a) OVER () FROM t;
-- refused: There is no window
SELECT sum(a) OVER nosuch FROM t;
-- refused: EXCLUDE
SELECT sum(a) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE CURRENT ROW) FROM t;
-- refused: DISTINCT in a window function
SELECT count(DISTINCT a) OVER () FROM t;
-- refused: cannot be negative
SELECT sum(a) OVER (ORDER BY id ROWS -1 PRECEDING) FROM t;
-- refused: one ORDER BY expression
SELECT sum(a) OVER (ORDER BY a, c RANGE 1 PRECEDING) FROM t;
-- refused: GROUP BY
SELECT a, sum(c) OVER () FROM t GROUP BY a;
