"""The long-running processes: ``fleetward api``, ``controller``, ``worker``; and ``login``.

Each may run many times. They stop cleanly on SIGTERM and Ctrl-C. Logs go to standard
error, one JSON object a line.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Annotated

import typer

from controlplane.cli.context import StateDir, database, load_settings
from controlplane.cli.output import Format, FormatOption, emit_json, err, out


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("api")(api)
    app.command("controller")(controller)
    app.command("worker")(worker)
    app.command("login")(login)
    app.command("admin-token")(admin_token)
    app.command("alert-token")(alert_token)


def api(
    state_dir: StateDir = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", min=0, max=65535)] = None,
) -> None:
    """Serve the API and the console. The first start prints the admin token, once."""
    from controlplane.api.app import listen, serve
    from controlplane.cli.console import api_application, first_admin_token

    settings = load_settings(state_dir)
    host, port = host or settings.api_host, settings.api_port if port is None else port
    listener = listen(host, port)
    token = first_admin_token(settings)
    if token is not None:
        err.print(f"admin token (shown once, keep it): {token}", markup=False, soft_wrap=True)
    serve(api_application(settings), host, port, listener)


def controller(state_dir: StateDir = None) -> None:
    """Observe, decide, and start runs; one leader at a time, however many are started."""
    from controlplane.bootstrap.engine import process_name
    from controlplane.cli.loop import build_controller

    settings = load_settings(state_dir)
    build_controller(settings, process_name("controller")).run(stop_event())


def worker(state_dir: StateDir = None) -> None:
    """Execute runs (a Celery worker)."""
    from controlplane.bootstrap.engine import build_executor, process_name
    from controlplane.worker import run_worker

    settings = load_settings(state_dir)
    name = process_name("worker")
    code = run_worker(settings.broker, lambda: build_executor(settings, name), name=name)
    raise typer.Exit(code)


def login(state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """Print the console's address with a token in it that signs in once, within ten minutes."""
    from controlplane.cli.console import login_token

    settings = load_settings(state_dir)
    with database(state_dir) as db:
        address = f"{settings.api}/#token={login_token(db)}"
    if output is Format.JSON:
        emit_json({"address": address})
    else:
        out.print(address, markup=False, soft_wrap=True)


def admin_token(state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """Make the admin token if there is none yet, and print it: the one time it can be seen."""
    from controlplane.cli.console import first_admin_token

    token = first_admin_token(load_settings(state_dir))
    if output is Format.JSON:
        emit_json({"token": token})
    else:
        out.print(
            token or "There is an admin token already; it cannot be shown again.",
            markup=False,
            soft_wrap=True,
        )


def alert_token(
    name: Annotated[str, typer.Argument(help="Who will send with it.")] = "alertmanager",
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make a token with which an Alertmanager may send alerts, and print it, once."""
    from controlplane.cli.console import alert_token as make

    with database(state_dir) as db:
        token = make(db, name)
    if output is Format.JSON:
        emit_json({"token": token})
    else:
        out.print(token, markup=False, soft_wrap=True)


def stop_event() -> threading.Event:
    """Return an event that SIGTERM and Ctrl-C set."""
    stop = threading.Event()

    def request(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    signal.signal(signal.SIGTERM, request)
    signal.signal(signal.SIGINT, request)
    return stop
