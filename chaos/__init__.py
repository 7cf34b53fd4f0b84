"""Chaos: the faults, drills and the lab that rehearse what the control plane is for.

It judges the control plane from outside and therefore never imports its observing or
deciding parts; the control plane never imports this package.
"""
