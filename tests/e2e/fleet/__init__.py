"""Embedded fleets, from their commands; most tests share one, which ends with the folder."""
