"""The lines of docs/python.md run, and give the answers that the page shows."""

import ast
import os
import re

import numpy as np
import pytest


def test_lines_of_the_page(tmp_path, monkeypatch):
    page = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")
    if not os.path.exists(page):
        pytest.skip("the page is not here")
    with open(page) as file:
        blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names, compared = {}, 0
    for line in "\n".join(blocks).splitlines():
        code, _, comment = line.partition("  #")
        if not code.strip():
            continue
        shown = re.match(r" (\[[^\]]*\])", comment)
        if shown and not re.match(r"\w+ = ", code):
            np.testing.assert_array_equal(eval(code, names), ast.literal_eval(shown.group(1)))
            compared += 1
        else:
            exec(code, names)
    assert compared >= 4
