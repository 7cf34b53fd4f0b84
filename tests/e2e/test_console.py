"""The built console in a real browser, over the real API with a told story.

The journeys are TypeScript (``web/e2e``), run by vitest with playwright-core; this starts the
API for them, hands them its address and tokens, and shows what they print when they fail.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
BUDGET_BYTES = 250_000
"""The entry's JavaScript, compressed."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OPTIONS = {"pages": (), "journeys": (), "decisions": ("--asking",)}
"""What the API is started with for each file of journeys."""


@pytest.fixture
def served(tmp_path: Path, journeys: str) -> Iterator[dict[str, str]]:
    """A running API: its ``address``, its ``admin`` and its ``login`` token, and what its options add."""
    argv = [sys.executable, "-m", "tests.support.console_server", "--state", str(tmp_path)]
    argv += OPTIONS[journeys]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(timeout=15)
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.parametrize("journeys", OPTIONS)
def test_the_console_in_a_browser(served: dict[str, str], journeys: str) -> None:
    if not (WEB / "dist" / "index.html").is_file():
        pytest.fail("the console is not built: run `make setup`")
    npx = shutil.which("npx")
    assert npx is not None
    handed = {f"FLEETWARD_E2E_{name.upper()}": value for name, value in served.items()}
    command = [
        npx,
        "--no-install",
        "vitest",
        "run",
        "--config",
        "vitest.e2e.config.ts",
        f"e2e/{journeys}.e2e.ts",
    ]
    done = subprocess.run(
        command,
        cwd=WEB,
        env={**os.environ, **handed, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-4_000:]


def test_the_first_load_stays_within_its_budget() -> None:
    index = (WEB / "dist" / "index.html").read_text(encoding="utf-8")
    entries = [file for file in (WEB / "dist" / "assets").glob("*.js") if file.name in index]
    assert entries
    assert sum(len(gzip.compress(file.read_bytes())) for file in entries) <= BUDGET_BYTES
