"""Runs the same statements without indexes and with each kind of them, forced and by cost: rows and errors have to be the
same, doubles bit for bit, positions of errors included.

usage: access_paths.py --runner PROGRAM [--rows N] [--seed N] [--only TEXT]
"""
import argparse
import json
import pathlib
import random
import sys
import tempfile

import compare
import data

PATHS = [(kind, by_cost) for kind in ("static", "blink", "radix", "hybrid", "auto") for by_cost in (False, True)]


def answers(arguments, folder, cases, kind, by_cost):
    arguments.index, arguments.by_cost, arguments.device, arguments.db = kind, by_cost, "cpu", False
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
    parser.add_argument("--rows", type=int, default=900, help="of the largest table; parallel paths begin at 4,096 to 131,072")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the generated statements; by default a new one")
    parser.add_argument("--only", default="", help="cases whose place or text has this")
    arguments = parser.parse_args()
    cases = [case for case in compare.all_cases(arguments) if not case.text.upper().startswith("EXPLAIN")]
    cases = [case for case in cases if arguments.only in case.where or arguments.only in case.text]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data.write(folder, arguments.rows)
        plain = answers(arguments, folder, cases, "none", False)
        for kind, by_cost in PATHS:
            for case, expected, got in zip(cases, plain, answers(arguments, folder, cases, kind, by_cost)):
                expected, got = comparable(case, expected), comparable(case, got)
                if expected == got:
                    continue
                failures += 1
                if failures <= 100:
                    print(f"{case.where} with {kind} indexes{' by cost' if by_cost else ''}\n    {case.text[:400]}")
                    print(f"    {str(got)[:300]}\n    without: {str(expected)[:300]}")
    print(f"{len(cases)} statements x {len(PATHS)} access paths, seed {arguments.seed}: {failures} differ")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
