"""The Celery application: one task, ``fleetward.advance(run_id)``, on one queue.

Acknowledged late, so that a message outlives the worker that had it; prefetched one at a
time, so that none waits behind a slow run. No eta and no countdown (what is due later is
in the database), no result backend, no events, no remote control.
"""

from __future__ import annotations

from typing import Any

from celery import Celery

QUEUE = "fleetward"
TASK = "fleetward.advance"

SECONDS_UNTIL_LOST = 120
"""When Redis gives an unacknowledged message to another worker; the sweeper is quicker."""


def make_app(broker_url: str, **transport: Any) -> Celery:
    """Return an application for this broker; ``transport`` are kombu's options for Redis."""
    app = Celery("fleetward", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE,
        task_serializer="json",
        accept_content=["json"],
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_publish_retry=False,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"visibility_timeout": SECONDS_UNTIL_LOST, **transport},
        enable_utc=True,
    )
    return app
