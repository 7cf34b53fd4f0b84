"""The lab's stand-in for the cluster API: what is there, what weighs how much, who wrote what.

A process of its own (``python -m chaos.lab.gateway``) beside a real Envoy, which it configures by
files. It keeps its own append-only log of every effect and refuses fenced writers, so that what
the control plane did is counted here and not in the control plane's own journal.
"""
