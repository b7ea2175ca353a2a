"""Random SELECT statements over the sample tables (data.py), from a small grammar.

A scope is a list of (alias, {column: kind}); kinds say which constants a column is compared with and where it may be used.
"""
import random

COLUMNS = {
    "t": {"id": "int", "a": "int", "b": "int", "c": "int", "d": "float", "f": "real", "n": "num", "s": "text", "dt": "date",
          "ts": "time", "ok": "bool"},
    "u": {"id": "int", "t_id": "int", "k": "text", "v": "num", "w": "int"},
    "iv": {"id": "int", "lo": "int", "hi": "int", "grp": "int"},
    "fl": {"id": "int", "x": "special"},  # no sums: DuckDB's of such values depend on the order of rows
    "ex": {"id": "int", "h": "int16", "i": "int32", "l": "int64", "m": "num38", "d": "special", "s": "text", "dt": "day_extreme",
           "ts": "time_extreme"},
}
CONSTANTS = {
    "special": ["0", "1.5", "-1.5", "1e300", "5e-324", "'-0'::double precision", "'NaN'::double precision",
                "'-inf'::double precision", "'inf'::double precision"],
    "int16": ["0", "-32768", "32767", "-1", "32768", "-32769"],
    "int32": ["0", "-2147483648", "2147483647", "2147483646", "-1", "2147483648", "-2147483649"],
    "int64": ["0", "-9223372036854775808", "9223372036854775807", "9223372036854775806", "-1", "9007199254740993"],
    "num38": ["0", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "1",
              "12345678901234567890123456789012345678"],
    "day_extreme": ["DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1970-01-01'", "DATE '2024-02-29'", "DATE '1969-12-31'"],
    "time_extreme": ["TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'",
                     "TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '1970-01-01 00:00:00'"],
}
WORDS = ["apple", "apricot3", "banana", "berry", "cherry7", "date", "", "zebra", "aa", "bbb", "c", "äpfel", "Ärger", "日本", "日本語",
         "😀", "😀a", "ｚ", "e\u0301", "é", "ÿ", "\u07ff", "\uffff", "\U0010ffff", " ", "it''s", "%", "_"]
PREFIXES = ["a", "ap", "b", "z", "c", "ä", "日", "日本", "😀", "é", ""]
NUMBERS = {"int", "num"}
ORDERED = {"int", "num", "text", "date", "time", "int16", "int32", "int64", "num38", "day_extreme", "time_extreme"}
GROUPED = {"int", "text", "bool", "int16", "int32", "int64"}
FLOATS = {"float", "real", "special"}
COUNTED = {"int", "text", "date", "num", "int32", "int64", "num38", "day_extreme"}
# Columns whose values have a match in the other table often enough, and not in many rows of both; each pair is of one type.
JOIN_KEYS = {("t", "u"): [("id", "t_id")], ("u", "t"): [("t_id", "id")], ("u", "iv"): [("w", "lo"), ("id", "id")],
             ("t", "iv"): [("a", "lo"), ("id", "id"), ("c", "hi")], ("iv", "u"): [("id", "t_id")], ("iv", "t"): [("hi", "id")],
             ("ex", "u"): [("id", "id")], ("u", "ex"): [("id", "id")], ("t", "ex"): [("s", "s"), ("id", "id")],
             ("ex", "iv"): [("id", "grp")], ("iv", "ex"): [("grp", "id")], ("ex", "t"): [("s", "s")]}


class Generator:
    def __init__(self, seed, large=False):
        self.rng = random.Random(seed)
        self.aliases = 0
        self.large = large  # subqueries are joined by keys, or tables of 300,000 rows would have billions of pairs

    def pick(self, items):
        return self.rng.choice(list(items))

    def chance(self, probability):
        return self.rng.random() < probability

    def new_alias(self):
        self.aliases += 1
        return f"q{self.aliases}"

    def columns(self, scope, kinds):
        return [f"{alias}.{name}" for alias, columns in scope for name, kind in columns.items() if kind in kinds]

    def keys(self, scope):
        """Columns of a subquery that are compared with those outside of it."""
        return [f"{alias}.id" for alias, _ in scope] if self.large else self.columns(scope, {"int"})

    # Expressions

    def constant(self, kind, name=""):
        if kind in CONSTANTS:
            return self.pick(CONSTANTS[kind])
        if kind == "int":
            if name.endswith(".b"):
                return str(self.rng.randint(-10**12, 10**12))
            return str(self.rng.randint(0, 900) if name.endswith("id") else self.rng.randint(-25, 25))
        if kind in ("float", "real"):
            return str(self.rng.randint(-400, 400) / 8)
        if kind == "num":
            return str(self.rng.randint(-10**6, 10**6) / 100)
        if kind == "text":
            return "'" + self.pick(WORDS) + "'"
        if kind == "date":
            return f"DATE '2024-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}'"
        return f"TIMESTAMP '2024-0{self.rng.randint(1, 5)}-{self.rng.randint(1, 28):02} {self.rng.randint(0, 23):02}:30:00'"

    def number(self, scope, depth=2):
        roll = self.rng.random()
        if depth == 0 or roll < 0.5:
            return self.pick(self.columns(scope, NUMBERS if roll < 0.4 else {"int"}))
        if roll < 0.6:
            return str(self.rng.randint(-9, 9))
        if roll < 0.7:
            return f"coalesce({self.number(scope, depth - 1)}, {self.rng.randint(-5, 5)})"
        if roll < 0.8:
            return f"CASE WHEN {self.condition(scope, 1)} THEN {self.number(scope, depth - 1)} ELSE {self.number(scope, depth - 1)} END"
        if roll < 0.85:
            return f"nullif({self.number(scope, depth - 1)}, {self.rng.randint(-5, 5)})"
        return f"({self.number(scope, depth - 1)} {self.pick('+-')} {self.number(scope, depth - 1)})"

    def text(self, scope):
        """A text expression, or None where the scope has no text."""
        names = self.columns(scope, {"text"})
        if not names:
            return None
        name = self.pick(names)
        return self.pick([name, f"upper({name})", f"coalesce({name}, 'ø')", f"{name} || '日'", f"length({name})",
                          f"substring({name}, 2, 2)", f"replace({name}, 'é', 'e')", f"trim({name})"])

    def comparison(self, scope):
        alias, columns = self.pick(scope)
        name, kind = self.pick(columns.items())
        column = f"{alias}.{name}"
        if kind == "bool":
            return self.pick([column, f"NOT {column}", f"{column} IS NOT TRUE"])
        roll = self.rng.random()
        if roll < 0.1:
            return f"{column} IS {self.pick(['', 'NOT '])}NULL"
        if roll < 0.3:
            return f"{column} BETWEEN {self.constant(kind, column)} AND {self.constant(kind, column)}"
        if roll < 0.4:
            values = ", ".join(self.constant(kind, column) for _ in range(self.rng.randint(1, 4)))
            return f"{column} {self.pick(['', 'NOT '])}IN ({values})"
        if kind == "text" and roll < 0.6:
            return f"{column} LIKE '{self.pick(PREFIXES)}{self.pick(['%', '_%', '_'])}'"
        if kind == "text" and roll < 0.7:
            return f"length({column}) {self.pick(['=', '<', '>'])} {self.rng.randint(0, 6)}"
        if kind == "int" and roll < 0.5:
            return f"{column} {self.pick(['<', '>=', '='])} {self.pick(self.columns(scope, {'int'}))}"
        if roll < 0.75:
            return f"{column} IS {self.pick(['', 'NOT '])}DISTINCT FROM {self.constant(kind, column)}"
        return f"{column} {self.pick(['=', '<', '<=', '>', '>=', '<>'])} {self.constant(kind, column)}"

    def condition(self, scope, depth=2):
        roll = self.rng.random()
        if depth == 0 or roll < 0.45:
            return self.comparison(scope)
        if roll < 0.75:
            return f"({self.condition(scope, depth - 1)} AND {self.condition(scope, depth - 1)})"
        if roll < 0.9:
            return f"({self.condition(scope, depth - 1)} OR {self.condition(scope, depth - 1)})"
        return f"NOT ({self.condition(scope, depth - 1)})"

    # Subqueries

    def scalar_subquery(self):
        """Of one integer, or of none."""
        table = self.pick(["t", "u", "iv"])
        alias = self.new_alias()
        scope = [(alias, COLUMNS[table])]
        column = self.pick(self.columns(scope, {"int"}))
        if self.chance(0.2):
            return f"(SELECT {column} FROM {table} {alias} WHERE {alias}.id = {self.rng.randint(-1, 70)})"
        return f"(SELECT {self.pick(['min', 'max', 'count'])}({column}) FROM {table} {alias} WHERE {self.condition(scope, 1)})"

    def correlated_subquery(self, scope):
        """Of one number for each row outside, or NULL: linked by one or two equalities, maybe with conditions on either side."""
        table = self.pick(["t", "u", "iv", "ex", "fl"])
        alias = self.new_alias()
        inner = [(alias, COLUMNS[table])]
        outer = self.columns(scope, {"int"})
        value = self.pick(self.columns(inner, {"int"}))
        if self.chance(0.15):  # ids are unique
            return f"(SELECT {value} FROM {table} {alias} WHERE {alias}.id = {self.pick(outer)})"
        links = [f"{self.pick(self.keys(inner))} = {self.pick(outer)}"]
        if self.chance(0.2):
            links.append(f"{self.pick(outer)} = {self.pick(self.columns(inner, {'int'}))}")
        if self.chance(0.5):
            links.append(self.condition(inner, 1))
        if self.chance(0.15):
            links.append(self.comparison(scope))
        exact = self.pick(self.columns(inner, {"int", "num"} & set(COLUMNS[table].values())))
        floats = self.columns(inner, FLOATS)
        if floats and self.chance(0.3):
            return f"(SELECT {self.pick(['min', 'max', 'count'])}({self.pick(floats)}) FROM {table} {alias} WHERE {' AND '.join(links)})"
        call = self.pick([f"min({value})", f"max({value})", f"count({value})", "count(*)", f"sum({exact})", f"avg({value})",
                          f"count(DISTINCT {value})", f"coalesce(sum({exact}), 0)", f"max({value}) - min({value})",
                          f"2 * min({exact})", f"CASE WHEN count(*) > 2 THEN max({value}) ELSE -1 END"])
        return f"(SELECT {call} FROM {table} {alias} WHERE {' AND '.join(links)})"

    def sum_subquery(self, scope):
        """Of one integer for each row outside, of a sum, which the engine takes for an expression that may fail."""
        table = self.pick(["t", "u", "iv"])
        alias = self.new_alias()
        inner = [(alias, COLUMNS[table])]
        value = f"{self.pick(self.columns(inner, {'int'}))} {self.pick('+-')} {self.rng.randint(0, 9)}"
        links = [f"{self.pick(self.keys(inner))} = {self.pick(self.columns(scope, {'int'}))}"]
        if self.chance(0.3):
            links.append(self.comparison(inner))
        if self.chance(0.2):
            links.append(f"{self.pick(self.columns(inner, {'int'}))} <= {self.pick(self.columns(scope, {'int'}))}")
        return f"(SELECT {self.pick(['min', 'max'])}({value}) FROM {table} {alias} WHERE {' AND '.join(links)})"

    def reached_value(self, scope):
        """An integer with a subquery that some rows reach."""
        condition, query, column = self.condition(scope, 1), self.sum_subquery(scope), self.pick(self.columns(scope, {"int"}))
        return self.pick([f"CASE WHEN {condition} THEN {query} END", f"CASE WHEN {condition} THEN {column} ELSE {query} END",
                          f"CASE WHEN {condition} THEN 1 WHEN {query} > {column} THEN 2 END", f"coalesce({column}, {query})",
                          f"CASE WHEN {self.sum_subquery(scope)} > {column} THEN {query} END",
                          f"coalesce({self.sum_subquery(scope)}, {query})"])

    def reached_condition(self, scope):
        """A condition with a subquery that some rows reach."""
        column = self.pick(self.columns(scope, {"int"}))
        query = self.pick([f"{column} {self.pick(['=', '<', '>='])} {self.sum_subquery(scope)}", self.membership(scope),
                           self.existence(scope)])
        return f"({self.condition(scope, 1)} {self.pick(['AND', 'OR', 'OR'])} {query})"

    def window_aggregate(self, scope):
        """An aggregate over the rows whose value is in a range around one outside, perhaps among those with an equal key."""
        table = self.pick(["t", "u", "iv"])
        alias = self.new_alias()
        inner = [(alias, COLUMNS[table])]
        outer = self.columns(scope, {"int"})
        at, by = self.pick(self.columns(inner, {"int"})), self.pick(outer)
        lower = f"{at} {self.pick(['>', '>='])} {by} - {self.rng.randint(-3, 9)}"
        upper = f"{at} {self.pick(['<', '<='])} {self.pick([by, by, self.pick(outer)])} + {self.rng.randint(-3, 9)}"
        links = self.pick([[lower, upper], [upper, lower], [lower], [upper]])
        if self.large or self.chance(0.5):
            links.insert(self.rng.randint(0, len(links)), f"{self.pick(self.keys(inner))} = {self.pick(outer)}")
        if self.chance(0.4):
            links.append(self.condition(inner, 1))
        exact = self.pick(self.columns(inner, {"int", "num"}))
        value = self.pick(self.columns(inner, {"int", "num", "text", "date"}))
        call = self.pick(["count(*)", f"count({value})", f"sum({exact})", f"avg({exact})", f"min({value})", f"max({value})",
                          f"sum({exact} + 1)", f"max({exact}) - min({exact})"])
        return f"(SELECT {call} FROM {table} {alias} WHERE {' AND '.join(links)})"

    def nearest(self, scope):
        """FROM with the nearest row before or after a value outside, and what is selected: rows at the same distance differ in
        other columns, so only that value and constants."""
        table = self.pick(["t", "u", "iv", "fl", "ex"])
        alias, result = self.new_alias(), self.new_alias()
        kinds = self.pick([{"int"}, {"int"}, {"num"}, {"text"}, {"time"}, {"date"}, {"float"}, {"special"}, {"special"}])
        scope_of_inner = [(alias, COLUMNS[table])]
        inner, outer = self.columns(scope_of_inner, kinds), self.columns(scope, kinds)
        if not inner or not outer:
            return None
        at, bound = self.pick(inner), self.pick(outer)
        compared, order = self.pick([("<=", " DESC"), ("<", " DESC"), (">=", ""), (">", "")])
        links = [f"{at} {compared} {bound}"]
        if kinds == {"int"} and self.chance(0.3):
            links.append(f"{at} >= {bound} - {self.rng.randint(0, 6)}" if order else f"{at} <= {bound} + {self.rng.randint(0, 6)}")
        if self.chance(0.5):
            keys = self.pick([{"int"}, {"int"}, {"text"}])
            mine, theirs = self.columns(scope_of_inner, keys), self.columns(scope, keys)
            if mine and theirs:
                links.append(f"{self.pick(mine)} = {self.pick(theirs)}")
        if self.chance(0.3):
            links.append(self.comparison(scope_of_inner))
        self.rng.shuffle(links)
        values = [at, at, f"coalesce({at}, {self.constant(*kinds, at)})", f"{at} IS NULL", "7", "'found'"]
        if kinds == {"int"}:
            values += [f"{at} + 1", f"coalesce({at} * 2, 7)"]
        text = f"{self.pick(values)} AS v FROM {table} {alias} WHERE {' AND '.join(links)} ORDER BY {at}{order} LIMIT 1"
        if self.chance(0.3):
            return "", f"(SELECT {text}) AS found"
        return f" {self.pick(['LEFT', 'LEFT', 'INNER'])} JOIN LATERAL (SELECT {text}) {result} ON true", f"{result}.v"

    def first_rows(self, scope):
        """FROM with the first rows of a subquery for each row outside, in a total order."""
        table = self.pick(["t", "u", "iv", "fl", "ex"])
        alias, result = self.new_alias(), self.new_alias()
        inner = [(alias, COLUMNS[table])]
        outer = self.columns(scope, {"int"})
        links = [f"{self.pick(self.keys(inner) + self.columns(inner, {'int'}))} = {self.pick(outer)}"]
        if self.chance(0.3):
            links.append(f"{self.pick(self.columns(inner, {'int'}))} {self.pick(['<', '>='])} {self.pick(outer)}")
        if self.chance(0.4):
            links.append(self.comparison(inner))
        self.rng.shuffle(links)
        first = self.pick(self.columns(inner, ORDERED | FLOATS))
        nulls, direction = self.pick([("LAST", ""), ("FIRST", " DESC"), ("FIRST", ""), ("LAST", " DESC")])
        values = [f"{alias}.id", first, self.number(inner, 1), f"coalesce({alias}.id, 7)", "7"]
        limit = f" LIMIT {self.rng.randint(0, 4)}" + (f" OFFSET {self.rng.randint(0, 2)}" if self.chance(0.3) else "")
        text = (f"{alias}.id AS i, {self.pick(values)} AS v FROM {table} {alias} WHERE {' AND '.join(links)} "
                f"ORDER BY {first}{direction} NULLS {nulls}, {alias}.id{limit}")
        return f" {self.pick(['LEFT', 'INNER'])} JOIN LATERAL (SELECT {text}) {result} ON true", f"{result}.i, {result}.v"

    def window(self, scope):
        """A window function whose result does not depend on the order of rows that its ORDER BY leaves equal."""
        ids = [f"{alias}.id NULLS LAST" for alias, _ in scope]
        partition = self.pick(["", "", f"PARTITION BY {self.pick(self.columns(scope, GROUPED | FLOATS))} "])
        if self.chance(0.1):
            partition = f"PARTITION BY {self.pick(self.columns(scope, {'int'}))} % 3, {self.pick(self.columns(scope, GROUPED))} "
        first = self.pick(self.columns(scope, ORDERED | FLOATS))
        nulls, direction = self.pick([("LAST", ""), ("FIRST", " DESC"), ("FIRST", ""), ("LAST", " DESC")])
        by = f"ORDER BY {first}{direction} NULLS {nulls}"
        total = f"{by}, {', '.join(ids)}"
        if self.chance(0.25):
            return f"{self.pick(['rank', 'dense_rank', 'percent_rank', 'cume_dist'])}() OVER ({partition}{by})"
        if self.chance(0.1):
            return f"row_number() OVER ({partition}{total})"
        value = self.pick(self.columns(scope, ORDERED | FLOATS))
        if self.chance(0.2):
            return f"{self.pick(['lag', 'lead'])}({value}, {self.rng.randint(0, 4)}) OVER ({partition}{total})"
        bounds = ["UNBOUNDED PRECEDING", f"{self.rng.randint(0, 5)} PRECEDING", "CURRENT ROW", f"{self.rng.randint(0, 5)} FOLLOWING",
                  "UNBOUNDED FOLLOWING"]
        start = self.rng.randint(0, 3)
        end = self.rng.randint(max(start, 1), 4)
        between = f"BETWEEN {bounds[start]} AND {bounds[end]}"
        unit = self.pick(["rows", "range", "groups", "default"])
        if unit == "rows":
            over = f"{partition}{total} ROWS {between}"
        elif unit == "groups":
            over = f"{partition}{by} GROUPS {between}"
        elif unit == "range":
            over = f"{partition}ORDER BY {self.pick(self.columns(scope, {'int'}))}{direction} NULLS {nulls} RANGE {between}"
        else:
            over = f"{partition}{self.pick([by, total, ''])}"
        if unit == "rows" and self.chance(0.3):
            call = self.pick([f"first_value({value})", f"last_value({value})", f"nth_value({value}, {self.rng.randint(1, 3)})"])
        else:
            exact = self.pick(self.columns(scope, {"int", "num"}))
            call = self.pick(["count(*)", f"count({value})", f"min({value})", f"max({value})", f"sum({exact})", f"avg({exact})"])
        return f"{call} OVER ({over})"

    def membership(self, scope):
        table = self.pick(["t", "u", "iv"])
        alias = self.new_alias()
        inner = [(alias, COLUMNS[table])]
        column, outer = self.pick(self.keys(inner)), self.pick(self.columns(scope, {"int"}))
        correlated = self.chance(0.4)
        word = self.pick(["IN", "NOT IN"])
        also = f" AND {self.pick(self.keys(inner))} = {self.pick(self.columns(scope, {'int'}))}" if correlated else ""
        return f"{outer} {word} (SELECT {column} FROM {table} {alias} WHERE {self.condition(inner, 1)}{also})"

    def existence(self, scope):
        table = self.pick(["t", "u", "iv", "ex"])
        alias = self.new_alias()
        inner = [(alias, COLUMNS[table])]
        link = f"{self.pick(self.keys(inner))} = {self.pick(self.columns(scope, {'int'}))}"
        also = f" AND {self.condition(inner, 1)}" if self.chance(0.7) else ""
        return f"{self.pick(['', 'NOT '])}EXISTS (SELECT 1 FROM {table} {alias} WHERE {link}{also})"

    def subquery_condition(self, scope):
        roll = self.rng.random()
        if self.chance(0.15):
            return self.reached_condition(scope)
        if roll < 0.5:
            subquery = self.scalar_subquery() if roll < 0.2 else self.correlated_subquery(scope)
            return f"{self.pick(self.columns(scope, {'int'}))} {self.pick(['=', '<', '>=', '<>'])} {subquery}"
        if roll < 0.75:
            return self.membership(scope)
        return self.existence(scope)

    # FROM

    def table(self, name):
        """A table, or a subquery in FROM that keeps some of its columns."""
        if self.chance(0.8):
            return name, [(name, COLUMNS[name])]
        alias = self.new_alias()
        inner = [(name, COLUMNS[name])]
        rest = [column for column in COLUMNS[name] if column != "id"]
        kept = ["id"] + self.rng.sample(rest, self.rng.randint(1, len(rest)))
        text = f"(SELECT {', '.join(kept)} FROM {name} WHERE {self.condition(inner, 1)}) {alias}"
        return text, [(alias, {column: COLUMNS[name][column] for column in kept})]

    def three_tables(self):
        """Outer joins of three tables, in both shapes: (a JOIN b) JOIN c and a JOIN (b JOIN c)."""
        first, second = self.pick([pair for pair in JOIN_KEYS if pair[0] != pair[1]])
        third = self.pick([other for left, other in JOIN_KEYS if left == second and other != first] or [None])
        if third is None:
            return self.three_tables()
        scope = [(name, COLUMNS[name]) for name in (first, second, third)]
        x, y = self.pick(JOIN_KEYS[first, second])
        v, w = self.pick(JOIN_KEYS[second, third])
        one, two = (self.pick(["LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"]) for _ in range(2))
        on_one, on_two = f"{first}.{x} = {second}.{y}", f"{second}.{v} = {third}.{w}"
        if one != "FULL JOIN" and self.chance(0.3):
            on_one += f" AND {self.comparison(scope[:2])}"
        if two != "FULL JOIN" and self.chance(0.3):
            on_two += f" AND {self.comparison(scope[1:])}"
        if self.chance(0.5):
            return f"{first} {one} {second} ON {on_one} {two} {third} ON {on_two}", scope
        return f"{first} {one} ({second} {two} {third} ON {on_two}) ON {on_one}", scope

    def three_inner_joins(self):
        """Inner joins of three tables with a condition on several of them that the engine takes for one that may fail."""
        (first, second), third = self.pick([("t", "u"), ("u", "t")]), "iv"
        x, y = self.pick(JOIN_KEYS[first, second])
        v, w = self.pick(JOIN_KEYS[second, third])
        scope = [(name, COLUMNS[name]) for name in (first, second, third)]
        columns = [self.pick(self.columns([part], {"int"})) for part in self.rng.sample(scope, self.rng.randint(2, 3))]
        sums = f" {self.pick('+-')} ".join(columns)
        conditions = [f"{first}.{x} = {second}.{y}", f"{second}.{v} = {third}.{w}",
                      f"{sums} {self.pick(['<', '>=', '<>'])} {self.rng.randint(-20, 400)}"]
        self.rng.shuffle(conditions)
        tables = self.rng.sample([first, second, third], 3)
        return f"{tables[0]} CROSS JOIN {tables[1]} JOIN {tables[2]} ON {' AND '.join(conditions)}", scope

    def source(self):
        roll = self.rng.random()
        if roll < 0.5:
            return self.table(self.pick(COLUMNS))
        if roll < 0.68:
            join = self.pick(["JOIN", "LEFT JOIN"])
            scope = [("t", COLUMNS["t"]), ("u", COLUMNS["u"])]
            extra = f" AND {self.comparison(scope)}" if self.chance(0.3) else ""
            return f"t {join} u ON t.id = u.t_id{extra}", scope
        if roll < 0.75:
            return "u JOIN iv ON u.w BETWEEN iv.lo AND iv.hi", [("u", COLUMNS["u"]), ("iv", COLUMNS["iv"])]
        if roll < 0.82:
            return "t x JOIN u y ON x.a = y.w AND x.id < 60", [("x", COLUMNS["t"]), ("y", COLUMNS["u"])]
        return self.three_inner_joins() if roll < 0.86 else self.three_tables()

    def where(self, scope):
        if self.chance(0.15):
            return ""
        condition = self.condition(scope)
        if self.chance(0.25):
            condition += f" AND {self.subquery_condition(scope)}"
        return f" WHERE {condition}"

    # Statements: text, whether the order is total, whether the answer stays short however large the tables are

    def aggregate(self, scope):
        function = self.pick(["count", "sum", "min", "max", "avg", "count(DISTINCT", "*"])
        if function == "*":
            return "count(*)"
        if function == "count(DISTINCT":
            return f"count(DISTINCT {self.pick(self.columns(scope, COUNTED))})"
        if function in ("min", "max"):
            return f"{function}({self.pick(self.columns(scope, ORDERED | {'float'}))})"
        return f"{function}({self.pick(self.columns(scope, {'int', 'num', 'float', 'int16', 'int32', 'int64'}))})"

    def grouped(self, source, scope):
        key = self.pick(self.columns(scope, GROUPED))
        having = f" HAVING count(*) > {self.rng.randint(1, 4)}" if self.chance(0.3) else ""
        calls = f"{self.aggregate(scope)} AS x, {self.aggregate(scope)}"
        return f"SELECT {key}, {calls} FROM {source}{self.where(scope)} GROUP BY {key}{having}"

    def ordered(self, source, scope):
        keys = [f"{alias}.id" for alias, _ in scope]
        first = self.pick(self.columns(scope, ORDERED))
        nulls, direction = self.pick([("LAST", ""), ("FIRST", " DESC"), ("FIRST", ""), ("LAST", " DESC")])
        order = ", ".join([f"{first}{direction} NULLS {nulls}"] + [f"{key} NULLS LAST" for key in keys])
        limit = f" LIMIT {self.rng.randint(0, 40)}" + (f" OFFSET {self.rng.randint(0, 20)}" if self.chance(0.3) else "")
        more = f", {self.number(scope)}" if self.chance(0.3) else ""
        return f"SELECT {', '.join(keys)}, {first}{more} FROM {source}{self.where(scope)} ORDER BY {order}{limit}"

    def union(self):
        """Branches of an integer and a text or a second integer, with one set operation; the names are the first branch's."""
        word = self.pick(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
        texts = self.chance(0.5)
        branches = []
        for number in range(self.rng.randint(2, 4)):
            source, scope = self.table(self.pick(["t", "u", "ex"] if texts else ["t", "u", "iv"]))
            second = self.pick(self.columns(scope, {"text"}) or ["'none'"]) if texts else self.pick(self.columns(scope, {"int"}))
            first = self.pick(self.columns(scope, {"int"}))
            branches.append(f"SELECT {first}{' AS first' if number == 0 else ''}, {second} FROM {source}{self.where(scope)}")
        if self.chance(0.3):
            branches[-1] = "SELECT NULL, NULL" if self.chance(0.5) else f"VALUES ({self.rng.randint(-9, 9)}, {'NULL' if texts else 7})"
        return f" {word} ".join(branches)

    def statement(self):
        if self.chance(0.1):
            text = self.union()
            if self.chance(0.5):
                return f"SELECT count(*), count(DISTINCT first), min(first), max(first) FROM ({text}) r", False, True
            return text, False, False
        source, scope = self.source()
        roll = self.rng.random()
        if roll < 0.3:
            calls = ", ".join(self.aggregate(scope) for _ in range(self.rng.randint(1, 3)))
            return f"SELECT {calls} FROM {source}{self.where(scope)}", False, True
        if roll < 0.5:
            return self.grouped(source, scope), False, True
        if roll < 0.7:
            return self.ordered(source, scope), True, True
        if roll < 0.8:
            return f"SELECT DISTINCT {self.pick(self.columns(scope, GROUPED))} FROM {source}{self.where(scope)}", False, True
        values = [self.number(scope) for _ in range(self.rng.randint(1, 3))]
        if self.chance(0.2):
            values.append(self.text(scope) or self.scalar_subquery())
        if self.chance(0.15):
            values.append(self.correlated_subquery(scope))
        if self.chance(0.15):
            values.append(self.reached_value(scope))
        if self.chance(0.15):
            values.append(self.window_aggregate(scope))
        windows = [self.window(scope) for _ in range(self.rng.randint(1, 2))] if self.chance(0.3) else []
        if windows and self.chance(0.5):  # the answer is short, whatever the tables have
            named = ", ".join(f"{text} AS x{number}" for number, text in enumerate(windows))
            calls = ", ".join(f"count(DISTINCT x{number}), min(x{number}), max(x{number})" for number in range(len(windows)))
            return f"SELECT count(*), {calls} FROM (SELECT {named} FROM {source}{self.where(scope)}) w", False, True
        values += [f"{text} AS w{number}" for number, text in enumerate(windows)]
        # DuckDB compares all pairs of rows for these.
        if not self.large and not windows and self.chance(0.35):
            if found := self.pick([self.nearest, self.first_rows])(scope):
                source += found[0]
                values.append(found[1])
        keys = ", ".join(f"{alias}.id" for alias, _ in scope)
        return f"SELECT {keys}, {', '.join(values)} FROM {source}{self.where(scope)}", False, False


    # Statements that fail where they reach a row with zero. DuckDB returns NULL for it, so they are for access paths alone.

    def quotient(self, inner, outer=None):
        """A condition that fails for some rows, perhaps behind one that excludes them."""
        by = self.pick(self.columns(inner, {"int"}))
        of = self.pick(self.columns(outer or inner, {"int"}))
        if self.chance(0.3):
            by = f"({by} {self.pick('+-')} {self.rng.randint(0, 9)})"
        condition = self.pick([f"10 / {by} = {of}", f"{of} >= 60 / {by}", f"7 % {by} <> {of}"])
        return f"{by} <> 0 AND {condition}" if self.chance(0.5) else condition

    def guarded_subquery(self, table, other, link):
        """A statement with a subquery that divides, in a part of an expression that some rows reach."""
        scope, inner = [(table, COLUMNS[table])], [(other, COLUMNS[other])]
        by, at, of = (self.pick(self.columns(part, {"int"})) for part in (inner, inner, scope))
        links = [link] + ([f"{at} BETWEEN {of} - 5 AND {of}"] if self.chance(0.3) else [])
        if self.chance(0.3):
            links.append(self.pick([self.comparison(inner), self.quotient(inner, scope)]))
        aggregate = f"(SELECT {self.pick(['max', 'sum'])}(60 / {by}) FROM {other} WHERE {' AND '.join(links)})"
        nearest = f"(SELECT 60 / {by} FROM {other} WHERE {link} AND {at} <= {of} ORDER BY {at} DESC, {other}.id LIMIT 1)"
        alone = f"(SELECT max(60 / {by}) FROM {other} WHERE {self.comparison(inner)})"
        query = self.pick([aggregate, aggregate, nearest, alone])
        guard = self.pick([self.comparison(scope), self.comparison(scope), f"{table}.id < {self.rng.randint(0, 3)}",
                           f"(SELECT count(*) FROM {other} WHERE {link}) = 0"])
        member = f"{of} {self.pick(['IN', 'NOT IN'])} (SELECT 60 / {by} FROM {other} WHERE {' AND '.join(links)})"
        there = f"EXISTS (SELECT 1 FROM {other} WHERE {link} AND 60 / {by} = {of})"
        test = self.pick([f"{query} > {self.rng.randint(-5, 5)}", member, there])
        if self.chance(0.5):
            value = self.pick([f"CASE WHEN {guard} THEN {query} END", f"CASE WHEN {guard} THEN 1 ELSE {query} END",
                               f"coalesce({of}, {query})", f"CASE WHEN {guard} THEN 1 WHEN {test} THEN 2 END",
                               f"CASE WHEN {table}.id > 5 THEN CASE WHEN {guard} THEN {query} END END"])
            return f"SELECT {table}.id, {value} AS v FROM {table}"
        return f"SELECT count(*), min({table}.id) FROM {table} WHERE ({guard} {self.pick(['AND', 'OR'])} {test})"

    def guarded_order(self, table):
        """ORDER BY and LIMIT of a statement that divides, in a total order."""
        scope = [(table, COLUMNS[table])]
        first, by = self.pick(self.columns(scope, ORDERED)), self.pick(self.columns(scope, {"int"}))
        where = self.pick(["", f" WHERE {self.comparison(scope)}", f" WHERE {self.quotient(scope)}"])
        key = self.pick([f"{table}.id", f"{first}, {table}.id", f"60 / {by}, {table}.id"])
        limit = f"{self.rng.randint(0, 9)}" + (f" OFFSET {self.rng.randint(0, 9)}" if self.chance(0.3) else "")
        return f"SELECT {table}.id, 60 / {self.pick([by, f'({by} + 5)'])} AS v FROM {table}{where} ORDER BY {key} LIMIT {limit}"

    def guarded_inner_joins(self):
        """Inner joins of three tables with one condition on several of them that divides."""
        first, second, third = self.rng.sample(["t", "u", "iv"], 3)
        scope = [(name, COLUMNS[name]) for name in (first, second, third)]
        conditions = [f"{one}.{x} = {other}.{y}" for one, other in ((first, second), (second, third))
                      for x, y in [self.pick(JOIN_KEYS[one, other])]]
        pair = self.rng.sample(scope, 2)
        conditions.append(self.quotient([pair[0]], [pair[1]]))
        for part in scope:
            if self.chance(0.4):
                conditions.append(self.comparison([part]))
        self.rng.shuffle(conditions)
        order = ", ".join(self.rng.sample([first, second, third], 3))
        return f"SELECT count(*), min({first}.id), max({third}.id) FROM {order} WHERE {' AND '.join(conditions)}"

    def guarded(self):
        roll = self.rng.random()
        if roll < 0.12:
            return self.guarded_inner_joins()
        if roll < 0.22:
            return self.guarded_order(self.pick(["t", "u", "iv"]))
        table, other = self.pick([pair for pair in JOIN_KEYS if "ex" not in pair and pair[0] != pair[1]])
        scope, inner = [(table, COLUMNS[table])], [(other, COLUMNS[other])]
        x, y = self.pick(JOIN_KEYS[table, other])
        link = f"{table}.{x} = {other}.{y}"
        parts = [link, self.pick([self.quotient(inner, scope), self.quotient(scope, inner), self.quotient(inner), self.quotient(scope)])]
        if self.chance(0.4):
            parts.append(self.pick([self.comparison(inner), self.comparison(scope)]))
        self.rng.shuffle(parts)
        on = " AND ".join(parts)
        by = self.pick(self.columns(inner, {"int"}))
        where = f" WHERE {table}.id < {self.rng.randint(1, 300)}" if self.chance(0.5) else ""
        if self.chance(0.3):
            return self.guarded_subquery(table, other, link)
        roll = self.rng.random()
        if roll < 0.15:
            conditions = [self.comparison(inner), self.quotient(inner), self.comparison(inner)]
            self.rng.shuffle(conditions)
            return f"SELECT count(*) FROM {other} WHERE {' AND '.join(conditions)}"
        if roll < 0.35:
            return f"SELECT count(*), min({other}.id) FROM {table} {self.pick(['JOIN', 'LEFT JOIN'])} {other} ON {on}{where}"
        if roll < 0.5:
            also = f"{'' if not where else where + ' AND'}" or " WHERE"
            return f"SELECT count(*) FROM {table}{also} {self.pick(['', 'NOT '])}EXISTS (SELECT 1 FROM {other} WHERE {on})"
        if roll < 0.65:
            return f"SELECT {table}.id, (SELECT sum(10 / {by}) FROM {other} WHERE {on}) AS v FROM {table}{where}"
        at, of = self.pick(self.columns(inner, {"int"})), self.pick(self.columns(scope, {"int"}))
        if roll < 0.75:
            bounds = f"{at} >= {of} - 5 AND {at} <= {self.pick([of, f'20 / {of}'])}"
            return f"SELECT {table}.id, (SELECT count(*) FROM {other} WHERE {link} AND {bounds}) AS v FROM {table}{where}"
        near = f"{link} AND {at} <= {self.pick([of, f'100 / {of}'])}" + (f" AND {by} <> 0" if self.chance(0.5) else "")
        order, limit = self.pick([(f"{at} DESC", 1), (f"{at} DESC, {other}.id", 2), (f"60 / {by}, {other}.id", 2)])
        if limit == 1:
            by = at
        return (f"SELECT {table}.id, q.v FROM {table} LEFT JOIN LATERAL (SELECT 10 / {by} AS v FROM {other} WHERE {near} "
                f"ORDER BY {order} LIMIT {limit}) q ON true{where}")


def guarded_statements(seed, count):
    generator = Generator(seed)
    return [generator.guarded() for _ in range(count)]


def statements(seed, count=400, large=False):
    generator = Generator(seed, large)
    return [generator.statement() for _ in range(count)]
