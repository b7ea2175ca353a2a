"""The Python blocks of README.md and docs/ run in the order of their page, and give the answers in their comments.

A comment that begins with a list is the answer of the expression in front of it, or on the line above it. What a block
needs and a page does not show is in a comment of the page (tests/docs/blocks.py).
"""

import ast
import functools
import importlib.util
import pathlib
import re
import sys
import warnings

import numpy as np
import pytest
from shard_cases import started

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# How many answers a page shows: fewer would mean that they are no longer found.
PAGES = {
    "README.md": 4,
    "docs/python.md": 4,
    "docs/python-joins.md": 0,
    "docs/python-sql.md": 0,
    "docs/cluster.md": 5,
    "docs/howto/as-of.md": 4,
    "docs/howto/cluster.md": 6,
    "docs/howto/sql.md": 2,
    "docs/howto/windows.md": 3,
}


def blocks():
    path = ROOT / "tests" / "docs" / "blocks.py"
    if not path.exists():
        pytest.skip("the pages are not here")
    spec = importlib.util.spec_from_file_location("blocks", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["blocks"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(text, names, place):
    """Runs the statements of a block; returns how many answers were compared."""
    lines = text.splitlines()
    compared = 0
    for node in ast.parse(text).body:
        code = ast.Module([node], [])
        comment = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
        below = lines[node.end_lineno] if node.end_lineno < len(lines) else ""
        shown = re.match(r" *# (\[[^\]]*\])", comment) or re.match(r"# (\[[^\]]*\])", below)
        if shown and isinstance(node, ast.Expr):
            answer = eval(compile(ast.Expression(node.value), place, "eval"), names)
            np.testing.assert_array_equal(answer, ast.literal_eval(shown[1]), err_msg=place)
            compared += 1
        else:
            exec(compile(code, place, "exec"), names)
    return compared


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, compared = {}, 0
    found = [b for b in blocks().blocks_of(ROOT / page) if b.language == "python" and "not run" not in b.mark]
    assert found, "no block of Python in this page"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in found:
            exec(compile(block.before, block.place, "exec"), names)
            compared += run(block.text, names, block.place)
    assert compared >= PAGES[page]


def test_every_page_with_python_is_run():
    module = blocks()
    having = {b.page for b in module.all_blocks() if b.language == "python"}
    assert having == set(PAGES)


TUTORIALS = ["ranges", "joins", "sql", "maps", "gpu", "cluster"]


@pytest.mark.parametrize("page", TUTORIALS)
def test_tutorials_run(page, tmp_path, monkeypatch):
    """The cells of the notebooks in one namespace; scripts/docs runs them as notebooks."""
    path = ROOT / "docs" / "tutorials" / f"{page}.md"
    if not path.exists():
        pytest.skip("the pages are not here")
    if page == "sql":
        pytest.importorskip("espalier.sql", exc_type=ImportError)
    if page == "cluster":
        ray = pytest.importorskip("ray", reason="Ray cannot be installed here (espalier[ray]): its tutorial is not run")
        monkeypatch.setenv("RAY_worker_niceness", "0")  # workers would not run while a compiler does
    monkeypatch.chdir(tmp_path)
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", path.read_text(), re.M | re.S)
    assert len(cells) >= 4
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if page == "cluster" else "error")  # Ray has warnings of its own
        for number, cell in enumerate(cells):
            code = compile(cell, f"{path.name}, cell {number}", "exec")
            if page == "cluster" and number == 0:
                started(functools.partial(exec, code, names), ray.shutdown)
            else:
                exec(code, names)


def test_every_tutorial_is_run():
    folder = ROOT / "docs" / "tutorials"
    if not folder.exists():
        pytest.skip("the pages are not here")
    assert {p.stem for p in folder.glob("*.md")} == set(TUTORIALS)
