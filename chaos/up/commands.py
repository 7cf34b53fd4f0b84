"""``fleetward up`` and ``fleetward demo``: the embedded fleet for people, and the loop before their eyes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import MODES, Mode

if TYPE_CHECKING:
    from chaos.up.fleet import EmbeddedFleet

TEND_SECONDS = 0.5

StateDir = Annotated[
    Path, typer.Option("--state-dir", envvar="FLEETWARD_STATE_DIR", help="Where everything is kept.")
]
ModeOption = Annotated[
    str | None, typer.Option("--mode", help="How much automation may do: observe only watches, auto acts.")
]
Seed = Annotated[int, typer.Option(help="Same seed, same traffic.")]
Trace = Annotated[
    Path | None,
    typer.Option(
        help="Azure LLM trace CSV to replay instead of the synthetic day.", exists=True, dir_okay=False
    ),
]
Documents = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", help="More YAML to apply: a file or a folder.", exists=True),
]


class Narration(Console):
    """Words for whoever listens; when nobody does any more (a closed pipe), only the words end."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


narration = Narration(stderr=True, highlight=False)


def register(app: typer.Typer) -> None:
    """Add the commands (entry point ``fleetward.commands``)."""
    app.command("up")(up)
    app.command("demo")(demo)


def up(
    state_dir: StateDir = Path(".fleetward"),
    mode: ModeOption = None,
    seed: Seed = 1,
    trace: Trace = None,
    files: Documents = None,
    api_port: Annotated[
        int | None, typer.Option(help="Port of the API and console; a free one if unset.")
    ] = None,
) -> None:
    """Run the embedded fleet with its control plane until Ctrl-C.

    Three zones of engines behind a real Envoy, a real Prometheus, traffic, and the control
    plane's own processes, which are started again when they die. What an earlier start left
    in the state directory is adopted or ended.
    """
    fleet = _fleet(state_dir, mode, seed, trace, files, api_port)
    with interruptible() as stop, fleet.running(_say, stop):
        _say(f"console: {fleet.sign_in_address()}")
        _say("Ctrl-C stops everything")
        tend_until(fleet, stop)


def demo(
    state_dir: StateDir = Path(".fleetward"),
    once: Annotated[
        bool, typer.Option("--once", help="End after the drill; the exit code is its verdict.")
    ] = False,
    drill: Annotated[
        str, typer.Option(help="One of chaos/catalog: gray-zone, zone-outage, crash-loop …")
    ] = "gray-zone",
    mode: ModeOption = None,
    seed: Seed = 1,
    output: Annotated[str, typer.Option("--output", "-o", help="table or json")] = "table",
) -> None:
    """Start everything, break something on purpose, and watch it being put right.

    With --once everything is stopped after the drill. Exit codes: 0 the drill passed; 1 it
    failed; 2 wrong use, or could not start; 3 inconclusive or aborted. With -o json standard
    output is one object: drill, verdict, playbook, injectedAt, detectedAt, mitigatedAt,
    recoveredAt, timeToDetect, timeToMitigate, timeToRecover, effectiveTokensKept, baseline,
    leftovers.
    """
    from chaos.up.demo import run_demo

    if output not in {"table", "json"}:
        message = f"unknown output `{output}`"
        raise InvalidInput(message, hint="table or json")
    fleet = _fleet(state_dir, mode, seed, None, None, None)
    code = 3  # interrupted before there was a verdict
    with interruptible() as stop, fleet.running(_say, stop):
        code = run_demo(fleet, drill, stop, _say, as_json=output == "json")
        if not once and not stop.is_set():
            _say(f"console: {fleet.sign_in_address()}")
            _say("Ctrl-C stops everything")
            tend_until(fleet, stop)
    raise typer.Exit(code)


def tend_until(fleet: EmbeddedFleet, stop: threading.Event) -> None:
    """Keep the control plane alive until somebody wants to stop."""
    while not stop.wait(TEND_SECONDS):
        for line in fleet.tend():
            _say(line)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn Ctrl-C, SIGTERM and a lost terminal into an event, and unwind by KeyboardInterrupt.

    Once the event is set, by a signal or by whoever yields it, further signals change nothing.
    """
    stop = threading.Event()

    def request(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            return  # Already stopping: a second Ctrl-C must not leave half of it running.
        stop.set()
        raise KeyboardInterrupt

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup means to outlive the terminal
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, request) for number in numbers}
    try:
        yield stop
    except KeyboardInterrupt:
        stop.set()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fleet(
    state_dir: Path,
    mode: str | None,
    seed: int,
    trace: Path | None,
    files: list[Path] | None,
    api_port: int | None,
) -> EmbeddedFleet:
    from chaos.lab.layout import LabSettings
    from chaos.up.fleet import EmbeddedFleet, FleetOptions, shipped_documents

    options = FleetOptions(
        state_dir=state_dir,
        documents=shipped_documents(files or ()),
        lab=LabSettings(seed=seed, trace=trace and trace.resolve()),  # read by a process in another folder
        mode=_mode(mode),
        api_port=api_port,
    )
    return EmbeddedFleet(options)


def _mode(text: str | None) -> Mode | None:
    if text is None:
        return None
    for known in MODES:
        if known == text:
            return known
    message = f"unknown mode `{text}`"
    raise InvalidInput(message, hint=f"valid: {', '.join(MODES)}")


def _say(line: str) -> None:
    with suppress(OSError):  # a terminal that is gone must not keep anything from being stopped
        narration.print(line, markup=False, soft_wrap=True)
