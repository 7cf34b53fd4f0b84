"""``python -m chaos.lab --state-dir DIR``: run the lab in the foreground, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from chaos.lab.layout import LabSettings
from chaos.lab.supervisor import Lab
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import FleetwardError

_LOOK_EVERY = 1.0  # seconds


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as after Ctrl-C."""
    raise KeyboardInterrupt


def _run(lab: Lab) -> None:
    started = SystemClock().monotonic()
    addresses = lab.start(_say)
    _say(f"ready after {SystemClock().monotonic() - started:.1f} s; Ctrl-C ends it")
    for name, value in addresses.items():
        _say(f"  {name}: {value}")
    told: set[tuple[str, int]] = set()
    while True:
        SystemClock().sleep(_LOOK_EVERY)
        for record in lab.dead():
            if (record.name, record.pid) not in told:
                told.add((record.name, record.pid))
                _say(
                    f"{record.name} (pid {record.pid}) has ended; its log: {lab.table.log_path(record.name)}"
                )


def main() -> int:
    """Start, wait, stop."""
    parser = argparse.ArgumentParser(prog="python -m chaos.lab", description=__doc__)
    parser.add_argument("--state-dir", type=Path, default=Path(".fleetward"), help="default: .fleetward")
    parser.add_argument("--seed", type=int, default=1, help="fixes the traffic; default: 1")
    parser.add_argument(
        "--trace", type=Path, help="Azure LLM trace CSV to replay instead of the synthetic day"
    )
    parser.add_argument("--rate-factor", type=float, default=1.0, help="speed of the trace; default: 1.0")
    options = parser.parse_args()
    trace = options.trace.resolve() if options.trace else None
    settings = LabSettings(seed=options.seed, trace=trace, rate_factor=options.rate_factor)
    lab = Lab(options.state_dir, settings)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _run(lab)
    except KeyboardInterrupt:
        return 0
    except FleetwardError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        lab.stop(_say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
