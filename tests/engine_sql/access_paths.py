"""Runs the same statements without indexes on one thread, and with each kind of index, forced and by cost, on one thread and on
eight: names and types of columns, rows and errors have to be the same, doubles bit for bit, positions of errors included.

usage: access_paths.py --runner PROGRAM [--rows N] [--seed N] [--guarded N] [--only TEXT] [--kinds KIND ...]
"""
import argparse
import json
import pathlib
import random
import sys
import tempfile

import compare
import data
import generate

KINDS = ["static", "blink", "radix", "hybrid", "auto"]


def add_kinds(parser):
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="of indexes")


def paths(arguments):
    """Indexes wherever one can be used, or where the planner finds them cheaper; one thread, or more than there are cores."""
    return [("none", False, 8)] + [(kind, *how) for kind in arguments.kinds for how in ((False, 1), (True, 8))]


def path_name(kind, by_cost, threads):
    return f"{kind} indexes{' by cost' if by_cost else ''} and threads: {threads}"


def answers(arguments, folder, cases, kind, by_cost, threads):
    arguments.index, arguments.by_cost, arguments.threads = kind, by_cost, threads
    arguments.device, arguments.db = "cpu", False
    setup = compare.setup_statements(folder, kind)
    out = compare.run_ours(arguments, folder, setup + [case.text for case in cases])
    for text, answer in zip(setup, out):
        if "error" in answer:
            sys.exit(f"{text}: {answer['error']}")
    return out[len(setup):]


def comparable(case, answer):
    """Rows without an order are compared as a multiset."""
    if "rows" not in answer or case.ordered:
        return answer
    return {**answer, "rows": sorted(map(json.dumps, answer["rows"]))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--only", default="", help="cases whose place or text has this")
    compare.add_selection(parser)
    add_kinds(parser)
    parser.add_argument("--guarded", type=int, default=150, help="number of generated statements with divisions by zero")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)  # now: a run that is killed can be repeated, too
    cases = [case for case in compare.all_cases(arguments) if not case.text.upper().startswith("EXPLAIN")]
    cases += [compare.Case(f"guarded:{number}", text)
              for number, text in enumerate(generate.guarded_statements(arguments.seed, arguments.guarded))]
    cases = [case for case in cases if arguments.only in case.where or arguments.only in case.text]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data.write(folder, arguments.rows)
        plain = answers(arguments, folder, cases, "none", False, 1)
        for path in paths(arguments):
            for case, expected, got in zip(cases, plain, answers(arguments, folder, cases, *path)):
                expected, got = comparable(case, expected), comparable(case, got)
                if expected == got:
                    continue
                failures += 1
                if failures <= 100:
                    print(f"{case.where} with {path_name(*path)}\n    {case.text[:400]}")
                    print(f"    {str(got)[:300]}\n    without: {str(expected)[:300]}")
    print(f"{len(cases)} statements x {len(paths(arguments))} access paths, seed {arguments.seed}: {failures} differ")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
