"""Where faults are put in force: the lab's processes and sockets, or a fleet in memory for tests.

Faults say what to break and drivers how. A driver says what it can do, so that a drill which
needs more is refused before it starts.
"""
