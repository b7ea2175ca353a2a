-- FILTER, standard deviations, percentiles, string_agg, bool_and and bool_or.
SELECT count(*) FILTER (WHERE a > 3), count(a) FILTER (WHERE ok), sum(c) FILTER (WHERE a > 3), min(s) FILTER (WHERE c > 0) FROM t;
SELECT a, count(*) FILTER (WHERE ok), sum(d) FILTER (WHERE c > 0), avg(d) FILTER (WHERE false), max(dt) FILTER (WHERE c > 0) FROM t GROUP BY a;
SELECT count(DISTINCT a) FILTER (WHERE c > 0), count(DISTINCT a) FROM t;
-- duckdb: SELECT sum(10 // c) FROM t WHERE c > 5
SELECT sum(10 / c) FILTER (WHERE c > 5) FROM t;
SELECT count(*) FILTER (WHERE x > 2) FROM (VALUES (1), (2), (3), (NULL)) v(x);
SELECT a FROM t GROUP BY a HAVING count(*) FILTER (WHERE ok) > 5;
-- refused: cannot stand in FILTER
SELECT count(*) FILTER (WHERE count(*) > 1) FROM t;
-- refused: not an aggregate function
SELECT length(s) FILTER (WHERE ok) FROM t;
-- close: another algorithm
SELECT stddev(d), stddev_samp(d), stddev_pop(d), variance(d), var_samp(d), var_pop(d) FROM t;
-- close: another algorithm
SELECT a, stddev(c), var_pop(n), variance(f), stddev_pop(b) FROM t GROUP BY a;
SELECT stddev(x), stddev_pop(x), variance(x), var_pop(x) FROM (VALUES (5)) v(x);
SELECT stddev(x), var_pop(x) FROM (VALUES (NULL::double precision)) v(x);
SELECT stddev(a), var_pop(a) FROM t WHERE false;
SELECT var_pop(x), stddev(x) FROM (VALUES (3.5), (3.5), (3.5)) v(x);
-- close: another algorithm
SELECT stddev(DISTINCT a), stddev(a) FILTER (WHERE ok) FROM t;
-- duckdb: SELECT 'nan'::double
SELECT var_pop(x) FROM (VALUES ('Infinity'::double precision), (1)) v(x);
-- refused: takes numbers
SELECT stddev(s) FROM t;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d) FROM t;
SELECT a, percentile_cont(0.25) WITHIN GROUP (ORDER BY c), percentile_disc(0.25) WITHIN GROUP (ORDER BY c) FROM t GROUP BY a;
SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY s), percentile_disc(0.5) WITHIN GROUP (ORDER BY dt) FROM t;
SELECT percentile_cont(0) WITHIN GROUP (ORDER BY c), percentile_cont(1) WITHIN GROUP (ORDER BY c), percentile_disc(0) WITHIN GROUP (ORDER BY c), percentile_disc(1) WITHIN GROUP (ORDER BY c) FROM t;
-- duckdb: SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY c DESC), percentile_disc(0.25) WITHIN GROUP (ORDER BY c DESC) FROM t
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY c DESC), percentile_disc(0.25) WITHIN GROUP (ORDER BY c DESC) FROM t;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY c) FROM t WHERE false;
SELECT a, percentile_cont(0.5) WITHIN GROUP (ORDER BY d) FILTER (WHERE ok) FROM t GROUP BY a;
-- refused: from 0 to 1
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY c) FROM t;
-- refused: WITHIN GROUP
SELECT percentile_cont(0.5) FROM t;
-- refused: has to be a constant
SELECT percentile_cont(d) WITHIN GROUP (ORDER BY c) FROM t;
SELECT string_agg(s, ',' ORDER BY id) FROM t WHERE id < 30;
SELECT a, string_agg(s, '; ' ORDER BY c DESC NULLS LAST, id) FROM t GROUP BY a;
SELECT string_agg(s, ',' ORDER BY s NULLS LAST) FROM t WHERE id < 30;
-- duckdb: SELECT string_agg(s, ',' ORDER BY s) FROM t WHERE id < 30
SELECT string_agg(s, ',') FROM t WHERE id < 30;
SELECT string_agg(DISTINCT s, ',' ORDER BY s) FROM t;
SELECT a, string_agg(s, '' ORDER BY id) FILTER (WHERE ok) FROM t GROUP BY a;
SELECT string_agg(s, ',' ORDER BY id) FROM t WHERE false;
-- duckdb: SELECT string_agg(k || w, '' ORDER BY id) FROM u WHERE id < 5
SELECT string_agg(k || w::varchar, NULL ORDER BY id) FROM u WHERE id < 5;
-- refused: takes text
SELECT string_agg(a, ',') FROM t;
-- refused: a text and a separator
SELECT string_agg(s) FROM t;
-- duckdb: SELECT a, bool_and(ok), bool_or(ok), bool_and(c > 0) FROM t GROUP BY a
SELECT a, bool_and(ok), bool_or(ok), every(c > 0) FROM t GROUP BY a;
SELECT bool_and(ok), bool_or(ok) FROM t WHERE false;
SELECT bool_and(ok) FILTER (WHERE id < 3), bool_or(c > 299) FROM t;
-- refused: takes boolean
SELECT bool_and(a) FROM t;
SELECT id, (SELECT string_agg(k, ',' ORDER BY u.id) FROM u WHERE u.t_id = t.id) FROM t;
-- close: another algorithm
SELECT id, (SELECT stddev(w) FROM u WHERE u.t_id = t.id), (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY w) FROM u WHERE u.t_id = t.id) FROM t;
