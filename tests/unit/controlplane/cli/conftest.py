"""A command line with a state directory of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from controlplane.cli import output
from controlplane.cli.main import build
from controlplane.kernel.errors import FleetwardError


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed, and how it ended (`error` is what `main` would turn into words)."""

    code: int
    text: str
    error: FleetwardError | None

    def json(self) -> Any:
        return json.loads(self.text)


@pytest.fixture
def fleetward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("FLEETWARD_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(output.out, "_width", 200)  # it may have been told another when it was made
    runner, app = CliRunner(), build()

    def run(*argv: str | Path) -> Result:
        done = runner.invoke(app, [str(part) for part in argv])
        error = done.exception if isinstance(done.exception, FleetwardError) else None
        if done.exception is not None and error is None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Result(done.exit_code, done.stdout, error)

    return run
