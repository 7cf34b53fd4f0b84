"""Logs are one JSON object a line on standard error; standard output is left to answers."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from controlplane.cli import logs


@pytest.fixture(autouse=True)
def _configured() -> Iterator[None]:
    logs.configure()
    yield
    structlog.reset_defaults()


def test_a_line_is_an_object_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with structlog.contextvars.bound_contextvars(run="run-1"):
        structlog.get_logger("controlplane.act.executor").warning("fenced off", error="fence 1 is below 2")
    said = capsys.readouterr()
    assert said.out == ""
    found = json.loads(said.err)
    assert found.pop("at").endswith("Z")
    assert found == {
        "event": "fenced off",
        "level": "warning",
        "run": "run-1",
        "error": "fence 1 is below 2",
    }


def test_what_is_not_json_is_told_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().info("a set", value={1})
    assert json.loads(capsys.readouterr().err)["value"] == "{1}"


def test_an_exception_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        structlog.get_logger().exception("a turn broke")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ZeroDivisionError" in json.loads(line)["exception"]


def test_debugging_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().debug("noise")
    assert capsys.readouterr().err == ""


def test_other_packages_speak_the_same_form() -> None:
    stream = io.StringIO()
    record = logging.LogRecord(
        "celery.worker", logging.WARNING, __file__, 1, "connection to %s lost", ("redis",), None
    )
    logs.handler(stream).handle(record)
    found = json.loads(stream.getvalue())
    told = (found["logger"], found["level"], found["event"])
    assert told == ("celery.worker", "warning", "connection to redis lost")
