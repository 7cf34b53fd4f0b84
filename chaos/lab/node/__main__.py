"""``python -m chaos.lab.node --config FILE``: run one node until SIGTERM or SIGINT.

Exit code 0 after a signal, 1 when a port or the socket cannot be had, 2 for a bad file.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
import sys
from pathlib import Path

from chaos.lab.node.config import NodeConfig
from chaos.lab.node.node import Node
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import FleetwardError

log = logging.getLogger("chaos.lab.node")


async def run(config: NodeConfig) -> None:
    """Serve the node until a signal comes. Raises OSError when an address is taken."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    node = Node(config, SystemClock())
    try:
        await node.start()
        gc.freeze()  # what was imported stays: the collector need not walk it between steps
        await over.wait()
    finally:
        await node.stop()


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run; returns the exit code."""
    parser = argparse.ArgumentParser(prog="chaos.lab.node", description="Run one node of the lab.")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="node configuration, JSON")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        asyncio.run(run(NodeConfig.load(options.config)))
    except FleetwardError as error:
        log.critical("%s", error)
        return 2
    except OSError as error:
        log.critical("cannot serve: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
