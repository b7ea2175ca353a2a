-- Functions of texts and numbers.
SELECT id, s ~ '^a', s ~* '^A', s !~ 'e$', s !~* 'PIE' FROM t;
SELECT count(*) FROM t WHERE s ~ 'p+l' AND s !~ '[0-9]$';
SELECT 'a' ~ NULL, NULL ~ 'a', '' ~ '';
-- duckdb: SELECT id, regexp_replace(s, 'p+', 'X'), regexp_replace(s, '[aeiou]', '_', 'g'), regexp_replace(s, 'A', '<\0>', 'gi') FROM t WHERE s !~ 'A'
SELECT id, regexp_replace(s, 'p+', 'X'), regexp_replace(s, '[aeiou]', '_', 'g'), regexp_replace(s, 'A', '<\&>', 'gi') FROM t WHERE s !~ 'A';
-- duckdb: SELECT id, regexp_replace(s, '(.)(.)', '\2\1') FROM t
SELECT id, regexp_replace(s, '(.)(.)', '\2\1') FROM t;
SELECT regexp_replace('https://www.example.com/a/b', '^https?://(?:www\.)?([^/]+)/.*$', '\1');
-- refused: Invalid regular expression
SELECT regexp_replace(s, '(', '') FROM t;
-- refused: flag
SELECT regexp_replace(s, 'a', 'b', 'q') FROM t;
SELECT id, concat(s, a, ok, d), concat_ws('-', s, a, NULL, c) FROM t WHERE d IS NULL;
SELECT concat('a', NULL, 'b'), concat(NULL), concat_ws(',', NULL, NULL), concat_ws(NULL, 'a', 'b'), concat(1, 2);
-- duckdb: SELECT 'a', 'a', 'a', 'a', 'a', 'a', 'b', 'a', NULL
SELECT btrim('  a  '), ltrim('  a'), rtrim('a  '), btrim('xxaxx', 'x'), ltrim('xyxa', 'xy'), rtrim('axyx', 'xy'), trim(both 'ä' from 'äbä'), trim(leading 'x' from 'xa'), btrim(NULL, 'a');
SELECT id, split_part(s, 'p', 1), split_part(s, 'p', 2), split_part(s, ' ', -1), split_part(s, 'zz', 3), split_part(s, 'p', -2) FROM t;
SELECT split_part('', ',', 1), split_part('a,b,,c', ',', 3), split_part(NULL, ',', 1), split_part('ä|ö', '|', 2);
-- refused: cannot be 0
SELECT split_part('a', ',', 0);
SELECT id, left(s, 2), right(s, 2), left(s, -2), right(s, -2), left(s, 0), right(s, 0), left(s, 99), right(s, -99) FROM t;
-- duckdb: SELECT '**ä', 'ab   ', 'ab', 'axyz', '', ''
SELECT lpad('ä', 3, '*'), rpad('ab', 5), lpad('abc', 2), rpad('a', 4, 'xyz'), lpad('a', 0), lpad('a', -1, 'b');
SELECT repeat('ab', 3), repeat('a', 0), repeat('', 1000000), repeat(NULL::varchar, 2), repeat('a', -1);
-- refused: more than 2147483647 bytes
SELECT repeat('ab', 2147483647);
-- duckdb: SELECT 3, 0, 2, NULL, 1, 2
SELECT strpos('äbc', 'c'), strpos('abc', 'x'), position('b' in 'abc'), strpos(NULL, 'a'), strpos('a', ''), octet_length('ä');
SELECT id, strpos(s, 'p') FROM t;
SELECT trunc(2.7), trunc(-2.7), trunc(2.7::double precision), trunc(5), log10(1000.0::double precision), log(100);
SELECT greatest(1, NULL, 3), least('b', 'a'), greatest(NULL, NULL);
-- duckdb: SELECT timestamp '2024-01-01 00:00:00.5'
SELECT to_timestamp(1704067200.5);
SELECT date_trunc('milliseconds', timestamp '2024-01-01 00:00:00.123456');
SELECT extract(minute from ts), count(*) FROM t GROUP BY 1;
