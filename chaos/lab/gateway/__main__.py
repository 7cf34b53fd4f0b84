"""``python -m chaos.lab.gateway --state-dir DIR``: serve the control API of the lab laid out there."""

from __future__ import annotations

from chaos.lab.gateway.app import Api
from chaos.lab.service import serve
from controlplane.kernel.clock import SystemClock

if __name__ == "__main__":
    serve("gateway", __doc__, lambda layout: Api(layout, SystemClock()).application(), "platform_port")
