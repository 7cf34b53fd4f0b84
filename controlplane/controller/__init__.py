"""The loop: one leader observes, decides, starts runs and sweeps; any number may stand by.

`loop.Controller` holds the lease and the time; `Tick` is one look at one service. What they
decide on is left behind as snapshots, so that people and runs see what the loop saw. Nothing is
imported here: a rehearsal decides as the loop does, and needs none of what the loop asks.
"""
