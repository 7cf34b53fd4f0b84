"""One drill on the embedded fleet, told as it happens, with its table at the end.

The drill is an ordinary one, started as any other and judged from the clients' record; the
demo adds nothing but words. A verdict is an exit code: 0 passed, 1 failed, 3 inconclusive
or aborted.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from datetime import datetime

from rich.console import Console
from rich.table import Table

from chaos.drills.compile import start_drill
from chaos.drills.library import find_drill
from chaos.drills.ports import lab_drill_ports
from chaos.drills.result import BASELINES, result_of
from chaos.up.fleet import EmbeddedFleet
from chaos.up.narrator import Narrator
from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Run
from controlplane.model.report import DrillReport, DrillVerdict, StoredReport, report_name
from controlplane.model.states import is_final

POLL_SECONDS = 0.5
EXIT_CODES = {
    DrillVerdict.PASSED: 0,
    DrillVerdict.FAILED: 1,
    DrillVerdict.INCONCLUSIVE: 3,
    DrillVerdict.ABORTED: 3,
}

Say = Callable[[str], None]


def run_demo(fleet: EmbeddedFleet, name: str, stop: threading.Event, say: Say, *, as_json: bool) -> int:
    """Run the drill called ``name`` to its end, show what came of it, and return the exit code."""
    report = run_drill(fleet, name, stop, say)
    if as_json:
        sys.stdout.write(json.dumps(result_of(report), indent=2) + "\n")
    else:
        print_table(report)
    return EXIT_CODES[report.verdict]


def run_drill(fleet: EmbeddedFleet, name: str, stop: threading.Event, say: Say) -> DrillReport:
    """Start a drill, tell what happens until it has ended, and return its report."""
    database = fleet.database
    ports = lab_drill_ports(fleet.state_dir)
    narrator = Narrator(database, fleet.clock.now())
    with database.transaction() as tx:
        drill = find_drill(tx, name)
        run = start_drill(tx, drill, ports, started_by="demo")
    say(f"drill {name}: {drill.spec.purpose.strip()}")
    return _follow(fleet, run, narrator, stop, say)


def _follow(
    fleet: EmbeddedFleet, run: Run, narrator: Narrator, stop: threading.Event, say: Say
) -> DrillReport:
    while True:
        ended = stop.wait(POLL_SECONDS)
        for line in [*fleet.tend(), *narrator.news()]:
            say(line)
        with fleet.database.reading() as tx:
            present = tx.runs.get(run.id)
            stored = tx.snapshots.get(report_name(run.id))
        if stored is not None and is_final(present.state):
            return StoredReport.model_validate(stored).report
        if is_final(present.state) or ended:
            msg = f"the drill ended as {present.state} without a report: {present.reason}"
            raise Unavailable(msg, hint=f"fleetward runs show {run.id} --state-dir {fleet.state_dir}")


def print_table(report: DrillReport) -> None:
    """Print the drill's table: what happened when, what it cost, and the verdict."""
    table = Table(
        title=f"Drill {report.drill}", title_justify="left", show_header=False, box=None, pad_edge=False
    )
    table.add_column(style="bold")
    table.add_column()
    table.add_row("injected", _moment(report.injected_at, None))
    for label, moment in (
        ("detected", report.detected_at),
        ("mitigated", report.mitigated_at),
        ("recovered", report.recovered_at),
    ):
        table.add_row(label, _moment(moment, _span(report, moment)))
    kept = report.tokens.kept
    share = "unknown" if kept is None else f"{kept:.1%}, baseline: {BASELINES[report.tokens.baseline]}"
    table.add_row("effective tokens kept", share)
    table.add_row("playbook", report.playbook or "none ran")
    table.add_row("leftovers", ", ".join(report.leftovers) or "none")
    table.add_row("verdict", report.verdict.value)
    console = Console(highlight=False)
    console.print(table)
    for reason in report.reasons:
        console.print(f"  {reason}", markup=False, soft_wrap=True)


def _span(report: DrillReport, moment: datetime | None) -> float | None:
    if moment is None or report.injected_at is None:
        return None
    return round((moment - report.injected_at).total_seconds(), 3)


def _moment(moment: datetime | None, span: float | None) -> str:
    if moment is None:
        return "never"
    return f"{moment.astimezone():%H:%M:%S}" + ("" if span is None else f"  after {span:.1f} s")
