"""Rules of every test run: unit tests end within seconds, slow tests run last, no process is left
behind, the shell's own ``FLEETWARD_…`` settings do not reach a test, and what is logged costs little.
"""

import os
from pathlib import Path

import hypothesis
import pytest
import structlog

from tests.support import leftovers

UNIT_SECONDS = 30 if os.environ.get("CI") else 5  # a shared machine may stall for seconds; a desk does not
MARK = "FLEETWARD_TEST_RUN"
_UNIT = Path(__file__).parent / "unit"

hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the crash matrix be run in full, and as many stories be told as one likes."""
    parser.addoption(
        "--crash-points",
        choices=("some", "all"),
        default="some",
        help="how much of the matrix",
    )
    parser.addoption("--backtest-days", type=float, default=0.125, help="record so many for the backtest")
    parser.addoption("--stories", type=int, default=0, help="tell so many new stories of any fleet")


def pytest_configure(config: pytest.Config) -> None:
    """Mark the environment, so that processes started by this run are known.

    Those that share the work of one run carry its mark: it looks for what is left once they are gone.
    """
    if not hasattr(config, "workerinput"):
        os.environ[MARK] = f"{os.getpid()}-{os.urandom(4).hex()}"
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])  # a boxed one: 0.6 s


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow tests last, and cap unit tests that name no time-out of their own."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
    for item in items:
        if _UNIT in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(UNIT_SECONDS))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when it left a process behind, and end that process."""
    if hasattr(session.config, "workerinput"):
        return
    left = leftovers.lasting(MARK, os.environ[MARK])
    for process in left:
        _report(session, f"left behind: {leftovers.describe(process)}")
    leftovers.end(left)
    if left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _report(session: pytest.Session, line: str) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(line, red=True)


@pytest.fixture(autouse=True)
def _own_settings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("FLEETWARD_") and name not in {MARK, "FLEETWARD_CI_RUN"}:
            monkeypatch.delenv(name)
