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
        table = self.pick(["t", "u", "iv", "ex"])
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
        call = self.pick([f"min({value})", f"max({value})", f"count({value})", "count(*)", f"sum({exact})", f"avg({value})",
                          f"count(DISTINCT {value})", f"coalesce(sum({exact}), 0)", f"max({value}) - min({value})",
                          f"2 * min({exact})", f"CASE WHEN count(*) > 2 THEN max({value}) ELSE -1 END"])
        return f"(SELECT {call} FROM {table} {alias} WHERE {' AND '.join(links)})"

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
        """FROM with the nearest row before or after a value outside."""
        table = self.pick(["t", "u", "iv"])
        alias, result = self.new_alias(), self.new_alias()
        kinds = self.pick([{"int"}, {"int"}, {"num"}, {"text"}, {"time"}, {"date"}])
        inner, outer = self.columns([(alias, COLUMNS[table])], kinds), self.columns(scope, kinds)
        if not inner or not outer:
            return None
        at = self.pick(inner)
        compared, order = self.pick([("<=", " DESC"), ("<", " DESC"), (">=", ""), (">", "")])
        links = [f"{at} {compared} {self.pick(outer)}"]
        if self.chance(0.5):
            keys = self.pick([{"int"}, {"int"}, {"text"}])
            mine, theirs = self.columns([(alias, COLUMNS[table])], keys), self.columns(scope, keys)
            if mine and theirs:
                links.append(f"{self.pick(mine)} = {self.pick(theirs)}")
        text = f"{at} AS v FROM {table} {alias} WHERE {' AND '.join(links)} ORDER BY {at}{order} LIMIT 1"
        return f" {self.pick(['LEFT', 'LEFT', 'INNER'])} JOIN LATERAL (SELECT {text}) {result} ON true", f"{result}.v"

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
        return self.three_tables()

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
        return f"SELECT {', '.join(keys)}, {first} FROM {source}{self.where(scope)} ORDER BY {order}{limit}"

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
            values.append(self.window_aggregate(scope))
        # DuckDB compares all pairs of rows for this.
        if not self.large and self.chance(0.1) and (found := self.nearest(scope)):
            source += found[0]
            values.append(found[1])
        keys = ", ".join(f"{alias}.id" for alias, _ in scope)
        return f"SELECT {keys}, {', '.join(values)} FROM {source}{self.where(scope)}", False, False


def statements(seed, count=400, large=False):
    generator = Generator(seed, large)
    return [generator.statement() for _ in range(count)]
