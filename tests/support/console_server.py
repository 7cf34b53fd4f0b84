"""The API with the built console over a told story, as a process: for journeys in a browser, and for looking.

``python -m tests.support.console_server --state DIR [--port 0] [--empty] [--halted]`` prints one line of
JSON, ``{"address", "admin", "login"}``, when it listens, and ticks every two seconds until it is ended.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
from pathlib import Path

from controlplane.api.app import create_app, serve
from controlplane.api.auth import issue_admin_token, issue_login_token
from controlplane.api.services import ApiSettings, Services
from controlplane.bootstrap.documents import check_text
from controlplane.kernel.clock import SystemClock
from controlplane.store.database import Database
from tests.support import console_drills, console_story

CONSOLE = Path(__file__).resolve().parents[2] / "web" / "dist"
TICK_SECONDS = 2.0


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.console_server")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--empty", action="store_true", help="a database without a story")
    parser.add_argument("--halted", action="store_true", help="with a halt in force")
    options = parser.parse_args()
    clock = SystemClock()
    database = Database(f"sqlite:///{options.state / 'console.db'}", clock)
    database.migrate()
    with database.transaction() as tx:
        if not options.empty:
            console_story.tell(tx)
            console_drills.tell(tx)
        if options.halted:
            console_story.halt(tx, tx.now)
        tokens = {"admin": issue_admin_token(tx), "login": issue_login_token(tx)}
    listener = socket.create_server(("127.0.0.1", options.port))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sys.stdout.write(json.dumps({"address": address, **tokens}) + "\n")
    sys.stdout.flush()
    if not options.empty:
        threading.Thread(target=_tick, args=(database,), daemon=True).start()
    app = create_app(
        Services(
            database=database,
            clock=clock,
            validate=lambda file, text: check_text(file, text).findings,
            settings=ApiSettings(environment="lab", version="0.1.0", console=CONSOLE),
        )
    )
    serve(app, "127.0.0.1", options.port, listener)


def _tick(database: Database) -> None:
    stop = threading.Event()
    while not stop.wait(TICK_SECONDS):
        with database.transaction() as tx:
            console_story.tick(tx, tx.now)


if __name__ == "__main__":
    main()
