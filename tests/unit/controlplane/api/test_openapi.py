"""The committed description is what the code says, and the check can fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from controlplane.api import openapi


@pytest.mark.timeout(30)  # the whole API is described
def test_the_committed_description_is_up_to_date() -> None:
    assert openapi.FILE.read_text(encoding="utf-8") == openapi.describe()


def test_the_check_fails_on_drift_and_write_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(openapi, "FILE", tmp_path / "openapi.json")
    monkeypatch.setattr(openapi, "describe", lambda: '{"openapi": "3.1.0"}\n')
    monkeypatch.setattr(sys, "argv", ["openapi", "--check"])
    assert openapi.main() == 1
    assert "--write" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["openapi", "--write"])
    assert openapi.main() == 0
    monkeypatch.setattr(sys, "argv", ["openapi", "--check"])
    assert openapi.main() == 0
