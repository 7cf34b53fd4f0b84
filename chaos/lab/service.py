"""How the lab's own HTTP processes run: on loopback, until SIGTERM, or until their work fails.

A background task that ends by an error ends its process: a gateway that polls no more or traffic
that sends no more must be seen to be dead, not answer from memory.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from chaos.lab.layout import Layout

_LOG = logging.getLogger(__name__)


def serve(name: str, purpose: str, build: Callable[[Layout], web.Application], port: str) -> None:
    """Run ``python -m chaos.lab.<name> --state-dir DIR``; ``port`` names the layout's field. Blocks."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    parser = argparse.ArgumentParser(prog=f"python -m chaos.lab.{name}", description=purpose)
    parser.add_argument("--state-dir", type=Path, required=True, help="folder of a lab, with its layout.json")
    layout = Layout.load(parser.parse_args().state_dir)
    web.run_app(
        build(layout),
        host="127.0.0.1",
        port=getattr(layout, port),
        access_log=None,
        print=None,
        shutdown_timeout=1.0,
    )


@asynccontextmanager
async def privately(routes: Sequence[web.RouteDef], path: Path) -> AsyncIterator[None]:
    """Serve ``routes`` beside the body on a unix socket of mode 0600."""
    application = web.Application()
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    path.unlink(missing_ok=True)  # left by one that was killed
    before = os.umask(0o177)  # the socket must never exist with a wider mode, not even for a moment
    try:
        await web.UnixSite(runner, str(path)).start()
    finally:
        os.umask(before)
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def working(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run ``work`` beside the body, and cancel it after; if it fails, the process is asked to end."""
    task = asyncio.create_task(work)
    task.add_done_callback(_end_on_failure)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


def _end_on_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.critical("the process ends, its work failed", exc_info=error)
        signal.raise_signal(signal.SIGTERM)
