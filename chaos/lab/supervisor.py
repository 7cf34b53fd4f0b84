"""Starts all of a lab, tells when it is ready, adopts or ends what an earlier start left, stops it.

It restarts nothing by itself: a dead node is a drill's doing, and its undo brings it back from
the process table. `Lab.dead` says which processes are gone, for whoever wants to know. Every
method works from what stands in the state directory, so that any process may stop a lab that
another one started.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from chaos.lab import prometheus, readiness
from chaos.lab.gateway import writer
from chaos.lab.layout import LabSettings, Layout, plan
from chaos.lab.processes import ProcessRecord, ProcessTable
from chaos.lab.programs import TRAFFIC, Program, node_file, programs
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import NotFound, Unavailable

Progress = Callable[[str], None]
"""Is told each step in a line of text."""

READY_WITHIN = 120.0
"""Seconds until a start counts as failed; about 12 are usual, a machine with other work needs longer."""

GRACE = 5.0
"""Seconds that processes get to end by themselves."""

_LOOK_EVERY = 0.1  # seconds
_LOG_TAIL = 800  # characters of a dead process's log that an error shows


def _silent(_: str) -> None:
    """Tell nobody."""


class Lab:
    """One lab: the processes and files under one state directory. Several live side by side."""

    def __init__(
        self, state_dir: Path, settings: LabSettings | None = None, *, clock: Clock | None = None
    ) -> None:
        self.state_dir = state_dir.resolve()
        self.settings = settings
        self.table = ProcessTable(self.state_dir)
        self._clock = clock or SystemClock()
        self._layout: Layout | None = None

    # ── what is there ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def layout(self) -> Layout:
        """The lab's layout; raises NotFound if none was started here."""
        if self._layout is None:
            self._layout = Layout.load(self.state_dir)
        return self._layout

    @property
    def addresses(self) -> dict[str, str | int]:
        """What ``lab.json`` says; raises NotFound while no lab is up."""
        try:
            document: dict[str, str | int] = json.loads((self.state_dir / "lab.json").read_text())
        except FileNotFoundError as error:
            raise NotFound(f"no lab is up under {self.state_dir}") from error
        return document

    @property
    def processes(self) -> list[ProcessRecord]:
        """The lab's own processes, dead ones included."""
        return [record for record in self.table.records() if record.owner == "lab"]

    def dead(self) -> list[ProcessRecord]:
        """The lab's processes that do not run (any more)."""
        return [record for record in self.processes if not self.table.is_alive(record)]

    # ── starting ────────────────────────────────────────────────────────────────────────────────────────────

    def adopt(self) -> bool:
        """Take over a lab that an earlier start left, if it is whole and was started with our settings.

        Returns False otherwise, having changed nothing.
        """
        try:
            layout, _ = Layout.load(self.state_dir), self.addresses
        except NotFound:
            return False
        known = {record.name for record in self.processes}
        expected = {program.name for program in programs(layout)}
        if not expected <= known or self.dead() or self.settings not in (None, layout.settings):
            return False
        self._layout = layout
        with readiness.client() as session:
            return readiness.ask(readiness.completion, session, layout).complete

    def start(self, progress: Progress = _silent, timeout: float = READY_WITHIN) -> dict[str, str | int]:
        """End what an earlier start left, start everything, wait until it is ready; returns the addresses.

        Raises Unavailable (with the end of a log) if a process dies or time runs out; nothing is
        left running then.
        """
        self.stop(progress)
        self._layout = self._prepare()
        try:
            everything = {program.name: program for program in programs(self._layout)}
            # Traffic comes last: users of a fleet that still loads would start with errors.
            users = everything.pop(TRAFFIC)
            for program in everything.values():
                self._spawn(program)
            progress(f"started {len(self.processes)} processes")
            self._await_all(
                (
                    ("replicas ready", readiness.replicas),
                    ("endpoints healthy at Envoy", readiness.endpoints),
                    ("completion through the gateway", readiness.completion),
                ),
                progress,
                timeout,
            )
            self._spawn(users)
            self.wait_ready(progress, timeout)
        except BaseException:
            self.stop(progress)
            raise
        draft = self.state_dir / "lab.json.new"
        draft.write_text(json.dumps(self._layout.addresses(), indent=1) + "\n")
        draft.replace(self.state_dir / "lab.json")
        return self.addresses

    def wait_ready(self, progress: Progress = _silent, timeout: float = READY_WITHIN) -> None:
        """Wait until replicas, gateway, traffic and scrapes are all well. Raises Unavailable."""
        self._await_all(
            (
                ("replicas ready", readiness.replicas),
                ("endpoints healthy at Envoy", readiness.endpoints),
                ("traffic running", readiness.traffic),
                ("targets scraped", readiness.scrapes),
            ),
            progress,
            timeout,
        )

    def _prepare(self) -> Layout:
        layout = plan(self.state_dir, self.settings or LabSettings())
        for folder in (self.state_dir, layout.sockets, self.state_dir / "logs", self.state_dir / "nodes"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        layout.save()
        for node in layout.nodes:
            node_file(layout, node.node).write_text(node.model_dump_json(by_alias=True, indent=1))
        writer.prepare(layout, self._clock)
        prometheus.write_config(layout)
        (self.state_dir / "traffic" / "truth.jsonl").unlink(missing_ok=True)
        return layout

    def _spawn(self, program: Program) -> None:
        self.table.spawn(
            program.name, program.argv, kind=program.kind, owner="lab",
            env=program.env, zone=program.zone, node=program.node,
        )  # fmt: skip

    def _await_all(
        self,
        questions: Sequence[tuple[str, readiness.Question]],
        progress: Progress,
        timeout: float,
    ) -> None:
        deadline = self._clock.monotonic() + timeout
        with readiness.client() as session:
            for text, question in questions:
                told = ""
                while not (count := readiness.ask(question, session, self.layout)).complete:
                    line = f"{text}: {count.done} of {count.total}"
                    if line != told:
                        progress(line)
                        told = line
                    self._check_alive()
                    if self._clock.monotonic() > deadline:
                        raise Unavailable(f"the lab is not ready after {timeout:.0f} s: {line}")
                    self._clock.sleep(_LOOK_EVERY)
                progress(f"{text}: {count.done} of {count.total}")

    def _check_alive(self) -> None:
        for record in self.dead():
            try:
                tail = self.table.log_path(record.name).read_text(errors="replace")[-_LOG_TAIL:]
            except FileNotFoundError:
                tail = "(no log)"
            raise Unavailable(f"{record.name} ended while the lab was starting; its log ends with:\n{tail}")

    # ── stopping ────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, progress: Progress = _silent, grace: float = GRACE) -> list[str]:
        """End every process of the lab and forget it; returns the names that had to be killed.

        Users leave first, so that their truth holds no errors of our making. Raises Unavailable
        if a process outlives SIGKILL.
        """
        names = [record.name for record in self.processes]
        if names:
            progress(f"ending {len(names)} processes")
        (self.state_dir / "lab.json").unlink(missing_ok=True)
        killed = self.table.terminate([name for name in names if name == TRAFFIC], grace)
        killed += self.table.terminate([name for name in names if name != TRAFFIC], grace)
        for pid in self.table.terminate_strays(grace):
            progress(f"ended pid {pid}, left by an earlier start")
        self._remove_sockets()
        return killed

    def _remove_sockets(self) -> None:
        try:
            sockets = Layout.load(self.state_dir).sockets
        except NotFound:
            return
        shutil.rmtree(sockets, ignore_errors=True)
