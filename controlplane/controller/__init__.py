"""The loop: one leader observes, decides, starts runs and sweeps; any number may stand by.

`Controller` holds the lease and the time; `Tick` is one look at one service. What they
decide on is left behind as snapshots, so that people and runs see what the loop saw.
"""

from controlplane.controller.loop import Controller, Parts

__all__ = ["Controller", "Parts"]
