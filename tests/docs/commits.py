#!/usr/bin/env python3
"""Every commit that a page or a file of results names is in the history, or in docs/bench.md's table of lost commits.

usage: commits.py

A commit is a word of 7 to 40 hexadecimal digits with a letter and a figure in it. Addresses are of other repositories,
as are the commits in bench/results/published. Returns 77 where the history is not here: no repository, or a shallow one.
"""

from __future__ import annotations

import bisect
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Not 4.377788e-07, not 0x1f2e3d4c, not a part of an address, a name or a colour.
COMMIT = re.compile(r"(?<![\w/#-])(?<!\d\.)(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w/]|[-+]\d|\.\w)")


def git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def strings(value) -> list[str]:
    """Texts of a JSON file: numbers such as 4.377788e-07 are none."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []

FIRST = "618390a3a6718d1dc8eb25b1d3757f424406c90a"  # the first commit of this history


def named() -> list[tuple[str, str]]:
    """Commit and place."""
    found = []
    for path in (ROOT / name for name in (git("ls-files", "*.md", "bench/results/*.json") or "").splitlines()):
        place = str(path.relative_to(ROOT))
        if not path.exists() or place.startswith("bench/results/published/"):
            continue
        if path.suffix == ".json":
            texts = [(place, text) for text in strings(json.loads(path.read_text()))]
        else:
            texts = [(f"{place}:{n}", line) for n, line in enumerate(path.read_text().splitlines(), 1)]
        found += [(commit, where) for where, text in texts for commit in COMMIT.findall(text)]
    return found


def main() -> int:
    if git("rev-parse", "--show-cdup") != "\n" or git("rev-parse", "--is-shallow-repository") != "false\n":
        print("Skipped: the history is not here.")
        return 77
    history = sorted(git("rev-list", "HEAD").split())
    if FIRST not in history:  # the files were put into a new history
        print("Skipped: the history is another one.")
        return 77

    def known(commit: str) -> bool:
        at = bisect.bisect_left(history, commit)
        return at < len(history) and history[at].startswith(commit)

    table = re.search(r"^\| lost commit \|.*?\n\n", (ROOT / "docs" / "bench.md").read_text(), re.DOTALL | re.MULTILINE)
    lost = COMMIT.findall("\n".join(row.split("|")[1] for row in table[0].splitlines()[2:] if row))
    wrong = [f"docs/bench.md: {commit} is not lost, the history has it" for commit in lost if known(commit)]
    found = named()
    assert len({commit for commit, _ in found}) > 40, "tests/docs/commits.py finds too few commits"
    for commit, place in found:
        if not known(commit) and not any(commit.startswith(one) for one in lost):
            wrong.append(f"{place}: commit {commit} is not in the history, nor in docs/bench.md's table of lost commits")
    print("\n".join(dict.fromkeys(wrong)), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
