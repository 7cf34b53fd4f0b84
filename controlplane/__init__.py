"""Fleetward's control plane: observe, decide, act.

The folders are the control loop and data flows through them in that order. What may
import what is a checked contract (see CONTRIBUTING.md); this package never imports
``chaos``: faults and drills register themselves through entry points.
"""
