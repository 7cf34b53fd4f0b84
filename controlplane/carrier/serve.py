"""A process that receives wake-ups and hands each to a callable, until it is told to end.

SIGTERM ends it after the run it is advancing; SIGKILL may end it at any instant, which
costs nothing but time. While the broker is down it keeps trying to come back.
"""

from __future__ import annotations

from collections.abc import Callable

from celery import signals

from controlplane.carrier.app import QUEUE, TASK, make_app

ANSWER_SECONDS = 30.0


def serve(broker_url: str, advance: Callable[[str], None], *, name: str) -> int:
    """Receive until SIGTERM, and return the process's exit code.

    ``advance`` gets a run's id, one at a time, in this thread: runs never hold a worker, and
    more of them are served by more processes. It raises nothing that matters: a message is
    acknowledged either way.
    """
    app = make_app(broker_url, socket_connect_timeout=5.0, socket_timeout=ANSWER_SECONDS)

    @app.task(name=TASK, ignore_result=True)
    def task(run_id: str) -> None:
        advance(run_id)

    signals.setup_logging.connect(_keep_our_logging)
    worker = app.Worker(
        hostname=name,
        pool="solo",
        concurrency=1,
        queues=[QUEUE],
        loglevel="WARNING",
        optimization="fair",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def _keep_our_logging(**_: object) -> None:
    """Being connected to this signal keeps Celery from configuring logging itself."""
