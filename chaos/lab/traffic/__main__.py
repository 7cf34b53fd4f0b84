"""``python -m chaos.lab.traffic --state-dir DIR``: send the traffic of the lab laid out there."""

from __future__ import annotations

from chaos.lab.service import serve
from chaos.lab.traffic.app import Api
from controlplane.kernel.clock import SystemClock

if __name__ == "__main__":
    serve("traffic", __doc__, lambda layout: Api(layout, SystemClock()).application(), "traffic_port")
