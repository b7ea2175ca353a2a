import re

import hypothesis
import pytest

# What a machine without package servers may not have (scripts/bundle-deps).
_PACKAGES = ("polars", "pandas", "pyarrow", "duckdb", "mypy", "ray", "abi3audit", "auditwheel", "elftools")
_MISSING = re.compile(
    rf"ModuleNotFoundError: No module named '({'|'.join(_PACKAGES)})[.']"
    r"|ImportError: (?:espalier\.sql needs pyarrow|This build of espalier has no SQL engine)"
)

# One example of a property takes milliseconds; a shared machine can make any of them slow.
hypothesis.settings.register_profile(
    "espalier", max_examples=60, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("espalier")


def pytest_addoption(parser):
    parser.addoption(
        "--skip-missing-packages",
        action="store_true",
        help=f"skip tests that need one of {', '.join(_PACKAGES)} where it is not installed",
    )


def _skip(report, config):
    """A report of a missing package becomes one of a test that was skipped, with the name of the package."""
    if report.failed and config.getoption("skip_missing_packages"):
        missing = _MISSING.search(str(report.longrepr))
        if missing:
            path, line, _ = getattr(report, "location", (report.nodeid, 0, ""))
            reason = f"Skipped: this machine lacks {missing[1] or 'espalier.sql'}"
            report.outcome, report.longrepr = "skipped", (path, line, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _skip((yield), collector.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return _skip((yield), item.config)
