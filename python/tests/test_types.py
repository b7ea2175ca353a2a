"""The types that type checkers see are those of the compiled module."""

import os
import subprocess
import sys

import pytest

import espalier


def test_stubs_describe_the_module(tmp_path):
    pytest.importorskip("mypy")
    folder = os.path.dirname(espalier.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    if not os.path.exists(os.path.join(folder, "_core.pyi")):
        pytest.skip("this build has no stubs")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "espalier._core"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    # Functions of nanobind have a type of their own, and so do its classes: stubtest says so of each of them.
    known = (
        "is not a function",
        "metaclass",
        "is a disjoint base",
        ".__init__ is inconsistent",
        "is a staticmethod but runtime is not",
    )
    problems = [line for line in done.stdout.splitlines() if line and not any(text in line for text in known)]
    assert not problems, done.stdout
    assert "espalier._core" in done.stdout or done.returncode == 0, done.stderr
