"""The embedded fleet as an operator has it: ``fleetward up`` in its own process, and the commands beside it.

Everything is asked from outside: the process table, the sockets, the platform's write log, the exit
codes. A fleet is ended by the pids of its own state directory, however a test has left it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import IO, Any, TypeVar

import httpx
import psutil

from chaos.lab.layout import Layout
from chaos.lab.processes import MARK, ProcessRecord, ProcessTable
from controlplane.kernel.clock import SystemClock
from controlplane.model.signals import SIGNALS
from controlplane.store.database import Database

T = TypeVar("T")

FLEETWARD = str(Path(sys.executable).with_name("fleetward"))
OWN = ("redis", "api", "controller", "worker", "reaper")
"""The control plane's processes, as `up` names them."""
START_SECONDS = 240.0
"""A start takes about 20 s; a machine that does other things as well may need longer."""


def wait_for(what: str, ask: Callable[[], T], seconds: float = 60.0, every: float = 0.1) -> T:
    """Ask until the answer is true, and return it; fail with the last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last seen: {answer!r}")
        time.sleep(every)
    return answer


class FleetUp:
    """One state directory, with ``fleetward up`` on it when started."""

    def __init__(self, state_dir: Path, *arguments: str) -> None:
        self.state_dir = state_dir.resolve()
        self.table = ProcessTable(self.state_dir)
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._said = state_dir.with_name(f"{state_dir.name}.stderr")
        self._http = httpx.Client(timeout=10, trust_env=False)

    # ── the command `up` ────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Start ``fleetward up`` in a process group of its own, as a terminal does; wait for nothing."""
        with self._said.open("wb") as said:
            self._process = self._popen(said)

    def begin_unheard(self) -> None:
        """The same, but nobody reads what it says."""
        reader, writer = os.pipe()
        self._process = self._popen(writer)
        os.close(writer)
        os.close(reader)

    def _popen(self, said: IO[bytes] | int) -> subprocess.Popen[bytes]:
        argv = [FLEETWARD, "up", "--state-dir", str(self.state_dir), *self._arguments]
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )

    def start(self) -> FleetUp:
        """Start and wait for the line that gives the console's address."""
        self.begin()
        self.wait_said("console: http://")
        return self

    def wait_said(self, text: str) -> None:
        """Wait until `up` has said ``text``; fail at once when it ends before."""

        def said() -> bool:
            if text in self.said:
                return True
            assert self.process.poll() is None, f"`up` ended:\n{self.said}"
            return False

        wait_for(f"`{text}` from `up`", said, START_SECONDS)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process

    @property
    def said(self) -> str:
        """What `up` has written to the terminal."""
        return self._said.read_text()

    def interrupt(self) -> int:
        """Press Ctrl-C: every process of the terminal's group gets it. Return the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(60)

    def terminate(self) -> int:
        """Send SIGTERM to `up` alone, as a service manager does. Return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill_up(self) -> None:
        """Kill `up` itself; nobody tends the fleet from now on."""
        self.process.kill()
        self.process.wait(10)

    # ── its processes ───────────────────────────────────────────────────────────────────────────

    def kill(self, name: str) -> ProcessRecord:
        """Kill one process outright, and return what it was."""
        record = self.table.get(name)
        assert self.table.signal(name, signal.SIGKILL), f"{name} does not live"
        wait_for(f"the end of {name}", lambda: not self.table.is_alive(record))
        return record

    def alive(self) -> set[str]:
        """Names of the recorded processes that live."""
        return {record.name for record in self.table.records() if self.table.is_alive(record)}

    def wait_whole(self) -> None:
        """Wait until every process lives, the API answers and the controller measures."""
        recorded = {record.name for record in self.table.records()}
        wait_for("every process alive", lambda: self.alive() == recorded >= set(OWN))
        wait_for("the API", self.api_answers)
        wait_for("the controller", self.is_measured)

    def api_answers(self) -> bool:
        """Whether the API says that it is ready."""
        api = json.loads((self.state_dir / "fleet.json").read_text())["api"]
        try:
            return self._http.get(f"{api}/api/v1/readyz").is_success
        except httpx.HTTPError:
            return False

    def is_measured(self) -> bool:
        """Whether the controller has looked at the fleet within the last seconds."""
        with self.database() as database, database.reading() as tx:
            measured_at = tx.snapshots.at(SIGNALS)
            return measured_at is not None and (tx.now - measured_at).total_seconds() < 6

    def redis_port(self) -> int:
        broker = json.loads((self.state_dir / "fleet.json").read_text())["broker"]
        return httpx.URL(broker).port or 0

    def replaced(self, old: ProcessRecord) -> ProcessRecord:
        """Wait until `up` has started a process anew, and return it."""

        def fresh() -> ProcessRecord | None:
            found = self.table.get(old.name)
            return found if found.pid != old.pid and self.table.is_alive(found) else None

        found = wait_for(f"{old.name} started again", fresh)
        assert found is not None
        return found

    def left(self) -> list[str]:
        """Describe every living process that was started for this state directory, recorded or not."""
        return [f"{process.pid} {_words(process)}" for process in self._living()]

    def ports(self) -> set[int]:
        """Ports that its processes listen on now."""
        living = [
            psutil.Process(record.pid) for record in self.table.records() if self.table.is_alive(record)
        ]
        return {
            connection.laddr.port
            for process in living
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }

    def end(self) -> None:
        """End whatever lives of this state directory, however it was left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
        for process in self._living():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._http.close()
        wait_for("nothing left", lambda: not self._living())

    def _living(self) -> list[psutil.Process]:
        """By mark or folder: Redis writes its title over its environment, and so loses the mark."""
        here = str(self.state_dir)
        return [each for each in psutil.process_iter() if here in {_mark(each), _folder(each)}]

    # ── questions from outside ──────────────────────────────────────────────────────────────────

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command of fleetward on this state directory."""
        line = [FLEETWARD, *argv, "--state-dir", str(self.state_dir)]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)

    def ask(self, *argv: str) -> Any:
        """Run a command with ``-o json`` and return what it says."""
        done = self.run(*argv, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def address(self, name: str) -> str:
        return str(json.loads((self.state_dir / "lab.json").read_text())[name])

    def get(self, name: str, path: str) -> Any:
        return self._http.get(self.address(name) + path).raise_for_status().json()

    def weights(self) -> dict[str, int]:
        return dict(self.get("platform", "/v1/weights")["weights"])

    def set_weights(self, changed: dict[str, int]) -> None:
        """Give every zone its full weight but for some, as a person does."""
        weights = dict.fromkeys(self.weights(), 100) | changed
        body = {"weights": weights, "expectedVersion": None, "by": None}
        self._http.put(self.address("platform") + "/v1/weights", json=body).raise_for_status()

    def writes(self, run: str) -> list[dict[str, Any]]:
        """Effects of a run in the platform's own log, oldest first."""
        found = self.get("platform", "/v1/writes")["writes"]
        return [write for write in found if write["by"] is not None and write["by"]["run"] == run]

    def faults_listed(self) -> dict[str, list[str]]:
        """Kinds of the faults that each node lists at its own socket."""
        return {
            node.node: [fault["kind"] for fault in _ask_socket(node.socket, "/status")["faults"]]
            for node in Layout.load(self.state_dir).nodes
        }

    def time_per_token(self, zone: str) -> float:
        """Median time between two tokens of a zone's replicas, asked past the gateway; seconds."""
        gaps: list[float] = []
        for node in Layout.load(self.state_dir).nodes_of(zone):
            for replica in node.replicas:
                gaps += _gaps(f"http://127.0.0.1:{replica.port}/v1/chat/completions", node.model)
        return median(gaps)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the fleet's database."""
        database = Database(f"sqlite:///{self.state_dir / 'fleetward.db'}", SystemClock())
        try:
            yield database
        finally:
            database.close()


def held(ports: Sequence[int] | set[int]) -> list[int]:
    """List the ports that somebody listens on, but for those that another embedded fleet has taken since."""
    return [port for port in sorted(ports) if not _is_free(port) and not _is_anothers(port)]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _is_anothers(port: int) -> bool:
    """Whether a fleet of another state directory listens there; the caller's own is known to have ended."""
    for connection in psutil.net_connections("inet"):
        if connection.laddr and connection.laddr.port == port and connection.pid:
            return _mark(psutil.Process(connection.pid)) is not None
    return False


def _gaps(url: str, model: str) -> list[float]:
    """Times between the tokens of one answer, seconds."""
    body = {
        "model": model, "messages": [{"role": "user", "content": "Count."}],
        "max_tokens": 12, "ignore_eos": True, "stream": True,
    }  # fmt: skip
    with (
        httpx.Client(timeout=30, trust_env=False) as client,
        client.stream("POST", url, json=body) as answer,
    ):
        arrivals = [time.monotonic() for line in answer.iter_lines() if line.startswith("data: {")]
    return [after - before for before, after in pairwise(arrivals)]


def _ask_socket(path: Path, question: str) -> Any:
    transport = httpx.HTTPTransport(uds=str(path))
    with httpx.Client(transport=transport, base_url="http://node", timeout=10, trust_env=False) as client:
        return client.get(question).raise_for_status().json()


def _mark(process: psutil.Process) -> str | None:
    try:
        return None if process.status() == psutil.STATUS_ZOMBIE else process.environ().get(MARK)
    except (psutil.Error, OSError):
        return None


def _folder(process: psutil.Process) -> str | None:
    try:
        return process.cwd()
    except (psutil.Error, OSError):
        return None


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:160]
    except psutil.Error:
        return "(gone)"
