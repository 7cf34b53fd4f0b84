"""What everything stands on: errors, time, identifiers, registries, text.

Nothing here knows the domain, and nothing here does I/O.
"""
