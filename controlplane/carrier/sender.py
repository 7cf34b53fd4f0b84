"""Sending a wake-up, or failing fast: a sender never waits for a broker that is down.

What was not sent is due still, and the sweeper sends it when the broker is back.
"""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import ChannelError, KombuError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from controlplane.carrier.app import QUEUE, TASK, make_app
from controlplane.kernel.errors import Unavailable

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 2.0

_GONE = (BrokerError, KombuError, RedisError, OSError)


class Sender:
    """Calls ``sender(run_id)`` to wake a worker. Safe between threads; a forked process makes its own."""

    def __init__(self, broker_url: str) -> None:
        self._app: Celery = make_app(
            broker_url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry_on_timeout=False,
            max_retries=1,
            interval_start=0,
            interval_step=0.05,
            interval_max=0.1,
        )

    def __call__(self, run_id: str) -> None:
        """Send one message. Raises `Unavailable` within a few seconds when the broker does not take it."""
        try:
            self._app.send_task(TASK, args=[run_id], ignore_result=True, retry=False)
        except _GONE as error:
            msg = f"the broker does not take messages: {type(error).__name__}"
            raise Unavailable(msg, hint="runs go on when it is back; nothing is lost") from error

    def waiting(self) -> int:
        """Count the messages that no worker has taken yet. Raises `Unavailable` as sending does."""
        try:
            with self._app.connection_or_acquire() as connection:
                declared = connection.default_channel.queue_declare(QUEUE, passive=True)
        except ChannelError:
            return 0  # nobody has sent or received yet
        except _GONE as error:
            msg = f"the broker does not answer: {type(error).__name__}"
            raise Unavailable(msg) from error
        return int(declared.message_count)

    def close(self) -> None:
        """Close the connections."""
        self._app.close()
