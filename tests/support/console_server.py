"""The API with the built console over a told story, as a process: for journeys in a browser, and for looking.

``python -m tests.support.console_server --state DIR [--port 0] [--empty] [--halted] [--asking]`` prints
one line of JSON, ``{"address", "admin", "login"}``, when it listens, and goes on telling until it is ended.
With ``--asking`` there is no story but an engine, and the line has the runs that wait for people, by what a
journey does with them.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from controlplane.api.app import create_app, serve
from controlplane.api.auth import issue_admin_token, issue_login_token
from controlplane.api.services import ApiSettings, Services
from controlplane.bootstrap.documents import check_texts
from controlplane.kernel.clock import SystemClock
from controlplane.store.database import Database
from tests.support import console_drills, console_story
from tests.support.console_engine import Engine

CONSOLE = Path(__file__).resolve().parents[2] / "web" / "dist"
TICK_SECONDS = 2.0


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.console_server")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--empty", action="store_true", help="a database without a story")
    parser.add_argument("--asking", action="store_true", help="no story, but runs that wait for people")
    parser.add_argument("--halted", action="store_true", help="with a halt in force")
    options = parser.parse_args()
    clock = SystemClock()
    database = Database(f"sqlite:///{options.state / 'console.db'}", clock)
    database.migrate()
    told = not (options.empty or options.asking)
    with database.transaction() as tx:
        if told:
            console_story.tell(tx)
            console_drills.tell(tx)
        if options.halted:
            console_story.halt(tx, tx.now)
        tokens = {"admin": issue_admin_token(tx), "login": issue_login_token(tx)}
    going_on: list[Callable[[], None]] = [partial(_tell_on, database)] if told else []
    if options.asking:
        engine = Engine(database)
        tokens |= engine.begin()
        going_on.append(engine.go_on)
    listener = socket.create_server(("127.0.0.1", options.port))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sys.stdout.write(json.dumps({"address": address, **tokens}) + "\n")
    sys.stdout.flush()
    for each in going_on:
        threading.Thread(target=_again_and_again, args=(each,), daemon=True).start()
    app = create_app(
        Services(
            database=database,
            clock=clock,
            check=lambda files: check_texts(files).findings,
            settings=ApiSettings(environment="lab", version="0.1.0", console=CONSOLE),
        )
    )
    serve(app, "127.0.0.1", options.port, listener)


def _again_and_again(what: Callable[[], None]) -> None:
    stop = threading.Event()
    while not stop.wait(TICK_SECONDS):
        what()


def _tell_on(database: Database) -> None:
    with database.transaction() as tx:
        console_story.tick(tx, tx.now)


if __name__ == "__main__":
    main()
