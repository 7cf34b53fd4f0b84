"""A run that leaves a process behind is found out, and only its own processes are ended."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import MARK
from tests.support import leftovers

NAME = "FLEETWARD_LEFTOVER"


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark ``FLEETWARD_LEFTOVER=here`` and waits."""
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    environment = os.environ | {NAME: "here"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_process_with_the_mark_is_found(waiting: subprocess.Popen[bytes]) -> None:
    assert [process.pid for process in leftovers.find(NAME, "here")] == [waiting.pid]


def test_another_run_s_process_is_left_alone(waiting: subprocess.Popen[bytes]) -> None:
    assert leftovers.find(NAME, "elsewhere") == []
    assert waiting.poll() is None


def test_what_is_found_is_ended(waiting: subprocess.Popen[bytes]) -> None:
    leftovers.end(leftovers.find(NAME, "here"))
    assert leftovers.find(NAME, "here") == []
    assert waiting.poll() is not None


def test_what_is_about_to_end_is_not_left_behind(waiting: subprocess.Popen[bytes]) -> None:
    assert waiting.stdin is not None
    waiting.stdin.close()
    assert leftovers.lasting(NAME, "here") == []


def test_what_stays_is_left_behind(waiting: subprocess.Popen[bytes]) -> None:
    assert [process.pid for process in leftovers.lasting(NAME, "here", grace=0)] == [waiting.pid]


def test_this_process_is_not_its_own_leftover() -> None:
    assert os.getpid() not in {process.pid for process in leftovers.find(MARK, os.environ[MARK])}


def test_every_unit_test_has_a_time_out_and_slow_tests_run_last(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    slow = [item.get_closest_marker("slow") is not None for item in items]
    units = [item for item in items if "/tests/unit/" in item.path.as_posix()]
    assert slow == sorted(slow)
    assert {item.get_closest_marker("timeout") is not None for item in units} <= {True}
