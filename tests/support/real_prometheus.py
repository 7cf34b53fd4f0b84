"""A real Prometheus in a folder of its own, for tests that scrape what they serve."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.ports import free_port


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.1)


class Prometheus:
    """The server; it scrapes every ``interval`` seconds what ``scrapes`` (its own scrape_configs) say.

    ``more``: further arguments.
    """

    def __init__(
        self,
        folder: Path,
        scrapes: Sequence[dict[str, Any]],
        interval: float = 0.5,
        more: Sequence[str] = (),
    ) -> None:
        self.folder, self.port, self.more = folder, free_port(), list(more)
        self.url = f"http://127.0.0.1:{self.port}"
        every = f"{1000 * interval:.0f}ms"
        timing = {"scrape_interval": every, "scrape_timeout": every}
        (folder / "prometheus.yml").write_text(
            json.dumps({"global": timing, "scrape_configs": list(scrapes)})
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        arguments = [
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=error",
            *self.more,
        ]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self._is_ready)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def number(self, query: str) -> float:
        """Return what a query that yields one number gives now, 0 when it yields none."""
        where = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(where, timeout=5) as answer:
            found = json.load(answer)["data"]["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
