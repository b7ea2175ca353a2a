"""Random SELECT statements over the sample tables, from a small grammar."""
import random

COLUMNS = {
    "t": {"id": "int", "a": "int", "b": "int", "c": "int", "d": "float", "n": "num", "s": "text", "dt": "date", "ts": "time",
          "ok": "bool"},
    "u": {"id": "int", "t_id": "int", "k": "text", "v": "num", "w": "int"},
    "iv": {"id": "int", "lo": "int", "hi": "int", "grp": "int"},
    "fl": {"id": "int", "x": "special"},  # no sums: DuckDB's of such values depend on the order of rows
}
SPECIAL = ["0", "1.5", "-1.5", "1e300", "5e-324", "'-0'::double precision", "'NaN'::double precision", "'-inf'::double precision",
           "'inf'::double precision"]
WORDS = ["apple", "apricot3", "banana", "berry", "cherry7", "date", "", "zebra", "aa", "bbb", "c"]


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def pick(self, items):
        return self.rng.choice(list(items))

    def columns(self, scope, kinds):
        return [f"{alias}.{name}" for alias, table in scope for name, kind in COLUMNS[table].items() if kind in kinds]

    def constant(self, kind, name=""):
        if kind == "int":
            if name.endswith(".b"):
                return str(self.rng.randint(-10**12, 10**12))
            return str(self.rng.randint(0, 900) if name.endswith("id") else self.rng.randint(-25, 25))
        if kind == "float":
            return str(self.rng.randint(-400, 400) / 8)
        if kind == "special":
            return self.pick(SPECIAL)
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
            return self.pick(self.columns(scope, {"int", "num"} if roll < 0.4 else {"int"}))
        if roll < 0.6:
            return str(self.rng.randint(-9, 9))
        if roll < 0.7:
            return f"coalesce({self.number(scope, depth - 1)}, {self.rng.randint(-5, 5)})"
        if roll < 0.8:
            return f"CASE WHEN {self.condition(scope, 1)} THEN {self.number(scope, depth - 1)} ELSE {self.number(scope, depth - 1)} END"
        return f"({self.number(scope, depth - 1)} {self.pick('+-')} {self.number(scope, depth - 1)})"

    def comparison(self, scope):
        alias, table = self.pick(scope)
        name, kind = self.pick(COLUMNS[table].items())
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
            return f"{column} LIKE '{self.pick(['a', 'ap', 'b', 'z', 'c'])}%'"
        if kind == "int" and roll < 0.5:
            return f"{column} {self.pick(['<', '>=', '='])} {self.pick(self.columns(scope, {'int'}))}"
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

    def source(self):
        roll = self.rng.random()
        if roll < 0.55:
            table = self.pick(COLUMNS)
            return table, [(table, table)]
        if roll < 0.8:
            join = self.pick(["JOIN", "LEFT JOIN"])
            extra = f" AND {self.comparison([('t', 't'), ('u', 'u')])}" if self.rng.random() < 0.3 else ""
            return f"t {join} u ON t.id = u.t_id{extra}", [("t", "t"), ("u", "u")]
        if roll < 0.9:
            return "u JOIN iv ON u.w BETWEEN iv.lo AND iv.hi", [("u", "u"), ("iv", "iv")]
        return "t x JOIN u y ON x.a = y.w AND x.id < 60", [("x", "t"), ("y", "u")]

    def where(self, scope):
        if self.rng.random() < 0.15:
            return ""
        condition = self.condition(scope)
        if self.rng.random() < 0.1 and any(alias == "t" for alias, _ in scope):
            condition += f" AND t.id {self.pick(['', 'NOT '])}IN (SELECT id FROM u WHERE {self.comparison([('u', 'u')])})"
        return f" WHERE {condition}"

    def aggregate(self, scope):
        function = self.pick(["count", "sum", "min", "max", "avg", "count(DISTINCT", "*"])
        if function == "*":
            return "count(*)"
        if function == "count(DISTINCT":
            return f"count(DISTINCT {self.pick(self.columns(scope, {'int', 'text', 'date', 'num'}))})"
        if function in ("min", "max"):
            return f"{function}({self.pick(self.columns(scope, {'int', 'num', 'text', 'date', 'time', 'float'}))})"
        return f"{function}({self.pick(self.columns(scope, {'int', 'num', 'float'}))})"

    def statement(self):
        """Its text, whether its order is total, and whether its answer stays short however large the tables are."""
        source, scope = self.source()
        roll = self.rng.random()
        if roll < 0.3:
            calls = ", ".join(self.aggregate(scope) for _ in range(self.rng.randint(1, 3)))
            return f"SELECT {calls} FROM {source}{self.where(scope)}", False, True
        if roll < 0.5:
            key = self.pick(self.columns(scope, {"int", "text", "bool"}))
            having = f" HAVING count(*) > {self.rng.randint(1, 4)}" if self.rng.random() < 0.3 else ""
            return f"SELECT {key}, {self.aggregate(scope)}, {self.aggregate(scope)} FROM {source}{self.where(scope)} GROUP BY {key}{having}", False, True
        if roll < 0.7:
            keys = [f"{alias}.id" for alias, _ in scope]
            first = self.pick(self.columns(scope, {"int", "num", "text", "date", "time"}))
            nulls, direction = self.pick([("LAST", ""), ("FIRST", " DESC"), ("FIRST", ""), ("LAST", " DESC")])
            order = ", ".join([f"{first}{direction} NULLS {nulls}"] + [f"{key} NULLS LAST" for key in keys])
            limit = f" LIMIT {self.rng.randint(0, 40)}" + (f" OFFSET {self.rng.randint(0, 20)}" if self.rng.random() < 0.3 else "")
            return f"SELECT {', '.join(keys)}, {first} FROM {source}{self.where(scope)} ORDER BY {order}{limit}", True, True
        if roll < 0.8:
            return f"SELECT DISTINCT {self.pick(self.columns(scope, {'int', 'text', 'bool'}))} FROM {source}{self.where(scope)}", False, True
        values = ", ".join(self.number(scope) for _ in range(self.rng.randint(1, 3)))
        keys = ", ".join(f"{alias}.id" for alias, _ in scope)
        return f"SELECT {keys}, {values} FROM {source}{self.where(scope)}", False, False


def statements(seed, count=400):
    generator = Generator(seed)
    return [generator.statement() for _ in range(count)]
