"""The API's description as a file: ``python -m controlplane.api.openapi --check | --write``.

``web/openapi.json`` is what the console's types are generated from. It is committed, so
that a change of the API shows in review; ``--check`` fails when it is not what the code says.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from controlplane.api.app import create_app
from controlplane.api.services import ApiSettings, Services
from controlplane.kernel.clock import SystemClock
from controlplane.store.database import Database

FILE = Path(__file__).resolve().parents[2] / "web" / "openapi.json"


def describe() -> str:
    """Return the OpenAPI document as text, the same for the same code."""
    clock = SystemClock()
    services = Services(
        database=Database("sqlite:///describing-opens-nothing.db", clock),
        clock=clock,
        check=lambda _files: (),
        settings=ApiSettings(environment="any", version="1"),
    )
    document: dict[str, Any] = create_app(services).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    """Write the file, or tell by the exit code whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m controlplane.api.openapi")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", action="store_true", help="fail when web/openapi.json is out of date")
    how.add_argument("--write", action="store_true", help="write web/openapi.json")
    text = describe()
    if parser.parse_args().write:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("web/openapi.json is out of date: run `python -m controlplane.api.openapi --write`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
