"""The types that type checkers see are those of the compiled module."""

import os
import subprocess
import sys

import pytest

import espalier


# Functions of nanobind have a type of their own, and so do its classes: stubtest says so of each of them.
NANOBIND = (
    "is not a function",
    "metaclass",
    "is a disjoint base",
    ".__init__ is inconsistent",
    "is a staticmethod but runtime is not",
)


def stubtest(module, folder, before="pass"):
    code = f"{before}; import sys; from mypy.stubtest import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--concise", module], cwd=folder, capture_output=True, text=True
    )
    problems = [line for line in done.stdout.splitlines() if line and not any(text in line for text in NANOBIND)]
    assert not problems, done.stdout
    assert module in done.stdout or done.returncode == 0, done.stderr


def test_stubs_describe_the_module(tmp_path):
    pytest.importorskip("mypy")
    folder = os.path.dirname(espalier.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    if not os.path.exists(os.path.join(folder, "_core.pyi")):
        pytest.skip("this build has no stubs")
    stubtest("espalier._core", tmp_path)


def test_stubs_describe_the_module_of_sql(tmp_path):
    pytest.importorskip("mypy")
    pytest.importorskip("espalier.sql", exc_type=ImportError)
    stubtest("espalier._sql", tmp_path, "import espalier.sql")  # loads the libraries of pyarrow


# What mypy cannot know: arguments of a tuple that a method of the compiled module has returned, and libraries without
# types. (file, text of the message)
KNOWN = (
    ("_index.py", 'Too many arguments for "of_parts"'),
    ("_file.py", 'Too many arguments for "of_parts"'),
    ("_sorted_map.py", 'Too many arguments for "of_parts"'),
    ("ray/_table.py", 'Too many arguments for "reduce"'),
    ("ray/_joins.py", "Cannot call function of unknown type"),
)


def test_python_modules(tmp_path):
    """mypy over the package as it is installed."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "-p", "espalier", "--cache-dir", str(tmp_path)]
    for code in ("import-untyped", "import-not-found"):
        command += ["--disable-error-code", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (0, 1) and "checked" in done.stdout or "no issues found" in done.stdout, done.stderr
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    unknown = [e for e in errors if not any(f"espalier/{name}:" in e and text in e for name, text in KNOWN)]
    assert not unknown, "\n".join(unknown)
