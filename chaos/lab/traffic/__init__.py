"""The lab's users: requests that arrive whether or not they are answered, and the truth about them.

A process of its own (``python -m chaos.lab.traffic``) that talks to the gateway as any client
would. What it measured is what drills and benchmarks are judged by; the control plane never asks.
"""
