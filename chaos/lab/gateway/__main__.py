"""``python -m chaos.lab.gateway --state-dir DIR``: serve the control API of the lab laid out there."""

from __future__ import annotations

import argparse
from pathlib import Path

from aiohttp import web

from chaos.lab.gateway.app import Api
from chaos.lab.gateway.writelog import WriteLog
from chaos.lab.layout import Layout
from controlplane.kernel.clock import SystemClock


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m chaos.lab.gateway", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True, help="folder with layout.json")
    layout = Layout.load(parser.parse_args().state_dir)
    clock = SystemClock()
    log = WriteLog(layout.state_dir / "gateway", clock)
    web.run_app(
        Api(layout, log, clock).application(),
        host="127.0.0.1",
        port=layout.platform_port,
        access_log=None,
        print=None,
        shutdown_timeout=1.0,
    )


if __name__ == "__main__":
    main()
