"""Checks answers against each other, without another engine, in the manner of SQLancer:

  TLP    every row satisfies exactly one of p, NOT p and p IS NULL, so the answers of a query with these three conditions make up
         the answer without them: as rows, as aggregates, as groups, and as DISTINCT values
  NoREC  WHERE p, which indexes answer, finds as many rows as (p) IS TRUE, computed for each row, has true values

with each access path: no indexes and each kind of them, forced and by cost, on one thread and on eight.

usage: partitions.py --runner PROGRAM [--rows N] [--seed N] [--count N] [--only TEXT]
"""
import argparse
import collections
import decimal
import json
import pathlib
import random
import sys
import tempfile

import access_paths
import compare
import data
import generate


class Check:
    """Statements, and a function of their answers' rows that says what is wrong, or None."""

    def __init__(self, name, statements, problem):
        self.name, self.statements, self.problem = name, statements, problem


def rows(answer):
    return collections.Counter(json.dumps(row) for row in answer["rows"])


def value(cell):
    cell = compare.from_ours(cell)
    return decimal.Decimal(cell) if isinstance(cell, int) else cell


def total(values):
    values = [one for one in values if one is not None]
    return sum(values) if values else None


def least(values):
    return min((one for one in values if one is not None), default=None)


def greatest(values):
    return max((one for one in values if one is not None), default=None)


def different(whole, parts):
    if whole == parts:
        return None
    missing, added = list((whole - parts).items())[:3], list((parts - whole).items())[:3]
    return f"the parts lack {missing} and have {added} too many"


def same_rows(answers):
    return different(rows(answers[0]), rows(answers[1]) + rows(answers[2]) + rows(answers[3]))


def same_set(answers):
    parts = rows(answers[1]) + rows(answers[2]) + rows(answers[3])
    return different(rows(answers[0]), collections.Counter(dict.fromkeys(parts, 1)))


def same_aggregates(folds):
    def problem(answers):
        table = [[value(cell) for cell in answer["rows"][0]] for answer in answers]
        for place, fold in enumerate(folds):
            whole, parts = table[0][place], fold([line[place] for line in table[1:]])
            if whole != parts:
                return f"aggregate {place} is {whole}, that of the parts {parts}"
        return None

    return problem


def same_count(answers):
    found, expected = answers[0]["rows"][0][0], sum(row[0] is True for row in answers[1]["rows"])
    return None if found == expected else f"WHERE finds {found} rows, {expected} rows satisfy the condition"


class CheckGenerator(generate.Generator):
    def partitions(self, query, condition):
        """The query without the condition, and its three parts; `query` has {} where the condition goes."""
        return [query.format("true")] + [query.format(part) for part in (condition, f"NOT ({condition})", f"({condition}) IS NULL")]

    def base(self, scope):
        """A condition that stays the same in all parts; braces would be taken for places of conditions."""
        return f" AND {self.subquery_condition(scope)}" if self.chance(0.3) else ""

    def tlp(self, source, scope, condition):
        keys = ", ".join(f"{alias}.id" for alias, _ in scope)
        also = self.base(scope)
        roll = self.rng.random()
        if roll < 0.3:
            column = self.pick(self.columns(scope, generate.ORDERED | {"float", "special", "bool"}))
            return Check("TLP rows", self.partitions(f"SELECT {keys}, {column} FROM {source} WHERE {{}}{also}", condition), same_rows)
        if roll < 0.65:
            summed = self.pick(self.columns(scope, {"int", "num"}))
            extreme = self.pick(self.columns(scope, generate.ORDERED))
            query = f"SELECT count(*), sum({summed}), min({extreme}), max({extreme}), count({extreme}) FROM {source} WHERE {{}}{also}"
            folds = same_aggregates([total, total, least, greatest, total])
            return Check("TLP aggregates", self.partitions(query, condition), folds)
        column = self.pick(self.columns(scope, generate.GROUPED))
        if roll < 0.8:
            query = f"SELECT DISTINCT {column} FROM {source} WHERE {{}}{also}"
            return Check("TLP DISTINCT", self.partitions(query, condition), same_set)
        having = f"min({self.pick(self.columns(scope, {'int'}))}) {self.pick(['<', '=', '>='])} {self.rng.randint(-20, 20)}"
        query = f"SELECT {column}, count(*) FROM {source} WHERE {condition}{also} GROUP BY {column} HAVING {{}}"
        return Check("TLP HAVING", self.partitions(query, having), same_rows)

    def norec(self, source, scope, condition):
        return Check("NoREC", [f"SELECT count(*) FROM {source} WHERE {condition}", f"SELECT ({condition}) IS TRUE FROM {source}"],
                     same_count)

    def check(self):
        source, scope = self.source()
        condition = self.condition(scope)
        return self.norec(source, scope, condition) if self.chance(0.3) else self.tlp(source, scope, condition)


def failures_of(check, answers):
    for text, answer in zip(check.statements, answers):
        if "error" in answer:
            return f"{answer['error']}\n    {text[:400]}"
    return check.problem(answers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--rows", type=int, default=900, help="of the largest table; parallel paths begin at 4,096 to 131,072")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the checks; by default a new one")
    parser.add_argument("--count", type=int, default=150, help="number of checks")
    parser.add_argument("--only", default="", help="checks whose name or statements have this")
    access_paths.add_kinds(parser)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)  # now: a run that is killed can be repeated, too
    generator = CheckGenerator(arguments.seed, arguments.rows > compare.MANY_ROWS)
    checks = [generator.check() for _ in range(arguments.count)]
    checks = [check for check in checks if arguments.only in check.name or any(arguments.only in text for text in check.statements)]
    cases = [compare.Case(check.name, text) for check in checks for text in check.statements]
    paths = [("none", False, 1)] + access_paths.paths(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data.write(folder, arguments.rows)
        for path in paths:
            answers = iter(access_paths.answers(arguments, folder, cases, *path))
            for check in checks:
                problem = failures_of(check, [next(answers) for _ in check.statements])
                if not problem:
                    continue
                failures += 1
                if failures <= 50:
                    print(f"{check.name} with {access_paths.path_name(*path)}: {problem}")
                    print("".join(f"    {text[:600]}\n" for text in check.statements))
    print(f"{len(checks)} TLP and NoREC checks x {len(paths)} access paths, seed {arguments.seed}: {failures} fail")
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
