-- Three and more inputs of inner joins, written in orders that are not the best one.
SELECT x.id, y.id, z.id FROM iv z JOIN u y ON z.id = y.w JOIN t x ON x.id = y.t_id WHERE x.id < 20;
SELECT x.id, y.id, z.id FROM t x, u y, iv z WHERE x.id = y.t_id AND z.id = y.w AND z.grp = 2;
SELECT x.id, y.id, z.id FROM u y, iv z, t x WHERE x.id = y.t_id AND y.w = z.lo AND x.a = z.hi;
SELECT count(*), sum(x.a), min(z.lo) FROM t x JOIN u y ON x.id = y.t_id JOIN iv z ON y.w BETWEEN z.lo AND z.hi;
SELECT count(*) FROM t x JOIN u y ON x.id = y.t_id JOIN u y2 ON y2.id = y.id JOIN iv z ON z.id = y2.w WHERE x.a = 3;
SELECT count(*) FROM t a, t b, t c, u d WHERE a.id = b.id AND b.id = c.id AND c.id = d.t_id AND d.w = 5;
SELECT count(*) FROM iv a, iv b, iv c WHERE a.id < 4 AND b.id < 3 AND c.id = a.id + b.id;
SELECT count(*) FROM iv a, iv b, iv c WHERE a.id + b.id = c.id;
SELECT count(*) FROM iv a CROSS JOIN iv b JOIN u ON u.w = a.lo AND u.id = b.id;
SELECT x.id, y.k, z.grp FROM t x JOIN u y ON x.id = y.t_id LEFT JOIN iv z ON z.id = y.w WHERE x.id < 40;
SELECT q.id, z.id FROM (SELECT x.id, y.w FROM t x JOIN u y ON x.id = y.t_id JOIN iv v ON v.id = y.w) q JOIN iv z ON z.id = q.w;
SELECT x.id, m.most FROM t x JOIN u y ON x.id = y.t_id JOIN (SELECT w, max(id) AS most FROM u GROUP BY w) m ON m.w = y.w WHERE x.a > 15;
SELECT t.id, q.seq, u.k FROM trades t JOIN quotes q ON q.sym = t.sym AND q.ts = t.ts JOIN u ON u.id = t.id;
SELECT a.id, b.id, c.id FROM u a JOIN u b ON a.k = b.k JOIN u c ON b.k = c.k AND c.id = a.id WHERE a.w = 7;
SELECT count(*) FROM e x, t y, u z WHERE x.id = y.id AND y.id = z.t_id;
-- ordered
SELECT x.id, y.id, z.id FROM iv z, t x, u y WHERE x.id = y.t_id AND z.id = y.w ORDER BY x.id, y.id, z.id LIMIT 30;
