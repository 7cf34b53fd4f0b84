"""From measurements to decisions: burn rates, incidents, folding, triggers, guards.

Everything here is a pure function of what it is given, time included; nothing reads a
clock, a database or a network, so that any decision can be replayed from its record.
"""
