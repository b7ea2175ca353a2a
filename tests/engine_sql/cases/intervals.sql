-- Lengths of time: constants, sums with timestamps and dates, differences, bins.
SELECT TIMESTAMP '2024-01-31 10:00:00' + interval '1 hour', TIMESTAMP '2024-01-31 10:00:00' - interval '90 minutes';
SELECT TIMESTAMP '2024-01-31 10:00:00' + interval '1 month', TIMESTAMP '2024-02-29 10:00:00' - interval '1 year', DATE '2024-03-31' - interval '1 month';
SELECT TIMESTAMP '2023-12-31 23:59:59.5' + interval '500 milliseconds', TIMESTAMP '1960-05-31 01:02:03' + interval '9 months', TIMESTAMP '1960-05-31 01:02:03' - interval '3 months';
SELECT DATE '2024-01-31' + interval '1 day', DATE '2024-01-31' + interval '1 month', interval '2 days' + DATE '2024-02-28';
SELECT TIMESTAMP '2024-01-01' + interval '1 day 2 hours 3 minutes 4.5 seconds', TIMESTAMP '2024-01-01' + interval '01:02:03.25', TIMESTAMP '2024-01-01' + interval '2 weeks';
SELECT TIMESTAMP '2024-01-01' + interval '5' minute, TIMESTAMP '2024-01-01' + interval '3' day, TIMESTAMP '2024-01-01' + interval '2' month;
SELECT TIMESTAMP '2024-01-01' + interval '-5 minutes', TIMESTAMP '2024-01-01' - interval '1 day ago';
-- duckdb: SELECT TIMESTAMP '2024-01-01' + 3 * INTERVAL '1 hour', TIMESTAMP '2024-01-01' + INTERVAL '30 minutes', TIMESTAMP '2024-01-01' - INTERVAL '36 hours'
SELECT TIMESTAMP '2024-01-01' + 3 * interval '1 hour', TIMESTAMP '2024-01-01' + interval '1 hour' / 2, TIMESTAMP '2024-01-01' - (interval '1 day' + interval '12 hours');
SELECT TIMESTAMP '2024-01-01' - (interval '1 month' - interval '1 day'), TIMESTAMP '2024-03-31' + 2 * interval '1 month';
SELECT id, ts + interval '1 hour', ts - interval '1 day', interval '30 seconds' + ts FROM t;
SELECT id, ts + interval '1 month', ts - interval '1 year 2 months' FROM t;
SELECT id, dt + interval '1 day', dt - interval '1 month' FROM t;
SELECT id, ts + a * interval '1 minute' FROM t;
SELECT id FROM t WHERE ts >= TIMESTAMP '2024-02-01' AND ts < TIMESTAMP '2024-02-01' + interval '1 week';
SELECT id FROM t WHERE ts BETWEEN TIMESTAMP '2024-02-01' - interval '2 days' AND TIMESTAMP '2024-02-01' + interval '12 hours';
SELECT id FROM t WHERE dt >= DATE '2024-06-01' - interval '1 month' AND dt < DATE '2024-06-01';
SELECT id FROM t WHERE ts + interval '1 day' > TIMESTAMP '2024-04-20';
SELECT id FROM t WHERE ts - TIMESTAMP '2024-01-01' < interval '10 days';
SELECT id FROM t WHERE ts - TIMESTAMP '2024-01-01' BETWEEN interval '1 day' AND interval '1 month';
SELECT id FROM t WHERE ts - dt > interval '100 days';
SELECT interval '1 hour' < interval '61 minutes', interval '1 month' = interval '30 days', interval '1 day' >= interval '25 hours';
-- close: DuckDB adds seconds and their fraction, ours is the nearest double to PostgreSQL's exact number
SELECT id, extract(epoch from ts - TIMESTAMP '2024-01-01') FROM t;
-- close: DuckDB adds seconds and their fraction, ours is the nearest double to PostgreSQL's exact number
SELECT id, date_part('epoch', ts - dt) FROM t;
SELECT extract(epoch from interval '1 day 1 second'), extract(epoch from interval '90 minutes');
SELECT id, ts + (ts - dt) FROM t WHERE id < 200;
-- duckdb: SELECT id, time_bucket(INTERVAL '15 minutes', ts, TIMESTAMP '2024-01-01') FROM t
SELECT id, date_bin(interval '15 minutes', ts, TIMESTAMP '2024-01-01') FROM t;
-- duckdb: SELECT time_bucket(INTERVAL '7 hours', ts, TIMESTAMP '2024-03-01 01:00:00') AS bin, count(*), sum(a) FROM t GROUP BY bin
SELECT date_bin(interval '7 hours', ts, TIMESTAMP '2024-03-01 01:00:00') AS bin, count(*), sum(a) FROM t GROUP BY bin;
SELECT date_trunc('day', ts) AS day, count(*) FROM t GROUP BY date_trunc('day', ts);
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts AND q.ts > t.ts - interval '30 seconds' ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t LEFT JOIN LATERAL (SELECT seq FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts - interval '1 minute' ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT t.id, q.seq FROM trades t JOIN quotes q ON q.sym = t.sym AND q.ts BETWEEN t.ts - interval '10 seconds' AND t.ts;
SELECT count(*) FROM trades t JOIN quotes q ON q.ts BETWEEN t.ts - interval '10 seconds' AND t.ts + interval '10 seconds';
SELECT t.id, extract(epoch from t.ts - q.ts) FROM trades t JOIN LATERAL (SELECT ts FROM quotes q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true;
SELECT max(ts) + interval '1 second', min(dt) - interval '1 day' FROM t;
SELECT id FROM t WHERE ts > (SELECT max(ts) FROM t) - interval '3 days';
SELECT NULL::timestamp + interval '1 day', (NULL::timestamp - TIMESTAMP '2024-01-01') < interval '1 day';
-- duckdb: SELECT true, false, true
SELECT interval '1000000 months 1000000 months 1000000 months 1000000 months' > interval '1 day', interval '-1000000 months -1000000 months -1000000 months -1000000 months' > interval '1 day', 4 * interval '1000000 months' > interval '3 months' + 3 * interval '1000000 months';
-- duckdb: SELECT true
SELECT timestamp '2024-01-02' - timestamp '2024-01-01' < 5 * interval '1000000 months';
