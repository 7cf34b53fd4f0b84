"""Wake-ups that go the product's way: its own sender, a real Redis, taken and acknowledged as by a worker.

The server keeps nothing on the disk, so that killing it loses everything that was on its way.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.connection import Connection
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from controlplane.carrier import Sender
from controlplane.carrier.app import QUEUE
from tests.support.mailbox import Mailbox

_GONE = (RedisError, KombuError, OSError)


class RedisServer:
    """A Redis on loopback."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process = self._start()

    def restart(self) -> None:
        """Kill it, with all that it holds, and start another in its place."""
        self.close()
        self._process = self._start()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        process = subprocess.Popen(arguments, cwd=self._folder, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.5).close()
            except OSError:
                time.sleep(0.005)
            else:
                return process
        process.kill()
        process.wait()
        msg = "Redis does not answer"
        raise RuntimeError(msg)


class RedisMailbox(Mailbox):
    """Messages in a Redis. Each is acknowledged when the next are asked for: after it was worked on."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__()
        self.delivered = 0
        self._server = server
        self._sender = Sender(server.url)
        self._taken: list[Any] = []
        self._connect()

    def append(self, run_id: str) -> None:
        self._sender(run_id)

    def take(self) -> list[str]:
        try:
            for message in self._taken:
                message.ack()
            self._taken = list(self._waiting())
        except _GONE:
            self._taken = []
            self._connect()
        found = [str(message.payload[0][0]) for message in self._taken]
        self.delivered += len(found)
        return found

    def clear(self) -> None:
        """Lose everything that is on its way: the server is killed, and another is in its place."""
        self._server.restart()

    def close(self) -> None:
        self._sender.close()
        self._connection.release()  # type: ignore[no-untyped-call]

    def _waiting(self) -> Iterator[Any]:
        while True:
            try:
                yield self._queue.get(block=False)
            except Empty:
                return

    def _connect(self) -> None:
        self._connection = Connection(self._server.url)  # type: ignore[no-untyped-call]
        self._queue = self._connection.SimpleQueue(QUEUE)  # type: ignore[no-untyped-call]
