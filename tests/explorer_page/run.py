#!/usr/bin/env python3
"""Runs the tests of the explorer's page against the built `espalier explore`, in headless Chromium.

usage: run.py PATH_OF_ESPALIER [unittest arguments, e.g. -k split]

Returns 77, which ctest takes for "skipped", with a sentence where Chromium or Playwright is missing.
"""

import os
import pathlib
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77


def skip(sentence):
    print(f"Skipped: {sentence}")
    sys.exit(SKIPPED)


def use_project_environment():
    """Goes on in the project's virtual environment, if that is where Playwright is."""
    python = ROOT / ".venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix) != ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])


def find_browser():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("ESPALIER_BROWSER") or next(filter(None, map(shutil.which, names)), None)


def main():
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("run.py needs the path of the built espalier; see --help in its first lines.")
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        use_project_environment()
        skip("Playwright is missing; scripts/setup installs it into .venv.")
    browser = find_browser()
    if browser is None:
        skip("Chromium is missing; scripts/setup installs it, or apt-get install chromium.")
    os.environ["ESPALIER_CLI"] = str(pathlib.Path(sys.argv[1]).resolve())
    os.environ["ESPALIER_BROWSER"] = browser
    sys.path.insert(0, str(HERE))
    unittest.main(
        module=None, argv=["run.py", "discover", "-s", str(HERE), "-p", "*_test.py", *sys.argv[2:]], verbosity=2
    )


if __name__ == "__main__":
    main()
